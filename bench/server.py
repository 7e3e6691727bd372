#!/usr/bin/env python3
"""Times `skillhub serve`: starts, searches among 100,000 releases, publishing, and static files against nginx.

    python3 bench/server.py [PART ...]      search publish static; all without

Builds skillhub for release, or takes the program that SKILLHUB names. The index for `search` is made once in target/bench: 40,000
skills of 8,000 owners with 100,000 releases, whose archives are whole. Requests go over loopback, one after the other on one
connection where nothing else is said. `static` needs `wrk` and `nginx`; both servers give the same bytes, one run each in turn.
"""

import atexit
import hashlib
import http.client
import io
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import threading
import time
import zipfile

import built

WORK = built.WORK / "server"
SKILLS, RELEASES, OWNERS = 40_000, 100_000, 8_000
WHEN = "2026-01-%02dT%02d:%02d:00Z"
COMMON = """agent analyse api archive audit backup branch browser build cache calendar chart check clean cloud code commit compare convert
create csv data database debug deploy design diagram diff docker document draft edit email excel export extract file fill fix form format
generate git graph guide image import index install invoice issue json kubernetes lint list log mail markdown merge migrate monitor notes
number office parse pdf plan plot postgres presentation project prompt publish python query read record refactor release render report
review rust schedule schema scrape script search security send server slides spreadsheet sql status style summary sync table task template
test text tool track transform translate update upload validate version video website word workflow write yaml""".split()
CHINESE = "表格 数据 图表 代码 审查 文档 翻译 报告 测试 部署 数据库 查询 邮件 日历 会议 笔记 合同 发票 图片 视频 网页 搜索 摘要 模板 格式 转换 检查 发布 版本 安全".split()
ROUNDS, SECONDS = 5, 5


def archive(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as packed:
        for path, content in sorted(files.items()):
            member = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            member.create_system, member.external_attr = 3, 0o100644 << 16
            packed.writestr(member, content)
    return out.getvalue()


def digest(files: dict[str, bytes]) -> str:
    whole = hashlib.sha256(b"skillhub-digest-v1\n")
    for path, content in sorted((path.encode(), content) for path, content in files.items()):
        whole.update(len(path).to_bytes(8, "big") + path + b"\0" + hashlib.sha256(content).digest())
    return whole.hexdigest()


def skill(name: str, about: str, body: str = "") -> dict[str, bytes]:
    return {"SKILL.md": f"---\nname: {name}\ndescription: {about}\n---\n\n# {name}\n\n{body or 'Read.'}\n".encode()}


class Words:
    """Texts whose words are as unevenly common as those of real ones."""

    def __init__(self) -> None:
        self.draw = random.Random(1)
        letters = "abcdefghijklmnopqrstuvwxyz"
        rare = ["".join(self.draw.choice(letters) for _ in range(self.draw.randint(4, 10))) for _ in range(6000)]
        self.all = COMMON + rare
        self.sums = list(itertools.accumulate(1 / (at + 10) for at in range(len(self.all))))

    def some(self, count: int) -> list[str]:
        return self.draw.choices(self.all, cum_weights=self.sums, k=count)

    def about(self) -> str:
        if self.draw.random() < 0.1:
            return "把" + "".join(self.draw.choices(CHINESE, k=3)) + "，支持" + "、".join(self.draw.choices(CHINESE, k=3)) + "。"
        return f"{' '.join(self.some(14)).capitalize()}. Use when {' '.join(self.some(6))} is needed."


def names_and_texts() -> list[tuple[str, str, str]]:
    """Owner, name and description of each skill."""
    words = Words()
    return [(f"owner{at % OWNERS}", f"{'-'.join(words.some(2))}-{at}", words.about()) for at in range(SKILLS)]


def make(skillhub: str, place: pathlib.Path, releases=lambda at: 2 + at % 2) -> None:
    """An index of SKILLS skills, each with its number of releases, all but its first commit made in one."""
    subprocess.run([skillhub, "index", "init", str(place)], env=built.variables(WORK), check=True, stdout=subprocess.DEVNULL)
    importer = subprocess.Popen(["git", "--git-dir", str(place), "fast-import", "--quiet"], stdin=subprocess.PIPE)
    importer.stdin.write(b"commit refs/heads/main\ncommitter bench <b@invalid> 1767225600 +0000\ndata 5\nfill\n\n"
                         b"from refs/heads/main^0\n")

    def put(path: str, data: bytes) -> None:
        importer.stdin.write(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data))

    for at in range(OWNERS):
        put(f"owners/owner{at}.json", b'{"format":1,"owner":"owner%d","keys":[]}\n' % at)
    for at, (owner, name, about) in enumerate(names_and_texts()):
        lines = b""
        for number in range(releases(at)):
            files = skill(name, about, f"Version {number}.")
            packed, hexed = archive(files), digest(files)
            entry = {
                "v": 1, "name": f"{owner}/{name}", "version": f"1.{number}.0", "digest": f"sha256:{hexed}",
                "archive": f"sha256:{hashlib.sha256(packed).hexdigest()}", "size": len(packed), "files": 1, "description": about,
                "license": None, "keywords": [], "requires": [], "verdict": "allow", "publisher": owner,
                "published_at": WHEN % (1 + at % 28, at % 24, at % 60), "signature": None, "yanked": False, "withdrawn": None,
            }
            lines += (json.dumps(entry, separators=(",", ":"), ensure_ascii=False) + "\n").encode()
            put(f"bundles/{hexed[:2]}/{hexed[2:4]}/{hexed}.skill", packed)
        put(f"{name[:2]}/{name[2:4]}/{name}/{owner}", lines)
    importer.stdin.close()
    if importer.wait():
        sys.exit("git fast-import failed")


