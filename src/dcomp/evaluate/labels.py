"""Sums over the renumberings of components, without listing them: what labels cost the evidence.

Where a log weight is Σ_k A[k, σ(k)], its sum over all σ is a permanent of exp(A). That of K columns
takes 2^K K steps, so components are first parted: after the best σ is made the identity and scaled
to weight 0 (the potentials of an assignment problem), every cycle that leaves a cluster of
components weighs less than rounding. Clusters are small unless many components are alike, as they
are to a prior whose learned numbers differ a little: then the sum is drawn from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components
from scipy.special import gammaln, logsumexp

from dcomp.models.arrays import FloatArray

MOST = 14  # components of a cluster whose sum is exact: 2^14 subsets
_NOTHING = -40.0  # logs below this are lost in rounding, and K of them too
_SWAPS = 50  # proposed per component, where no σ can be drawn exactly
_DRAWS = 1000  # of σ, for the sum of a cluster that is too large
_SCALINGS = 100  # of rows and columns in turn
_RARE = 1e-30  # of a scaled row: nothing is ruled out

IntArray = npt.NDArray[np.int64]
Pieces = list[tuple[IntArray, FloatArray]]  # rows (and columns) of a cluster, and its logs


@dataclass(frozen=True)
class LabelSum:
    """log Σ_σ exp(Σ_k A[k, σ(k)]), known to lie in [low, high]; they are equal but for clusters of
    more than `MOST` components. Where these were drawn from, exp(low) is right in the mean and so
    is exp(−high): what a weight needs that is multiplied by the sum, or divided."""

    low: float
    high: float


def label_sum(A: FloatArray, rng: np.random.Generator | None = None) -> LabelSum:
    """Over all renumberings; with `rng` the sums of large clusters are drawn from, else bounded.

    >>> found = label_sum(np.log([[1.0, 2.0], [3.0, 4.0]]))  # 1·4 + 2·3
    >>> round(float(np.exp(found.low)), 6), found.low == found.high
    (10.0, True)
    """
    if np.ptp(A, axis=1).max() <= 1e-12 * (1 + np.abs(A).max()):  # all are alike
        value = float(A[:, 0].sum() + gammaln(len(A) + 1))
        return LabelSum(value, value)
    _, top, pieces = _parted(A)
    low = high = top
    for _, C in pieces:
        if len(C) <= MOST:
            value = float(_subsets(C)[-1])
            low, high = low + value, high + value
        elif rng is not None:
            low += _drawn_sum(C, rng)
            high += _drawn_sum(C, rng, _draw_by_swaps(C, rng))
        else:
            high += float(logsumexp(C, axis=1).sum())  # a product of row sums is never too low
    return LabelSum(low, high)


def draw_labels(A: FloatArray, rng: np.random.Generator) -> IntArray:
    """σ with probability ∝ exp(Σ_k A[k, σ(k)]); by many swaps where a cluster is too large."""
    best, _, pieces = _parted(A)
    sigma = best.copy()
    for members, C in pieces:
        chosen = _draw_exactly(C, rng) if len(C) <= MOST else _draw_by_swaps(C, rng)
        sigma[members] = best[members[chosen]]
    return sigma


def _parted(A: FloatArray) -> tuple[IntArray, float, Pieces]:
    """The best σ, its log weight, and the clusters with more than one member."""
    rows, best = linear_sum_assignment(A, maximize=True)
    B = A[:, best] - A[rows, best][:, None]
    u = np.zeros(len(B))
    for _ in range(len(B)):  # B + u_k − u_l ≤ 0: no cycle is better than the identity
        u = np.maximum(u, (u[:, None] + B).max(axis=0))
    C = np.minimum(B + u[:, None] - u, 0.0)
    np.fill_diagonal(C, 0.0)
    number, cluster = connected_components(C > _NOTHING, directed=True, connection="strong")
    members = [np.flatnonzero(cluster == c) for c in range(number)]
    top = float(A[rows, best].sum())
    return best, top, [(m, C[np.ix_(m, m)]) for m in members if len(m) > 1]


def _subsets(C: FloatArray) -> FloatArray:
    """For each set of columns, as bits, the log sum over the ways of giving them to the first rows,
    as many as there are columns in it."""
    K = len(C)
    masks = np.arange(1 << K)
    size = np.array([int(mask).bit_count() for mask in masks])
    total = np.full(1 << K, -np.inf)
    total[0] = 0.0
    for k in range(K):
        for column in range(K):
            free = masks[(size == k) & (masks >> column & 1 == 0)]
            into = free | 1 << column
            total[into] = np.logaddexp(total[into], total[free] + C[k, column])
    return total


def _draw_exactly(C: FloatArray, rng: np.random.Generator) -> IntArray:
    total, mask = _subsets(C), (1 << len(C)) - 1
    sigma = np.empty(len(C), dtype=np.int64)
    for k in range(len(C) - 1, -1, -1):
        columns = np.flatnonzero(mask >> np.arange(len(C)) & 1)
        logs = total[mask ^ (1 << columns)] + C[k, columns]
        sigma[k] = rng.choice(columns, p=np.exp(logs - logsumexp(logs)))
        mask ^= 1 << int(sigma[k])
    return sigma


def _draw_by_swaps(C: FloatArray, rng: np.random.Generator) -> IntArray:
    sigma = np.arange(len(C))
    pairs = rng.integers(len(C), size=(_SWAPS * len(C), 2)).tolist()
    for (a, b), limit in zip(pairs, np.log(rng.random(len(pairs))), strict=True):
        gain = C[a, sigma[b]] + C[b, sigma[a]] - C[a, sigma[a]] - C[b, sigma[b]]
        if limit < gain:
            sigma[[a, b]] = sigma[[b, a]]
    return sigma


def _drawn_sum(C: FloatArray, rng: np.random.Generator, held: IntArray | None = None) -> float:
    """The log of the mean weight of many σ, drawn row by row: right in the mean. One of them may be
    held: where that is a draw of σ with probability ∝ exp(Σ C[k, σ(k)]), the reciprocal is.

    Rows and columns are scaled to sums of 1, and a free column is as likely as the row has it over
    what later rows have of it: for learned α of 24 components the logs of weights had a variance of
    0.013, and of 6.3 without that division."""
    K, every = len(C), np.arange(_DRAWS)
    C, log_scale = _scaled(C)
    order = np.argsort(-(np.exp(C) ** 2).sum(axis=1))  # those with least choice first
    p = np.exp(C[order])
    later = np.cumsum(p[::-1], axis=0)[::-1] - p
    free, log_weight = np.ones((_DRAWS, K)), np.zeros(_DRAWS)
    for step, k in enumerate(order):
        odds = p[step] / np.maximum(later[step], 1e-9) if step < K - 1 else p[step]
        running = np.cumsum(free * np.maximum(odds, _RARE), axis=1)
        total = running[:, -1]
        column = np.argmax(running > (rng.random(_DRAWS) * total)[:, None], axis=1)
        if held is not None:
            column[0] = held[k]
        log_weight += C[k, column] - np.log(np.maximum(odds, _RARE)[column] / total)
        free[every, column] = 0.0
    return float(logsumexp(log_weight)) - float(np.log(_DRAWS)) - log_scale


def _scaled(C: FloatArray) -> tuple[FloatArray, float]:
    """Rows and columns whose exponentials add up to 1, nearly, and the log of what that took."""
    p, rows, columns = np.exp(C), np.ones(len(C)), np.ones(len(C))  # C ≤ 0, its diagonal 0
    for _ in range(_SCALINGS):
        rows = 1 / (p * columns).sum(axis=1)
        columns = 1 / (p * rows[:, None]).sum(axis=0)
    log_rows, log_columns = np.log(rows), np.log(columns)
    return C + log_rows[:, None] + log_columns, float(log_rows.sum() + log_columns.sum())


@dataclass(frozen=True, eq=False)
class TreeLabels:
    """The same for a tree: siblings change places with all that is below them, where priors and
    shapes are equal."""

    keeps_prior: ClassVar[bool] = True

    children: tuple[tuple[int, ...], ...]
    kind: tuple[int, ...]  # nodes of one kind are alike, down to their leaves

    def sum(self, A: FloatArray, rng: np.random.Generator | None = None) -> LabelSum:
        """Over the renumberings that keep the tree; bounds, for sums of sums drawn from would not
        be right in the mean."""
        return self._walk(A, 0, 0)

    def draw(self, A: FloatArray, rng: np.random.Generator) -> IntArray:
        """One of them, with probability ∝ exp(Σ_k A[k, σ(k)])."""
        sigma = np.arange(len(A))
        self._place(A, 0, 0, sigma, rng)
        return sigma

    def _groups(self, a: int, b: int) -> list[tuple[list[int], list[int]]]:
        """The children of a and of b, alike with alike."""

        def of(node: int, kind: int) -> list[int]:
            return [child for child in self.children[node] if self.kind[child] == kind]

        kinds = sorted({self.kind[child] for child in self.children[a]})
        return [(of(a, kind), of(b, kind)) for kind in kinds]

    def _table(self, A: FloatArray, rows: list[int], columns: list[int], end: str) -> FloatArray:
        return np.array([[getattr(self._walk(A, a, b), end) for b in columns] for a in rows])

    def _walk(self, A: FloatArray, a: int, b: int) -> LabelSum:
        """What is at and below a, given to what is at and below b."""
        low = high = float(A[a, b])
        for rows, columns in self._groups(a, b):
            low += label_sum(self._table(A, rows, columns, "low")).low
            high += label_sum(self._table(A, rows, columns, "high")).high
        return LabelSum(low, high)

    def _place(
        self, A: FloatArray, a: int, b: int, sigma: IntArray, rng: np.random.Generator
    ) -> None:
        sigma[a] = b
        for rows, columns in self._groups(a, b):
            chosen = draw_labels(self._table(A, rows, columns, "low"), rng)
            for row, column in zip(rows, chosen, strict=True):
                self._place(A, row, columns[column], sigma, rng)


class AllLabels:
    """All renumberings, of components that hang on nothing."""

    keeps_prior: ClassVar[bool] = False  # some may change p(z)

    def sum(self, A: FloatArray, rng: np.random.Generator | None = None) -> LabelSum:
        """Over all of them."""
        return label_sum(A, rng)

    def draw(self, A: FloatArray, rng: np.random.Generator) -> IntArray:
        """One of them, with probability ∝ exp(Σ_k A[k, σ(k)])."""
        return draw_labels(A, rng)


def labels_of(scores: Any) -> AllLabels | TreeLabels:
    """The renumberings that a prior's components allow."""
    nodes = scores.nodes
    if nodes is None:
        return AllLabels()
    K = scores.n_components
    children: list[list[int]] = [[] for _ in range(K)]
    for child, parent in nodes.edges:
        children[parent].append(child)
    numbers: dict[Any, int] = {}
    kind = [0] * K

    def visit(k: int) -> int:
        below = tuple(sorted(map(visit, children[k])))
        own = tuple(float(parameter.value[k]) for parameter in scores.parameters())
        kind[k] = numbers.setdefault((own, below), len(numbers))
        return kind[k]

    visit(0)
    return TreeLabels(tuple(map(tuple, children)), tuple(kind))
