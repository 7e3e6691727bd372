#!/usr/bin/env python3
"""Times the MCP server over stdio on a library of many skills.

    python3 bench/mcp.py [COUNT]        a library with so many skills (10000)

Builds skillhub for release, or takes the program that SKILLHUB names. The library is made in target/bench and used
again by the next run. Speaks the protocol line by line, so that what is timed is the server: the first answer after a
start, the same list again, after a change by another process, and a skill that is read.
"""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

ROUNDS = 300
ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "target" / "bench"


def program() -> str:
    if given := os.environ.get("SKILLHUB"):
        return given
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=ROOT, check=True)
    return str(ROOT / "target" / "release" / "skillhub")


class Server:
    """A server and the client's end of its pipes."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True, bufsize=1)
        self.number = 0
        client = {"name": "bench", "version": "1"}
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
        self.send({"method": "notifications/initialized"})

    def send(self, message: dict) -> None:
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method: str, **params) -> tuple[float, dict]:
        """Milliseconds until the answer, and the answer."""
        self.number += 1
        began = time.perf_counter()
        self.send({"id": self.number, "method": method, "params": params})
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']}")
                return (time.perf_counter() - began) * 1e3, answer["result"]

    def call(self, tool: str, **arguments) -> tuple[float, dict]:
        took, result = self.ask("tools/call", name=tool, arguments=arguments)
        if result.get("isError"):
            raise SystemExit(f"{tool}: {result['content']}")
        return took, result

    def memory(self) -> str:
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return next(line.split(":")[1].strip() for line in status.splitlines() if line.startswith("VmHWM"))

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait(10)


def make(library: pathlib.Path, count: int) -> None:
    if library.exists() and len(list(library.iterdir())) == count:
        return
    shutil.rmtree(library, ignore_errors=True)
    words = "Reads a table that is named, checks each row and writes a report. " * 3
    for number in range(count):
        name = f"skill-{number:05}"
        (library / name).mkdir(parents=True)
        front = f"---\nname: {name}\ndescription: {words}Use for table {number}.\n---\n"
        (library / name / "SKILL.md").write_text(f"{front}\n# Do\n\n{words}\n")


def row(what: str, times: list[float]) -> None:
    times = sorted(times)
    print(f"{what:44} {statistics.median(times):9.2f} ms, 95 of 100 within {times[len(times) * 95 // 100]:9.2f} ms")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    place = WORK / f"mcp-{count}"
    library = place / "skills"
    make(library, count)
    environment = {"PATH": os.environ["PATH"], "HOME": str(place), "SKILLHUB_HOME": str(place / "home")}
    command = [program(), "--library", str(library)]
    subprocess.run([*command, "prompt", "--quiet"], env=environment, check=True, stdout=subprocess.DEVNULL)
    cold = []
    for _ in range(5):
        server = Server([*command, "mcp"], environment)
        cold.append(server.ask("tools/list")[0])
        server.end()
    row(f"tools/list of {count} skills, first after a start", cold)
    server = Server([*command, "mcp"], environment)
    server.ask("tools/list")
    row("the same again", [server.ask("tools/list")[0] for _ in range(101)])
    row("read_skill", [server.call("read_skill", name=f"skill-{n * 7 % count:05}")[0] for n in range(ROUNDS)])
    row("search_skills", [server.call("search_skills", query=f"report table {n}")[0] for n in range(21)])
    changed = []
    for number in range(5):
        reason = ["--reason", "timed"]
        patch = ["manage", "patch", "skill-00001", "--find", "# Do", "--replace", f"# Do\n\n{number}", *reason]
        subprocess.run([*command, *patch], env=environment, check=True, stdout=subprocess.DEVNULL)
        changed.append(server.ask("tools/list")[0])
    row("tools/list after a change by another process", changed)
    print(f"peak memory of the server {server.memory()}")
    server.end()
    subprocess.run([*command, "rollback", "skill-00001", "1"], env=environment, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
