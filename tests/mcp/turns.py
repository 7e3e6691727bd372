"""The three turns of Spring AI Alibaba's figure with the official client: tools join the list with the skills that are read.

    turns.py stdio PROGRAM      drives the server; works in the current folder and the environment's home
    turns.py serve              is the server whose tools join
"""

import asyncio
import json
import os
import pathlib
import sys
from typing import Any

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


async def turns(program: str) -> None:
    import mcp_types as types
    from mcp import Client, StdioServerParameters

    changed = asyncio.Event()

    async def hears(message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            changed.set()

    server = StdioServerParameters(command=program, args=["mcp"], env=dict(os.environ))
    async with Client(server, mode="legacy", message_handler=hears, cache=None, read_timeout_seconds=60) as client:

        async def joined() -> list[str]:
            return [tool.name for tool in (await client.list_tools()).tools if tool.name in TOOLS]

        async def read(skill: str) -> None:
            changed.clear()
            result = await client.call_tool("read_skill", {"name": skill})
            assert not result.is_error, result
            await asyncio.wait_for(changed.wait(), 20)

        async def call(tool: str) -> None:
            result = await client.call_tool(tool, {})
            assert result.structured_content == {"ok": True, "output": tool}, result

        assert await joined() == [], "first turn"
        await read("pdf-extractor")
        assert await joined() == TOOLS[:1], "second turn"
        await call("extract_pdf_tool")
        await read("data-processor")
        assert await joined() == TOOLS, "third turn"
        for tool in TOOLS:
            await call(tool)


def main() -> None:
    if sys.argv[1] == "serve":
        return serve()
    prepare()
    asyncio.run(turns(sys.argv[2]))
    print("done: turns")


main()
