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
    J = len(Theta)
    n_seen = max(1, min(counts.n_docs, MOST_CELLS // J))
    rows = np.unique(np.linspace(0, counts.n_docs - 1, n_seen).astype(int))
    w = counts.rows(rows).to_scipy().toarray().astype(np.float64)  # (docs, J)
    blocks = counts.features.blocks
    m = np.asarray(scores, np.float64)[rows]
    rates = m @ np.asarray(Theta, np.float64).T
    p = rates / np.maximum(_of_blocks(rates, blocks), 1e-300)
    expected = p * _of_blocks(w, blocks)
    variance = expected * (1 - p)
    is_seen = (expected >= LEAST_EXPECTED) & (variance > 0.01 * expected)
    freedom = float(is_seen.sum() - _freedom_taken(m, w, expected * is_seen).sum())
    if freedom < FEWEST:
        return float("nan")
    return float(((w - expected)[is_seen] ** 2 / variance[is_seen]).sum() / freedom)


def _freedom_taken(m: FloatArray, w: FloatArray, seen: FloatArray) -> FloatArray:
    """By the fit of each document to its cells that are looked at: one for each component that it
    has a word of, in part where part of its words are there. With K for each, whatever a document
    uses, tables of a dozen components seemed to vary twice as much as their own model has it."""
    shares, lengths = m / np.maximum(m.sum(axis=1, keepdims=True), 1e-300), w.sum(axis=1)
    n_used = (shares * lengths[:, None] >= 1).sum(axis=1)
    return np.asarray(n_used * seen.sum(axis=1) / np.maximum(lengths, 1e-300))


def _of_blocks(x: FloatArray, blocks: npt.NDArray[np.int32]) -> FloatArray:
    """The totals of each row over the block of each feature."""
    n_blocks = int(blocks.max()) + 1
    if n_blocks == 1:
        return np.asarray(x.sum(axis=1, keepdims=True))
    totals = np.zeros((len(x), n_blocks))
    np.add.at(totals.T, blocks, x.T)
    return np.asarray(totals[:, blocks])
