#!/usr/bin/env python3
"""Times `skillhub serve` over PostgreSQL: a move from a folder, a start, publishing, searches and index files.

    SKILLHUB=/path/to/skillhub python3 bench/cluster.py [SKILLS]     40000 skills without

The program is built with the feature `cluster`. PostgreSQL comes from the system, syncs each commit, and shares the cores with the
server and its clients. Archives are in a local folder. The index is that of `bench/server.py`, made once in target/bench: five
releases for two skills and one owner for five. `wrk` is needed for the index files.
"""

import http.client
import json
import pathlib
import subprocess
import sys
import time

import built
import server

POSTGRES = built.ROOT / "crates/cluster/src/tests/postgres.sh"
PUBLISHED = 800


def configuration(place: pathlib.Path, database: str) -> pathlib.Path:
    archives = place / "archives"
    archives.mkdir()
    lines = [
        f"data = {json.dumps(str(place / 'data'))}", "[storage]", 'kind = "cluster"',
        f"database = {json.dumps(f'host={database} user=skillhub dbname=postgres')}", f"objects = {json.dumps(str(archives))}",
    ]
    file = place / "serve.toml"
    file.write_text("\n".join(lines) + "\n")
    return file


def moved(skillhub: str, skills: int, config: pathlib.Path) -> None:
    kept, data = server.WORK / f"kept-{skills}.git", server.fresh("moved")
    if not kept.exists():
        server.make(skillhub, server.WORK / "making.git")
        (server.WORK / "making.git").rename(kept)
    (data / "index.git").symlink_to(kept)
    began = time.perf_counter()
    command = [skillhub, "serve", "move", "--from", str(data), "--to", str(config), "--json"]
    done = json.loads(subprocess.run(command, env=built.variables(server.WORK), check=True, capture_output=True, text=True).stdout)
    took = time.perf_counter() - began
    print(f"moved {done['releases']} releases and {done['archives']} archives in {took:.0f} s, {done['releases'] / took:.0f} a second")


def measure(skillhub: str, skills: int, database: str) -> None:
    place = server.fresh("cluster")
    config = configuration(place, database)
    subprocess.run([skillhub, "serve", "schema", "apply", "--config", str(config)], env=built.variables(server.WORK), check=True,
                   stdout=subprocess.DEVNULL)
    moved(skillhub, skills, config)
    replica = server.Server(skillhub, config)
    print(f"started in {replica.started * 1000:.0f} ms, then {replica.memory()}")
    for clients in (1, 8):
        server.publish_by(replica, clients, PUBLISHED // clients)
    client = http.client.HTTPConnection("127.0.0.1", replica.port)
    server.ask(replica, client)
    owner, name, _ = server.names_and_texts()[0]
    print(f"index file: {server.wrk(replica.port, f'/index/{name[:2]}/{name[2:4]}/{name}/{owner}'):.0f} a second")
    print(f"memory: {replica.memory()}")
    replica.end()


def main() -> None:
    skills = int(sys.argv[1]) if len(sys.argv) > 1 else 40_000
    server.SKILLS, server.OWNERS = skills, skills // 5
    server.WORK.mkdir(parents=True, exist_ok=True)
    postgres = subprocess.Popen(["sh", str(POSTGRES), "-c", "fsync=on"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        measure(built.program(), skills, postgres.stdout.readline().strip())
    finally:
        postgres.stdin.close()
        postgres.wait()


if __name__ == "__main__":
    main()
