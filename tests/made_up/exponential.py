"""EX, a model that nobody needs: l_k ~ Exponential(τ_k), w_j ~ Poisson(e (Θl)_j).

The whole Python side of a new score prior: this file, and a line in `MODELS`. Its kernels are
cpp/include/dcomp/priors/made_up.hpp. Given c a score is Gamma(1 + c, τ + e).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import digamma, gammaln

from dcomp import _core
from dcomp.models.arrays import component_vector, equal_fields, stored_vector
from dcomp.models.loadings import DirichletLoadings
from dcomp.models.options import Option, Request, is_word
from dcomp.models.poisson import PoissonModel
from dcomp.models.prior import (
    Capabilities,
    Parameter,
    Slots,
    TokenWeights,
    learned_names,
    share_below,
)
from dcomp.models.sums import Sums

FLOOR, CAP = 1e-9, 1e9
TAU = Option("tau", "prior", "rate of the scores: auto (learned) or a number.", "auto", ("auto",))


@dataclass(frozen=True, eq=False)
class ExponentialScores:
    """l_k ~ Exponential(τ_k) with rate τ_k."""

    tau: Any
    learn_tau: bool = False

    __eq__ = equal_fields

    @property
    def n_components(self):
        return len(self.tau)

    @property
    def capabilities(self):
        return Capabilities(
            fixed_point="mean-field",
            sampling="direct",
            tokens="linear",
            exposure=True,
            left_to_right=True,
            evidence=True,
            normalised=True,
        )

    @property
    def slots(self):
        return Slots()

    @property
    def nodes(self):
        return None

    def parameters(self):
        return (Parameter("tau", self.tau, self.learn_tau),)

    @property
    def learned(self):
        return learned_names(self.parameters())

    def with_values(self, **changes):
        return replace(self, **changes)

    def without_zeros(self):
        return self

    def stored(self):
        return {"learn_tau": self.learn_tau}

    @classmethod
    def restored(cls, entry: Mapping[str, Any], arrays: Mapping[str, Any]):
        tau = stored_vector("tau", arrays)
        return cls(component_vector("tau", tau, len(tau)), bool(entry["learn_tau"]))

    def native(self, exposure=None, *, mode="expect", power=1.0):
        return _core.ScorePrior("EX", {"tau": self.tau}, exposure, mode=mode, power=power)

    def moments_seen(self, c, n_threads):
        return None

    def learn_from_moments(self, log_scores, mean_scores, n_docs, seen=None):
        """τ = 1 / mean E[l]."""
        return self._learned(mean_scores / n_docs)

    def restrained(self, learned):
        """Documents part whatever τ is."""
        return learned

    def counts_seen(self, c, exposure):
        scores = self.posterior_mean(c, exposure).sum(axis=0)
        return Sums({"scores": scores, "n_docs": len(c)}) if self.learn_tau else None

    def learn_from_counts(self, seen):
        return (self, ()) if seen is None else self._learned(seen["scores"] / seen["n_docs"])

    def _learned(self, mean):
        if not self.learn_tau:
            return self, ()
        tau = np.clip(1 / mean, FLOOR, CAP)
        return replace(self, tau=tau), ("tau",) if (tau <= FLOOR).any() else ()

    def _rate(self, exposure):
        return self.tau + exposure[:, None]

    def posterior_mean(self, c, exposure):
        return (1 + c) / self._rate(exposure)

    def posterior_sd(self, c, exposure):
        return np.sqrt(1 + c) / self._rate(exposure)

    def recorded_mean(self, c_sum, zeros, count, exposure):
        return self.posterior_mean(c_sum / count, exposure)

    def expected_log(self, c, exposure):
        return digamma(1.0 + c) - np.log(self._rate(exposure))

    def log_moment(self, c, exposure):
        """Σ_k log E[l^c e^(−e l)] = Σ_k ln Γ(1 + c) + ln τ − (1 + c) ln(τ + e)."""
        b = np.log(self._rate(exposure))
        return (gammaln(1.0 + c) + np.log(self.tau) - (1 + c) * b).sum(axis=1)

    def log_density(self, scores):
        return (np.log(self.tau) - self.tau * scores).sum(axis=1)

    def share_below(self, c, exposure, limit):
        a = 1.0 + c
        return share_below(a, np.broadcast_to(self._rate(exposure), a.shape), limit)

    def token_weights(self, exposure):
        rate = self._rate(exposure)
        return TokenWeights(np.ones(rate.shape), rate)

    def rough_scores(self, c):
        return c + np.float32(1)

    def draw(self, c, exposure, rng):
        return rng.gamma(1.0 + c, 1 / self._rate(exposure))

    def draw_prior(self, n_docs, rng):
        return rng.exponential(1 / self.tau, size=(n_docs, self.n_components))


@dataclass(frozen=True)
class ExponentialPoisson(PoissonModel):
    """l_k ~ Exponential(τ_k), w_j ~ Poisson(e (Θl)_j), θ_k ~ Dirichlet(γ)."""

    scores: ExponentialScores
    loadings: DirichletLoadings = field(default_factory=DirichletLoadings)

    key: ClassVar[str] = "EX"
    long_name: ClassVar[str] = "exponential-poisson"
    scores_type: ClassVar[Any] = ExponentialScores
    options: ClassVar[tuple[Option, ...]] = (TAU,)

    @classmethod
    def build(cls, n_components, tau=1.0, *, gamma=0.5, learn_tau=False):
        tau = component_vector("tau", tau, n_components)
        return cls(ExponentialScores(tau, learn_tau), DirichletLoadings(gamma))

    @classmethod
    def resolve(cls, request: Request):
        """τ "auto" begins where a document of average length has the expected total Σ 1/τ."""
        K, tau = request.components(), request.get("tau", "auto")
        learned = is_word("tau", tau, TAU.words) is not None
        tau = component_vector("tau", K / request.data.mean_length if learned else tau, K)
        return cls(ExponentialScores(tau, learned), request.loadings())
