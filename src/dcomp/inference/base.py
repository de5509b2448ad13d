"""The parts that every algorithm has: State (what the next step needs), Info (what a person
wants to see), SufficientStats (what adds up across documents), and the Algorithm itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from dcomp.executors import Executor
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray

FloatingArray = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class SufficientStats:
    """Sums over documents; they add, and nothing else leaves a worker."""

    n: FloatingArray  # (J, K): counts of features split over components
    log_scores: FloatArray  # (K): Σ_i E[log score]
    mean_scores: FloatArray  # (K): Σ_i E[score]
    bound: float
    n_docs: int
    n_updates: int  # of single documents

    def __add__(self, other: SufficientStats) -> SufficientStats:
        return SufficientStats(
            self.n + other.n,
            self.log_scores + other.log_scores,
            self.mean_scores + other.mean_scores,
            self.bound + other.bound,
            self.n_docs + other.n_docs,
            self.n_updates + other.n_updates,
        )


@dataclass(frozen=True)
class Recorded:
    """Sums over the recorded sweeps of a sampler."""

    Theta: npt.NDArray[np.float32]  # (J, K): of E[Θ | n]
    c: npt.NDArray[np.float32]  # (I, K)
    zeros: npt.NDArray[np.float32] | None  # (I, K): sweeps with c = 0, where a score can be zero
    count: int
    scores: npt.NDArray[np.float32] | None = None  # (I, K): of E[scores | c], where no mean of c
    # gives it (TM, ST)
    extra: Mapping[str, npt.NDArray[np.float32]] = field(default_factory=dict)  # what else, by name


@dataclass(frozen=True, eq=False)
class Draw:
    """One draw from the posterior; None for what was not asked for. Arrays are never written to."""

    sweep: int
    hyper: Mapping[str, FloatArray]  # the priors of that sweep: alpha (K), beta, rho; a1, a2, b
    scores: npt.NDArray[np.float32] | None = None  # (I, K)
    Theta: npt.NDArray[np.float32] | None = None  # (J, K): columns sum to 1 within each block
    assignments: npt.NDArray[np.uint16] | None = None  # (T): component of each token, by entry;
    # of ST its pair of leaf and node


@dataclass(frozen=True)
class State:
    """What the next sweep needs, and what the recorded ones left. Arrays are never written to."""

    model: Model  # with the hyper-parameters as they stand now
    c: npt.NDArray[Any]  # (I, K): words of each document per component, expected or drawn;
    # a collapsed sampler reads c and n from z when it has finished
    n: npt.NDArray[Any]  # (J, K): the same per feature
    sweep: int  # complete sweeps so far
    seed: int = 0
    z: npt.NDArray[np.uint16] | None = None  # component (of ST pair) of each token, in the
    # sampler's order
    recorded: Recorded | None = None
    draws: tuple[Draw, ...] = ()  # kept so far
    # What else an algorithm carries from sweep to sweep, by name; a number is an array of no axes.
    extra: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    cache: object = field(default=None, compare=False, repr=False)  # can be rebuilt from the rest


@dataclass(frozen=True)
class Info:
    """One row of the history."""

    sweep: int
    objective: float  # the quantity that the updates raise
    documents: float  # the documents' part of it, which sets the scale of a change
    inner_updates: float  # mean number of updates per document
    change: float = float("nan")  # of the objective, relative to the documents' part
    seconds: float = 0.0
    capped: tuple[str, ...] = ()  # hyper-parameters held at a limit
    # The largest breach of the conditions of a maximum (Karush, Kuhn, Tucker), where it is known.
    residual: float = float("nan")
    # Of tempered EM: its β, and the log-likelihood per held-out token.
    temper: float = float("nan")
    held_out: float = float("nan")
    # By what chains are compared whose objectives do not compare, because their structures differ.
    comparable: float = float("nan")


class Algorithm(Protocol):
    """A strategy: options and two pure functions."""

    name: ClassVar[str]
    objective_name: ClassVar[str]
    samples: ClassVar[bool]  # draws rather than converges: no stopping rule

    @property
    def min_sweeps(self) -> int:
        """Sweeps before the stopping rule is asked."""
        ...

    def init(
        self, model: Model, observed: Observations, seed: int, executor: Executor | None = None
    ) -> State:
        """The state before the first sweep; the answer does not depend on the executor."""
        ...

    def step(self, observed: Observations, state: State, executor: Executor) -> tuple[State, Info]:
        """One sweep over all documents."""
        ...

    def finish(self, observed: Observations, state: State) -> State:
        """The last state with everything that a Fit reads."""
        ...
