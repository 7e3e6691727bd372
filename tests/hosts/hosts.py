#!/usr/bin/env python3
"""Hosts of agents, the real programs, send their model the content that skillhub serves.

    python3 tests/hosts/hosts.py SKILLHUB [--host claude-code,opencode,codex] [--tools DIR] [--entry ENTRY]…
    python3 tests/hosts/hosts.py SKILLHUB --sessions [--host claude-code,opencode,codex,gemini-cli] [--tools DIR]
    python3 tests/hosts/hosts.py SKILLHUB --trials [--host claude-code,opencode,gemini-cli] [--tools DIR]
    python3 tests/hosts/hosts.py SKILLHUB --skills [--host claude-code,opencode,codex,gemini-cli] [--tools DIR]

For each host, each way to come by skills (rows) and each event (columns): after the event, the host's request holds
what `skillhub read` and `skillhub list` serve of the skill, and nothing of its other versions. After `disable` it holds
nothing of the skill, or `list`, `status` and `doctor` name the host that still reads it. Then the whole loop: a
scripted model inside Claude Code changes a skill over MCP, and the next session sends the change.

With `--sessions`, instead: for each host ten sessions, whose hooks record outcomes; see sessions.py.
With `--trials`, instead: sessions of each host while a change is on trial; see trials.py.
With `--skills`, instead: the evals of the first-party skills, with and without the skill; see skills.py.

Installs the pinned hosts from npm below DIR (target/ci-tools/hosts) where they are missing; needs Node. Afterwards
it moves to a network namespace with nothing but loopback, where that is permitted. Exits with 1 when a cell fails.
"""

import argparse
import concurrent.futures
import fcntl
import os
import pathlib
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time

import entries
import programs
import sessions
import skills
import trials
from entries import EVENTS, OLD_BRANCH, Event, World
from model import Call
from programs import HOSTS, SHOWING, STARTING, ClaudeCode, Failed, Host

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ALONE = "SKILLHUB_HOSTS_ALONE"
LEGEND = """\
ok    the request holds the head             old    it holds another version
none  it holds nothing of the skill          mixed  it holds several versions
seen  disabled, sent, and not named          read   skillhub serves another version
part  a description or body is missing       fail   a command failed"""


def judge(world: World, host: Host, event: Event, sent: str) -> str:
    """Compares what a host sent with what skillhub serves; returns a word of the legend."""
    name, version = event.skill, event.version
    found = {int(mark) for mark in re.findall(rf"mark-{name}-v(\d+)", sent)}
    if version == 0:
        return "ok" if not found or world.names_reader(name, host.id, host.name) else "seen"
    read, description = world.ask("read", name)["content"], world.listed(name)["description"]
    if any(f"mark-{name}-v{version}" not in text for text in (read, description)):
        return "read"
    if found != {version}:
        return "none" if not found else "mixed" if version in found else "old"
    return "ok" if read.strip() in sent and description in sent else "part"


def judge_session(world: World, host: Host, events: list[Event], notes: list[str]) -> list[str]:
    """Runs one session of a host and judges what it sent of each event's skill."""
    words = []
    try:
        sent = host.show(world.home, world.cwd, [event.skill for event in events])
        for event in events:
            words.append(judge(world, host, event, sent))
    except Failed as problem:
        notes.append(str(problem))
    return words + ["fail"] * (len(events) - len(words))


