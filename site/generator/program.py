"""The program's commands, read from its own help pages."""

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

ENTRY = re.compile(r"^ {2,6}(?P<spec>\S.*?)(?:  +(?P<text>\S.*))?$")


@dataclass
class Command:
    """One help page. `path` holds the names after the program's own; entries are pairs of a spelling and its meaning."""

    path: tuple[str, ...]
    about: str
    introduction: list[str] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)
    usage: list[str] = field(default_factory=list)
    arguments: list[tuple[str, str]] = field(default_factory=list)
    options: list[tuple[str, str]] = field(default_factory=list)
    subcommands: list["Command"] = field(default_factory=list)

    @property
    def title(self) -> str:
        return " ".join(("skillhub", *self.path))

    def flags(self) -> set[str]:
        """Spellings of its options, such as `--json` and `-q`."""
        return {flag for spec, _ in self.options for flag in re.findall(r"(?<![\w<-])--?[A-Za-z][\w-]*", spec)}


class Program:
    """A built skillhub, run in a home of its own. Help pages are read once."""

    def __init__(self, file: str) -> None:
        self.home = tempfile.TemporaryDirectory(prefix="skillhub-site-")
        bin_folder = Path(self.home.name, "bin")
        bin_folder.mkdir()
        # Usage lines have the name by which the program was started.
        (bin_folder / "skillhub").symlink_to(Path(file).resolve())
        self.bin = str(bin_folder)
        self._helps: dict[tuple[str, ...], Command | None] = {}

    def environment(self, home: str | None = None) -> dict[str, str]:
        home = home or self.home.name
        names = {"PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": home, "SKILLHUB_HOME": f"{home}/.skillhub"}
        return {**names, "LANG": "C.UTF-8", "NO_COLOR": "1"}

    def run(self, *arguments: str) -> str:
        done = subprocess.run(["skillhub", *arguments], env=self.environment(), cwd=self.home.name, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"skillhub {' '.join(arguments)}: {done.stderr or done.stdout}")
        return done.stdout

    def help(self, path: tuple[str, ...]) -> Command | None:
        """The help page of a command, hidden ones and other spellings included. `None` if there is no such command."""
        if path not in self._helps:
            try:
                self._helps[path] = parse_help(path, self.run("help", *path))
            except RuntimeError:
                self._helps[path] = None
        return self._helps[path]

    def accepts(self, path: tuple[str, ...], flag: str) -> bool:
        """Returns whether a command has a flag that its help page leaves out."""
        for words in ([flag, "--help"], [flag, "value", "--help"]):
            try:
                self.run(*path, *words)
                return True
            except RuntimeError:
                continue
        return False

    def _with_subcommands(self, path: tuple[str, ...]) -> Command:
        command = self.help(path)
        if command is None:
            raise RuntimeError(f"no help for skillhub {' '.join(path)}")
        command.subcommands = [self._with_subcommands(one.path) for one in command.subcommands]
        return command

    @cached_property
    def groups(self) -> list[tuple[str, list[Command]]]:
        """Titles of the groups of `help --all`, with their commands."""
        groups: list[tuple[str, list[Command]]] = []
        for line in self.run("help", "--all").splitlines():
            if line.endswith(":") and not line.startswith(" "):
                groups.append((line[:-1], []))
            elif found := re.match(r"^  (\S+)  +\S", line):
                groups[-1][1].append(self._with_subcommands((found[1],)))
        return groups

    @cached_property
    def common_options(self) -> list[tuple[str, str]]:
        return entries(self.run("help", "options").splitlines()[1:])

    @cached_property
    def version(self) -> str:
        return self.run("--version").split()[-1]


def entries(lines: list[str]) -> list[tuple[str, str]]:
    """Parses the two columns of a help page; a text may go on in the next lines."""
    found: list[list[str]] = []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if found and (indent > 6 or (indent > 2 and not line.lstrip().startswith("-"))):
            found[-1][1] = f"{found[-1][1]} {line.strip()}".strip()
        elif match := ENTRY.match(line):
            found.append([match["spec"].strip(), match["text"] or ""])
    return [(spec, text) for spec, text in found]


def blocks(text: str) -> list[list[str]]:
    """Splits a page at its blank lines."""
    return [part.splitlines() for part in re.split(r"\n\s*\n", text.strip("\n")) if part.strip()]


def parse_help(path: tuple[str, ...], text: str) -> Command:
    """Parses a help page: description, examples, details, usage, and the lists of arguments, options and subcommands."""
    parts = blocks(text)
    command = Command(path, about=" ".join(parts[0]))
    for lines in parts[1:]:
        heading, rest = lines[0], lines[1:]
        if heading == "Examples:":
            command.examples = [line[2:] for line in rest]
        elif heading == "Arguments:":
            command.arguments = entries(rest)
        elif heading == "Options:":
            command.options = [entry for entry in entries(rest) if entry[0] != "-h, --help"]
        elif heading == "Commands:":
            command.subcommands = [Command((*path, name), about) for name, about in entries(rest) if name != "help"]
        elif heading.startswith("Usage:"):
            command.usage = [line.removeprefix("Usage:").strip() for line in lines]
        elif heading.startswith("Also called "):
            command.aliases = re.findall(r"`([^`]+)`", " ".join(lines))
        elif command.examples:
            command.details.append(" ".join(lines))
        else:
            command.introduction.append(" ".join(lines))
    return command
