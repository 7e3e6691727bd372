"""Pages of the commands: one for each command, with its subcommands."""

import html
import re

from program import Command, Program

FOLDER = "reference/commands"


def prose(text: str) -> str:
    """HTML of a text of a help page: code between backticks, everything else as it is."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))


def definitions(entries: list[tuple[str, str]], prefix: str) -> str:
    """A list of arguments or options, each with an anchor."""
    lines = ['<dl class="options">']
    for spec, text in entries:
        name = re.search(r"--[\w-]+|-\w|[\w@]+", spec)[0].lower().replace("@", "-")
        notes = re.findall(r"\[(?:default|env|possible values)[^\]]*\]", text)
        for note in notes:
            text = text.replace(note, "")
        anchor = f"{prefix}{name.lstrip('-')}"
        lines.append(f'<dt id="{anchor}"><a href="#{anchor}"><code>{html.escape(spec)}</code></a></dt>')
        extra = "".join(f' <span class="note">{prose(note[1:-1].removesuffix("="))}</span>' for note in notes)
        lines.append(f"<dd>{prose(text.strip())}{extra}</dd>")
    return "\n".join([*lines, "</dl>"])


def fence(lines: list[str], language: str = "text") -> str:
    return "\n".join([f"```{language}", *lines, "```"])


def exit_sentences(details: list[str]) -> tuple[list[str], list[str]]:
    """Separates what a help page says about exit codes from its other sentences."""
    codes, others = [], []
    for paragraph in details:
        found = re.search(r"Exit codes?\b[^.]*(?:\([^)]*\))?[^.]*\.(?=\s|$)", paragraph)
        rest = paragraph.replace(found[0], "").strip() if found else paragraph
        codes += [found[0]] if found else []
        others += [rest] if rest else []
    return codes, others


def section(command: Command, level: int) -> str:
    """Usage, examples, options and exit codes of a command, then of its subcommands."""
    mark, prefix = "#" * level, "-".join(command.path) + "-" if level > 1 else ""
    heading = lambda title: f"**{title}**" if level > 1 else f"## {title}"
    # The names of subcommands are anchors, so that other pages can link to them.
    anchor = f" {{ #{'-'.join(command.path[1:])} }}" if level > 1 else ""
    codes, details = exit_sentences(command.details)
    parts = [f"{mark} {command.title}{anchor}", prose(command.about) + "."]
    parts += [prose(text) for text in command.introduction]
    parts += [fence(command.usage)]
    if command.aliases:
        parts.append("Also called " + ", ".join(f"`{alias}`" for alias in command.aliases) + ".")
    if command.examples:
        parts += [heading("Examples"), fence(command.examples, "sh")]
    parts += [prose(text) for text in details]
    if command.subcommands:
        rows = [f"| [`{one.path[-1]}`](#{'-'.join(one.path[1:])}) | {prose(one.about)} |" for one in command.subcommands]
        parts += [heading("Subcommands"), "\n".join(["| subcommand | purpose |", "|---|---|", *rows])]
    if command.arguments:
        parts += [heading("Arguments"), definitions(command.arguments, prefix + "argument-")]
    if command.options:
        parts += [heading("Options"), definitions(command.options, prefix + "option-")]
    if level == 1:
        parts.append("It also takes the [options of all commands](../options.md).")
        parts += [heading("Exit codes"), " ".join([*map(prose, codes), "[All exit codes](../exit-codes.md)"]) + ("" if codes else ".")]
    else:
        parts += [prose(code) for code in codes]
    return "\n\n".join([*parts, *(section(one, level + 1) for one in command.subcommands)])


def overview(program: Program) -> str:
    """The page that lists all commands by group."""
    parts = ["# Commands", "Each page has usage, examples and options, as `skillhub help COMMAND` prints them."]
    for title, commands in program.groups:
        rows = [f"| [`{one.path[0]}`]({one.path[0]}.md) | {prose(one.about)} |" for one in commands]
        parts += [f"## {title}", "\n".join(["| command | purpose |", "|---|---|", *rows])]
    return "\n\n".join(parts)


def exit_codes(readme: str) -> str:
    """The page of exit codes, from the table of the README."""
    header = re.search(r"^\| 0 \|.*$", readme, re.M)
    if header is None:
        raise RuntimeError("README.md has no table of exit codes that begins with 0")
    meanings = readme[header.end() :].splitlines()[2]
    cells = lambda line: [cell.strip() for cell in line.strip().strip("|").split("|")]
    rows = [f"| {code} | {meaning} |" for code, meaning in zip(cells(header[0]), cells(meanings), strict=True)]
    return "\n".join(["# Exit codes", "", "The exit code gives the kind of failure. The meanings are stable.", "", "| code | meaning |", "|---|---|", *rows])


def pages(program: Program, readme: str) -> dict[str, str]:
    """Texts of all pages about commands, by path."""
    made = {f"{FOLDER}/index.md": overview(program)}
    for _, commands in program.groups:
        made |= {f"{FOLDER}/{one.path[0]}.md": section(one, 1) for one in commands}
    options = definitions(program.common_options, "option-")
    made["reference/options.md"] = f"# Options of all commands\n\nEvery command takes these options.\n\n{options}\n"
    made["reference/exit-codes.md"] = exit_codes(readme)
    return made


def navigation(program: Program) -> list:
    """The commands for the navigation, in the groups of `skillhub help --all`."""
    groups = [{title: [{one.path[0]: f"{FOLDER}/{one.path[0]}.md"} for one in commands]} for title, commands in program.groups]
    return [f"{FOLDER}/index.md", *groups]
