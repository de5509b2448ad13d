"""Beginnings for K components from a fit of another number: split, join, or both.

A single chain may end with two planted components in one and another in two halves, and no sweep
leaves such a mode. What a split or a join is worth is told by the words alone, their loadings
integrated out (MODELS §9): for component k with counts n_k,

    L(n) = Σ_g log Γ(Γ_g) − log Γ(Γ_g + n_g) + Σ_j log Γ(γ_j + n_j) − log Γ(γ_j),

a split of k into a and b gains L(n_a) + L(n_b) − L(n_k), and joining a and b gains the reverse. A
component is split by documents: its words in each go to that half which makes them more probable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import gammaln

from dcomp.data import Counts
from dcomp.inference.start import generator
from dcomp.models.arrays import FloatArray

TRIES, ROUNDS = 3, 8  # of cutting a component in two
LEAST = 1e-3  # words of every component that is left, in a document that loses others
KEPT = 0.95  # share of a document's words that goes to its half


@dataclass(frozen=True, eq=False)
class Words:
    """Where the words of a corpus are: c (I, K) of documents and n (J, K) of features."""

    c: FloatArray
    n: FloatArray

    @property
    def n_components(self) -> int:
        """K."""
        return int(self.n.shape[1])

    def of(self, which: npt.NDArray[np.bool_]) -> Words:
        """Of these components alone, which have all words of their documents."""
        c = self.c[:, which] + LEAST
        c *= (self.c.sum(axis=1) / c.sum(axis=1))[:, None]
        return Words(c, self.n[:, which])


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Splits and joins of fits of one corpus."""

    counts: Counts
    gamma: FloatArray  # (J)
    seed: int

    def at(self, words: Words, n_components: int) -> Words:
        """So many components, by splitting those that gain most or joining those that lose least.

        >>> X = np.kron(np.eye(2, dtype=int), np.full((6, 4), 5))
        >>> whole = Words(X.sum(axis=1, keepdims=True) * 1.0, X.sum(axis=0)[:, None] * 1.0)
        >>> near = Neighbours(Counts.from_matrix(X), np.full(8, 0.5), 0)
        >>> two = near.at(whole, 2)
        >>> sorted((two.n > 15).sum(axis=0).tolist()), near.at(two, 1).n.shape
        ([4, 4], (8, 1))
        """
        while words.n_components < n_components:
            cuts = self.cuts(words)
            most = min(n_components - words.n_components, words.n_components)
            for cut in sorted(cuts, key=lambda cut: -cut.gain)[:most]:
                words = _with_cut(words, cut)
        while words.n_components > n_components:
            words = self.joined(words)
        return words

    def exchanged(self, words: Words) -> Words | None:
        """One component split and two others joined; None where words would not gain by it."""
        if words.n_components < 3:
            return None
        cut = max(self.cuts(words), key=lambda cut: cut.gain)
        loss = self.losses(words)
        loss[cut.component] = loss[:, cut.component] = np.inf
        a, b = np.unravel_index(int(np.argmin(loss)), loss.shape)
        if cut.gain <= loss[a, b]:
            return None
        return _joined(_with_cut(words, cut), int(a), int(b))

    def joined(self, words: Words) -> Words:
        """The two that lose least, joined."""
        a, b = np.unravel_index(int(np.argmin(loss := self.losses(words))), loss.shape)
        return _joined(words, int(a), int(b))

    def pruned(self, words: Words) -> Words | None:
        """Each two that are as good as one joined, a component once at a time; None where words
        lose by every two."""
        loss, fewer = self.losses(words), words
        if loss.min() > 0:
            return None
        gone: list[int] = []
        for flat in np.argsort(loss, axis=None, kind="stable"):
            a, b = (int(x) for x in np.unravel_index(flat, loss.shape))
            if loss[a, b] > 0:
                break
            if a < b and a not in gone and b not in gone:
                gone += [a, b]
        pairs = list(zip(gone[::2], gone[1::2], strict=True))
        for a, b in sorted(pairs, key=lambda pair: -pair[1]):
            fewer = _joined(fewer, a, b)
        return fewer

    def loadings(self, words: Words) -> FloatArray:
        """E[Θ | n], (J, K)."""
        block, weight = self.counts.features.blocks, words.n + self.gamma[:, None]
        total = np.zeros((self.counts.features.n_blocks, words.n_components))
        np.add.at(total, block, weight)
        return np.asarray(weight / total[block])

    def losses(self, words: Words) -> FloatArray:
        """What words lose by joining each two, (K, K); infinite on the diagonal."""
        own, K = self.log_words(words.n), words.n_components
        loss = np.full((K, K), np.inf)
        for a in range(K - 1):
            both = self.log_words(words.n[:, [a]] + words.n[:, a + 1 :])
            loss[a, a + 1 :] = own[a] + own[a + 1 :] - both
        return np.asarray(np.minimum(loss, loss.T))

    def log_words(self, n: FloatArray) -> FloatArray:
        """L of each column of n (J, K)."""
        features, gamma = self.counts.features, self.gamma[:, None]
        N = np.zeros((features.n_blocks, n.shape[1]))
        np.add.at(N, features.blocks, n)
        G = np.bincount(features.blocks, weights=self.gamma, minlength=features.n_blocks)[:, None]
        of_words = (gammaln(gamma + n) - gammaln(gamma)).sum(axis=0)
        return np.asarray(of_words + (gammaln(G) - gammaln(G + N)).sum(axis=0))

    def cuts(self, words: Words) -> list[Cut]:
        """The best cut of each component that was found."""
        W = self.counts
        row = np.repeat(np.arange(W.n_docs), np.diff(W.indptr))
        Theta = self.loadings(words)
        weight = np.zeros(len(row))
        for k in range(words.n_components):
            weight += words.c[row, k] * Theta[W.indices, k]
        found = []
        for k in range(words.n_components):
            p = words.c[row, k] * Theta[W.indices, k] / np.maximum(weight, 1e-300)
            table = sparse.csr_array((W.data * p, W.indices, W.indptr), (W.n_docs, W.n_features))
            found.append(self._cut(k, table))
        return found

    def _cut(self, k: int, table: Any) -> Cut:
        """A component's words in two, by documents: the best of some tries. Whole they are as
        blurred as their halves are: a draw's own counts would be hundreds of nats ahead of both."""
        rng, total = generator(self.seed, purpose=31 + k), np.asarray(table.sum(axis=1)).ravel()
        n, best = np.asarray(table.sum(axis=0)).ravel(), None
        whole = float(self.log_words(n[:, None])[0])
        for _ in range(TRIES):
            side = self._sides(table, total, rng)
            first = np.asarray(side.astype(float) @ table).ravel()
            halves = np.maximum(np.column_stack([first, n - first]), 0.0)
            gain = float(self.log_words(halves).sum()) - whole
            if best is None or gain > best.gain:
                best = Cut(k, gain, side, halves, total)
        assert best is not None
        return best

    def _sides(self, table: Any, total: FloatArray, rng: np.random.Generator) -> Any:
        """Which half each document's words go to. The first half begins with a document, as likely
        as it is long; the second has what that makes least probable."""
        n = np.asarray(table.sum(axis=0)).ravel() + self.gamma
        if total.sum() < 2:
            return rng.random(len(total)) < 0.5
        one = rng.choice(len(total), p=total / total.sum())
        start = np.asarray(table[[one]].sum(axis=0)).ravel()
        first = start / start.sum() + 0.1 * n / n.sum()
        ratio = table @ (np.log(first / first.sum()) - np.log(n / n.sum()))
        side = ratio > np.quantile(ratio[total > 0] / total[total > 0], 0.5) * total
        for _ in range(ROUNDS):
            half = np.asarray(side.astype(float) @ table).ravel()
            a, b = half + self.gamma, n - half
            logs = np.log(a / a.sum()) - np.log(np.maximum(b, 1e-12) / b.sum())
            new = table @ logs > 0
            if (new == side).all():
                break
            side = new
        return side


@dataclass(frozen=True, eq=False)
class Cut:
    """A component in two."""

    component: int
    gain: float
    side: npt.NDArray[np.bool_]  # (I)
    halves: FloatArray  # (J, 2)
    total: FloatArray  # (I): words of the component in each document


def _with_cut(words: Words, cut: Cut) -> Words:
    """One more component, the last."""
    k, own = cut.component, words.c[:, cut.component]
    first = own * np.where(cut.side, KEPT, 1 - KEPT)
    c, n = np.column_stack([words.c, own - first]), np.column_stack([words.n, cut.halves[:, 1]])
    c[:, k], n[:, k] = first, cut.halves[:, 0]
    return Words(c, n)


def _joined(words: Words, a: int, b: int) -> Words:
    c, n = words.c.copy(), words.n.copy()
    c[:, a] += c[:, b]
    n[:, a] += n[:, b]
    return Words(np.delete(c, b, axis=1), np.delete(n, b, axis=1))