class Server:
    def __init__(self, skillhub: str, place: pathlib.Path) -> None:
        """Serves a data folder, or what a configuration file names."""
        environment = built.variables(WORK)
        where = ["--config" if place.suffix == ".toml" else "--data", str(place)]
        token = subprocess.run([skillhub, "serve", "admin-token", *where], env=environment, check=True,
                               capture_output=True, text=True)
        self.token = token.stdout.strip()
        began = time.perf_counter()
        command = [skillhub, "serve", *where, "--addr", "127.0.0.1:0", "--rate", "0", "--json"]
        self.child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        # Also where a run ends early.
        atexit.register(self.child.terminate)
        self.url = json.loads(self.child.stdout.readline())["url"]
        self.port = int(self.url.rsplit(":", 1)[1])
        self.get(http.client.HTTPConnection("127.0.0.1", self.port), "/readyz")
        self.started = time.perf_counter() - began

    @staticmethod
    def get(client: http.client.HTTPConnection, path: str) -> bytes:
        client.request("GET", path)
        answer = client.getresponse()
        body = answer.read()
        if answer.status != 200:
            sys.exit(f"{path}: {answer.status} {body[:500]}")
        return body

    def put(self, client: http.client.HTTPConnection, name: str, version: str, packed: bytes) -> None:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/zip"}
        client.request("PUT", f"/v1/skills/{name}/{version}", packed, headers)
        answer = client.getresponse()
        body = answer.read()
        if answer.status != 200:
            sys.exit(f"{name}: {answer.status} {body[:500]}")

    def memory(self) -> str:
        status = pathlib.Path(f"/proc/{self.child.pid}/status").read_text()
        now, peak = (int(re.search(rf"{key}:\s+(\d+)", status)[1]) // 1024 for key in ("VmRSS", "VmHWM"))
        return f"{now} MiB, {peak} MiB at most"

    def end(self) -> None:
        self.child.terminate()
        self.child.wait(timeout=60)


def fresh(name: str) -> pathlib.Path:
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def tell(title: str, took: list[float], floor: float = 0) -> None:
    ordered = sorted(took)
    at = lambda part: (ordered[min(len(ordered) - 1, int(len(ordered) * part))] - floor) * 1000
    print(f"  {title:<36} p50 {at(0.5):7.2f} ms   p99 {at(0.99):7.2f} ms   most {at(1):7.2f} ms", flush=True)


def queries() -> dict[str, list[str]]:
    """What people look for, by kind."""
    words, skills = Words(), names_and_texts()
    draw = random.Random(2)
    rare = words.all[400:]
    mistyped = lambda word: word[:2] + word[3] + word[2] + word[4:] if len(word) > 4 else word + "x"
    some = 200
    return {
        "one common word": [draw.choice(COMMON) for _ in range(some)],
        "one rare word": [draw.choice(rare) for _ in range(some)],
        "several words": [" ".join(words.some(draw.randint(2, 4))) for _ in range(some)],
        "a whole sentence": [" ".join(words.some(12)) for _ in range(some)],
        "the beginning of a word": [draw.choice(words.all)[: draw.randint(1, 4)] for _ in range(some)],
        "a mistyped word": [mistyped(draw.choice(words.all)) for _ in range(some)],
        "a whole name": [draw.choice(skills)[1] for _ in range(some)],
        "Chinese": ["".join(draw.choices(CHINESE, k=draw.randint(1, 3))) for _ in range(some)],
        "one owner's": [f"{draw.choice(COMMON)}&owner=owner{draw.randrange(OWNERS)}" for _ in range(some)],
        "nothing fits": [f"qq{draw.randrange(10**9)}zz" for _ in range(some)],
        "page after page": [f"{draw.choice(COMMON)}&offset={draw.randrange(0, 100)}&limit=20" for _ in range(some)],
        "a list, by downloads": [f"&sort=downloads&offset={draw.randrange(0, 9000)}" for _ in range(some)],
    }


def search(skillhub: str) -> None:
    empty = [Server(skillhub, fresh(f"empty-{number}")) for number in range(ROUNDS)]
    print(f"start with an empty folder: {statistics.median(server.started for server in empty) * 1000:.0f} ms")
    for server in empty:
        server.end()
    kept = WORK / "kept.git"
    if not kept.exists():
        make(skillhub, WORK / "making.git")
        (WORK / "making.git").rename(kept)
    data = fresh("large")
    shutil.copytree(kept, data / "index.git")
    first = Server(skillhub, data)
    print(f"{SKILLS} skills, {RELEASES} releases: first start {first.started:.1f} s, then {first.memory()}")
    first.end()
    server = Server(skillhub, data)
    print(f"  started again in {server.started * 1000:.0f} ms, then {server.memory()}")
    client = http.client.HTTPConnection("127.0.0.1", server.port)
    ask(server, client)
    for at in range(100):
        name = f"later-{at}"
        server.put(client, f"bench/{name}", "1.0.0", archive(skill(name, f"Is later, xylophone{at}. Use in benchmarks.")))
        found = json.loads(server.get(client, f"/v1/skills?q=xylophone{at}"))["results"]
        assert found[0]["name"] == f"bench/{name}", found
    print(f"  100 releases published, each found at once; {server.memory()}", flush=True)
    began = time.perf_counter()
    subprocess.run([skillhub, "index", "verify", str(data / "index.git")], env=built.variables(WORK), check=True,
                   stdout=subprocess.DEVNULL)
    print(f"  the index is clean ({time.perf_counter() - began:.0f} s)")
    server.end()


def ask(server: Server, client: http.client.HTTPConnection) -> list[float]:
    def timed(path: str) -> float:
        began = time.perf_counter()
        server.get(client, path)
        return time.perf_counter() - began

    floor = [timed("/healthz") for _ in range(1000)]
    tell("a request that does nothing", floor)
    every = []
    for title, texts in queries().items():
        took = []
        for text in texts:
            words, _, rest = text.partition("&")
            took.append(timed("/v1/skills?q=" + "+".join(map(quoted, words.split())) + ("&" + rest if rest else "")))
        tell(title, took)
        every += took
    tell("all searches", every)
    print(f"  memory: {server.memory()}")
    return every


def quoted(word: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "".join(f"%{byte:02x}" for byte in c.encode()) for c in word)


def publish(skillhub: str) -> None:
    for clients in (1, 8):
        server = Server(skillhub, fresh(f"publish-{clients}"))
        publish_by(server, clients, 400 // clients)
        server.end()


def publish_by(server: Server, clients: int, count: int) -> None:
    """Publishes releases of skills of 6 KB with three files, each of a skill of its own."""
    text = "Read the table that is named first, then write each row with its heading.\n\n"
    packed = [[archive({**skill(f"made-{clients}-{at}-{number}", "Reads tables. Use in benchmarks.", text * 50),
                        "references/columns.md": (text * 20).encode(), "scripts/count.py": b"print(1)\n" * 40})
               for number in range(count)] for at in range(clients)]

    def one(at: int) -> None:
        client = http.client.HTTPConnection("127.0.0.1", server.port)
        for number in range(count):
            server.put(client, f"owner{at}/made-{clients}-{at}-{number}", "1.0.0", packed[at][number])

    threads = [threading.Thread(target=one, args=(at,)) for at in range(clients)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - began
    print(f"{clients} {'client publishes' if clients == 1 else 'clients publish'} {clients * count / took:.0f} releases a second; {server.memory()}")


NGINX = """worker_processes 2; pid {place}/nginx.pid; error_log {place}/error.log; daemon off; {user}
events {{ worker_connections 1024; }}
http {{ access_log off; sendfile on; tcp_nopush on; keepalive_requests 10000000; types {{ application/zip skill; }}
default_type application/x-ndjson; open_file_cache {cache};
server {{ listen 127.0.0.1:{port}; root {place}/root; }} }}
"""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def nginx(place: pathlib.Path, files: dict[str, bytes], cache: str) -> tuple[subprocess.Popen, int]:
    for path, content in files.items():
        file = place / "root" / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    port = free_port()
    user = "user root;" if os.geteuid() == 0 else ""
    (place / "nginx.conf").write_text(NGINX.format(place=place, port=port, user=user, cache=cache))
    child = subprocess.Popen(["nginx", "-p", str(place), "-c", str(place / "nginx.conf")])
    atexit.register(child.terminate)
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return child, port
        except OSError:
            time.sleep(0.05)
    sys.exit("nginx does not listen")


def wrk(port: int, path: str) -> float:
    done = subprocess.run(["wrk", "-t1", "-c32", f"-d{SECONDS}s", f"http://127.0.0.1:{port}{path}"], check=True,
                          capture_output=True, text=True)
    if "Non-2xx" in done.stdout:
        sys.exit(done.stdout)
    return float(re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)[1])


def static(skillhub: str) -> None:
    server = Server(skillhub, fresh("static"))
    client = http.client.HTTPConnection("127.0.0.1", server.port)
    for number in range(8):
        about = f"Keeps tables, release {number}, with all that belongs to them. Use in benchmarks."
        server.put(client, "bench/tables", f"1.{number}.0", archive(skill("tables", about)))
    draw = random.Random(3)
    large = "\n".join(" ".join(draw.choices(COMMON, k=10)) for _ in range(800))[:50_000]
    server.put(client, "bench/large", "1.0.0", archive({**skill("large", "Is large. Use in benchmarks."),
                                                        "references/more.md": large.encode()}))
    hexed = json.loads(server.get(client, "/v1/skills/bench/large/latest"))["release"]["digest"][7:]
    paths = ["/index/ta/bl/tables/bench", f"/index/bundles/{hexed[:2]}/{hexed[2:4]}/{hexed}.skill"]
    files = {path: server.get(client, path) for path in paths}
    others = [(title, *nginx(fresh(f"nginx-{number}"), files, cache))
              for number, (title, cache) in enumerate([("nginx", "off"), ("nginx, open_file_cache", "max=100"), ])]
    for path, content in files.items():
        runs = {title: [] for title in ("skillhub", *(title for title, _, _ in others))}
        for _ in range(ROUNDS):
            runs["skillhub"].append(wrk(server.port, path))
            for title, _, port in others:
                runs[title].append(wrk(port, path))
        print(f"{len(content)} bytes, requests a second, the best of {ROUNDS}, and the median of the ratios in a round")
        for title, rates in runs.items():
            ratio = statistics.median(ours / other for ours, other in zip(runs["skillhub"], rates))
            print(f"  {title:<24} {max(rates):9.0f}   skillhub has {ratio:.2f} of it", flush=True)
    for _, child, _ in others:
        child.terminate()
        child.wait()
    print(f"  memory: {server.memory()}")
    server.end()


PARTS = {"search": search, "publish": publish, "static": static}


def main() -> None:
    WORK.mkdir(parents=True, exist_ok=True)
    skillhub = built.program()
    for part in sys.argv[1:] or PARTS:
        PARTS[part](skillhub)


if __name__ == "__main__":
    main()
