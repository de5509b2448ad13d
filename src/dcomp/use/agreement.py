"""Whether chains have settled, in a line or two: the verdict of `evaluate.diagnostics`, and which
intervals they agree on."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dcomp.errors import InvalidParameter
from dcomp.evaluate.diagnostics import diagnostics
from dcomp.evaluate.mcmc import SHORTEST
from dcomp.evaluate.modes import left_out_lines

if TYPE_CHECKING:
    from dcomp.evaluate.intervals import Intervals
    from dcomp.result import Fit

SETTLED = 0.9  # share of intervals that chains agree on, below which the others are spoken of
WIDTH = 80


def agreement_lines(fit: Fit, found: Intervals) -> list[str]:
    """The verdict on the chains of a sampler, how many intervals all have alike, and what to think
    of the others."""
    lines = []
    if fit.kept is not None:  # chains of their own; of a climb they begin at its end
        judged = diagnostics(fit)
        said = f"chains: {judged.verdict}; {'; '.join(judged.reasons)} (as `dcomp diagnose` has it)"
        lines += textwrap.wrap(said, WIDTH)
        lines += left_out_lines(fit)
    if found.n_chains == 1:
        lines.append(
            f"both halves of one chain of {found.n_draws} draws agree on "
            f"{100 * found.settled:.0f} % of intervals (R-hat)"
        )
    else:
        lines.append(
            f"{found.n_chains} chains of {found.n_draws} draws agree on "
            f"{100 * found.settled:.0f} % of intervals (R-hat of 1.05 or less)"
        )
    if found.settled < SETTLED:
        lines.append(
            "the others are not to be quoted: there chains need more sweeps, or a smaller K"
        )
    return lines


def usual_draws(options: Mapping[str, Any], usual: Mapping[str, Any]) -> int:
    """As many draws as usual, or as there are sweeps for.

    >>> usual_draws({"max_iter": 60}, {"max_iter": 600, "n_draws": 100})
    30
    """
    sweeps = int(options.get("max_iter") or usual["max_iter"])
    burn_in = options.get("burn_in")
    kept = sweeps - (sweeps // 2 if burn_in is None else int(burn_in))
    return max(min(kept, int(usual["n_draws"])), 1)


def check_draws(options: Mapping[str, Any], usual: Mapping[str, Any]) -> None:
    """An error before the work where sweeps leave too few draws for intervals.

    >>> check_draws({"max_iter": 5}, {"max_iter": 600, "n_draws": 100})
    Traceback (most recent call last):
    dcomp.errors.InvalidParameter: max_iter=5 leaves 3 draws of each chain, ...
    """
    n = usual_draws(options, usual)
    sweeps = int(options.get("max_iter") or usual["max_iter"])
    wanted = options.get("n_draws")
    if n < SHORTEST:
        after = "" if options.get("burn_in") is None else f" after burn_in={options['burn_in']}"
        raise InvalidParameter(
            f"max_iter={sweeps}{after} leaves {n} draws of each chain, and intervals need "
            f"{SHORTEST}: give more sweeps"
        )
    if isinstance(wanted, int) and wanted < SHORTEST:
        raise InvalidParameter(f"n_draws must be at least {SHORTEST}, for intervals; got {wanted}")
