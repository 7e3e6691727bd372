#!/usr/bin/env python3
"""Times skillhub on large libraries.

    python3 bench/scale.py revisions [COUNT]    one skill with so many revisions (10000)
    python3 bench/scale.py skills [COUNT]       a library with so many skills (10000), managed and not
    python3 bench/scale.py growth [COUNT]       so many one-line edits (500) of a SKILL.md of 25 KB

Builds skillhub for release, or takes the program that SKILLHUB names. Places are made in target/bench
and used again by the next run; making them takes minutes. Every figure is a whole process, with what
it reads in the page cache: the shortest and the median of several runs, processor time and peak memory.
"""

import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import time

from built import WORK, program, variables

ROUNDS = 15

FLOOR = """
use std::{fs::File, io::Read};
fn main() {
    let (mut bytes, mut buffer) = (0, [0; 4096]);
    for path in std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap().lines() {
        bytes += File::open(path).unwrap().read(&mut buffer).unwrap();
    }
    println!("{bytes}");
}
"""


class Place:
    """A home and a library of their own."""

    def __init__(self, name: str) -> None:
        self.path = WORK / name
        self.library = self.path / "skills"
        self.home = self.path / "home"
        self.program = program()
        self.environment = variables(self.path, self.home)

    def command(self, *arguments: str) -> list[str]:
        return [self.program, "--library", str(self.library), *arguments]

    def run(self, *arguments: str, text: str | None = None) -> str:
        done = subprocess.run(
            self.command(*arguments), env=self.environment, input=text, capture_output=True, text=True
        )
        if done.returncode:
            sys.exit(f"{arguments}: {done.stderr or done.stdout}")
        return done.stdout

    def time(self, title: str, *arguments: str, rounds: int = ROUNDS) -> float:
        return timed(title, self.command(*arguments), self.environment, rounds)

    def own(self) -> pathlib.Path:
        return next((self.home / "libraries").iterdir())


def timed(title: str, command: list[str], environment: dict[str, str] | None = None, rounds: int = ROUNDS) -> float:
    walls, used, memory = [], [], 0
    # The first of several runs warms the page cache; one alone is the first.
    for _ in range(rounds + (rounds > 1)):
        started = time.perf_counter()
        child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            sys.exit(f"{command} ended with {child.returncode}")
        walls.append(time.perf_counter() - started)
        used.append(usage.ru_utime + usage.ru_stime)
        memory = max(memory, usage.ru_maxrss)
    walls, used = walls[-rounds:], used[-rounds:]
    print(
        f"{title:44} {min(walls) * 1e3:8.1f} ms {statistics.median(walls) * 1e3:8.1f} ms"
        f" {min(used) * 1e3:8.1f} ms {memory / 1024:7.1f} MiB"
    )
    return min(walls)


def heading() -> None:
    print(f"{'':44} {'shortest':>11} {'median':>11} {'processor':>11} {'memory':>11}")


def skill_md(name: str, body: str) -> str:
    return f"---\nname: {name}\ndescription: Reads and writes documents of the kind {name}, and says when.\n---\n\n{body}\n"


def words(seed: int, count: int) -> str:
    pick = random.Random(seed)
    syllables = ["re", "lo", "na", "ti", "ka", "mo", "su", "pel", "dor", "vin"]
    words = ["".join(pick.choices(syllables, k=3)) for _ in range(count)]
    return "\n".join(" ".join(words[at : at + 10]) for at in range(0, count, 10))


def with_revisions(place: Place, count: int, body: str) -> None:
    """One skill, each revision of which differs from the one before in a line."""
    place.run("manage", "create", "long", "--content", "-", text=skill_md("long", f"{body}\nstate 1\n{body}"))
    for number in range(2, count + 1):
        place.run("manage", "patch", "long", "--find", f"state {number - 1}", "--replace", f"state {number}")


