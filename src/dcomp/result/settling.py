"""Whether a sampler has settled, as far as its own history tells: the warning at the end of a fit.

`dcomp.evaluate.diagnostics` looks at more, and says more.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from dcomp.errors import ConvergenceWarning
from dcomp.inference import Algorithm
from dcomp.inference.rhat import SETTLED, rhat, rhat_by_chance
from dcomp.result.trace import Trace

ENOUGH = 40  # recorded sweeps, below which nothing is claimed
_QUANTITIES = {"objective": "log joint", "documents": "log-likelihood"}


def unsettled(traces: Sequence[Trace], burn_in: int, *, comparable: bool = True) -> str | None:
    """What is wrong with the chains of a sampler and what to do, by quantities that no numbering of
    components changes; None where nothing is, or too little was recorded to tell.

    comparable: whether the log joints of two chains compare; else each chain is judged by itself.

    >>> from dcomp.inference import Info
    >>> rising = Trace(tuple(Info(s, 0.1 * s, 0.1 * s, 1.0) for s in range(1, 101)))
    >>> print(unsettled([rising], burn_in=50))
    R-hat of the log joint over 50 recorded sweeps is 2.13, above 1.22: raise max_iter and burn_in
    """
    n_sweeps = min(map(len, traces)) - burn_in
    if n_sweeps < ENOUGH:
        return None
    for column, name in _QUANTITIES.items():
        values = np.array([trace[column][burn_in : burn_in + n_sweeps] for trace in traces])
        if not np.isfinite(values).all():
            continue
        own = float(np.median([rhat(chain) for chain in values]))
        own_limit = max(SETTLED, rhat_by_chance(1, n_sweeps))
        several = comparable and len(values) > 1
        found = rhat(values) if several else own
        limit = max(SETTLED, rhat_by_chance(len(values), n_sweeps)) if several else own_limit
        if found > limit:
            return (
                f"R-hat of the {name} over {n_sweeps} recorded sweeps"
                f"{f' of {len(values)} chains' if len(values) > 1 else ''} is {found:.2f}, above "
                f"{limit:.3g}: {_advice(own > own_limit, several)}"
            )
    return None


def _advice(moving: bool, several: bool) -> str:
    """More sweeps for what moves. Chains that rest apart would go on to: more of them, or annealed
    ones, show which place is the better."""
    if moving or not several:
        return "raise max_iter and burn_in"
    return "they rest apart: raise n_chains or anneal"


def warn_of_unsettled(
    algorithm: Algorithm, traces: Sequence[Trace], *, comparable: bool = True
) -> None:
    """A warning where the chains of a sampler have not settled."""
    said = unsettled(traces, algorithm.schedule.burn_in, comparable=comparable)
    if said is not None:
        warnings.warn(f"{algorithm.name} has not settled: {said}", ConvergenceWarning, stacklevel=4)
