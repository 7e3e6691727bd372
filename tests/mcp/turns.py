"""The three turns of Spring AI Alibaba's figure with the official client: tools join the list with the skills that are read.

    turns.py stdio|http legacy|2026-07-28 PROGRAM   drives the server, in the current folder and the environment's home
    turns.py serve                                  is the server whose tools join
"""

import asyncio
import json
import os
import pathlib
import subprocess
import sys
from typing import Any

TOKEN = "a-token-of-the-tests"
SKILLS = {
    "pdf-extractor": "allowed_tools: [extract_pdf_tool]",
    "data-processor": "allowed-tools: process_data_tool extract_pdf_tool",
}
TOOLS = ["extract_pdf_tool", "process_data_tool"]


def serve() -> None:
    """Speaks the protocol over the standard streams; each tool answers with its name."""
    tools = [{"name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}} for name in TOOLS]
    hello = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "kit", "version": "1"}}
    for line in sys.stdin:
        request = json.loads(line)
        method, params = request.get("method"), request.get("params", {})
        results: dict[str, Any] = {"initialize": hello, "tools/list": {"tools": tools}, "ping": {}}
        if method == "tools/call":
            results[method] = {"content": [{"type": "text", "text": params["name"]}]}
        if "id" in request:
            known = {"result": results[method]} if method in results else {"error": {"code": -32601, "message": "unknown"}}
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **known}), flush=True)


def prepare() -> None:
    for name, line in SKILLS.items():
        folder = pathlib.Path(".agents/skills") / name
        folder.mkdir(parents=True)
        text = f"---\nname: {name}\ndescription: Works as {name}. Use in tests.\n{line}\n---\n\nCall the tools.\n"
        (folder / "SKILL.md").write_text(text)
    home = pathlib.Path(os.environ["SKILLHUB_HOME"])
    home.mkdir(mode=0o700, parents=True)
    command = json.dumps([sys.executable, str(pathlib.Path(__file__).resolve()), "serve"])
    (home / "config.toml").write_text(f"[mcp_servers.kit]\ncommand = {command}\n")


async def turns(client: Any, changed: asyncio.Event) -> None:
    """What is read adds up, and the client is told."""

    async def read(skill: str) -> None:
        changed.clear()
        assert await named(client, skill)
        await asyncio.wait_for(changed.wait(), 20)

    assert await joined(client) == [], "first turn"
    await read("pdf-extractor")
    assert await joined(client) == TOOLS[:1], "second turn"
    await call(client, "extract_pdf_tool")
    await read("data-processor")
    assert await joined(client) == TOOLS, "third turn"
    for tool in TOOLS:
        await call(client, tool)


async def without_session(client: Any) -> None:
    """The list stays; `read_skill` names the tools, and they can be called."""
    assert await named(client, "pdf-extractor") == TOOLS[:1]
    assert await joined(client) == []
    await call(client, "extract_pdf_tool")


async def joined(client: Any) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools if tool.name in TOOLS]


async def named(client: Any, skill: str) -> list[str]:
    result = await client.call_tool("read_skill", {"name": skill})
    assert not result.is_error, result
    return result.structured_content["tools"]


async def call(client: Any, tool: str) -> None:
    result = await client.call_tool(tool, {})
    assert result.structured_content == {"ok": True, "output": tool}, result


async def drive(server: Any, mode: str) -> None:
    import mcp_types as types
    from mcp import Client

    changed = asyncio.Event()

    async def hears(message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            changed.set()

    # `auto` asks the server what it is, and comes to the newest revision.
    mode = "legacy" if mode == "legacy" else "auto"
    async with Client(server, mode=mode, message_handler=hears, cache=None, read_timeout_seconds=60) as client:
        await (turns(client, changed) if mode == "legacy" else without_session(client))


async def over_stdio(program: str, mode: str) -> None:
    from mcp import StdioServerParameters

    await drive(StdioServerParameters(command=program, args=["mcp"], env=dict(os.environ)), mode)


async def over_http(program: str, mode: str) -> None:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    environment = {**os.environ, "SKILLHUB_MCP_TOKEN": TOKEN}
    served = subprocess.Popen([program, "mcp", "--http", "127.0.0.1:0", "--json"], env=environment, stdout=subprocess.PIPE)
    try:
        assert served.stdout is not None
        url = json.loads(served.stdout.readline())["url"]
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as known:
            await drive(streamable_http_client(url, http_client=known), mode)
    finally:
        served.terminate()
        served.wait()


def main() -> None:
    if sys.argv[1] == "serve":
        return serve()
    transport, mode, program = sys.argv[1:]
    prepare()
    asyncio.run((over_http if transport == "http" else over_stdio)(program, mode))
    print(f"done: turns {transport} {mode}")


main()
