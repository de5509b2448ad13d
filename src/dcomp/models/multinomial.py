"""What the models of shares have in common: w ~ Multinomial(L, Θm), whatever m comes from.

BJ06 IV.C; with blocks, one multinomial per block with shared scores (IV.D). DM, LN and TM differ in
the prior of m alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dcomp.data import Counts, FeatureSpace
from dcomp.models.arrays import FloatArray
from dcomp.models.flat import FlatModel
from dcomp.models.observations import Observations
from dcomp.models.words import draw_words, word_log_likelihood


@dataclass(frozen=True)
class MultinomialModel(FlatModel):
    """m from a prior of shares, w ~ Multinomial(L, Θm), θ_k ~ Dirichlet(γ).

    The prior offers `n_components`, `log_density(m)` and `draw_prior(n_docs, rng)`.
    """

    has_exposure: ClassVar[bool] = False

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
