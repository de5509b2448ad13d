"""What a factorisation leaves unexplained, from the factors themselves: in double precision, and
without writing their product out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dcomp.models import Observations
from dcomp.models.arrays import FloatArray

_AT_A_TIME = 1 << 22  # numbers of a product that are held at once


def kullback_leibler(
    observed: Observations, scores: npt.NDArray[Any], Theta: npt.NDArray[Any]
) -> float:
    """Σ_ij x log(x/y) − x + y with y = e (Θl)_j, the exposure of a document in the block of j.

    >>> from dcomp import Counts
    >>> observed = Observations.build(Counts.from_matrix([[2, 0], [1, 3]]))
    >>> round(kullback_leibler(observed, np.array([[2.0], [4.0]]), np.array([[0.5], [0.5]])), 6)
    1.909543
    """
    counts, exposure = observed.counts, observed.exposure
    L, F, blocks = scores.astype(np.float64), Theta.astype(np.float64), counts.features.blocks
    total = 0.0
    for entries, i, y in _products(counts.indptr, counts.indices, L, F):
        x = counts.data[entries]
        if exposure is not None:
            y = y * exposure[i, blocks[counts.indices[entries]]]
        with np.errstate(divide="ignore"):
            total += float((x * np.log(x / y) - x).sum())
    of_blocks = np.zeros((counts.features.n_blocks, L.shape[1]))
    np.add.at(of_blocks, blocks, F)
    rates = L @ of_blocks.T
    return total + float((rates if exposure is None else rates * exposure).sum())


def half_squares(table: Any, scores: npt.NDArray[Any], components: npt.NDArray[Any]) -> float:
    """½ Σ (x − y)² with y = scores @ components, (I, K) and (K, J); the table may be sparse.

    >>> dense, scores = np.array([[2.0, 0.0]]), np.array([[1.0]])
    >>> components = np.array([[1.0, 1.0]])
    >>> half_squares(dense, scores, components)
    1.0
    >>> half_squares(sparse.csr_array(dense), scores, components)
    1.0
    """
    Z, B = scores.astype(np.float64), components.astype(np.float64)
    is_sparse: bool = sparse.issparse(table)
    if not is_sparse:
        size = max(_AT_A_TIME // B.shape[1], 1)
        starts = range(0, len(Z), size)
        return (
            sum(float(((table[i : i + size] - Z[i : i + size] @ B) ** 2).sum()) for i in starts) / 2
        )
    # Σ x (x − 2y) over the entries and Σ y² over all.
    rows: Any = table.tocsr()
    total = float(((Z.T @ Z) * (B @ B.T)).sum())
    for entries, _, y in _products(rows.indptr, rows.indices, Z, B.T):
        x = rows.data[entries]
        total += float((x * (x - 2 * y)).sum())
    return max(total, 0.0) / 2


def _products(
    indptr: npt.NDArray[Any], indices: npt.NDArray[Any], left: FloatArray, right: FloatArray
) -> Iterator[tuple[slice, npt.NDArray[Any], FloatArray]]:
    """Runs of entries with their documents and Σ_k left_ik right_jk at each."""
    document = np.repeat(np.arange(len(left)), np.diff(indptr))
    size = max(_AT_A_TIME // left.shape[1], 1)
    for first in range(0, len(indices), size):
        entries = slice(first, first + size)
        i, j = document[entries], indices[entries]
        yield entries, i, np.einsum("pk,pk->p", left[i], right[j])
