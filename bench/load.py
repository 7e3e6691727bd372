#!/usr/bin/env python3
"""Loads `skillhub serve` the way that stalls servers: many clients at once, silent ones, and ones that leave.

    python3 bench/load.py [PART ...]      memory gateway silent index search; all without

Builds skillhub for release, or takes the program that SKILLHUB names. Clients are one Python process on the same machine, so they
take a part of the processors; the processor time of the server is told beside each figure. Before and after: run it twice with two
programs.
"""

import http.client
import json
import os
import pathlib
import random
import re
import resource
import socket
import subprocess
import sys
import threading
import time

import built
from server import COMMON, WORK, Server, archive, fresh, skill

CLIENTS, SILENT, SKILLS, SECONDS = 64, 1024, 134, 5
PLAIN = "the table then each row with its heading is below a name or number and more of it stands there".split()
TICKS = os.sysconf("SC_CLK_TCK")


def status(pid: int, key: str) -> float:
    """A figure of /proc/PID/status, in MB."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"{key}:\s+(\d+)", text)[1]) / 1000


def processor(pid: int) -> float:
    """Seconds of processor time that a process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def large(name: str, seed: int = 1) -> dict[str, bytes]:
    """A skill of 15 MB: plain texts, without the words that make a scan long."""
    draw = random.Random(seed)
    lines = [" ".join(draw.choices(PLAIN, k=12)) for _ in range(5000)]
    text = lambda: "\n".join(draw.choices(lines, k=20_000)).encode()[:1_000_000]
    return {**skill(name, "Has much to read. Use in benchmarks."), **{f"references/part-{at}.md": text() for at in range(15)}}


