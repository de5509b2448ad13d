"""Whether counts vary more than a model of single words has it: Pearson's X² over its degrees of
freedom, of counts given each document's totals. Words that come in bursts, reads of one molecule
and molecules of one cell are no separate words, and all that is concluded from so many is too sure.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dcomp.data import Counts
from dcomp.models.arrays import FloatArray

MOST_CELLS = 2_000_000  # of documents that are looked at, spread over all
LEAST_EXPECTED = 1.0  # words of a cell: X² of rarer ones has long tails
FEWEST = 100  # degrees of freedom, below which chance alone makes it vary
STRONG = 2.0  # times the variance of the model, from which on it is said


def dispersion(counts: Counts, scores: npt.NDArray[np.floating], Theta: FloatArray) -> float:
    """How many times the model's variance counts have around scores (I, K) and loadings (J, K); 1
    where the model is right, NaN where too few cells expect a word.

    >>> rng = np.random.default_rng(0)
    >>> Theta = rng.dirichlet(np.ones(20), 2).T
    >>> shares = rng.dirichlet(np.ones(2), 50)
    >>> X = np.array([rng.multinomial(200, Theta @ m) for m in shares])
    >>> round(dispersion(Counts.from_matrix(X), shares, Theta), 1)
    1.0
    >>> round(dispersion(Counts.from_matrix(3 * X), shares, Theta), 1)  # each word said thrice
    3.2
    """
    J, K = Theta.shape
    n_seen = max(1, min(counts.n_docs, MOST_CELLS // J))
    rows = np.unique(np.linspace(0, counts.n_docs - 1, n_seen).astype(int))
    w = counts.rows(rows).to_scipy().toarray().astype(np.float64)  # (docs, J)
    blocks = counts.features.blocks
    rates = np.asarray(scores, np.float64)[rows] @ np.asarray(Theta, np.float64).T
    p = rates / np.maximum(_of_blocks(rates, blocks), 1e-300)
    expected = p * _of_blocks(w, blocks)
    variance = expected * (1 - p)
    is_seen = (expected >= LEAST_EXPECTED) & (variance > 0.01 * expected)
    freedom = float(is_seen.sum()) - K * float(is_seen.any(axis=1).sum())
    if freedom < FEWEST:
        return float("nan")
    return float(((w - expected)[is_seen] ** 2 / variance[is_seen]).sum() / freedom)


def _of_blocks(x: FloatArray, blocks: npt.NDArray[np.int32]) -> FloatArray:
    """The totals of each row over the block of each feature."""
    n_blocks = int(blocks.max()) + 1
    if n_blocks == 1:
        return np.asarray(x.sum(axis=1, keepdims=True))
    totals = np.zeros((len(x), n_blocks))
    np.add.at(totals.T, blocks, x.T)
    return np.asarray(totals[:, blocks])
