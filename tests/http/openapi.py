#!/usr/bin/env python3
"""The server does what its description says: Schemathesis asks everything of it that /v1/openapi.json allows, and more.

    python3 tests/http/openapi.py [SKILLHUB] [--seconds N] [--seed N] [--who NAME…]

Starts the real program on a folder with releases (one yanked, one under quarantine, one withdrawn), reports and accounts, and
asks as nobody, as a publisher, and as who runs it. No answer may be a fault of the server; each status, content type and body
is one that the description has; what is not valid is refused; what needs a token is refused without. The server writes no
fault to its log, and its index is clean afterwards. A few requests of each kind for each operation; `--seconds` makes as many
as fit into that time, for each of the three. Installs `schemathesis` from PyPI into target/schemathesis where it is missing.
Exits with 1 where anything does not hold.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.request

HOOKS = pathlib.Path(__file__).with_name("openapi_hooks.py")
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SITE = ROOT / "target" / "schemathesis"
PACKAGE = "schemathesis==4.32.5"
# The first is what the description takes for an example, but for its version, which is published by asking.
RELEASES = {
    "acme/pdf-forms": ["1.1.0"],
    "acme/notes": ["1.0.0", "1.1.0", "1.2.0", "1.3.0", "2.0.0-rc.1"],
    "acme/tables": ["0.3.0"],
    "zoe/notes": ["1.0.0", "1.1.0"],
}
# Of each operation, drawn at random, beside those that are made of what the description says.
EXAMPLES = 8
# The lines with which a server says that it ends.
ENDING = r'"stage":"stopp(ing: [^"]*|ed)"}$'
# What is there, so that not every answer is that there is no such thing; each is drawn in three of four requests.
WORDS = {
    "owner": ["acme", "zoe"],
    "name": ["notes", "pdf-forms"],
    "version": ["1.0.0", "1.1.0", "1.2.0", "1.3.0", "latest", "3.0.0", "3.1.0", "3.2.0"],
    "from": ["1.0.0", "1.3.0"],
    "to": ["1.1.0", "latest"],
    "path": ["SKILL.md", "references/more.md"],
    "account": ["zoe", "guest", "mia"],
    "q": ["notes", "table", "表"],
    "id": ["1", "2"],
}


def search_path() -> dict[str, str]:
    """The environment in which the package is found, which is installed when it is not there."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SITE), "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
    look = [sys.executable, "-m", "schemathesis.cli", "--version"]
    found = subprocess.run(look, env=environment, capture_output=True, text=True)
    if PACKAGE.split("==")[1] not in found.stdout:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade"]
        subprocess.run([*pip, "--target", str(SITE), PACKAGE], check=True)
    return environment


class World:
    """A server with releases."""

    def __init__(self, program: str, place: pathlib.Path) -> None:
        self.program, self.place = program, place
        self.data = place / "data"
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(place), "SKILLHUB_HOME": str(place / "home")}
        self.data.mkdir()
        self.admin = self.run("serve", "admin-token", "--data", str(self.data)).strip()
        self.log = (place / "log").open("w+")
        command = [program, "serve", "--data", str(self.data), "--addr", "127.0.0.1:0", "--rate", "0", "--json"]
        self.server = subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.url = json.loads(self.server.stdout.readline())["url"]
        self.fill()

    def run(self, *arguments: str) -> str:
        done = subprocess.run([self.program, *arguments], env=self.environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{arguments}: {done.stderr or done.stdout}")
        return done.stdout

    def ask(self, method: str, path: str, body: object = None) -> dict:
        sent = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.admin}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data=sent, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def token(self, account: str, scope: str) -> str:
        return self.ask("POST", "/v1/tokens", {"account": account, "scope": scope})["secret"]

    def archive(self, skill: str, version: str) -> bytes:
        name = skill.split("/")[1]
        folder = self.place / "skills" / name
        (folder / "references").mkdir(parents=True, exist_ok=True)
        about = f"Keeps {name} of {skill}, 表格. Use in tests."
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {about}\n---\n\n# {name}\n\nRead {version}.\n")
        (folder / "references" / "more.md").write_text(f"# More\n\nOf {version}.\n")
        file = self.place / "archives" / f"{skill.replace('/', '-')}-{version}.skill"
        file.parent.mkdir(exist_ok=True)
        self.run("pack", str(folder), "-o", str(file))
        return file.read_bytes()

    def fill(self) -> None:
        for skill, versions in RELEASES.items():
            for version in versions:
                self.ask("PUT", f"/v1/skills/{skill}/{version}", self.archive(skill, version))
        self.token("guest", "read")
        self.token("mia", "read")
        self.publisher = self.token("zoe", "publish")
        self.ask("PUT", "/v1/owners/acme/members/zoe", {"role": "maintainer"})
        self.ask("PUT", "/v1/skills/acme/notes/1.1.0/yank?reason=Loses%20pages.")
        self.ask("PUT", "/v1/skills/acme/notes/1.2.0/quarantine", {"reason": "Is looked at."})
        self.ask("POST", "/v1/skills/acme/notes/1.3.0/withdraw", {"reason": "Was bad."})
        for version in ("1.0.0", "1.1.0"):
            self.ask("POST", f"/v1/skills/acme/notes/{version}/reports", {"reason": "Looks odd."})
            self.ask("PUT", "/v1/skills/zoe/notes/star")

    def end(self) -> list[str]:
        """Ends the server and returns what it logged besides that."""
        self.server.terminate()
        if self.server.wait(timeout=60):
            sys.exit(f"the server ended with {self.server.returncode}")
        self.log.seek(0)
        return [line for line in self.log.read().splitlines() if not re.search(ENDING, line)]


