"""The features of each component that the page may show, and the names of all that it shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.data import FeatureSpace
from dcomp.report.packing import name_on_page, packed, smallest
from dcomp.result import Fit
from dcomp.result.special import parts_of_blocks

STEPS = 10  # of λ, from 0 to 1
FEW_BLOCKS = 4  # that can be looked at one by one
_LEAST = 1e-300


class FeatureNames:
    """Names of the features that the page has, numbered as they first come.

    >>> names = FeatureNames(FeatureSpace.build(3, ["a", "b", "c"]))
    >>> names.numbers(np.array([2, 0, 2])), names.as_list()
    ([0, 1, 0], ['c', 'a'])
    """

    def __init__(self, features: FeatureSpace, said: Callable[[str], str] = str) -> None:
        self._features = features
        self._said = said  # a name as its field writes it
        self._place: dict[int, int] = {}

    def numbers(self, features: npt.NDArray[Any]) -> list[int]:
        """Where these are in the list."""
        return [self._place.setdefault(j, len(self._place)) for j in features.tolist()]

    def as_list(self) -> list[str]:
        """The names, safe to show."""
        return [name_on_page(self._said(self._features.name(j))) for j in self._place]

    def blocks(self) -> list[int]:
        """The block of each."""
        return [int(self._features.blocks[j]) for j in self._place]

    def about(self, notes: Any) -> dict[int, str]:
        """What blocks are about, by the place of the feature, where something is known."""
        named = ((p, self._features.block_name(int(self._features.blocks[j])))
                 for j, p in self._place.items())  # fmt: skip
        return {p: name_on_page(notes[block], 160) for p, block in named if notes.get(block)}


def top_of_components(fit: Fit, names: FeatureNames, n: int = 30) -> dict[str, Any]:
    """Of each component every feature that is among the first n by relevance for some λ in steps of
    a tenth, with its probability and the logarithm of its lift: the page ranks them by any of these
    λ as `top_features` would, and by probability (λ = 1) and lift (λ = 0)."""
    blocks = fit.features.blocks
    part = parts_of_blocks(fit.state.n, blocks)
    overall = _overall(fit, part, blocks)
    groups = [np.arange(len(blocks))]
    if 1 < fit.features.n_blocks <= FEW_BLOCKS:
        groups += [np.flatnonzero(blocks == g) for g in range(fit.features.n_blocks)]
    starts, features, theta, lift = [0], list[int](), [], []
    for k in range(fit.n_components):
        own = np.asarray(fit.Theta[:, k], np.float64)
        log_lift = np.log(np.maximum(own / np.maximum(overall, _LEAST), _LEAST))
        log_theta = np.log(np.maximum(own, _LEAST))
        chosen = np.unique(np.concatenate([_first(log_theta, log_lift, g, n) for g in groups]))
        features += names.numbers(chosen)
        theta.append(own[chosen])
        lift.append(log_lift[chosen])
        starts.append(len(features))
    return {
        "start": packed(starts, "u4"),
        "feature": packed(features, smallest(len(features))),
        "theta": packed(np.concatenate(theta), "f4"),
        "lift": packed(np.concatenate(lift), "f4"),
        "shown": n,
        "blocks": [name_on_page(fit.features.block_name(g)) for g in range(len(groups) - 1)],
    }


def _overall(fit: Fit, part: npt.NDArray[Any], blocks: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """p_j, the probability of each feature within its block in all components together, (J)."""
    total = np.zeros(len(blocks))
    for k in range(fit.n_components):  # by column: all at once would take as much memory as Θ
        total += fit.Theta[:, k].astype(np.float64) * part[blocks, k]
    return total


def _first(
    log_theta: npt.NDArray[Any], log_lift: npt.NDArray[Any], own: npt.NDArray[Any], n: int
) -> npt.NDArray[Any]:
    """Features of `own` that are among the first n for some λ; of equals the first, as
    `top_features` has it."""
    n = min(n, own.size)
    theta, lift = log_theta[own], log_lift[own]
    near, most = _near(theta, lift, n)
    found = []
    for step in range(STEPS + 1):
        weight = step / STEPS
        value = weight * theta[near] + (1 - weight) * lift[near]
        may = near
        if np.partition(value, -n)[-n] <= weight * most[0] + (1 - weight) * most[1]:
            value, may = weight * theta + (1 - weight) * lift, np.arange(own.size)
        best = np.flatnonzero(value >= np.partition(value, -n)[-n])
        found.append(own[may[best[np.argsort(-value[best], kind="stable")[:n]]]])
    return np.unique(np.concatenate(found))


def _near(
    theta: npt.NDArray[Any], lift: npt.NDArray[Any], n: int
) -> tuple[npt.NDArray[Any], tuple[float, float]]:
    """The features that are large in one or the other, in their order, and the most that any other
    has of each: whatever is above the same mean of these two is among them. It saves looking at
    all for each λ."""
    m = 10 * n
    if theta.size > 2 * m:
        ends = float(np.partition(theta, -m)[-m]), float(np.partition(lift, -m)[-m])
        near = np.flatnonzero((theta > ends[0]) | (lift > ends[1]))
        if near.size >= n:  # fewer where many are equal
            return near, ends
    return np.arange(theta.size), (-np.inf, -np.inf)
