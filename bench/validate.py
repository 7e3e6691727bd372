#!/usr/bin/env python3
"""Times `skillhub validate` against the standard's reference library on the same skills.

    python3 bench/validate.py FOLDER_OR_TAR_GZ

Builds skillhub for release, installs `skills-ref` from PyPI into target/bench, and runs both in turn:
skillhub as a whole process, from its start to its end; the reference library inside a process that
has already started and imported it. Prints the median of each and the ratio.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tarfile
import time
import venv

ROUNDS = 15
ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "target" / "bench"

REFERENCE = """
import pathlib, sys, time
from skills_ref import validate
folders = [pathlib.Path(line) for line in sys.stdin.read().splitlines()]
started = time.perf_counter()
for folder in folders:
    validate(folder)
print(time.perf_counter() - started)
"""


def skills_at(given: pathlib.Path) -> pathlib.Path:
    if given.is_dir():
        return given
    target = WORK / given.name.removesuffix(".tar.gz")
    if not target.exists():
        with tarfile.open(given) as archive:
            members = [m for m in archive if "/benign/" in f"/{m.name}"]
            archive.extractall(target, members=members, filter="data")
    return target


def reference_python() -> pathlib.Path:
    python = WORK / "venv" / "bin" / "python"
    if not python.exists():
        venv.create(WORK / "venv", with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "skills-ref"], check=True)
    return python


def main() -> None:
    skills = skills_at(pathlib.Path(sys.argv[1]).resolve())
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=ROOT, check=True)
    program = ROOT / "target" / "release" / "skillhub"
    python = reference_python()
    folders = sorted(str(path.parent) for path in skills.rglob("SKILL.md"))
    command = [program, "validate", "--json", skills]
    checked = json.loads(subprocess.run(command, capture_output=True).stdout)["skills"]
    assert len(checked) == len(folders), "both must look at the same skills"

    ours, theirs = [], []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL)
        ours.append(time.perf_counter() - started)
        run = subprocess.run([python, "-c", REFERENCE], input="\n".join(folders), capture_output=True, text=True)
        theirs.append(float(run.stdout))

    a, b = statistics.median(ours), statistics.median(theirs)
    print(f"{len(folders)} skills, median of {ROUNDS} rounds")
    print(f"skillhub validate, whole process   {a * 1e3:8.1f} ms  {a * 1e6 / len(folders):8.1f} us a skill")
    print(f"skills-ref, inside its process     {b * 1e3:8.1f} ms  {b * 1e6 / len(folders):8.1f} us a skill")
    print(f"ratio {b / a:.1f}")


if __name__ == "__main__":
    main()
