"""Turns the repository's Markdown into the site's: links between pages, marks of the tests, and the indentation of lists."""

import posixpath
import re

FENCE = re.compile(r"^(\s*)(```+|~~~+)(.*)$")
ITEM = re.compile(r"^(?P<indent> *)(?P<marker>[-*]|\d+\.) +")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")


def converted(text: str, source: str, page: str, pages: dict[str, str], files: set[str]) -> str:
    """Returns a page's text. `pages` has the page of each source; linked files that are no page are added to `files`."""
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.S)
    lines: list[str] = []
    fence, item, is_long = None, 0, False
    for line in text.splitlines():
        if found := FENCE.match(line):
            marker = found[2]
            if fence is None:
                # Words after the language are for the tests of the guides.
                language = found[3].split()[0] if found[3].split() else ""
                line, fence = f"{found[1]}{marker}{language}", marker
            elif marker.startswith(fence) and not found[3].strip():
                fence = None
        elif fence is None:
            line = LINK.sub(lambda match: relinked(match, source, page, pages, files), line)
            if ITEM.match(line):
                # A list may follow a paragraph without an empty line on GitHub only.
                # After an item of several paragraphs, the next one needs it too.
                if lines and lines[-1].strip() and (not item or is_long):
                    lines.append("")
                item, is_long = ITEM.match(line).end(), False
            elif line.strip() and not line.startswith(" "):
                item = 0
            elif not line.strip():
                is_long = True
        # What belongs to an item is indented by four columns here, and on GitHub by the width of its marker.
        if item and line.startswith(" " * item) and not ITEM.match(line):
            line = " " * (4 - item) + line
        lines.append(line)
    return "\n".join(lines) + "\n"


def relinked(match: re.Match, source: str, page: str, pages: dict[str, str], files: set[str]) -> str:
    """A link or image as the site has it. Links to code, which the site does not have, become their text."""
    image, text, target = match.groups()
    if re.match(r"[a-z]+:|#", target):
        return match[0]
    path, _, fragment = target.partition("#")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    up = "../" * page.count("/")
    if path in pages:
        relative = posixpath.relpath(pages[path], posixpath.dirname(page) or ".")
        return f"[{text}]({relative}{'#' + fragment if fragment else ''})"
    name = posixpath.basename(path)
    if path.startswith(".") or (posixpath.splitext(name)[1] in ("", ".rs") and not name.startswith(("LICENSE", "Containerfile"))):
        return text
    files.add(path)
    return f"{image}[{text}]({up}files/{file_name(path)})"


def file_name(path: str) -> str:
    """Name of a linked file on the site, where Markdown without a page of its own stays as it is."""
    return f"{path}.txt" if path.endswith(".md") else path
