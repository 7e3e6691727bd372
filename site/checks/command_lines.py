"""Commands and flags that the pages mention: each exists in the program."""

import re
import shlex

from html_pages import Page
from program import Command, Program

# Where a command can begin in a block: a line, a prompt, an operator of the shell, a quotation or a hint.
START = re.compile(r"(?:^|[|;&(`\"']|\$ |: |\brun |\bxargs |\bexec )\s*(?:[A-Z_]+=\S+ )*(?:\S*/)?skillhub(?= )", re.M)
# Where it ends: an operator, a comment in a column of its own, or the end of its line.
END = re.compile(r"[\n`|;]|\$\(|&&|&$| >|  |\s#\s|\)\s|\)$")
NAME = re.compile(r"^[a-z][a-z_-]*$")
# Flags of other programs that stand in inline code where no block shows them: of `clawhub`, and of scripts for measuring.
FOREIGN = {"--cap-add", "--features", "--force", "--only", "--privileged", "--without-blocked"}
# Words after the program's name in its own messages.
PROSE = {"will"}


class Checker:
    """Compares command lines with the help pages of the program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.common = {flag: "<" in spec for spec, _ in program.common_options for flag in re.findall(r"--?[A-Za-z][\w-]*", spec)}
        self.common |= {flag: False for flag in ("--help", "-h", "--version", "-V")}
        self.all = set(self.common) | {flag for _, commands in program.groups for one in commands for flag in all_flags(one)}
        self.seen = 0

    def fault(self, line: str) -> str | None:
        """Why the words after the program's name are not a command; `None` if they are."""
        self.seen += 1
        try:
            words = shlex.split(line, comments=False)
        except ValueError:
            words = line.split()
        command: Command | None = None
        flags, skip = dict(self.common), False
        for word in words:
            if skip:
                skip = False
            elif word.startswith("-") and len(word) > 1 and not word[1].isdigit():
                flag = word.split("=")[0]
                if flag == "--":
                    return None
                if flag not in flags and re.match(r"--?[a-z]", flag) and not self.program.accepts(command.path if command else (), flag):
                    return f"`skillhub {line}`: no flag {flag}"
                skip = flags.get(flag, False) and "=" not in word
            elif command is None or command.subcommands:
                if not NAME.match(word):
                    # A placeholder, such as COMMAND or NAME.
                    return None
                path = (*command.path, word) if command else (word,)
                inner = self.program.help(path) if command is None or self.has(command, word) else None
                if inner is None and (command is None or not command.arguments):
                    return f"`skillhub {line}`: no command {' '.join(path)}"
                if inner is None:
                    return None
                if inner.path == ("help",):
                    rest = tuple(one for one in words[words.index(word) + 1 :] if NAME.match(one))
                    return None if not rest or rest == ("options",) or self.program.help(rest) else f"`skillhub {line}`: no help page"
                command = inner
                flags |= {flag: takes_value(spec) for spec, _ in command.options for flag in re.findall(r"(?<![\w<-])--?[A-Za-z][\w-]*", spec)}
        return None

    def has(self, command: Command, word: str) -> bool:
        return any(word == one.path[-1] for one in command.subcommands)

    def page_faults(self, page: Page) -> list[str]:
        """Faults of a page's blocks and of its inline code."""
        found = []
        # Lines of other programs show their flags; those of skillhub are checked below.
        shown = {flag for block in page.blocks for flag in re.findall(r"(?<!\S)--[a-z][\w-]*", block)}
        for block in page.blocks:
            joined = block.replace("\\\n", " ")
            for match in START.finditer(joined):
                rest = joined[match.end() :].lstrip(" ")
                if rest.split(" ")[0] in PROSE:
                    continue
                found.append(self.fault(END.split(rest)[0].rstrip("\"'(,.:")))
        for code in page.inline:
            if code.startswith("skillhub ") and "\n" not in code:
                found.append(self.fault(END.split(code.removeprefix("skillhub "))[0]))
            elif re.match(r"--[a-z]", code):
                flag = re.split(r"[ =\[]", code)[0]
                known = flag in self.all | shown | FOREIGN or self.program.accepts(("list",), flag)
                found.append(None if known else f"`{code}`: no command has this flag")
        return [fault for fault in found if fault]


def takes_value(spec: str) -> bool:
    return "<" in spec and "[<" not in spec


def all_flags(command: Command) -> set[str]:
    return command.flags().union(*(all_flags(one) for one in command.subcommands))


def faults(pages: list[Page], program: Program, root) -> tuple[list[str], int]:
    """Faults with their pages, and how many command lines were read."""
    checker = Checker(program)
    found = [f"{page.file.relative_to(root)}: {fault}" for page in pages for fault in checker.page_faults(page)]
    return sorted(set(found)), checker.seen
