#!/usr/bin/env python3
"""Times `skillhub list` with edited skills in a library, against the same library without edits.

    python3 bench/edited.py [SKILLHUB] [--skills N] [--edited N] [--rounds N]

The first list after the edits scans them; it is reported apart. A list before the timed rounds waits until the
folders' times are old enough to be believed.
"""

import argparse, json, os, pathlib, statistics, subprocess, tempfile, time

parser = argparse.ArgumentParser()
parser.add_argument("skillhub", nargs="?", default="target/debug/skillhub")
parser.add_argument("--skills", type=int, default=546)
parser.add_argument("--edited", type=int, default=50)
parser.add_argument("--rounds", type=int, default=9)
args = parser.parse_args()
program = str(pathlib.Path(args.skillhub).resolve())

TEXT = "---\nname: {0}\ndescription: Does {0}. Use when {0} is wanted.\n---\n\n# {0}\n\n" + "Read the input, and write a line.\n" * 60

with tempfile.TemporaryDirectory() as top:
    home = pathlib.Path(top, "home")
    skills = home / ".agents/skills"
    for number in range(args.skills):
        folder = skills / f"skill-{number}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(TEXT.format(folder.name))
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}

    def run(*words):
        begin = time.perf_counter()
        done = subprocess.run([program, *words, "--json"], env=env, cwd=top, capture_output=True)
        assert done.returncode == 0, done.stdout[:2000]
        return time.perf_counter() - begin, json.loads(done.stdout)

    def times():
        time.sleep(2.5)
        run("list"), run("list")
        return [run("list")[0] for _ in range(args.rounds)]

    run("adopt", *[str(folder) for folder in sorted(skills.iterdir())])
    clean = times()
    for number in range(args.edited):
        file = skills / f"skill-{number}/SKILL.md"
        file.write_text(file.read_text() + "\nOne line more.\n")
    first, document = run("list")
    assert sum(skill["edited"] for skill in document["skills"]) == args.edited
    edited = times()
    ratio = statistics.median(edited) / statistics.median(clean)
    print(f"{args.skills} skills, clean: median {statistics.median(clean) * 1000:.0f} ms, shortest {min(clean) * 1000:.0f} ms")
    print(f"{args.edited} of them edited: median {statistics.median(edited) * 1000:.0f} ms, shortest {min(edited) * 1000:.0f} ms")
    print(f"the first list after the edits: {first * 1000:.0f} ms")
    print(f"ratio of medians {ratio:.2f}, of the shortest {min(edited) / min(clean):.2f}")
