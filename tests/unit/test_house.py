"""The rules of the house: docstrings that run, short functions, a table that cannot drift."""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.metadata
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dcomp
from dcomp import _core, registry

ROOT = Path(dcomp.__file__).parent
CHECKOUT = Path(__file__).resolve().parents[2]

# Functions that are still longer, by file. To be emptied: nothing comes in.
LONG: set[tuple[str, str]] = set()


def lines_of_code(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """From `def` to the end, without the docstring."""
    lines = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is None:
        return lines
    docstring = function.body[0]
    return lines - (docstring.end_lineno - docstring.lineno + 1)


def test_functions_are_shorter_than_80_lines():
    long = {}
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = lines_of_code(node)
                if length >= 80:
                    long[path.relative_to(ROOT).as_posix(), node.name] = length
    assert {name: length for name, length in long.items() if name not in LONG} == {}
    assert long.keys() >= LONG, "a function became short: take it from the list"


def test_extras_that_are_named_exist():
    """Messages, docstrings and pages say what to install: pip install "dcomp[plot]"."""
    known = set(importlib.metadata.metadata("dcomp").get_all("Provides-Extra"))
    pages = [CHECKOUT / "README.md", *(CHECKOUT / "docs").rglob("*.md")]
    scripts = [*(CHECKOUT / "verification").glob("*.py"), *(CHECKOUT / "benchmarks").glob("*.py")]
    named = {}
    for path in [*ROOT.rglob("*.py"), *filter(Path.exists, pages), *scripts]:
        for extras in re.findall(
            r"""(?:dcomp|["' ]\.)\[([\w-]+(?:,[\w-]+)*)\]""", path.read_text("utf-8")
        ):
            named[path.name] = named.get(path.name, set()) | set(extras.split(","))
    assert {"plot", "frames", "arviz"} <= set().union(*named.values())  # the pattern finds them
    assert {name: found - known for name, found in named.items() if found - known} == {}


def modules() -> list[str]:
    return [
        info.name
        for info in pkgutil.walk_packages(dcomp.__path__, "dcomp.")
        if "_core" not in info.name
    ]


@pytest.mark.parametrize("name", ["dcomp", *modules()])
def test_examples_in_docstrings_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.IGNORE_EXCEPTION_DETAIL
    )
    assert result.failed == 0


def public() -> list[object]:
    rooms = (dcomp, dcomp.data, dcomp.datasets, dcomp.evaluate, dcomp.models, dcomp.inference)
    rooms += (dcomp.use,)
    return [getattr(room, name) for room in rooms for name in room.__all__]


@pytest.mark.parametrize("thing", public(), ids=lambda t: getattr(t, "__name__", type(t).__name__))
def test_public_things_are_documented(thing):
    assert thing.__doc__


def test_registry_names_what_the_kernels_have():
    compiled = {key for key, _ in _core.compiled()}
    assert set(registry.supported()) == compiled
    assert registry.model_key("dm") == registry.model_key("Dirichlet-Multinomial") == "DM"


def test_baseline_instruction_set_can_be_forced():
    code = (
        "import dcomp, numpy as np\n"
        "from dcomp import _core\n"
        "W = np.random.default_rng(0).poisson(1.0, (50, 20))\n"
        "fit = dcomp.LDA(3, verbose=0).fit(W).fit_\n"
        "print(_core.instruction_set(), float(fit.objective), float(fit.Theta[0, 0]))\n"
    )

    def run(simd):
        environment = {**os.environ, "DCOMP_SIMD": simd}
        out = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        return out[0], float(out[1]), float(out[2])

    baseline, widest = run("baseline"), run("")
    assert baseline[0] == "baseline"
    assert baseline[1] == pytest.approx(widest[1], rel=1e-4)
    assert baseline[2] == pytest.approx(widest[2], rel=1e-2)


@pytest.mark.parametrize("name", modules())
def test_listed_names_are_there(name):
    module = importlib.import_module(name)
    assert [
        listed for listed in getattr(module, "__all__", ()) if not hasattr(module, listed)
    ] == []
