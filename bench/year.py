#!/usr/bin/env python3
"""Simulates a year of one person with agents, and times the commands that show what happened.

    SKILLHUB=target/release/skillhub python3 bench/year.py [SKILLS PATCHES OUTCOMES]

40 skills, 4,000 patches by an agent and 20,000 outcomes, unless other numbers are given. No person has reviewed any of
it, which is the most that a review can have to show. Prints the time of a patch, the median time of each command
against the start of a process that does nothing, and the size of the home before and after `gc`. Exits with 1 if a
command or the home exceeds its limit.
"""

import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(os.environ.get("SKILLHUB", ROOT / "target" / "release" / "skillhub")).resolve()
ROUNDS = 15
COMMANDS = [["review"], ["status"], ["stats"], ["stats", "skill-00"], ["list"]]
LIMIT_MS = 200
LIMIT_MB = 12


class Year:
    """The home of a person and the folder in which the commands run."""

    def __init__(self, root: pathlib.Path):
        self.root, self.work = root, root / "work"
        self.work.mkdir()
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
    if slow or size > LIMIT_MB:
        print(f"over the limits of {LIMIT_MS} ms and {LIMIT_MB} MB: {', '.join(slow) or 'the home'}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
