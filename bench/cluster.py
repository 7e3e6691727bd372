#!/usr/bin/env python3
"""Times `skillhub serve` over PostgreSQL against the targets, with 300,000 skills and a million releases.

    cargo build --release -p skillhub -p skillhub-cluster --features skillhub/cluster --bin skillhub --example publish --example rows
    SKILLHUB=target/release/skillhub python3 bench/cluster.py [--skills N] [PART ...]      few lag many move; all without

few   publishes 10,000 releases into an empty database, then measures publishing.
lag   measures how soon releases are in a git repository: a backlog first, then 50 releases a second over HTTP.
many  loads the large index, then measures publishing, a start, requests and memory.
move  moves a folder of 12,000 skills and 40,000 releases into a database, and from there into another folder.

PostgreSQL comes from the system, syncs each commit, and shares the cores with the server and its clients. Archives are in a local
folder. `psql` loads the rows, and `wrk` is needed for the index files. On two quiet cores, all parts take less than 15 minutes.

What is real: every publish that is measured (8 clients at the stores, without HTTP and scanning, then over HTTP), every search and
other request, the pushes that git receives, and both moves with their proof that the sides are equal. What is loaded: the index of `many`, by COPY, from lines of
releases that the example `rows` turns into the rows of all tables that publishing writes (accounts, members, owners, skills with
their search words, releases, archives, numbered events, audit). Loaded releases have no archives in the folder, which none of the
measurements reads, and nobody has downloaded or starred them. Their texts are those of `bench/server.py`, with ten releases for three
skills and one owner for five.
"""

import argparse
import contextlib
import hashlib
import http.client
import json
import pathlib
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import built
import server

POSTGRES = built.ROOT / "crates/cluster/src/tests/postgres.sh"
EXAMPLES = built.ROOT / "target/release/examples"
PUBLISHED, FEW, MEASURED, MOVED, RATE = 800, 10_000, 4_000, 12_000, 50
ARCHIVE = b"the bytes of no archive"


def figure(what: str, value: float, unit: str, bound: str, target: float) -> None:
    is_met = value <= target if bound == "<=" else value >= target
    print(f"  {what:<52} {value:9.1f} {unit:<10} target {bound} {target:g}: {'met' if is_met else 'MISSED'}", flush=True)


def releases_of(at: int) -> int:
    return 4 if at % 3 == 0 else 3


def lines() -> Iterator[str]:
    """The lines of all releases, skill after skill."""
    archive = f"sha256:{hashlib.sha256(ARCHIVE).hexdigest()}"
    for at, (owner, name, about) in enumerate(server.names_and_texts()):
        when = server.WHEN % (1 + at % 28, at % 24, at % 60)
        for number in range(releases_of(at)):
            digest = hashlib.sha256(f"{owner}/{name} {number}".encode()).hexdigest()
            yield json.dumps({
                "v": 1, "name": f"{owner}/{name}", "version": f"1.{number}.0", "digest": f"sha256:{digest}", "archive": archive,
                "size": len(ARCHIVE), "files": 1, "description": about, "license": None, "keywords": [], "requires": [],
                "verdict": "allow", "publisher": owner, "published_at": when, "signature": None, "yanked": False, "withdrawn": None,
            }, separators=(",", ":"), ensure_ascii=False)


