"""Where benchmarks work, and the program that they time."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "target" / "bench"


def program() -> str:
    """The program that SKILLHUB names, else one that is built for release."""
    if given := os.environ.get("SKILLHUB"):
        return given
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=ROOT, check=True)
    return str(ROOT / "target" / "release" / "skillhub")


def variables(place: pathlib.Path, home: pathlib.Path | None = None) -> dict[str, str]:
    """That of a user whose files are in a place."""
    return {"PATH": os.environ["PATH"], "HOME": str(place), "SKILLHUB_HOME": str(home or place / "home")}
