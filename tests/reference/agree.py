#!/usr/bin/env python3
"""Compares skillhub with the reference library of the Agent Skills standard, verdict by verdict.

    python3 tests/reference/agree.py [SKILLHUB] [--count N] [--seed N]

Makes N skills (3,000 unless said otherwise) out of pieces that are good, bad and odd, and asks both
about each: `skillhub validate --strict` and `skills_ref.validate` whether it is valid, and of those that
are, what `to-prompt` and `read-properties` of both print. Where the two differ, the difference must be one that DIFFERENCES names and explains; each is counted. Installs `skills-ref` from PyPI into
target/reference where they are missing. Exits with 1 when a difference is not explained.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unicodedata

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SITE = ROOT / "target" / "reference"
PACKAGE = "skills-ref==0.1.1"

# Valid skills whose prompt is compared; each is a process.
PROMPTS = 300

REFERENCE = """
import json, pathlib, sys
from skills_ref import read_properties, to_prompt, validate
for line in sys.stdin:
    folder = pathlib.Path(line.rstrip("\\n"))
    try:
        problems = validate(folder)
    except Exception as error:
        problems = [f"{type(error).__name__}: {error}"]
    printed = None
    if not problems:
        printed = [to_prompt([folder]) + "\\n", json.dumps(read_properties(folder).to_dict(), indent=2) + "\\n"]
    print(json.dumps({"problems": problems, "printed": printed}))
"""

NAMES = ["plain", "with-digits-42", "a", "x" * 64, "x" * 65, "Upper", "two--hyphens", "-first", "last-", "un_der",
         "dot.ted", "sp ace", "über-straße", "填写表单", "ﬁligree", "ёлка", "naïve", "e\u0301tude", "emoji-😀", "42", "true",
         "null", "1.5", "no", "~", ""]
DESCRIPTIONS = ["Reads tables. Use when a table is given.", "d" * 1024, "d" * 1025, "字" * 1024, "字" * 1025, "", " ",
                "A <b>bold</b> & \"quoted\" 'text'", "with a # sign", "12", "yes", "null", "- dash", "[list]", "{map}",
                "'single quoted'", "\"double quoted: with colon\"", "Use when: a colon stands unquoted", "a: b: c",
                "|\n  a block\n  of lines", ">-\n  a folded\n  text", ">\n  folded, with its end\n", "* star", "& anchor",
                "@ at", "`tick`", "% percent", "! bang", "? question", "a\ttab", "trailing space ", "é e\u0301 ﬁ",
                "\"escaped \\n newline\"", "'it''s'", "see http://a.example/x?y=z", "ends with ---", "--- begins"]
FIELDS = ["license: MIT", "license: Apache-2.0", "license: 2", "compatibility: Needs git", "compatibility: " + "c" * 500,
          "compatibility: " + "c" * 501, "compatibility:\n  - a list", "allowed-tools: Bash(git:*) Read",
          "allowed-tools:\n  - Read\n  - Write", "allowed-tools: \"\"", "metadata:\n  author: me\n  version: \"1.0\"",
          "metadata:\n  version: 1.0", "metadata: text", "metadata:\n  nested:\n    deep: x", "version: 1.0.0",
          "model: large", "hooks:\n  - run: x", "# a comment", "", "license: [MIT]", "allowed_tools: Read",
          "name: again", "license: &a MIT", "license: *a", "compatibility: ''", "metadata: {}", "metadata: {a: b}",
          "license: !!str MIT", "\"license\": MIT", "license : MIT"]
OPENINGS = [("---\n", "\n---\n"), ("---\r\n", "\r\n---\r\n"), ("--- \n", "\n--- \n"), ("\n---\n", "\n---\n"),
            ("\ufeff---\n", "\n---\n"), ("---\n", "\n"), ("----\n", "\n----\n"), ("---\n", "\n---"), ("", "\n---\n"),
            ("---\n", "\n...\n"), ("---\n", "\n  ---\n"), ("---", "---\n")]
BODIES = ["# Do\n\nDo it.\n", "", "---\n\nA rule above.\n", "text --- with dashes\n"]

# What may differ, and why: the skill, what the reference says of it, and the codes of our errors.
DIFFERENCES = [
    ("only a line that is exactly --- opens or closes the frontmatter here; there any --- does",
     lambda skill, theirs, codes: {"frontmatter_missing", "frontmatter_unclosed"} & codes and not theirs),
    ("--- inside a value is a part of it here, and the end of the frontmatter there",
     lambda skill, theirs, codes: "---" in skill["inner"] or skill["opening"] == 10),
    ("a byte order mark before the first line is passed over here",
     lambda skill, theirs, codes: skill["opening"] == 4 and not codes and "must start with" in theirs[0]),
    ("anchors, aliases, tags and flow mappings, which YAML has, are refused there",
     lambda skill, theirs, codes: any(sign in skill["inner"] for sign in ("&a", "*a", "!!str", "{")) and not codes),
    ("a tab inside a value, which YAML allows, is refused there",
     lambda skill, theirs, codes: "\t" in skill["inner"] and not codes),
    ("null is no text here, and the text `null` there",
     lambda skill, theirs, codes: {"name_missing", "description_missing"} & codes and "null" in skill["inner"]),
    ("license, metadata and compatibility are held to the standard's types and lengths here",
     lambda skill, theirs, codes: codes and codes <= {"field_type", "metadata_nested", "compatibility_empty"} and not theirs),
    ("a name is shown and compared in one normal form here",
     lambda skill, theirs, codes: unicodedata.normalize("NFKC", skill["name"]) != skill["name"]),
]


def make(folder: pathlib.Path, choose: random.Random, number: int) -> dict:
    """Writes one skill; most have one odd piece, some have several."""
    pieces = ["name", "description", "fields", "opening", "folder", "body", "none"]
    odd = {choose.choice(pieces) for _ in range(choose.choice([1, 1, 1, 2, 3]))}
    name = choose.choice(NAMES) if "name" in odd else f"skill-{number}"
    description = choose.choice(DESCRIPTIONS) if "description" in odd else DESCRIPTIONS[0]
    fields = choose.sample(FIELDS, choose.choice([1, 1, 2, 3])) if "fields" in odd else []
    opening = choose.randrange(len(OPENINGS)) if "opening" in odd else 0
    lines = [f"name: {name}", f"description: {description}", *fields]
    if choose.random() < 0.05:
        lines.pop(choose.randrange(2))
    if choose.random() < 0.2:
        choose.shuffle(lines)
    begin, end = OPENINGS[opening]
    inner = "\n".join(lines)
    text = begin + inner + end + (choose.choice(BODIES) if "body" in odd else BODIES[0])
    if begin.endswith("\r\n"):
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    own = unicodedata.normalize("NFC", name).strip() or "empty"
    if "folder" in odd and choose.random() < 0.5:
        own = f"other-{number}"
    place = folder / str(number) / own
    place.mkdir(parents=True)
    (place / "SKILL.md").write_bytes(text.encode())
    return {"path": place, "name": name, "inner": inner, "opening": opening}


def explanation(skill: dict, theirs: list[str], problems: list[dict]) -> str | None:
    codes = {problem["code"] for problem in problems if problem["severity"] == "error"}
    return next((why for why, explains in DIFFERENCES if explains(skill, theirs, codes)), None)


def reference(folders: list[pathlib.Path]) -> list[dict]:
    environment = {**os.environ, "PYTHONPATH": str(SITE)}
    if subprocess.run([sys.executable, "-c", "import skills_ref"], env=environment, capture_output=True).returncode:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--target", str(SITE), PACKAGE], check=True)
    asked = "\n".join(map(str, folders)) + "\n"
    command = [sys.executable, "-c", REFERENCE]
    done = subprocess.run(command, input=asked, env=environment, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def ours(program: str, home: pathlib.Path, folders: list[pathlib.Path]) -> list[dict]:
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    answers = []
    for some in (folders[at:at + 500] for at in range(0, len(folders), 500)):
        done = subprocess.run([program, "validate", "--strict", "--json", *map(str, some)], env=env, capture_output=True, text=True)
        found = {pathlib.Path(skill["path"]).resolve(): skill for skill in json.loads(done.stdout)["skills"]}
        answers += [found[folder.resolve()] for folder in some]
    return answers


def printed_of(program: str, home: pathlib.Path, folder: pathlib.Path) -> list[str]:
    """What `to-prompt` and `read-properties` print of a skill."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    commands = [[program, command, str(folder)] for command in ("to-prompt", "read-properties")]
    return [subprocess.run(command, env=env, capture_output=True, text=True).stdout for command in commands]


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("program", nargs="?", default=str(ROOT / "target" / "release" / "skillhub"))
    arguments.add_argument("--count", type=int, default=3000)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    choose = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary).resolve()
        skills = [make(folder / "skills", choose, number) for number in range(given.count)]
        paths = [skill["path"] for skill in skills]
        theirs, mine = reference(paths), ours(given.program, folder / "home", paths)
        return report(skills, theirs, mine, lambda path: printed_of(given.program, folder / "home", path))


