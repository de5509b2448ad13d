"""What the models of Poisson words have in common: w_j ~ Poisson(e (Θl)_j), whatever l comes from.

BJ06 IV.A with an exposure e_ig per document and block (1 unless given). GP and CGP differ in the
prior of l alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dcomp.data import Counts, FeatureSpace
from dcomp.errors import InvalidParameter
from dcomp.models.arrays import FloatArray
from dcomp.models.flat import FlatModel
from dcomp.models.observations import Observations
from dcomp.models.words import draw_words, word_log_likelihood


@dataclass(frozen=True)
class PoissonModel(FlatModel):
    """l from a prior of rates, w_j ~ Poisson(e (Θl)_j), θ_k ~ Dirichlet(γ).

    The prior offers `n_components`, `log_density(l)` and `draw_prior(n_docs, rng)`.
    """

    has_exposure: ClassVar[bool] = True

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

    def simulate(
        self,
        features: FeatureSpace,
        size: npt.ArrayLike,
        rng: np.random.Generator,
        Theta: FloatArray | None = None,
    ) -> tuple[Counts, FloatArray, FloatArray]:
        """Counts, l and Θ drawn from the model; `size` = exposure per document (and block)."""
        if not self.scores.capabilities.proper:
            raise InvalidParameter("a flat prior (beta = 0) has no draws; give beta > 0")
        if Theta is None:
            Theta = self.loadings.simulate(features.blocks, self.n_components, rng)
        exposure = np.asarray(size, dtype=np.float64)
        exposure = exposure[:, None] if exposure.ndim == 1 else exposure
        exposure = np.broadcast_to(exposure, (len(exposure), features.n_blocks))
        scores = self.scores.draw_prior(len(exposure), rng)
        # The total of a block is Poisson; given it the words are multinomial (BJ06 Lemma 1).
        total = scores.sum(axis=1, keepdims=True)
        counts = rng.poisson(exposure * total)
        m = np.where(total > 0, scores, 1.0)
        m /= m.sum(axis=1, keepdims=True)
        return draw_words(features, m, Theta, counts, rng), scores, Theta
