"""DM, the Dirichlet-multinomial model (LDA, MPCA): m ~ Dirichlet(α), w ~ Multinomial(L, Θm).

BJ06 IV.C, equation (4); with blocks, one multinomial per block with shared scores (IV.D).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, gammaln

from dcomp import _core
from dcomp.models.allowed import Allowed, Users
from dcomp.models.arrays import (
    FloatArray,
    component_vector,
    draw_dirichlet,
    equal_fields,
    stored_vector,
)
from dcomp.models.learning import (
    Learning,
    check_shape_of_mode,
    check_shared,
    dirichlet_alpha,
    grouped_alpha,
    polya_alpha,
    repeated_alpha,
    shared_dirichlet_alpha,
    shared_polya_alpha,
    stored_learning,
)
from dcomp.models.loadings import DirichletLoadings
from dcomp.models.multinomial import MultinomialModel
from dcomp.models.options import ALPHA, Option, Request
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
from dcomp.models.spread import Spread
from dcomp.models.sums import Sums, Tallies

UNPARTED = 2.0  # the most that α is on average while documents have not parted

_CAPABILITIES = Capabilities(
    fixed_point="mean-field",
    sampling="direct",
    tokens="linear",
    left_to_right=True,
    evidence=True,
    gammas=True,
    restricts=True,
    normalised=True,
)


@dataclass(frozen=True, eq=False)
class DirichletScores:
    """m ~ Dirichlet(α).

    learn_alpha: whether a fit updates α; "shared": as one number for all components.

    >>> DirichletScores.build(3, 0.1).alpha
    array([0.1, 0.1, 0.1])
    """

    alpha: FloatArray
    learn_alpha: Learning = False

    __eq__ = equal_fields

    @classmethod
    def build(
        cls, n_components: int, alpha: npt.ArrayLike = 0.1, *, learn_alpha: Learning = False
    ) -> DirichletScores:
        """α a number or one per component; the start of the learning where it is learned."""
        vector = component_vector("alpha", alpha, n_components)
        check_shared("alpha", vector, learn_alpha)
        return cls(vector, learn_alpha)

    @property
    def n_components(self) -> int:
        """K."""
        return len(self.alpha)

    @property
    def capabilities(self) -> Capabilities:
        """All that a conjugate prior of shares can do."""
        return _CAPABILITIES

    @property
    def slots(self) -> Slots:
        """The mean of c gives that of the scores: nothing else is recorded."""
        return Slots()

    @property
    def nodes(self) -> None:
        """Components are on their own."""

    def parameters(self) -> tuple[Parameter, ...]:
        """α."""
        return (Parameter("alpha", self.alpha, bool(self.learn_alpha)),)

    @property
    def learned(self) -> tuple[str, ...]:
        """Names of the hyper-parameters that a fit updates."""
        return learned_names(self.parameters())

    def with_values(self, **changes: Any) -> DirichletScores:
        """With other hyper-parameters."""
        return replace(self, **changes)

    def without_zeros(self) -> DirichletScores:
        """No score is exactly 0: itself."""
        return self

    def stored(self) -> dict[str, Any]:
        """What a file says beside the parameters; `restored` is the way back."""
        return {"learn_alpha": self.learn_alpha}

    @classmethod
    def restored(cls, entry: Mapping[str, Any], arrays: Mapping[str, Any]) -> DirichletScores:
        """From a file."""
        alpha = stored_vector("alpha", arrays)
        return cls.build(len(alpha), alpha, learn_alpha=stored_learning(entry["learn_alpha"]))

    def moments_seen(
        self, c: npt.NDArray[Any], n_threads: int, allowed: Allowed | None = None
    ) -> Spread | None:
        """What `learn_from_moments` needs beside moments of documents with the expected words c
        (I, K); it adds."""
        if not self.learn_alpha or self.n_components == 1 or allowed is not None:
            return None
        return Spread.build(c, n_threads)

    def learn_from_moments(
        self,
        log_scores: FloatArray,
        mean_scores: FloatArray,
        n_docs: int | Users,
        seen: Spread | None = None,
    ) -> tuple[DirichletScores, tuple[str, ...]]:
        """With α that maximises its part of the bound, given Σ_i E[log m], and the names of what
        is at a limit. That is one step of EM; with what was seen of the documents' words it is
        repeated, q(m) being the best for each α in turn."""
        if not self.learn_alpha:
            return self, ()
        if isinstance(n_docs, Users):
            return self._learn_among(n_docs, log_scores)
        step = shared_dirichlet_alpha if self.learn_alpha == "shared" else dirichlet_alpha
        alpha, capped = step(self.alpha, log_scores / n_docs)
        if seen is not None:
            alpha, capped = repeated_alpha(step, self.alpha, alpha, log_scores / n_docs, seen)
        return replace(self, alpha=alpha), ("alpha",) if capped else ()

    def restrained(self, learned: DirichletScores) -> DirichletScores:
        """On the way to what was learned, as far as α is 2 on average: of documents that have not
        parted yet α is learned in the thousands, and then never lets them part. The likelihood is
        concave in α, so that a part of the way is not lower than its beginning.

        >>> scores = DirichletScores.build(2, 0.5, learn_alpha=True)
        >>> scores.restrained(replace(scores, alpha=np.array([8.0, 4.0]))).alpha
        array([2.54545455, 1.45454545])
        """
        now, then = self.alpha.mean(), learned.alpha.mean()
        if then <= max(now, UNPARTED):
            return learned
        part = max(UNPARTED - now, 0.0) / (then - now)
        return replace(learned, alpha=self.alpha + part * (learned.alpha - self.alpha))

    def _learn_among(
        self, users: Users, log_scores: FloatArray
    ) -> tuple[DirichletScores, tuple[str, ...]]:
        """The same where documents may not use all components (MODELS §11)."""
        shared = self.learn_alpha == "shared"
        alpha, capped = grouped_alpha(
            self.alpha, log_scores, users.masks, users.sizes, shared=shared
        )
        return replace(self, alpha=alpha), ("alpha",) if capped else ()

    def counts_seen(
        self, c: npt.NDArray[Any], exposure: FloatArray, allowed: Allowed | None = None
    ) -> Tallies | Sums | None:
        """What `learn_from_counts` needs of documents with the counts c (I, K); it adds."""
        if not self.learn_alpha:
            return None
        if allowed is None:
            return Tallies.build(c)
        logs = allowed.ask(self, "expected_log", c, exposure).sum(axis=0)
        return Sums({"log_scores": logs, "users": allowed.users})

    def learn_from_counts(
        self, seen: Tallies | Sums | None, pseudo: Pseudo | None = None
    ) -> tuple[DirichletScores, tuple[str, ...]]:
        """One step of learning α from drawn counts c (I, K), monotone in log p(c), with its prior
        where one is given; one α for all is the maximum at once. Where documents may not use all
        components it is a step of EM."""
        if seen is None:
            return self, ()
        if isinstance(seen, Sums):
            return self._learn_among(seen["users"], seen["log_scores"])
        step = shared_polya_alpha if self.learn_alpha == "shared" else polya_alpha
        prior: dict[str, Any] = {}
        if pseudo is not None:
            prior = {"worth": pseudo.worth, "logs": pseudo.logs(self.n_components)}
        alpha, capped = step(self.alpha, seen, **prior)
        return replace(self, alpha=alpha), ("alpha",) if capped else ()

    def modes_seen(
        self, c: npt.NDArray[Any], exposure: FloatArray, allowed: Allowed | None = None
    ) -> None:
        """Nothing that `learn_at_mode` needs."""

    def learn_at_mode(self, seen: None) -> tuple[DirichletScores, tuple[str, ...]]:
        """α is not learned from modes (`check_mode`), and there is nothing else."""
        return self, ()

    def check_mode(self) -> None:
        """An error where the scores have no mode, or would learn from it."""
        check_shape_of_mode(self.alpha, self.learn_alpha)

    @property
    def flat_values(self) -> dict[str, float]:
        """What makes the prior disappear from the mode."""
        return {"alpha": 1.0}

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
        return _core.ScorePrior("DM", {"alpha": self.alpha}, mode=mode, power=power, **allowed)

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

    def posterior_sd(self, c: npt.NDArray[Any], exposure: FloatArray) -> FloatArray:
        """Standard deviation of m given c (I, K)."""
        a = self.alpha + c
        total = a.sum(axis=1, keepdims=True)
        m = a / total
        return np.asarray(np.sqrt(m * (1 - m) / (1 + total)))

    def share_below(self, c: npt.NDArray[Any], exposure: FloatArray, limit: float) -> FloatArray:
        """P(m_k < limit | c), (I, K): shares of a Dirichlet are beta."""
        a = self.alpha + c.astype(np.float64)
        return share_below(a, np.ones_like(a), limit)

    def token_weights(self, exposure: FloatArray) -> TokenWeights:
        """s_k ∝ α_k + c_k, the same for all documents."""
        row = self.alpha[None]
        return TokenWeights(row, np.ones_like(row))

    def gamma_form(self, exposure: FloatArray) -> GammaForm:
        """Shares of gammas of rate 1 (BJ06 Lemma 1)."""
        rate = np.ones((len(exposure), self.n_components))
        return GammaForm(self.alpha, rate, normalised=True)

    def rough_scores(self, c: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Scores for a sampler's start, up to a factor per document."""
        return np.asarray(c + self.alpha.astype(np.float32))

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

    def draw(
        self, c: npt.NDArray[Any], exposure: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """m (..., K) given c: BJ06 table III."""
        return draw_dirichlet(self.alpha + c, rng)

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
    options: ClassVar[tuple[Option, ...]] = (ALPHA,)

    @classmethod
    def build(
        cls,
        n_components: int,
        *,
        alpha: npt.ArrayLike = 0.1,
        gamma: npt.ArrayLike = 0.5,
        learn_alpha: Learning = False,
    ) -> DirichletMultinomial:
        """The model from plain numbers."""
        scores = DirichletScores.build(n_components, alpha, learn_alpha=learn_alpha)
        return cls(scores, DirichletLoadings(gamma))

    @classmethod
    def resolve(cls, request: Request) -> DirichletMultinomial:
        """The model from what was typed."""
        K = request.components()
        alpha, learn_alpha = request.alpha(K)
        return cls(DirichletScores.build(K, alpha, learn_alpha=learn_alpha), request.loadings(K))