class Asking:
    """One connection that sends the same request again and again."""

    def __init__(self, port: int, path: str, head: str = "") -> None:
        self.stream = socket.create_connection(("127.0.0.1", port))
        self.stream.settimeout(120)
        self.request = f"GET {path} HTTP/1.1\r\nHost: localhost{head}\r\n\r\n".encode()
        self.rest = b""

    def ask(self) -> tuple[int, int]:
        """The status and the length of the body."""
        self.stream.sendall(self.request)
        data = self.rest
        while b"\r\n\r\n" not in data:
            data += self.more()
        head, _, body = data.partition(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", head)[1])
        seen = len(body)
        while seen < length:
            seen += len(self.more())
        self.rest = b""
        return int(head[9:12]), length

    def more(self) -> bytes:
        data = self.stream.recv(1 << 18)
        if not data:
            raise ConnectionError("the server closed the connection")
        return data


def at_once(port: int, paths: list[str], rounds: int, head: str = "") -> tuple[list[float], dict[int, int], int]:
    """Times requests of a client for each path, all at the same time: how long each took, the statuses, and failures."""
    took, statuses, failed, lock = [], {}, [0], threading.Lock()
    ready = threading.Barrier(len(paths))

    def one(path: str) -> None:
        ready.wait()
        try:
            asking = Asking(port, path, head)
            for _ in range(rounds):
                began = time.perf_counter()
                code, _ = asking.ask()
                passed = time.perf_counter() - began
                with lock:
                    took.append(passed)
                    statuses[code] = statuses.get(code, 0) + 1
        except OSError:
            with lock:
                failed[0] += 1

    threads = [threading.Thread(target=one, args=(path,)) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(took), statuses, failed[0]


def part_of(took: list[float], part: float) -> str:
    return f"{took[min(len(took) - 1, int(len(took) * part))] * 1000:.1f} ms" if took else "never"


def report(title: str, used: float, result: tuple[list[float], dict[int, int], int]) -> None:
    took, statuses, failed = result
    print(f"  {title:<26} p50 {part_of(took, 0.5)}, p99 {part_of(took, 0.99)}, most {part_of(took, 1)}; "
          f"{used:.2f} s CPU; {statuses}{f', {failed} failed' if failed else ''}", flush=True)


def put(server: Server, name: str, files: dict[str, bytes], version: str = "1.0.0") -> None:
    server.put(http.client.HTTPConnection("127.0.0.1", server.port, timeout=300), name, version, archive(files))


def memory(skillhub: str) -> None:
    """Requests of 64 clients at once for a release of 15 MB, each kind on a server that was just started."""
    data = fresh("load-memory")
    server = Server(skillhub, data)
    put(server, "bench/much", large("much"))
    put(server, "bench/much", large("much", 2), "1.1.0")
    server.end()
    print(f"{CLIENTS} clients ask at once about a release of 15 MB")
    much = "/v1/skills/bench/much/1.0.0"
    for title, path in {
        "a file of 60 bytes": f"{much}/files/SKILL.md",
        "a file of 1 MB": f"{much}/files/references/part-1.md",
        "the scan": f"{much}/scan",
        "the page of the skill": "/bench/much",
        "the page of a file": "/bench/much/files/1.0.0/SKILL.md",
        "the page of what changed": "/bench/much/diff/1.0.0/1.1.0",
        "the archive": f"{much}/archive",
    }.items():
        server = Server(skillhub, data)
        pid = server.child.pid
        before, used = status(pid, "VmRSS"), processor(pid)
        result = at_once(server.port, [path] * CLIENTS, 1)
        print(f"  {title:<26} {status(pid, 'VmHWM') - before:5.0f} MB more", end="")
        report("", processor(pid) - used, result)
        server.end()


def silent(skillhub: str) -> None:
    """New connections beside ones that never say anything."""
    server = Server(skillhub, fresh("load-silent"))
    pid = server.child.pid
    print(f"requests on new connections beside {SILENT} silent ones")
    held = []
    for title, count in {"no silent ones": 0, f"{SILENT} silent ones": SILENT, f"{SILENT} more each second": 0}.items():
        held += [socket.create_connection(("127.0.0.1", server.port)) for _ in range(count)]
        ended = threading.Event()

        def flood() -> None:
            while not ended.wait(1 / SILENT):
                held.append(socket.create_connection(("127.0.0.1", server.port)))
                if len(held) > 2 * SILENT:
                    held.pop(0).close()

        flooding = threading.Thread(target=flood)
        if "more" in title:
            flooding.start()
        took, failed, used = [], 0, processor(pid)
        for _ in range(300):
            began = time.perf_counter()
            try:
                Asking(server.port, "/healthz").ask()
                took.append(time.perf_counter() - began)
            except OSError:
                failed += 1
            time.sleep(0.01)
        ended.set()
        if flooding.ident:
            flooding.join()
        report(title, processor(pid) - used, (sorted(took), {200: len(took)}, failed))
    server.end()


def filled(skillhub: str, name: str) -> Server:
    """A server with 134 small skills, whose descriptions all have one word."""
    server = Server(skillhub, fresh(name))
    client = http.client.HTTPConnection("127.0.0.1", server.port)
    draw = random.Random(5)
    for at in range(SKILLS):
        about = f"Does {' '.join(draw.choices(COMMON, k=20))} with files. Use when {' '.join(draw.choices(COMMON, k=10))} is needed."
        server.put(client, f"owner{at % 20}/skill-{at}", "1.0.0", archive(skill(f"skill-{at}", about)))
    return server


def index(skillhub: str) -> None:
    """The index that `npx skills` reads, by 8 clients for some seconds."""
    server = filled(skillhub, "load-index")
    pid = server.child.pid
    print(f"the index at the root, {SKILLS} skills, 8 clients")
    for form in ("agent-skills", "skills"):
        path = f"/.well-known/{form}/index.json"
        Asking(server.port, path).ask()
        used, began = processor(pid), time.perf_counter()
        counts = [0] * 8

        def one(at: int) -> None:
            asking = Asking(server.port, path)
            while time.perf_counter() < began + SECONDS:
                asking.ask()
                counts[at] += 1

        threads = [threading.Thread(target=one, args=(at,)) for at in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        passed, used = time.perf_counter() - began, processor(pid) - used
        print(f"  {form:<14} {sum(counts) / passed:8.0f} requests a second, {used / sum(counts) * 1000:.3f} ms CPU each", flush=True)
    server.end()


def search(skillhub: str) -> None:
    """A word that all skills have, by 64 clients at once."""
    server = filled(skillhub, "load-search")
    pid = server.child.pid
    print(f"searches for a word that all {SKILLS} skills have, {CLIENTS} clients")
    for title, path in {"the API": "/v1/skills?q=files", "the page": "/-/search?q=files"}.items():
        used = processor(pid)
        result = at_once(server.port, [path] * CLIENTS, 20)
        report(title, processor(pid) - used, result)
    server.end()


class Library:
    """`skillhub serve --gateway` for a library with one skill of 15 MB."""

    token = "a-token-of-the-benchmark"

    def __init__(self, skillhub: str) -> None:
        place = fresh("load-gateway")
        environment = {**built.variables(place), "SKILLHUB_GATEWAY_TOKEN": self.token}
        library = place / ".agents" / "skills"
        for path, content in large("much").items():
            file = library / "much" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        adopt = [skillhub, "adopt", str(library / "much")]
        subprocess.run(adopt, env=environment, cwd=place, check=True, stdout=subprocess.DEVNULL)
        command = [skillhub, "serve", "--gateway", "--addr", "127.0.0.1:0", "--json"]
        self.child = subprocess.Popen(command, env=environment, cwd=place, stdout=subprocess.PIPE, text=True)
        self.port = int(re.search(r":(\d+)/", json.loads(self.child.stdout.readline())["url"])[1])

    def signed_in(self) -> str:
        """The cookies of a browser that has signed in."""
        client = http.client.HTTPConnection("127.0.0.1", self.port)
        client.request("GET", "/-/sign-in")
        answer = client.getresponse()
        proof = re.search(r'name="proof" value="([^"]*)"', answer.read().decode())[1]
        cookies = [one.split(";")[0] for one in answer.headers.get_all("set-cookie")]
        form = f"token={self.token}&reviewer=&proof={proof}"
        client.request("POST", "/-/sign-in", form, {"Cookie": "; ".join(cookies), "Content-Type": "application/x-www-form-urlencoded"})
        answer = client.getresponse()
        return "; ".join(cookies + [one.split(";")[0] for one in answer.headers.get_all("set-cookie")])


def gateway(skillhub: str) -> None:
    """Requests of 64 clients at once about a skill of 15 MB of a library, each kind at a gateway that was just started."""
    print(f"{CLIENTS} clients ask a gateway at once about a skill of 15 MB")
    for title, path in {
        "the list of skills": "/api/skills",
        "the page of the skill": "/skills/much",
        "the page of a file": "/skills/much/files/now/SKILL.md",
    }.items():
        server = Library(skillhub)
        pid = server.child.pid
        head = f"\r\nAuthorization: Bearer {Library.token}" if "/api/" in path else f"\r\nCookie: {server.signed_in()}"
        before, used = status(pid, "VmRSS"), processor(pid)
        result = at_once(server.port, [path] * CLIENTS, 1, head)
        print(f"  {title:<26} {status(pid, 'VmHWM') - before:5.0f} MB more", end="")
        report("", processor(pid) - used, result)
        server.child.terminate()
        server.child.wait()


PARTS = {"memory": memory, "gateway": gateway, "silent": silent, "index": index, "search": search}


def main() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    WORK.mkdir(parents=True, exist_ok=True)
    skillhub = built.program()
    for part in sys.argv[1:] or PARTS:
        PARTS[part](skillhub)


if __name__ == "__main__":
    main()
