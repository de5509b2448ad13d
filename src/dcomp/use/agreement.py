"""Whether chains agree on intervals, in a line or two."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dcomp.evaluate.intervals import Intervals

SETTLED = 0.9  # share of intervals that chains agree on, below which the others are spoken of


def agreement_lines(found: Intervals) -> list[str]:
    """How many intervals all chains have alike, and what to think of the others."""
    lines = [
        f"{found.n_chains} chains of {found.n_draws} draws agree on {100 * found.settled:.0f} % of "
        "intervals (R-hat of 1.05 or less)"
    ]
    if found.settled < SETTLED:
        lines.append(
            "the others are not to be quoted: there chains need more sweeps, or a smaller K"
        )
    return lines
