"""Which tumours a catalogue does not explain: Pearson's X² of each one's counts from what its
exposures say.

Types of which fewer than two mutations are expected are added up with others, the rarest first. The
mean and the variance of X² are those of a multinomial, C − 1 for C cells and

    2 (C − 1) + (Σ_c 1/p_c − C² − 2C + 2) / N,

and its tail that of the gamma distribution which has both. Signatures that a tumour uses are not
taken off the degrees of freedom: of 50 mutations nobody knows which those are, and with all of 5 %
or more off a tenth and more of tumours of 20 lay beyond the chance of a hundredth. Shares are
freed of the words of their prior, which are misfit of their own where mutations are as few.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincc

from dcomp.data import Counts
from dcomp.models.arrays import FloatArray, read_only

LEAST_EXPECTED = 2.0  # mutations of a cell: X² of rarer ones has long tails
FEWEST_CELLS = 4  # of fewer nothing is concluded
BY_CHANCE = 0.001  # part of the tumours named that chance explains (Benjamini and Hochberg)
_AT_ONCE = 1 << 22  # cells in memory


@dataclass(frozen=True, eq=False)
class Misfit:
    """How far tumours are from their exposures, (I) each.

    dispersion: how many times the variance that the model has; NaN where too few mutations tell.
    is_explained: False where that is beyond chance.
    """

    dispersion: FloatArray
    is_explained: npt.NDArray[np.bool_]


def misfit(counts: Counts, shares: FloatArray, loadings: FloatArray, alpha: float) -> Misfit:
    """Of shares (I, R), posterior means under a Dirichlet prior of `alpha` each, and loadings
    (J, R); nothing is concluded of counts that are no whole numbers.

    >>> loadings = np.full((8, 1), 1 / 8)
    >>> told = Counts.from_matrix([[11, 9, 10, 9, 12, 10, 8, 11], [40, 40, 0, 0, 0, 0, 0, 0]])
    >>> found = misfit(told, np.ones((2, 1)), loadings, 0.1)
    >>> found.is_explained.tolist(), found.dispersion.round(1).tolist()
    ([True, False], [0.2, 34.3])
    """
    n = counts.n_docs
    dispersion, chance = np.full(n, np.nan), np.full(n, np.nan)
    step = max(1, _AT_ONCE // len(loadings))
    for first in range(0, 0 if counts.is_fractional else n, step):
        part = slice(first, first + step)
        w = counts.rows(part).to_scipy().toarray().astype(np.float64)
        free = _without_prior(shares[part], w.sum(axis=1, keepdims=True), alpha)
        dispersion[part], chance[part] = _pearson(w, free @ loadings.T)
    return Misfit(read_only(dispersion), ~_beyond_chance(chance))


def _without_prior(shares: FloatArray, totals: FloatArray, alpha: float) -> FloatArray:
    """The shares of the mutations alone: posterior means have α words of each signature besides."""
    c = np.maximum(shares * (totals + alpha * shares.shape[1]) - alpha, 0)
    sums = c.sum(axis=1, keepdims=True)
    return np.asarray(np.where(sums > 0, c / np.maximum(sums, 1e-300), shares))


def _pearson(w: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """X² over its degrees of freedom and the probability of as much, by tumour."""
    N = w.sum(axis=1)
    expected = p * N[:, np.newaxis]
    cells, C = _cells(expected)
    E, W = (np.zeros_like(expected) for _ in range(2))
    rows = np.arange(len(w))[:, np.newaxis]
    np.add.at(E, (rows, cells), expected)
    np.add.at(W, (rows, cells), w)
    inverse = np.where(E > 0, 1 / np.maximum(E, 1e-300), 0)
    X2 = ((W - E) ** 2 * inverse).sum(axis=1)
    freedom = np.maximum(C - 1, 1).astype(np.float64)
    of_small = inverse.sum(axis=1) - (C**2 + 2 * C - 2) / np.maximum(N, 1)  # Σ 1/p is N Σ 1/E
    variance = np.maximum(2 * freedom + of_small, freedom)
    chance = gammaincc(freedom**2 / variance, X2 * freedom / variance)
    is_told = C >= FEWEST_CELLS
    return np.where(is_told, X2 / freedom, np.nan), np.where(is_told, chance, np.nan)


def _cells(expected: FloatArray) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The cell of each type (I, J), and how many cells there are (I): types are added up from the
    rarest on until two mutations are expected."""
    order = np.argsort(expected, axis=1, kind="stable")
    cells = np.zeros(expected.shape, np.intp)
    running, n_full = np.zeros(len(expected)), np.zeros(len(expected), np.intp)
    rows = np.arange(len(expected))
    for types in order.T:
        running += expected[rows, types]
        cells[rows, types] = n_full
        is_full = running >= LEAST_EXPECTED
        n_full += is_full
        running[is_full] = 0
    C = np.maximum(n_full, 1)
    return np.minimum(cells, C[:, np.newaxis] - 1), C  # what is left over is of the last


def _beyond_chance(chance: FloatArray) -> npt.NDArray[np.bool_]:
    """Benjamini and Hochberg: as many of the least probable as keep those named by chance below a
    thousandth of all that are named.

    >>> _beyond_chance(np.array([0.5, 1e-9, np.nan, 0.0006])).tolist()
    [False, True, False, True]
    """
    told = np.sort(chance[np.isfinite(chance)])
    passes = told <= BY_CHANCE * np.arange(1, len(told) + 1) / max(len(told), 1)
    limit = told[passes].max(initial=-1.0)
    return np.asarray(chance <= limit)
