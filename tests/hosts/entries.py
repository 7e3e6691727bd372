"""`ENTRIES`, the ways in which a project comes to have skills, and `EVENTS`, what happens to one of them afterwards.

`World` is the home and the folder of one entry point, with one skill per event. Each skill's description and body
carry `mark-NAME-vN`, so that a text shows which version of which skill it holds.
"""

import dataclasses
import hashlib
import json
import os
import pathlib
from collections.abc import Callable, Iterable

from programs import PATH, Failed, run

AGENTS = ["claude-code", "opencode", "codex"]
OWNER = "acme"


def skill_md(name: str, version: int) -> str:
    mark = f"mark-{name}-v{version}"
    return (
        f"---\nname: {name}\ndescription: Handles {name} files, {mark}. Use in tests.\n---\n\n"
        f"# Handling {name} files\n\n1. Read {mark} first.\n2. Sort the lines.\n3. Write the result.\n"
    )


def put(folder: pathlib.Path, name: str, version: int = 1) -> pathlib.Path:
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "SKILL.md").write_text(skill_md(name, version))
    return folder / name


class World:
    """A home and a folder to work in."""

    def __init__(self, program: str, place: pathlib.Path) -> None:
        self.program, self.place = program, place
        self.home, self.cwd = place / "home", place / "work"
        self.scope: list[str] = []
        # Git in front of the user's library, as people keep their dotfiles; a project has its own repository.
        self.git_options: list[str] = []
        self.release: Callable[[str], object] | None = None
        self.cwd.mkdir(parents=True)
        self.new_home("home")

    def new_home(self, name: str) -> None:
        self.home = self.place / name
        (self.home / "bin").mkdir(parents=True)
        (self.home / "bin" / "skillhub").symlink_to(self.program)
        # Codex has no folder of its own in a project: its skills are in the library.
        self.use(["codex"])

    def use(self, agents: list[str]) -> None:
        """Lists the agents that are in use besides those with a folder in the project."""
        folder = self.home / ".skillhub"
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / "config.toml").write_text(f"[agents]\nin_use = {json.dumps(agents)}\n")

    def env(self) -> dict[str, str]:
        who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
               for what, value in (("NAME", "Ann"), ("EMAIL", "ann@example.com"))}
        return {"PATH": PATH, "HOME": str(self.home), "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1",
                **who, "SKILLHUB_REGISTRY": str(self.registry) if self.registry.exists() else ""}

    @property
    def registry(self) -> pathlib.Path:
        return self.place / "registry"

    def skillhub(self, *args: str, stdin: str | None = None, codes: Iterable[int] = (0,)) -> str:
        return run([self.program, *self.scope, *args], self.cwd, self.env(), stdin, codes)

    def ask(self, *args: str) -> dict:
        return json.loads(self.skillhub(*args, "--json"))

    def git(self, *args: str, cwd: pathlib.Path | None = None) -> str:
        return run(["git", *self.git_options, *args], cwd or self.cwd, self.env())

    def project(self) -> None:
        """Makes the folder a repository in which Claude Code and OpenCode are in use."""
        self.git("init", "--quiet", "--initial-branch=main")
        for file in (".claude/settings.json", ".opencode/opencode.json"):
            (self.cwd / file).parent.mkdir()
            (self.cwd / file).write_text("{}\n")

    def commit(self, *paths: str) -> None:
        self.git("add", "--force", *(paths or ("-A",)))
        self.git("commit", "--quiet", "--allow-empty", "--message=More")

    def path(self, name: str) -> pathlib.Path:
        """The folder of a skill in the library."""
        return pathlib.Path(self.listed(name)["path"])

    def listed(self, name: str) -> dict:
        found = [skill for skill in self.ask("list")["skills"] if skill["name"].split("/")[-1] == name]
        if not found:
            raise Failed(f"skillhub list does not show {name}")
        return found[0]

    def patch(self, name: str, old: int, new: int) -> None:
        edit = ["--find", f"mark-{name}-v{old}", "--replace", f"mark-{name}-v{new}", "--replace-all"]
        self.skillhub("manage", "patch", name, *edit, "--reason", "the test")

    def names_reader(self, name: str, agent: str, title: str) -> bool:
        """Whether `list`, `status` and `doctor` all say that an agent still reads a skill that is disabled."""
        answers = [self.skillhub(command, codes=range(256)) for command in ("list", "status", "doctor")]
        return all(any("still read" in line and name in line and (agent in line or title in line)
                       for line in answer.splitlines()) for answer in answers)


def adopted_project(world: World, names: list[str]) -> None:
    world.project()
    for name in names:
        put(world.cwd / ".claude/skills", name)
    world.commit()
    world.skillhub("adopt", "--link", ".claude/skills")
    world.commit()


def adopted_home(world: World, names: list[str]) -> None:
    world.scope = ["--global"]
    world.use(AGENTS)
    for name in names:
        put(world.home / ".claude/skills", name)
    world.skillhub("adopt", str(world.home / ".claude/skills"))
    dotfiles(world)


def dotfiles(world: World) -> None:
    world.git_options = [f"--git-dir={world.place / 'dotfiles.git'}", f"--work-tree={world.home}"]
    run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(world.place / "dotfiles.git")],
        world.home, world.env())
    world.commit(str(world.home / ".agents/skills"))


