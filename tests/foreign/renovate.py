#!/usr/bin/env python3
"""Renovate, with the configuration of docs/guides/ci.md, finds the skills that `skillhub.lock` lists.

    python3 tests/foreign/renovate.py [SKILLHUB]
    python3 tests/foreign/renovate.py SKILLHUB RENOVATE

The first form matches the guide's expression with a lock file that skillhub writes: with unsigned and signed
releases, under their own and under other names. The second also runs RENOVATE, the program of the npm package `renovate`, which looks
up the releases on a server; the package is large and needs a newer Node than the rest, so this is done by hand. Needs
ssh-keygen and node.
"""

import json
import os
import pathlib
import re
import sys
import tempfile

from clients import ROOT, Failed, World, check, files_of, write

# The expressions are JavaScript's, so node runs them.
MATCH = """
const [expressions, text] = JSON.parse(require("fs").readFileSync(0, "utf8"));
const found = expressions.flatMap((one) => [...text.matchAll(new RegExp(one, "g"))].map((match) => match.groups));
console.log(JSON.stringify(found));
"""
# zoe signs.
SKILLS = ["acme/plain", "acme/renamed", "zoe/both", "zoe/signed"]


def guides_configuration() -> dict:
    guide = (ROOT / "docs" / "guides" / "ci.md").read_text()
    blocks = (json.loads(block) for block in re.findall(r"^```json\n(.*?)^```", guide, re.M | re.S))
    return next(block for block in blocks if "customManagers" in block)


def project_with_skills(world: World) -> pathlib.Path:
    """Installs one release of each kind, and publishes a newer one of each."""
    project, key = world.project("project"), world.place / "key"
    world.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)])
    world.environment["SKILLHUB_TOKEN"] = world.token
    for version in ("1.0.0", "1.1.0"):
        for skill in SKILLS:
            owner, name = skill.split("/")
            folder = write(world.place / "drafts" / name, files_of(skill, version, {}))
            sign = [f"--sign={key}"] if owner == "zoe" else []
            publish = ["publish", str(folder), "--owner", owner, "--version", version, "--registry", world.url]
            world.run([world.program, *publish, *sign])
            if version == "1.0.0":
                other = ["--as", f"my-{name}"] if name in ("renamed", "both") else []
                world.run([world.program, "install", skill, "--registry", world.url, *other], project)
    return project


def expression_matches(world: World, project: pathlib.Path) -> None:
    lock = (project / "skillhub.lock").read_text()
    check("\nsigner = " in lock and "\nas = " in lock, "the lock file has signed and renamed skills", lock)
    expressions = [one for manager in guides_configuration()["customManagers"] for one in manager["matchStrings"]]
    (world.place / "input").write_text(json.dumps([expressions, lock]))
    found = json.loads(world.run(["sh", "-c", 'node -e "$1" <"$2"', "sh", MATCH, str(world.place / "input")]).stdout)
    expected = [{"depName": skill, "currentValue": "1.0.0", "server": world.url} for skill in SKILLS]
    check(found == expected, "the guide's expression finds every skill", json.dumps(found, indent=1))


def renovate_finds_updates(world: World, project: pathlib.Path, renovate: str) -> None:
    (project / "renovate.json").write_text(json.dumps(guides_configuration()))
    world.run(["git", "init", "-q"], project)
    world.run(["git", "add", "skillhub.lock", "renovate.json"], project)
    world.environment["LOG_FORMAT"] = "json"
    world.environment["LOG_LEVEL"] = "debug"
    world.environment["PATH"] = f"{pathlib.Path(renovate).absolute().parent}:{os.environ['PATH']}"
    log = world.run([renovate, "--platform=local", "--dry-run=lookup"], project).stdout
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    files = next((line["config"]["regex"] for line in lines if "regex" in line.get("config", {})), [])
    found = {dep["depName"]: [update["newVersion"] for update in dep["updates"]] for file in files for dep in file["deps"]}
    check(found == {skill: ["1.1.0"] for skill in SKILLS}, "renovate finds the updates", log[-4000:])


def main() -> int:
    program = str(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target" / "debug" / "skillhub").resolve())
    with tempfile.TemporaryDirectory() as temporary:
        world = World(program, pathlib.Path(temporary).resolve())
        try:
            project = project_with_skills(world)
            expression_matches(world, project)
            for renovate in sys.argv[2:]:
                renovate_finds_updates(world, project, renovate)
        except Failed as why:
            print(f"FAILED: {why}")
            return 1
        finally:
            world.server.terminate()
            world.server.wait(timeout=60)
    return 0


if __name__ == "__main__":
    sys.exit(main())
