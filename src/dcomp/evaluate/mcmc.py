"""R-hat of many quantities and effective sample size after Vehtari, Gelman, Simpson, Carpenter and
Bürkner (2021); R-hat itself, and what is done to traces first, are in `dcomp.inference.rhat`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from dcomp.inference.rhat import SHORTEST, checked_trace, halves_of, normal_scores, rhat
from dcomp.models.arrays import FloatArray

__all__ = ["SHORTEST", "ess_bulk", "ess_tail", "rhat", "rhat_of_all"]


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
    return _ess(normal_scores(halves_of(trace)))


def ess_tail(trace: npt.ArrayLike) -> float:
    """Effective sample size for the tails: the smaller of those of the indicators of lying below
    the 5 % and the 95 % quantile.

    >>> 1500 < ess_tail(np.random.default_rng(0).normal(size=(4, 500))) < 2500
    True
    """
    values = checked_trace(trace)
    limits = np.quantile(values, [0.05, 0.95])
    return min(_ess(halves_of((values <= limit).astype(np.float64))) for limit in limits)


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
