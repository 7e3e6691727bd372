#!/usr/bin/env python3
"""Times and counts what one change of a skill costs, against floors measured in the same run.

    python3 bench/write_path.py [SKILL_MD]

Builds skillhub for release, unless SKILLHUB names one, and makes a library of one skill in a temporary folder. Measures, in turns:
a process that patches one line of its SKILL.md (a text of 22 KB, or the file given), the start of a
process that does nothing, an append of as many bytes with one `fdatasync`, and `git commit -a` of the
same change. Counts the syncs of a patch, of a batch and of an install of several skills with `strace`,
where that is there. Then a process that is running patches many times, on that disk and in memory.
"""

import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 60
ROOT = pathlib.Path(__file__).resolve().parent.parent
GIVEN = os.environ.get("SKILLHUB")
PROGRAM = pathlib.Path(GIVEN) if GIVEN else ROOT / "target" / "release" / "skillhub"
LINE = "The value of the counter is "


def text_of_22_kb() -> str:
    words = "Read the table that is named first, then write each row with its heading. "
    body = "".join(f"## Part {n}\n\n{words * 4}\n\n" for n in range(68))
    return f"---\nname: measured\ndescription: Reads tables. Use when a table is given.\n---\n\n{LINE}0.\n\n{body}"


class Place:
    """A home with one skill in its library."""

    def __init__(self, root: pathlib.Path, text: str):
        self.root, self.name = root, re.search(r"^name: *(\S+)", text, re.M).group(1)
        self.env = {"PATH": os.environ["PATH"], "HOME": str(root), "SKILLHUB_LIBRARY": str(root / "library")}
        (root / "first.md").write_text(text)
        self.run("manage", "create", self.name, "--content", str(root / "first.md"))

    def run(self, *arguments: str, before=(), **more):
        return subprocess.run([*before, PROGRAM, *arguments], env=self.env, check=True, capture_output=True, **more)

    def patch(self, count: int) -> list[str]:
        return ["manage", "patch", self.name, "--find", f"{LINE}{count}.", "--replace", f"{LINE}{count + 1}."]


def measured(work) -> tuple[float, float]:
    """Milliseconds of wall and of CPU that some work and its children take."""
    def cpu():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime
    before, began = cpu(), time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e3, (cpu() - before) * 1e3


def syncs(place: Place, *arguments: str, **more) -> int | None:
    if not shutil.which("strace"):
        return None
    trace = place.root / "trace"
    calls = "trace=fsync,fdatasync,syncfs,sync,sync_file_range,msync"
    place.run(*arguments, before=["strace", "-f", "-o", str(trace), "-e", calls], **more)
    return len(re.findall(r"\b(?:fsync|fdatasync|syncfs|sync|sync_file_range|msync)\(", trace.read_text()))


def git_floor(root: pathlib.Path, text: str):
    """A repository in which the same change can be committed again and again."""
    repository = root / "repository"
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0"]
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    def commit(count: int):
        (repository / "SKILL.md").write_text(text.replace(f"{LINE}0.", f"{LINE}{count}."))
        subprocess.run([*git, "add", "SKILL.md"], check=True)
        subprocess.run([*git, "commit", "-qm", "change"], check=True)
    commit(-1)
    return commit


def folders(root: pathlib.Path, text: str, name: str) -> list[str]:
    """Ten skills in folders of their own."""
    made = [root / f"other-{n}" for n in range(10)]
    for folder in made:
        folder.mkdir()
        (folder / "SKILL.md").write_text(text.replace(f"name: {name}", f"name: {folder.name}", 1))
    return list(map(str, made))


def append_synced(file, data: bytes) -> None:
    file.write(data)
    file.flush()
    os.fdatasync(file.fileno())


def row(what: str, wall: list[float], cpu: list[float] | None = None) -> None:
    cpu_text = f"{statistics.median(cpu):8.2f} ms of CPU" if cpu else ""
    print(f"{what:44} {statistics.median(wall):8.2f} ms {cpu_text}")


def main() -> None:
    text = pathlib.Path(sys.argv[1]).read_text() if len(sys.argv) > 1 else text_of_22_kb()
    if LINE not in text:
        text += f"\n{LINE}0.\n"
    if not GIVEN:
        build = ["cargo", "build", "--release", "--quiet", "-p", "skillhub", "-p", "skill_manage"]
        subprocess.run([*build, "--bin", "skillhub", "--example", "patches"], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "target") as folder:
        root = pathlib.Path(folder)
        place, commit = Place(root, text), git_floor(root, text)
        figures = {what: ([], []) for what in ("patch", "start", "append", "git")}
        with open(root / "appended", "ab") as appended:
            for count in range(ROUNDS):
                works = {
                    "patch": lambda: place.run(*place.patch(count)),
                    "start": lambda: place.run("--version"),
                    "append": lambda: append_synced(appended, text.encode()),
                    "git": lambda: commit(count),
                }
                for what, work in works.items():
                    wall, cpu = measured(work)
                    figures[what][0].append(wall)
                    figures[what][1].append(cpu)
        print(f"SKILL.md of {len(text.encode())} bytes, medians of {ROUNDS} rounds")
        row("one patch, the whole process", *figures["patch"])
        row("a process that does nothing", *figures["start"])
        row("an append of those bytes, synced", figures["append"][0])
        row("git add and git commit, not synced", *figures["git"])
        wall = {what: statistics.median(figures[what][0]) for what in figures}
        beyond = statistics.median(figures["patch"][1]) - statistics.median(figures["start"][1])
        print(f"{'CPU of a patch beyond the start of a process':44} {beyond:8.2f} ms")
        print(f"{'git against a patch':44} {wall['git'] / wall['patch']:8.1f} times")
        print(f"syncs of a patch: {syncs(place, *place.patch(ROUNDS))}")
        operations = ",".join(
            f'{{"action":"write_file","path":"references/{n}.md","content":"x"}}' for n in range(20))
        request = f'{{"name":"{place.name}","operations":[{operations}]}}'
        print(f"syncs of 20 operations: {syncs(place, 'manage', '--request', '-', input=request.encode())}")
        print(f"syncs of an install of 10 skills: {syncs(place, 'install', *folders(root, text, place.name))}")
    patches = PROGRAM.parent / "examples" / "patches"
    for where in [ROOT / "target", pathlib.Path("/dev/shm")]:
        if patches.exists() and where.exists():
            print(f"in {where.name}:", flush=True)
            subprocess.run([patches], cwd=where, check=True)


if __name__ == "__main__":
    main()
