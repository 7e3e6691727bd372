"""`run`: sessions of a host while a change of the skill is on trial in half of the runs.

The hook at the start of a session leads the host's link to the revision that the session gets. Each session has to
leave its outcome for the revision that it sent, and both revisions have to be sent. After the trial, a session sends
the revision that stayed.
"""

import os
import pathlib
import pty
import re
import subprocess

import entries
import sessions
from entries import World
from programs import Failed, Host
from sessions import SKILL

# The first ten may all get the same revision once in 512 times; so many once in a million.
SESSIONS, MOST_SESSIONS = 10, 21


def reviewer_token(world: World) -> str:
    """A token of a person, which is made at a terminal."""
    ours, theirs = pty.openpty()
    command = [world.program, "reviewer", "new", "--name", "ann"]
    made = subprocess.run(command, cwd=world.cwd, env=world.env(), stdin=theirs, stdout=theirs, stderr=subprocess.PIPE)
    if made.returncode != 0:
        raise Failed(f"{' '.join(command)} ended with {made.returncode}: {made.stderr.decode()}")
    token = os.read(ours, 4096).decode().strip()
    os.close(theirs)
    os.close(ours)
    return token


def linked(host: Host, program: str, place: pathlib.Path) -> World:
    """A home whose library no host reads by itself: the host has the skill by a link in its own folder, and the hook."""
    world = World(program, place)
    host.prepare(world.home)
    world.scope = ["--library", str(world.home / "library")]
    world.skillhub("manage", "create", SKILL, "--content", "-", stdin=entries.skill_md(SKILL, 1))
    world.skillhub("enable", SKILL, "--agent", host.id)
    world.skillhub("mcp", "install", "--agent", host.id)
    return world


def begin(world: World) -> dict[str, str]:
    """Puts version 2 on trial in half of the runs; returns the environment of the person who did it."""
    person = {**world.env(), "SKILLHUB_REVIEWER_TOKEN": reviewer_token(world)}
    config = world.home / ".skillhub/config.toml"
    config.write_text('policy = "strict"\n' + config.read_text())
    edit = ["--find", f"mark-{SKILL}-v1", "--replace", f"mark-{SKILL}-v2", "--replace-all", "--reason", "better"]
    held = world.ask("manage", "patch", SKILL, *edit)
    decide(world, person, "review", "accept", held["proposal"], "--canary", "0.5")
    return person


def decide(world: World, person: dict[str, str], *args: str) -> None:
    subprocess.run([world.program, *world.scope, *args], cwd=world.cwd, env=person, check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL)


def session(host: Host, world: World) -> tuple[int | None, str]:
    """Runs one session; returns the version that it sent and a verdict."""
    known = len(sessions.outcomes(world))
    sent = host.use(world.home, world.cwd, SKILL, [])
    versions = {int(mark) for mark in re.findall(rf"Read mark-{SKILL}-v(\d+) first", sent)}
    if len(versions) != 1:
        return None, f"sent the versions {sorted(versions)}"
    return versions.pop(), sessions.judge(world, sent, sessions.recorded(world, known, 1), False)


def run(host: Host, program: str, place: pathlib.Path) -> tuple[dict[int, int], list[str]]:
    """Returns how many sessions sent each version, and a verdict for each session."""
    world, counts, words = linked(host, program, place), {1: 0, 2: 0}, []
    person = begin(world)
    while len(words) < SESSIONS or not all(counts.values()):
        if len(words) == MOST_SESSIONS:
            return counts, [*words, "every session got the same revision"]
        version, word = session(host, world)
        words.append(word)
        if version in counts:
            counts[version] += 1
    decide(world, person, "evolve", "force", SKILL, "rollback")
    version, word = session(host, world)
    return counts, [*words, word if version == 1 else f"sent version {version} after the trial"]
