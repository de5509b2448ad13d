"""Which inputs are worth keeping: few and small ones that reach together what all of them reach."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import dcomp
from fuzzing.guard import Guard
from fuzzing.parent import KEPT, name_of
from fuzzing.targets import TARGETS

MOST, LARGEST = 15, 4096  # inputs of a target, bytes of an input
# Of native calls nothing is seen but how they are made.
HOMES = (str(Path(dcomp.__file__).parent) + os.sep, str(Path(__file__).with_name("native")))
Lines = frozenset[tuple[str, int, int]]


def lines_of(run: Callable[[], object]) -> Lines:
    """Steps from line to line of dcomp that this takes.

    >>> len(lines_of(lambda: dcomp.Counts.from_matrix([[1]]))) > 50
    True
    """
    seen: set[tuple[str, int, int]] = set()

    def enter(frame: FrameType, event: str, arg: Any) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(HOMES):
            return None
        last = frame.f_lineno

        def step(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal last
            seen.add((name, last, frame.f_lineno))
            last = frame.f_lineno
            return step

        return step

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        run()
    finally:
        sys.settrace(before)
    return frozenset(seen)


def keep(name: str, corpus: Path) -> int:
    """Put the best of a corpus beside what is kept already; how many there are then."""
    target, guard = TARGETS[name], Guard()
    kept = KEPT / name
    kept.mkdir(parents=True, exist_ok=True)

    def reached(path: Path) -> Lines:
        content = target.build(path.read_bytes())
        return lines_of(lambda: guard.finding(target.check, content, target.allowed))

    known: set[tuple[str, int, int]] = set()
    for path in sorted(kept.iterdir()):
        known |= reached(path)
    small = [path for path in corpus.iterdir() if path.stat().st_size <= LARGEST]
    found = {path: reached(path) for path in sorted(small)}
    while found and len(list(kept.iterdir())) < MOST:
        best = max(found, key=lambda path: (len(found[path] - known), -path.stat().st_size))
        new = found.pop(best) - known
        if not new:
            break
        known |= new
        data = best.read_bytes()
        (kept / name_of(data)[:12]).write_bytes(data)
    return len(list(kept.iterdir()))
