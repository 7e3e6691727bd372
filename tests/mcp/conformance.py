#!/usr/bin/env python3
"""The official conformance suite of MCP asks the server over HTTP: lists, lifecycle, headers, and the skills extension.

    python3 tests/mcp/conformance.py [SKILLHUB]

Runs those scenarios of `@modelcontextprotocol/conformance` that need nothing of a server but skills: most of the others
call tools of the suite's own example server. `dns-rebinding-protection` is for servers without tokens. The suite sends no token, so a proxy on loopback adds it. Installs the
suite, and the Node that it needs, into target/mcp-conformance where they are missing.
"""

import http.client
import http.server
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PLACE = ROOT / "target" / "mcp-conformance"
# The first version with scenarios for the skills extension is a pre-release.
PACKAGES = {"node": "node@22.23.3", "@modelcontextprotocol/conformance": "@modelcontextprotocol/conformance@0.2.0-alpha.12"}
SCENARIOS = [
    "sep-2640-skills-directory", "sep-2640-skills-enumeration", "sep-2640-skills-manifest",
    "server-initialize", "server-session-lifecycle", "ping", "tools-list", "resources-list",
    "sep-2164-resource-not-found", "caching", "http-header-validation",
]
SKILL = "---\nname: {0}\ndescription: Keeps {0}. Use in tests.\n---\n\n# {0}\n\nRead [more](references/more.md).\n"


def install() -> None:
    missing = [package for name, package in PACKAGES.items() if not (PLACE / "node_modules" / name).is_dir()]
    if missing:
        PLACE.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--foreground-scripts", *missing]
        subprocess.run(command, cwd=PLACE, check=True)


def proxy(port: int, token: str) -> http.server.ThreadingHTTPServer:
    """A server on loopback that passes each request on with the token."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            upstream = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() != "connection":
                    upstream.putheader(name, value)
            upstream.putheader("Authorization", f"Bearer {token}")
            upstream.endheaders(body)
            answer = upstream.getresponse()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.send_header("Connection", "close")
            self.end_headers()
            try:
                while part := answer.read1(1 << 16):
                    self.wfile.write(part)
                    self.wfile.flush()
            except (OSError, http.client.HTTPException):
                pass
            self.close_connection = True

        do_GET = do_POST = do_DELETE = pass_on

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def ask(url: str, scenario: str, home: str) -> bool:
    script = PLACE / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    command = [str(PLACE / "node_modules/.bin/node"), str(script), "server", "--url", url, "--scenario", scenario]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True, env={"PATH": os.environ["PATH"], "HOME": home})
    found = re.search(r"Passed: .*", done.stdout)
    print(f"{scenario:28} {found[0] if found else 'FAILED'}")
    if done.returncode:
        print(done.stdout, done.stderr, sep="\n")
    return done.returncode == 0


def main() -> int:
    program = str(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target" / "debug" / "skillhub").resolve())
    install()
    with tempfile.TemporaryDirectory(prefix="skillhub-conformance-") as home:
        project = pathlib.Path(home) / "project"
        (project / ".git").mkdir(parents=True)
        for name in ("maps", "notes"):
            folder = project / ".agents/skills" / name
            (folder / "references").mkdir(parents=True)
            (folder / "SKILL.md").write_text(SKILL.format(name))
            (folder / "references/more.md").write_text("More.\n")
        environment = {"PATH": os.environ["PATH"], "HOME": home, "SKILLHUB_HOME": f"{home}/.skillhub"}
        command = [program, "mcp", "--http", "127.0.0.1:0"]
        server = subprocess.Popen(command, cwd=project, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            port = int(re.search(r":(\d+)/mcp", server.stdout.readline())[1])
            token = server.stdout.readline().split()[-1]
            url = f"http://127.0.0.1:{proxy(port, token).server_port}/mcp"
            passed = [ask(url, scenario, home) for scenario in SCENARIOS]
        finally:
            server.terminate()
            server.wait()
    print(f"{sum(passed)} of {len(passed)} scenarios passed")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