def settings(place: pathlib.Path, options: argparse.Namespace, token: str | None) -> pathlib.Path:
    """A file that says how to ask."""
    lines = [f'hooks = "{HOOKS}"', f"seed = {options.seed}", "continue-on-failure = true", "request-timeout = 30"]
    lines += [f"max-time = {options.seconds}"] if options.seconds else []
    lines += ["[output.sanitization]", "enabled = true"]
    lines += ["[generation]", "deterministic = false", 'database = "none"']
    lines += [] if options.seconds else [f"max-examples = {EXAMPLES}"]
    # A request that fits the description may be refused all the same, as a version that is taken.
    lines += ["[checks.positive_data_acceptance]", "enabled = false"]
    refused = [400, 401, 403, 404, 405, 406, 408, 409, 410, 413, 415, 422, 428, 429, 431]
    lines += ["[checks.negative_data_rejection]", f"expected-statuses = {refused}"]
    for name, words in WORDS.items():
        lines += [f"[dictionaries.{name}]", f"values = {json.dumps(words, ensure_ascii=False)}"]
    lines += ["[parameters]"]
    for name in WORDS:
        where = "query" if name == "q" else "path"
        lines += [f'"{where}.{name}" = {{ dictionary = "{name}", probability = 0.75 }}']
    if token:
        lines += ["[auth.openapi.token]", f'bearer = "{token}"']
    file = place / "schemathesis.toml"
    file.write_text("\n".join(lines) + "\n")
    return file


def asked(program: str, who: str, options: argparse.Namespace, environment: dict[str, str]) -> bool:
    """Whether everything that is asked as somebody is answered as described, by a server that was just filled."""
    with tempfile.TemporaryDirectory() as temporary:
        world = World(program, pathlib.Path(temporary).resolve())
        token = {"nobody": None, "publisher": world.publisher, "admin": world.admin}[who]
        file = settings(world.place, options, token)
        ids = ",".join(token["id"] for token in world.ask("GET", "/v1/tokens")["tokens"])
        environment = {**environment, "ARCHIVES": str(world.place / "archives"), "TOKENS": ids}
        command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(file), "run", f"{world.url}/v1/openapi.json"]
        done = subprocess.run(command, env=environment, cwd=world.place, capture_output=True, text=True)
        count = re.search(r"(\d+) generated", done.stdout)
        if done.returncode or not count:
            print(done.stdout, done.stderr, sep="\n")
        releases = sum(len(world.ask("GET", f"/v1/skills/{skill}")["releases"]) for skill in RELEASES)
        faults = world.end()
        for line in faults:
            print(f"the server's log: {line}")
        world.run("index", "verify", str(world.data / "index.git"))
        passed = done.returncode == 0 and count is not None and not faults
        new = releases - sum(len(versions) for versions in RELEASES.values())
        print(f"{'ok' if passed else 'FAILED'}: {count[1] if count else 0} requests as {who}, {new} releases by them", flush=True)
        return passed


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("program", nargs="?", default=str(ROOT / "target" / "debug" / "skillhub"))
    parser.add_argument("--seconds", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--who", nargs="*", default=["nobody", "publisher", "admin"])
    options = parser.parse_args()
    environment = search_path()
    program = str(pathlib.Path(options.program).resolve())
    return 0 if all([asked(program, who, options, environment) for who in options.who]) else 1


if __name__ == "__main__":
    sys.exit(main())