def imported(world: World, names: list[str]) -> None:
    """As `npx skills` leaves a project: half of the skills linked for Claude Code, half of them copied."""
    upstream = world.place / "upstream"
    entries = {}
    for name in names:
        folder = put(upstream / "skills", name)
        hashed = b"SKILL.md" + (folder / "SKILL.md").read_bytes()
        entries[name] = {"source": f"file://{upstream}", "sourceType": "git", "skillPath": f"skills/{name}/SKILL.md",
                         "computedHash": hashlib.sha256(hashed).hexdigest()}
    world.git("init", "--quiet", "--initial-branch=main", cwd=upstream)
    release_of_git(world, upstream)
    world.project()
    (world.cwd / ".claude/skills").mkdir()
    for index, name in enumerate(names):
        put(world.cwd / ".agents/skills", name)
        if index % 2:
            put(world.cwd / ".claude/skills", name)
        else:
            (world.cwd / ".claude/skills" / name).symlink_to(pathlib.Path("../../.agents/skills") / name)
    (world.cwd / "skills-lock.json").write_text(json.dumps({"version": 1, "skills": entries}))
    world.skillhub("import")
    world.commit()

    def release(name: str) -> None:
        put(upstream / "skills", name, 2)
        release_of_git(world, upstream)
    world.release = release


def release_of_git(world: World, upstream: pathlib.Path) -> None:
    world.git("add", "-A", cwd=upstream)
    world.git("commit", "--quiet", "--message=Release", cwd=upstream)


def installed(world: World, names: list[str]) -> None:
    world.project()
    published(world, names)
    world.skillhub("install", *(f"{OWNER}/{name}" for name in names))
    world.commit()


def published(world: World, names: list[str]) -> None:
    def release(name: str, version: int = 2) -> None:
        folder = put(world.place / "sources", name, version)
        world.skillhub("publish", str(folder), "--owner", OWNER, "--version", f"1.{version - 1}.0")

    world.skillhub("index", "init", str(world.registry))
    for name in names:
        release(name, 1)
    world.release = release


def created(world: World, names: list[str]) -> None:
    world.project()
    for name in names:
        world.skillhub("manage", "create", name, "--content", "-", stdin=skill_md(name, 1))
    world.commit()


def cloned(world: World, names: list[str]) -> None:
    """A colleague's clone: another home, and a repository with the library and the lock file but no links."""
    world.project()
    (world.cwd / ".gitignore").write_text(".claude/skills\n")
    published(world, names)
    world.skillhub("install", *(f"{OWNER}/{name}" for name in names))
    world.commit()
    origin, world.cwd = world.cwd, world.place / "clone"
    world.git("clone", "--quiet", str(origin), str(world.cwd), cwd=world.place)
    world.new_home("colleague")
    world.skillhub("install")
    world.commit()


def patched(world: World, name: str) -> None:
    world.patch(name, 1, 2)


def edited_by_hand(world: World, name: str) -> None:
    put(world.path(name).parent, name, 2)


def updated(world: World, name: str) -> None:
    if world.release:
        world.release(name)
        world.skillhub("update", name)
    else:
        world.skillhub("manage", "edit", name, "--content", "-", stdin=skill_md(name, 2))


def rolled_back(world: World, name: str) -> None:
    world.patch(name, 1, 2)
    world.patch(name, 2, 3)
    world.skillhub("rollback", name)


def undone(world: World, name: str) -> None:
    world.patch(name, 1, 2)
    world.patch(name, 2, 3)
    world.skillhub("undo")


def disabled(world: World, name: str) -> None:
    world.patch(name, 1, 2)
    world.skillhub("disable", name)


def enabled(world: World, name: str) -> None:
    disabled(world, name)
    world.skillhub("enable", name)


def on_old_branch(world: World, name: str) -> None:
    """Leaves the repository at a branch where the skill has its first version."""
    world.git("branch", "old")
    world.patch(name, 1, 2)
    world.commit(*([str(world.home / ".agents/skills")] if world.git_options else []))
    world.git("checkout", "--quiet", "old")


def back_on_main(world: World, _name: str) -> None:
    world.git("checkout", "--quiet", "main")


@dataclasses.dataclass
class Event:
    column: str
    skill: str
    act: Callable[[World, str], None]
    # The version that is the head afterwards; 0 for a skill that is disabled.
    version: int = 2


ENTRIES: dict[str, Callable[[World, list[str]], None]] = {
    "adopt, project": adopted_project, "adopt, home": adopted_home, "import": imported, "install": installed,
    "manage create": created, "clone": cloned,
}
EVENTS = [
    Event("patch", "tables", patched), Event("hand", "letters", edited_by_hand), Event("update", "charts", updated),
    Event("rollback", "invoices", rolled_back), Event("undo", "recipes", undone),
    Event("disable", "slides", disabled, version=0), Event("enable", "minutes", enabled),
    Event("branch", "budgets", back_on_main),
]
# How the branch begins; the repository is clean at that time.
OLD_BRANCH = Event("branch", "budgets", on_old_branch, version=1)


def make(program: str, place: pathlib.Path, entry: str) -> World:
    """A world after an entry point, with one skill per event at its first version."""
    world = World(os.path.abspath(program), place)
    ENTRIES[entry](world, [event.skill for event in EVENTS])
    return world
