"""The score of a forest of components over leaf counts, and the steps that raise it: B09 5.4.

    F(r, φ) = Σ_h log Z(γ+Ŵ_h)/Z(γ) + Σ_cj n_jc Σ_h r_cjh log(υ_ch / r_cjh),
    Ŵ_hj = Σ_c n_jc r_cjh,      υ_ch = φ_h Π_{h' above h} (1 − φ_h'),  φ_leaf = 1        B09 (1)

is a lower bound of log p(w | c, φ) for every r (MODELS §5). With r ∝ g_hj along the path of c, one
row of weights g per node says all of r, and every step costs nodes × features. Three steps:

- φ_h = N_h / (N_h + M_h), words at h over words at or below it: the maximum given r, always used;
- g = υ exp(ψ(γ+Ŵ) − ψ(Σ(γ+Ŵ))): log Z is convex, so its tangent at Ŵ lies below it and this r,
  the maximum of the tangent's bound, never lowers F;
- a jump: a feature leaves a node, or all nodes below one, altogether. F has many local maxima,
  since sparse loadings pay for every node that a feature has words at, and the second step takes
  hundreds of rounds to empty one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, gammaln, xlogy

from dcomp.models.arrays import FloatArray

IntArray = npt.NDArray[np.int64]
_FEW = 1e-6  # words: no jump for less
_LEAST = 1e-290  # a leaf's weight: its words always have somewhere to go


@dataclass(frozen=True, eq=False)
class Problems:
    """S small trees of one shape, solved side by side; the features of all are one axis of E cells.

    parent: of each of the H nodes, which come after their parents; -1 for the top, node 0.
    n: (H, E) words to place somewhere between their node and the top.
    base: (H, E) words that stay where they are.
    cell: (E) problem · G + block, for G blocks; gamma: (E); gamma_total: (S, G), or (1, G).
    rest: (H, S, G) words of base, and of all features that are no cell, at each node.
    below: (H, S) words strictly below a node that stay where they are.
    """

    parent: tuple[int, ...]
    n: FloatArray
    base: FloatArray
    cell: IntArray
    gamma: FloatArray
    gamma_total: FloatArray
    rest: FloatArray
    below: FloatArray

    @cached_property
    def problem(self) -> IntArray:
        """(E) the problem of each cell."""
        return np.asarray(self.cell // self.rest.shape[2])

    def per_problem(self, values: FloatArray) -> FloatArray:
        """(S) sums over cells."""
        return np.asarray(np.bincount(self.problem, values, self.rest.shape[1]), dtype=np.float64)

    def totals(self, W: FloatArray) -> FloatArray:
        """(H, S, G) all words of each node by block."""
        S, G = self.rest.shape[1:]
        sums = [np.bincount(self.cell, row, S * G).reshape(S, G) for row in W]
        return self.rest + np.array(sums)

    def passing(self, totals: FloatArray) -> tuple[FloatArray, FloatArray]:
        """N and M (H, S): words that stop at a node, and that go on below it."""
        N = totals.sum(axis=2)
        M = self.below.copy()
        placed = N - self.rest.sum(axis=2)
        for h in range(len(self.parent) - 1, 0, -1):
            placed[self.parent[h]] += placed[h]
            M[self.parent[h]] += placed[h]
        return N, M

    def log_stops(self, totals: FloatArray) -> FloatArray:
        """log υ_h (H, S) at the best φ: B09 (1)."""
        N, M = self.passing(totals)
        phi = stop_probability(N, M)
        with np.errstate(divide="ignore"):
            stop, go = np.log(phi), np.log1p(-phi)
        reach = np.zeros_like(stop)
        for h, p in enumerate(self.parent):
            if p >= 0:
                reach[h] = reach[p] + go[p]
        return np.asarray(reach + stop)

    def place(self, g: FloatArray) -> FloatArray:
        """Ŵ (H, E) for r ∝ g along each path."""
        return _place(self.parent, self._sources, self.n, g)[0]

    def score(self, g: FloatArray) -> FloatArray:
        """F (S) at the best φ."""
        W, D = _place(self.parent, self._sources, self.n, g)
        entropy = _entropy(self._sources, self.n, g, W, D)
        return self.per_problem(entropy) + self.complete(W, *self.passing(self.totals(W)))

    def complete(self, W: FloatArray, N: FloatArray, M: FloatArray) -> FloatArray:
        """(S) log p(w, h | c, φ) but for Z of other features, where each word's node h is known:
        F without entropy. N, M: as in `passing`."""
        cells = (gammaln(self.gamma + self.base + W) - gammaln(self.gamma)).sum(axis=0)
        blocks = gammaln(self.gamma_total + self.totals(W)) - gammaln(self.gamma_total)
        return np.asarray(
            self.per_problem(cells) - blocks.sum(axis=(0, 2)) + choice(N, M).sum(axis=0)
        )

    def weights(self, W: FloatArray) -> FloatArray:
        """g of the second step, (H, E); only ratios along a column matter."""
        totals = self.totals(W)
        log_g = digamma(self.gamma + self.base + W)
        G = self.rest.shape[2]
        slope = self.log_stops(totals)[:, :, None] - digamma(self.gamma_total + totals)
        log_g += slope.reshape(len(W), -1, G)[:, self.problem, self.cell % G]
        log_g -= log_g.max(axis=0)
        g = np.exp(log_g)
        g[g < _LEAST] = 0.0  # what lies below would overflow in n / g
        g[self._ends] = np.maximum(g[self._ends], _LEAST)
        return g

    @cached_property
    def _ends(self) -> list[int]:
        """Nodes with none below: weights there are never 0 unless a jump says so."""
        return [h for h in range(len(self.parent)) if h not in self.parent]

    @cached_property
    def _sources(self) -> list[int]:
        """Nodes with words to place."""
        return [h for h in range(len(self.parent)) if self.n[h].any()]

    def jumped(self, W: FloatArray, g: FloatArray) -> FloatArray:
        """g with each feature taken from the nodes where that helps it most, as far as one feature
        can tell while φ and the totals of Ŵ stay."""
        totals = self.totals(W)
        G = self.rest.shape[2]
        cost = digamma(self.gamma_total + totals) - self.log_stops(totals)[:, :, None]
        cost = cost.reshape(len(W), -1, G)[:, self.problem, self.cell % G]
        placed, everywhere = self.place(g), np.arange(g.shape[1])
        best, value = g.copy(), self._cell_value(g, cost, everywhere)
        for nodes in self._jumps():
            cells = np.flatnonzero((placed[nodes] > _FEW).any(axis=0))
            other = g[:, cells]
            other[nodes] = 0
            new = self._cell_value(other, cost, cells)
            better = new > value[cells]
            best[:, cells[better]] = other[:, better]
            value[cells[better]] = new[better]
        return best

    def _jumps(self) -> list[list[int]]:
        """Every node but a lone one, and for internal nodes all nodes below."""
        H = len(self.parent)
        below: list[list[int]] = [[] for _ in range(H)]
        for h in range(1, H):
            up = self.parent[h]
            while up >= 0:
                below[up].append(h)
                up = self.parent[up]
        return [[h] for h in range(H)] + [nodes for nodes in below if len(nodes) > 1]

    def _cell_value(self, g: FloatArray, cost: FloatArray, cells: IntArray) -> FloatArray:
        n = self.n[:, cells]
        W, D = _place(self.parent, self._sources, n, g)
        log_Z = gammaln(self.gamma[cells] + self.base[:, cells] + W).sum(axis=0)
        paid = np.where(W > 0, cost[:, cells], 0.0) * W
        return np.asarray(log_Z + _entropy(self._sources, n, g, W, D) - paid.sum(axis=0))

    def step(self, W: FloatArray, *, jump: bool = False) -> tuple[FloatArray, FloatArray]:
        """g of one round from Ŵ, and F (S). With `jump` the better of two, problem by problem."""
        g = self.weights(W)
        F = self.score(g)
        if not jump:
            return g, F
        other = self.jumped(W, g)
        new = self.score(other)
        return np.where((new > F)[self.problem], other, g), np.maximum(new, F)


def _place(
    parent: tuple[int, ...], sources: list[int], n: FloatArray, g: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Ŵ, and D (H, E): the sum of g from each node to the top. Where that is 0 words are lost."""
    D = g.copy()
    for h, p in enumerate(parent):
        if p >= 0:
            D[h] += D[p]
    share = np.zeros_like(g)
    for h in sources:
        share[h] = n[h] / np.where(D[h] > 0, D[h], 1.0)
    for h in range(len(parent) - 1, 0, -1):
        share[parent[h]] += share[h]
    share *= g
    return share, D


def _entropy(
    sources: list[int], n: FloatArray, g: FloatArray, W: FloatArray, D: FloatArray
) -> FloatArray:
    """Σ_c n Σ_h r log(1/r) = Σ_c n log Σ_path g − Σ_h Ŵ log g of each cell; −inf where words have
    nowhere to go."""
    out: FloatArray = -(W * np.log(np.where(g > 0, g, 1.0))).sum(axis=0)
    for h in sources:
        reached = D[h] > 0
        out += n[h] * np.log(np.where(reached, D[h], 1.0))
        out[~reached & (n[h] > 0)] = -np.inf
    return out


def stop_probability(N: FloatArray, M: FloatArray) -> FloatArray:
    """φ = N / (N + M); 1 where there are no words."""
    return np.divide(N, N + M, out=np.ones_like(N), where=N + M > 0)


def choice(N: FloatArray, M: FloatArray) -> FloatArray:
    """N log φ + M log(1 − φ) at its maximum."""
    return np.asarray(xlogy(N, N) + xlogy(M, M) - xlogy(N + M, N + M))
