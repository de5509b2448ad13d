"""Parts one after the other, with what they leave in files: for corpora larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from dcomp.executors.base import After, Before, Part, Shared, Stats, Task, pairwise_sum
from dcomp.executors.local import LocalExecutor
from dcomp.models.scratch import Scratch

_Any = TypeVar("_Any")


@dataclass(frozen=True)
class FiledExecutor(LocalExecutor):
    """Threads of this process. Arrays that a task leaves in a part, and sums that wait for others,
    are moved to a scratch folder; native objects are let go, and built again from the rest. The
    answer is that of `LocalExecutor`, bit for bit.

    >>> import tempfile
    >>> FiledExecutor(2, Scratch(tempfile.gettempdir())).n_threads
    2
    """

    scratch: Scratch

    def map_reduce(
        self,
        task: Task[Part, Before, Shared, After, Stats],
        parts: Sequence[Part],
        locals_: Sequence[Before],
        shared: Shared,
        on_part: Callable[[], None] | None = None,
    ) -> tuple[list[After], Stats]:
        """What the task leaves in each part, and the sum of its statistics over the parts."""
        after: list[After] = []

        def one_by_one() -> Iterator[Stats]:
            for part, local in zip(parts, locals_, strict=True):
                left, stats = task(part, local, shared, self.n_threads)
                after.append(self._filed(left))
                del left
                if on_part is not None:
                    on_part()
                yield stats

        total = pairwise_sum(one_by_one(), self._filed if len(parts) > 2 else None)
        return after, total

    def _filed(self, left: _Any) -> _Any:
        """The same with its arrays in files, whatever they are fields and items of."""
        value: Any = left
        if isinstance(value, np.ndarray):
            return left if value.dtype.hasobject else self.scratch.kept(value)  # type: ignore[return-value]
        if isinstance(value, tuple | list) and type(value) in (tuple, list):
            return type(value)(self._filed(item) for item in value)  # type: ignore[return-value]
        if isinstance(value, Mapping) and type(value) is dict:
            return {name: self._filed(item) for name, item in value.items()}  # type: ignore[return-value]
        if not is_dataclass(value) or isinstance(value, type):
            return left
        return self._filed_fields(value)  # type: ignore[no-any-return]

    def _filed_fields(self, value: Any) -> Any:
        """A dataclass is copied only if a field of it has changed: its kind may compute others."""
        changed = {}
        for one in fields(value):
            before = getattr(value, one.name)
            now = None if one.name == "handle" else self._filed(before)
            if now is not before and not _same_items(now, before):
                changed[one.name] = now
        if not changed:
            return value
        out = object.__new__(type(value))
        for one in fields(value):
            object.__setattr__(out, one.name, changed.get(one.name, getattr(value, one.name)))
        return out


def _same_items(one: Any, other: Any) -> bool:
    """Whether these are containers of the very same things."""
    if isinstance(one, dict):
        return all(one[name] is other[name] for name in one)
    if isinstance(one, tuple | list):
        return all(a is b for a, b in zip(one, other, strict=True))
    return False
