#!/usr/bin/env python3
"""Sets up random homes of honest skills at a terminal, and undoes it.

    python3 tests/setup/random_homes.py SKILLHUB ARCHIVE [HOMES] [SEED] [--claude]

ARCHIVE is a gzipped tar with a folder for each skill. Each home gets 20 of them in ~/.claude/skills and three in the
.claude/skills of a git repository. Skills whose SKILL.md has no name or description are left out. For each home:

1. `skillhub setup` asks one question at most and prints at most 40 lines of 80 columns.
2. After the answer (accepting what the scanner blocks) every skill is a link, and `read` serves its text; a skill that
   is not managed is named in a line.
3. With `--claude`, after a patch of one skill: Claude Code's request, after it was asked to use each skill, holds what
   `read` serves. It runs where only loopback exists. Skills that Claude Code's model may not use, or whose text
   would make Claude Code run commands, are left out.
4. `skillhub undo` (after the patch: `skillhub setup --undo`) restores every file, mode and link.

Prints a line for each home and exits with 1 where one of them does not hold. The skills are data: nothing of them runs.
"""

import argparse
import hashlib
import json
import os
import pathlib
import pty
import random
import re
import select
import shutil
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "hosts"))
import hosts
import programs
from model import Call

TOOLS = hosts.ROOT / "target" / "ci-tools" / "hosts"
OF_USER, OF_PROJECT = 20, 3
LINES, COLUMNS = 40, 80
SECONDS = 120


def skills_of(archive: str) -> dict[str, dict[str, tuple[int, bytes]]]:
    """The files of each skill by path, with mode and content, by the skill's folder."""
    with tarfile.open(archive) as tar:
        files = {m.name: (m.mode & 0o777 | 0o600, tar.extractfile(m).read()) for m in tar if m.isfile()}
    roots = {str(pathlib.PurePath(name).parent) for name in files if name.endswith("/SKILL.md")}
    roots = {root for root in roots if not any(str(above) in roots for above in pathlib.PurePath(root).parents)}
    skills: dict[str, dict[str, tuple[int, bytes]]] = {root: {} for root in roots}
    for name, file in files.items():
        for root in roots.intersection(map(str, pathlib.PurePath(name).parents)):
            skills[root][name[len(root) + 1 :]] = file
    return skills


def name_of(text: str) -> str | None:
    """The name in the frontmatter, where it could be that of a folder and a description is there."""
    head = text.split("\n---", 1)[0]
    name = re.search(r"^name:\s*[\"']?([a-z0-9-]{1,64})[\"']?\s*$", head, re.M)
    return name.group(1) if name and re.search(r"^description:\s*\S", head, re.M) else None


def tree(folder: pathlib.Path) -> dict[str, str]:
    """Each path below a folder with its content, mode or target."""
    found = {}
    for path in sorted(folder.rglob("*")):
        key = str(path.relative_to(folder))
        if path.is_symlink():
            found[key] = "link " + os.readlink(path)
        elif path.is_file():
            found[key] = f"{path.stat().st_mode & 0o777:o} " + hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found[key] = "folder"
    return found


