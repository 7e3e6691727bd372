#!/usr/bin/env python3
"""Checks signatures of releases with the real ssh-keygen and ssh-agent.

    python3 tests/reference/ssh.py [SKILLHUB]

1. What `skillhub publish --sign` writes into the index, `ssh-keygen -Y verify` accepts, and nothing that differs from it.
2. What `ssh-keygen -Y sign` makes with a key behind a passphrase, through an agent, skillhub takes and verifies.
3. Without the agent, the refusal says what to do, and nothing is published.

Exits with 1 where one of them does not hold, or where ssh-keygen or ssh-agent is not installed.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NAMESPACE = "skillhub-release-v1"
PASSPHRASE = "correct horse"


class Failed(Exception):
    pass


def check(holds: bool, what: str) -> None:
    if not holds:
        raise Failed(what)
    print(f"ok: {what}")


class World:
    """A home, a skill and a registry of its own."""

    def __init__(self, program: str, place: pathlib.Path) -> None:
        self.program, self.place = program, place
        (place / "home").mkdir()
        skill = place / "notes"
        skill.mkdir()
        text = "---\nname: notes\ndescription: Writes notes. Use in tests.\n---\n\n# Notes\n\nRead. Write.\n"
        (skill / "SKILL.md").write_text(text)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(place / "home"),
            "SKILLHUB_HOME": str(place / "home" / ".skillhub"),
            "SKILLHUB_REGISTRY": str(place / "registry"),
        }
        self.skillhub("index", "init", str(place / "registry"))

    def skillhub(self, *args: str, code: int = 0) -> dict:
        done = self.run([self.program, *args, "--json"])
        if done.returncode != code:
            raise Failed(f"skillhub {' '.join(args)} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    def run(self, command: list[str], text: str = "") -> subprocess.CompletedProcess:
        return subprocess.run(
            command, env=self.environment, cwd=self.place, input=text, capture_output=True, text=True, timeout=120
        )

    def key(self, name: str, passphrase: str) -> pathlib.Path:
        path = self.place / name
        made = self.run(["ssh-keygen", "-q", "-t", "ed25519", "-C", "ann@example.org", "-N", passphrase, "-f", str(path)])
        if made.returncode:
            raise Failed(f"ssh-keygen made no key: {made.stderr}")
        return path

    def verify(self, key: pathlib.Path, release: dict, statement: str) -> bool:
        """Whether ssh-keygen takes the signature of a release for one of the statement by this key."""
        allowed = self.place / "allowed_signers"
        allowed.write_text(f"acme {key.with_suffix('.pub').read_text()}")
        signature = self.place / "signature"
        signature.write_text(release["signature"])
        command = ["ssh-keygen", "-Y", "verify", "-f", str(allowed), "-I", "acme", "-n", NAMESPACE, "-s", str(signature)]
        return self.run(command, statement).returncode == 0


def statement(release: dict, version: str = "") -> str:
    return f"{NAMESPACE}\n{release['name']}\n{version or release['version']}\n{release['digest']}\n"


def ours_is_accepted(world: World) -> None:
    key = world.key("plain", "")
    published = world.skillhub("publish", "notes", "--owner", "acme", f"--sign={key}")
    release = world.skillhub("info", "acme/notes")["releases"][0]
    check(world.verify(key, release, statement(release)), "ssh-keygen accepts the signature")
    check(not world.verify(key, release, statement(release, "9.9.9")), "ssh-keygen refuses it for another version")
    check(not world.verify(world.key("other", ""), release, statement(release)), "ssh-keygen refuses it for another key")
    shown = world.run(["ssh-keygen", "-l", "-f", str(key)]).stdout
    check(published["signer"] in shown, "the fingerprint is the one that ssh-keygen shows")


def theirs_is_accepted(world: World) -> None:
    key = world.key("protected", PASSPHRASE)
    arguments = ["publish", "notes", "--owner", "zoe", f"--sign={key}"]
    refused = world.skillhub(*arguments, code=1)["error"]
    check(refused["code"] == "not_signed" and "ssh-add" in refused["hint"], "without an agent the refusal says what to do")
    world.skillhub("info", "zoe/notes", code=7)
    socket = str(world.place / "agent")
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", socket], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        world.environment["SSH_AUTH_SOCK"] = socket
        ask = world.place / "ask"
        ask.write_text(f"#!/bin/sh\necho '{PASSPHRASE}'\n")
        ask.chmod(0o700)
        answering = {**world.environment, "SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force"}
        for _ in range(200):
            if os.path.exists(socket):
                break
            time.sleep(0.05)
        added = subprocess.run(["ssh-add", "-q", str(key)], env=answering, capture_output=True, timeout=60)
        check(not added.returncode, "the agent has the key")
        signer = world.skillhub(*arguments)["signer"]
        info = world.skillhub("info", "zoe/notes")
        check(info["signed"][0]["key"] == signer, "a signature that ssh-keygen made is verified")
        world.skillhub("install", "zoe/notes")
        public = shutil.copy(f"{key}.pub", world.place / "public-only.pub")
        published = world.skillhub("publish", "notes", "--owner", "zoe", "--version", "2.0.0", f"--sign={public}")
        check(published["signer"] == signer, "the public half is enough where the agent has the other")
    finally:
        agent.terminate()
        agent.wait(timeout=60)


def main() -> int:
    program = str(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target" / "release" / "skillhub").resolve())
    missing = [name for name in ("ssh-keygen", "ssh-agent", "ssh-add") if not shutil.which(name)]
    if missing:
        print(f"{', '.join(missing)}: not installed; they come with openssh-client", file=sys.stderr)
        return 1
    for proof in (ours_is_accepted, theirs_is_accepted):
        with tempfile.TemporaryDirectory() as temporary:
            try:
                proof(World(program, pathlib.Path(temporary).resolve()))
            except Failed as error:
                print(f"failed: {error}", file=sys.stderr)
                return 1
    print("done: signatures and ssh-keygen agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
