"""The rules of the house: who may import whom, docstrings that run, a table that cannot drift."""

from __future__ import annotations

import ast
import doctest
import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import dcomp
from dcomp import _core, registry

ROOT = Path(dcomp.__file__).parent

# Each room with the rooms that it may import; ARCHITECTURE's order.
RANK = {
    "errors": 0,
    "_core": 0,
    "data": 1,
    "io": 2,
    "models": 2,
    "executors": 3,
    "reference": 3,
    "inference": 4,
    "registry": 5,
    "validation": 6,
    "predict": 7,
    "result": 8,
    "evaluate": 9,
    "estimators": 10,
    "cli": 11,
}


def rooms_imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("dcomp."):
            found.add(node.module.split(".")[1])
        elif isinstance(node, ast.ImportFrom) and node.module == "dcomp":
            found |= {alias.name for alias in node.names} & set(RANK)
        elif isinstance(node, ast.Import):
            found |= {
                alias.name.split(".")[1] for alias in node.names if alias.name.startswith("dcomp.")
            }
    return found


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_one_way(path):
    room = path.relative_to(ROOT).parts[0].removesuffix(".py")
    if room == "__init__":
        return
    assert room in RANK, f"{room} has no place in the import order"
    for other in rooms_imported(path) - {room}:
        assert RANK[other] < RANK[room], f"{room} must not import {other}"
    if room == "io":
        assert rooms_imported(path) <= {"io", "data", "errors"}


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
    rooms = (dcomp, dcomp.data, dcomp.evaluate, dcomp.models, dcomp.inference)
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
