"""Whether the model suits the table, by the chains of the recommended number: how much more counts
vary than it has it, and which γ their loadings look like. Nothing is fitted for it, nor kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dcomp.evaluate.dispersion import dispersion
from dcomp.evaluate.intervals import suited
from dcomp.evaluate.select_chains import ChainScore, Plan

UNKNOWN = float("nan")


def least_dispersion(plan: Plan, chains: Sequence[ChainScore]) -> float:
    """Of the chain in which counts vary least: one that is stuck has two components in one, and
    counts vary around these for no fault of the model. NaN where it has no meaning."""
    if plan.counts.is_fractional:
        return UNKNOWN
    found = [
        dispersion(plan.hidden(place).train, chain.c, chain.Theta.astype(np.float64))
        for place, chain in enumerate(chains)
        if chain.c.size and chain.c.shape[1] == chain.Theta.shape[1]
    ]
    return min((value for value in found if np.isfinite(value)), default=UNKNOWN)


def gammas(plan: Plan, K: int, chains: Sequence[ChainScore]) -> tuple[float, float]:
    """The γ that loadings were told, and what they look like, the middle of all chains; NaN where
    they have no prior, one that is learned, or one of many numbers."""
    if not plan.has_priors:
        return UNKNOWN, UNKNOWN
    loadings: Any = plan.recipe(K).resolve(plan.counts).model.loadings
    if loadings.learned or loadings.gamma.ndim or loadings.fixed is not None:
        return UNKNOWN, UNKNOWN
    words = [np.rint(chain.n).astype(np.int64) for chain in chains if chain.n.size]
    found = [suited(loadings, n, plan.counts.features.blocks).gamma for n in words if n.any()]
    return float(loadings.gamma), float(np.median(found)) if found else UNKNOWN