def report(skills, theirs, mine, printed) -> int:
    counts, explained, unexplained = collections.Counter(), collections.Counter(), []

    def differ(skill, their, our, shown):
        why = explanation(skill, their["problems"], our["problems"])
        explained[why] += 1
        if why is None:
            unexplained.append((skill, shown))

    prompts = 0
    for skill, their, our in zip(skills, theirs, mine, strict=True):
        valid = not their["problems"]
        counts["valid" if valid else "invalid", "valid" if our["valid"] else "invalid"] += 1
        if valid != our["valid"]:
            differ(skill, their, our, (their["problems"], [problem["message"] for problem in our["problems"]]))
        elif valid and prompts < PROMPTS:
            prompts += 1
            got = printed(skill["path"])
            if got != their["printed"]:
                differ(skill, their, our, (their["printed"], got))
    for (a, b), count in sorted(counts.items()):
        print(f"reference {a:8} skillhub {b:8} {count:6}")
    print(f"prompts compared byte by byte      {prompts:6}")
    for why, count in explained.most_common():
        print(f"{count:5} differ: {why or 'NOT EXPLAINED'}")
    for skill, (a, b) in unexplained[:10]:
        print(f"\nNOT EXPLAINED {skill['inner']!r} (opening {skill['opening']}, folder {skill['path'].name})")
        print(f"  reference: {a}\n  skillhub:  {b}")
    print(f"{len(unexplained)} of {len(skills)} skills differ without an explanation")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
