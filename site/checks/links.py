"""Links of the built pages: each target and anchor exists, and a page loads nothing from elsewhere."""

import re
import urllib.parse
from pathlib import Path

from html_pages import Page


def faults(pages: list[Page], root: Path) -> list[str]:
    """One line for each dead link, missing anchor and request to another host."""
    ids = {page.file: page.ids for page in pages}
    found = []
    for page in pages:
        where = page.file.relative_to(root)
        for address in page.loaded:
            if re.match(r"(?!data:)[a-z]+:|//", address):
                found.append(f"{where}: loads {address}")
        for address in {*page.followed, *page.loaded}:
            if not re.match(r"[a-z]+:|//", address) and (fault := dead(address, page.file, root, ids)):
                found.append(f"{where}: {fault}")
    for file in root.rglob("*.css"):
        for address in re.findall(r"(?:url\(|@import\s)[\"']?((?:https?:)?//[^\"')\s]+)", file.read_text()):
            found.append(f"{file.relative_to(root)}: loads {address}")
    return sorted(set(found))


def dead(address: str, file: Path, root: Path, ids: dict[Path, set[str]]) -> str | None:
    """Why a link within the site leads nowhere; `None` if it leads somewhere."""
    path, _, fragment = address.partition("#")
    path = urllib.parse.unquote(path.partition("?")[0])
    target = file if not path else root / path.lstrip("/") if path.startswith("/") else (file.parent / path)
    target = target.resolve()
    if target.is_dir():
        target /= "index.html"
    if not target.is_relative_to(root) or not target.is_file():
        return f"{address} does not exist"
    fragment = urllib.parse.unquote(fragment)
    if fragment and target in ids and fragment not in ids[target] and not fragment.startswith("__"):
        return f"{address} has no anchor {fragment}"
    return None
