"""Writes the bill of materials and the licences of a program: python3 release/bill.py TARGET BILL LICENCES

The bill is a CycloneDX document of the packages that cargo compiles into the program for the target, with their
checksums from Cargo.lock. Packages that only tests or build scripts use are not in it; procedural macros are.
"""

import json
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

PREFIXES = ("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")
# Texts for packages that bring none, the preferred licence first.
TEXTS = {"MIT": "LICENSE-MIT", "Apache-2.0": "LICENSE-APACHE", "MPL-2.0": "release/licences/MPL-2.0"}


def compiled(metadata: dict) -> dict[str, list[str]]:
    """Returns the packages that the program depends on, each with its dependencies."""
    nodes = {node["id"]: node["deps"] for node in metadata["resolve"]["nodes"]}
    found, waiting = {}, [metadata["resolve"]["root"]]
    while waiting:
        package = waiting.pop()
        if package not in found:
            uses = [dep["pkg"] for dep in nodes[package] if any(kind["kind"] is None for kind in dep["dep_kinds"])]
            found[package] = sorted(uses)
            waiting += uses
    return found


def component(package: dict, checksums: dict, kind: str) -> dict:
    name, version = package["name"], package["version"]
    entry = {"type": kind, "bom-ref": f"{name}@{version}", "name": name, "version": version}
    # Crates of this repository are on no registry, where a package of the same name would be another one.
    if package["source"]:
        entry["bom-ref"] = entry["purl"] = f"pkg:cargo/{name}@{version}"
    if package["license"]:
        entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if (name, version) in checksums:
        entry["hashes"] = [{"alg": "SHA-256", "content": checksums[name, version]}]
    return entry


def licence_texts(package: dict) -> list[str]:
    folder = Path(package["manifest_path"]).parent
    files = [file for pattern in ("*", "*/*") for file in sorted(folder.glob(pattern)) if file.is_file()]
    found = [file.read_text(errors="replace").strip() for file in files if file.name.upper().startswith(PREFIXES)]
    return found or [standard_text(package)]


def standard_text(package: dict) -> str:
    """Returns the text of a licence that a package names without a file that holds it."""
    names = (package["license"] or "").replace("/", " ").replace("(", " ").replace(")", " ").split()
    file = next((file for name, file in TEXTS.items() if name in names), None)
    if file is None:
        raise SystemExit(f"error: {package['name']} {package['version']} has no file with its licence; add the text to release/bill.py")
    authors = ", ".join(package["authors"]) or f"the authors of {package['name']}"
    text = re.sub(r"^Copyright .*$", lambda _: f"Copyright (c) {authors}", Path(file).read_text(), count=1, flags=re.M)
    return f"The package has no file with its licence. Its authors are {authors}.\n\n{text.strip()}"


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
        for text in licence_texts(package):
            names = users.setdefault(text, [])
            names += [] if name in names else [name]
    parts = ["\n".join(names) + "\n\n" + text for text, names in users.items()]
    Path(licences).write_text(("\n\n" + "=" * 80 + "\n\n").join(parts) + "\n")


main(*sys.argv[1:])