def files_of(folder: pathlib.Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def revisions(count: int) -> None:
    place = Place(f"revisions-{count}")
    if not place.path.exists():
        place.path.mkdir(parents=True)
        with_revisions(place, count, words(1, 60))
    packs = len(list((place.own() / "history.git/objects/pack").glob("*.pack")))
    loose = sum(1 for path in (place.own() / "history.git/objects").glob("??/*"))
    print(f"{count} revisions, {packs} packs, {loose} loose objects, {files_of(place.own()) / 1e6:.2f} MB in the home")
    measure_revisions(place, count)
    place.run("gc")
    print(f"after gc: {files_of(place.own()) / 1e6:.2f} MB in the home")
    measure_revisions(place, count)


def measure_revisions(place: Place, count: int) -> None:
    heading()
    numbers = place.own() / "numbers"
    shutil.rmtree(numbers, ignore_errors=True)
    place.time("show long@2, numbers made anew", "show", "long@2", rounds=1)
    shutil.rmtree(place.own() / "revisions", ignore_errors=True)
    place.time("history long, rows made anew", "history", "long", rounds=1)
    place.time("history long", "history", "long")
    place.time("history long --json", "--json", "history", "long")
    place.time("history long --limit 20", "history", "long", "--limit", "20")
    place.time("show long@2", "show", "long@2")
    place.time("diff long 3 of the count", "diff", "long", "3", str(count - 3))
    place.time("diff long", "diff", "long")
    head = int(place.run("history", "long", "--limit", "1").split()[0])
    place.time("rollback long 5 --dry-run", "rollback", "long", "5", "--dry-run")
    walls = []
    for back in range(5, 10):
        started = time.perf_counter()
        place.run("rollback", "long", str(back))
        walls.append(time.perf_counter() - started)
    print(f"{'rollback long':44} {min(walls) * 1e3:8.1f} ms {statistics.median(walls) * 1e3:8.1f} ms (from {head})")


def skills(count: int) -> None:
    managed = Place(f"skills-{count}")
    if not managed.path.exists():
        managed.path.mkdir(parents=True)
        write_skills(managed.library, count)
        names = sorted(path.name for path in managed.library.iterdir())
        for at in range(0, count, 500):
            managed.run("adopt", *[str(managed.library / name) for name in names[at : at + 500]])
        managed.run("gc")
    measure_skills(managed, "managed")
    unmanaged = Place(f"skills-{count}-without-history")
    if not unmanaged.path.exists():
        unmanaged.path.mkdir(parents=True)
        write_skills(unmanaged.library, count)
    shutil.rmtree(unmanaged.home, ignore_errors=True)
    measure_skills(unmanaged, "without history")


def write_skills(library: pathlib.Path, count: int) -> None:
    for number in range(count):
        name = f"skill-{number:05}"
        (library / name / "references").mkdir(parents=True)
        (library / name / "SKILL.md").write_text(skill_md(name, words(number, 400)))
        (library / name / "references" / "more.md").write_text(words(number + 1, 100))
    time.sleep(3)


def measure_skills(place: Place, title: str) -> None:
    paths = sorted(str(path) for path in place.library.glob("*/SKILL.md"))
    listing, source, floor = WORK / "paths", WORK / "floor.rs", WORK / "floor"
    listing.write_text("\n".join(paths))
    source.write_text(FLOOR)
    subprocess.run(["rustc", "-O", "-o", floor, source], check=True)
    print(f"{len(paths)} skills, {title}")
    heading()
    for command in ["list", "prompt", "status"]:
        place.time(f"{command}, first time", command, rounds=1)
    bottom = timed("floor: open and read each SKILL.md", [str(floor), str(listing)])
    times = {command: place.time(command, command) for command in ["list", "prompt", "status"]}
    print(f"prompt / floor {times['prompt'] / bottom:.2f}; {files_of(place.home) / 1e6:.2f} MB in the home")


def growth(count: int) -> None:
    place = Place(f"growth-{count}")
    shutil.rmtree(place.path, ignore_errors=True)
    place.path.mkdir(parents=True)
    with_revisions(place, count, words(1, 1600))
    size = (place.library / "long/SKILL.md").stat().st_size
    print(f"{count} revisions of a SKILL.md of {size} bytes: {files_of(place.home) / 1e6:.2f} MB in the home")
    started = time.perf_counter()
    print(place.run("gc"), end="")
    print(f"gc took {time.perf_counter() - started:.2f} s; {files_of(place.home) / 1e6:.3f} MB in the home")
    disk = sum(path.lstat().st_blocks * 512 for path in place.home.rglob("*"))
    print(f"{disk / 1e6:.3f} MB of disk")


def main() -> None:
    counts = {"revisions": (revisions, 10_000), "skills": (skills, 10_000), "growth": (growth, 500)}
    if len(sys.argv) < 2 or sys.argv[1] not in counts:
        sys.exit(__doc__)
    run, count = counts[sys.argv[1]]
    run(int(sys.argv[2]) if len(sys.argv) > 2 else count)


if __name__ == "__main__":
    main()
