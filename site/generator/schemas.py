"""Pages of JSON Schemas: a table of keys for each object that a schema describes."""

import html
import json
import re
from pathlib import Path

from commands import prose

# File names of schemas that describe settings and stored files. All others are documents that programs exchange.
TITLES = {
    "config": ("reference/config.md", "config.toml", "Settings of a user, in `~/.skillhub/config.toml`."),
    "serve": ("server/settings.md", "serve.toml", "Settings of a server, for `skillhub serve --config FILE`."),
    "policy": ("reference/policy.md", "policy.toml", "Settings of a machine, in `/etc/skillhub/policy.toml`."),
    "lock": ("reference/lock.md", "skillhub.lock", "The lock file in a project's root, which lists what is installed."),
}


def place(name: str) -> str:
    """Path of a schema's page."""
    return TITLES[name][0] if name in TITLES else f"reference/documents/{name}.md"


def title(name: str) -> str:
    return TITLES[name][1] if name in TITLES else name


def anchor(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()).strip("-")


def reference(schema: object) -> str | None:
    """Name of the definition that a schema refers to."""
    target = schema.get("$ref") if isinstance(schema, dict) else None
    return target.rsplit("/", 1)[-1] if target else None


def kind(schema: object) -> str:
    """HTML of a type, in a few words."""
    if not isinstance(schema, dict) or not schema:
        return "any value"
    if name := reference(schema):
        return f'<a href="#{anchor(name)}">{html.escape(name)}</a>'
    for key in ("oneOf", "anyOf", "allOf"):
        if key in schema and not (schema.get("properties") and schema.get("type")):
            parts = [kind(one) for one in schema[key] if one != {"type": "null"}]
            return " or ".join(dict.fromkeys(parts)) if parts else "null"
    if "const" in schema:
        return f"<code>{html.escape(json.dumps(schema['const'], ensure_ascii=False))}</code>"
    if "enum" in schema:
        return " or ".join(f"<code>{html.escape(json.dumps(one, ensure_ascii=False))}</code>" for one in schema["enum"] if one is not None)
    types = schema.get("type", "any value")
    names = [one for one in ([types] if isinstance(types, str) else types) if one != "null"]
    return " or ".join(named_type(one, schema) for one in names)


def named_type(name: str, schema: dict) -> str:
    if name == "array":
        return f"list of {kind(schema['items'])}" if schema.get("items") else "list"
    if name == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"table of {kind(schema['additionalProperties'])}"
    if name == "object":
        return "table" if schema.get("properties") else "object"
    return name


LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} entries",
    "maxItems": "at most {} entries",
}


def notes(schema: dict, required: bool) -> list[str]:
    """Required, default, limits and examples of a key."""
    found = ["required"] if required else []
    if schema.get("default") is not None:
        found.append(f"default <code>{html.escape(json.dumps(schema['default'], ensure_ascii=False))}</code>")
    found += [text.format(f"{schema[key]:,}".replace(",", " ")) for key, text in LIMITS.items() if isinstance(schema.get(key), (int, float))]
    if "pattern" in schema:
        found.append(f"matches <code>{html.escape(schema['pattern'])}</code>")
    examples = schema.get("examples") or []
    if examples:
        found.append("such as " + ", ".join(f"<code>{html.escape(json.dumps(one, ensure_ascii=False))}</code>" for one in examples[:3]))
    return found


def inner_tables(name: str, value: dict, named: dict) -> list[tuple[str, dict, set[str]]]:
    """Tables below a key with their dotted names, and the definitions that were followed to them."""
    if (target := reference(value)) in named:
        return [(place, table, {target, *more}) for place, table, more in inner_tables(name, named[target], named)]
    if value.get("properties"):
        return [(f"{name}.", value, set())]
    found = []
    for key, place in (("items", f"{name}[]"), ("additionalProperties", f"{name}.NAME")):
        if isinstance(value.get(key), dict):
            found += inner_tables(place, value[key], named)
    for key in ("anyOf", "oneOf", "allOf"):
        for one in value.get(key, []):
            found += inner_tables(name, one, named)
    return found


