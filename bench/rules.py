#!/usr/bin/env python3
"""Lists the scanner rules that trouble honest skills more often than they find attacks, each without its best source.

    python3 bench/rules.py TABLE...          the tables of docs/SCANNER.md, "Measuring"
    python3 bench/rules.py TABLE... --all    every rule

Builds skillhub for release, or takes the program that SKILLHUB names. A rule decides about a skill if the verdict would be
milder without it. Each table is a source, and so is each value in the column `source` of a table with labels. A rule was most
likely written from the source in which it decides about most attacks, so that one is not counted. A rule is listed if it then
decides about no larger share of the attacks than of the honest skills, and troubles one. Nothing in a table is run.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import built

BATCH = 200
PLACES = {"{host}": "intake.relaygrid.net", "{mail}": "ops@relaygrid.net", "{ip}": "45.77.90.12"}
ESCAPES = [("\\n", "\n"), ("\\t", "\t"), ("\\\\", "\\")]
LEVELS = {"medium": 1, "high": 2, "critical": 2}


def labelled(table: pathlib.Path, rows: list[str]) -> dict[pathlib.Path, tuple[bool, str]]:
    columns = rows[0].split("\t")
    skills = {}
    for row in rows[1:]:
        of = dict(zip(columns, row.split("\t")))
        skills[table.parent / of["path"]] = (of["label"] == "malicious", of.get("source") or table.stem)
    return skills


def written(table: pathlib.Path, rows: list[str], place: pathlib.Path) -> dict[pathlib.Path, tuple[bool, str]]:
    skills = {}
    for row in filter(None, rows):
        label, name, path, text = row.split("\t")
        for old, new in [*PLACES.items(), *ESCAPES]:
            text = text.replace(old, new)
        folder = place / table.stem / label / name
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        skills[folder] = (label == "attack", table.stem)
    return skills


def scanned(skills: list[pathlib.Path], place: pathlib.Path) -> list[dict]:
    skillhub = [built.program(), "scan", "--json", "--no-cache"]
    os.environ["SKILLHUB"] = skillhub[0]
    documents = []
    for at in range(0, len(skills), BATCH):
        batch = list(map(str, skills[at : at + BATCH]))
        answer = subprocess.run([*skillhub, *batch], env=built.variables(place), capture_output=True)
        found = json.loads(answer.stdout)["skills"]
        if [skill["path"] for skill in found] != batch:
            sys.exit(f"not every skill was scanned between {batch[0]} and {batch[-1]}")
        documents += found
    return documents


def main() -> None:
    tables = [pathlib.Path(argument) for argument in sys.argv[1:] if argument != "--all"]
    if not tables:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as name:
        place = pathlib.Path(name)
        skills = {}
        for table in tables:
            rows = table.read_text().splitlines()
            skills |= labelled(table, rows) if rows[0].startswith("label\t") else written(table, rows, place)
        documents = scanned(list(skills), place)
    report(list(skills.values()), documents, "--all" in sys.argv)


def decisive(document: dict) -> str | None:
    """The rule without which the verdict would be milder."""
    worst = {}
    for finding in document["findings"]:
        worst[finding["rule"]] = max(worst.get(finding["rule"], 0), LEVELS.get(finding["severity"], 0))
    top = max(worst.values(), default=0)
    rules = [rule for rule, level in worst.items() if level == top]
    return rules[0] if top and len(rules) == 1 else None


def report(labels: list[tuple[bool, str]], documents: list[dict], is_whole: bool) -> None:
    sizes, decided, known = collections.Counter(labels), collections.defaultdict(collections.Counter), set()
    for label, document in zip(labels, documents):
        known.update(finding["rule"] for finding in document["findings"] if finding["severity"] in LEVELS)
        if rule := decisive(document):
            decided[rule][label] += 1
    of = lambda counts, attack: sum(count for (kind, _), count in counts.items() if kind == attack)
    print(f"{of(sizes, True)} attacks and {of(sizes, False)} honest skills; {len(known)} rules warn or block")
    print(f"{'rule':36} {'attacks':>8} {'elsewhere':>10} {'honest':>7}  known best")
    for rule in sorted(known):
        counts = decided[rule]
        best = max((source for (kind, source) in counts if kind), key=lambda source: counts[True, source], default="")
        found, troubled = of(counts, True) - counts[True, best], of(counts, False)
        share = found / (of(sizes, True) - sizes[True, best])
        if is_whole or troubled and share <= troubled / of(sizes, False):
            print(f"{rule:36} {of(counts, True):8} {found:10} {troubled:7}  {best}")


if __name__ == "__main__":
    main()
