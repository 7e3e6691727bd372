#!/usr/bin/env python3
"""Times a registry that only git reaches, small and large, served by a `git daemon` on loopback.

    python3 bench/registry.py [SKILLS ...]      with so many skills (1000 100000)

Builds skillhub for release, or takes the program that SKILLHUB names. Registries are made in target/bench with
`git fast-import` and used again by the next run: a fifth as many owners as skills, an archive of 1,000 random bytes each.
Every figure is a whole process. What was fetched is the growth of the mirror in the home.
"""

import hashlib
import json
import os
import pathlib
import random
import shutil
import socket
import statistics
import subprocess
import sys
import time

import built

ROUNDS = 5
WORK = built.WORK / "registries"
WHEN = "2026-01-01T00:00:00Z"


def environment(home: pathlib.Path) -> dict[str, str]:
    return {**built.variables(WORK, home), "GIT_CONFIG_NOSYSTEM": "1"}


def line(name: str, digest: str, archive: str, size: int, words: list[str]) -> bytes:
    entry = {
        "v": 1, "name": name, "version": "1.0.0", "digest": f"sha256:{digest}", "archive": f"sha256:{archive}",
        "size": size, "files": 3, "description": f"Handles {' '.join(words)}. Use when a task needs it.",
        "license": "MIT", "keywords": words[:3], "requires": [], "verdict": "allow",
        "publisher": name.split("/")[0], "published_at": WHEN, "signature": None, "yanked": False, "withdrawn": None,
    }
    return (json.dumps(entry, separators=(",", ":")) + "\n").encode()


def make(skillhub: str, place: pathlib.Path, count: int) -> None:
    """A registry with so many skills, all but the first commit made in one."""
    shutil.rmtree(place, ignore_errors=True)
    subprocess.run([skillhub, "index", "init", str(place)], env=environment(WORK / "maker"), check=True,
                   stdout=subprocess.DEVNULL)
    draw = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(draw.choice(letters) for _ in range(draw.randint(3, 9))) for _ in range(4000)]
    owners = max(1, count // 5)
    importer = subprocess.Popen(["git", "--git-dir", str(place), "fast-import", "--quiet"], stdin=subprocess.PIPE)
    assert importer.stdin
    importer.stdin.write(b"commit refs/heads/main\ncommitter bench <b@invalid> 1767225600 +0000\ndata 5\nfill\n\n"
                         b"from refs/heads/main^0\n")

    def put(path: str, data: bytes) -> None:
        importer.stdin.write(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data))

    for at in range(owners):
        put(f"owners/owner{at}.json", b'{"format":1,"owner":"owner%d","keys":[]}\n' % at)
    for at in range(count):
        said = [draw.choice(words) for _ in range(12)]
        name, owner = f"{said[0]}-{said[1]}-{at}", f"owner{at % owners}"
        archive = draw.randbytes(1000)
        digest = hashlib.sha256(name.encode()).hexdigest()
        put(f"{name[:2]}/{name[2:4]}/{name}/{owner}",
            line(f"{owner}/{name}", digest, hashlib.sha256(archive).hexdigest(), len(archive), said))
        put(f"bundles/{digest[:2]}/{digest[2:4]}/{digest}.skill", archive)
    importer.stdin.close()
    if importer.wait():
        sys.exit("git fast-import failed")


class Daemon:
    def __init__(self) -> None:
        where = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True).stdout.strip()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.child = subprocess.Popen(
            [f"{where}/git-daemon", "--listen=127.0.0.1", f"--port={self.port}", "--reuseaddr", "--export-all",
             "--enable=receive-pack", f"--base-path={WORK}", str(WORK)], stderr=subprocess.DEVNULL)
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.05)
        sys.exit("git daemon does not listen")

    def url(self, name: str) -> str:
        return f"git://127.0.0.1:{self.port}/{name}"


