"""Writes the bill of materials and the licences of a program: python3 release/bill.py TARGET BILL LICENCES

The bill is a CycloneDX document of the packages that cargo compiles into the program for the target, with their
checksums from Cargo.lock. Packages that only tests use are not in it.
"""

import json
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path

PREFIXES = ("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")


def compiled(metadata: dict) -> dict[str, list[str]]:
    """Returns the packages that the program depends on, each with its dependencies."""
    nodes = {node["id"]: node["deps"] for node in metadata["resolve"]["nodes"]}
    found, waiting = {}, [metadata["resolve"]["root"]]
    while waiting:
        package = waiting.pop()
        if package not in found:
            uses = [dep["pkg"] for dep in nodes[package] if any(kind["kind"] != "dev" for kind in dep["dep_kinds"])]
            found[package] = sorted(uses)
            waiting += uses
    return found


def component(package: dict, checksums: dict, kind: str) -> dict:
    name, version = package["name"], package["version"]
    purl = f"pkg:cargo/{name}@{version}"
    entry = {"type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl}
    if package["license"]:
        entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if (name, version) in checksums:
        entry["hashes"] = [{"alg": "SHA-256", "content": checksums[name, version]}]
    return entry


def licence_texts(package: dict) -> list[str]:
    folder = Path(package["manifest_path"]).parent
    files = [file for pattern in ("*", "*/*") for file in sorted(folder.glob(pattern)) if file.is_file()]
    return [file.read_text(errors="replace").strip() for file in files if file.name.upper().startswith(PREFIXES)]


def main(target: str, bill: str, licences: str) -> None:
    command = ["cargo", "metadata", "--locked", "--format-version=1", f"--filter-platform={target}"]
    metadata = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    locked = tomllib.loads(Path("Cargo.lock").read_text())["package"]
    checksums = {(lock["name"], lock["version"]): lock["checksum"] for lock in locked if "checksum" in lock}
    packages = {package["id"]: package for package in metadata["packages"]}
    root, uses = metadata["resolve"]["root"], compiled(metadata)
    entries = {id: component(packages[id], checksums, "application" if id == root else "library") for id in uses}
    built = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"])))
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "metadata": {"timestamp": built, "component": entries[root]},
        "components": sorted((entries[id] for id in uses if id != root), key=lambda entry: entry["bom-ref"]),
        "dependencies": [
            {"ref": entries[id]["bom-ref"], "dependsOn": sorted({entries[use]["bom-ref"] for use in uses[id]})}
            for id in sorted(uses, key=lambda id: entries[id]["bom-ref"])
        ],
    }
    Path(bill).write_text(json.dumps(document, indent=1) + "\n")
    users: dict[str, list[str]] = {}
    for package in sorted((packages[id] for id in uses if packages[id]["source"]), key=lambda package: package["id"]):
        name = f"{package['name']} {package['version']} ({package['license']})"
        for text in licence_texts(package) or ["It has no file with its licence."]:
            names = users.setdefault(text, [])
            names += [] if name in names else [name]
    parts = ["\n".join(names) + "\n\n" + text for text, names in users.items()]
    Path(licences).write_text(("\n\n" + "=" * 80 + "\n\n").join(parts) + "\n")


main(*sys.argv[1:])
