"""Receipts: a handful of items each, mostly the popular ones, some in bundles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcomp.data import Counts
from dcomp.datasets.draws import (
    Floats,
    check_positive,
    check_shares,
    check_sizes,
    first_to_arrive,
    frozen,
    generator,
    normalised,
    numbered,
)
from dcomp.errors import InvalidParameter


@dataclass(frozen=True, slots=True, eq=False)
class Baskets:
    """Which items are on each receipt, and what the shoppers went for."""

    counts: Counts  # (I, J), 0 or 1
    memberships: Floats  # (I, K), 1 for the errand of a basket
    components: Floats  # (K, J), how much each errand asks for each item; rows sum to 1
    bundles: tuple[tuple[int, int], ...]  # the second item often follows the first


def baskets(
    n_baskets: int = 1000,
    n_items: int = 150,
    *,
    n_errands: int = 6,
    size: float = 4.0,
    n_bundles: int = 10,
    together: float = 0.6,
    seed: int = 0,
) -> Baskets:
    """Baskets of 1 item and more, `size` on average before bundles, each for one errand.

    Popularity falls with the rank of an item by a power law, and errands change it by lognormal
    factors. An item is on a receipt once: items are drawn without replacement. Where the first item
    of a bundle is bought, its second is too with probability `together`.

    >>> table = baskets(50, 30, n_bundles=3, seed=6)
    >>> table.counts.shape, int(table.counts.data.max()), len(table.bundles)
    ((50, 30), 1, 3)
    """
    check_sizes(n_baskets=n_baskets, n_items=n_items, n_errands=n_errands)
    check_positive(size=size)
    check_shares(together=together)
    if not 1 <= size <= n_items:
        raise InvalidParameter(f"size must be from 1 to {n_items}, the items; got {size!r}")
    if not 0 <= 2 * n_bundles <= n_items:
        raise InvalidParameter(
            f"n_bundles must be from 0 to {n_items // 2}, two items each; got {n_bundles!r}"
        )
    rng = generator(seed)
    popularity = np.arange(1, n_items + 1) ** -0.9
    errands = normalised(popularity * rng.lognormal(0, 1.2, (n_errands, n_items)))
    errand = rng.integers(n_errands, size=n_baskets)
    bought = first_to_arrive(rng, errands[errand], 1 + rng.poisson(size - 1, n_baskets))
    bundles = rng.permutation(n_items)[: 2 * n_bundles].reshape(-1, 2)
    follows = rng.random((n_baskets, n_bundles)) < together
    bought[:, bundles[:, 1]] |= bought[:, bundles[:, 0]] & follows
    counts = Counts.from_matrix(
        bought.astype(np.int64),
        feature_names=numbered("item", n_items),
        doc_ids=numbered("basket", n_baskets),
    )
    pairs = tuple((int(first), int(second)) for first, second in bundles)
    return Baskets(counts, frozen(np.eye(n_errands)[errand]), frozen(errands), pairs)
