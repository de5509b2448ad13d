"""CGP, the conditional gamma-Poisson model: l_k = 0 with probability ρ_k, else Gamma(α_k, β_k).

BJ06 IV.B, equation (3); the posterior mean follows MODELS §3, where BJ06 VI.B is in error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import expit, gammaln

from dcomp import _core
from dcomp.errors import InvalidParameter
from dcomp.models.allowed import Allowed
from dcomp.models.arrays import (
    FloatArray,
    component_vector,
    equal_fields,
    read_only,
    stored_flag,
    stored_vector,
)
from dcomp.models.gamma_poisson import GammaPoisson, GammaScores, gamma_priors
from dcomp.models.learning import RHO_CAP, Learning, check_shared
from dcomp.models.loadings import DirichletLoadings
from dcomp.models.options import ALPHA, BETA, RHO, Option, Request, is_word
from dcomp.models.prior import Capabilities, GammaForm, Parameter, Slots, TokenWeights, share_below
from dcomp.models.pseudo import Pseudo
from dcomp.models.sums import Sums

_CAPABILITIES = Capabilities(
    sampling="direct",
    tokens="linear",
    exposure=True,
    exact_zeros=True,
    left_to_right=True,
    evidence=True,
    gammas=True,
    restricts=True,
    normalised=True,
    why={
        "fixed_point": "an exact zero makes E[log l] infinite, so that a document has no fixed "
        "point; method='sampling' works",
        "bound": "it has no mean field, and so no bound on log p(w | Θ)",
    },
)


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
        learn_alpha: Learning = False,
        learn_beta: bool = False,
        learn_rho: bool = False,
    ) -> ConditionalGammaScores:
        """α, β, ρ numbers or one per component; the start of the learning where learned."""
        shape = component_vector("alpha", alpha, n_components)
        check_shared("alpha", shape, learn_alpha)
        return cls(
            shape,
            component_vector("beta", beta, n_components),
            learn_alpha,
            learn_beta,
            probability_vector("rho", rho, n_components),
            learn_rho,
        )

    @property
    def capabilities(self) -> Capabilities:
        """As gamma scores, with exact zeros; they make E[log l] infinite, so no mean field."""
        return _CAPABILITIES

    @property
    def slots(self) -> Slots:
        """Whether a component has words of a document decides whether its score can be 0."""
        return Slots(zeros=True)

    def parameters(self) -> tuple[Parameter, ...]:
        """α, β and ρ; annealing makes zeros as rare as it makes scores alike."""
        rho = Parameter("rho", self.rho, self.learn_rho, upper=1.0, heat=-1)
        return (*super().parameters(), rho)

    def without_zeros(self) -> GammaScores:
        """Gamma scores with the same α and β."""
        return GammaScores(self.alpha, self.beta, self.learn_alpha, self.learn_beta)

    def stored(self) -> dict[str, Any]:
        """What a file says beside the parameters; `restored` is the way back."""
        return {**super().stored(), "learn_rho": self.learn_rho}

    @classmethod
    def restored(
        cls, entry: Mapping[str, Any], arrays: Mapping[str, Any]
    ) -> ConditionalGammaScores:
        """From a file."""
        plain = GammaScores.restored(entry, arrays)
        return cls.build(
            plain.n_components,
            plain.alpha,
            plain.beta,
            rho=stored_vector("rho", arrays),
            learn_alpha=plain.learn_alpha,
            learn_beta=plain.learn_beta,
            learn_rho=stored_flag(entry, "learn_rho"),
        )

    def counts_seen(
        self, c: npt.NDArray[Any], exposure: FloatArray, allowed: Allowed | None = None
    ) -> Sums | None:
        """What `learn_from_counts` needs of documents with the counts c (I, K); it adds."""
        if not self.learned:
            return None
        u = np.where(c > 0, 1.0, 1 - self.zero_probability(exposure))
        may = np.ones(c.shape) if allowed is None else allowed.mask.astype(np.float64)
        moments = self._moments_where_present(c, exposure, u * may)
        return Sums({**moments.values, "n_docs": may.sum(axis=0)})

    def learn_from_counts(
        self, seen: Sums | None, pseudo: Pseudo | None = None
    ) -> tuple[ConditionalGammaScores, tuple[str, ...]]:
        """One EM step for α, β and ρ given drawn counts c (I, K): scores are weighed by
        u = P(l > 0 | c), and ρ is the mean of 1 − u (MODELS §6), but at least half a document: from
        a ρ of 0, which a chain has before it finds its first zero, there is no way back."""
        learned, capped = super().learn_from_counts(seen, pseudo)
        if seen is None or not self.learn_rho:
            return learned, capped
        if pseudo is not None:
            seen = seen + pseudo.sums(self.n_components)
        least = 0.5 / (seen["n_docs"] + 1)
        rho = np.clip(1 - seen["present"] / np.maximum(seen["n_docs"], 1), least, RHO_CAP)
        return replace(learned, rho=rho), (*capped, "rho") if (rho >= RHO_CAP).any() else capped

    def native(
        self,
        exposure: FloatArray | None = None,
        *,
        mode: str = "expect",
        power: float = 1.0,
        **allowed: Any,
    ) -> _core.ScorePrior:
        """The prior as the kernels take it (`_core.ScorePrior`); mode "expect" or "maximise", and
        then with a power of the scores below 1 where EM is tempered."""
        numbers = {"alpha": self.alpha, "beta": self.beta, "rho": self.rho}
        return _core.ScorePrior("CGP", numbers, exposure, mode=mode, power=power, **allowed)

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

    def posterior_sd(self, c: npt.NDArray[Any], exposure: FloatArray) -> FloatArray:
        """Standard deviation of l given c (I, K), its chance of being 0 included."""
        a, mean = self.alpha + c, self.posterior_mean(c, exposure)
        present = np.where(c > 0, 1.0, 1 - self.zero_probability(exposure))
        square = present * a * (a + 1) / (self.beta + exposure[:, None]) ** 2
        return np.asarray(np.sqrt(np.maximum(square - mean**2, 0.0)))

    def share_below(self, c: npt.NDArray[Any], exposure: FloatArray, limit: float) -> FloatArray:
        """P(l_k < limit · Σ l | c), (I, K)."""
        a = self.alpha + c.astype(np.float64)
        absent = np.where(c > 0, 0.0, self.zero_probability(exposure))
        return share_below(a, self._rate(exposure, a), limit, absent)

    def token_weights(self, exposure: FloatArray) -> TokenWeights:
        """As gamma scores, but a component without words may be absent: α (1 − q0)."""
        plain = super().token_weights(exposure)
        a0 = (1 - self.zero_probability(exposure)) * plain.a
        return replace(plain, a0=a0, log_present=self.log_present(exposure))

    def gamma_form(self, exposure: FloatArray) -> GammaForm:
        """As gamma scores, each with its chance of being 0."""
        with np.errstate(divide="ignore"):
            odds = np.log(self.rho) - np.log1p(-self.rho)
        log_zero = odds + gammaln(self.alpha) - self.alpha * np.log(self.beta)
        zero = np.ascontiguousarray(self.zero_probability(exposure))
        return replace(super().gamma_form(exposure), log_zero=log_zero, zero=zero)

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

    def draw(
        self, c: npt.NDArray[Any], exposure: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """l (..., K) given c: BJ06 table III; without words a score is 0 with probability q0,
        which is ρ itself at exposure 0."""
        scores = super().draw(c, exposure, rng)
        scores[(c == 0) & (rng.random(c.shape) < self.zero_probability(exposure))] = 0
        return scores

    def draw_prior(self, n_docs: int, rng: np.random.Generator) -> FloatArray:
        """l (I, K) from the prior."""
        scores = super().draw_prior(n_docs, rng)
        scores[rng.random(scores.shape) < self.rho] = 0
        return scores


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
    options: ClassVar[tuple[Option, ...]] = (ALPHA, BETA, RHO)

    @classmethod
    def build(
        cls, n_components: int, *, gamma: npt.ArrayLike = 0.5, **scores: Any
    ) -> ConditionalGammaPoisson:
        """The model from plain numbers: alpha, beta, rho and what of them is learned."""
        return cls(ConditionalGammaScores.build(n_components, **scores), DirichletLoadings(gamma))

    @classmethod
    def resolve(cls, request: Request) -> ConditionalGammaPoisson:
        """The model from what was typed."""
        K, rho = request.components(), request.get("rho", "auto")
        learn_rho = is_word("rho", rho, RHO.words) == "auto"
        scores = ConditionalGammaScores.build(
            K, rho=0.5 if learn_rho else rho, learn_rho=learn_rho, **gamma_priors(request, K)
        )
        return cls(scores, request.loadings(K))

    def without_zeros(self) -> GammaPoisson:
        """GP with the same α and β."""
        return GammaPoisson(self.scores.without_zeros(), self.loadings)
