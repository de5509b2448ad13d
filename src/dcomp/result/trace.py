"""The history of a fit: one row per sweep, kept by columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.inference.base import Info


@dataclass(frozen=True)
class Trace:
    """What happened in each sweep. A column by name, a row by number.

    >>> trace = Trace((Info(1, -10.0, -10.0, 1.0), Info(2, -9.0, -9.0, 1.0)))
    >>> trace["objective"], trace[1]["sweep"], len(trace[-1:])
    (array([-10.,  -9.]), 2, 1)
    """

    rows: tuple[Info, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (asdict(row) for row in self.rows)

    def __getitem__(self, key: str | int | slice) -> Any:
        if isinstance(key, str):
            return self.column(key)
        if isinstance(key, slice):
            return Trace(self.rows[key])
        return asdict(self.rows[key])

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the quantities, which depend on the algorithm."""
        return tuple(f.name for f in fields(self.rows[0] if self.rows else Info))

    def column(self, name: str) -> npt.NDArray[Any]:
        """One quantity over all sweeps; `capped` as comma-separated text, nan where a sweep has
        none, as the first has no change."""
        if name not in self.columns:
            raise KeyError(f"history has the columns {', '.join(self.columns)}; got {name!r}")
        if name == "capped":
            return np.array([",".join(row.capped) for row in self.rows])
        values = [getattr(row, name) for row in self.rows]
        return np.array([np.nan if value is None else value for value in values])
