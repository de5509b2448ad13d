"""Inputs that the fuzzer kept, and files that once broke a promise, held to the same promise again.
Needs no atheris; verification/fuzz.py finds new ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzzing import native_calls
from fuzzing.child import name_of
from fuzzing.guard import Guard, hold, limited_addresses
from fuzzing.known import KNOWN
from fuzzing.targets import TARGETS
from unit.test_core_stub import of_module

from dcomp.io.read import FORMATS

CORPUS = Path(__file__).parent / "corpus"
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="memory is measured by Linux's /proc"
)


def findings(name: str, inputs: list[tuple[str, bytes]]) -> list[str]:
    """What these inputs break."""
    target, guard, out = TARGETS[name], Guard(), []
    with limited_addresses():
        for what, data in inputs:
            found = guard.finding(target.check, target.build(data), target.allowed)
            out += [] if found is None else [f"{what}: {found.short}\n{found.full}"]
    return out


HERE = [name for name, target in TARGETS.items() if target.is_here]


@pytest.mark.parametrize("name", HERE)
def test_what_was_kept_breaks_no_promise(name):
    kept = [(path.name, path.read_bytes()) for path in sorted((CORPUS / name).iterdir())]
    assert kept
    assert findings(name, kept) == []


@pytest.mark.parametrize("name", [name for name in KNOWN if name in HERE])
def test_what_once_broke_a_promise_keeps_it(name):
    assert findings(name, list(KNOWN[name]())) == []


@pytest.mark.parametrize("name", HERE)
def test_seeds_break_no_promise(name):
    assert findings(name, [(name_of(data), data) for data in TARGETS[name].seeds()]) == []


def test_kept_inputs_are_few_and_small():
    sizes = [path.stat().st_size for path in CORPUS.rglob("*") if path.is_file()]
    assert len(sizes) <= 250
    assert sum(sizes) <= 300_000
    assert max(sizes) <= 8192


def test_every_format_has_a_target():
    """A reader is born with its limits."""
    assert {*FORMATS, "index", "fit"} <= set(TARGETS)


def test_all_of_the_native_core_is_called():
    callable_names = {name for name, what in of_module().items() if what is not None}
    # The prior's maker asks for its weights, the maker of Stop goes in and out.
    within = {"ScorePrior.weights", "Stop.__enter__", "Stop.__exit__"}
    made = {name.removesuffix(".__init__") for name in callable_names} - within
    assert set(native_calls.CALLS) == made


def over(data: bytes) -> None:
    bytearray(100 << 20)[:: 1 << 12] = bytes((100 << 20) >> 12)


def wrong(data: bytes) -> None:
    hold(False, "Counts: in order")


def raised(data: bytes) -> None:
    raise KeyError("x")


def reserved(data: bytes) -> None:
    bytearray(1 << 40)


@pytest.mark.parametrize(
    ("broken", "short"),
    [(over, "memory"), (wrong, "broken: Counts"), (raised, "KeyError"), (reserved, "MemoryError")],
)
def test_the_guard_sees(broken, short):
    with limited_addresses():
        found = Guard().finding(broken, b"", (OSError,))
    assert found is not None
    assert found.short.startswith(short)


def test_the_guard_sees_time(monkeypatch):
    monkeypatch.setattr("fuzzing.guard.SECONDS", 0.05)
    found = Guard().finding(lambda data: sum(range(10_000_000)), b"", (OSError,))
    assert found is not None
    assert found.short == "hang"
