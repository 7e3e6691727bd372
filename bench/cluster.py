#!/usr/bin/env python3
"""Times `skillhub serve` over PostgreSQL: a move from a folder, a start, publishing, searches and index files.

    cargo build --release -p skillhub -p skillhub-cluster --features skillhub/cluster --bin skillhub --example publish
    SKILLHUB=target/release/skillhub python3 bench/cluster.py [SKILLS]     40000 skills without

PostgreSQL comes from the system, syncs each commit, and shares the cores with the server and its clients. Archives are in a local
folder. The index is that of `bench/server.py`, made once in target/bench, with ten releases for three skills and one owner for five.
Publishing is measured at the stores, without HTTP and scanning, and over HTTP. `wrk` is needed for the index files.
"""

import contextlib
import http.client
import json
import pathlib
import subprocess
import sys
import time

import built
import server

POSTGRES = built.ROOT / "crates/cluster/src/tests/postgres.sh"
AT_STORES = built.ROOT / "target/release/examples/publish"
PUBLISHED, FEW, MEASURED = 800, 10_000, 4_000


def prepared(skillhub: str, place: pathlib.Path, address: str) -> pathlib.Path:
    """Applies the schema, and returns a configuration file with a folder for archives beside it."""
    (place / "archives").mkdir()
    lines = [
        f"data = {json.dumps(str(place / 'data'))}", "[storage]", 'kind = "cluster"',
        f"database = {json.dumps(address)}", f"objects = {json.dumps(str(place / 'archives'))}",
    ]
    file = place / "serve.toml"
    file.write_text("\n".join(lines) + "\n")
    subprocess.run([skillhub, "serve", "schema", "apply", "--config", str(file)], env=built.variables(server.WORK), check=True,
                   stdout=subprocess.DEVNULL)
    return file


def publish_at_stores(place: pathlib.Path, address: str, clients: int, count: int) -> None:
    subprocess.run([AT_STORES, address, str(place / "archives"), str(clients), str(count)], check=True)


def moved(skillhub: str, skills: int, config: pathlib.Path) -> None:
    kept, data = server.WORK / f"kept-{skills}.git", server.fresh("moved")
    if not kept.exists():
        server.make(skillhub, server.WORK / "making.git", lambda at: 4 if at % 3 == 0 else 3)
        (server.WORK / "making.git").rename(kept)
    (data / "index.git").symlink_to(kept)
    began = time.perf_counter()
    command = [skillhub, "serve", "move", "--from", str(data), "--to", str(config), "--json"]
    done = json.loads(subprocess.run(command, env=built.variables(server.WORK), check=True, capture_output=True, text=True).stdout)
    took = time.perf_counter() - began
    print(f"moved {done['releases']} releases and {done['archives']} archives in {took:.0f} s, {done['releases'] / took:.0f} a second")


def few(skillhub: str, address: str) -> None:
    place = server.fresh("cluster-few")
    prepared(skillhub, place, address)
    print(f"the first {FEW} releases, then {MEASURED} more, at the stores:", flush=True)
    for clients, count in ((8, FEW), (1, MEASURED // 4), (8, MEASURED)):
        publish_at_stores(place, address, clients, count)


def many(skillhub: str, skills: int, address: str) -> None:
    place = server.fresh("cluster")
    config = prepared(skillhub, place, address)
    moved(skillhub, skills, config)
    for clients, count in ((1, MEASURED // 4), (8, MEASURED)):
        publish_at_stores(place, address, clients, count)
    replica = server.Server(skillhub, config)
    print(f"started in {replica.started * 1000:.0f} ms, then {replica.memory()}")
    print("over HTTP:", flush=True)
    for clients in (1, 8):
        server.publish_by(replica, clients, PUBLISHED // clients)
    client = http.client.HTTPConnection("127.0.0.1", replica.port)
    server.ask(replica, client)
    owner, name, _ = server.names_and_texts()[0]
    print(f"index file: {server.wrk(replica.port, f'/index/{name[:2]}/{name[2:4]}/{name}/{owner}'):.0f} a second")
    print(f"memory: {replica.memory()}")
    replica.end()


@contextlib.contextmanager
def postgres():
    """Runs PostgreSQL and gives its address."""
    process = subprocess.Popen(["sh", str(POSTGRES), "-c", "fsync=on"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield f"host={process.stdout.readline().strip()} user=skillhub dbname=postgres"
    finally:
        process.stdin.close()
        process.wait()


def main() -> None:
    skills = int(sys.argv[1]) if len(sys.argv) > 1 else 40_000
    server.SKILLS, server.OWNERS = skills, skills // 5
    server.WORK.mkdir(parents=True, exist_ok=True)
    skillhub = built.program()
    with postgres() as address:
        few(skillhub, address)
    with postgres() as address:
        many(skillhub, skills, address)


if __name__ == "__main__":
    main()
