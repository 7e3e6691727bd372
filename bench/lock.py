#!/usr/bin/env python3
"""Measures how long a change of one skill waits while another process installs a skill of 15 MB of random lines.

    python3 bench/lock.py

Builds skillhub for release, or takes the program that SKILLHUB names. The installs come one after the other, the second
one an update of every file; meanwhile another skill is patched again and again. Beside the longest and the median patch
stands the median without an install, in milliseconds.
"""

import base64
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import time

from built import program, variables

# In memory, so that no disk is measured.
PLACE = pathlib.Path("/dev/shm/skillhub-lock")
FILES, LINES = 15, 12_500


def large(folder: pathlib.Path, seed: int) -> None:
    numbers = random.Random(seed)
    (folder / "references").mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\nname: large\ndescription: Holds tables. Use in {seed}.\n---\n\n# Tables\n")
    for number in range(FILES):
        lines = (base64.b64encode(numbers.randbytes(60)).decode() for _ in range(LINES))
        (folder / "references" / f"table-{number}.txt").write_text("\n".join(lines) + "\n")


class Place:
    def __init__(self) -> None:
        shutil.rmtree(PLACE, ignore_errors=True)
        self.work = PLACE / "work"
        self.work.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(self.work)], check=True)
        self.program, self.environment = program(), variables(PLACE)
        self.count = 0

    def start(self, *arguments: str) -> subprocess.Popen:
        """Starts a command whose answer goes to a file, as that of an update holds all differences."""
        with (PLACE / "answer").open("w") as answer:
            return subprocess.Popen(
                [self.program, *arguments, "--json"], cwd=self.work, env=self.environment, stdin=subprocess.PIPE,
                stdout=answer, stderr=subprocess.STDOUT, text=True,
            )

    def run(self, *arguments: str, text: str = "") -> None:
        child = self.start(*arguments)
        child.communicate(text)
        check(child)

    def patch(self) -> float:
        """Milliseconds that a patch of another skill takes."""
        began = time.perf_counter()
        self.run("manage", "patch", "small", "--find", f"line {self.count}", "--replace", f"line {self.count + 1}")
        self.count += 1
        return 1000 * (time.perf_counter() - began)


def check(child: subprocess.Popen) -> None:
    if child.returncode:
        sys.exit(f"{child.args} ended with {child.returncode}: {(PLACE / 'answer').read_text()[-2000:]}")


def main() -> None:
    place = Place()
    text = "---\nname: small\ndescription: Is patched. Use in benchmarks.\n---\n\nline 0\n"
    place.run("manage", "create", "small", "--content", "-", text=text)
    alone = statistics.median(place.patch() for _ in range(30))
    for seed in (1, 2):
        large(PLACE / "large", seed)
        began = time.perf_counter()
        child = place.start("install", str(PLACE / "large"))
        child.stdin.close()
        patches = [place.patch()]
        while child.poll() is None:
            patches.append(place.patch())
        took = time.perf_counter() - began
        check(child)
        longest, median = max(patches), statistics.median(patches)
        print(f"install {seed}: {took:.1f} s; patch alone {alone:.0f}, beside it {median:.0f}, at most {longest:.0f} ms")


if __name__ == "__main__":
    main()
