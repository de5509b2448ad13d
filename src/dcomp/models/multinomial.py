"""What the models of shares have in common: w ~ Multinomial(L, Θm), whatever m comes from.

BJ06 IV.C; with blocks, one multinomial per block with shared scores (IV.D). DM, LN and TM differ in
the prior of m alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from dcomp.data import Counts, FeatureSpace
from dcomp.models.arrays import FloatArray
from dcomp.models.loadings import DirichletLoadings, log_dirichlet_density
from dcomp.models.observations import Observations
from dcomp.models.options import Option, Request, Wishes
from dcomp.models.words import draw_words, word_log_likelihood


@dataclass(frozen=True)
class MultinomialModel:
    """m from a prior of shares, w ~ Multinomial(L, Θm), θ_k ~ Dirichlet(γ).

    The prior offers `n_components`, `log_density(m)` and `draw_prior(n_docs, rng)`.
    """

    scores: Any
    loadings: DirichletLoadings = field(default_factory=DirichletLoadings)

    key: ClassVar[str]
    long_name: ClassVar[str]
    scores_type: ClassVar[Any]
    has_exposure: ClassVar[bool] = False
    options: ClassVar[tuple[Option, ...]] = ()  # what users may say of it
    estimator: ClassVar[str] = "DCA"  # the one that has parameters for all that makes it up

    @property
    def n_components(self) -> int:
        """K."""
        return int(self.scores.n_components)

    @property
    def leaf_model(self) -> None:
        """Components are no nodes with leaves below them."""

    def wishes(self, request: Request) -> Wishes:
        """What it asks of an algorithm beside what users say: nothing."""
        return Wishes()

    def with_scores(self, **changes: Any) -> Self:
        """The same model with other hyper-parameters of the scores."""
        return replace(self, scores=self.scores.with_values(**changes))

    def without_zeros(self) -> Self:
        """No score is exactly 0: itself."""
        return self

    def with_loadings(self, loadings: DirichletLoadings) -> Self:
        """The same model with another prior of the loadings."""
        return replace(self, loadings=loadings)

    def log_constant(self, observed: Observations, *, combinatoric: bool) -> FloatArray:
        """Per document, the terms of log p(w) that no parameter changes (BJ06 III.A)."""
        counts = observed.counts
        return counts.log_combinatoric() if combinatoric else np.zeros(counts.n_docs)

    def log_likelihood(
        self,
        observed: Observations,
        scores: FloatArray,
        Theta: FloatArray,
        *,
        combinatoric: bool = False,
    ) -> FloatArray:
        """log p(w | m, Θ) per document; without the combinatoric term, of the word sequence."""
        words = word_log_likelihood(observed.counts, scores, Theta)
        return words + self.log_constant(observed, combinatoric=combinatoric)

    def log_joint(
        self,
        observed: Observations,
        scores: FloatArray,
        Theta: FloatArray,
        *,
        combinatoric: bool = False,
    ) -> float:
        """log p(w, m, Θ): BJ06 (4) and the prior of Θ, with m = `scores` (I, K); of LN its density
        is that of η = log m, centred."""
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
        """Counts, m and Θ drawn from the model; `size` = tokens per document (and block)."""
        if Theta is None:
            Theta = self.loadings.simulate(features.blocks, self.n_components, rng)
        totals = np.asarray(size, dtype=np.int64)
        totals = totals[:, None] if totals.ndim == 1 else totals
        totals = np.broadcast_to(totals, (len(totals), features.n_blocks))
        m = self.scores.draw_prior(len(totals), rng)
        return draw_words(features, m, Theta, totals, rng), m, Theta
