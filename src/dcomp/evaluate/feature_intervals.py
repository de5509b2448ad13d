"""How sure the loadings of single features are, from the draws that a sampler kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcomp.errors import InvalidParameter
from dcomp.evaluate.align import align_chains
from dcomp.evaluate.mcmc import SHORTEST, rhat_of_all
from dcomp.inference.rhat import SETTLED
from dcomp.models.arrays import FloatArray, read_only
from dcomp.result.of_estimator import as_fit


@dataclass(frozen=True, eq=False)
class FeatureIntervals:
    """Ends of the intervals of θ for some features of a component; NaN-free: where the draws have
    not settled, `settled` is False and the ends are the loading itself."""

    low: FloatArray
    high: FloatArray
    settled: tuple[bool, ...]
    level: float


def feature_intervals(
    fit: Any, component: int, features: Sequence[int], level: float = 0.9
) -> FeatureIntervals | None:
    """Intervals of the loadings of these features, chains aligned; None where no draws of loadings
    were kept, too few, or of one chain alone, which cannot tell whether it has settled.

    >>> import dcomp
    >>> X = np.random.default_rng(0).poisson([[4, 3, 0, 0]] * 20 + [[0, 0, 4, 3]] * 20)
    >>> model = dcomp.LDA(2, algorithm="gibbs", max_iter=400, n_draws=40, n_chains=2, verbose=0)
    >>> found = feature_intervals(model.fit(X), 0, [0, 1])
    >>> bool((found.low <= found.high).all()), len(found.settled)
    (True, 2)
    """
    fit = as_fit(fit)
    if not 0.0 < level < 1.0:
        raise InvalidParameter(f"level must lie between 0 and 1; got {level}")
    if fit.kept is None or fit.kept.Theta is None or fit.kept.n_draws < SHORTEST:
        return None
    drawn = fit.draws.Theta
    if drawn is None or len(drawn) < 2:
        return None
    drawn = align_chains(fit).apply(drawn)
    own = np.asarray(drawn[:, :, list(features), component], np.float64)  # (C, S, n)
    settled = rhat_of_all(own) <= SETTLED
    ends = np.quantile(own.reshape(-1, own.shape[2]), [(1 - level) / 2, (1 + level) / 2], axis=0)
    at = np.asarray(fit.Theta, np.float64)[list(features), component]
    low, high = np.where(settled, ends, at)
    return FeatureIntervals(read_only(low), read_only(high), tuple(bool(s) for s in settled), level)
