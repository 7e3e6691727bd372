"""The hosts: `ClaudeCode`, `Codex`, `GeminiCli` and `OpenCode`, pinned, and `install`, which fetches them from npm.

A host runs in an empty environment with a home of its own. It reaches nothing but the model on loopback.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable

from model import Call, Model, Step

TIMEOUT_SECONDS = 120
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Failed(Exception):
    """A command that ended otherwise than expected."""


def run(command: list[str], cwd: pathlib.Path, env: dict[str, str], stdin: str | None = None,
        codes: Iterable[int] = (0,), seconds: float = TIMEOUT_SECONDS) -> str:
    """Runs a command in a process group of its own, which is killed at the end, and returns its standard output."""
    process = subprocess.Popen(
        command, cwd=cwd, env=env, text=True, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
    )
    try:
        out, err = process.communicate(stdin, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Failed(f"{' '.join(command)}\nran for more than {seconds} s") from None
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
        # Standard output of the last session.
        self.said = ""

    def start(self, arguments: list[str], cwd: pathlib.Path, env: dict[str, str]) -> str:
        """Runs the host and returns its standard output."""
        begun = time.monotonic()
        try:
            self.said = run([self.program, *arguments], cwd, env)
            return self.said
        finally:
            self.took.append(time.monotonic() - begun)

    def show(self, home: pathlib.Path, cwd: pathlib.Path, skills: list[str]) -> str:
        """The text that a session in `cwd` sends to its model after it was asked to use each of the skills."""
        raise NotImplementedError

    # The tool that runs a command, the name of its argument for the command, and its other arguments.
    shell: str
    shell_argument = "command"
    shell_rest: dict[str, str] = {}

    def prepare(self, home: pathlib.Path) -> None:
        """Writes what the host needs in a new home, before skillhub changes its configuration."""

    def use(self, home: pathlib.Path, cwd: pathlib.Path, skill: str, script: list[Step]) -> str:
        """Runs a session whose model reads a skill and then follows the script; returns the text that was sent."""
        raise NotImplementedError


class ClaudeCode(Host):
    id, name, command = "claude-code", "Claude Code", "claude"
    package, version = "@anthropic-ai/claude-code", "2.1.331"
    shell, shell_rest = "Bash", {"description": "Runs it"}

    def show(self, home: pathlib.Path, cwd: pathlib.Path, skills: list[str]) -> str:
        return self.session(home, cwd, [Call("Skill", {"skill": skill}) for skill in skills])

    def use(self, home: pathlib.Path, cwd: pathlib.Path, skill: str, script: list[Step]) -> str:
        return self.session(home, cwd, [Call("Skill", {"skill": skill}), *script], ["Skill", "Bash"])

    def session(self, home: pathlib.Path, cwd: pathlib.Path, script: list, tools: list[str] | None = None) -> str:
        """Runs a session whose model makes these calls, and returns the text that was sent."""
        with Model(script) as model:
            env = {
                "PATH": f"{home / 'bin'}:{PATH}", "HOME": str(home),
                "ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "sk-ant-dummy",
                "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1", "DISABLE_AUTOUPDATER": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            }
            allowed = ",".join(tools or sorted({call.tool for call in script}))
            self.start(["-p", "Use the skills.", "--allowedTools", allowed], cwd, env)
            return model.sent()


class Codex(Host):
    id, name, command = "codex", "Codex", "codex"
    package, version = "@openai/codex", "0.169.0"
    shell, shell_argument = "exec_command", "cmd"

    def show(self, home: pathlib.Path, cwd: pathlib.Path, skills: list[str]) -> str:
        return self.session(home, cwd, [lambda seen: self.reading(seen.text, skills)])

    def use(self, home: pathlib.Path, cwd: pathlib.Path, skill: str, script: list[Step]) -> str:
        return self.session(home, cwd, [lambda seen: self.reading(seen.text, [skill]), *script])

    def session(self, home: pathlib.Path, cwd: pathlib.Path, script: list[Step]) -> str:
        """Runs a session whose model makes these calls, and returns the text that was sent."""
        with Model(script) as model:
            self.prepare(home)
            # The sandbox needs rights that a container lacks; the scripted model runs nothing else.
            flags = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
                     "--config", f'model_providers.stub.base_url="{model.url}/v1"']
            env = {"PATH": f"{home / 'bin'}:{PATH}", "HOME": str(home), "STUB_KEY": "dummy"}
            self.start(["exec", *flags, "Use the skills."], cwd, env)
            return model.sent()

    def prepare(self, home: pathlib.Path) -> None:
        (home / ".codex").mkdir(exist_ok=True)
        config = home / ".codex/config.toml"
        if config.is_file() and "stub" in config.read_text():
            return
        config.write_text(
            'model = "stub"\nmodel_provider = "stub"\ncheck_for_update_on_startup = false\n'
            "[analytics]\nenabled = false\n"
            '[model_providers.stub]\nname = "stub"\nbase_url = "http://127.0.0.1:9"\nwire_api = "responses"\n'
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
    shell, shell_rest = "bash", {"description": "Runs it"}

    @staticmethod
    def env(home: pathlib.Path) -> dict[str, str]:
        return {
            "PATH": f"{home / 'bin'}:{PATH}", "HOME": str(home),
            "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        }

    def prepare(self, home: pathlib.Path) -> None:
        # It looks for its plugins' interface on npm at each start, and waits for minutes where there is no network.
        (home / ".npmrc").write_text("fetch-retries=0\nregistry=http://127.0.0.1:9/\n")
        if not shutil.which("rg"):
            # It lists a skill's files with ripgrep, which it would download.
            (home / "bin/rg").write_text("#!/bin/sh\nexec find . -type f\n")
            (home / "bin/rg").chmod(0o755)

    def use(self, home: pathlib.Path, cwd: pathlib.Path, skill: str, script: list[Step]) -> str:
        with Model([Call("skill", {"name": skill}), *script]) as model:
            provider = {"options": {"baseURL": f"{model.url}/v1", "apiKey": "dummy"}, "models": {"stub": {}}}
            config = {"model": "anthropic/stub", "small_model": "anthropic/stub", "share": "disabled",
                      "provider": {"anthropic": provider}}
            env = {**self.env(home), "OPENCODE_CONFIG_CONTENT": json.dumps(config)}
            self.start(["run", "Use the skills."], cwd, env)
            return model.sent()

    def show(self, home: pathlib.Path, cwd: pathlib.Path, skills: list[str]) -> str:
        env = self.env(home)
        found = json.loads(self.start(["debug", "skill"], cwd, env))
        return "\n".join(f"{skill['description']}\n{skill['content']}" for skill in found if skill["name"] in skills)


class GeminiCli(Host):
    id, name, command = "gemini-cli", "Gemini CLI", "gemini"
    package, version = "@google/gemini-cli", "0.61.0"
    shell, shell_rest = "run_shell_command", {"description": "Runs it"}

    def prepare(self, home: pathlib.Path) -> None:
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False},
        }
        (home / ".gemini").mkdir(exist_ok=True)
        (home / ".gemini/settings.json").write_text(json.dumps(settings, indent=2) + "\n")

    def use(self, home: pathlib.Path, cwd: pathlib.Path, skill: str, script: list[Step]) -> str:
        with Model([Call("activate_skill", {"name": skill}), *script]) as model:
            env = {"PATH": f"{home / 'bin'}:{PATH}", "HOME": str(home), "GEMINI_API_KEY": "dummy",
                   "GOOGLE_GEMINI_BASE_URL": model.url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
            # With a named model, it asks none which model to use.
            self.start(["--yolo", "--model", "gemini-2.5-pro", "--prompt", "Use the skills."], cwd, env)
            return model.sent()


# Those whose requests show every skill (`show`), those whose hooks know of the start of a session, and those whose
# hooks record their sessions (`use`).
SHOWING: dict[str, type[Host]] = {host.id: host for host in (ClaudeCode, OpenCode, Codex)}
STARTING: dict[str, type[Host]] = {host.id: host for host in (ClaudeCode, OpenCode, GeminiCli)}
HOSTS: dict[str, type[Host]] = {**SHOWING, GeminiCli.id: GeminiCli}


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
