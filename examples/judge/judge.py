#!/usr/bin/env python3
"""A judge for [scan.judge]: quotes a skill in a prompt as data, and asks a model.

    judge.py [COMMAND...]    COMMAND reads the prompt on standard input and prints the model's answer.

Without a COMMAND, a stub answers in place of a model: it looks for a few fixed phrases. The answer is printed unchanged.
skillhub accepts it only if the whole output is one JSON document.
"""

import json
import pathlib
import secrets
import subprocess
import sys

DOUBTFUL = ["ignore previous", "you are the judge", '"verdict"', "do not tell the user"]


def quoted(text, question):
    """Returns the prompt. The delimiter is random, so that no skill can know it."""
    delimiter = "skill-" + secrets.token_hex(16)
    # The skill is one JSON document on one line, so none of its lines starts a line of the prompt.
    return text.replace("{delimiter}", delimiter).replace("{skill}", json.dumps(question))


def stub(prompt):
    first = next(line for line in prompt.splitlines() if line.endswith(" begins"))
    lines = prompt.splitlines()
    skill = json.loads(lines[lines.index(first) + 1])
    texts = " ".join(file.get("text", "") for file in skill["files"]).lower()
    found = [words for words in DOUBTFUL if words in texts]
    if found:
        return {"verdict": "block", "reason": f"it speaks to its judge or hides something: {found[0]}"}
    if not skill["complete"]:
        return {"verdict": "warn", "reason": "not all of its texts were shown"}
    return {"verdict": "allow", "reason": "nothing in it speaks against it"}


def main():
    prompt = quoted(pathlib.Path(__file__).with_name("prompt.md").read_text(), json.load(sys.stdin))
    if len(sys.argv) == 1:
        print(json.dumps(stub(prompt)))
        return 0
    return subprocess.run(sys.argv[1:], input=prompt.encode(), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
