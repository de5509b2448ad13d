"""GP, the gamma-Poisson model (GaP): l_k ~ Gamma(α_k, rate β_k), w_j ~ Poisson(e (Θl)_j).

BJ06 IV.A, equation (2), with an exposure e_ig per document and block (1 unless given).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, gammaln

from dcomp import _core
from dcomp.data import Counts, FeatureSpace
from dcomp.errors import InvalidParameter
from dcomp.models.arrays import FloatArray, component_vector, equal_fields
from dcomp.models.loadings import DirichletLoadings, log_dirichlet_density
from dcomp.models.observations import Observations
from dcomp.models.words import draw_words, word_log_likelihood


@dataclass(frozen=True, eq=False)
class GammaScores:
    """l_k ~ Gamma(α_k, β_k) with rate β_k; α_k = 1, β_k = 0 is flat: no prior at all.

    >>> GammaScores.build(2, alpha=1.0, beta=[0.5, 2.0]).beta
    array([0.5, 2. ])
    """

    alpha: FloatArray
    beta: FloatArray
    learn_alpha: bool = False
    learn_beta: bool = False

    __eq__ = equal_fields

    @classmethod
    def build(
        cls,
        n_components: int,
        alpha: npt.ArrayLike = 0.1,
        beta: npt.ArrayLike = 0.1,
        *,
        learn_alpha: bool = False,
        learn_beta: bool = False,
    ) -> GammaScores:
        """α, β numbers or one per component; the start of the learning where they are learned."""
        shape = component_vector("alpha", alpha, n_components)
        rate = component_vector("beta", beta, n_components, zero=True)
        if np.any((rate == 0) & ((shape != 1) | learn_alpha | learn_beta)):
            raise InvalidParameter(
                "beta must be positive, or 0 with a fixed alpha of 1, which is a flat prior; found "
                f"beta = 0 with {'a learned prior' if learn_alpha or learn_beta else 'alpha'}"
                f"{'' if learn_alpha or learn_beta else f' = {shape[rate == 0][0]:g}'}"
            )
        return cls(shape, rate, learn_alpha, learn_beta)

    @property
    def n_components(self) -> int:
        """K."""
        return len(self.alpha)

    @property
    def is_flat(self) -> bool:
        """Whether a score has no prior: its density is 1 everywhere, and nothing integrates."""
        return bool((self.beta == 0).any())

    @property
    def learned(self) -> tuple[str, ...]:
        """Names of the hyper-parameters that a fit updates."""
        flags = {"alpha": self.learn_alpha, "beta": self.learn_beta}
        return tuple(name for name, on in flags.items() if on)

    def native(
        self, exposure: FloatArray | None = None, *, mode: str = "expect", power: float = 1.0
    ) -> _core.ScorePrior:
        """The prior as the kernels take it (`_core.ScorePrior`); mode "expect" or "maximise", and
        then with a power of the scores below 1 where EM is tempered."""
        numbers = {"alpha": self.alpha, "beta": self.beta}
        return _core.ScorePrior("GP", numbers, exposure, mode=mode, power=power)

    def without_zeros(self) -> GammaScores:
        """The prior of a score that is not exactly zero: here the same."""
        return self

    def posterior_mean(self, c: npt.NDArray[np.floating], exposure: FloatArray) -> FloatArray:
        """E[l | c] (I, K) = (α + c) / (β + e)."""
        return np.asarray((self.alpha + c) / (self.beta + exposure[:, None]), dtype=np.float64)

    def posterior_mode(self, c: npt.NDArray[np.floating], exposure: FloatArray) -> FloatArray:
        """The mode of l given c (I, K) = (α − 1 + c) / (β + e), α ≥ 1: C04 (14) at rest.

        >>> GammaScores.build(1, 1.5, 1.0).posterior_mode(np.array([[3.0]]), np.ones(1))
        array([[1.75]])
        """
        return np.asarray((self.alpha - 1 + c) / (self.beta + exposure[:, None]))

    def recorded_mean(
        self,
        c_sum: npt.NDArray[Any],
        zeros: npt.NDArray[Any] | None,
        count: int,
        exposure: FloatArray,
    ) -> FloatArray:
        """Mean of E[l | c] over `count` draws of c, from their sum: it is linear in c."""
        return self.posterior_mean(c_sum / count, exposure)

    def expected_log(self, c: npt.NDArray[np.floating], exposure: FloatArray) -> FloatArray:
        """E[log l] (I, K) under q(l) = Gamma(α + c, β + e): BJ06 (14)."""
        return np.asarray(digamma(self.alpha + c) - np.log(self.beta + exposure[:, None]))

    def log_gamma_moment(self, c: npt.NDArray[Any], exposure: FloatArray) -> FloatArray:
        """log g_k(c_k) per document and component: ln Γ(α+c) − ln Γ(α) + α ln β − (α+c) ln(β+e)."""
        b = self.beta + exposure[:, None]
        ratio = gammaln(self.alpha + c) - gammaln(self.alpha)
        return np.asarray(ratio + self.alpha * np.log(self.beta) - (self.alpha + c) * np.log(b))

    def log_moment(self, c: npt.NDArray[Any], exposure: FloatArray) -> FloatArray:
        """Σ_k log g_k(c_k) per document: the scores integrated out of BJ06 (6)."""
        return np.asarray(self.log_gamma_moment(c, exposure).sum(axis=1))

    def log_density(self, scores: FloatArray) -> FloatArray:
        """log p(l) per document."""
        proper = self.beta > 0
        constant = (
            self.alpha * np.log(self.beta, where=proper, out=np.zeros_like(self.beta))
        ).sum()
        constant -= gammaln(self.alpha).sum()
        powers = np.where(
            self.alpha == 1, 0.0, (self.alpha - 1) * np.log(np.maximum(scores, 1e-300))
        )
        terms = powers - self.beta * scores
        return np.asarray(constant + terms.sum(axis=1))


@dataclass(frozen=True)
class GammaPoisson:
    """l_k ~ Gamma(α_k, β_k), w_j ~ Poisson(e (Θl)_j), θ_k ~ Dirichlet(γ): BJ06 (2).

    >>> model = GammaPoisson.build(2, alpha=0.5, beta=0.1)
    >>> model.n_components, model.key
    (2, 'GP')
    """

    scores: GammaScores
    loadings: DirichletLoadings = field(default_factory=DirichletLoadings)

    key: ClassVar[str] = "GP"
    long_name: ClassVar[str] = "gamma-poisson"
    has_exposure: ClassVar[bool] = True
    scores_type: ClassVar[type[GammaScores]] = GammaScores

    @classmethod
    def build(
        cls,
        n_components: int,
        *,
        alpha: npt.ArrayLike = 0.1,
        beta: npt.ArrayLike = 0.1,
        gamma: npt.ArrayLike = 0.5,
        learn_alpha: bool = False,
        learn_beta: bool = False,
    ) -> GammaPoisson:
        """The model from plain numbers."""
        scores = GammaScores.build(
            n_components, alpha, beta, learn_alpha=learn_alpha, learn_beta=learn_beta
        )
        return cls(scores, DirichletLoadings(gamma))

    @property
    def n_components(self) -> int:
        """K."""
        return self.scores.n_components

    def with_scores(self, **changes: Any) -> GammaPoisson:
        """The same model with other hyper-parameters of the scores."""
        return replace(self, scores=replace(self.scores, **changes))

    def with_loadings(self, loadings: DirichletLoadings) -> GammaPoisson:
        """The same model with another prior of the loadings."""
        return replace(self, loadings=loadings)

    def log_constant(self, observed: Observations, *, combinatoric: bool) -> FloatArray:
        """Per document, the terms of log p(w) that no parameter changes (BJ06 III.A).

        Σ_j w_j log e − Σ_j ln w_j! for the bag; the sequence has −Σ_g ln L_g! instead.
        """
        constant = observed.log_sequence_constant
        return constant + observed.counts.log_combinatoric() if combinatoric else constant

    def log_likelihood(
        self,
        observed: Observations,
        scores: FloatArray,
        Theta: FloatArray,
        *,
        combinatoric: bool = False,
    ) -> FloatArray:
        """log p(w | l, Θ) per document; without the combinatoric term, of the word sequence."""
        words = word_log_likelihood(observed.counts, scores, Theta)
        mean_total: FloatArray = observed.total_exposure * scores.sum(axis=1)
        return words - mean_total + self.log_constant(observed, combinatoric=combinatoric)

    def log_joint(
        self,
        observed: Observations,
        scores: FloatArray,
        Theta: FloatArray,
        *,
        combinatoric: bool = False,
    ) -> float:
        """log p(w, l, Θ): BJ06 (2) and the prior of Θ."""
        gamma = self.loadings.per_feature(len(Theta))
        words = self.log_likelihood(observed, scores, Theta, combinatoric=combinatoric)
        prior = log_dirichlet_density(Theta, gamma, observed.counts.features.blocks)
        return float((words + self.scores.log_density(scores)).sum()) + prior

    def simulate(
        self,
        features: FeatureSpace,
        size: npt.ArrayLike,
        rng: np.random.Generator,
        Theta: FloatArray | None = None,
    ) -> tuple[Counts, FloatArray, FloatArray]:
        """Counts, l and Θ drawn from the model; `size` = exposure per document (and block)."""
        if self.scores.is_flat:
            raise InvalidParameter("a flat prior (beta = 0) has no draws; give beta > 0")
        if Theta is None:
            Theta = self.loadings.simulate(features.blocks, self.n_components, rng)
        exposure = np.asarray(size, dtype=np.float64)
        exposure = exposure[:, None] if exposure.ndim == 1 else exposure
        exposure = np.broadcast_to(exposure, (len(exposure), features.n_blocks))
        shape = (len(exposure), self.n_components)
        scores = rng.gamma(self.scores.alpha, 1 / self.scores.beta, size=shape)
        # The total of a block is Poisson; given it the words are multinomial (BJ06 Lemma 1).
        totals = rng.poisson(exposure * scores.sum(axis=1, keepdims=True))
        m = scores / np.maximum(scores.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        m[scores.sum(axis=1) == 0] = 1 / self.n_components
        return draw_words(features, m, Theta, totals, rng), scores, Theta
