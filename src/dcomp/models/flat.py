"""What all models of flat components have in common, whatever their words are: a prior of the
scores, one of the loadings, and the joint density of both with the words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from dcomp.models.arrays import FloatArray
from dcomp.models.loadings import DirichletLoadings, log_dirichlet_density
from dcomp.models.observations import Observations
from dcomp.models.options import Option, Request, Wishes


@dataclass(frozen=True)
class FlatModel(ABC):
    """Scores from their prior, words given scores and Θ, θ_k ~ Dirichlet(γ)."""

    scores: Any
    loadings: DirichletLoadings = field(default_factory=DirichletLoadings)

    key: ClassVar[str]
    long_name: ClassVar[str]
    scores_type: ClassVar[Any]
    options: ClassVar[tuple[Option, ...]] = ()  # what users may say of it
    estimator: ClassVar[str] = "DCA"  # the one that has parameters for all that makes it up

    @property
    def n_components(self) -> int:
        """K."""
        return int(self.scores.n_components)

    @property  # noqa: B027 to have none is an answer
    def leaf_model(self) -> None:
        """Components are no nodes with leaves below them."""

    def wishes(self, request: Request) -> Wishes:
        """What it asks of an algorithm beside what users say: nothing."""
        return Wishes()

    def with_scores(self, **changes: Any) -> Self:
        """The same model with other hyper-parameters of the scores."""
        return replace(self, scores=self.scores.with_values(**changes))

    def with_loadings(self, loadings: DirichletLoadings) -> Self:
        """The same model with another prior of the loadings."""
        return replace(self, loadings=loadings)

    def without_zeros(self) -> Any:
        """The model that this one is where no score is exactly 0: itself, unless scores can be."""
        return self

    @abstractmethod
    def log_constant(self, observed: Observations, *, combinatoric: bool) -> FloatArray:
        """Per document, the terms of log p(w) that no parameter changes (BJ06 III.A)."""

    @abstractmethod
    def log_likelihood(
        self,
        observed: Observations,
        scores: FloatArray,
        Theta: FloatArray,
        *,
        combinatoric: bool = False,
    ) -> FloatArray:
        """log p(w | scores, Θ) per document; without the combinatoric term, of the sequence."""

    def log_joint(
        self,
        observed: Observations,
        scores: FloatArray,
        Theta: FloatArray,
        *,
        combinatoric: bool = False,
    ) -> float:
        """log p(w, scores, Θ): BJ06 (2), (3) or (4), and the prior of Θ, with scores (I, K); of LN
        their density is that of η = log m, centred."""
        words = self.log_likelihood(observed, scores, Theta, combinatoric=combinatoric)
        blocks, free = observed.counts.features.blocks, self.loadings.free(self.n_components)
        gamma = self.loadings.table(len(Theta), self.n_components)
        own = gamma if gamma.shape[1] == 1 else gamma[:, free]
        prior = log_dirichlet_density(Theta[:, free], own, blocks)
        return float((words + self.scores.log_density(scores)).sum()) + prior
