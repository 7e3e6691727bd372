#!/usr/bin/env python3
"""Times what grows with the number of skills, from 100 to 3,200 skills of 2 KB in a project's library.

    python3 bench/growth.py [MOST]

Builds skillhub for release, or takes the program that SKILLHUB names. Each row is one library: all skills of a folder
installed for one agent that needs links, installed again, taken back by `undo`, installed once more, `doctor --fix`
with every link removed by hand, and a scan of the same folder alone. Processor time of the whole process, in milliseconds a skill.
"""

import os
import pathlib
import shutil
import subprocess
import sys

from built import program, variables

# In memory, so that no disk is measured.
MEMORY = pathlib.Path("/dev/shm")
SIZES = [100, 200, 400, 800, 1600, 3200]
SENTENCE = "Read the table that is named first, then write each row with its heading. "


def skills(folder: pathlib.Path, count: int) -> None:
    """Skills of 2 KB, no two alike."""
    for number in range(count):
        skill = folder / f"made-up-{number:04}"
        skill.mkdir(parents=True)
        head = f"---\nname: {skill.name}\ndescription: Reads tables of kind {number}. Use when one is given.\n---\n\n"
        (skill / "SKILL.md").write_text(head + f"# Tables of kind {number}\n\n" + SENTENCE * 24)


class Place:
    """A project with a home of its own."""

    def __init__(self, count: int) -> None:
        self.path = MEMORY / "skillhub-growth"
        shutil.rmtree(self.path, ignore_errors=True)
        self.work = self.path / "work"
        (self.work / ".claude").mkdir(parents=True)
        (self.work / ".claude" / "settings.json").write_text("{}\n")
        subprocess.run(["git", "init", "-q", str(self.work)], check=True)
        self.source = self.path / "source"
        skills(self.source, count)
        self.program, self.environment = program(), variables(self.path)

    def time(self, *arguments: str) -> float:
        """Seconds of processor time."""
        child = subprocess.Popen(
            [self.program, *arguments, "--json"], cwd=self.work, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        said = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            sys.exit(f"{arguments} ended with {child.returncode}: {said.decode()[-2000:]}")
        return usage.ru_utime + usage.ru_stime

    def remove_links(self) -> None:
        for link in (self.work / ".claude" / "skills").iterdir():
            link.unlink()


def row(count: int) -> list[float]:
    place = Place(count)
    source = str(place.source)
    install = ("install", source, "--all")
    times = [place.time(*install), place.time(*install), place.time("undo"), place.time(*install)]
    place.remove_links()
    times += [place.time("doctor", "--fix"), place.time("scan", source)]
    return [1000 * seconds / count for seconds in times]


def main() -> None:
    most = int(sys.argv[1]) if len(sys.argv) > 1 else SIZES[-1]
    columns = ["install", "again", "undo", "install", "doctor --fix", "scan alone"]
    print("| skills | " + " | ".join(columns) + " |\n" + "|---" * (len(columns) + 1) + "|")
    for count in [size for size in SIZES if size <= most]:
        print(f"| {count:,} | " + " | ".join(f"{each:.2f}" for each in row(count)) + " |", flush=True)


if __name__ == "__main__":
    main()
