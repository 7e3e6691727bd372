"""`run`: the first-party skills in a real host, with the cases in `evals` and without the skill.

`skillhub eval run --baseline` runs each case with `follower.py`, whose model does what the skill says. All checks of a
case have to hold with the skill, and at least one must not hold without it. The queries in `eval_queries.json` are for
skillhub's own search among all first-party skills.
"""

import concurrent.futures
import contextlib
import http.server
import json
import os
import pathlib
import shlex
import shutil
import sys
import threading
from collections.abc import Iterator

from entries import World
from programs import Failed, Host, run as run_command

HERE = pathlib.Path(__file__).resolve().parent
SEEDS = HERE.parent.parent / "registry-index/seed"
# Four sessions of a slow host.
EVAL_SECONDS = 600
ADDRESS = ("127.0.0.1", 8711)
FOUND = {"results": [
    {"title": "Agent skills", "url": "http://127.0.0.1:8711/one", "content": "What skills are."},
    {"title": "A page that is down", "url": "http://127.0.0.1:8712/two", "content": "It does not answer."},
]}


class Site(http.server.BaseHTTPRequestHandler):
    """Pages, and a search that finds two of them, of which one does not answer."""

    def do_GET(self) -> None:
        is_search = self.path.startswith("/search?")
        body = json.dumps(FOUND).encode() if is_search else b"A skill is a folder with instructions.\n"
        self.send_response(200)
        self.send_header("Content-Type", "application/json" if is_search else "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def site() -> Iterator[None]:
    server = http.server.ThreadingHTTPServer(ADDRESS, Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


def with_evals(seed: pathlib.Path, place: pathlib.Path, ignored: str) -> pathlib.Path:
    """A copy of a skill with its evals."""
    skill = place / seed.name
    shutil.copytree(seed, skill)
    shutil.copytree(HERE / "evals" / seed.name, skill / "evals", ignore=shutil.ignore_patterns(ignored))
    return skill


def grades(results: pathlib.Path, side: str) -> list[list[dict]]:
    """The checks of each case."""
    files = sorted(results.glob(f"eval-*/{side}/run-1/grading.json"))
    return [json.loads(file.read_text())["expectations"] for file in files]


def holding(checks: list[dict]) -> int:
    return sum(check["passed"] for check in checks)


def judge(host: Host, world: World, seed: pathlib.Path, tools: pathlib.Path) -> tuple[str, bool]:
    """Runs the cases and the queries of a skill."""
    skill, results = with_evals(seed, world.place / "cases", "eval_queries.json"), world.place / seed.name
    # A sample under review is dangerous, so no list of skills takes it.
    queries = with_evals(seed, world.place / "queries", "files")
    runner = shlex.join([sys.executable, str(HERE / "follower.py"), host.id, str(tools), world.program])
    cases = [world.program, "eval", "run", str(skill), "--baseline", "--runner", runner, "--out", str(results)]
    try:
        world.skillhub("eval", "lint", str(skill))
        run_command(cases, world.cwd, world.env(), codes=(0, 1), seconds=EVAL_SECONDS)
        chosen = world.skillhub("eval", "run", str(queries), "--trigger", codes=(0, 1))
    except Failed as problem:
        return f"failed: {problem}", False
    having, lacking = grades(results, "with_skill"), grades(results, "without_skill")
    words = [f"case {number}: {holding(one)} of {len(one)} checks with the skill, {holding(other)} without"
             for number, (one, other) in enumerate(zip(having, lacking), 1)]
    summary = next(line for line in chosen.splitlines() if " queries as expected" in line)
    words.append(summary.split(": ")[-1])
    is_ok = bool(words[:-1]) and all(holding(one) == len(one) for one in having) and summary.startswith("passed ")
    is_ok = is_ok and all(holding(other) < len(other) for other in lacking)
    wrong = [f"\n    {check['text']}: {check['evidence']}" for one in having for check in one if not check["passed"]]
    wrong += [f"\n    {line}" for line in chosen.splitlines()] if not summary.startswith("passed ") else []
    return "; ".join(words) + "".join(wrong), is_ok


def run(host: Host, program: str, place: pathlib.Path, tools: pathlib.Path) -> int:
    """Judges all first-party skills in a host, several at a time, and returns how many failed."""
    world = World(os.path.abspath(program), place)
    seeds = sorted(SEEDS.iterdir())
    world.project()
    # The skill page-check comes as a requirement of another.
    world.skillhub("install", *(str(seed) for seed in seeds if seed.name != "page-check"))
    with site(), concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = list(pool.map(lambda seed: judge(host, world, seed, tools), seeds))
    print(f"{host.name} {host.version}")
    for seed, (words, is_ok) in zip(seeds, verdicts):
        print(f"  {'ok  ' if is_ok else 'FAIL'} {seed.name}: {words}")
    return sum(not is_ok for _, is_ok in verdicts)
