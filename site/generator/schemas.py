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


def keys(schema: dict, prefix: str) -> list[str]:
    """Definition list of an object's keys. Tables inside are listed under dotted names."""
    lines: list[str] = []
    needed = set(schema.get("required", []))
    for name, value in schema.get("properties", {}).items():
        value = value if isinstance(value, dict) else {}
        dotted = f"{prefix}{name}"
        mark = anchor(f"key-{dotted}")
        lines.append(f'<dt id="{mark}"><a href="#{mark}"><code>{html.escape(dotted)}</code></a> <span class="type">{kind(value)}</span></dt>')
        text = " ".join(paragraphs(value))
        lines.append(f"<dd>{prose(text)}" + "".join(f' <span class="note">{note}</span>' for note in notes(value, name in needed)) + "</dd>")
        inner = value.get("items") if isinstance(value.get("items"), dict) else value
        if inner.get("properties"):
            lines += keys(inner, f"{dotted}[]." if inner is not value else f"{dotted}.")
    return lines


def paragraphs(schema: dict) -> list[str]:
    """A schema's description, by paragraph."""
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", schema.get("description", "")) if part.strip()]


def body(schema: dict, prefix: str = "") -> list[str]:
    """Markdown of an object, or of the alternatives that a schema allows."""
    parts = []
    alternatives = schema.get("oneOf") or schema.get("anyOf") or []
    if schema.get("properties"):
        parts.append("\n".join(['<dl class="options">', *keys(schema, prefix), "</dl>"]))
    elif not alternatives:
        extra = notes(schema, False)
        parts.append(f"<p>{kind(schema)}" + "".join(f' <span class="note">{note}</span>' for note in extra) + "</p>")
    for one in alternatives:
        text = " ".join(paragraphs(one))
        parts.append(f"<p>One of: {kind(one)}{': ' + prose(text) if text else ''}</p>")
        if one.get("properties"):
            parts.append("\n".join(['<dl class="options">', *keys(one, prefix), "</dl>"]))
    return parts


def definitions(schemas: dict, level: str = "##") -> list[str]:
    """Named definitions, each under a heading of its own."""
    parts = []
    for name, schema in sorted(schemas.items()):
        parts += [f"{level} {name} {{ #{anchor(name)} }}", *map(prose, paragraphs(schema)), *body(schema)]
    return parts


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
    return "\n\n".join([*parts, "## Keys", *body(schema), *definitions(named)])


def overview(files: list[Path]) -> str:
    """The page that lists the schemas of documents."""
    rows = []
    for file in files:
        schema = json.loads(file.read_text())
        text = " ".join(paragraphs(schema)) or schema.get("title", "")
        rows.append(f"| [`{file.stem}`]({file.stem}.md) | {prose(text)} |")
    intro = "JSON documents that other programs read or write. Fields may be added in later versions; none is renamed or removed."
    return "\n\n".join(["# JSON documents", intro, "\n".join(["| document | contents |", "|---|---|", *rows])])


def pages(folder: Path) -> dict[str, str]:
    """Pages of all schemas in a folder, by path."""
    files = sorted(folder.glob("*.json"))
    made = {place(file.stem): page(file) for file in files}
    made["reference/documents/index.md"] = overview([file for file in files if file.stem not in TITLES])
    return made
