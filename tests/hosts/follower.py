#!/usr/bin/env python3
"""A runner for `skillhub eval run`: a real host whose model knows nothing but what the host sends of a skill.

    python3 tests/hosts/follower.py HOST TOOLS SKILLHUB

The model asks the host for the skill. Of the text that this brings, it runs the commands of the first `sh` block in
their order, each with the values that the user's prompt has for the words in capitals, and reports their output. A
command is left out where the prompt has no value for such a word. Without the skill there is nothing to run.
"""

import json
import os
import pathlib
import re
import sys
import tempfile

from entries import World
from model import Call, Seen
from programs import HOSTS, Host

STEPS = 12
# What the words in capitals stand for, as patterns of the prompt.
VALUES = {
    "URL": r"(https?://\S+)", "DIR": r"(\./[\w-]+)", "TOPIC": r'"([^"]+)"', "DESCRIPTION": r'"([^"]+)"',
    "NAME": r"\bskill ([a-z]+-[a-z]+)", "OLD": r"`([^`]+)`", "NEW": r"`[^`]+`[^`]+`([^`]+)`", "WHY": r": ([^:]+)$",
}
CONFIG = """
[tools]
hosts = ["127.0.0.1:8711", "127.0.0.1:8712"]
private_addresses = true

[tools.search]
url = "http://127.0.0.1:8711/search?q={query}"
"""


def block(text: str, language: str) -> str:
    """The first code block in a language, without its indentation."""
    found = re.search(rf"^( *)```{language}\n(.*?)^ *```$", text, re.M | re.S)
    return "" if not found else re.sub(rf"^{found[1]}", "", found[2], flags=re.M)


class Follower:
    """A model's answers in a session in which the skill was just asked for."""

    def __init__(self, host: Host, prompt: str) -> None:
        self.host, self.prompt = host, prompt
        self.skill: str | None = None
        self.commands: list[str] = []
        self.outputs: list[str] = []

    def __call__(self, seen: Seen) -> Call | str:
        if self.skill is None:
            self.skill = seen.new
            self.commands = [re.sub(r"\s+# .*", "", line) for line in block(seen.new, "sh").splitlines()]
        else:
            self.outputs.append(seen.new)
        while self.commands:
            command = self.filled(self.commands.pop(0))
            if not command:
                continue
            if command.startswith("skillhub new "):
                self.commands.insert(0, self.draft())
            return Call(self.host.shell, {self.host.shell_argument: command, **self.host.shell_rest})
        return self.report()

    def value(self, word: str) -> str | None:
        if word == "SITES":
            return json.dumps(re.findall(VALUES["URL"], self.prompt))
        pattern, text = VALUES.get(word), self.prompt
        if word == "REVISION":
            pattern, text = r"\b([0-9a-f]{12})\b", "\n".join(self.outputs)
        found = re.search(pattern, text) if pattern else None
        return found[1] if found else None

    def filled(self, command: str) -> str | None:
        """The command with its values; nothing if one is unknown."""
        if command.startswith("cat > "):
            return command
        words = r"\b[A-Z]{3,}\b"
        values = {word: self.value(word) for word in re.findall(words, command)}
        return None if None in values.values() else re.sub(words, lambda word: values[word[0]], command)

    def draft(self) -> str:
        """Writes SKILL.md with the frontmatter that the skill shows, and the commands in the prompt as steps."""
        name, description = self.value("NAME"), json.dumps(self.value("DESCRIPTION"))
        frontmatter = re.sub(r"^name: .*$", f"name: {name}", block(self.skill, "yaml"), flags=re.M)
        frontmatter = re.sub(r"^description: >-\n(  .*\n)+", f"description: {description}\n", frontmatter, flags=re.M)
        steps = [f"{number}. Run `{step}`." for number, step in enumerate(re.findall("`([^`]+)`", self.prompt), 1)]
        text = "\n".join([frontmatter, f"# {name}", "", *steps])
        return f"cat > {name}/SKILL.md <<'END'\n{text}\nEND"

    def report(self) -> str:
        """The verdict, where the skill has a form for it, and the output of the commands."""
        outputs = "\n".join(self.outputs)
        form = re.search(r"^\*\*Verdict: (.+)\*\*$", block(self.skill, "markdown"), re.M)
        scanned = re.search(r"^\s*(allow|warn|block) \S", outputs, re.M)
        if not form or not scanned:
            return outputs or "Nothing here says how to do that."
        verdict = form[1].split(" | ")[["allow", "warn", "block"].index(scanned[1])]
        findings = "\n".join(re.findall(r"^ *\w+ (\S+:\d+ .*\[[\w-]+\])$", outputs, re.M))
        return f"**Verdict: {verdict}**\nFindings: {findings}\n"


def main() -> None:
    kind, tools, program = sys.argv[1:]
    host, name = HOSTS[kind](pathlib.Path(tools)), os.environ["SKILLHUB_EVAL_NAME"]
    prompt = os.environ["SKILLHUB_EVAL_PROMPT"]
    with tempfile.TemporaryDirectory(prefix="skillhub-follower-") as place:
        world = World(program, pathlib.Path(place))
        world.cwd = pathlib.Path.cwd()
        config = world.home / ".skillhub/config.toml"
        config.write_text(config.read_text() + CONFIG)
        host.prepare(world.home)
        world.project()
        if skill := os.environ.get("SKILLHUB_EVAL_SKILL"):
            world.skillhub("install", skill)
        for draft in sorted(world.cwd.glob("*.md")):
            world.skillhub("manage", "create", draft.stem, "--content", draft.name)
        host.use(world.home, world.cwd, name, [Follower(host, prompt)] * STEPS)
        print(host.said)


if __name__ == "__main__":
    main()
