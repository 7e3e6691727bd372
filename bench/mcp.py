#!/usr/bin/env python3
"""Times the MCP server over stdio on a library of many skills.

    python3 bench/mcp.py [COUNT]        a library with so many skills (10000)

Builds skillhub for release, or takes the program that SKILLHUB names. The library is made in target/bench and used
again by the next run. Speaks the protocol line by line, so that what is timed is the server: the first answer after a
start, the same list again, after a change by another process, a skill that is read, skills that are found, and how long
it takes until a client is told what another program wrote.

How fast the machine is at the moment says the floor, which is timed in the same run: a request that looks at nothing,
and a Python program that reads every SKILL.md.
"""

import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import time

from built import WORK, program, variables

ROUNDS = 300


class Server:
    """A server and the client's end of its pipes."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True, bufsize=1)
        self.number = 0
        self.told = 0.0
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
            if answer.get("method", "").endswith("list_changed"):
                self.told = time.perf_counter()
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

    def cpu(self) -> float:
        """Milliseconds of CPU that the server has used; what it does beside requests is among them."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * 1e3 / os.sysconf("SC_CLK_TCK")

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


def read_all(library: pathlib.Path) -> float:
    """Milliseconds in which Python reads every SKILL.md."""
    began = time.perf_counter()
    for folder in os.scandir(library):
        with open(os.path.join(folder.path, "SKILL.md"), "rb") as file:
            file.read()
    return (time.perf_counter() - began) * 1e3


def run(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Milliseconds of a command, and of CPU in it."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (time.perf_counter() - began) * 1e3, cpu * 1e3


def first_looks(command: list[str], environment: dict[str, str], place: pathlib.Path) -> None:
    """`prompt` where nothing is known, so that every skill is scanned, where all is known, and for a task."""
    walls, cpus = [], []
    for _ in range(3):
        shutil.rmtree(place / "nothing", ignore_errors=True)
        fresh = {**environment, "SKILLHUB_HOME": str(place / "nothing")}
        wall, cpu = run([*command, "prompt", "--quiet"], fresh)
        walls.append(wall)
        cpus.append(cpu)
    row("prompt, each skill scanned", walls)
    row("  CPU in it", cpus)
    run([*command, "prompt", "--quiet"], environment)
    row("prompt in a process that knows them", [run([*command, "prompt", "--quiet"], environment)[0] for _ in range(5)])
    task = [*command, "prompt", "--quiet", "--budget", "800", "--task", "a report on table 77"]
    row("prompt --task", [run(task, environment)[0] for _ in range(5)])


def notices(server: Server, library: pathlib.Path, rounds: int) -> list[float]:
    """Milliseconds from what another program writes until the client is told."""
    times = []
    file = library / "skill-00002" / "SKILL.md"
    before = file.read_text()
    for number in range(rounds):
        time.sleep(2.5)
        server.ask("resources/templates/list")
        began = time.perf_counter()
        file.write_text(before.replace("Reads", f"Reads ({number})", 1))
        while server.told < began and time.perf_counter() < began + 60:
            time.sleep(0.01)
            server.ask("resources/templates/list")
        times.append((server.told - began) * 1e3)
    file.write_text(before)
    return times


def row(what: str, times: list[float]) -> None:
    times = sorted(times)
    print(f"{what:44} {statistics.median(times):9.2f} ms, 95 of 100 within {times[len(times) * 95 // 100]:9.2f} ms")


def timed(server: Server, what: str, rounds: int, ask) -> None:
    before = server.cpu()
    times = [ask(number)[0] for number in range(rounds)]
    row(what, times)
    print(f"  CPU of each {(server.cpu() - before) / rounds:.2f} ms, the quickest took {min(times):.2f} ms")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    place = WORK / f"mcp-{count}"
    library = place / "skills"
    make(library, count)
    environment = variables(place)
    command = [program(), "--library", str(library)]
    row("floor: Python reads every SKILL.md", [read_all(library) for _ in range(5)])
    first_looks(command, environment, place)
    cold = []
    for _ in range(5):
        server = Server([*command, "mcp"], environment)
        cold.append(server.ask("tools/list")[0])
        server.end()
    row(f"tools/list of {count} skills, first after a start", cold)
    server = Server([*command, "mcp"], environment)
    server.ask("tools/list")
    timed(server, "floor: a request that looks at nothing", ROUNDS, lambda _: server.ask("resources/templates/list"))
    timed(server, "tools/list again", ROUNDS, lambda _: server.ask("tools/list"))
    timed(server, "read_skill", ROUNDS, lambda n: server.call("read_skill", name=f"skill-{n * 7 % count:05}"))
    timed(server, "search_skills, every skill fits", 101, lambda n: server.call("search_skills", query=f"report table {n}"))
    timed(server, "search_skills, few fit", 101, lambda n: server.call("search_skills", query=f"77{n}"))
    changed = []
    for number in range(5):
        reason = ["--reason", "timed"]
        patch = ["manage", "patch", "skill-00001", "--find", "# Do", "--replace", f"# Do\n\n{number}", *reason]
        subprocess.run([*command, *patch], env=environment, check=True, stdout=subprocess.DEVNULL)
        changed.append(server.ask("tools/list")[0])
    row("tools/list after a change by another process", changed)
    row("until the client is told what others wrote", notices(server, library, 5))
    print(f"peak memory of the server {server.memory()}")
    server.end()
    subprocess.run([*command, "rollback", "skill-00001", "1"], env=environment, stdout=subprocess.DEVNULL)
    row("floor: Python reads every SKILL.md", [read_all(library) for _ in range(5)])


if __name__ == "__main__":
    main()
