#!/usr/bin/env python3
"""How many degraded skills `skillhub eval compare` catches, and how often harmless changes alarm it.

    python3 bench/mutations.py target/debug/skillhub [--every N] [--jobs N] [--list]

The first-party skills are degraded in many ways: an instruction is dropped, a section, a reference, a prohibition is
turned round, a command broken, a value changed, the text cut off. Others are changed in ways that mean the same. Each
variant is compared with the skill as it is by the real program, with the cases of `bench/mutations` and a runner
without a model that says what a skill tells it to do (`follow.sh`), which comes out the same each time. The skill is also
compared with itself. Ends with 1 when fewer than 90 % of the degraded variants are found worse, more than 5 % of the
harmless ones, or more than 1 % of those that are no better are found better.

What this shows is how the comparison works with checks that name the instructions of a skill; what cases of other skills
would catch depends on those cases.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEED = ROOT / "registry-index" / "seed"
HERE = ROOT / "bench" / "mutations"
NEGATION = re.compile(r"\b(never|not|without|nothing|only)\b", re.I)


def body_of(text):
    """Where the body begins."""
    return text.index("\n---", 3) + len("\n---\n")


def units(text):
    """(start, end) of each list item, table row and line of code, with its continuation lines."""
    found, in_code, start = [], False, body_of(text)
    at = start
    current = None
    for line in text[start:].splitlines(keepends=True):
        is_fence = line.lstrip().startswith("```")
        begins = re.match(r"\s*(\d+\.|[-*]) |\s*\|", line) and not re.match(r"\s*\|[-| ]+$", line.rstrip())
        if current is not None and (is_fence or begins or not line.strip() or line.startswith("#")):
            found.append((current, at))
            current = None
        if is_fence:
            in_code = not in_code
        elif in_code and re.match(r"\s*skillhub ", line):
            found.append((at, at + len(line)))
        elif begins and not in_code:
            current = at
        at += len(line)
    if current is not None:
        found.append((current, at))
    return found


def degraded(text, references):
    """(kind, text, references) of each degraded variant."""
    start = body_of(text)
    for begin, end in units(text):
        yield "dropped instruction", text[:begin] + text[end:], references
    for match in re.finditer(r"^## .*?(?=^## |\Z)", text, re.M | re.S):
        yield "dropped section", text[:match.start()] + text[match.end():], references
    for match in NEGATION.finditer(text, start):
        word = {"never": "always", "not": "indeed", "without": "with", "nothing": "everything", "only": "also"}[match[0].lower()]
        yield "turned round", text[:match.start()] + word + text[match.end():], references
    for match in re.finditer(r"^\s*skillhub (\w+)", text[start:], re.M):
        at = start + match.end()
        yield "broken command", text[:at] + "x" + text[at:], references
    for match in re.finditer(r"(?<![\w.@~`\"/-])(\d[\d,]*)(?![\w.\"])", text[start:]):
        begin, end = start + match.start(1), start + match.end(1)
        yield "changed value", text[:begin] + "7" + text[begin:end] + text[end:], references
    for name in references:
        yield "removed reference", text, {path: kept for path, kept in references.items() if path != name}
    for share in (3, 2):
        yield "cut off", text[:start + (len(text) - start) // share], references
    yield "emptied", text[:start] + "\nDo what seems best.\n", references


def rewrapped(text, width):
    """The same with paragraphs in lines of another length."""
    out, in_code, pending = [], False, []
    start = body_of(text)

    def flush():
        line = ""
        for word in " ".join(pending).split():
            if len(line) + len(word) >= width and not re.match(r"(\d+\.|[-+*]|#+)$", word):
                out.append(line)
                line = word
            else:
                line = f"{line} {word}".strip()
        if line:
            out.append(line)
        pending.clear()

    for line in text[start:].splitlines():
        is_fence = line.lstrip().startswith("```")
        in_code ^= is_fence
        if in_code or is_fence or not line or re.match(r"(\s|\||#|\d+\.|- )", line):
            flush()
            out.append(line)
        else:
            pending.append(line)
    flush()
    return text[:start] + "\n".join(out) + "\n"


def sorted_rows(text):
    """The same with the rows of each table the other way round."""
    rows = r"((?:^\|[^\n]*\n){2})((?:^\|[^\n]*\n)+)"
    return re.sub(rows, lambda m: m[1] + "".join(reversed(m[2].splitlines(keepends=True))), text, flags=re.M)


def harmless(text, references):
    """(kind, text, references) of each variant that means the same."""
    start = body_of(text)
    head, body = text[:start], text[start:]
    ways = {
        "lines rewrapped at 72": rewrapped(text, 72),
        "lines rewrapped at 200": rewrapped(text, 200),
        "other bullets": head + re.sub(r"^(\s*)- ", r"\1* ", body, flags=re.M),
        "CRLF": text.replace("\n", "\r\n"),
        "trailing spaces": head + re.sub(r"([^\n`])\n", r"\1  \n", body),
        "no bold": head + body.replace("**", ""),
        "underscored bold": head + body.replace("**", "__"),
        "no code marks in prose": head + re.sub(r"(```.*?```)|`([^`\n]+)`", lambda m: m[1] or m[2], body, flags=re.S),
        "colon after headings": head + re.sub(r"^(## .*)$", r"\1:", body, flags=re.M),
        "another version": head.replace('version: "1.0.0"', 'version: "1.0.1"') + body,
        "other keywords": re.sub(r'keywords: ".*"', 'keywords: "other, words"', head) + body,
        "another description": re.sub(r"description: >-\n(  .*\n)+", "description: Something else. Use it.\n", head) + body,
        "a closing sentence": text + "\nThank you for reading this far.\n",
        "a new section": text + "\n## Further reading\n\n- The manual has more.\n",
        "a new bullet": head + re.sub(r"^(- .*\n)(?=\n|\Z)", r"\1- Keep the answer short.\n", body, flags=re.M),
        "a comment": head + "<!-- reviewed in spring -->\n" + body,
        "more blank lines": head + body.replace("\n\n", "\n\n\n"),
        "rows in another order": head + sorted_rows(body),
        "padded tables": head + re.sub(r"^\| ", "|   ", body, flags=re.M),
        "other fences": head + body.replace("```sh", "```bash"),
        "no remarks in code": head + re.sub(r"^( *skillhub [^#\n]*?) +#.*$", r"\1", body, flags=re.M),
        "all ones in numbered lists": head + re.sub(r"^\d+\. ", "1. ", body, flags=re.M),
        "a paraphrase": head + body.replace("it is worth", "it pays").replace("in the middle of", "amid").replace("at once", "straight away"),
    }
    for kind, changed in ways.items():
        if changed != text:
            yield kind, changed, references
    yield "a further reference", text, {**references, "references/more.md": "# More\n\nNothing that is needed.\n"}


def write(folder, text, references, evals):
    """The skill as a folder."""
    for path, content in {"SKILL.md": text, "evals/evals.json": evals, **references}.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode())


def decide(program, skill, variant):
    """The word of `eval compare` on one variant."""
    kind, text, references = variant
    evals = (HERE / f"{skill}.json").read_text()
    with tempfile.TemporaryDirectory(prefix="skillhub-mutations-") as place:
        place = pathlib.Path(place)
        original = (SEED / skill / "SKILL.md").read_text()
        write(place / "base" / skill, original, references_of(skill), evals)
        write(place / "candidate" / skill, text, references, evals)
        environment = {"PATH": os.environ["PATH"], "HOME": str(place), "SKILLHUB_HOME": str(place / "home"), "TMPDIR": str(place)}
        command = [
            program, "eval", "compare", skill, f"{place}/base/{skill}", f"{place}/candidate/{skill}",
            "--runner", str(HERE / "follow.sh"), "--trial", "2", "--out", str(place / "out"), "--json",
        ]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        document = json.loads(done.stdout)
        if "decision" not in document:
            raise SystemExit(f"{skill}, {kind}: {done.stdout}")
        return document["decision"]


def references_of(skill):
    """The references of a skill by path."""
    return {str(path.relative_to(SEED / skill)): path.read_text() for path in sorted((SEED / skill / "references").glob("*.md"))}


def variants():
    """(skill, group, variant) of all of them."""
    for skill in sorted(path.stem for path in HERE.glob("*.json")):
        text, references = (SEED / skill / "SKILL.md").read_text(), references_of(skill)
        for group, made in (("degraded", degraded), ("harmless", harmless)):
            for variant in made(text, references):
                yield skill, group, variant
        for _ in range(5):
            yield skill, "itself", ("itself", text, references)


def main():
    """Compares all variants, or each Nth, and prints the shares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("skillhub", type=pathlib.Path)
    parser.add_argument("--every", type=int, default=1, help="only each Nth variant")
    parser.add_argument("--jobs", type=int, default=2, help="comparisons at the same time")
    parser.add_argument("--list", action="store_true", help="name what was missed, and what was a false alarm")
    options = parser.parse_args()
    if not shutil.which("awk"):
        raise SystemExit("awk is needed")
    program = str(options.skillhub.resolve())
    chosen = list(variants())[:: options.every]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        words = list(pool.map(lambda one: decide(program, one[0], one[2]), chosen))
    counts = {}
    for (skill, group, (kind, _, _)), word in zip(chosen, words):
        of_kind = counts.setdefault((group, kind if group == "degraded" else group), [0, 0, 0])
        of_kind[0] += 1
        of_kind[1] += word == "worse"
        of_kind[2] += word == "better"
        if options.list and (group == "degraded") != (word == "worse"):
            print(f"  {skill}: {group}, {kind}: {word}")
    for (group, kind), (count, worse, better) in counts.items():
        print(f"{group:9} {kind:20} {count:4} variants, {worse:4} worse, {better} better")
    total = {group: [sum(c[i] for (g, _), c in counts.items() if g == group) for i in range(3)] for group, _ in counts}
    caught = total["degraded"][1] / max(total["degraded"][0], 1)
    alarms = total["harmless"][1] / max(total["harmless"][0], 1)
    equal = total["harmless"][0] + total["itself"][0]
    promoted = (total["harmless"][2] + total["itself"][2]) / max(equal, 1)
    print(f"caught {caught:.1%} of degraded variants (at least 90 %), false alarms {alarms:.1%} (at most 5 %), promoted {promoted:.1%} (at most 1 %)")
    sys.exit(0 if caught >= 0.9 and alarms <= 0.05 and promoted <= 0.01 and total["itself"][1] == 0 else 1)


if __name__ == "__main__":
    main()