def loaded(address: str) -> None:
    """Loads the index into a database that has a schema and no releases."""
    began, count = time.perf_counter(), 0
    rows = subprocess.Popen([EXAMPLES / "rows"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    psql = subprocess.Popen(["psql", "-qX", "-v", "ON_ERROR_STOP=1", address], stdin=rows.stdout, stdout=subprocess.DEVNULL)
    rows.stdout.close()
    for line in lines():
        rows.stdin.write(line.encode() + b"\n")
        count += 1
    rows.stdin.close()
    if rows.wait() or psql.wait():
        sys.exit("the rows cannot be loaded")
    print(f"loaded {server.SKILLS} skills with {count} releases in {time.perf_counter() - began:.0f} s", flush=True)


def prepared(skillhub: str, place: pathlib.Path, address: str, *more: str) -> pathlib.Path:
    """Applies the schema, and returns a configuration file with a folder for archives beside it, and more settings."""
    (place / "archives").mkdir()
    settings = [
        f"data = {json.dumps(str(place / 'data'))}", "[storage]", 'kind = "cluster"',
        f"database = {json.dumps(address)}", f"objects = {json.dumps(str(place / 'archives'))}", *more,
    ]
    file = place / "serve.toml"
    file.write_text("\n".join(settings) + "\n")
    # The token is that of nobody: opening the stores marks the empty folder as that of this database.
    for command in (["schema", "apply"], ["admin-token"]):
        subprocess.run([skillhub, "serve", *command, "--config", str(file)], env=built.variables(server.WORK), check=True,
                       stdout=subprocess.DEVNULL)
    return file


def publish_at_stores(place: pathlib.Path, address: str, clients: int, count: int) -> float:
    """Publishes, and returns the releases per second."""
    command = [EXAMPLES / "publish", address, str(place / "archives"), str(clients), str(count)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    print("  " + done.stdout.strip(), flush=True)
    return float(re.search(r"publish (\d+) releases", done.stdout)[1])


def few(skillhub: str) -> None:
    with postgres() as address:
        place = server.fresh("cluster-few")
        prepared(skillhub, place, address)
        print(f"{FEW} releases, then more, at the stores:", flush=True)
        publish_at_stores(place, address, 8, FEW)
        publish_at_stores(place, address, 1, MEASURED // 4)
        RATES["few"] = publish_at_stores(place, address, 8, MEASURED)
        figure(f"publishing, 8 clients, {FEW} releases before", RATES["few"], "a second", ">=", 500)


class Remote:
    """A git repository to which the leader pushes the index."""

    def __init__(self, place: pathlib.Path) -> None:
        self.place, self.head = place, "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # the empty tree
        subprocess.run(["git", "init", "--quiet", "--bare", place], check=True)

    def git(self, *args: str) -> str:
        return subprocess.run(["git", "--git-dir", self.place, *args], capture_output=True, text=True).stdout

    def news(self) -> list[str]:
        """Names of the releases that came since the last call."""
        head = self.git("rev-parse", "--verify", "--quiet", "refs/heads/main").strip() or self.head
        changes = self.git("diff", "--unified=0", self.head, head) if head != self.head else ""
        self.head = head
        return re.findall(r'^\+\{"v":\d+,"name":"([^"]+)"', changes, re.M)


def lag(skillhub: str) -> None:
    with postgres() as address:
        place = server.fresh("cluster-lag")
        remote = Remote(place / "index.git")
        config = prepared(skillhub, place, address, f"index_remote = {json.dumps(str(remote.place))}",
                          'archives_url = "http://127.0.0.1:9/{hex}.skill"')
        publish_at_stores(place, address, 8, MEASURED)
        replica = server.Server(skillhub, config)
        began, count = time.perf_counter(), 0
        while count < MEASURED:
            count += len(remote.news())
            time.sleep(0.1)
        figure(f"git catches up with {count} releases", count / (time.perf_counter() - began), "a second", ">=", 80)
        lags = sorted(paced(replica, remote))
        for part, target in ((50, 30), (99, 30)):
            figure(f"git lag at {RATE} a second, p{part}", lags[len(lags) * part // 100], "s", "<=", target)
        replica.end()


def paced(replica: server.Server, remote: Remote) -> list[float]:
    """Publishes at a steady rate for a minute, and returns the seconds after which each release is in the repository."""
    names = [f"paced/skill-{at}" for at in range(RATE * 60)]
    packed = [server.archive(server.skill(name.split("/")[1], "Is published steadily. Use in benchmarks.")) for name in names]
    accepted: dict[str, float] = {}
    seen: dict[str, float] = {}

    def publishes() -> None:
        client, began = http.client.HTTPConnection("127.0.0.1", replica.port), time.perf_counter()
        for at, name in enumerate(names):
            time.sleep(max(0.0, began + at / RATE - time.perf_counter()))
            replica.put(client, name, "1.0.0", packed[at])
            accepted[name] = time.perf_counter()
        print(f"  published {len(names)} in {time.perf_counter() - began:.0f} s", flush=True)

    publisher = threading.Thread(target=publishes)
    publisher.start()
    while publisher.is_alive() or len(seen) < len(accepted):
        seen.update((name, time.perf_counter()) for name in remote.news())
        time.sleep(0.1)
    return [max(0.0, seen[name] - when) for name, when in accepted.items()]


def many(skillhub: str) -> None:
    with postgres() as address:
        place = server.fresh("cluster")
        config = prepared(skillhub, place, address)
        loaded(address)
        publish_at_stores(place, address, 1, MEASURED // 4)
        rate = publish_at_stores(place, address, 8, MEASURED)
        figure("publishing, 8 clients, the large index before", rate, "a second", ">=", 500)
        if "few" in RATES:
            figure(f"its cost, compared with {FEW} releases before", RATES["few"] / rate, "times", "<=", 1.5)
        asked(skillhub, config)


def asked(skillhub: str, config: pathlib.Path) -> None:
    """Measures starts, requests and memory of a replica."""
    starts = []
    for _ in range(5):
        replica = server.Server(skillhub, config)
        starts.append(replica.started)
        replica.end()
    figure("from start to ready, median of 5", statistics.median(starts) * 1000, "ms", "<=", 300)
    replica = server.Server(skillhub, config)
    print("over HTTP:", flush=True)
    for clients in (1, 8):
        server.publish_by(replica, clients, PUBLISHED // clients)
    searches = sorted(server.ask(replica, http.client.HTTPConnection("127.0.0.1", replica.port)))
    figure("search, p50", searches[len(searches) // 2] * 1000, "ms", "<=", 15)
    figure("search, p99", searches[len(searches) * 99 // 100] * 1000, "ms", "<=", 100)
    owner, name, _ = server.names_and_texts()[0]
    figure("index file", server.wrk(replica.port, f"/index/{name[:2]}/{name[2:4]}/{name}/{owner}"), "a second", ">=", 5000)
    peak = int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{replica.child.pid}/status").read_text())[1]) / 1024
    figure("most memory of the replica", peak, "MiB", "<=", 200)
    replica.end()


def move(skillhub: str) -> None:
    skills, owners = server.SKILLS, server.OWNERS
    server.SKILLS, server.OWNERS = MOVED, MOVED // 5
    kept = server.WORK / f"kept-{MOVED}.git"
    if not kept.exists():
        server.make(skillhub, server.WORK / "making.git", releases_of)
        (server.WORK / "making.git").rename(kept)
    server.SKILLS, server.OWNERS = skills, owners
    with postgres() as address:
        config = prepared(skillhub, server.fresh("cluster-move"), address)
        data, back = server.fresh("moved"), server.WORK / "moved-back"
        (data / "index.git").symlink_to(kept)
        server.fresh(back.name).rmdir()
        for title, source, target, least in (("from a folder", data, config, 2000), ("into a folder", config, back, 500)):
            began = time.perf_counter()
            command = [skillhub, "serve", "move", "--from", str(source), "--to", str(target), "--json"]
            done = subprocess.run(command, env=built.variables(server.WORK), check=True, capture_output=True, text=True)
            count, took = json.loads(done.stdout)["releases"], time.perf_counter() - began
            figure(f"move {title}, {count} releases in {took:.0f} s", count / took, "a second", ">=", least)


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """Runs PostgreSQL and gives its address."""
    command = ["sh", str(POSTGRES), "-c", "fsync=on", "-c", "max_wal_size=4GB"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield f"host={process.stdout.readline().strip()} user=skillhub dbname=postgres"
    finally:
        process.stdin.close()
        process.wait()


PARTS = {"few": few, "lag": lag, "many": many, "move": move}
RATES: dict[str, float] = {}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("parts", nargs="*", metavar="PART", help="few, lag, many or move")
    options.add_argument("--skills", type=int, default=300_000)
    given = options.parse_args()
    if unknown := set(given.parts) - set(PARTS):
        options.error(f"unknown parts: {', '.join(unknown)}")
    server.SKILLS, server.OWNERS = given.skills, given.skills // 5
    server.WORK.mkdir(parents=True, exist_ok=True)
    skillhub = built.program()
    for part in given.parts or PARTS:
        PARTS[part](skillhub)


if __name__ == "__main__":
    main()
