"""CGP, the conditional gamma-Poisson model: l_k = 0 with probability ρ_k, else Gamma(α_k, β_k).

BJ06 IV.B, equation (3); the posterior mean follows MODELS §3, where BJ06 VI.B is in error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import expit, gammaln

from dcomp import _core
from dcomp.data import Counts, FeatureSpace
from dcomp.errors import InvalidParameter
from dcomp.models.arrays import FloatArray, component_vector, equal_fields, read_only
from dcomp.models.gamma_poisson import GammaPoisson, GammaScores
from dcomp.models.loadings import DirichletLoadings
from dcomp.models.words import draw_words


def probability_vector(name: str, value: npt.ArrayLike, n_components: int) -> FloatArray:
    """`value` as a locked vector of length K in [0, 1)."""
    array = np.asarray(value, dtype=np.float64)
    if np.any(~((array >= 0) & (array < 1))):
        raise InvalidParameter(f"{name} must lie in [0, 1); got {value!r}")
    if array.ndim > 1 or (array.ndim == 1 and len(array) != n_components):
        raise InvalidParameter(
            f"{name} must be a number or hold one number per component ({n_components}); "
            f"got shape {array.shape}"
        )
    return read_only(np.broadcast_to(array, (n_components,)).copy())


@dataclass(frozen=True, eq=False)
class ConditionalGammaScores(GammaScores):
    """l_k = 0 with probability ρ_k, else Gamma(α_k, β_k) with rate β_k.

    >>> ConditionalGammaScores.build(2, alpha=1.0, beta=1.0, rho=0.3).rho
    array([0.3, 0.3])
    """

    rho: FloatArray = field(default_factory=lambda: np.zeros(0))
    learn_rho: bool = False

    __eq__ = equal_fields

    @classmethod
    def build(
        cls,
        n_components: int,
        alpha: npt.ArrayLike = 0.1,
        beta: npt.ArrayLike = 0.1,
        *,
        rho: npt.ArrayLike = 0.5,
        learn_alpha: bool = False,
        learn_beta: bool = False,
        learn_rho: bool = False,
    ) -> ConditionalGammaScores:
        """α, β, ρ numbers or one per component; the start of the learning where learned."""
        return cls(
            component_vector("alpha", alpha, n_components),
            component_vector("beta", beta, n_components),
            learn_alpha,
            learn_beta,
            probability_vector("rho", rho, n_components),
            learn_rho,
        )

    @property
    def learned(self) -> tuple[str, ...]:
        """Names of the hyper-parameters that a fit updates."""
        return (*super().learned, "rho") if self.learn_rho else super().learned

    def native(
        self, exposure: FloatArray | None = None, *, mode: str = "expect", power: float = 1.0
    ) -> _core.ScorePrior:
        """The prior as the kernels take it (`_core.ScorePrior`); mode "expect" or "maximise", and
        then with a power of the scores below 1 where EM is tempered."""
        numbers = {"alpha": self.alpha, "beta": self.beta, "rho": self.rho}
        return _core.ScorePrior("CGP", numbers, exposure, mode=mode, power=power)

    def without_zeros(self) -> GammaScores:
        """The prior of a score that is not exactly zero.

        >>> ConditionalGammaScores.build(2, rho=0.3).without_zeros() == GammaScores.build(2)
        True
        """
        return GammaScores(self.alpha, self.beta, self.learn_alpha, self.learn_beta)

    def zero_probability(self, exposure: FloatArray) -> FloatArray:
        """q0 = P(l_k = 0 | c_k = 0), (I, K): ρ against (1 − ρ) (β / (β + e))^α."""
        return np.asarray(expit(self._log_odds_of_zero(exposure)))

    def log_present(self, exposure: FloatArray) -> FloatArray:
        """log(1 − q0), (I, K), however small 1 − q0 is."""
        return np.asarray(-np.logaddexp(0.0, self._log_odds_of_zero(exposure)))

    def _log_odds_of_zero(self, exposure: FloatArray) -> FloatArray:
        log_gamma_zero = -self.alpha * np.log1p(exposure[:, None] / self.beta)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.rho) - np.log1p(-self.rho) - log_gamma_zero)

    def posterior_mean(self, c: npt.NDArray[Any], exposure: FloatArray) -> FloatArray:
        """E[l | c]: (α + c)/(β + e), times 1 − q0 where c = 0 (MODELS §3)."""
        mean = super().posterior_mean(c, exposure)
        return np.where(c > 0, mean, (1 - self.zero_probability(exposure)) * mean)

    def recorded_mean(
        self,
        c_sum: npt.NDArray[Any],
        zeros: npt.NDArray[Any] | None,
        count: int,
        exposure: FloatArray,
    ) -> FloatArray:
        """Mean of E[l | c] over `count` draws of c: linear but for the draws with c = 0."""
        assert zeros is not None
        rate = self.beta + exposure[:, None]
        lost = (zeros / count) * self.zero_probability(exposure) * self.alpha
        return np.asarray((self.alpha + c_sum / count - lost) / rate)

    def log_moment(self, c: npt.NDArray[Any], exposure: FloatArray) -> FloatArray:
        """Σ_k log g_k(c_k) per document: log((1 − ρ) g_GP(c) + ρ [c = 0])."""
        log_gp = self.log_gamma_moment(c, exposure)
        with np.errstate(divide="ignore"):
            log_zero = np.where(c == 0, np.log(self.rho), -np.inf)
        return np.asarray(np.logaddexp(np.log1p(-self.rho) + log_gp, log_zero).sum(axis=1))

    def log_density(self, scores: FloatArray) -> FloatArray:
        """log p(l) per document, the point mass at zero counted as its probability."""
        constant = self.alpha * np.log(self.beta) - gammaln(self.alpha) + np.log1p(-self.rho)
        with np.errstate(divide="ignore", invalid="ignore"):
            density = constant + (self.alpha - 1) * np.log(scores) - self.beta * scores
            terms = np.where(scores == 0, np.log(self.rho), density)
        return np.asarray(terms.sum(axis=1))


@dataclass(frozen=True)
class ConditionalGammaPoisson(GammaPoisson):
    """l_k = 0 with probability ρ_k, else Gamma(α_k, β_k); w_j ~ Poisson(e (Θl)_j): BJ06 (3).

    >>> ConditionalGammaPoisson.build(2, rho=0.2).key
    'CGP'
    """

    scores: ConditionalGammaScores
    loadings: DirichletLoadings = field(default_factory=DirichletLoadings)

    key: ClassVar[str] = "CGP"
    long_name: ClassVar[str] = "conditional-gamma-poisson"
    scores_type: ClassVar[type[GammaScores]] = ConditionalGammaScores

    @classmethod
    def build(
        cls, n_components: int, *, gamma: npt.ArrayLike = 0.5, **scores: Any
    ) -> ConditionalGammaPoisson:
        """The model from plain numbers: alpha, beta, rho and what of them is learned."""
        return cls(ConditionalGammaScores.build(n_components, **scores), DirichletLoadings(gamma))

    def simulate(
        self,
        features: FeatureSpace,
        size: npt.ArrayLike,
        rng: np.random.Generator,
        Theta: FloatArray | None = None,
    ) -> tuple[Counts, FloatArray, FloatArray]:
        """Counts, l and Θ drawn from the model; `size` = exposure per document (and block)."""
        if Theta is None:
            Theta = self.loadings.simulate(features.blocks, self.n_components, rng)
        exposure = np.asarray(size, dtype=np.float64)
        exposure = exposure[:, None] if exposure.ndim == 1 else exposure
        exposure = np.broadcast_to(exposure, (len(exposure), features.n_blocks))
        shape = (len(exposure), self.n_components)
        scores = rng.gamma(self.scores.alpha, 1 / self.scores.beta, size=shape)
        scores[rng.random(shape) < self.scores.rho] = 0
        totals = rng.poisson(exposure * scores.sum(axis=1, keepdims=True))
        m = np.where(scores.sum(axis=1, keepdims=True) > 0, scores, 1.0)
        m /= m.sum(axis=1, keepdims=True)
        return draw_words(features, m, Theta, totals, rng), scores, Theta
