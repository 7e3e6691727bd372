"""Prints how the files of a release were built: python3 release/provenance.py FOLDER VERSION TARGET TAG PROFILE

The form is an in-toto statement with SLSA's provenance. It is not signed: alone, it proves nothing about who built the
files. It names what somebody needs to build them again and compare. TAG is empty for a trial. PROFILE is empty if the
program was given, not built: then its compiler and its source are unknown, and only the packing is described.
"""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path


def output(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def sha256(file: Path) -> dict[str, str]:
    return {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}


def main(folder: str, version: str, target: str, tag: str, profile: str) -> None:
    git = ["git", "-c", f"safe.directory={os.getcwd()}"]
    files = sorted(file for file in Path(folder).rglob("*") if file.is_file())
    built = {"rustc": output("rustc", "--version"), "cargo": output("cargo", "--version")} if profile else {}
    dirty = bool(output(*git, "status", "--porcelain", "--untracked-files=no"))
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": str(file.relative_to(folder)), "digest": sha256(file)} for file in files],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:skillhub:release/build:1",
                "externalParameters": {"version": version, "target": target, "tag": tag or None, "profile": profile or None},
                "internalParameters": {
                    **built,
                    "programWasGiven": not profile,
                    "SOURCE_DATE_EPOCH": int(os.environ["SOURCE_DATE_EPOCH"]),
                    "uncommittedChanges": dirty,
                },
                "resolvedDependencies": [
                    {"name": "source", "digest": {"gitCommit": output(*git, "rev-parse", "HEAD")}},
                    {"name": "Cargo.lock", "digest": sha256(Path("Cargo.lock"))},
                ],
            },
            "runDetails": {"builder": {"id": os.environ.get("SKILLHUB_BUILDER", "urn:skillhub:builder:unnamed")}},
        },
    }
    print(json.dumps(statement, indent=1))


main(*sys.argv[1:])
