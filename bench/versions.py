#!/usr/bin/env python3
"""Merges real successive versions of skills, where the right answer is known.

    SKILLHUB=target/release/skillhub python3 bench/versions.py DIR [--without-blocked]

DIR has a folder for each skill with its versions in folders 1, 2, 3 …. Of three that follow each
other, the change from the second to the third is made to the first, where `git apply` can do that.
Then the first is the release that is installed, the changed first is what somebody made of it here,
and the second is the new release: merged they must be the third. Each case goes through the program:
install, an edit by hand, update. Beside it `git merge-file` merges every file. With `--without-blocked` the paragraphs for
which the scanner blocks a version are first taken out of it, so that every merge is tried.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def run(args, cwd, env=None, check=True, **more):
    done = subprocess.run(args, cwd=cwd, env=env, capture_output=True, **more)
    if check and done.returncode:
        raise SystemExit(f"{args}: {done.stderr.decode()}")
    return done


def files(folder):
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts):
            found[str(path.relative_to(folder))] = path.read_bytes()
    return found


def changed_first(first, second, third, place):
    """The first version with the change from the second to the third, or None."""
    work = place / "patched"
    shutil.copytree(first, work)
    shutil.copytree(second, place / "a")
    shutil.copytree(third, place / "b")
    diff = run(["git", "diff", "--no-index", "--binary", "--no-renames", "a", "b"], place, check=False)
    if not diff.stdout:
        return None
    applied = run(["git", "apply", "-p2", "--whitespace=nowarn"], work, check=False, input=diff.stdout)
    return work if applied.returncode == 0 and files(work) != files(first) else None


def git_merges(base, ours, theirs, place):
    """What `git merge-file` makes of every file, or None where it finds a conflict."""
    base, ours, theirs = files(base), files(ours), files(theirs)
    merged = {}
    for path in sorted(set(base) | set(ours) | set(theirs)):
        b, o, t = base.get(path), ours.get(path), theirs.get(path)
        if o == t or t == b:
            result = o
        elif o == b:
            result = t
        elif None in (b, o, t):
            return None
        else:
            for name, content in (("ours", o), ("base", b), ("theirs", t)):
                (place / name).write_bytes(content)
            done = run(["git", "merge-file", "-p", "ours", "base", "theirs"], place, check=False)
            if done.returncode:
                return None
            result = done.stdout
        if result is not None:
            merged[path] = result
    return merged


def update(program, name, base, ours, theirs, place):
    """What the program makes of it: its status, and the skill's files then."""
    env = {**os.environ, "HOME": str(place), "SKILLHUB_HOME": str(place / "home")}
    source, library = place / name, place / "library"
    shutil.copytree(base, source)
    args = [program, "--library", str(library), "--json"]
    done = run([*args, "install", str(source)], place, env, check=False)
    installed = json.loads(done.stdout)
    if not installed["ok"]:
        return "not installed: " + installed["error"]["code"], None
    skill = pathlib.Path(installed["skills"][0]["path"])
    shutil.rmtree(skill)
    shutil.copytree(ours, skill)
    shutil.rmtree(source)
    shutil.copytree(theirs, source)
    updated = json.loads(run([*args, "update"], place, env, check=False).stdout)
    if not updated.get("skills"):
        return updated["error"]["code"], None
    return updated["skills"][0]["status"], files(skill)


def without_blocked(program, version, place):
    """A copy of a version without the paragraphs for which it would be blocked."""
    copy = place / version.name
    shutil.copytree(version, copy)
    for _ in range(20):
        done = run([program, "--json", "scan", str(copy)], place, check=False)
        findings = json.loads(done.stdout)["skills"][0]["findings"]
        blocking = [found for found in findings if found["severity"] in ("high", "critical")]
        if not blocking:
            return copy
        found = blocking[0]
        path = copy / found["path"]
        lines = path.read_text().split("\n")
        start = end = found["line"] - 1
        while start > 0 and lines[start - 1].strip():
            start -= 1
        while end < len(lines) and lines[end].strip():
            end += 1
        path.write_text("\n".join(lines[:start] + lines[end:]))
    raise SystemExit(f"{version}: still blocked")


def main():
    program = str(pathlib.Path(os.environ.get("SKILLHUB", "target/release/skillhub")).resolve())
    counts = {"pairs": 0, "git merges": 0, "merged here": 0, "of those that git merges": 0,
              "the third version": 0, "equal to git's": 0}
    others = []
    cleaned = tempfile.TemporaryDirectory()
    for skill in sorted(path for path in pathlib.Path(sys.argv[1]).iterdir() if path.is_dir()):
        versions = sorted((path for path in skill.iterdir() if path.is_dir()), key=lambda path: int(path.name))
        if "--without-blocked" in sys.argv:
            copies = pathlib.Path(cleaned.name) / skill.name
            copies.mkdir()
            versions = [without_blocked(program, version, copies) for version in versions]
        for first, second, third in zip(versions, versions[1:], versions[2:]):
            with tempfile.TemporaryDirectory() as place:
                place = pathlib.Path(place)
                ours = changed_first(first, second, third, place)
                if ours is None:
                    continue
                by_git = git_merges(first, ours, second, place)
                work = place / "work"
                work.mkdir()
                status, merged = update(program, skill.name.split("__")[-1], first, ours, second, work)
                is_merged = status in ("merged", "updated", "unchanged")
                counts["pairs"] += 1
                counts["git merges"] += by_git is not None
                counts["merged here"] += is_merged
                counts["of those that git merges"] += is_merged and by_git is not None
                counts["the third version"] += is_merged and merged == files(third)
                counts["equal to git's"] += is_merged and by_git is not None and merged == by_git
                if not is_merged or merged != files(third):
                    others.append(f"{skill.name} {first.name}-{third.name}: {status}, git {'merges' if by_git is not None else 'does not'}")
    for what, count in counts.items():
        print(f"{count:5}  {what}")
    print("not the third version:", *others, sep="\n  ")


main()
