#!/usr/bin/env python3
"""What compiling skills to tools and running these costs.

    python3 bench/tools.py [PROGRAM]

Makes a library of 1,000 skills that declare a tool of three steps each, compiles all of them, compiles them again unchanged, and
runs one tool whose loop makes 900 calls. The time of an empty list is told beside it: what a process costs that only looks at the same library.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

SKILLS = 1000
ITEMS = 900
PROGRAM = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.abspath("target/release/skillhub")

DECLARED = """---
name: {name}
description: Makes a text of {name}.
tool_schema:
  input:
    type: object
    properties:
      words: {{type: array, items: {{type: string}}}}
      mode: {{type: string, enum: [short, long], default: short}}
    required: [words]
  steps:
    - id: each
      tool: text_template
      for_each: "{{{{input.words}}}}"
      input: {{template: "${{.}} {number}", values: "{{{{item}}}}"}}
    - id: first
      tool: json_query
      input: {{data: "{{{{steps.each.output}}}}", query: "$[0].text", first: true}}
    - tool: text_template
      input: {{template: "done ${{.}}", values: "{{{{input.mode}}}}"}}
  returns: {{first: "{{{{steps.first.output}}}}", last: "{{{{steps.2.output.text}}}}"}}
---

Call it.
"""


def run(library, *args):
    began = time.perf_counter()
    done = subprocess.run([PROGRAM, "--library", str(library), "--json", *args], capture_output=True, text=True, check=False)
    took = time.perf_counter() - began
    if done.returncode:
        sys.exit(f"{args}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return json.loads(done.stdout), took


def best(library, *args):
    return min(run(library, *args)[1] for _ in range(5))


def main():
    place = pathlib.Path(tempfile.mkdtemp(prefix="skillhub-bench-"))
    os.environ["SKILLHUB_HOME"] = str(place / "home")
    library, source = place / "library", place / "source"
    try:
        for number in range(SKILLS):
            folder = source / f"tool-{number}"
            folder.mkdir(parents=True)
            (folder / "SKILL.md").write_text(DECLARED.format(name=folder.name, number=number))
        run(library, "install", str(source), "--all")
        _, first = run(library, "tools", "compile", "--all")
        unchanged = best(library, "tools", "compile", "--all")
        listed = best(library, "list")
        looked = best(library, "tools", "list")
        words = json.dumps({"words": [f"w{n}" for n in range(ITEMS)]})
        done, called = run(library, "tools", "call", "tool-7", "--input", words)
        trace = run(library, "tools", "trace", done["trace"])[0]["trace"]
        calls = [call for step in trace["steps"] for call in step["calls"]]
        inside = sum(attempt["took_micros"] for call in calls for attempt in call["attempts"])
        beside = (trace["took_micros"] - inside) / len(calls)
        print(f"compile {SKILLS} skills          {first:.3f} s")
        print(f"the same, nothing changed    {unchanged:.3f} s (`list` of the same library {listed:.3f} s)")
        print(f"tools list                   {looked:.3f} s")
        print(f"a run of {len(calls)} calls          {called:.3f} s, {trace['took_micros'] / len(calls):.0f} us a call, {beside:.1f} us of it beside the attempts")
    finally:
        shutil.rmtree(place, ignore_errors=True)


main()
