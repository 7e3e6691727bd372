"""`run`: sessions of a host whose hooks record outcomes, with nothing typed afterwards.

Between the sessions the skill is patched, rolled back, and set to earlier bytes as by a branch; within some sessions it
is patched after the host read it, by another process or by the model itself. Each session has to leave one activation,
for a revision whose SKILL.md holds the version that the host sent; a session whose model patches the skill has to leave
a correction of that revision as well.
"""

import json
import pathlib
import re
import time

import entries
from entries import World
from model import Call
from programs import Failed, Host

SKILL = "letters"
SESSIONS = 10
# Sessions in which another process patches the skill after it was read, and those in which the model does.
PATCHED_MEANWHILE, PATCHED_BY_MODEL = {2, 6}, {4, 8}
WAIT_SECONDS = 30


class Line:
    """The skill and the numbers of its versions."""

    def __init__(self, world: World) -> None:
        self.world, self.version, self.last = world, 1, 1

    def next(self) -> tuple[int, int]:
        old, self.last = self.version, self.last + 1
        self.version = self.last
        return old, self.last

    def patch(self) -> None:
        self.world.patch(SKILL, *self.next())

    def put_back(self, version: int) -> None:
        """Writes an earlier version into the folder, as `git checkout` does."""
        entries.put(self.world.path(SKILL).parent, SKILL, version)
        self.version = version

    def by_model(self) -> str:
        """The command with which the model patches the skill."""
        old, new = self.next()
        marks = [f"mark-{SKILL}-v{version}" for version in (old, new)]
        # A login shell does not keep the search path.
        program = self.world.home / "bin/skillhub"
        return (f"{program} manage patch {SKILL} --find {marks[0]} --replace {marks[1]} --replace-all "
                "--reason 'it did not work'")

    def before(self, session: int) -> None:
        """Changes the skill before a session."""
        if session in (1, 3, 7, 9):
            self.patch()
        elif session == 5:
            # Back to the first version, and to the head before the next session, which the next patch would do too.
            self.put_back(1)
        elif session == 6:
            self.put_back(self.last)


def outcomes(world: World) -> list[dict]:
    return world.ask("record", SKILL, "--show")["outcomes"]


def recorded(world: World, known: int, wanted: int) -> list[dict]:
    """Waits for the outcomes of a session: the host does not wait for them."""
    end = time.monotonic() + WAIT_SECONDS
    while len(found := outcomes(world)[known:]) < wanted and time.monotonic() < end:
        time.sleep(0.2)
    return found


def version_of(world: World, revision: str) -> set[int]:
    """The versions that are in a revision's SKILL.md."""
    text = world.skillhub("show", f"{SKILL}@{revision[:12]}", "SKILL.md")
    return {int(mark) for mark in re.findall(rf"mark-{SKILL}-v(\d+)", text)}


def judge(world: World, sent: str, found: list[dict], is_corrected: bool) -> str:
    """Compares what a session sent with what it left; returns `ok` or what differs."""
    sent_versions = [int(mark) for mark in re.findall(rf"Read mark-{SKILL}-v(\d+) first", sent)]
    events = sorted(outcome["event"] for outcome in found)
    expected = ["activated", "corrected"] if is_corrected else ["activated"]
    if not sent_versions:
        return "the host sent no version"
    if events != expected:
        return f"left {events or 'nothing'} instead of {expected}"
    versions = set.union(*(version_of(world, outcome["revision"]) for outcome in found))
    return "ok" if versions == {sent_versions[0]} else f"counted for {versions}, sent {sent_versions[0]}"


def hooked(host: Host, program: str, place: pathlib.Path) -> World:
    """A project with one skill, and a home in which the host has skillhub's hook."""
    world = World(program, place)
    host.prepare(world.home)
    world.project()
    world.skillhub("manage", "create", SKILL, "--content", "-", stdin=entries.skill_md(SKILL, 1))
    world.commit()
    world.skillhub("--global", "mcp", "install", "--agent", host.id)
    return world


def run(host: Host, program: str, place: pathlib.Path) -> list[str]:
    """Runs the sessions of a host and returns a verdict for each."""
    world = hooked(host, program, place)
    line, words = Line(world), []
    for session in range(SESSIONS):
        try:
            line.before(session)
            known = len(outcomes(world))
            script: list = []
            if session in PATCHED_MEANWHILE:
                script = [lambda _: line.patch()]
            elif session in PATCHED_BY_MODEL:
                script = [lambda _: Call(host.shell, {host.shell_argument: line.by_model(), **host.shell_rest})]
            sent = host.use(world.home, world.cwd, SKILL, script)
            is_corrected = session in PATCHED_BY_MODEL
            if f"mark-{SKILL}-v{line.version}" not in world.ask("read", SKILL)["content"]:
                raise Failed(f"version {line.version} is not in place after the session")
            found = recorded(world, known, 2 if is_corrected else 1)
            words.append(judge(world, sent, found, is_corrected))
        except Failed as problem:
            words.append(f"failed: {problem}")
    return words


def untouched(host: Host, program: str, place: pathlib.Path) -> str:
    """A session with the usage log turned off leaves nothing."""
    world = hooked(host, program, place)
    config = world.home / ".skillhub/config.toml"
    config.write_text(config.read_text() + "\n[agent]\nuse_log = false\n")
    host.use(world.home, world.cwd, SKILL, [])
    time.sleep(2)
    left = outcomes(world)
    return "ok" if not left else f"left {json.dumps(left)}"
