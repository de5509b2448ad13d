"""What runs on the workers of a Dask cluster. Nothing here needs Dask."""

from __future__ import annotations

import hashlib
import io
import pickle
import platform
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from dcomp import _core
from dcomp.errors import held_warnings
from dcomp.version import package_version


class Stopped(Exception):
    """A task was told to stop, because nobody waits for it any longer."""


class Kept:
    """A value between two tasks. It knows its size, by which a worker decides what to spill, and
    travels as bytes of its own, which arrays are aligned in whoever carries them.

    >>> pickle.loads(pickle.dumps(Kept([1, 2]))).value
    [1, 2]
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    def __sizeof__(self) -> int:
        return n_bytes(self.value)

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return opened, (packed(self.value),)


def packed(value: Any) -> bytes:
    """As bytes.

    >>> opened(packed("a")).value
    'a'
    """
    return pickle.dumps(value, protocol=5)


def opened(content: bytes) -> Kept:
    """The way back from `packed`."""
    return Kept(pickle.loads(content))


class _WithoutRows(pickle.Pickler):
    def __init__(self, file: io.BytesIO, rows: tuple[Any, ...]) -> None:
        super().__init__(file, protocol=5)
        self._rows = rows

    def persistent_id(self, value: Any) -> int | None:
        """The number of a row array, which does not travel."""
        return next((n for n, array in enumerate(self._rows) if value is array), None)


class _WithRows(pickle.Unpickler):
    def __init__(self, content: bytes, rows: tuple[Any, ...]) -> None:
        super().__init__(io.BytesIO(content))
        self._rows = rows

    def persistent_load(self, number: Any) -> Any:
        """That of the rows that are here."""
        return self._rows[number]


def packed_without_rows(part: Any) -> bytes:
    """A part as bytes, but for the rows of its counts.

    >>> from dcomp.data import Counts
    >>> from dcomp.models import Observations
    >>> part = Observations.build(Counts.from_matrix([[2, 1]]))
    >>> content, counts = packed_without_rows(part), part.counts
    >>> opened_with(content, Kept((counts.indptr, counts.indices, counts.data))).value.counts.shape
    (1, 2)
    """
    counts, file = part.counts, io.BytesIO()
    _WithoutRows(file, (counts.indptr, counts.indices, counts.data)).dump(part)
    return file.getvalue()


def opened_with(content: bytes, rows: Any) -> Kept:
    """The way back, with rows that a worker has, or can open."""
    own = rows.value if isinstance(rows, Kept) else rows.rows()
    return Kept(_WithRows(content, tuple(own)).load())


def n_bytes(value: Any) -> int:
    """About what the arrays in a value take.

    >>> n_bytes((np.zeros(8), {"a": np.zeros(2)})) >= 80
    True
    """
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, bytes | str):
        return len(value)
    if is_dataclass(value) and not isinstance(value, type):
        return 64 + sum(n_bytes(getattr(value, f.name)) for f in fields(value))
    if isinstance(value, Mapping):
        return 64 + sum(map(n_bytes, value.values()))
    if isinstance(value, tuple | list):
        simple = len(value) > 64 and isinstance(value[0], str | int | float)
        return 64 * len(value) if simple else 64 + sum(map(n_bytes, value))
    return 32


@dataclass(frozen=True)
class Told:
    """What a task tells of its part: statistics, and what it has to warn of."""

    stats: Any
    warnings: tuple[Warning, ...] = ()

    def __add__(self, other: Told) -> Told:
        stats = None if other.stats is None else self.stats + other.stats
        return Told(stats, self.warnings + other.warnings)


@dataclass(frozen=True)
class Left:
    """All that comes of a task."""

    local: Kept
    told: Kept

    def __sizeof__(self) -> int:
        return self.local.__sizeof__() + self.told.__sizeof__()


_lock = Lock()
_running: dict[str, set[_core.Stop]] = {}


def step(
    task: Any, part: Kept, local: Kept, shared: Kept | bytes, n_threads: int, call: str
) -> Left:
    """Run a task on a part, until it is done or its call is stopped."""
    stop = _core.Stop()
    with _lock:
        _running.setdefault(call, set()).add(stop)
    how = opened(shared) if isinstance(shared, bytes) else shared
    try:
        with held_warnings() as held, stop:
            left, stats = task(part.value, local.value, how.value, n_threads)
    except KeyboardInterrupt:  # which would end the worker's thread
        raise Stopped(call) from None
    finally:
        with _lock:
            _running[call].discard(stop)
            if not _running[call]:
                del _running[call]
    return Left(Kept(left), Kept(Told(stats, tuple(held))))


def stop_call(call: str) -> None:
    """Stop the tasks of a call that are under way on this worker."""
    with _lock:
        stops = list(_running.get(call, ()))
    for stop in stops:
        stop.request()


def local_of(left: Left) -> Kept:
    """What stays."""
    return left.local


def told_of(left: Left) -> Kept:
    """What is added up."""
    return left.told


def content_of(kept: Kept) -> Kept:
    """As bytes, which are a value in their turn."""
    return Kept(packed(kept.value))


def add(one: Kept, other: Kept) -> Kept:
    """A knot of the tree of sums.

    >>> add(Kept(Told(1)), Kept(Told(2))).value.stats
    3
    """
    return Kept(one.value + other.value)


def about() -> dict[str, str]:
    """Which dcomp this is, and on what: the same everywhere where answers are to be the same.

    >>> sorted(about())
    ['NumPy', 'Python', 'code of dcomp', 'dcomp', 'instruction set']
    """
    return {
        "dcomp": package_version(),
        "code of dcomp": code_digest(),
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "NumPy": np.__version__,
        "instruction set": _core.instruction_set(),
    }


@lru_cache(maxsize=1)
def code_digest() -> str:
    """Of the Python files of the package, as they lie on disk.

    >>> len(code_digest())
    12
    """
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]
