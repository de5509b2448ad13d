"""Mutations of tumours: a few processes in each, and totals that differ ten-thousandfold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcomp.data import Counts
from dcomp.datasets.draws import (
    Floats,
    check_positive,
    check_sizes,
    first_to_arrive,
    frozen,
    generator,
    normalised,
    numbered,
    overdispersed,
)
from dcomp.errors import InvalidParameter


@dataclass(frozen=True, slots=True, eq=False)
class Mutations:
    """Counts of mutation types by tumour, and the signatures that they were made with."""

    counts: Counts  # (I, J)
    memberships: (
        Floats  # (I, K), the share of a tumour's mutations that each signature accounts for
    )
    components: Floats  # (K, J), the signatures; rows sum to 1
    totals: Floats  # (I,), the expected number of mutations


def mutations(
    n_tumours: int = 500,
    n_types: int = 96,
    *,
    n_signatures: int = 10,
    smallest: float = 1e2,
    largest: float = 1e6,
    dispersion: float = 0.02,
    seed: int = 0,
) -> Mutations:
    """Tumours with one to a few active signatures of lognormal strength.

    Expected totals are log-uniform from `smallest` to `largest`. Signatures have lognormal
    loadings, peaked as the published ones are; some are common and some rare. A count varies with
    mean + `dispersion` · mean², so that large tumours are far from Poisson's law.

    >>> table = mutations(50, n_signatures=4, seed=3)
    >>> table.counts.shape, table.components.shape
    ((50, 96), (4, 96))
    """
    check_sizes(n_tumours=n_tumours, n_types=n_types, n_signatures=n_signatures)
    check_positive(smallest=smallest, largest=largest)
    if smallest > largest or largest > 2**30:
        raise InvalidParameter(
            "smallest must not be above largest, nor largest above 2^30; "
            f"got {smallest!r} and {largest!r}"
        )
    if not 0 <= dispersion < np.inf:
        raise InvalidParameter(f"dispersion must be at least 0; got {dispersion!r}")
    rng = generator(seed)
    signatures = normalised(rng.lognormal(0, 2, (n_signatures, n_types)))
    shares = _shares(rng, n_tumours, n_signatures)
    totals = smallest * (largest / smallest) ** rng.random(n_tumours)
    mean = totals[:, np.newaxis] * (shares @ signatures)
    counts = Counts.from_matrix(
        overdispersed(rng, mean, dispersion),
        feature_names=numbered("type", n_types),
        doc_ids=numbered("tumour", n_tumours),
    )
    return Mutations(counts, frozen(shares), frozen(signatures), frozen(totals))


def _shares(rng: np.random.Generator, n_tumours: int, K: int) -> Floats:
    """One active signature and two more on average; the first signatures are the common ones."""
    n_active = np.minimum(1 + rng.poisson(2, n_tumours), K)
    common = np.tile(np.arange(1, K + 1) ** -0.5, (n_tumours, 1))
    is_active = first_to_arrive(rng, common, n_active)
    return normalised(np.where(is_active, rng.lognormal(0, 1, is_active.shape), 0.0))
