"""When to stop: the relative change of the objective from sweep to sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dcomp.errors import InvalidParameter
from dcomp.inference.base import Info


@dataclass(frozen=True)
class RelativeChange:
    """Stop when the relative change per sweep stays below `tol` for `patience` sweeps in a row.

    The change is measured against the documents' part of the objective: the prior of Θ adds a
    constant that can be of any size and sign.

    >>> rule = RelativeChange(tol=0.01, patience=1)
    >>> rule.is_met([Info(1, -50.0, -50.0, 1.0), Info(2, -49.9, -49.9, 1.0, change=0.002)])
    True
    """

    tol: float = 1e-4
    patience: int = 2

    def __post_init__(self) -> None:
        if not self.tol >= 0:
            raise InvalidParameter(f"tol must be at least 0; got {self.tol}")
        if self.patience < 1:
            raise InvalidParameter(f"patience must be at least 1; got {self.patience}")

    def is_met(self, rows: Sequence[Info]) -> bool:
        """Whether the sweeps so far have settled; never with tol = 0."""
        if self.tol == 0 or len(rows) <= self.patience:
            return False
        return all(_is_below(row.change, self.tol) for row in rows[-self.patience :])


def _is_below(change: float | None, tol: float) -> bool:
    return change is not None and change < tol


def relative_change(before: Info, after: Info) -> float:
    """|Δ objective| against the size of the documents' part."""
    return abs(after.objective - before.objective) / max(abs(after.documents), 1.0)