def at_terminal(command: list[str], cwd: pathlib.Path, env: dict[str, str]) -> tuple[int, str]:
    ours, theirs = pty.openpty()
    child = subprocess.Popen(command, cwd=cwd, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    out, asked = b"", False
    while True:
        ready, _, _ = select.select([ours], [], [], SECONDS)
        if not ready:
            child.kill()
            break
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        out += part
        if not asked and out.endswith((b"] ", b": ")):
            asked = True
            os.write(ours, b"a\n" if b"[a]ccept" in out else b"y\n")
    os.close(ours)
    return child.wait(), out.decode("utf-8", "replace").replace("\r\n", "\n")


def is_for_models(files: dict[str, tuple[int, bytes]]) -> bool:
    """Claude Code's model may use the skill, and Claude Code runs nothing when it loads the text."""
    text = files["SKILL.md"][1].decode("utf-8", "replace")
    return not any(mark in text for mark in ("!`", "```!", "allowed-tools", "hooks:", "disable-model-invocation"))


def squeezed(text: str) -> str:
    """The text without what a host replaces: arguments, variables and space."""
    return re.sub(r"\$\{?[\w-]+\}?(\[\d+\])?|\s+", "", text)


class Home:
    def __init__(self, program: str, place: pathlib.Path, claude: programs.ClaudeCode | None) -> None:
        self.program, self.claude = program, claude
        self.home, self.project = place / "home", place / "home/code/project"
        self.project.mkdir(parents=True)
        self.env = {"HOME": str(self.home), "PATH": os.environ["PATH"], "TERM": "dumb"}
        subprocess.run(["git", "init", "-q"], cwd=self.project, env=self.env, check=True)

    def run(self, *args: str) -> subprocess.CompletedProcess:
        command = [self.program, *args]
        return subprocess.run(command, cwd=self.project, env=self.env, capture_output=True, text=True)

    def trees(self) -> dict[str, str]:
        return {path: what for path, what in tree(self.home).items() if not path.startswith(".skillhub")}

    def faults(self, names: dict[str, pathlib.Path]) -> list[str]:
        before, faults, self.left = self.trees(), [], []
        code, text = at_terminal([self.program, "setup", "--color", "never"], self.project, self.env)
        shown = [line.rstrip() for line in text.splitlines()]
        if code != 0:
            return [f"setup ended with {code}: {text}"]
        if text.count("Continue?") != 1:
            faults.append(f"{text.count('Continue?')} questions")
        if len(shown) > LINES:
            faults.append(f"{len(shown)} lines")
        faults += [f"{len(line)} columns: {line}" for line in shown if len(line) > COLUMNS]
        for name, path in names.items():
            is_named = any("Not managed" in line and name in line for line in shown)
            if not path.is_symlink() and not is_named:
                faults.append(f"{name} is not managed, and no line says so")
            elif is_named:
                self.left.append(next(line for line in shown if "Not managed" in line and name in line))
            elif self.run("read", name).returncode != 0:
                faults.append(f"{name}: {self.run('read', name).stderr.strip()}")
        if self.claude:
            faults += self.not_sent([name for name, path in names.items() if path.is_symlink()])
        undone = self.run(*(["setup", "--undo", "--yes"] if self.claude else ["undo"]))
        after = self.trees()
        changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        if self.claude:
            # Claude Code leaves files of its own.
            changed = {path for path in changed if path in before or "skills" in pathlib.PurePath(path).parts}
        if undone.returncode != 0 or changed:
            faults.append(f"undo ended with {undone.returncode} {undone.stderr.strip()}, differs in {sorted(changed)[:5]}")
        return faults

    def not_sent(self, names: list[str]) -> list[str]:
        """Patches a skill, asks Claude Code to use all, and names the skills whose text its request lacks."""
        patch = {"action": "patch", "name": names[0], "find": "\n---\n", "replace": "\n---\nPatched for Claude.\n",
                 "expected_count": 1, "replace_all": False}
        text = (self.home / ".claude/skills" / names[0] / "SKILL.md").read_text()
        patch["expected_count"] = text.count("\n---\n")
        patch["replace_all"] = True
        changed = subprocess.run([self.program, "manage", "--request", "-", "--json", "--global"], cwd=self.project,
                                 env=self.env, input=json.dumps(patch), capture_output=True, text=True)
        if changed.returncode != 0:
            return [f"the patch of {names[0]} ended with {changed.returncode}: {changed.stdout[:300]}"]
        script = [Call("Skill", {"skill": name}) for name in names]
        try:
            sent = squeezed(self.claude.session(self.home, self.project, script))
        except programs.Failed as problem:
            return [str(problem)]
        served = {name: json.loads(self.run("read", name, "--json").stdout)["content"] for name in names}
        assert "Patched for Claude." in served[names[0]]
        missing = [name for name, text in served.items() if squeezed(text) not in sent]
        self.left.append(f"{len(names) - len(missing)} of {len(names)} heads in the request")
        return [f"Claude Code's request lacks the head of {name}" for name in missing]


def trial(program: str, archive: str, homes: int, seed: int, claude: programs.ClaudeCode | None) -> int:
    program, chance, bad = str(pathlib.Path(program).resolve()), random.Random(seed), 0
    skills = skills_of(archive)
    texts = {root: name_of(files["SKILL.md"][1].decode("utf-8", "replace")) for root, files in skills.items()}
    usable = sorted(root for root, name in texts.items() if name and (not claude or is_for_models(skills[root])))
    for number in range(homes):
        place = pathlib.Path(tempfile.mkdtemp(prefix="skillhub-home-"))
        try:
            home, names = Home(program, place, claude), {}
            for root in chance.sample(usable, len(usable)):
                name = texts[root]
                if name in names or len(names) == OF_USER + OF_PROJECT:
                    continue
                base = home.home if len(names) < OF_USER else home.project
                names[name] = base / ".claude/skills" / name
                for below, (mode, content) in skills[root].items():
                    path = names[name] / below
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(content)
                    path.chmod(mode)
            faults = home.faults(names)
            bad += bool(faults)
            print(f"home {number}: {'; '.join(faults + home.left) or 'ok'}", flush=True)
        finally:
            shutil.rmtree(place, ignore_errors=True)
    print(f"{homes - bad} of {homes} homes without a fault")
    return 1 if bad else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("skillhub")
    parser.add_argument("archive")
    parser.add_argument("homes", nargs="?", type=int, default=50)
    parser.add_argument("seed", nargs="?", type=int, default=1)
    parser.add_argument("--claude", action="store_true")
    asked = parser.parse_args()
    if not asked.claude:
        return trial(asked.skillhub, asked.archive, asked.homes, asked.seed, None)
    if os.environ.get(hosts.ALONE):
        hosts.start_loopback()
        if os.environ[hosts.ALONE] == "trial":
            return 0
    else:
        programs.install([programs.ClaudeCode], TOOLS)
        hosts.leave_the_network()
    return trial(asked.skillhub, asked.archive, asked.homes, asked.seed, programs.ClaudeCode(TOOLS))


if __name__ == "__main__":
    sys.exit(main())
