"""Roll calls of a parliament whose members stand somewhere on a line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcomp.data import Counts
from dcomp.datasets.draws import (
    Floats,
    check_shares,
    check_sizes,
    frozen,
    generator,
    numbered,
)
from dcomp.errors import InvalidParameter

YEA, NAY = "yea", "nay"


@dataclass(frozen=True, slots=True, eq=False)
class Votes:
    """Yea or nay of each member at each roll call, one block per call, and why they voted so."""

    counts: Counts  # (I, 2G), columns 2g and 2g + 1 are yea and nay; both 0: absent
    ideal_points: Floats  # (I,)
    parties: tuple[str, ...]  # of each member, "left" or "right"
    discrimination: Floats  # (G,), how sharply a call divides; positive: the right votes yea
    cut_points: Floats  # (G,), where on the line yea and nay are as likely
    unanimous: tuple[int, ...]  # calls at which all who were present voted yea


def votes(
    n_members: int = 100,
    n_calls: int = 400,
    *,
    polarisation: float = 1.0,
    absent: float = 0.04,
    unanimous: float = 0.15,
    seed: int = 0,
) -> Votes:
    """Members vote by the distance of their ideal points from a call's cut point.

    p(yea) = 1 / (1 + exp(−d (x − c))), as in item response theory: the ideal point x is normal
    around ±`polarisation` by party, with standard deviation 0.5; the discrimination d has
    lognormal size and either sign; the cut point c is normal. Some members are absent far more
    than others, a share `absent` of all votes on average; at a share `unanimous` of the calls
    nobody votes nay.

    >>> table = votes(30, 40, seed=2)
    >>> table.counts.features.name(1), table.parties[0]
    ('call01=nay', 'left')
    >>> int(table.counts.feature_totals[1::2][list(table.unanimous)].sum())
    0
    """
    check_sizes(n_members=n_members, n_calls=n_calls)
    check_shares(absent=absent, unanimous=unanimous)
    if not 0 <= polarisation < np.inf:
        raise InvalidParameter(f"polarisation must be at least 0; got {polarisation!r}")
    rng = generator(seed)
    is_right = np.arange(n_members) >= n_members // 2
    points = np.where(is_right, polarisation, -polarisation) + rng.normal(0, 0.5, n_members)
    discrimination = rng.choice([-1.0, 1.0], n_calls) * rng.lognormal(1.0, 0.5, n_calls)
    cuts = rng.normal(0, 1, n_calls)
    chance = 1 / (1 + np.exp(-discrimination * (points[:, np.newaxis] - cuts)))
    agreed = np.sort(rng.permutation(n_calls)[: round(unanimous * n_calls)])
    chance[:, agreed] = 1.0
    yea = rng.random(chance.shape) < chance
    away = rng.random(chance.shape) < _absence(rng, n_members, absent)[:, np.newaxis]
    return Votes(
        _table(yea, away),
        frozen(points),
        tuple("right" if right else "left" for right in is_right),
        frozen(discrimination),
        frozen(cuts),
        tuple(agreed.tolist()),
    )


def _absence(rng: np.random.Generator, n_members: int, mean: float) -> Floats:
    """How often each member is absent: most hardly ever, who runs for another office often."""
    if mean in (0, 1):
        return np.full(n_members, float(mean))
    return rng.beta(10 * mean, 10 * (1 - mean), n_members)


def _table(yea: NDArray[np.bool_], away: NDArray[np.bool_]) -> Counts:
    n_members, n_calls = yea.shape
    cast = np.stack([yea & ~away, ~yea & ~away], axis=2).astype(np.int64)
    return Counts.from_matrix(
        cast.reshape(n_members, 2 * n_calls),
        feature_names=[YEA, NAY] * n_calls,
        blocks=np.repeat(numbered("call", n_calls), 2),
        doc_ids=numbered("member", n_members),
    )
