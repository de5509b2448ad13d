"""Says what a wheel has of the files that must not be missing; an error if one is.

Usage: python .ci/in_wheel.py dist/dcomp-0.1.0-....whl
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

WANTED = (
    r"dcomp/__init__\.py",
    r"dcomp/_core\..*",
    r"dcomp/_core\.pyi",
    r"dcomp/py\.typed",
    r"dcomp/report/templates/report\.html\.j2",
    r"dcomp/report/templates/start\.js",
    r".*\.dist-info/licenses/LICENSE",
    r".*\.dist-info/licenses/CITATION\.cff",
)


def main(path: Path) -> int:
    names = ZipFile(path).namelist()
    missing = [wanted for wanted in WANTED if not any(re.fullmatch(wanted, n) for n in names)]
    if missing:
        print(f"{path.name} has no {', '.join(missing)}", file=sys.stderr)
        return 1
    with Path("pyproject.toml").open("rb") as file:
        version = tomllib.load(file)["project"]["version"]
    if not path.name.startswith(f"dcomp-{version}-"):
        print(f"{path.name} is not of version {version}", file=sys.stderr)
        return 1
    print(f"{path.name}: {len(names)} files, {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
