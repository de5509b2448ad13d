"""What a factorisation leaves unexplained, from the factors themselves: in double precision, and
without writing the product out."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.models import Observations

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
    counts = observed.counts
    L, F = scores.astype(np.float64), Theta.astype(np.float64)
    blocks, exposure = counts.features.blocks, observed.exposure
    document = np.repeat(np.arange(counts.n_docs), np.diff(counts.indptr))
    total, size = 0.0, max(_AT_A_TIME // L.shape[1], 1)
    for first in range(0, len(counts.data), size):
        entries = slice(first, first + size)
        i, j, x = document[entries], counts.indices[entries], counts.data[entries]
        y = np.einsum("pk,pk->p", L[i], F[j])
        if exposure is not None:
            y *= exposure[i, blocks[j]]
        with np.errstate(divide="ignore"):
            total += float((x * np.log(x / y) - x).sum())
    of_blocks = np.zeros((counts.features.n_blocks, L.shape[1]))
    np.add.at(of_blocks, blocks, F)
    rates = L @ of_blocks.T
    return total + float((rates if exposure is None else rates * exposure).sum())


def half_squares(table: Any, scores: npt.NDArray[Any], components: npt.NDArray[Any]) -> float:
    """½ Σ (x − y)² with y = scores @ components; the table may be sparse.

    >>> half_squares(np.array([[2.0, 0.0]]), np.array([[1.0]]), np.array([[1.0, 1.0]]))
    1.0
    """
    Z, B = scores.astype(np.float64), components.astype(np.float64)
    size, total = max(_AT_A_TIME // B.shape[1], 1), 0.0
    for first in range(0, len(Z), size):
        rows: Any = table[first : first + size]
        rows = rows.toarray() if hasattr(rows, "toarray") else rows
        total += float(((rows - Z[first : first + size] @ B) ** 2).sum())
    return total / 2
