#!/usr/bin/env python3
"""Simulates a year of one person with agents, and times the commands that show what happened.

    SKILLHUB=target/release/skillhub python3 bench/year.py [SKILLS PATCHES OUTCOMES]

40 skills, 4,000 patches by an agent and 20,000 outcomes, unless other numbers are given. No person has reviewed any of
it, which is the most that a review can have to show. Prints the time of a patch, the median time of each command
against the start of a process that does nothing, the size of the home before and after `gc`, and the time in which
`sync` brings the library to a new machine. Exits with 1 if one of them exceeds its limit.
"""

import json
import os
import pathlib
import pty
import random
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(os.environ.get("SKILLHUB", ROOT / "target" / "release" / "skillhub")).resolve()
ROUNDS = 15
NEW_MACHINE_SECONDS = 10.0
COMMANDS = [["review"], ["status"], ["stats"], ["stats", "skill-00"], ["list"]]
LIMIT_MS = 200
LIMIT_MB = 12


class Year:
    """The home of a person and the folder in which the commands run."""

    def __init__(self, root: pathlib.Path):
        self.root, self.work = root, root / "work"
        self.work.mkdir(parents=True)
        self.env = {"PATH": os.environ["PATH"], "HOME": str(root), "SKILLHUB_HOME": str(root / "home")}

    def run(self, *arguments: str, text: str = "") -> None:
        command = [PROGRAM, "--json", *arguments]
        subprocess.run(command, env=self.env, cwd=self.work, input=text, text=True, check=True, capture_output=True)

    def live(self, skills: int, patches: int, outcomes: int) -> float:
        """Creates the skills, patches them in turn and reports runs. Returns the milliseconds of a patch."""
        steps = "\n\n".join(f"Step {n}: do the thing number {n} with care, then check it." for n in range(60))
        for skill in range(skills):
            front = f"---\nname: skill-{skill:02}\ndescription: Does work of kind {skill}. Use for kind {skill}.\n---\n"
            self.run("manage", "create", f"skill-{skill:02}", "--content", "-", text=f"{front}\ncount 0\n\n{steps}\n")
        chance, spent, reports = random.Random(1), 0.0, []
        for patch in range(patches):
            name, count = f"skill-{patch % skills:02}", patch // skills
            change = ["--find", f"count {count}\n", "--replace", f"count {count + 1}\n", "--reason", f"lesson {patch}"]
            start = time.perf_counter()
            self.run("manage", "patch", name, *change)
            spent += time.perf_counter() - start
            for run in range(outcomes // patches):
                event = "completed" if chance.random() < 0.9 else "failed"
                reports.append(json.dumps({"skill": name, "event": event, "run": f"r{patch}-{run}"}))
            if len(reports) >= 400 or patch == patches - 1:
                self.run("record", "--request", "-", text="\n".join(reports))
                reports = []
        return spent * 1000 / patches

    def sync(self, remote: pathlib.Path) -> None:
        """Synchronises as a person, with a token that is printed at a terminal only."""
        ours, theirs = pty.openpty()
        command = [PROGRAM, "reviewer", "new", "--name", "ann"]
        subprocess.run(command, env=self.env, cwd=self.work, stdin=theirs, stdout=theirs, stderr=theirs, check=True)
        words = os.read(ours, 4096).decode().split()
        token = next(word for word in words if word.startswith("skillhub-reviewer-"))
        self.env["SKILLHUB_REVIEWER_TOKEN"] = token
        self.run("sync", str(remote))

    def size(self) -> float:
        """Returns the megabytes of the home."""
        return sum(path.stat().st_size for path in (self.root / "home").rglob("*") if path.is_file()) / 1e6


def milliseconds(command: list, year: Year) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        subprocess.run(command, env=year.env, cwd=year.work, check=True, stdout=subprocess.DEVNULL)
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def new_machine(year: Year) -> float:
    """Returns the seconds in which `sync` brings the library to a new machine."""
    remote = year.root / "remote.git"
    subprocess.run(["git", "init", "--quiet", "--bare", remote], env=year.env, check=True)
    year.sync(remote)
    other = Year(year.root / "other")
    start = time.perf_counter()
    other.sync(remote)
    took = time.perf_counter() - start
    skills = [sorted(os.listdir(one.root / ".agents" / "skills")) for one in (year, other)]
    if skills[0] != skills[1]:
        sys.exit("the new machine has other skills")
    return took


def main() -> int:
    numbers = [int(number) for number in sys.argv[1:]] or [40, 4000, 20000]
    with tempfile.TemporaryDirectory() as folder:
        year = Year(pathlib.Path(folder))
        print(f"patch: {year.live(*numbers):.1f} ms")
        floor = milliseconds(["true"], year)
        print(f"true: {floor:.1f} ms")
        slow = []
        for command in COMMANDS:
            took = milliseconds([PROGRAM, *command], year)
            print(f"{' '.join(command)}: {took:.1f} ms, {took / floor:.0f} times the floor")
            slow += [" ".join(command)] * (took > LIMIT_MS)
        size = year.size()
        print(f"home: {size:.1f} MB")
        year.run("gc")
        print(f"home after gc: {year.size():.1f} MB")
        took = new_machine(year)
        print(f"sync on a new machine: {took:.1f} s")
        slow += ["sync"] * (took > NEW_MACHINE_SECONDS)
    if slow or size > LIMIT_MB:
        limits = f"{LIMIT_MS} ms, {LIMIT_MB} MB and {NEW_MACHINE_SECONDS:.0f} s for sync"
        print(f"over the limits of {limits}: {', '.join(slow) or 'the home'}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
