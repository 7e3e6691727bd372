#!/usr/bin/env python3
"""Writes the corpus of stored formats of a release, which every later build has to read.

    python3 tests/formats/write.py SKILLHUB

Runs the program in an empty folder, so that it writes every kind of file that it stores: a home with the library of a
project (revisions, proposals, outcomes, a trial, pins, a review checkpoint), a lock file with every kind of source, an
index, and the data of a server. Packs all of it into tests/data/formats/VERSION/corpus.tar.gz, with `expected.json`,
the program's own answers about it. Refuses to replace a corpus: an old one is never edited.
"""

import base64
import gzip
import json
import os
import pathlib
import pty
import shutil
import struct
import subprocess
import sys
import tarfile
import textwrap

TREE = pathlib.Path(__file__).resolve().parent.parent
# Stored paths begin with this folder, and stored addresses have this port.
ROOT = pathlib.Path("/tmp/skillhub-formats")
PORT = 38713
SERVER = f"http://127.0.0.1:{PORT}"
WORK = ROOT / "work"
# The first test key of RFC 8032: the secret and the public half.
SECRET = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
PUBLIC = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
CONFIG = """format = 1
owner = "acme"

[registries.team]
location = "../../index"
owners = ["acme"]

[[rules]]
decision = "hold"
changes = ["scripts"]
why = "scripts are reviewed"

[scan]
rules = ["rules"]
own_hosts = ["acme.test"]

[gate]
min_runs = 20
"""
RULES = """[defaults]
category = "acme"
remedy = "read from the copy in warehouse.acme.test"

[[rule]]
id = "acme-production-database"
evidence = "strong"
scope = "code"
role = "command"
message = "connects to the production database"
literals = ["prod-db.acme.test"]
pattern = '''\\b(?:psql|mysql)\\b[^\\n]{0,200}prod-db\\.acme\\.test'''

[[rule.harmful]]
file = "scripts/report.sh"
text = "psql -h prod-db.acme.test -c 'select 1'"

[[rule.harmless]]
file = "scripts/report.sh"
text = "psql -h warehouse.acme.test -c 'select 1'"
"""
POLICY = 'format = 1\npolicy = "balanced"\n\n[[rules]]\ndecision = "hold"\nchanges = ["tool_schema"]\n'
TOOL = """tool_schema:
  input:
    type: object
    properties: {path: {type: string}}
    required: [path]
  steps:
    - {id: read, tool: read_file, input: {path: "{{input.path}}"}}
  returns: {text: "{{steps.read.output}}"}
"""