def keys(schema: dict, prefix: str, mark: str, named: dict, followed: frozenset[str] = frozenset()) -> list[str]:
    """Definition list of an object's keys.

    Tables inside are listed under dotted names. `named` has the definitions that are listed so, rather than by themselves.
    """
    lines: list[str] = []
    needed = set(schema.get("required", []))
    for name, value in schema.get("properties", {}).items():
        value = value if isinstance(value, dict) else {}
        dotted = f"{prefix}{name}"
        own = anchor(f"{mark}-{dotted}")
        text = " ".join(paragraphs(value) or paragraphs(named.get(reference(value), {})))
        shown = kind(value)
        for listed_here in named:
            shown = shown.replace(f'<a href="#{anchor(listed_here)}">{html.escape(listed_here)}</a>', "table")
        lines.append(f'<dt id="{own}"><a href="#{own}"><code>{html.escape(dotted)}</code></a> <span class="type">{shown}</span></dt>')
        lines.append(f"<dd>{prose(text)}" + "".join(f' <span class="note">{note}</span>' for note in notes(value, name in needed)) + "</dd>")
        for place, table, names in inner_tables(dotted, value, named):
            if not names & followed:
                lines += keys(table, place, mark, named, followed | names)
    return lines


def paragraphs(schema: dict) -> list[str]:
    """A schema's description, by paragraph."""
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", schema.get("description", "")) if part.strip()]


def listed(schema: dict, mark: str, named: dict) -> str:
    return "\n".join(['<dl class="options">', *keys(schema, "", mark, named), "</dl>"])


def body(schema: dict, mark: str, named: dict | None = None) -> list[str]:
    """HTML of an object, or of the alternatives that a schema allows. `mark` begins the anchors of its keys."""
    named, alternatives = named or {}, schema.get("oneOf") or schema.get("anyOf") or []
    if schema.get("properties"):
        return [listed(schema, mark, named)]
    if not alternatives:
        return [f"<p>{kind(schema)}" + "".join(f' <span class="note">{note}</span>' for note in notes(schema, False)) + "</p>"]
    items = []
    for at, one in enumerate(alternatives):
        text = " ".join(paragraphs(one))
        table = listed(one, f"{mark}-{at}", named) if one.get("properties") else ""
        items.append(f"<li>{kind(one)}{': ' + prose(text) if text else ''}{table}</li>")
    return ["\n".join(["<p>One of:</p>", "<ul>", *items, "</ul>"])]


def definitions(schemas: dict, level: str = "##") -> list[str]:
    """Named definitions, each under a heading of its own."""
    parts = []
    for name, schema in sorted(schemas.items()):
        parts += [f"{level} {name} {{ #{anchor(name)} }}", *map(prose, paragraphs(schema)), *body(schema, anchor(name))]
    return parts


def is_table(schema: dict) -> bool:
    return "properties" in schema or any(is_table(one) for key in ("oneOf", "anyOf") for one in schema.get(key, []))


def page(file: Path) -> str:
    """The page of a schema."""
    schema = json.loads(file.read_text())
    name = file.stem
    parts = [f"# {title(name)}"]
    parts += [TITLES[name][2]] if name in TITLES else []
    parts += [prose(text) for text in paragraphs(schema)]
    link = f"{'../' * place(name).count('/')}files/docs/schemas/{file.name}"
    parts.append(f"The JSON Schema, for editors and validators: [{file.name}]({link}).")
    named = schema.get("$defs", {})
    # A setting is looked for by its whole name; so tables of settings are listed where they occur.
    tables = {key: value for key, value in named.items() if name in TITLES and is_table(value)}
    others = {key: value for key, value in named.items() if key not in tables}
    return "\n\n".join([*parts, "## Keys", *body(schema, "key", tables), *definitions(others)])


def overview(files: list[Path]) -> str:
    """The page that lists the schemas of documents."""
    rows = []
    for file in files:
        schema = json.loads(file.read_text())
        text = " ".join(paragraphs(schema)) or schema.get("title", "")
        rows.append(f"| [`{file.stem}`]({file.stem}.md) | {prose(text)} |")
    intro = "JSON documents that other programs read or write. Fields may be added in later versions; none is renamed or removed, except in answers to clients of other projects, which follow their protocols."
    return "\n\n".join(["# JSON documents", intro, "\n".join(["| document | contents |", "|---|---|", *rows])])


def pages(folder: Path) -> dict[str, str]:
    """Pages of all schemas in a folder, by path."""
    files = sorted(folder.glob("*.json"))
    made = {place(file.stem): page(file) for file in files}
    made["reference/documents/index.md"] = overview([file for file in files if file.stem not in TITLES])
    return made
