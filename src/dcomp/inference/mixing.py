"""How much draws of a chain are worth: their effective sample size, of many quantities at once.

N / τ with τ = 1 + 2 Σ ρ_t over Geyer's initial monotone sequence, chains cut into halves so that
one that is still moving disagrees with itself, as `dcomp.evaluate.ess_bulk` but of the values
themselves (Vehtari et al. 2021).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dcomp.models.arrays import FloatArray

SHORTEST = 8  # draws, below which nothing can be said of their halves


def effective_sizes(draws: npt.NDArray[np.floating]) -> FloatArray:
    """Effective sample sizes (...) of draws (S, ...); all S where nothing varies, NaN below 8.

    >>> rng = np.random.default_rng(0)
    >>> fresh = rng.normal(size=(400, 2))
    >>> moving = np.cumsum(fresh, axis=0)
    >>> bool((effective_sizes(fresh) > 250).all()), bool((effective_sizes(moving) < 20).all())
    (True, True)
    """
    S = len(draws)
    if S < SHORTEST:
        return np.full(draws.shape[1:], np.nan)
    half = S // 2
    values = np.stack([draws[:half], draws[-half:]]).astype(np.float64)  # (2, N, ...)
    means = values.mean(axis=1)
    covariance = _autocovariance(values - means[:, None]).mean(axis=0)  # (N, ...)
    within = covariance[0] * half / (half - 1)
    total = covariance[0] + means.var(axis=0, ddof=1)
    varies = total > 1e-12 * np.maximum((means**2).max(axis=0), 1e-300)
    rho = 1 - (within - covariance) / np.where(varies, total, 1.0)
    rho[0] = 1.0
    tau = np.maximum(_autocorrelation_time(rho), 1 / np.log10(2 * half))
    return np.asarray(np.where(varies, np.minimum(2 * half / tau, S), S))


def _autocorrelation_time(rho: FloatArray) -> FloatArray:
    """τ from ρ (N, ...): sums of pairs up to the first that is negative, each at most the one
    before; of the pair that ends them its first term, once, where that is positive."""
    N = len(rho) // 2 * 2
    pairs = rho[0:N:2] + rho[1:N:2]
    goes_on = np.logical_and.accumulate(pairs > 0, axis=0)
    monotone = np.minimum.accumulate(np.where(goes_on, pairs, 0.0), axis=0)
    end = np.minimum(goes_on.sum(axis=0), len(pairs) - 1)
    last = np.take_along_axis(rho[0:N:2], end[None], axis=0)[0]
    last = np.where(goes_on.all(axis=0), 0.0, np.maximum(last, 0.0))
    return np.asarray(2 * monotone.sum(axis=0) - 1 + last)


def _autocovariance(centred: FloatArray) -> FloatArray:
    """(chain, N, ...) with divisor N, by the Fourier transform."""
    N = centred.shape[1]
    spectrum = np.fft.rfft(centred, n=2 * N, axis=1)
    return np.asarray(np.fft.irfft(np.abs(spectrum) ** 2, n=2 * N, axis=1)[:, :N] / N)
