#!/usr/bin/env python3
"""The official Python client drives the server through the whole story, in every way there is.

    python3 tests/mcp/official.py [SKILLHUB]

Runs client.py, each time in a project and a home of its own: over stdio and over HTTP, in the older revision of the
protocol and in the newer. Then runs turns.py, in which tools join the list. Installs `mcp` from PyPI into
target/mcp-client where it is missing.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SITE = ROOT / "target" / "mcp-client"
PACKAGE = "mcp==2.3.0"
CLIENT = pathlib.Path(__file__).with_name("client.py")
TURNS = pathlib.Path(__file__).with_name("turns.py")


def search_path() -> dict[str, str]:
    """The environment in which the package is found, which is installed when it is not there."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SITE)}
    look = [sys.executable, "-c", "import mcp_types, mcp.client.client"]
    if subprocess.run(look, env=environment, capture_output=True).returncode:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--target", str(SITE), PACKAGE], check=True)
    return environment


def drive(environment: dict[str, str], name: str, command: list[str]) -> bool:
    with tempfile.TemporaryDirectory() as temporary:
        place = pathlib.Path(temporary).resolve()
        (place / "project" / ".git").mkdir(parents=True)
        (place / "home").mkdir()
        environment = {**environment, "HOME": str(place / "home"), "SKILLHUB_HOME": str(place / "home" / ".skillhub")}
        command = [sys.executable, *command]
        done = subprocess.run(command, env=environment, cwd=place / "project", capture_output=True, text=True)
        passed = done.returncode == 0 and "done:" in done.stdout
        print(f"{name:16} {done.stdout.strip().splitlines()[-1] if passed else 'FAILED'}")
        if not passed:
            print(done.stdout, done.stderr, sep="\n")
        return passed


def main() -> int:
    program = str(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target" / "release" / "skillhub").resolve())
    environment = search_path()
    ways = [(transport, mode) for transport in ("stdio", "http") for mode in ("legacy", "2026-07-28")]
    runs = [(" ".join(way), [str(CLIENT), *way, "forms", program]) for way in ways]
    runs += [(" ".join(way), [str(TURNS), *way, program]) for way in ways]
    return 0 if all([drive(environment, *run) for run in runs]) else 1


if __name__ == "__main__":
    sys.exit(main())
