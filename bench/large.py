#!/usr/bin/env python3
"""Times `skillhub serve` over a large index: the first start, publishing by owners that are known, and how the repository grows.

    python3 bench/large.py [SKILLS [PUBLISHED]]      300000 skills and 2400 publishes without

Builds skillhub for release, or takes the program that SKILLHUB names. The index is made once in target/bench by `git fast-import`:
ten releases for three skills and one owner for five, in one commit, with archives of a few hundred bytes. Each of eight clients
publishes releases of skills that are there. The growth is that of index.git after the server has packed it.
"""

import http.client
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import threading
import time

import built
import server

CLIENTS = 8
# The server packs after 60 publishes, and again a minute after the last.
PACKING_SECONDS = 300
MOST_PACKS = 12


def make(skillhub: str, place: pathlib.Path, skills: int) -> None:
    server.SKILLS, server.OWNERS = skills, skills // 5
    server.make(skillhub, place, lambda at: 4 if at % 3 == 0 else 3)


def memory(pid: int) -> str:
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    kind = lambda key: int(re.search(rf"{key}:\s+(\d+)", status)[1]) // 1024
    return f"{kind('VmHWM')} MiB at most; now {kind('RssAnon')} MiB of its own and {kind('RssFile')} MiB of mapped files"


def size(folder: pathlib.Path) -> int:
    return int(subprocess.run(["du", "-s", "-B1", str(folder)], check=True, capture_output=True, text=True).stdout.split()[0])


def packs(git: pathlib.Path) -> int:
    return len(list((git / "objects/pack").glob("*.pack")))


def publish(run: server.Server, names: list[str], count: int) -> tuple[list[float], float, int]:
    """Seconds of each publish, of all, and the bytes of the archives."""
    draw, took, sizes = random.Random(7), [], []
    chosen = draw.sample(names, count)
    words = server.Words()

    def one(part: list[str]) -> None:
        client = http.client.HTTPConnection("127.0.0.1", run.port)
        for name in part:
            packed = server.archive(server.skill(name.split("/")[1], "Reads tables. Use in benchmarks.", " ".join(words.some(700))))
            began = time.perf_counter()
            run.put(client, name, "2.0.0", packed)
            took.append(time.perf_counter() - began)
            sizes.append(len(packed))

    threads = [threading.Thread(target=one, args=(chosen[at::CLIENTS],)) for at in range(CLIENTS)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took, time.perf_counter() - began, sum(sizes)


def main() -> None:
    skills, published = (int(text) for text in (sys.argv[1:] + ["300000", "2400"][len(sys.argv) - 1:]))
    server.WORK.mkdir(parents=True, exist_ok=True)
    skillhub = built.program()
    kept = server.WORK / f"kept-{skills}.git"
    if not kept.exists():
        making = server.WORK / f"making-{skills}.git"
        shutil.rmtree(making, ignore_errors=True)
        make(skillhub, making, skills)
        making.rename(kept)
    data = server.fresh(f"data-{skills}")
    git = data / "index.git"
    shutil.copytree(kept, git)
    run = server.Server(skillhub, data)
    print(f"{skills} skills: first start {run.started:.1f} s; {memory(run.child.pid)}", flush=True)
    run.end()
    run = server.Server(skillhub, data)
    print(f"  started again in {run.started * 1000:.0f} ms; {memory(run.child.pid)}", flush=True)
    server.SKILLS, server.OWNERS = skills, skills // 5
    names = [f"{owner}/{name}" for owner, name, _ in server.names_and_texts()]
    before = size(git)
    took, whole, archives = publish(run, names, published)
    server.tell(f"a publish, {CLIENTS} clients", took)
    print(f"  {published / whole:.0f} publishes a second; {memory(run.child.pid)}")
    print(f"  {packs(git)} packs, {(size(git) - before - archives) / published / 1024:.1f} KiB a publish beside its archive")
    until = time.monotonic() + PACKING_SECONDS
    while packs(git) > MOST_PACKS and time.monotonic() < until:
        time.sleep(2)
    grown = (size(git) - before - archives) / published / 1024
    print(f"  packed: {packs(git)} packs, {grown:.1f} KiB a publish beside its archive; {memory(run.child.pid)}")
    found = json.loads(run.get(http.client.HTTPConnection("127.0.0.1", run.port), "/v1/skills/" + names[0]))
    assert found["ok"], found
    run.end()
    subprocess.run(["git", "--git-dir", str(git), "fsck", "--connectivity-only"], check=True, capture_output=True)


if __name__ == "__main__":
    main()
