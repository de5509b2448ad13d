"""The word side that the models share: log-likelihood of counts given scores, simulation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dcomp.data import Counts, FeatureSpace
from dcomp.models.arrays import FloatArray


def word_means(counts: Counts, scores: FloatArray, Theta: FloatArray) -> FloatArray:
    """(Θ s)_j at each stored count, in CSR order; never the dense I×J matrix."""
    documents = np.repeat(np.arange(counts.n_docs), np.diff(counts.indptr))
    return np.asarray(np.einsum("pk,pk->p", scores[documents], Theta[counts.indices]))


def word_log_likelihood(counts: Counts, scores: FloatArray, Theta: FloatArray) -> FloatArray:
    """Σ_j w_ij log (Θ s_i)_j per document."""
    documents = np.repeat(np.arange(counts.n_docs), np.diff(counts.indptr))
    terms = counts.data * np.log(word_means(counts, scores, Theta))
    totals = np.bincount(documents, weights=terms, minlength=counts.n_docs)
    return totals.astype(np.float64)


def draw_words(
    features: FeatureSpace,
    m: FloatArray,
    Theta: FloatArray,
    totals: npt.NDArray[np.int64],
    rng: np.random.Generator,
) -> Counts:
    """Counts with totals (I, G) from Multinomial(L_ig, Θ m_i) within each block."""
    W = np.zeros((len(m), len(Theta)), dtype=np.int64)
    for g in range(features.n_blocks):
        members = np.flatnonzero(features.blocks == g)
        for i in range(len(m)):
            p = Theta[members] @ m[i]
            W[i, members] = rng.multinomial(totals[i, g], p / p.sum())
    return Counts.from_matrix(W).with_features(features)
