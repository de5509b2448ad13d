"""Who may import whom. docs/decisions/0015-rooms.md says why the rooms stand in this order."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import dcomp

ROOT = Path(dcomp.__file__).parent
PAGE = Path(__file__).resolve().parents[2] / "docs" / "decisions" / "0015-rooms.md"

# From the ground up. A room may import those of lower floors only, never one beside it. "dcomp" is
# the package's own __init__. Rooms that are not built yet have their place already.
FLOORS = (
    ("printable", "version"),
    ("_core", "atomic", "errors"),
    ("data",),
    ("io", "models"),
    ("executors", "reference"),
    ("inference",),
    ("registry",),
    ("validation",),
    ("predict", "recipe"),
    ("datasets", "result"),
    ("evaluate",),
    ("use",),
    ("plot",),
    ("report",),
    ("estimators",),
    ("dcomp",),
    ("cli",),
)
RANK = {room: rank for rank, floor in enumerate(FLOORS) for room in floor}

# Imports upwards that may be written, inside a function or for the type checker, and why.
LAZY = {
    ("result", "plot"): "fit.plot: a picture of a fit is asked of the fit, and drawn upstairs",
    ("evaluate", "plot"): "found.plot(): the same of what was found",
    ("use", "plot"): "found.plot(): the same of a field",
}


class Import(NamedTuple):
    """A room that a file imports, and whether only when a function is called, or for types."""

    room: str
    line: int
    lazy: bool


def imports(source: str) -> Iterator[Import]:
    """Every import of dcomp in a module, at any depth, also those by name (`import_module`)."""
    yield from _below(ast.parse(source), lazy=False)


def _below(node: ast.AST, lazy: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        for room in _rooms(child):
            yield Import(room, child.lineno, lazy)
        inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        for_types = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        yield from _below(child, lazy or isinstance(child, inner) or for_types)


def _rooms(node: ast.AST) -> list[str]:
    names: list[str] = []
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"line {node.lineno}: imports must name the package in full"
        if node.module == "dcomp":
            return [alias.name if alias.name in RANK else "dcomp" for alias in node.names]
        names = [node.module or ""]
    elif isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
        ("import_module", "__import__")
    ):
        names = [ast.literal_eval(a) for a in node.args[:1] if isinstance(a, ast.Constant)]
    parts = [name.split(".") for name in names]
    return [(path[1:] or ["dcomp"])[0] for path in parts if path[0] == "dcomp"]


def offences(room: str, source: str) -> list[str]:
    """What a file of this room imports and must not."""
    out = []
    for other, line, lazy in imports(source):
        if other == room or (lazy and (room, other) in LAZY):
            continue
        if RANK[other] >= RANK[room]:
            out.append(f"line {line}: {room} must not import {other}")
        elif room == "io" and other not in ("atomic", "data", "errors", "printable"):
            out.append(
                f"line {line}: io may import atomic, data, errors and printable only, not {other}"
            )
    return out


# Of datasets, the files of fields: their tables are for judging algorithms on data that no model of
# ours has drawn.
FIELDS = ("genetics", "language", "parliament", "sequencing", "shopping", "tumours", "draws")


@pytest.mark.parametrize("name", FIELDS)
def test_made_up_tables_know_no_model(name):
    source = (ROOT / "datasets" / f"{name}.py").read_text(encoding="utf-8")
    assert {found.room for found in imports(source)} <= {"data", "datasets", "errors"}
    assert not re.search(r"datasets\.(front|simulated|remote)", source)


def room_of(path: Path) -> str:
    name = path.relative_to(ROOT).parts[0].removesuffix(".py")
    return "dcomp" if name == "__init__" else name


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_one_way(path):
    room = room_of(path)
    assert room in RANK, f"{room} has no place in the import order"
    assert offences(room, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("room", "source", "wrong"),
    [
        ("data", "from dcomp.models import Model", ["line 1: data must not import models"]),
        ("data", "from dcomp.data.text import bag\nfrom dcomp import errors, _core", []),
        ("models", "def f():\n    from dcomp import data, registry", ["must not import registry"]),
        ("models", "class A:\n  def f(self):\n    import dcomp.io.read", ["must not import io"]),
        ("models", "if TYPE_CHECKING:\n    from dcomp.cli.fit import x", ["must not import cli"]),
        ("models", "importlib.import_module('dcomp.result')", ["must not import result"]),
        ("evaluate", "import dcomp", ["must not import dcomp"]),
        ("evaluate", "from dcomp import LDA", ["must not import dcomp"]),
        ("evaluate", "from dcomp.use import blocs", ["must not import use"]),
        ("evaluate", "from dcomp.recipe import Recipe", []),
        ("cli", "def f():\n    from dcomp import __version__", []),
        ("datasets", "from dcomp.result import Fit", ["datasets must not import result"]),
        (
            "io",
            "from dcomp import _core",
            ["io may import atomic, data, errors and printable only"],
        ),
        ("result", "class Fit:\n    def plot(self):\n        from dcomp.plot import draw", []),
        ("result", "if TYPE_CHECKING:\n    from dcomp.plot import Picture", []),
        ("predict", "def f():\n    from dcomp.result import Fit", ["must not import result"]),
        ("result", "from dcomp.plot import draw", ["must not import plot"]),
        ("result", "def f():\n    from dcomp.report import build", ["must not import report"]),
    ],
)
def test_what_counts_as_an_import_upwards(room, source, wrong):
    found = offences(room, source)
    assert len(found) == len(wrong)
    assert all(part in text for part, text in zip(wrong, found, strict=True))


def test_the_page_shows_the_same_order():
    if not PAGE.exists():
        pytest.skip("no docs beside these tests")
    block = re.search(r"^```\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert block is not None
    shown = [tuple(line.split("  ")[0].split(", ")) for line in block.group(1).splitlines()]
    assert shown == [*reversed(FLOORS)]


SLOW = [
    "dcomp.evaluate",
    "dcomp.use",
    "dcomp.estimators",
    "dcomp.cli",
    "sklearn",
    "typer",
    "rich",
    "pandas",
    "polars",
    "pyarrow",
    "xarray",
    "arviz",
    "matplotlib",
    "scipy.io",
    "scipy.optimize",
    "scipy.signal",
    "scipy.stats",
    "scipy",
    "dcomp.data",
]


def test_import_brings_nothing_slow():
    """What takes long is imported by whoever needs it: `import dcomp` is a good half SciPy's."""
    code = f"import sys, dcomp; print(*sys.modules.keys() & set({SLOW!r}))"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert shown.split() == []


def test_the_shell_fits_without_scikit_learn(tmp_path):
    """Which brings pandas and scipy.stats along: more than a second before the first sweep."""
    counts, fitted = tmp_path / "counts.csv", tmp_path / "fit.dcomp"
    counts.write_text("a,b\n3,1\n1,4\n2,2\n")
    code = (
        "import sys; from dcomp.cli.main import main\n"
        "try: main()\n"
        "finally: print(*sys.modules.keys() & {'sklearn', 'pandas', 'scipy.stats'})"
    )
    command = [sys.executable, "-c", code, "fit", str(counts), "-k", "2", "-o", str(fitted)]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert fitted.exists(), ended.stderr
    assert ended.stdout.splitlines()[-1] == ""


@pytest.mark.parametrize("name", dcomp.__all__)
def test_public_names_are_found_and_listed(name):
    assert name in dir(dcomp)
    assert getattr(dcomp, name) is not None


def test_what_comes_later_is_found_by_its_name():
    code = "import dcomp; dcomp.evaluate.completion; from dcomp import LDA, evaluate; dcomp.nothing"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.stderr.endswith("AttributeError: module 'dcomp' has no attribute 'nothing'\n")