def row(entry: str, program: str, place: pathlib.Path, hosts: list[Host]) -> tuple[dict[str, list[str]], list[str]]:
    """All cells of one entry point: for each host one word per event, and the problems."""
    notes: list[str] = []
    try:
        world = entries.make(program, place, entry)
        OLD_BRANCH.act(world, OLD_BRANCH.skill)
    except Failed as problem:
        return {host.id: ["fail"] * len(EVENTS) for host in hosts}, [str(problem)]
    on_old = {host.id: judge_session(world, host, [OLD_BRANCH], notes)[0] for host in hosts}
    failed = set()
    # The branch goes back first, while the other skills are as they were committed.
    for event in reversed(EVENTS):
        try:
            event.act(world, event.skill)
        except Failed as problem:
            notes.append(f"{event.column}: {problem}")
            failed.add(event.column)
    cells = {}
    for host in hosts:
        words = judge_session(world, host, EVENTS, notes)
        words = ["fail" if event.column in failed else word for event, word in zip(EVENTS, words)]
        cells[host.id] = [*words[:-1], on_old[host.id] if words[-1] == "ok" else words[-1]]
    return cells, notes


def whole_loop(program: str, place: pathlib.Path, tools: pathlib.Path) -> str:
    """A model changes one skill over MCP and creates another; returns the words for what the next session sends."""
    claude, changed, new = ClaudeCode(tools), EVENTS[0], Event("create", "maps", lambda *_: None)
    world = entries.make(program, place, "manage create")
    world.skillhub("mcp", "install", "--agent", claude.id)
    # What a person answers when Claude Code asks whether it may start the project's servers.
    (world.home / ".claude").mkdir(exist_ok=True)
    (world.home / ".claude/settings.json").write_text('{"enableAllProjectMcpServers": true}\n')
    requests = [
        {"action": "patch", "name": changed.skill, "find": f"mark-{changed.skill}-v1",
         "replace": f"mark-{changed.skill}-v2", "replace_all": True, "reason": "the user asked"},
        {"action": "create", "name": new.skill, "content": entries.skill_md(new.skill, 2), "reason": "the user asked"},
    ]
    sent = claude.session(world.home, world.cwd, [Call("mcp__skillhub__skill_manage", one) for one in requests])
    notes: list[str] = []
    words = judge_session(world, claude, [changed, new], notes)
    if notes:
        raise Failed("\n".join([*notes, sent[-1500:]]))
    return ", ".join(f"{event.column} {word}" for event, word in zip([changed, new], words))


def print_table(hosts: list[Host], rows: dict[str, dict[str, list[str]]]) -> tuple[int, int]:
    passed = total = 0
    for host in hosts:
        mean = sum(host.took) / max(1, len(host.took))
        print(f"\n{host.name} {host.version}, {len(host.took)} sessions of {mean:.1f} s")
        widths = [max(4, len(event.column)) + 2 for event in EVENTS]
        print(" " * 14 + "".join(f"{event.column:>{width}}" for event, width in zip(EVENTS, widths)))
        for entry, cells in rows.items():
            words = cells[host.id]
            print(f"{entry:<14}" + "".join(f"{word:>{width}}" for word, width in zip(words, widths)))
            passed, total = passed + words.count("ok"), total + len(words)
    return passed, total


def run_sessions(hosts: list[Host], program: str, place: pathlib.Path) -> int:
    """Runs the sessions of each host, two hosts at a time, and prints their verdicts."""
    started = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = list(pool.map(lambda host: sessions.run(host, program, place / host.id), hosts))
        without = list(pool.map(lambda host: sessions.untouched(host, program, place / f"{host.id}-off"), hosts))
    failed = 0
    for host, words, off in zip(hosts, verdicts, without):
        failed += sum(word != "ok" for word in [*words, off])
        mean = sum(host.took) / max(1, len(host.took))
        print(f"{host.name} {host.version}: {words.count('ok')} of {len(words)} sessions left their outcome, "
              f"{mean:.1f} s each; with use_log = false: {off}")
        for session, word in enumerate(words):
            if word != "ok":
                print(f"  session {session}: {word}")
    print(f"in {time.monotonic() - started:.0f} s")
    return 1 if failed else 0


