"""What a score prior says of itself, so that nobody has to ask which prior it is.

Its numbers with their names and ranges (`Parameter`), what it can do (`Capabilities`), what a
sampler must remember of it (`Slots`), and how its components hang together (`Nodes`). Storage,
histories, displays, draws, annealing and errors read these; only `models/` knows the classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betainc

from dcomp.errors import UnsupportedCombination
from dcomp.models.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Parameter:
    """One hyper-parameter of a prior: its name, its value, and what may be done to it.

    >>> Parameter("alpha", np.array([0.1, 0.2]), learned=True).is_in_range(np.array([0.0, 3.0]))
    True
    """

    name: str  # as users type it and files store it
    value: FloatArray
    learned: bool = False  # whether a fit updates it
    lower: float = 0.0  # a value in a file is at least that; one that is given obeys `in_range`
    upper: float = np.inf  # a value lies below it
    # Annealing makes a prior HEAT times as strong by multiplying each parameter by HEAT to this
    # power: 1 where a larger number is a stronger prior, −1 where a smaller one is, 0 for neither.
    heat: int = 1

    def is_in_range(self, values: npt.NDArray[Any]) -> bool:
        """Whether these could be values of the parameter."""
        if not values.size:
            return True
        return bool(values.min() >= self.lower and values.max() < self.upper)


def learned_names(parameters: Iterable[Parameter]) -> tuple[str, ...]:
    """Those that a fit updates."""
    return tuple(parameter.name for parameter in parameters if parameter.learned)


def learned_values(prior: Any) -> dict[str, FloatArray]:
    """The values of what a fit updates, by name: what one model hands over to another.

    >>> from dcomp.models import DirichletScores
    >>> learned_values(DirichletScores.build(2, 0.5, learn_alpha=True))
    {'alpha': array([0.5, 0.5])}
    """
    return {
        parameter.name: parameter.value for parameter in prior.parameters() if parameter.learned
    }


@dataclass(frozen=True)
class Capabilities:
    """What can be asked of a model with this prior; None or False where nothing can.

    fixed_point: how the scores of a document are found with Θ given: by "mean-field", by
    "laplace", or of "leaves", whose flat model has a mean field. sampling: how they are drawn, by
    "direct" Gibbs sampling or by "tokens". tokens: which sampler of single tokens there is:
    "linear" where a component's chance is F_k (a_k + c_k), "tree", or "pairs" of leaf and node.
    why: for what is absent, a sentence that says so and what to use instead.

    >>> Capabilities(moments=False, why={"sampling": "there is none"}).require("sampling", "LN")
    Traceback (most recent call last):
    dcomp.errors.UnsupportedCombination: model LN: there is none
    """

    moments: bool = True  # E[scores | c] and log E[Π score^c] in closed form
    fixed_point: str | None = None
    sampling: str | None = None
    tokens: str | None = None
    exposure: bool = False  # Poisson words, whose mean grows with a document's exposure
    exact_zeros: bool = False  # a score can be exactly 0, with `zero_probability`
    proper: bool = True  # there is a prior to integrate over, and not just a flat one
    flat_leaves: bool = False  # leaves below its nodes are a flat model by themselves
    left_to_right: bool = False  # integrated out token by token
    evidence: bool = False  # p(w | K) by annealing
    gammas: bool = False  # scores are independent gammas, or their shares: `gamma_form`
    restricts: bool = False  # documents may be allowed some components alone: `models.allowed`
    normalised: bool = False  # P(share of a score < limit | c) in closed form
    grows: bool = False  # new nodes can be put below its leaves in the middle of a fit
    searches: bool = False  # nodes above its leaves can be found in the middle of a fit
    # Whether the log joints of two chains compare; else they are compared by their predictions.
    comparable: bool = True
    why: Mapping[str, str] = field(default_factory=dict)

    @property
    def bound(self) -> bool:
        """Whether log p(w | Θ) has a lower bound."""
        return self.fixed_point == "mean-field" and self.proper

    def require(self, name: str, key: str) -> None:
        """An error in the prior's own words unless it can do this."""
        if not getattr(self, name):
            why = self.why.get(name, f"it has no {name.replace('_', ' ')}")
            raise UnsupportedCombination(f"model {key}: {why}")


