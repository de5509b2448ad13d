"""The score of a forest of components over leaf counts in plain NumPy: B09 4.2, 5.4; MODELS §5.

Leaves c = 0..K−1 are the first of H nodes. A word of leaf c belongs to a node h on the path of c
with probability υ_ch = φ_h Π_{h' above h} (1 − φ_h'), φ_leaf = 1 (B09 (1)), and θ_h ~ Dirichlet(γ)
within each block of features. Dense (K, H, J) arrays, slow and short;
`dcomp.inference.climb` does the same by weights along paths.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, gammaln, logsumexp, xlogy

from dcomp.models.arrays import FloatArray

IntArray = npt.NDArray[np.int64]


def path(parents: Sequence[int], node: int) -> list[int]:
    """The node, its parent, and so on to the top.

    >>> path([3, 3, -1, 4, -1], 0)
    [0, 3, 4]
    """
    return [node] if parents[node] < 0 else [node, *path(parents, parents[node])]


def stops(parents: Sequence[int], phi: FloatArray, K: int) -> FloatArray:
    """υ (K, H): B09 (1). Rows sum to 1.

    >>> stops([2, 2, -1], np.array([1.0, 1.0, 0.25]), 2)
    array([[0.75, 0.  , 0.25],
           [0.  , 0.75, 0.25]])
    """
    out = np.zeros((K, len(parents)))
    for c in range(K):
        for h in path(parents, c):
            out[c, h] = phi[h] * np.prod([1 - phi[above] for above in path(parents, h)[1:]])
    return out


def log_ratio(W: FloatArray, gamma: FloatArray, blocks: IntArray) -> float:
    """log Z(γ+W)/Z(γ) of one node's words (J), Z of each block multiplied."""
    total = 0.0
    for block in np.unique(blocks):
        g, w = gamma[blocks == block], W[blocks == block]
        total += float((gammaln(g + w) - gammaln(g)).sum())
        total -= float(gammaln((g + w).sum()) - gammaln(g.sum()))
    return total


def words(n: FloatArray, r: FloatArray) -> FloatArray:
    """Ŵ (H, J) from n (J, K) and r (K, H, J)."""
    return np.asarray(np.einsum("jc,chj->hj", n, r))


def score(
    n: FloatArray, r: FloatArray, upsilon: FloatArray, gamma: FloatArray, blocks: IntArray
) -> float:
    """Σ_h log Z(γ+Ŵ_h)/Z(γ) + Σ_cj n_jc Σ_h r_cjh log(υ_ch / r_cjh), MODELS §5."""
    total = sum(log_ratio(W, gamma, blocks) for W in words(n, r))
    gap = xlogy(r, upsilon[:, :, None]) - xlogy(r, r)
    return float(total + np.einsum("jc,chj->", n, gap))


def paper_score(n: FloatArray, upsilon: FloatArray, gamma: FloatArray, blocks: IntArray) -> float:
    """B09 (6) without the leaves' own prior: Σ_h log Z(γ+Ŵ_h)/Z(γ) at Ŵ_h = Σ_c υ_ch n_c."""
    return sum(log_ratio(W, gamma, blocks) for W in upsilon.T @ n.T)


def responsibilities(
    W: FloatArray, upsilon: FloatArray, gamma: FloatArray, blocks: IntArray
) -> FloatArray:
    """r_cjh ∝ υ_ch exp(ψ(γ_j+Ŵ_hj) − ψ(Σ_j (γ_j+Ŵ_hj))), (K, H, J)."""
    same = blocks[:, None] == blocks
    log_e = digamma(gamma + W) - digamma((gamma + W) @ same)
    with np.errstate(divide="ignore"):
        log_r = np.log(upsilon)[:, :, None] + log_e
    return np.asarray(np.exp(log_r - logsumexp(log_r, axis=1, keepdims=True)))


def best_phi(parents: Sequence[int], W: FloatArray, K: int) -> FloatArray:
    """φ_h = N_h / (N_h + M_h): words at h, and at nodes below it; 1 at leaves."""
    N = W.sum(axis=1)
    phi = np.ones(len(parents))
    for h in range(K, len(parents)):
        M = sum(N[d] for d in range(len(parents)) if h in path(parents, d)[1:])
        phi[h] = N[h] / (N[h] + M) if N[h] + M > 0 else 1.0
    return phi


def exact_log_evidence(
    n: IntArray, upsilon: FloatArray, gamma: FloatArray, blocks: IntArray
) -> float:
    """log p(w | c, υ) = log Σ_h Π_h Z(γ+W_h)/Z(γ) Π υ, over the nodes of all tokens: B09 4.2.

    >>> one = np.array([[1.0]])  # a plain urn: 1/2 · 2/3
    >>> found = exact_log_evidence(np.array([[2], [0]]), one, np.ones(2), np.zeros(2, dtype=int))
    >>> f"{np.exp(found):.4f}"
    '0.3333'
    """
    tokens = [(j, c) for (j, c), count in np.ndenumerate(n) for _ in range(int(count))]
    H = upsilon.shape[1]
    terms = []
    for nodes in itertools.product(range(H), repeat=len(tokens)):
        W, p = np.zeros((H, len(gamma))), 1.0
        for (j, c), h in zip(tokens, nodes, strict=True):
            W[h, j] += 1
            p *= upsilon[c, h]
        if p > 0:
            terms.append(np.log(p) + sum(log_ratio(row, gamma, blocks) for row in W))
    return float(logsumexp(terms))
