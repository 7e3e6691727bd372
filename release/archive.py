"""Packs a folder as FOLDER.tar.gz and FOLDER.tar.xz: python3 release/archive.py FOLDER LEVEL OUT

The same files give the same bytes: entries are sorted, belong to root, and have the time of SOURCE_DATE_EPOCH.
"""

import gzip
import lzma
import os
import sys
import tarfile
from pathlib import Path

EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])


def normalised(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.mtime = EPOCH
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    return entry


def pack(folder: Path, stream) -> None:
    # `add` sorts the entries of a folder.
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive:
        archive.add(folder, folder.name, filter=normalised)


def main(folder: str, level: str, out: str) -> None:
    name = Path(out) / Path(folder).name
    with open(f"{name}.tar.gz", "wb") as file:
        with gzip.GzipFile("", "wb", int(level), file, EPOCH) as stream:
            pack(Path(folder), stream)
    with lzma.open(f"{name}.tar.xz", "wb", filters=xz_filters(name.name, int(level))) as stream:
        pack(Path(folder), stream)


def xz_filters(name: str, level: int) -> list[dict[str, int]]:
    """For a program of x86, the addresses of calls are made absolute first: equal calls become equal bytes."""
    compression = {"id": lzma.FILTER_LZMA2, "preset": level}
    return [{"id": lzma.FILTER_X86}, compression] if "x86_64" in name else [compression]


main(*sys.argv[1:])
