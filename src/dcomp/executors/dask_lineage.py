"""How what lies on a worker can be made again: from a copy, by the calls that came after it.

A worker that dies takes the state of its parts along. Every such state has an `Origin` on the
client: a value or a copy that is kept there, and the calls (a task and what it was told) that led
from it. Tasks are pure and random numbers are named, so that the same calls give the same bits.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dcomp.atomic import atomic_write

_numbers = itertools.count()


@dataclass(frozen=True, eq=False)
class Call:
    """A task and what every part was told of it, as bytes."""

    task: Any
    shared: bytes
    number: int = field(default_factory=lambda: next(_numbers))


@dataclass(eq=False)
class Origin:
    """Of one part's state: a value that the client has, or an earlier state and a call."""

    part: Any
    value: Any = None
    before: Origin | None = None
    call: Call | None = None
    n_threads: int = 1
    depth: int = 0  # calls since the value
    n_bytes: int = 0  # and what they were told
    held: weakref.ref[Held] | None = None

    def after(self, call: Call, n_threads: int) -> Origin:
        """Of what the call leaves."""
        n_bytes = self.n_bytes + len(call.shared)
        return Origin(self.part, None, self, call, n_threads, self.depth + 1, n_bytes)

    def cut(self, copy: Copy) -> None:
        """Begin with a copy from now on; what came before can be forgotten."""
        self.value, self.before, self.call, self.depth, self.n_bytes = copy, None, None, 0, 0

    def name(self) -> Held | None:
        """By which somebody knows this state, if anybody does."""
        return None if self.held is None else self.held()

    def path(self) -> list[Origin]:
        """From the value to here."""
        back = [self]
        while back[-1].before is not None:
            back.append(back[-1].before)
        return back[::-1]


class Held:
    """What an executor gives back for the state of a part: the name of something on a worker, which
    is let go with it."""

    def __init__(self, origin: Origin, future: Any, address: str | None) -> None:
        self.origin, self.future, self.address = origin, future, address
        origin.held = weakref.ref(self)

    def __repr__(self) -> str:
        return f"Held(part={self.origin.part!r}, address={self.address!r})"

    def __reduce__(self) -> Any:
        raise TypeError("the state of a part lies on a worker: gather it first")


class Copy:
    """Bytes in a file that is removed when nobody refers to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        weakref.finalize(self, path.unlink, missing_ok=True)

    def read(self) -> bytes:
        """The bytes."""
        return self.path.read_bytes()


class Copies:
    """A folder of copies, which is made when the first is and removed in the end."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self._within = folder
        self._folder: Path | None = None
        self._remove: Any = None

    def keep(self, contents: Sequence[bytes]) -> list[Copy]:
        """A copy of each.

        >>> copies = Copies()
        >>> [copy.read() for copy in copies.keep([b"a", b"b"])]
        [b'a', b'b']
        """
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="dcomp-dask-", dir=self._within))
            self._remove = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        out = []
        for content in contents:
            path = self._folder / f"{next(_numbers)}.part"
            with atomic_write(path) as stream:
                stream.write(content)
            out.append(Copy(path))
        return out

    def close(self) -> None:
        """Remove the folder."""
        if self._folder is not None:
            self._remove()
            self._folder = None
