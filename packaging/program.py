"""Program files of several platforms: the platform that a file runs on, and what all packages say about it."""

import re
import struct
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LICENCES = ("LICENSE", "LICENSE-APACHE", "LICENSE-MIT")
LICENCE_EXPRESSION = "MIT OR Apache-2.0"
SUMMARY = "A marketplace and self-evolution manager for Agent Skills"
KEYWORDS = ("agent", "skills", "registry", "marketplace", "mcp")

_ELF_MACHINES = {62: "x64", 183: "arm64"}
_MACH_O_MACHINES = {0x01000007: "x64", 0x0100000C: "arm64"}
_PE_MACHINES = {0x8664: "x64", 0xAA64: "arm64"}


@dataclass(frozen=True)
class Platform:
    """System and machine in Node's words. `floor` is the oldest glibc or macOS, as (major, minor); None without one."""

    system: str
    machine: str
    libc: str = ""
    floor: tuple[int, int] | None = None

    @property
    def name(self):
        return "-".join(part for part in (self.system, self.machine, self.libc) if part)

    @property
    def program(self):
        return "skillhub.exe" if self.system == "win32" else "skillhub"


def names():
    """Returns the names of `packaging/names`."""
    lines = (ROOT / "packaging/names").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def version_parts(version):
    """Splits a version that npm and PyPI both have: 1.2.0-rc.1 into 1.2.0, rc and 1. Raises SystemExit for others."""
    match = re.fullmatch(r"(\d+\.\d+\.\d+)(?:-(alpha|beta|rc)\.?(\d+))?", version)
    if not match:
        raise SystemExit(f"error: {version} is not a version such as 1.2.0 or 1.2.0-rc.1")
    return match.groups()


def platform_of(path):
    """Reads the platform from a program's headers. Raises SystemExit for files that are not such programs."""
    if not Path(path).is_file():
        raise SystemExit(f"error: there is no program {path}")
    data = Path(path).read_bytes()
    try:
        if data[:4] == b"\x7fELF":
            return _elf(data)
        if data[:4] == b"\xcf\xfa\xed\xfe":
            return _mach_o(data)
        if data[:2] == b"MZ":
            return _pe(data)
    except (struct.error, KeyError, IndexError) as error:
        raise SystemExit(f"error: {path}: unknown or damaged headers ({error!r})") from error
    raise SystemExit(f"error: {path} is not an ELF, Mach-O or PE program")


def _elf(data):
    if data[4:6] != b"\x02\x01":
        raise KeyError("not a little-endian program of 64 bits")
    machine = _ELF_MACHINES[struct.unpack_from("<H", data, 18)[0]]
    interpreter = next((segment for kind, segment in _elf_segments(data) if kind == 3), b"")
    floor = max(_glibc_versions(data), default=None)
    # A static program, and one for musl, go to the same package: both run on musl.
    libc = "gnu" if b"ld-linux" in interpreter else "musl"
    return Platform("linux", machine, libc, floor)


def _elf_segments(data):
    offset, size, count = *struct.unpack_from("<Q", data, 32), *struct.unpack_from("<HH", data, 54)
    for at in range(offset, offset + size * count, size):
        kind, _, start, _, _, length = struct.unpack_from("<IIQQQQ", data, at)
        yield kind, data[start : start + length]


def _glibc_versions(data):
    """Yields the versions of glibc whose symbols a program needs, from its section `.gnu.version_r`."""
    offset, size, count = *struct.unpack_from("<Q", data, 40), *struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQII", data, offset + size * index) for index in range(count)]
    for _, kind, _, _, start, length, link, _ in sections:
        if kind == 0x6FFFFFFE:
            strings = data[sections[link][4] :]
            for name in _needed_names(data[start : start + length], strings):
                if match := re.fullmatch(rb"GLIBC_(\d+)\.(\d+)(\.\d+)?", name):
                    yield int(match[1]), int(match[2])


def _needed_names(section, strings):
    at = 0
    while True:
        _, count, _, first, following = struct.unpack_from("<HHIII", section, at)
        entry = at + first
        for _ in range(count):
            name, step = struct.unpack_from("<II", section, entry + 8)
            yield strings[name : strings.index(b"\0", name)]
            entry += step
        if not following:
            return
        at += following


def _mach_o(data):
    machine = _MACH_O_MACHINES[struct.unpack_from("<I", data, 4)[0]]
    at = 32
    for _ in range(struct.unpack_from("<I", data, 16)[0]):
        command, size = struct.unpack_from("<II", data, at)
        # LC_BUILD_VERSION and LC_VERSION_MIN_MACOSX hold the oldest version as 16.8.8 bits.
        if command in (0x32, 0x24):
            version = struct.unpack_from("<I", data, at + (12 if command == 0x32 else 8))[0]
            return Platform("darwin", machine, floor=(version >> 16, version >> 8 & 255))
        at += size
    raise KeyError("no oldest version of macOS")


def _pe(data):
    header = struct.unpack_from("<I", data, 60)[0]
    return Platform("win32", _PE_MACHINES[struct.unpack_from("<H", data, header + 4)[0]])
