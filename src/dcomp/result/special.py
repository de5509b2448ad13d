"""What makes a component special: measures by which its features are ranked.

θ_jk is the probability of feature j in component k, within its block; p_j that in all components
together, Σ_k π_k θ_jk, where π_k is component k's part of the words of the block. Both are
within blocks, so that lift and relevance compare across them.

probability: θ_jk. lift: θ_jk / p_j, at most 1 / π_k (Taddy 2012). relevance: λ log θ_jk +
(1 − λ) log lift (Sievert and Shirley 2014). frex: the weighted harmonic mean of the ranks, as parts
of all features that are ranked, of θ_jk and of exclusivity θ_jk / Σ_k θ_jk (Bischof and Airoldi
2012); ranks within blocks would tell nothing where these have two features each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.errors import InvalidParameter
from dcomp.models.arrays import FloatArray

MEASURES = ("probability", "lift", "relevance", "frex")
WEIGHTS = {"relevance": 0.6, "frex": 0.5}  # usual ones: λ, and the part of exclusivity
_LEAST = 1e-300


def measured(
    Theta: npt.NDArray[Any],
    blocks: npt.NDArray[np.int32],
    part: FloatArray,
    by: str = "probability",
    weight: float | None = None,
    ranked: npt.NDArray[np.bool_] | None = None,
) -> FloatArray:
    """The measure of each feature in each component, (J, K), of loadings (J, K) and the components'
    parts of each block's words, (G, K). ranked: the features that are to be compared, all unless
    given.

    >>> Theta = np.array([[0.5, 0.5], [0.4, 0.1], [0.1, 0.4]])
    >>> half = np.array([[0.5, 0.5]])
    >>> measured(Theta, np.zeros(3, np.int32), half, "lift")
    array([[1. , 1. ],
           [1.6, 0.4],
           [0.4, 1.6]])
    """
    weight = checked_weight(by, weight)
    theta = np.asarray(Theta, np.float64)
    if by == "probability":
        return theta
    if by == "frex":
        found = np.zeros_like(theta)
        own = np.ones(len(theta), np.bool_) if ranked is None else ranked
        found[own] = _frex(theta[own], weight)
        return found
    lift = theta / np.maximum((theta * part[blocks]).sum(axis=1), _LEAST)[:, None]
    if by == "lift":
        return np.asarray(lift)
    logs = [np.log(np.maximum(value, _LEAST)) for value in (theta, lift)]
    return np.asarray(weight * logs[0] + (1 - weight) * logs[1])


def checked_weight(by: str, weight: float | None) -> float:
    """The weight of a measure, the usual one unless given; an error for what does not exist.

    >>> checked_weight("relevance", None), checked_weight("frex", 0.9)
    (0.6, 0.9)
    """
    if by not in MEASURES:
        raise InvalidParameter(
            f"features are ranked by {', '.join(MEASURES[:-1])} or {MEASURES[-1]}; got {by!r}"
        )
    if weight is None:
        return WEIGHTS.get(by, 1.0)
    if by not in WEIGHTS:
        raise InvalidParameter(f"weight has no effect on {by}; it is that of relevance and of frex")
    if not isinstance(weight, int | float) or isinstance(weight, bool) or not 0 <= weight <= 1:
        raise InvalidParameter(f"weight must be a number from 0 to 1; got {weight!r}")
    return float(weight)


def _frex(theta: FloatArray, weight: float) -> FloatArray:
    exclusive = theta / np.maximum(theta.sum(axis=1), _LEAST)[:, None]
    return np.asarray(1 / (weight / _ranks(exclusive) + (1 - weight) / _ranks(theta)))


def _ranks(values: FloatArray) -> FloatArray:
    """The part of features that are not above each, in each column."""
    columns = [np.searchsorted(np.sort(own), own, side="right") for own in values.T]
    return np.stack(columns, axis=1) / len(values)


def parts_of_blocks(n: npt.NDArray[Any], blocks: npt.NDArray[np.int32]) -> FloatArray:
    """π (G, K): each component's part of the words of each block, from expected counts (J, K); even
    where a block has none.

    >>> parts_of_blocks(np.array([[3.0, 1.0], [0.0, 0.0]]), np.array([0, 1], np.int32))
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    """
    G, K = int(blocks.max()) + 1, n.shape[1]
    sums = np.stack([np.bincount(blocks, n[:, k].astype(np.float64), G) for k in range(K)], axis=1)
    totals = sums.sum(axis=1, keepdims=True)
    return np.asarray(np.where(totals > 0, sums / np.maximum(totals, _LEAST), 1 / K))