@dataclass(frozen=True)
class Slots:
    """What the record of a sampler must sum up beside Θ and c.

    zeros: in how many sweeps a component had no words of a document. scores: E[scores | c], where
    no mean of c gives its mean. own: arrays that only this prior knows, name → shape, in which None
    stands for the documents.
    """

    zeros: bool = False
    scores: bool = False
    own: Mapping[str, tuple[int | None, ...]] = field(default_factory=dict)

    @property
    def of_documents(self) -> tuple[str, ...]:
        """Those of `own` that have a row for each document.

        >>> Slots(own={"leaf_scores": (None, 3), "upsilon": (5,)}).of_documents
        ('leaf_scores',)
        """
        return tuple(name for name, shape in self.own.items() if shape[0] is None)


@dataclass(frozen=True)
class Nodes:
    """Components that are nodes with edges between them.

    >>> from dcomp.models import Tree, TreeScores
    >>> TreeScores.build(Tree.regular(2, 2)).nodes.edges
    ((1, 0), (2, 0))
    """

    names: tuple[str, ...]
    edges: tuple[tuple[int, int], ...]  # (child, parent), in order of child
    is_leaf: npt.NDArray[np.bool_]
    parents: tuple[int, ...] | None  # −1 at the top; None where nodes form no strict tree


@dataclass(frozen=True)
class TokenWeights:
    """The chances of a component in a document that has c_k of its words, one row for all documents
    or one for each (MODELS §3): what the token samplers compute, in NumPy.

    The chance of component k is s_k = (a_k + c_k) / rate_k where it has words c_k > 0, and
    a0_k / rate_k where it has none; a0 is None where it is a.
    """

    a: FloatArray
    rate: FloatArray
    a0: FloatArray | None = None
    log_present: FloatArray | None = None  # log P(score > 0 | c = 0), None where that is 1


@dataclass(frozen=True)
class GammaForm:
    """Scores as independent gammas given their words: the density is Π l^(α−1) e^(−b l) times what
    the words say, and a score may be exactly 0.

    normalised: scores are shares of these. log_zero: log of ρ/(1−ρ) Γ(α)/β^α, where a score is 0
    with probability ρ; zero: P(score = 0 | c = 0). None where no score is.
    """

    alpha: FloatArray  # (K)
    rate: FloatArray  # (I, K)
    normalised: bool = False
    log_zero: FloatArray | None = None  # (K)
    zero: FloatArray | None = None  # (I, K)


def share_below(
    a: FloatArray, rate: FloatArray, limit: float, absent: FloatArray | None = None
) -> FloatArray:
    """P(score_k < limit · Σ scores), (I, K), of scores Gamma(a, rate) that are 0 with probability
    `absent`.

    The sum of the others is taken to be gamma with its own mean and variance, and the share of
    score_k is then beta. That is exact where all components have one rate (BJ06 Lemma 1).

    >>> share_below(np.array([[1.0, 1.0]]), np.ones((1, 2)), 0.25)
    array([[0.25, 0.25]])
    """
    if a.shape[1] == 1:
        return np.zeros_like(a)
    absent = np.zeros_like(a) if absent is None else absent
    mean = (1 - absent) * a / rate
    variance = (1 - absent) * a * (a + 1) / rate**2 - mean**2
    mean, variance = _of_others(mean), _of_others(variance)
    odds = limit / (1 - limit) * rate * variance / mean
    return np.asarray(absent + (1 - absent) * betainc(a, mean**2 / variance, odds / (1 + odds)))


def _of_others(values: FloatArray) -> FloatArray:
    # Where the others are all but absent, rounding must not bring a zero or a negative number.
    return np.asarray(np.maximum(values.sum(axis=1, keepdims=True) - values, 1e-100))
