"""R-hat and effective sample size after Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021).

Traces are (chain, draw). Every chain is cut into halves first, so that one that is still moving
disagrees with itself. Values are replaced by the normal scores of their ranks,
z = Φ⁻¹((rank − 3/8) / (S + 1/4)) with S values in all, so that nothing has to have a variance.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from dcomp.errors import InvalidParameter
from dcomp.models.arrays import FloatArray

SHORTEST = 4  # draws of a chain, below which nothing can be said


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
    halves = _halves(trace)
    folded = np.abs(halves - np.median(halves))
    return max(_plain_rhat(_normal_scores(halves)), _plain_rhat(_normal_scores(folded)))


def rhat_of_all(traces: npt.NDArray[np.floating]) -> FloatArray:
    """`rhat` of many quantities at once: (chain, draw, ...) to (...).

    >>> traces = np.random.default_rng(0).normal(size=(4, 100, 3))
    >>> bool(np.isclose(rhat_of_all(traces)[1], rhat(traces[..., 1])))
    True
    """
    from scipy.stats import rankdata

    C, half = len(traces), traces.shape[1] // 2
    shape = traces.shape[2:]
    flat = traces.reshape(C, traces.shape[1], -1).astype(np.float64)
    halves = np.concatenate([flat[:, :half], flat[:, -half:]]).reshape(2 * C * half, -1)

    def plain(values: FloatArray) -> FloatArray:
        rank = rankdata(values, axis=0)
        z = ndtri((rank - 0.375) / (len(values) + 0.25)).reshape(2 * C, half, -1)
        within, between = z.var(axis=1, ddof=1).mean(axis=0), z.mean(axis=1).var(axis=0, ddof=1)
        ratio = between / np.where(within > 0, within, 1.0)
        still = np.where(between > 0, np.inf, 1.0)
        return np.asarray(np.where(within > 0, np.sqrt((half - 1) / half + ratio), still))

    folded = np.abs(halves - np.median(halves, axis=0))
    return np.maximum(plain(halves), plain(folded)).reshape(shape)


def ess_bulk(trace: npt.ArrayLike) -> float:
    """Effective sample size for the centre: of the normal scores of the ranks.

    >>> 1800 < ess_bulk(np.random.default_rng(0).normal(size=(4, 500))) < 2300
    True
    """
    return _ess(_normal_scores(_halves(trace)))


def ess_tail(trace: npt.ArrayLike) -> float:
    """Effective sample size for the tails: the smaller of those of the indicators of lying below
    the 5 % and the 95 % quantile.

    >>> 1500 < ess_tail(np.random.default_rng(0).normal(size=(4, 500))) < 2500
    True
    """
    values = _checked(trace)
    limits = np.quantile(values, [0.05, 0.95])
    return min(_ess(_halves((values <= limit).astype(np.float64))) for limit in limits)


def _checked(trace: npt.ArrayLike) -> FloatArray:
    values = np.atleast_2d(np.asarray(trace, dtype=np.float64))
    if values.ndim != 2 or values.shape[1] < SHORTEST or not len(values):
        raise InvalidParameter(
            f"a trace must be (chain, draw) with at least {SHORTEST} draws; got shape "
            f"{values.shape}"
        )
    if not np.isfinite(values).all():
        raise InvalidParameter("a trace must hold finite numbers")
    return values


def _halves(trace: npt.ArrayLike) -> FloatArray:
    """(2C, N): of an odd number of draws the middle one is left out."""
    values = _checked(trace)
    half = values.shape[1] // 2
    return np.concatenate([values[:, :half], values[:, -half:]])


def _normal_scores(values: FloatArray) -> FloatArray:
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


def _ess(values: FloatArray) -> float:
    """C N / τ, τ = 1 + 2 Σ ρ_t over Geyer's initial monotone sequence: sums of pairs ρ_2t + ρ_2t+1
    up to the first that is negative, each at most the one before. At most C N log10(C N)."""
    C, N = values.shape
    if values.max() - values.min() < 1e-15:
        return float(values.size)
    covariance = _autocovariance(values).mean(axis=0)
    within = covariance[0] * N / (N - 1)
    total = covariance[0] + (values.mean(axis=1).var(ddof=1) if C > 1 else 0.0)
    rho = 1 - (within - covariance) / total
    rho[0] = 1.0
    # The last pair is of next to no products. Of the pair that ends the sequence, and of the last,
    # the first term alone is added, once, as Stan and ArviZ do.
    pairs = rho[: (N - 1) // 2 * 2 : 2] + rho[1 : (N - 1) // 2 * 2 : 2]
    ends = np.flatnonzero(pairs <= 0)
    end = int(ends[0]) if ends.size else max(len(pairs) - 1, 0)
    last = float(rho[2 * end])
    if ends.size and pairs[end] < 0:
        last = max(last, 0.0)
    monotone = np.minimum.accumulate(pairs[:end])
    tau = -1 + 2 * float(monotone.sum()) + last
    return float(values.size / max(tau, 1 / np.log10(values.size)))


def _autocovariance(values: FloatArray) -> FloatArray:
    """(C, N), with divisor N, by the Fourier transform."""
    N = values.shape[1]
    centred = values - values.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, n=2 * N)
    return np.asarray(np.fft.irfft(np.abs(spectrum) ** 2)[:, :N] / N)
