"""The hosts: `ClaudeCode`, `Codex` and `OpenCode`, pinned, and `install`, which fetches them from npm.

A host runs in an empty environment with a home of its own. It reaches nothing but the model on loopback.
"""

import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Iterable

from model import Call, Model

TIMEOUT_SECONDS = 120
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Failed(Exception):
    """A command that ended otherwise than expected."""


def run(command: list[str], cwd: pathlib.Path, env: dict[str, str], stdin: str | None = None,
        codes: Iterable[int] = (0,)) -> str:
    """Runs a command in a process group of its own, which is killed at the end, and returns its standard output."""
    process = subprocess.Popen(
        command, cwd=cwd, env=env, text=True, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
    )
    try:
        out, err = process.communicate(stdin, timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        raise Failed(f"{' '.join(command)}\nran for more than {TIMEOUT_SECONDS} s") from None
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
    if process.returncode not in codes:
        raise Failed(f"{' '.join(command)}\nended with {process.returncode}\n{out[-2000:]}\n{err[-2000:]}")
    return out


class Host:
    """A host at one version."""

    id: str
    name: str
    package: str
    version: str
    command: str

    def __init__(self, tools: pathlib.Path) -> None:
        self.program = str(tools / "node_modules" / ".bin" / self.command)
        # Seconds that each session took.
        self.took: list[float] = []

    def start(self, arguments: list[str], cwd: pathlib.Path, env: dict[str, str]) -> str:
        """Runs the host and returns its standard output."""
        begun = time.monotonic()
        try:
            return run([self.program, *arguments], cwd, env)
        finally:
            self.took.append(time.monotonic() - begun)

    def show(self, home: pathlib.Path, cwd: pathlib.Path, skills: list[str]) -> str:
        """The text that a session in `cwd` sends to its model after it was asked to use each of the skills."""
        raise NotImplementedError


class ClaudeCode(Host):
    id, name, command = "claude-code", "Claude Code", "claude"
    package, version = "@anthropic-ai/claude-code", "2.1.331"

    def show(self, home: pathlib.Path, cwd: pathlib.Path, skills: list[str]) -> str:
        return self.session(home, cwd, [Call("Skill", {"skill": skill}) for skill in skills])

    def session(self, home: pathlib.Path, cwd: pathlib.Path, script: list[Call]) -> str:
        """Runs a session whose model makes these calls, and returns the text that was sent."""
        with Model(script) as model:
            env = {
                "PATH": f"{home / 'bin'}:{PATH}", "HOME": str(home),
                "ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "sk-ant-dummy",
                "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1", "DISABLE_AUTOUPDATER": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            }
            allowed = ",".join(sorted({call.tool for call in script}))
            self.start(["-p", "Use the skills.", "--allowedTools", allowed], cwd, env)
            return model.sent()


class Codex(Host):
    id, name, command = "codex", "Codex", "codex"
    package, version = "@openai/codex", "0.169.0"

    def show(self, home: pathlib.Path, cwd: pathlib.Path, skills: list[str]) -> str:
        with Model([lambda text: self.reading(text, skills)]) as model:
            self.configure(home / ".codex", model.url)
            # The sandbox needs rights that a container lacks; the scripted model reads files and does nothing else.
            flags = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
            env = {"PATH": PATH, "HOME": str(home), "STUB_KEY": "dummy"}
            self.start(["exec", *flags, "Use the skills."], cwd, env)
            return model.sent()

    @staticmethod
    def configure(folder: pathlib.Path, url: str) -> None:
        folder.mkdir(exist_ok=True)
        (folder / "config.toml").write_text(
            'model = "stub"\nmodel_provider = "stub"\ncheck_for_update_on_startup = false\n'
            "[analytics]\nenabled = false\n"
            f'[model_providers.stub]\nname = "stub"\nbase_url = "{url}/v1"\nwire_api = "responses"\n'
            'env_key = "STUB_KEY"\n'
        )

    @staticmethod
    def reading(text: str, skills: list[str]) -> Call:
        """The call that reads each skill's file, by the path that the request's catalogue names."""
        roots = dict(re.findall(r"^- `(r\d+)` = `(.+)`$", text, re.M))
        listed = re.findall(r"^- ([\w-]+): .* \(file: (.+)\)$", text, re.M)
        # Codex shortens paths by a table of roots.
        paths = [re.sub(r"^r\d+(?=/)", lambda root: roots.get(root[0], root[0]), path)
                 for name, path in listed if name in skills] or ["/dev/null"]
        return Call("exec_command", {"cmd": shlex.join(["cat", "--", *paths])})


class OpenCode(Host):
    id, name, command = "opencode", "OpenCode", "opencode"
    package, version = "opencode-ai", "1.18.33"

    def show(self, home: pathlib.Path, cwd: pathlib.Path, skills: list[str]) -> str:
        env = {
            "PATH": PATH, "HOME": str(home), "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        }
        found = json.loads(self.start(["debug", "skill"], cwd, env))
        return "\n".join(f"{skill['description']}\n{skill['content']}" for skill in found if skill["name"] in skills)


HOSTS: dict[str, type[Host]] = {host.id: host for host in (ClaudeCode, OpenCode, Codex)}


def install(hosts: list[type[Host]], tools: pathlib.Path) -> None:
    """Installs the pinned versions that are missing below `tools`."""
    def installed(host: type[Host]) -> bool:
        manifest = tools / "node_modules" / host.package / "package.json"
        return manifest.is_file() and json.loads(manifest.read_text())["version"] == host.version

    missing = [f"{host.package}@{host.version}" for host in hosts if not installed(host)]
    if missing:
        tools.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--prefix", str(tools), "--no-audit", "--no-fund", "--loglevel=error",
                   "--foreground-scripts"]
        subprocess.run([*command, *missing], check=True, stdin=subprocess.DEVNULL)
    for host in hosts:
        version = run([host(tools).program, "--version"], tools, {"PATH": PATH, "HOME": str(tools)})
        if host.version not in version:
            raise Failed(f"{host.package}@{host.version} says that it is {version}")
