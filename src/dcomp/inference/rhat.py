"""R-hat after Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021): whether chains agree.

Traces are (chain, draw). Every chain is cut into halves first, so that one that is still moving
disagrees with itself. Values are replaced by the normal scores of their ranks,
z = Φ⁻¹((rank − 3/8) / (S + 1/4)) with S values in all, so that nothing has to have a variance.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincinv, ndtri

from dcomp.errors import InvalidParameter
from dcomp.models.arrays import FloatArray

SHORTEST = 4  # draws of a chain, below which nothing can be said
SETTLED = 1.05  # R-hat up to which chains are said to agree, wherever that is said
FALSE_ALARM = 1e-3  # how often independent draws may exceed `rhat_by_chance`


def rhat(trace: npt.ArrayLike) -> float:
    """Rank-normalised split R-hat: the larger of that of the values and that of their distances
    from the median, which sees chains of different spread.

    R-hat = √(V̂ / W), W the mean variance within half chains of N draws, V̂ = (N − 1)/N W + B/N, B/N
    the variance of their means. 1 where all halves look alike; infinite for halves that are
    constant and differ; 1 where nothing varies at all.

    >>> rng = np.random.default_rng(0)
    >>> same = rng.normal(size=(4, 500))
    >>> rhat(same) < 1.01 < rhat(same + [[0], [0], [0], [1]])
    True
    """
    halves = halves_of(trace)
    folded = np.abs(halves - np.median(halves))
    return max(_plain_rhat(normal_scores(halves)), _plain_rhat(normal_scores(folded)))


def rhat_by_chance(n_chains: int, n_draws: int, n_numbers: int = 1) -> float:
    """R-hat that independent draws hardly ever exceed, so many numbers of a quantity together:
    1 + χ²(0.999; 2C − 1) / ((2C − 1) N), of N draws in each of C chains.

    >>> round(rhat_by_chance(1, 100), 3), round(rhat_by_chance(4, 100), 3)
    (1.108, 1.035)
    """
    free = 2 * n_chains - 1  # of the means of half chains
    chi_squared = 2 * gammaincinv(free / 2, 1 - FALSE_ALARM / n_numbers)
    return float(1 + chi_squared / free / n_draws)


def checked_trace(trace: npt.ArrayLike) -> FloatArray:
    """A trace as (chain, draw); an error where it is too short or not finite."""
    values = np.atleast_2d(np.asarray(trace, dtype=np.float64))
    if values.ndim != 2 or values.shape[1] < SHORTEST or not len(values):
        raise InvalidParameter(
            f"a trace must be (chain, draw) with at least {SHORTEST} draws; got shape "
            f"{values.shape}"
        )
    if not np.isfinite(values).all():
        raise InvalidParameter("a trace must hold finite numbers")
    return values


def halves_of(trace: npt.ArrayLike) -> FloatArray:
    """(2C, N): of an odd number of draws the middle one is left out."""
    values = checked_trace(trace)
    half = values.shape[1] // 2
    return np.concatenate([values[:, :half], values[:, -half:]])


def normal_scores(values: FloatArray) -> FloatArray:
    """Of the ranks of all values."""
    _, place, copies = np.unique(values, return_inverse=True, return_counts=True)
    rank = (np.cumsum(copies) - (copies - 1) / 2)[place].reshape(values.shape)  # ties: the mean
    return np.asarray(ndtri((rank - 0.375) / (values.size + 0.25)))


def _plain_rhat(values: FloatArray) -> float:
    N = values.shape[1]
    within = float(values.var(axis=1, ddof=1).mean())
    between = float(values.mean(axis=1).var(ddof=1))
    if within <= 0:
        return float("inf") if between > 0 else 1.0
    return float(np.sqrt((N - 1) / N + between / within))
