"""The built pages as the checks read them: anchors, addresses and code."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

# Attributes whose address a browser asks for by itself, and those that only a reader follows.
LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("video", "src"), ("object", "data"), ("image", "href"), ("use", "href")}
FOLLOWED = {("a", "href"), ("form", "action")}
# `link` elements that load nothing.
PASSIVE_LINKS = {"canonical", "prev", "next", "alternate"}


@dataclass
class Page(HTMLParser):
    """One built page."""

    file: Path
    ids: set[str] = field(default_factory=set)
    followed: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    inline: list[str] = field(default_factory=list)
    _open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.file.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if "id" in attributes:
            self.ids.add(attributes["id"])
        for name, value in attributes.items():
            if (tag, name) in FOLLOWED or (tag == "link" and name == "href" and attributes.get("rel") in PASSIVE_LINKS):
                self.followed.append(value)
            elif (tag, name) in LOADED or (tag == "link" and name == "href"):
                self.loaded.append(value)
        if tag in ("pre", "code"):
            if not self._open:
                (self.blocks if tag == "pre" else self.inline).append("")
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("pre", "code") and self._open:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open:
            (self.blocks if self._open[0] == "pre" else self.inline)[-1] += data


def read(folder: Path) -> list[Page]:
    return [Page(file) for file in sorted(folder.rglob("*.html")) if "files" not in file.relative_to(folder).parts]
