#!/usr/bin/env python3
"""An optimiser without a model: it adds the failed assertions to the skill, as a list to check before answering.

It has the shape of a useful one: read `failures`, make one small edit of SKILL.md, and give the reason. Each failed
assertion becomes one line of a section at the end; existing lines are not repeated.
"""

import json
import sys

HEADING = "## Before you answer"


def improve(request):
    """Returns the patches for a request, and the reason."""
    skill_md = next(file["text"] for file in request["files"] if file["path"] == "SKILL.md")
    shown = {str(case["id"]) for case in request["cases"]}
    wanted = [failure["text"].strip().rstrip(".") for failure in request["failures"] if failure["case"] in shown]
    lines = []
    for text in wanted:
        line = f"- Check: {text}."
        if line not in skill_md and line not in lines:
            lines.append(line)
    if not lines:
        return [], "every failure is named in the skill already"
    section = "\n".join(lines) if HEADING in skill_md else "\n".join([HEADING, "", *lines])
    patched = skill_md.rstrip("\n") + ("\n" if HEADING in skill_md else "\n\n") + section + "\n"
    return [{"action": "edit", "content": patched}], f"{len(lines)} assertions failed in the last run"


def main():
    """Reads the request and prints the answer."""
    patches, rationale = improve(json.load(sys.stdin))
    json.dump({"v": 1, "patches": patches, "rationale": rationale}, sys.stdout)


if __name__ == "__main__":
    main()
