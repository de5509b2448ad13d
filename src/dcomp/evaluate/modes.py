"""Which chains of a sampler rest where the best one does.

Draws of one posterior may be pooled over chains; a mean over modes that are hundreds of nats apart
is no mean of it, since the lower ones have none of its mass. A chain lies with the best if the
mean of its log joints over the kept draws is no lower than that of the best by more than `MOVES`
standard deviations of the best one's own.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dcomp.result import Fit

MOVES = 4.0  # standard deviations that a trace hardly ever moves by
_WIDTH = 80


def pooled_chains(fit: Fit) -> tuple[int, ...]:
    """The places of the kept chains that lie with the best, in order; all of them where log joints
    do not compare or nothing was kept.

    >>> import dcomp
    >>> X = np.random.default_rng(0).poisson([[4, 4, 0, 0]] * 9 + [[0, 0, 4, 4]] * 9)
    >>> sampler = dcomp.LDA(2, algorithm="gibbs", max_iter=80, n_draws=20, n_chains=3, verbose=0)
    >>> pooled_chains(sampler.fit(X).fit_)
    (0, 1, 2)
    """
    below, moves = _below(fit)
    return tuple(c for c, nats in enumerate(below) if not nats > MOVES * moves)


def left_out_lines(fit: Fit) -> list[str]:
    """Which chains are not pooled, and how far below the best they ended; none where all are."""
    below, _ = _below(fit)
    kept = pooled_chains(fit)
    out = [c for c in range(len(below)) if c not in kept]
    if not out or fit.kept is None:
        return []
    numbers = ", ".join(str(fit.kept.chains[c] + 1) for c in out)
    far = sorted({f"{below[c]:,.0f}": below[c] for c in out}.items(), key=lambda pair: pair[1])
    nats = far[0][0] if len(far) == 1 else f"{far[0][0]} to {far[-1][0]}"
    one = len(out) == 1
    said = f"{'chain' if one else 'chains'} {numbers} ended {nats} nats lower and "
    return textwrap.wrap(f"{said}{'is' if one else 'are'} left out", _WIDTH)


def _below(fit: Fit) -> tuple[list[float], float]:
    """How many nats each kept chain is below the best on average, and how many that one moves."""
    kept = fit.kept
    if kept is None:
        return [], 0.0
    values = np.asarray(kept.log_joint, np.float64)
    if not fit.model.scores.capabilities.comparable or not np.isfinite(values).all():
        return [0.0] * kept.n_chains, 0.0
    best = values[kept.best]
    return (best.mean() - values.mean(axis=1)).tolist(), float(best.std())
