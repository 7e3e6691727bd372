#!/usr/bin/env python3
"""Times the install of 80 skills from a folder for one agent, against `npx skills` in the same run.

    python3 bench/install.py [FOLDER]      with FOLDER's skills, else with 80 made up ones

Builds skillhub for release, or takes the program that SKILLHUB names. SKILLS names the program of the npm package
`skills`; without it there is no peer in the table. Each round uses a new project and a new home, and the two
programs take turns. The last rows restore the same skills in a clone of the project, from the lock file: with what
is in the home already, and once more when all is there.
"""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 5
SKILLS = 80
ROOT = pathlib.Path(__file__).resolve().parent.parent


def program() -> str:
    if given := os.environ.get("SKILLHUB"):
        return given
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=ROOT, check=True)
    return str(ROOT / "target" / "release" / "skillhub")


def made_up(folder: pathlib.Path) -> None:
    """Skills of the size that public ones have in the middle: 12 KB of text, a reference and a script."""
    sentence = "Read the table that is named first, then write each row with its heading. "
    for number in range(SKILLS):
        skill = folder / f"made-up-{number:02}"
        (skill / "references").mkdir(parents=True)
        (skill / "scripts").mkdir()
        head = f"---\nname: {skill.name}\ndescription: Reads tables of kind {number}. Use when one is given.\n---\n\n"
        parts = "".join(f"## Part {part} of {number}\n\n{sentence * 4}\n\n" for part in range(36))
        (skill / "SKILL.md").write_text(head + parts)
        (skill / "references" / "columns.md").write_text(f"# Columns of {number}\n\n{sentence * 40}\n")
        (skill / "scripts" / "count.py").write_text(f"import sys\n\nprint(sum(1 for _ in sys.stdin) + {number})\n" * 20)


def environment(home: pathlib.Path) -> dict[str, str]:
    quiet = {"DO_NOT_TRACK": "1", "DISABLE_TELEMETRY": "1", "CI": "1", "GIT_CONFIG_NOSYSTEM": "1"}
    return {"PATH": os.environ["PATH"], "HOME": str(home), **quiet}


def project(place: pathlib.Path) -> pathlib.Path:
    place.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    return place


def timed(command: list[str], where: pathlib.Path, home: pathlib.Path) -> float:
    began = time.perf_counter()
    subprocess.run(command, cwd=where, env=environment(home), check=True, capture_output=True)
    return time.perf_counter() - began


def installed(where: pathlib.Path) -> int:
    return len(list((where / ".claude" / "skills").glob("*/SKILL.md")))


def main() -> None:
    skillhub, peer = program(), os.environ.get("SKILLS")
    with tempfile.TemporaryDirectory(dir=".") as temporary:
        root = pathlib.Path(temporary).resolve()
        folder = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else root / "skills"
        if len(sys.argv) == 1:
            made_up(folder)
        times: dict[str, list[float]] = {}
        add = lambda name, seconds: times.setdefault(name, []).append(seconds)
        counts = set()
        for number in range(ROUNDS):
            home = root / f"home-{number}"
            home.mkdir()
            if peer:
                where = project(root / f"peer-{number}")
                command = [peer, "add", str(folder), "--skill", "*", "--agent", "claude-code", "-y"]
                add("skills add", timed(command, where, home))
                counts.add(installed(where))
            where = project(root / f"ours-{number}")
            command = [skillhub, "install", str(folder), "--all", "--agent", "claude-code"]
            add("skillhub install", timed(command, where, home))
            counts.add(installed(where))
            clone = project(root / f"clone-{number}")
            (clone / ".claude").mkdir()
            shutil.copy(where / "skillhub.lock", clone)
            add("skillhub install, from the lock file", timed([skillhub, "install"], clone, home))
            counts.add(installed(clone))
            add("skillhub install, nothing to do", timed([skillhub, "install"], clone, home))
        print(f"{sorted(counts)} skills, the median of {ROUNDS} rounds, seconds")
        base = statistics.median(times["skills add"]) if peer else None
        for name, all_of in times.items():
            middle = statistics.median(all_of)
            ratio = f"  {middle / base:.2f} of the peer" if base else ""
            print(f"{name:40} {middle:6.2f}{ratio}")


if __name__ == "__main__":
    main()
