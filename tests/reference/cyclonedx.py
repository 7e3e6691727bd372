#!/usr/bin/env python3
"""Checks the bill of materials of installed skills against the official schema of CycloneDX 1.6.

    python3 tests/reference/cyclonedx.py [SKILLHUB]

Installs three skills with and without licence, requirements and odd characters. Installs the schema with its validator
from PyPI into target/cyclonedx where they are missing. Exits with 1 when the schema refuses the document.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SITE = ROOT / "target" / "cyclonedx"
PACKAGE = "cyclonedx-python-lib[json-validation]==11.12.0"
SKILLS = {
    "parts": "license: Apache-2.0. See LICENSE — \"as is\"",
    "whole": "metadata:\n  requires: acme/parts@^1",
    "plain": "",
}


def main() -> int:
    program = str(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "target/debug/skillhub").resolve())
    if not SITE.is_dir():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--target", str(SITE), PACKAGE], check=True)
    sys.path.insert(0, str(SITE))
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    with tempfile.TemporaryDirectory(prefix="skillhub-bill-") as temporary:
        place = pathlib.Path(temporary)
        environment = {"PATH": os.environ["PATH"], "HOME": temporary, "SKILLHUB_HOME": str(place / "home")}

        def skillhub(*arguments: str) -> str:
            done = subprocess.run([program, *arguments], cwd=place, env=environment, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{arguments}: {done.stderr or done.stdout}")
            return done.stdout

        skillhub("index", "init", "registry")
        for name, fields in SKILLS.items():
            (place / name).mkdir()
            text = f"---\nname: {name}\ndescription: Keeps 表 <{name}>. Use in tests.\n{fields}\n---\n\n# {name}\n\nRead.\n"
            (place / name / "SKILL.md").write_text(text)
            skillhub("publish", name, "--owner", "acme", "--version", "1.0.0-rc.1+b" if name == "plain" else "1.0.0",
                     "--registry", "registry")
        skillhub("install", "acme/whole", "acme/plain", "--registry", "registry", "--global")
        skillhub("install", "./plain", "--as", "own-plain", "--global")
        text = skillhub("list", "--format", "cyclonedx")
    problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if problem:
        print(f"{text}\n{problem}")
        return 1
    print(f"the schema of CycloneDX 1.6 accepts a bill of {len(json.loads(text)['components'])} skills")
    return 0


if __name__ == "__main__":
    sys.exit(main())
