"""What a model is: a score prior, a loading prior and a link, all plain data."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from dcomp import _core
from dcomp.data import Counts, FeatureSpace
from dcomp.models.arrays import FloatArray
from dcomp.models.loadings import DirichletLoadings
from dcomp.models.observations import Observations
from dcomp.models.options import Option, Request, Wishes
from dcomp.models.prior import Capabilities, Nodes, Parameter, Slots


class Scores(Protocol):
    """A score prior: what every one of them says of itself (`models/prior.py`)."""

    @property
    def n_components(self) -> int: ...
    @property
    def capabilities(self) -> Capabilities: ...
    @property
    def slots(self) -> Slots: ...
    @property
    def nodes(self) -> Nodes | None: ...
    @property
    def learned(self) -> tuple[str, ...]: ...

    def parameters(self) -> tuple[Parameter, ...]:
        """Its numbers."""
        ...

    def stored(self) -> dict[str, Any]:
        """What a file says beside the parameters; the class's `restored` is the way back."""
        ...


class MomentScores(Scores, Protocol):
    """A score prior that is conjugate to the words: all but the logistic normal (MODELS §2)."""

    def native(
        self, exposure: FloatArray | None = None, *, mode: str = "expect", power: float = 1.0
    ) -> _core.ScorePrior:
        """The prior as the kernels take it; exposure None where it is 1 or has no meaning."""
        ...

    def without_zeros(self) -> MomentScores:
        """The prior of scores that are not exactly zero."""
        ...

    def posterior_mean(self, c: npt.NDArray[Any], exposure: FloatArray) -> FloatArray:
        """E[scores | c]."""
        ...

    def posterior_sd(self, c: npt.NDArray[Any], exposure: FloatArray) -> FloatArray:
        """Standard deviation of the scores given c."""
        ...

    def expected_log(self, c: npt.NDArray[Any], exposure: FloatArray) -> FloatArray:
        """E[log scores | c]."""
        ...

    def log_moment(self, c: npt.NDArray[Any], exposure: FloatArray) -> FloatArray:
        """log E[Π score^c e^(−e score)] per document: the scores integrated out."""
        ...

    def draw(
        self, c: npt.NDArray[Any], exposure: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Scores given c."""
        ...


class Model(Protocol):
    """Assumptions about the counts; knows nothing of how to fit them."""

    key: ClassVar[str]
    long_name: ClassVar[str]
    options: ClassVar[tuple[Option, ...]]  # what users may say of it
    estimator: ClassVar[str]  # the one that has parameters for all that makes it up

    @property
    def has_exposure(self) -> bool: ...
    @property
    def scores(self) -> Scores: ...
    @property
    def loadings(self) -> DirichletLoadings: ...
    @property
    def n_components(self) -> int: ...
    @property
    def leaf_model(self) -> Model | None: ...

    @classmethod
    def resolve(cls, request: Request) -> Model:
        """The model from what was typed."""
        ...

    def wishes(self, request: Request) -> Wishes:
        """What it asks of an algorithm beside what users say."""
        ...

    def with_scores(self, **changes: Any) -> Self:
        """The same model with other hyper-parameters of the scores."""
        ...

    def with_loadings(self, loadings: DirichletLoadings) -> Self:
        """The same model with another prior of the loadings."""
        ...

    def without_zeros(self) -> Model:
        """The model that this one is where no score is exactly 0."""
        ...

    def log_constant(self, observed: Observations, *, combinatoric: bool) -> FloatArray:
        """Per document, the terms of log p(w) that no parameter changes."""
        ...

    def log_likelihood(
        self,
        observed: Observations,
        scores: FloatArray,
        Theta: FloatArray,
        *,
        combinatoric: bool = False,
    ) -> FloatArray:
        """log p(w | scores, Θ) per document."""
        ...

    def log_joint(
        self,
        observed: Observations,
        scores: FloatArray,
        Theta: FloatArray,
        *,
        combinatoric: bool = False,
    ) -> float:
        """log p(w, scores, Θ)."""
        ...

    def simulate(
        self,
        features: FeatureSpace,
        size: npt.ArrayLike,
        rng: np.random.Generator,
        Theta: FloatArray | None = None,
    ) -> tuple[Counts, FloatArray, FloatArray]:
        """Draw counts, scores and Θ from the model."""
        ...


def moment_scores(model: Model) -> MomentScores:
    """The score prior of a model that has moments; the caller has seen to that.

    >>> from dcomp.models import DirichletMultinomial
    >>> moment_scores(DirichletMultinomial.build(2, alpha=0.5)).learned
    ()
    """
    scores: Any = model.scores
    return scores  # type: ignore[no-any-return]
