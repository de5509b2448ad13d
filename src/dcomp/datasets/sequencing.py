"""Single cells: types with marker genes, seen through libraries of very different size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcomp.data import Counts
from dcomp.datasets.draws import (
    Floats,
    check_positive,
    check_shares,
    check_sizes,
    frozen,
    generator,
    normalised,
    numbered,
    overdispersed,
)
from dcomp.errors import InvalidParameter


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Molecules of each gene in each cell, and the types that the cells are of."""

    counts: Counts  # (I, J)
    memberships: Floats  # (I, K), 1 for the type of a cell; two shares where it is in between
    components: Floats  # (K, J), the expression of each type; rows sum to 1
    library_sizes: Floats  # (I,), the expected number of molecules


def cells(
    n_cells: int = 500,
    n_genes: int = 1000,
    *,
    n_types: int = 5,
    markers: float = 0.05,
    between: float = 0.15,
    depth: float = 2000.0,
    dispersion: float = 0.5,
    seed: int = 0,
) -> Cells:
    """Cells of a few types, some on their way from one to another.

    Genes have lognormal expression; a share `markers` of them, drawn for each type, is there ten
    times stronger on average. A share `between` of the cells is a mixture of two types. Library
    sizes are lognormal around `depth`; counts are negative binomial with the given `dispersion`.

    >>> table = cells(30, 200, n_types=3, seed=5)
    >>> table.counts.shape, (table.memberships > 0).sum(axis=1).max().tolist()
    ((30, 200), 2)
    """
    check_sizes(n_cells=n_cells, n_genes=n_genes, n_types=n_types)
    check_shares(markers=markers, between=between)
    check_positive(depth=depth)
    if not 0 <= dispersion < np.inf:
        raise InvalidParameter(f"dispersion must be at least 0; got {dispersion!r}")
    rng = generator(seed)
    expression = rng.lognormal(0, 1.5, n_genes) * np.ones((n_types, 1))
    is_marker = rng.random(expression.shape) < markers
    expression *= np.where(is_marker, rng.lognormal(np.log(10), 0.5, expression.shape), 1.0)
    types = normalised(expression)
    shares = _shares(rng, n_cells, n_types, between)
    sizes = depth * rng.lognormal(0, 0.6, n_cells)
    counts = Counts.from_matrix(
        overdispersed(rng, sizes[:, np.newaxis] * (shares @ types), dispersion),
        feature_names=numbered("gene", n_genes),
        doc_ids=numbered("cell", n_cells),
    )
    return Cells(counts, frozen(shares), frozen(types), frozen(sizes))


def _shares(rng: np.random.Generator, n_cells: int, K: int, between: float) -> Floats:
    """Types of unequal size; who is in between has a share of the next type too."""
    size = normalised(1 / np.arange(1, K + 1))
    first = rng.choice(K, n_cells, p=size)
    other = (first + 1) % K
    part = np.where(rng.random(n_cells) < between, rng.uniform(0.2, 0.8, n_cells), 0.0)
    return (1 - part)[:, np.newaxis] * np.eye(K)[first] + part[:, np.newaxis] * np.eye(K)[other]