def size(folder: pathlib.Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


class User:
    """One home, at one registry."""

    def __init__(self, skillhub: str, name: str, url: str) -> None:
        self.home, self.url, self.skillhub = WORK / f"home-{name}", url, skillhub
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir()

    def run(self, *arguments: str) -> tuple[float, float, int]:
        """Wall and processor seconds, of it and of the gits that it runs, and bytes fetched."""
        mirrors = self.home / "registries"
        before, used = size(mirrors), os.times()
        started = time.perf_counter()
        done = subprocess.run([self.skillhub, "--registry", self.url, "--library", str(self.home / "library"), *arguments],
                              env=environment(self.home), capture_output=True, text=True)
        wall, now = time.perf_counter() - started, os.times()
        if done.returncode:
            sys.exit(f"{arguments}: {done.stderr or done.stdout}")
        cpu = now.children_user + now.children_system - used.children_user - used.children_system
        return wall, cpu, size(mirrors) - before


def tell(title: str, runs: list[tuple[float, float, int]]) -> None:
    wall, cpu, fetched = (statistics.median(column) for column in zip(*runs))
    print(f"  {title:<44} {wall * 1000:9.0f} ms wall {cpu * 1000:9.0f} ms CPU {fetched / 1024:9.0f} KiB")


def skill(name: str, text: str) -> str:
    folder = WORK / "skills" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {text} Use in benchmarks.\n---\n\n# {name}\n\n{text}\n")
    return str(folder)


def search(skillhub: str, url: str, publisher: User) -> None:
    user = User(skillhub, "searcher", url)
    tell("search, first use", [user.run("search", "release", "notes")])
    tell("search again", [user.run("search", "release", "notes") for _ in range(ROUNDS)])
    publisher.run("publish", skill("bench-later", "Is later."), "--owner", "bench0")
    tell("search after a release", [user.run("search", "release", "notes")])


def measure(skillhub: str, daemon: Daemon, count: int, parts: tuple[str, ...] = ("search", "clone")) -> None:
    walls = []
    kept, place = WORK / f"kept-{count}.git", WORK / f"skills-{count}.git"
    if not kept.exists():
        make(skillhub, kept, count)
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(kept, place)
    url = daemon.url(place.name)
    for _ in range(ROUNDS):
        started = time.perf_counter()
        subprocess.run(["git", "ls-remote", "--quiet", url], check=True, capture_output=True)
        walls.append(time.perf_counter() - started)
    print(f"{count} skills, {size(place) / (1 << 20):.0f} MiB; one git ls-remote takes {statistics.median(walls) * 1000:.0f} ms")
    publishers = [User(skillhub, f"publisher-{at}", url) for at in range(ROUNDS)]
    first = [user.run("publish", skill(f"bench-first-{at}", "Is first."), "--owner", f"bench{at}")
             for at, user in enumerate(publishers)]
    tell("publish, first use of the registry", first)
    tell("publish again, another skill", [
        user.run("publish", skill(f"bench-again-{at}", "Is another."), "--owner", f"bench{at}")
        for at, user in enumerate(publishers)])
    tell("publish again, next version", [
        user.run("publish", skill(f"bench-again-{at}", "Is changed."), "--owner", f"bench{at}")
        for at, user in enumerate(publishers)])
    users = [User(skillhub, f"user-{at}", url) for at in range(ROUNDS)]
    tell("install, first use of the registry", [
        user.run("install", f"bench{at}/bench-first-{at}") for at, user in enumerate(users)])
    tell("install another", [user.run("install", f"bench{at}/bench-again-{at}") for at, user in enumerate(users)])
    tell("install by bare name, first use", [
        User(skillhub, f"bare-{at}", url).run("install", f"bench-first-{at}") for at in range(ROUNDS)])
    if "search" in parts:
        search(skillhub, url, publishers[0])
    if "clone" not in parts:
        return
    clone = WORK / "clone.git"
    shutil.rmtree(clone, ignore_errors=True)
    started = time.perf_counter()
    subprocess.run(["git", "clone", "--quiet", "--bare", "--depth=1", url, str(clone)], check=True)
    print(f"  for comparison, git clone --bare --depth=1    {(time.perf_counter() - started) * 1000:7.0f} ms wall "
          f"{'':21}{size(clone) / 1024:9.0f} KiB")


def main() -> None:
    WORK.mkdir(parents=True, exist_ok=True)
    skillhub = built.program()
    daemon = Daemon()
    try:
        for count in [int(text) for text in sys.argv[1:]] or [1000, 100000]:
            measure(skillhub, daemon, count)
    finally:
        daemon.child.terminate()


if __name__ == "__main__":
    main()
