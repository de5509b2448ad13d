"""The stub of the native core says what the core has: names, parameters, defaults, and no more."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import dcomp
from dcomp import _core

STUB = Path(dcomp.__file__).with_name("_core.pyi")
NO_DEFAULT = object()
Parameters = tuple[tuple[str, Any], ...]  # name and default of each


def of_stub(text: str) -> dict[str, Any]:
    """Every function and method as its parameters, every property as None, by dotted name."""
    found: dict[str, Any] = {}

    def add(name: str, node: ast.AST) -> None:
        match node:
            case ast.FunctionDef(decorator_list=[]):
                names = [arg.arg for arg in node.args.args if arg.arg != "self"]
                values = [ast.literal_eval(value) for value in node.args.defaults]
                missing = [NO_DEFAULT] * (len(names) - len(values))
                found[name] = tuple(zip(names, missing + values, strict=True))
            case ast.FunctionDef(decorator_list=[ast.Name(id="property")]):
                found[name] = None
            case ast.AnnAssign():
                found[name] = None
            case ast.ClassDef():
                found[name] = "class"
                for member in node.body:
                    add(f"{name}.{member_name(member)}", member)
            case _:
                pytest.fail(f"the stub has {ast.dump(node)}, which this test does not know")

    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            add(node.name, node)
    return found


def member_name(node: ast.AST) -> str:
    return node.target.id if isinstance(node, ast.AnnAssign) else node.name


def of_module() -> dict[str, Any]:
    """The same of what was compiled."""
    found: dict[str, Any] = {}
    for name, thing in vars(_core).items():
        if name.startswith("__"):
            continue
        if not isinstance(thing, type):
            found[name] = signature(thing)
            continue
        found[name] = "class"
        for member, value in vars(thing).items():
            if isinstance(value, property):
                found[f"{name}.{member}"] = None
            elif member in ("__init__", "__enter__", "__exit__") or member[0] != "_":
                found[f"{name}.{member}"] = signature(value)
    return found


def signature(function: Any) -> Parameters:
    """Parameters of a native function; all of its overloads must have the same."""
    overloads = {parameters(text, values) for text, _, values in function.__nb_signature__}
    assert len(overloads) == 1, f"overloads of {function.__name__} differ: {overloads}"
    return overloads.pop()


def parameters(text: str, values: tuple[Any, ...] | None) -> Parameters:
    """From `def name(a: type, b: type = \\0) -> type`, whose types have commas of their own."""
    inside, depth, parts = text[text.index("(") + 1 :], 0, [""]
    for letter in inside:
        depth += (letter in "([") - (letter in ")]")
        if depth < 0:
            break
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    out = []
    for part in filter(None, map(str.strip, parts)):
        before, _, default = part.partition(" = \\")
        name = before.split(":")[0]
        if name != "self":
            out.append((name, (values or ())[int(default)] if default else NO_DEFAULT))
    return tuple(out)


def differences(stub: dict[str, Any], module: dict[str, Any]) -> list[str]:
    names = sorted(set(stub) | set(module))
    absent = object()
    return [name for name in names if stub.get(name, absent) != module.get(name, absent)]


def test_the_stub_is_that_of_the_module():
    assert differences(of_stub(STUB.read_text()), of_module()) == []


@pytest.mark.parametrize(
    ("before", "after", "wrong"),
    [
        ("def lanes() -> int: ...\n", "", "lanes"),
        ("def lanes()", "def more() -> int: ...\ndef lanes()", "more"),
        ("    max_inner: int,\n", "", "expect"),
        ("    inner_tol: float,\n", "    tol: float,\n", "expect"),
        ("kept: bool = False", "kept: bool = True", "draw_loadings"),
        ("kept: bool = False", "kept: bool", "draw_loadings"),
        ("class Corpus:", "class Texts:", "Corpus"),
        ("    def key(self)", "    def name(self)", "ScorePrior.key"),
        ("    def count(self, z", "    def count(self, n_jobs: int, z", "CollapsedSampler.count"),
    ],
)
def test_a_stub_that_is_not_is_told(before, after, wrong):
    text = STUB.read_text()
    assert before in text
    assert wrong in differences(of_stub(text.replace(before, after)), of_module())
