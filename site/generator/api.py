"""The page of the server's HTTP API, from the description that the server gives of itself."""

import html
import json
import subprocess
import tempfile
import urllib.request
from collections import Counter

from commands import prose
from program import Program
from schemas import definitions, kind

PAGE = "server/api.md"


def description(program: Program) -> dict:
    """The OpenAPI document of a server that is started for it on loopback."""
    with tempfile.TemporaryDirectory(prefix="skillhub-site-") as home:
        command = ["skillhub", "serve", "--data", f"{home}/data", "--addr", "127.0.0.1:0", "--json"]
        environment = program.environment(home)
        server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            url = json.loads(server.stdout.readline())["url"]
            with urllib.request.urlopen(f"{url}/v1/openapi.json", timeout=30) as answer:
                return json.load(answer)
        finally:
            server.terminate()
            server.wait(timeout=30)


def contents(part: dict) -> str:
    """HTML of the bodies that a request or an answer can have."""
    found = []
    for media, value in part.get("content", {}).items():
        schema = value.get("schema", {})
        shown = kind(schema) if media == "application/json" or schema.get("$ref") else ""
        found.append(f"<code>{html.escape(media)}</code>" + (f": {shown}" if shown and shown != "any value" else ""))
    return ", ".join(found)


def parameters(operation: dict) -> str:
    lines = ['<dl class="options">']
    for one in operation["parameters"]:
        schema = one.get("schema", {})
        facts = [one["in"], "required" if one.get("required") else "optional"]
        lines.append(f"<dt><code>{html.escape(one['name'])}</code> <span class=\"type\">{kind(schema)}</span></dt>")
        text = one.get("description") or schema.get("description") or ""
        lines.append(f"<dd>{prose(text)}" + "".join(f' <span class="note">{fact}</span>' for fact in facts) + "</dd>")
    return "\n".join([*lines, "</dl>"])


def answers(responses: dict, common: dict[str, str]) -> str:
    """A table of the answers that are not common to all operations."""
    rows = []
    for status, answer in responses.items():
        text = answer.get("description", "")
        if common.get(status) == text:
            continue
        bodies = contents(answer)
        text = prose(text) or ("Done" if status.startswith("2") else "")
        rows.append(f"| {status} | {text} | {bodies if status.startswith(('2', '3')) else ''} |")
    return "\n".join(["| status | meaning | body |", "|---|---|---|", *rows])


def operation_section(method: str, path: str, operation: dict, common: dict[str, str]) -> str:
    anchor = operation["operationId"].replace("_", "-")
    title = html.escape(f"{method.upper()} {path}")
    parts = [f"### `{title}` {{ #operation-{anchor} }}", prose(operation.get("summary", "") or operation.get("description", ""))]
    if operation.get("summary") and operation.get("description"):
        parts.append(prose(operation["description"]))
    schemes = {name for one in operation.get("security", []) for name in one}
    if schemes:
        optional = " It may be omitted where the content is public." if {} in operation["security"] else ""
        parts.append(f"Takes a token in the header `Authorization: Bearer TOKEN`.{optional}")
    if operation.get("parameters"):
        parts += ["**Parameters**", parameters(operation)]
    if operation.get("requestBody"):
        parts.append(f"<p><strong>Request body:</strong> {contents(operation['requestBody'])}</p>")
    return "\n\n".join([*parts, "**Answers**", answers(operation["responses"], common)])


def common_answers(operations: list[dict]) -> dict[str, str]:
    """Statuses that every operation has with the same meaning."""
    each = [{status: answer.get("description", "") for status, answer in one["responses"].items()} for one in operations]
    first = each[0]
    return {status: text for status, text in first.items() if status[0] in "45" and all(one.get(status) == text for one in each)}


def page(program: Program) -> str:
    """All operations by tag, then the documents that they exchange."""
    described = description(program)
    listed = [(method, path, one) for path, methods in described["paths"].items() for method, one in methods.items() if "responses" in one]
    common = common_answers([one for _, _, one in listed])
    counts = Counter(tag for _, _, one in listed for tag in one.get("tags", ["other"]))
    tags = [tag for tag, _ in counts.most_common()]
    parts = [
        "# HTTP API",
        f"`skillhub serve` answers these requests. A running server describes itself at `/v1/openapi.json` (OpenAPI {described['openapi']}).",
        prose(described["info"]["description"]),
        "Every operation can also answer:",
        "\n".join(["| status | meaning |", "|---|---|", *(f"| {status} | {text} |" for status, text in common.items())]),
    ]
    for tag in tags:
        chosen = [one for one in listed if tag in one[2].get("tags", ["other"])]
        rows = [f"| [`{method.upper()} {path}`](#operation-{one['operationId'].replace('_', '-')}) | {prose(one.get('summary', ''))} |" for method, path, one in chosen]
        parts += [f"## {tag.capitalize()} {{ #tag-{tag} }}", "\n".join(["| request | purpose |", "|---|---|", *rows])]
        parts += [operation_section(method, path, one, common) for method, path, one in chosen]
    return "\n\n".join([*parts, "## Documents", *definitions(described["components"]["schemas"], "###")])
