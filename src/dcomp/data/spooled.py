"""Text into counts in little memory: words, then rows, go through files without names.

Inside `spooled(folder)` whatever reads text leaves its words on the disk, a few million at a time,
and the counts that come of them are mapped there. They are the same counts, but for the reading
order, which is not kept. What stays in memory: the distinct words, the ids and the labels.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dcomp.data.canonical import Rows

TOKENS = 1 << 22  # that are counted together

_folder: ContextVar[Path | None] = ContextVar("folder of spooled words", default=None)


@contextmanager
def spooled(folder: Path) -> Iterator[None]:
    """Words of texts that are read in this block go through files in the folder."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


def spool_folder() -> Path | None:
    """Where words go now; None: they stay in memory."""
    return _folder.get()


class Column:
    """An array on the disk that is written from front to back, and then mapped.

    >>> column = Column(Path(tempfile.gettempdir()), np.int32)
    >>> column.add(np.array([1, 2]))
    >>> column.mapped()
    array([1, 2], dtype=int32)
    """

    def __init__(self, folder: Path, dtype: Any) -> None:
        self._dtype, self._size = np.dtype(dtype), 0
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 until it is mapped

    def __del__(self) -> None:
        self._file.close()  # where an error came before the end

    def add(self, values: NDArray[Any]) -> None:
        """Numbers behind those that are there."""
        content = np.ascontiguousarray(values, self._dtype)
        self._file.write(content.reshape(-1).view(np.uint8).data)
        self._size += content.nbytes

    def mapped(self) -> NDArray[Any]:
        """All of them, where they lie."""
        with self._file as file:
            file.flush()
            if not self._size:
                return np.empty(0, self._dtype)
            pages = mmap.mmap(file.fileno(), self._size, access=mmap.ACCESS_READ)
        return np.frombuffer(pages, self._dtype)


class SpooledRows:
    """Compressed rows that are written to the disk from the first to the last."""

    def __init__(self, folder: Path, dtype: Any = np.int32) -> None:
        self._indptr = Column(folder, np.int64)
        self._indices, self._data = Column(folder, np.int32), Column(folder, dtype)
        self._indptr.add(np.zeros(1, np.int64))
        self._n = 0

    def add(self, rows: Rows) -> None:
        """More rows."""
        self._indptr.add(rows.indptr[1:] + self._n)
        self._indices.add(rows.indices)
        self._data.add(rows.data)
        self._n += len(rows.data)

    def mapped(self) -> Rows:
        """All of them, where they lie."""
        return Rows(self._indptr.mapped(), self._indices.mapped(), self._data.mapped())


class Counting(Protocol):
    """Takes texts in pieces; `last` says of each whether it ends its document."""

    @property
    def n_docs(self) -> int: ...
    @property
    def n_tokens(self) -> int: ...
    @property
    def n_words(self) -> int: ...
    def count(self, texts: list[str], last: list[bool]) -> None: ...
    def take(self) -> tuple[NDArray[np.int64], NDArray[np.int32], list[str]]: ...


class SpooledCounting:
    """Words numbered by another, a few million at a time, and by their first place of all."""

    def __init__(self, make: Callable[[], Counting], folder: Path) -> None:
        self._make, self._now = make, make()
        self._index: dict[str, int] = {}
        self._starts, self._tokens = Column(folder, np.int64), Column(folder, np.int32)
        self._starts.add(np.zeros(1, np.int64))
        self._docs = self._words = 0  # that are on the disk

    @property
    def n_docs(self) -> int:
        return self._docs + self._now.n_docs

    @property
    def n_tokens(self) -> int:
        return self._words + self._now.n_tokens

    @property
    def n_words(self) -> int:
        return len(self._index) + self._now.n_words

    def count(self, texts: list[str], last: list[bool]) -> None:
        self._now.count(texts, last)
        if self._now.n_tokens >= TOKENS and last and last[-1]:
            self._settle()

    def _settle(self) -> None:
        starts, tokens, names = self._now.take()
        index = self._index
        numbers = np.fromiter(
            (index.setdefault(name, len(index)) for name in names), np.int32, len(names)
        )
        if len(tokens):
            self._tokens.add(numbers[tokens])
        self._starts.add(starts[1:] + self._words)
        self._docs += len(starts) - 1
        self._words += len(tokens)
        self._now = self._make()

    def take(self) -> tuple[NDArray[np.int64], NDArray[np.int32], list[str]]:
        self._settle()
        return self._starts.mapped(), self._tokens.mapped(), list(self._index)
