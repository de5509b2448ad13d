"""When to stop: what a climb still has to gain, in nats per document (MODELS §14)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dcomp.errors import InvalidParameter
from dcomp.inference.base import Info
from dcomp.models.arrays import FloatArray

NEVER = 1e300  # what is to come where it does not fall
WINDOW = 10  # plain sweeps whose rate is taken
ROUNDING = {4: 1e-7, 8: 1e-14}  # what it may change of an objective, by the size of numbers


@dataclass(frozen=True)
class Remaining:
    """What going on would change.

    gain: nats per document still to come, by the rate at which the last plain sweeps gained less
    and less and by what the last half of all sweeps has gained (of small tables three times that),
    the larger; None of an algorithm whose objective may fall.
    shares: the largest change of a document's share in one more sweep, and no bound on what many
    would change: a document with two optima that are nearly as good may yet go over.
    apart: mean field, α below 1: nats per document by which the climb had been higher, with
    documents in optima of their own that it had led them to; shown are those where `transform` has
    them (docs/decisions/0026).
    """

    gain: float | None
    shares: float
    apart: float = 0.0

    @property
    def shown_lower(self) -> tuple[str, ...]:
        """A line where documents as they are shown lie well below where the climb had them."""
        if self.apart < Rule().tol:
            return ()
        return (
            f"as new documents, which is how they are shown, {self.apart:.2g} nats per document "
            "below where the climb had led them",
        )

    def __str__(self) -> str:
        moved = f"{self.shares:.2g} of a share in one more sweep"
        if self.gain is None:
            return moved
        lower = f"; as new documents {self.apart:.2g} nats lower" if self.apart >= 0.005 else ""
        gain = "more than 1e6" if self.gain > 1e6 else f"{self.gain:.2g}"
        return f"{gain} nats, {moved}{lower}"


@dataclass(frozen=True)
class Rule:
    """At rest when less than `tol` nats per document are still to come, and one more sweep moves no
    document's share by more than `shares`. With tol = 0 never.

    >>> Rule(tol=0.05).is_met(Remaining(0.02, 0.001))
    True
    """

    tol: float = 0.05
    shares: float = 0.01

    def __post_init__(self) -> None:
        if not self.tol >= 0:
            raise InvalidParameter(f"tol must be at least 0; got {self.tol}")

    def is_met(self, remaining: Remaining) -> bool:
        """Whether this is little enough."""
        gained = remaining.gain is None or remaining.gain < self.tol
        return gained and remaining.shares < self.shares

    def is_calm(self, rows: Sequence[Info]) -> bool:
        """The same for an algorithm whose objective may fall, by what shares still have to move.
        With tol = 0 never."""
        return self.tol > 0 and shares_to_come(rows) < self.shares


def shares_to_come(rows: Sequence[Info]) -> float:
    """How far the share that moves most may still go, if it slows down as it did in the last ten
    sweeps; `NEVER` before there are as many."""
    moved = [row.shares for row in rows[-WINDOW:] if row.shares is not None]
    return to_come(np.array(moved)) if len(moved) == WINDOW else NEVER


def to_come(steps: FloatArray) -> float:
    """Σ of the steps that follow, if they fall on as they do: Δ r / (1 − r), with the rate r from
    the slope of log Δ. `NEVER` where they do not fall.

    >>> round(to_come(8.0 * 0.5 ** np.arange(10)), 6)  # 8/2^9 is the last
    0.015625
    >>> to_come(np.arange(1.0, 11.0)) == NEVER
    True
    """
    if not steps.any():
        return 0.0
    log_step, at = np.log(np.maximum(steps, 1e-300)), np.arange(len(steps))
    slope, level = np.polyfit(at, log_step, 1)
    rate = float(np.exp(slope))
    if rate >= 1:
        return NEVER
    # The line's end, because a single step may be off.
    last = float(np.exp(level + slope * at[-1]))
    return max(last, float(steps[-1])) * rate / (1 - rate)


def in_the_long_run(half: float, quarter: float) -> float:
    """What sweeps promise whose last half gained so much and last quarter so much. Along directions
    that a table hardly tells apart gains fall like a power of the number of sweeps, however small
    the single ones have become: then about what the last half of them gained is still to come, or,
    a little more closely, three times what a rate from quarter to quarter would have.

    >>> in_the_long_run(3.0, 1.0), in_the_long_run(3.0, 1.4)
    (3.0, 3.0)
    """
    before = half - quarter
    if not np.isfinite(half) or quarter >= before or before <= 0:  # below 0 is noise
        return half
    rate = max(quarter / before, 0.5)
    return min(half, 3 * quarter * rate / (1 - rate))


def noise_of(gains: FloatArray) -> float:
    """The standard deviation of what rounding adds to gains that change smoothly otherwise, from
    their third differences.

    >>> noise_of(8.0 * 0.9 ** np.arange(10)) < 0.01
    True
    """
    third = np.diff(gains, 3)
    return float(np.sqrt(np.mean(third**2) / 20.0))  # 1 + 9 + 9 + 1


def change_of(before: Info, after: Info, n_docs: int) -> float:
    """Of the objective, in nats per document."""
    return (after.objective - before.objective) / max(n_docs, 1)


def recent_gain(rows: Sequence[Info]) -> tuple[int, float]:
    """The last half of all sweeps, and what they have gained, in nats per document."""
    half = rows[len(rows) // 2 :]
    return len(half), float(sum(row.change for row in half if row.change is not None))
