"""A start from the spectrum of the table, for tables that are not mostly zeros.

Shares of features within each document's blocks lie near a plane with the components as corners:
the mean and the K − 1 first directions of a singular value decomposition. Within that plane
memberships and loadings are found in turn by least squares, none of them negative (alternating
least squares). It costs a few sweeps and has no random valleys: on genotypes, votes and counts of
unequal size sweeps that begin here end higher than from single documents; on text, whose rare
words hide the plane, lower (docs/decisions/0021).

Every pass is a sum over documents: parts give their share of AᵀAV, and of small tables K × K.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dcomp.data import Counts
from dcomp.data.mapped import runs
from dcomp.errors import InvalidParameter
from dcomp.executors import Executor
from dcomp.inference.start import generator, keyed_uniform, seeded_state
from dcomp.inference.state import Global, Local, State
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray, read_only
from dcomp.models.options import whole_number

STARTS = ("auto", "seeded", "spectral")
DENSE = 0.1  # share of entries above 0, from which on a table is dense
POWERS, EXTRA = 4, 6  # passes over the table, and directions more than are wanted
TURNS, STILL = 300, 1e-5  # of the alternation, at most and until no membership changes by more
EVEN = 0.01  # of a start that is even, so that nothing begins at 0
AT_ONCE = 1 << 18  # entries that are divided together: what is in between stays in the cache
_MEMBERSHIP = 6  # use of a document's random numbers


def check_climb_start(start: str) -> None:
    """An error unless a climb can begin like this."""
    if start not in STARTS:
        raise InvalidParameter(f"start must be one of {', '.join(STARTS)}; got {start!r}")


def check_tries(n_tries: int | str) -> None:
    """An error unless so many starts can be tried."""
    if n_tries != "auto":
        whole_number("n_tries", n_tries, 1)


def is_spectral(start: str, model: Model, observed: Observations) -> bool:
    """Whether a climb begins by the spectrum: where it is told to, or the table is not mostly
    zeros; never where there are too few rows or columns for the plane, where components are nodes,
    or where something is known of them beforehand, which the plane does not know."""
    counts, K = observed.counts, model.n_components
    n_free = counts.n_features - counts.features.n_blocks  # shares of a block sum to 1
    is_known = model.loadings.is_own or observed.allowed is not None
    if model.scores.nodes is not None or is_known or not 2 <= K <= min(counts.n_docs, n_free):
        return False
    return start == "spectral" or (start == "auto" and is_dense(counts))


def is_dense(counts: Counts) -> bool:
    """Whether a table is not mostly zeros."""
    return counts.nnz >= DENSE * counts.n_docs * counts.n_features


def climb_state(
    start: str, model: Model, observed: Observations, seed: int, dtype: Any, executor: Executor
) -> State:
    """Where an algorithm that climbs begins."""
    begin = spectral_state if is_spectral(start, model, observed) else seeded_state
    return begin(model, observed, seed, dtype, executor)


def spectral_state(
    model: Model, observed: Observations, seed: int, dtype: Any, executor: Executor
) -> State:
    """Scores and loadings as the spectrum has them."""
    parts, K = observed.parts, model.n_components
    features = observed.counts.features
    tables, totals = executor.map_reduce(_table, parts, [None] * len(parts), None)
    of_blocks = np.bincount(features.blocks, weights=totals)
    mean = totals / np.where(of_blocks > 0, of_blocks, 1.0)[features.blocks]
    centre = _Centre(mean, features.blocks, features.n_blocks)
    V = _directions(K, parts, tables, centre, seed, executor)
    right = np.column_stack([mean, V])
    scores, fitted = executor.map_reduce(_begin, parts, tables, _Plane(centre, V, K, seed))
    for _ in range(TURNS):
        Theta = _normalised(right @ (fitted.cross @ np.linalg.pinv(fitted.gram)), mean, features)
        turn = right.T @ Theta @ np.linalg.pinv(Theta.T @ Theta)
        scores, fitted = executor.map_reduce(_turn, parts, scores, turn)
        if fitted.change < STILL:
            break
    after, words = executor.map_reduce(_end, parts, scores, dtype)
    n = read_only((Theta * words[features.blocks]).astype(dtype))
    return State(Global(model, n, 0, seed), after, observed.counts.firsts)


def _directions(
    K: int, parts: Any, tables: Any, centre: _Centre, seed: int, executor: Executor
) -> FloatArray:
    """The K − 1 first right singular vectors of the centred table, (J, K − 1)."""
    J = len(centre.mean)
    width = min(K - 1 + EXTRA, J)
    V = np.linalg.qr(generator(seed, purpose=1).standard_normal((J, width)))[0]
    for power in range(POWERS):
        _, image = executor.map_reduce(_image, parts, tables, (centre, V))
        if power < POWERS - 1:
            V = np.linalg.qr(image)[0]
    _, vectors = np.linalg.eigh(V.T @ image)
    return np.asarray(V @ vectors[:, :-K:-1])


def _normalised(Theta: FloatArray, mean: FloatArray, features: Any) -> FloatArray:
    """Loadings that sum to 1 in each block, none at 0 where the feature has words."""
    Theta = np.maximum(Theta, 0.0)
    blocks, even = features.blocks, mean[:, None]
    totals = np.stack([np.bincount(blocks, weights=column) for column in Theta.T], axis=1)[blocks]
    out = np.broadcast_to(even, Theta.shape).copy()
    shares = np.divide(Theta, totals, where=totals > 0, out=out)
    return np.asarray((1 - EVEN) * shares + EVEN * even)


@dataclass(frozen=True)
class _Centre:
    """The mean share of each feature in its block: what a block without words is taken to have."""

    mean: FloatArray  # (J)
    blocks: npt.NDArray[np.int32]
    n_blocks: int

    def pooled(self, V: FloatArray) -> FloatArray:
        """Σ over the features of a block of mean · V, (G, r)."""
        rows = (self.mean, (self.blocks, np.arange(len(self.mean))))
        table = sparse.csr_array(rows, shape=(self.n_blocks, len(self.mean)))
        return np.asarray(table @ V)


@dataclass(frozen=True)
class _Shares:
    """A part's table: shares of features within the blocks of documents; blocks without words."""

    table: Any  # (I, J), sparse
    silent: Any  # (I, G), sparse
    lengths: npt.NDArray[np.int64]  # (I)

    def times(self, centre: _Centre, V: FloatArray) -> FloatArray:
        """(table − mean) V, silent blocks at the mean: (I, r)."""
        own = self.table @ V + self.silent @ centre.pooled(V)
        return np.asarray(own - centre.mean @ V)

    def transposed(self, centre: _Centre, Y: FloatArray) -> FloatArray:
        """(table − mean)ᵀ Y: (J, r)."""
        silent = np.asarray(self.silent.T @ Y)[centre.blocks] * centre.mean[:, None]
        return np.asarray(self.table.T @ Y + silent - np.outer(centre.mean, Y.sum(axis=0)))


