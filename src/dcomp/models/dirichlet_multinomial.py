"""DM, the Dirichlet-multinomial model (LDA, MPCA): m ~ Dirichlet(α), w ~ Multinomial(L, Θm).

BJ06 IV.C, equation (4); with blocks, one multinomial per block with shared scores (IV.D).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, gammaln

from dcomp import _core
from dcomp.models.arrays import FloatArray, component_vector, equal_fields
from dcomp.models.loadings import DirichletLoadings
from dcomp.models.multinomial import MultinomialModel


@dataclass(frozen=True, eq=False)
class DirichletScores:
    """m ~ Dirichlet(α).

    >>> DirichletScores.build(3, 0.1).alpha
    array([0.1, 0.1, 0.1])
    """

    alpha: FloatArray
    learn_alpha: bool = False

    __eq__ = equal_fields

    @classmethod
    def build(
        cls, n_components: int, alpha: npt.ArrayLike = 0.1, *, learn_alpha: bool = False
    ) -> DirichletScores:
        """α a number or one per component; the start of the learning where it is learned."""
        return cls(component_vector("alpha", alpha, n_components), learn_alpha)

    @property
    def n_components(self) -> int:
        """K."""
        return len(self.alpha)

    @property
    def learned(self) -> tuple[str, ...]:
        """Names of the hyper-parameters that a fit updates."""
        return ("alpha",) if self.learn_alpha else ()

    def native(
        self, exposure: FloatArray | None = None, *, mode: str = "expect", power: float = 1.0
    ) -> _core.ScorePrior:
        """The prior as the kernels take it (`_core.ScorePrior`); mode "expect" or "maximise", and
        then with a power of the scores below 1 where EM is tempered."""
        return _core.ScorePrior("DM", {"alpha": self.alpha}, mode=mode, power=power)

    def without_zeros(self) -> DirichletScores:
        """The same prior, which has no exact zeros."""
        return self

    def posterior_mean(self, c: npt.NDArray[np.floating], exposure: FloatArray) -> FloatArray:
        """E[m | c] (I, K) = (α + c) / Σ(α + c)."""
        a = self.alpha + c
        return np.asarray(a / a.sum(axis=1, keepdims=True), dtype=np.float64)

    def posterior_mode(self, c: npt.NDArray[np.floating], exposure: FloatArray) -> FloatArray:
        """The mode of m given c (I, K) = (α − 1 + c) / Σ(α − 1 + c), α ≥ 1; even if 0/0.

        >>> DirichletScores.build(2, 1.5).posterior_mode(np.array([[3.0, 0.0]]), np.ones(1))
        array([[0.875, 0.125]])
        """
        a = self.alpha - 1 + c
        total = a.sum(axis=1, keepdims=True)
        return np.where(total > 0, a / np.maximum(total, 1e-300), 1 / len(self.alpha))

    def recorded_mean(
        self,
        c_sum: npt.NDArray[Any],
        zeros: npt.NDArray[Any] | None,
        count: int,
        exposure: FloatArray,
    ) -> FloatArray:
        """Mean of E[m | c] over `count` draws of c, from their sum: it is linear in c."""
        return self.posterior_mean(c_sum / count, exposure)

    def expected_log(self, c: npt.NDArray[np.floating], exposure: FloatArray) -> FloatArray:
        """E[log m] (I, K) under q(m) = Dirichlet(α + c): BJ06 (18)."""
        a = self.alpha + c
        return np.asarray(digamma(a) - digamma(a.sum(axis=1, keepdims=True)))

    def log_moment(self, c: npt.NDArray[Any], exposure: FloatArray) -> FloatArray:
        """log E[Π m_k^c_k] per document: the scores integrated out of BJ06 (10)."""
        total = self.alpha.sum()
        length = np.asarray(c).sum(axis=1)
        ratio = (gammaln(self.alpha + c) - gammaln(self.alpha)).sum(axis=1)
        return np.asarray(ratio + gammaln(total) - gammaln(total + length))

    def log_density(self, m: FloatArray) -> FloatArray:
        """log p(m) per document."""
        constant = gammaln(self.alpha.sum()) - gammaln(self.alpha).sum()
        return np.asarray(constant + ((self.alpha - 1) * np.log(m)).sum(axis=1))

    def draw_prior(self, n_docs: int, rng: np.random.Generator) -> FloatArray:
        """m (I, K) from the prior."""
        return rng.dirichlet(self.alpha, size=n_docs)


@dataclass(frozen=True)
class DirichletMultinomial(MultinomialModel):
    """m ~ Dirichlet(α), w ~ Multinomial(L, Θm), θ_k ~ Dirichlet(γ): BJ06 (4).

    >>> model = DirichletMultinomial.build(2, alpha=0.5)
    >>> model.n_components, model.key
    (2, 'DM')
    """

    scores: DirichletScores
    loadings: DirichletLoadings = field(default_factory=DirichletLoadings)

    key: ClassVar[str] = "DM"
    long_name: ClassVar[str] = "dirichlet-multinomial"
    scores_type: ClassVar[type[DirichletScores]] = DirichletScores

    @classmethod
    def build(
        cls,
        n_components: int,
        *,
        alpha: npt.ArrayLike = 0.1,
        gamma: npt.ArrayLike = 0.5,
        learn_alpha: bool = False,
    ) -> DirichletMultinomial:
        """The model from plain numbers."""
        scores = DirichletScores.build(n_components, alpha, learn_alpha=learn_alpha)
        return cls(scores, DirichletLoadings(gamma))
