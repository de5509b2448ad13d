"""Arrays that lie in files without a name, which the system may write out and forget: what is known
of documents while a corpus is fitted that does not fit into memory.

A file is taken from the disk in one piece before anything is written to it, so that a full disk is
an error here and not the end of the process later. What a killed process leaves has no name, and is
gone.
"""

from __future__ import annotations

import contextlib
import errno
import math
import mmap
import os
import tempfile
import weakref
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.printable import printable

_PAGE = 4096
_FIRST, _MOST = 1 << 26, 1 << 30  # bytes of the first file, and of the larger ones that follow
SMALL = 1 << 18  # bytes of an array that stays in memory
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

_owners: dict[int, Scratch] = {}  # by the number of the array that a file's others are views of


class Scratch:
    """Room for arrays in a folder. What is let go of is used again.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept = Scratch(folder).kept(np.ones((1000, 100)))
    >>> kept.shape, float(kept.sum()), owner_of(kept[3:5]) is not None
    ((1000, 100), 100000.0, True)
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._lock = Lock()
        self._free: dict[int, list[tuple[mmap.mmap, int]]] = {}  # by size
        self._last: mmap.mmap | None = None
        self._used = 0  # bytes of the last
        self.size = 0  # bytes on the disk

    def array(self, shape: tuple[int, ...], dtype: Any) -> npt.NDArray[Any]:
        """An array to be written to."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        room = -(-max(size, 1) // _PAGE) * _PAGE
        with self._lock:
            pages, start = self._taken(room)
        own = np.frombuffer(pages, np.uint8, room, start)
        number = id(own)
        _owners[number] = self
        weakref.finalize(own, self._let_go, number, room, pages, start).atexit = False
        array: npt.NDArray[Any] = own[:size].view(dtype).reshape(shape)
        return array

    def kept(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The same numbers, read-only, in a file; one that is small or there already is itself."""
        if array.nbytes < SMALL or owner_of(array) is not None:
            return array
        out = self.array(array.shape, array.dtype)
        out[...] = array
        out.flags.writeable = False
        return out

    def _let_go(self, number: int, room: int, pages: mmap.mmap, start: int) -> None:
        _owners.pop(number, None)
        # Without the lock, which this thread may hold: an append is one step.
        self._free.setdefault(room, []).append((pages, start))

    def _taken(self, room: int) -> tuple[mmap.mmap, int]:
        with contextlib.suppress(KeyError, IndexError):
            return self._free[room].pop()
        if self._last is None or self._used + room > len(self._last):
            self._last = self._file(max(room, min(max(_FIRST, self.size), _MOST)), room)
            self._used = 0
        start = self._used
        self._used += room
        return self._last, start

    def _file(self, wished: int, least: int) -> mmap.mmap:
        """A file without a name, of the wished size, or of the least that will do."""
        try:
            with tempfile.TemporaryFile(dir=self.folder) as file:
                for size in dict.fromkeys((wished, least)):
                    try:
                        _reserve(file.fileno(), size)
                    except OSError as error:
                        if error.errno not in _FULL or size == least:
                            raise
                        os.ftruncate(file.fileno(), 0)
                        continue
                    self.size += size
                    return mmap.mmap(file.fileno(), size)
        except OSError as error:
            raise _explained(error, self.folder, least) from None
        raise AssertionError("one of the sizes is the least")


def owner_of(array: npt.NDArray[Any]) -> Scratch | None:
    """The scratch room that an array lies in, if it lies in one."""
    own: Any = array
    while isinstance(own, np.ndarray):
        found = _owners.get(id(own))
        if found is not None:
            return found
        own = own.base
    return None


def _reserve(number: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(number, 0, size)
        return
    zeros = bytes(1 << 20)
    for start in range(0, size, len(zeros)):
        os.pwrite(number, zeros[: size - start], start)


def _explained(error: OSError, folder: Path, need: int) -> OSError:
    """What to do about it, in the error itself."""
    reasons = {
        errno.ENOSPC: f"the disk is full: {need / 1e6:,.0f} MB more are needed",
        errno.EDQUOT: f"the quota is used up: {need / 1e6:,.0f} MB more are needed",
    }
    why = reasons.get(error.errno or 0, error.strerror or str(error))
    text = f"no room for what is known of documents: {why}; scratch= names another folder"
    return OSError(error.errno, text, printable(folder))