def _table(
    part: Observations, local: None, shared: None, n_threads: int
) -> tuple[_Shares, npt.NDArray[np.int64]]:
    """Shares, and the words of each feature, which add."""
    counts = part.counts
    totals = part.block_totals
    share = np.empty(counts.nnz)
    for first, end in runs(counts.indptr, AT_ONCE):
        row = np.repeat(np.arange(first, end), np.diff(counts.indptr[first : end + 1]))
        own = slice(counts.indptr[first], counts.indptr[end])
        block = counts.features.blocks[counts.indices[own]]
        np.divide(counts.data[own], totals[row, block], out=share[own])
    table = sparse.csr_array((share, counts.indices, counts.indptr), shape=counts.shape)
    silent = sparse.csr_array((totals == 0).astype(np.float64))
    return _Shares(table, silent, counts.doc_totals), counts.feature_totals


def _image(
    part: Observations, table: _Shares, shared: tuple[_Centre, FloatArray], n_threads: int
) -> tuple[_Shares, FloatArray]:
    """A part's share of AᵀAV."""
    centre, V = shared
    return table, table.transposed(centre, table.times(centre, V))


@dataclass(frozen=True)
class _Plane:
    """What every part is told when the alternation begins."""

    centre: _Centre
    V: FloatArray
    n_components: int
    seed: int


@dataclass(frozen=True)
class _Fitted:
    """What the next loadings need of memberships M; they add."""

    cross: FloatArray  # (K, K): coordinatesᵀ M
    gram: FloatArray  # (K, K): Mᵀ M
    change: float  # the largest of a membership

    def __add__(self, other: _Fitted) -> _Fitted:
        change = max(self.change, other.change)
        return _Fitted(self.cross + other.cross, self.gram + other.gram, change)


@dataclass(frozen=True)
class _Scores:
    """A part's documents in the plane, and their memberships."""

    coordinates: FloatArray  # (I, K): 1, and the K − 1 directions
    M: FloatArray  # (I, K): rows sum to 1
    lengths: npt.NDArray[np.int64]

    def fitted(self, change: float) -> _Fitted:
        return _Fitted(self.coordinates.T @ self.M, self.M.T @ self.M, change)


def _begin(
    part: Observations, table: _Shares, how: _Plane, n_threads: int
) -> tuple[_Scores, _Fitted]:
    """Memberships at random, by each document's own numbers."""
    documents = np.arange(part.first, part.first + part.counts.n_docs)[:, None]
    M = -np.log(keyed_uniform(how.seed, _MEMBERSHIP, documents, np.arange(how.n_components)))
    M /= M.sum(axis=1, keepdims=True)
    ones = np.ones(len(M))
    scores = _Scores(np.column_stack([ones, table.times(how.centre, how.V)]), M, table.lengths)
    return scores, scores.fitted(np.inf)


def _turn(
    part: Observations, scores: _Scores, turn: FloatArray, n_threads: int
) -> tuple[_Scores, _Fitted]:
    """Memberships by least squares, loadings given."""
    M = np.maximum(scores.coordinates @ turn, 1e-9)
    M /= M.sum(axis=1, keepdims=True)
    change = float(np.abs(M - scores.M).max())
    after = _Scores(scores.coordinates, M, scores.lengths)
    return after, after.fitted(change)


def _end(
    part: Observations, scores: _Scores, dtype: Any, n_threads: int
) -> tuple[Local, FloatArray]:
    """Words of each document per component; and of each block, (G, K), which add."""
    M = (1 - EVEN) * scores.M + EVEN / scores.M.shape[1]
    c = (M * scores.lengths[:, None]).astype(dtype)
    return Local(read_only(c)), np.asarray(part.block_totals.T @ M)
