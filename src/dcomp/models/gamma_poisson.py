"""GP, the gamma-Poisson model (GaP): l_k ~ Gamma(α_k, rate β_k), w_j ~ Poisson(e (Θl)_j).

BJ06 IV.A, equation (2), with an exposure e_ig per document and block (1 unless given).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, gammaln

from dcomp import _core
from dcomp.errors import InvalidParameter
from dcomp.models.allowed import Allowed, Users
from dcomp.models.arrays import (
    FloatArray,
    component_vector,
    equal_fields,
    stored_flag,
    stored_vector,
)
from dcomp.models.learning import (
    BETA_CAP,
    BETA_FLOOR,
    Learning,
    at_limit,
    check_shape_of_mode,
    check_shared,
    gamma_parameters,
    shared_gamma_parameters,
    stored_learning,
)
from dcomp.models.loadings import DirichletLoadings
from dcomp.models.options import ALPHA, BETA, Option, Request
from dcomp.models.poisson import PoissonModel
from dcomp.models.prior import (
    Capabilities,
    GammaForm,
    Parameter,
    Slots,
    TokenWeights,
    learned_names,
    share_below,
)
from dcomp.models.pseudo import Pseudo
from dcomp.models.sums import Sums

_CAPABILITIES = Capabilities(
    fixed_point="mean-field",
    sampling="direct",
    tokens="linear",
    exposure=True,
    left_to_right=True,
    evidence=True,
    gammas=True,
    restricts=True,
    normalised=True,
)


@dataclass(frozen=True, eq=False)
class GammaScores:
    """l_k ~ Gamma(α_k, β_k) with rate β_k; α_k = 1, β_k = 0 is flat: no prior at all.

    learn_alpha, learn_beta: whether a fit updates them; α, if "shared", as one number for all
    components.

    >>> GammaScores.build(2, alpha=1.0, beta=[0.5, 2.0]).beta
    array([0.5, 2. ])
    """

    alpha: FloatArray
    beta: FloatArray
    learn_alpha: Learning = False
    learn_beta: bool = False

    __eq__ = equal_fields

    @classmethod
    def build(
        cls,
        n_components: int,
        alpha: npt.ArrayLike = 0.1,
        beta: npt.ArrayLike = 0.1,
        *,
        learn_alpha: Learning = False,
        learn_beta: bool = False,
    ) -> GammaScores:
        """α, β numbers or one per component; the start of the learning where they are learned."""
        shape = component_vector("alpha", alpha, n_components)
        rate = component_vector("beta", beta, n_components, zero=True)
        if np.any((rate == 0) & ((shape != 1) | bool(learn_alpha) | learn_beta)):
            raise InvalidParameter(
                "beta must be positive, or 0 with a fixed alpha of 1, which is a flat prior; found "
                f"beta = 0 with {'a learned prior' if learn_alpha or learn_beta else 'alpha'}"
                f"{'' if learn_alpha or learn_beta else f' = {shape[rate == 0][0]:g}'}"
            )
        check_shared("alpha", shape, learn_alpha)
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
    def capabilities(self) -> Capabilities:
        """All that a conjugate prior of rates can do; without a proper prior, what needs none."""
        return replace(_CAPABILITIES, proper=not self.is_flat)

    @property
    def slots(self) -> Slots:
        """The mean of c gives that of the scores: nothing else is recorded."""
        return Slots()

    @property
    def nodes(self) -> None:
        """Components are on their own."""

    def parameters(self) -> tuple[Parameter, ...]:
        """α and β."""
        return (
            Parameter("alpha", self.alpha, bool(self.learn_alpha)),
            Parameter("beta", self.beta, self.learn_beta),
        )

    @property
    def learned(self) -> tuple[str, ...]:
        """Names of the hyper-parameters that a fit updates."""
        return learned_names(self.parameters())

    def with_values(self, **changes: Any) -> Self:
        """With other hyper-parameters."""
        return replace(self, **changes)

    def without_zeros(self) -> GammaScores:
        """No score is exactly 0: itself."""
        return self

    def stored(self) -> dict[str, Any]:
        """What a file says beside the parameters; `restored` is the way back."""
        return {"learn_alpha": self.learn_alpha, "learn_beta": self.learn_beta}

    @classmethod
    def restored(cls, entry: Mapping[str, Any], arrays: Mapping[str, Any]) -> GammaScores:
        """From a file."""
        alpha, beta = (stored_vector(name, arrays) for name in ("alpha", "beta"))
        learn_alpha, learn_beta = (
            stored_learning(entry["learn_alpha"]),
            stored_flag(entry, "learn_beta"),
        )
        return cls.build(len(alpha), alpha, beta, learn_alpha=learn_alpha, learn_beta=learn_beta)

    def moments_seen(
        self, c: npt.NDArray[Any], n_threads: int, allowed: Allowed | None = None
    ) -> None:
        """Nothing that `learn_from_moments` needs beside moments."""

    def learn_from_moments(
        self,
        log_scores: FloatArray,
        mean_scores: FloatArray,
        n_docs: int | Users,
        seen: None = None,
    ) -> tuple[Self, tuple[str, ...]]:
        """With α and β that maximise their part of the bound, given Σ_i E[log l] and Σ_i E[l], and
        the names of what is at a limit."""
        of = n_docs.of_components if isinstance(n_docs, Users) else n_docs
        mean_log, mean = log_scores / of, mean_scores / of
        return self._learn(mean_log, mean, np.ones(self.n_components))

    def restrained(self, learned: Self) -> Self:
        """All of what was learned of documents that have not parted yet: shapes have a limit that
        lets them part."""
        return learned

    def _learn(
        self, mean_log: FloatArray, mean: FloatArray, weight: FloatArray
    ) -> tuple[Self, tuple[str, ...]]:
        """From the means of log scores and of scores; weight: in how many documents they are."""
        given = (self.alpha, self.beta, self.learned)
        if self.learn_alpha == "shared":
            changes, capped = shared_gamma_parameters(*given, mean_log, mean, weight)
        else:
            changes, capped = gamma_parameters(*given, mean_log, mean)
        return replace(self, **changes), capped

    def counts_seen(
        self, c: npt.NDArray[Any], exposure: FloatArray, allowed: Allowed | None = None
    ) -> Sums | None:
        """What `learn_from_counts` needs of documents with the counts c (I, K); it adds."""
        if not (self.learn_alpha or self.learn_beta):
            return None
        may = np.ones(c.shape) if allowed is None else allowed.mask.astype(np.float64)
        return self._moments_where_present(c, exposure, may)

    def _moments_where_present(
        self, c: npt.NDArray[Any], exposure: FloatArray, present: FloatArray
    ) -> Sums:
        """Moments of the scores, each weighed by the probability that it is not 0."""
        rate = self.beta + exposure[:, None]
        a = self.alpha + c
        return Sums(
            {
                "present": present.sum(axis=0),
                "scores": (present * a / rate).sum(axis=0),
                "log_scores": (present * (digamma(a) - np.log(rate))).sum(axis=0),
            }
        )

    def learn_from_counts(
        self, seen: Sums | None, pseudo: Pseudo | None = None
    ) -> tuple[Self, tuple[str, ...]]:
        """One EM step for α and β given drawn counts c (I, K), by the moments of each score given
        its count (MODELS §6): monotone in log p(c), with its prior where one is given."""
        if seen is None or not (self.learn_alpha or self.learn_beta):
            return self, ()
        if pseudo is not None:
            seen = seen + pseudo.sums(self.n_components)
        weight = np.maximum(seen["present"], 1e-300)
        mean, mean_log = seen["scores"] / weight, seen["log_scores"] / weight
        return self._learn(mean_log, mean, weight)

    def modes_seen(
        self, c: npt.NDArray[Any], exposure: FloatArray, allowed: Allowed | None = None
    ) -> Sums | None:
        """What `learn_at_mode` needs of documents with the expected words c (I, K); it adds."""
        if not self.learn_beta:
            return None
        scores = (self.alpha + c) / (self.beta + exposure[:, None])
        if allowed is None:
            return Sums({"scores": scores.sum(axis=0), "n_docs": len(c)})
        may = allowed.mask
        return Sums({"scores": (may * scores).sum(axis=0), "n_docs": may.sum(axis=0)})

    def learn_at_mode(self, seen: Sums | None) -> tuple[Self, tuple[str, ...]]:
        """β = α / mean E[l], E[l] = (α + c) / (β + e): from the mean of the scores given c, because
        the joint mode of scores and their scale does not exist (MODELS §7)."""
        if seen is None:
            return self, ()
        beta = np.clip(
            self.alpha / (seen["scores"] / np.maximum(seen["n_docs"], 1)), BETA_FLOOR, BETA_CAP
        )
        capped = at_limit(beta, BETA_FLOOR, BETA_CAP)
        return replace(self, beta=beta), ("beta",) if capped else ()

    def check_mode(self) -> None:
        """An error where the scores have no mode, or would learn from it."""
        check_shape_of_mode(self.alpha, self.learn_alpha)

    @property
    def flat_values(self) -> dict[str, float]:
        """What makes the prior disappear: a density of 1 everywhere."""
        return {"alpha": 1.0, "beta": 0.0}

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
        numbers = {"alpha": self.alpha, "beta": self.beta}
        return _core.ScorePrior("GP", numbers, exposure, mode=mode, power=power, **allowed)

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

    def posterior_sd(self, c: npt.NDArray[Any], exposure: FloatArray) -> FloatArray:
        """Standard deviation of l given c (I, K)."""
        return np.asarray(np.sqrt(self.alpha + c) / (self.beta + exposure[:, None]))

    def share_below(self, c: npt.NDArray[Any], exposure: FloatArray, limit: float) -> FloatArray:
        """P(l_k < limit · Σ l | c), (I, K)."""
        a = self.alpha + c.astype(np.float64)
        return share_below(a, self._rate(exposure, a), limit)

    def _rate(self, exposure: FloatArray, a: FloatArray) -> FloatArray:
        return np.asarray(np.broadcast_to(self.beta + exposure[:, None], a.shape))

    def token_weights(self, exposure: FloatArray) -> TokenWeights:
        """s_k = (α_k + c_k) / (β_k + e), a row for each exposure."""
        rate = self.beta + exposure[:, None]
        return TokenWeights(np.broadcast_to(self.alpha, rate.shape), rate)

    def gamma_form(self, exposure: FloatArray) -> GammaForm:
        """As they are."""
        return GammaForm(self.alpha, np.ascontiguousarray(self.beta + exposure[:, None]))

    def rough_scores(self, c: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Scores for a sampler's start, up to a factor per document."""
        return np.asarray(c + self.alpha.astype(np.float32))

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

    def draw(
        self, c: npt.NDArray[Any], exposure: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """l (..., K) given c: BJ06 table III."""
        return np.asarray(rng.gamma(self.alpha + c, 1 / (self.beta + exposure[:, None])))

    def draw_prior(self, n_docs: int, rng: np.random.Generator) -> FloatArray:
        """l (I, K) from the prior."""
        return rng.gamma(self.alpha, 1 / self.beta, size=(n_docs, self.n_components))


@dataclass(frozen=True)
class GammaPoisson(PoissonModel):
    """l_k ~ Gamma(α_k, β_k), w_j ~ Poisson(e (Θl)_j), θ_k ~ Dirichlet(γ): BJ06 (2).

    >>> model = GammaPoisson.build(2, alpha=0.5, beta=0.1)
    >>> model.n_components, model.key
    (2, 'GP')
    """

    scores: GammaScores
    loadings: DirichletLoadings = field(default_factory=DirichletLoadings)

    key: ClassVar[str] = "GP"
    long_name: ClassVar[str] = "gamma-poisson"
    scores_type: ClassVar[type[GammaScores]] = GammaScores
    options: ClassVar[tuple[Option, ...]] = (ALPHA, BETA)

    @classmethod
    def build(
        cls,
        n_components: int,
        *,
        alpha: npt.ArrayLike = 0.1,
        beta: npt.ArrayLike = 0.1,
        gamma: npt.ArrayLike = 0.5,
        learn_alpha: Learning = False,
        learn_beta: bool = False,
    ) -> GammaPoisson:
        """The model from plain numbers."""
        scores = GammaScores.build(
            n_components, alpha, beta, learn_alpha=learn_alpha, learn_beta=learn_beta
        )
        return cls(scores, DirichletLoadings(gamma))

    @classmethod
    def resolve(cls, request: Request) -> GammaPoisson:
        """The model from what was typed."""
        K = request.components()
        return cls(GammaScores.build(K, **gamma_priors(request, K)), request.loadings(K))


def gamma_priors(request: Request, n_components: int) -> dict[str, Any]:
    """α and β from what was typed, and whether they are learned."""
    alpha, learn_alpha = request.alpha(n_components)
    beta, learn_beta = request.beta(n_components, alpha)
    return {"alpha": alpha, "beta": beta, "learn_alpha": learn_alpha, "learn_beta": learn_beta}