def run_trials(hosts: list[Host], program: str, place: pathlib.Path) -> int:
    """Runs sessions of each host during a trial, two hosts at a time, and prints their verdicts."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda host: trials.run(host, program, place / host.id), hosts))
    for host, (counts, words) in zip(hosts, results):
        print(f"{host.name} {host.version}: {words.count('ok')} of {len(words)} sessions counted for what they sent; "
              f"the former revision was sent {counts[1]} times, the one on trial {counts[2]} times")
        for number, word in enumerate(words):
            if word != "ok":
                print(f"  session {number}: {word}")
    return 0 if all(word == "ok" for _, words in results for word in words) else 1


def leave_the_network() -> None:
    """Runs this script again where only loopback exists, if the system permits it."""
    apart = ["unshare", "--net", *(["--map-root-user"] if os.getuid() else [])]
    again = [*apart, sys.executable, *sys.argv]
    try:
        trial = subprocess.run(again, env={**os.environ, ALONE: "trial"}, capture_output=True, text=True)
        reason = trial.stderr
    except FileNotFoundError as problem:
        reason = str(problem)
    if not reason:
        os.execvpe(again[0], again, {**os.environ, ALONE: "yes"})
    print(f"the network stays reachable: {reason.strip().splitlines()[-1]}", flush=True)


def start_loopback() -> None:
    with socket.socket() as any_socket:
        request = struct.pack("16sh14s", b"lo", 0x1 | 0x40, b"")  # IFF_UP | IFF_RUNNING
        fcntl.ioctl(any_socket, 0x8914, request)  # SIOCSIFFLAGS


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("skillhub", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--host")
    parser.add_argument("--sessions", action="store_true", help="run sessions whose hooks record outcomes")
    parser.add_argument("--trials", action="store_true", help="run sessions while a change is on trial")
    parser.add_argument("--skills", action="store_true", help="run the evals of the first-party skills")
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "target" / "ci-tools" / "hosts")
    parser.add_argument("--entry", action="append", choices=list(entries.ENTRIES))
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    known = STARTING if asked.trials else HOSTS if asked.sessions or asked.skills else SHOWING
    kinds = [known[name] for name in (asked.host or ",".join(known)).split(",")]
    tools = asked.tools.resolve()
    started = time.monotonic()
    if os.environ.get(ALONE):
        start_loopback()
        if os.environ[ALONE] == "trial":
            return 0
    else:
        programs.install(kinds, tools)
        leave_the_network()
    hosts = [kind(tools) for kind in kinds]
    with tempfile.TemporaryDirectory(prefix="skillhub-hosts-") as temporary:
        place = pathlib.Path(temporary)
        if asked.sessions:
            return run_sessions(hosts, asked.skillhub, place)
        if asked.trials:
            return run_trials(hosts, asked.skillhub, place)
        if asked.skills:
            failed = sum(skills.run(host, asked.skillhub, place / host.id, tools) for host in hosts)
            print(f"in {time.monotonic() - started:.0f} s")
            return 1 if failed else 0
        chosen = asked.entry or list(entries.ENTRIES)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            made = pool.map(lambda at: row(at[1], asked.skillhub, place / str(at[0]), hosts), enumerate(chosen))
            results = dict(zip(chosen, made))
        passed, total = print_table(hosts, {entry: cells for entry, (cells, _) in results.items()})
        print(f"\n{LEGEND}\n\n{passed} of {total} cells hold the head")
        notes = [f"{entry}: {note}" for entry, (_, notes) in results.items() for note in dict.fromkeys(notes)]
        if ClaudeCode in kinds and not asked.entry:
            try:
                words = whole_loop(asked.skillhub, place / "loop", tools)
            except Failed as problem:
                words = "fail"
                notes.append(f"the whole loop: {problem}")
            print(f"the model of Claude Code changes skills over MCP, the next session sends: {words}")
            passed, total = passed + (words == "patch ok, create ok"), total + 1
    for note in notes:
        print(f"\n{note}", file=sys.stderr)
    print(f"in {time.monotonic() - started:.0f} s")
    print(f"{passed} passed, {total - passed} failed")
    return 0 if passed == total else 1


if __name__ == "__main__":
    sys.exit(main())
