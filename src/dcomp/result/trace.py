"""The history of a fit: one row per sweep, kept by columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.inference.base import Info

COLUMNS = tuple(f.name for f in fields(Info))


@dataclass(frozen=True)
class Trace:
    """What happened in each sweep. A column by name, a row by number.

    >>> trace = Trace((Info(1, -10.0, -10.0, 1.0), Info(2, -9.0, -9.0, 1.0)))
    >>> trace["objective"], trace[1]["sweep"]
    (array([-10.,  -9.]), 2)
    """

    rows: tuple[Info, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (asdict(row) for row in self.rows)

    def __getitem__(self, key: str | int) -> Any:
        if isinstance(key, str):
            return self.column(key)
        return asdict(self.rows[key])

    def column(self, name: str) -> npt.NDArray[Any]:
        """One quantity over all sweeps; `capped` as comma-separated text."""
        if name not in COLUMNS:
            raise KeyError(f"history has the columns {', '.join(COLUMNS)}; got {name!r}")
        if name == "capped":
            return np.array([",".join(row.capped) for row in self.rows])
        return np.array([getattr(row, name) for row in self.rows])
