"""The probability of the documents' lengths under a Poisson link, scores integrated out.

Given the scores, the total T of a document is Poisson(e Σ_k l_k), e its exposure over all blocks;
without them it is a sum of K independent numbers, the words of each component,

    P(c_k = c) = g_k(c) e^c / c!   (MODELS §3: negative binomial, for CGP with more mass at 0)

and given T the totals of the blocks are Multinomial(T, e_g / e). Dividing log p(w) of GP or CGP by
it leaves log p(w | L), which can be compared with DM (MODELS §9).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, gammaln, xlogy

from dcomp.models.arrays import FloatArray
from dcomp.models.base import Model
from dcomp.models.observations import Observations

_DIRECT = 2000  # coefficients from which a convolution goes by Fourier transform


def log_totals(model: Model, observed: Observations) -> FloatArray:
    """log P(L_1, …, L_G) of each document, length I; 0 for DM, which takes the totals as given.

    >>> from dcomp.data import Counts
    >>> from dcomp.models.gamma_poisson import GammaPoisson
    >>> observed = Observations.build(Counts.from_matrix([[0, 0], [1, 0]]))
    >>> np.exp(log_totals(GammaPoisson.build(2, alpha=0.5, beta=1.0), observed))
    array([0.5 , 0.25])
    """
    if not model.has_exposure:
        return np.zeros(observed.counts.n_docs)
    L, e = observed.block_totals, observed.total_exposure
    length = L.sum(axis=1)
    known: dict[tuple[int, float], float] = {}
    out = np.empty(len(e))
    for i, key in enumerate(zip(length.tolist(), e.tolist(), strict=True)):
        if key not in known:
            known[key] = _log_total(model.scores, *key)
        out[i] = known[key]
    return out + _log_split(L, observed)


def _log_split(L: npt.NDArray[np.int64], observed: Observations) -> FloatArray:
    """log Multinomial(L_1, …, L_G; e_g / e)."""
    share = np.ones(L.shape) if observed.exposure is None else observed.exposure
    share = share / np.maximum(observed.total_exposure, 1e-300)[:, None]
    value = gammaln(L.sum(axis=1) + 1.0) + (xlogy(L, share) - gammaln(L + 1.0)).sum(axis=1)
    return np.asarray(value)


def _log_total(scores: Any, length: int, e: float) -> float:
    """log P(T = length): the product of K power series, read at `length`."""
    at_zero = float(scores.log_moment(np.zeros((1, scores.n_components)), np.array([e]))[0])
    if length == 0:
        return at_zero
    weights = scores.token_weights(np.array([e]))
    alpha, ratio = weights.a[0], e / weights.rate[0]
    log_present = np.zeros_like(alpha)  # log P(l > 0 | c = 0)
    if weights.log_present is not None:
        log_present = weights.log_present[0]
    # Coefficients times x^c have their weight around `length`: nothing under- or overflows there.
    log_x = _saddle(alpha, ratio, log_present, length)
    c = np.arange(1, length + 1)
    log_rising = gammaln(alpha[:, None] + c) - gammaln(alpha)[:, None] - gammaln(c + 1.0)
    log_ratio = np.log(ratio) + log_x
    scale, product = 0.0, np.r_[1.0, np.zeros(length)]
    for k in range(len(alpha)):
        series = np.r_[1.0, np.exp(log_present[k] + log_rising[k] + c * log_ratio[k])]
        product = _multiply(product, series)
        top = product.max()
        product, scale = product / top, scale + float(np.log(top))
    if product[length] == 0:  # any score but zero is next to impossible: one of them did it all
        alone = log_present + log_rising[:, -1] + length * np.log(ratio)
        return at_zero + float(np.logaddexp.reduce(alone))
    return at_zero + scale + float(np.log(product[length]) - length * log_x)


def _multiply(a: FloatArray, b: FloatArray) -> FloatArray:
    """The product of two power series, to the same number of terms."""
    if len(a) < _DIRECT:
        return np.convolve(a, b)[: len(a)]
    from scipy.signal import fftconvolve

    return np.maximum(fftconvolve(a, b)[: len(a)], 0.0)


def _saddle(alpha: FloatArray, ratio: FloatArray, log_present: FloatArray, length: int) -> float:
    """log x at which the mean of the series Σ coefficient · x^c is `length`, or nearly."""
    from scipy.optimize import brentq  # not above: a third of the time that dcomp took to start

    with np.errstate(divide="ignore"):
        log_odds = log_present - np.log(-np.expm1(log_present))

    def excess(log_x: float) -> float:
        y = ratio * np.exp(log_x)
        is_present = expit(log_odds - alpha * np.log1p(-y))
        return float((is_present * alpha * y / (1 - y)).sum()) - length

    high = -float(np.log(ratio.max())) - 1e-12
    low = high - 1.0
    while excess(low) > 0:
        low -= 2 * (high - low)
    return float(brentq(excess, low, high, xtol=1e-6)) if excess(high) > 0 else high
