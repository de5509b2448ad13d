"""Print the lowest versions that pyproject.toml allows, a line each for pip: name==floor.

    python .ci/lowest.py              what dcomp needs to run
    python .ci/lowest.py test arviz   and what these extras bring
    python .ci/lowest.py --build      what builds it, and nothing else
    python .ci/lowest.py --python     the lowest Python, such as 3.11

A requirement has to state its floor: one without, or with more than a floor, has no lowest version
that could be tried, and is an error.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*|)\s*>=\s*([0-9][0-9A-Za-z.]*)")


def name_and_floor(requirement: str) -> tuple[str, str]:
    """The two parts of `name>=floor`; requires-python has no name."""
    found = REQUIREMENT.fullmatch(requirement.strip())
    if found is None:
        sys.exit(f"a requirement must read name>=floor; found {requirement!r} in pyproject.toml")
    return found.group(1), found.group(2)


def lowest(requirements: Iterable[str]) -> list[str]:
    """The requirements with each floor made the version; a name that stands twice must agree."""
    floors: dict[str, str] = {}
    for name, floor in map(name_and_floor, requirements):
        if floors.setdefault(name, floor) != floor:
            sys.exit(f"{name} must have one floor in pyproject.toml; found {floors[name]}, {floor}")
    return [f"{name}=={floor}" for name, floor in floors.items()]


def run_requirements(project: dict[str, Any], extras: Iterable[str]) -> list[str]:
    """What dcomp needs to run, and what the extras bring."""
    known = project["optional-dependencies"]
    requirements = list(project["dependencies"])
    for extra in extras:
        if extra not in known:
            sys.exit(f"an extra must be one of {', '.join(known)}; found {extra!r}")
        requirements += known[extra]
    return requirements


def main(arguments: list[str]) -> None:
    """Read pyproject.toml and print."""
    with PYPROJECT.open("rb") as file:
        table = tomllib.load(file)
    if arguments == ["--python"]:
        print(name_and_floor(table["project"]["requires-python"])[1])
    elif arguments == ["--build"]:
        print(*lowest(table["build-system"]["requires"]), sep="\n")
    else:
        print(*lowest(run_requirements(table["project"], arguments)), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