class World:
    """The program in the folder ROOT."""

    def __init__(self, program: pathlib.Path):
        self.program = program
        self.tokens: dict[str, str] = {}
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(ROOT / "home"),
            "SKILLHUB_HOME": str(ROOT / "home/.skillhub"),
            "TMPDIR": str(ROOT / "tmp"),
            "USER": "ann",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
            "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
        }

    def run(self, *args: str, text: str = "", **variables: str) -> str:
        """Returns the output of a command that succeeds."""
        command = [str(self.program), *args]
        done = subprocess.run(command, input=text, env=self.env | variables, cwd=WORK, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(args)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def ask(self, *args: str, text: str = "") -> dict:
        """Returns the JSON answer to a command of an agent."""
        return json.loads(self.run(*args, "--json", text=text))

    def decide(self, *args: str, text: str = "") -> dict:
        """Returns the JSON answer to a command of a person."""
        return json.loads(self.run(*args, "--json", text=text, SKILLHUB_REVIEWER_TOKEN=self.tokens["reviewer"]))

    def reviewer_token(self) -> str:
        """Creates the token of a reviewer, as at a terminal."""
        ours, theirs = pty.openpty()
        command = [str(self.program), "reviewer", "new", "--name", "ann"]
        subprocess.run(command, env=self.env, cwd=WORK, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, check=True)
        return os.read(ours, 4096).decode().split()[-1]

    def skill(self, name: str, body: str, folder: str = "skills", more: str = "", files: dict[str, str] | None = None) -> str:
        """Writes a skill's folder, and returns its path."""
        place = ROOT / folder / name
        head = f"---\nname: {name}\ndescription: Handles {name}. Use in tests of formats.\n{more}---\n\n"
        for path, text in {"SKILL.md": head + body + "\n", **(files or {})}.items():
            file = place / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return str(place)

    def create(self, name: str, body: str, more: str = "") -> None:
        """Makes an agent create a skill in the library."""
        place = self.skill(name, body, "drafts", more)
        self.ask("manage", "create", name, "--content", "-", text=(pathlib.Path(place) / "SKILL.md").read_text())

    def git(self, folder: pathlib.Path, *args: str) -> None:
        identity = ["-c", "user.name=ann", "-c", "user.email=ann@example.org"]
        subprocess.run(["git", *identity, "-C", str(folder), *args], env=self.env, check=True, capture_output=True)


def write_settings() -> None:
    """Writes the files that a person writes."""
    home = ROOT / "home/.skillhub"
    for folder in [home / "rules", ROOT / "tmp", ROOT / "keys", WORK]:
        folder.mkdir(parents=True)
    home.chmod(0o700)
    (home / "config.toml").write_text(CONFIG)
    (home / "rules/acme.toml").write_text(RULES)
    (ROOT / "policy.toml").write_text(POLICY)
    secret, public = key_files()
    for path, text in [(ROOT / "keys/ann", secret), (ROOT / "keys/ann.pub", public)]:
        path.touch(0o600)
        path.write_text(text)


def key_files() -> tuple[str, str]:
    """Returns the texts of the two files that ssh-keygen would write for the test key."""
    chunk = lambda data: struct.pack(">I", len(data)) + data
    encode = lambda data: base64.b64encode(data).decode()
    public = chunk(b"ssh-ed25519") + chunk(PUBLIC)
    # Two equal numbers show that the key was decrypted, and a count pads it to blocks of eight bytes.
    secret = bytes(8) + public + chunk(SECRET + PUBLIC) + chunk(b"test")
    secret += bytes(range(1, -len(secret) % 8 + 1))
    head = b"openssh-key-v1\0" + chunk(b"none") * 2 + chunk(b"") + struct.pack(">I", 1)
    lines = textwrap.wrap(encode(head + chunk(public) + chunk(secret)), 70)
    label = "OPENSSH PRIVATE KEY-----"
    return "\n".join([f"-----BEGIN {label}", *lines, f"-----END {label}", ""]), f"ssh-ed25519 {encode(public)} test\n"


def publish(world: World) -> None:
    """Fills the index: signed, required, yanked and deprecated releases."""
    world.run("index", "init", "../index")
    world.decide("key", "add", "acme", "../keys/ann.pub")
    for version, body in [("1.0.0", "Count the pages."), ("1.1.0", "Count all pages.")]:
        place = world.skill("pages", body)
        args = ["--version", version, "--sign=../keys/ann", "--changelog", f"- as of {version}"]
        world.ask("publish", place, "--owner", "acme", *args)
    tables = world.skill("tables", "Draw a table.", more='metadata:\n  requires: "acme/pages@^1"\n')
    for version in ["0.9.0", "1.0.0"]:
        world.ask("publish", tables, "--owner", "acme", "--version", version, "--sign=../keys/ann")
    world.ask("yank", "acme/tables@0.9.0", "--reason", "draws nothing")
    world.ask("yank", "acme/pages@1.0.0", "--deprecate", "--reason", "counts too few")


def serve(world: World) -> subprocess.Popen:
    """Starts the server, with an account, a release and a star."""
    data = str(ROOT / "hub")
    pathlib.Path(data).mkdir(exist_ok=True)
    world.tokens["admin"] = world.run("serve", "admin-token", "--data", data).strip()
    command = [str(world.program), "serve", "--data", data, "--addr", f"127.0.0.1:{PORT}"]
    server = subprocess.Popen(command, env=world.env, cwd=WORK, stdout=subprocess.PIPE, text=True)
    server.stdout.readline()
    for name in ["remote", "clawed"]:
        place = world.skill(name, f"Read the {name} file.")
        args = ["publish", place, "--owner", "acme", "--version", "1.0.0", "--registry", SERVER]
        world.run(*args, SKILLHUB_TOKEN=world.tokens["admin"])
    return server


def install(world: World) -> None:
    """Installs from every kind of source."""
    world.skill("folders", "Read the folder.", "sources")
    world.skill("packed", "Unpack it.", "drafts")
    world.run("pack", "../drafts/packed", "--output", "../sources/packed.skill")
    repository = ROOT / "sources/team"
    world.skill("ledger", "Keep the ledger.", "sources/team/skills")
    world.git(repository, "init", "-q", "-b", "main", "--template=")
    world.git(repository, "add", ".")
    world.git(repository, "commit", "-q", "-m", "A skill")
    for args in [
        ["acme/pages@^1", "--agent", "claude-code"],
        ["acme/tables", "--as", "acme-tables"],
        ["../sources/folders"],
        ["../sources/packed.skill"],
        [f"file://{repository}#skills/ledger@main"],
        ["acme/remote", "--registry", SERVER],
        [f"clawhub:{SERVER}#acme/clawed"],
    ]:
        world.ask("install", *args)
    database = {"scripts/report.sh": "psql -h prod-db.acme.test -c 'select 1'\n"}
    world.skill("database", "Run scripts/report.sh.", "sources", files=database)
    world.ask("install", "../sources/database")
    world.decide("waive", "database", "acme-production-database", "--reason", "it only reads")


def change(world: World) -> None:
    """Fills the library: every kind of change and decision."""
    world.create("notes", "alpha line\n\nbeta line")
    world.ask("manage", "patch", "notes", "--find", "alpha line", "--replace", "alpha words", "--reason", "clearer")
    held = lambda name, text: world.ask("manage", "write_file", "notes", "--path", f"scripts/{name}", "--content", "-", text=text)["proposal"]
    world.decide("review", "accept", held("one.sh", "echo one\n"))
    world.decide("review", "reject", held("two.sh", "echo two\n"), "--reason", "not needed")
    held("three.sh", "echo three\n")
    file = WORK / ".agents/skills/notes/SKILL.md"
    file.write_text(file.read_text() + "\nby hand\n")
    world.ask("commit", "notes", "--reason", "an edit by hand")
    world.decide("review", "keep", "notes")
    world.ask("manage", "patch", "notes", "--find", "beta line", "--replace", "beta words")
    for run in range(6):
        event = "failed" if run == 5 else "completed"
        world.ask("record", "notes", "--event", event, "--run", f"run-{run}", "--query", "list my notes")
    world.decide("evolve", "try", "notes", "2")
    world.create("pinned", "Stay as it is.")
    world.ask("pin", "pinned")
    world.create("hidden", "Hide.")
    world.ask("disable", "hidden")
    world.create("gone", "Go.")
    world.ask("manage", "delete", "gone")
    world.create("undone", "Undo.")
    world.ask("undo")
    world.create("reader", "Read a note.", TOOL)
    world.ask("tools", "compile", "reader")
    world.ask("tools", "call", "reader", "--input", '{"path": "skillhub.lock"}')
    world.ask("curate", "plan")
    world.git(ROOT, "init", "-q", "--bare", "--template=", "other.git")
    world.decide("sync", "../other.git")


def expected(world: World) -> dict:
    """Returns the program's answers about what it stored."""
    skills = world.ask("list")["skills"]
    history = lambda name: [one["revision"] for one in world.ask("history", name)["revisions"]]
    return {
        "work": str(WORK),
        "tokens": world.tokens,
        "skills": {one["name"]: one["digest"] for one in skills},
        "history": {one["name"]: history(one["name"]) for one in skills},
        "events": len(world.ask("log")["events"]),
        "runs": [one["runs"] for one in world.ask("stats", "notes")["revisions"]],
        "proposals": {one["id"]: one["state"] for one in world.ask("review", "list", "--all")["proposals"]},
    }


def pack(target: pathlib.Path) -> None:
    """Packs the folder: sorted, without owners and times."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = member.mtime = 0
        member.uname = member.gname = ""
        return member

    with open(target, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, 0) as stream, tarfile.open(fileobj=stream, mode="w") as tar:
        for name in ["home", "work", "index", "hub", "sources", "other.git", "policy.toml"]:
            tar.add(ROOT / name, name, filter=plain)


def main() -> None:
    world = World(pathlib.Path(sys.argv[1]).resolve())
    version = subprocess.run([world.program, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    folder = TREE / "data/formats" / version
    if folder.exists():
        raise SystemExit(f"{folder} exists; a corpus is never replaced")
    ROOT.mkdir()
    server = None
    try:
        write_settings()
        world.git(WORK, "init", "-q", "--template=")
        world.tokens["reviewer"] = world.reviewer_token()
        publish(world)
        server = serve(world)
        install(world)
        change(world)
        server.terminate()
        server.wait()
        answers = expected(world)
        folder.mkdir(parents=True)
        (folder / "expected.json").write_text(json.dumps(answers, indent=1, sort_keys=True) + "\n")
        pack(folder / "corpus.tar.gz")
    finally:
        if server:
            server.kill()
        shutil.rmtree(ROOT)


if __name__ == "__main__":
    main()
