"""Stochastic mean field for DM and GP: loadings move with every batch of documents.

Hoffman, Blei and Bach 2010; Hoffman et al. 2013; with loadings "mean" it is the online EM of Cappé
and Moulines 2009. For a batch B of the D documents, with Θ and the priors as they stand: the fixed
point q(scores) of each of its documents, BJ06 (13)–(18), from even shares; their statistics n_B;
then, by a step of size s_t = (τ0 + t)^−κ,

    n ← (1 − s_t) n + s_t (D / |B|) n_B

and the means of E[log score] and E[score] alike, from which the priors are learned (MODELS §6). One
sweep is one epoch: every document once, in batches that depend on seed and document alone, never on
how the corpus is cut. From the second on an epoch ends with n = Σ n_B over its batches, in which
every document counts alike: without the noise of the last batches (docs/decisions/0059). Documents
leave nothing behind them: their scores are found when the fit is
over, as `transform` finds them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.executors import Executor, LocalExecutor
from dcomp.inference.base import Climber, FloatingArray, Info, SufficientStats
from dcomp.inference.batches import Batches, Held, allocate_batch, judge_held_out, nothing_of
from dcomp.inference.mean_field import (
    TREATMENTS,
    Allocation,
    Weights,
    finite_objective,
    with_learned,
)
from dcomp.inference.options import BATCH_SIZE, DELAY, FORGETTING, HELD_OUT, LOADINGS, MAX_INNER
from dcomp.inference.rest import AT_REST, rested
from dcomp.inference.start import prior_shares, seeded_n
from dcomp.inference.state import Carried, Global, Local, State
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray, read_only
from dcomp.models.options import Option, whole_number

EPOCHS = 10  # unless told


@dataclass(frozen=True)
class StochasticMeanField(Climber):
    """Mean field by steps, a batch of documents each.

    loadings: how Θ enters, as in MeanField.
    batch_size: documents of a batch, about; "auto": 128, or a 50th to a 200th of them.
    delay, forgetting: τ0 and κ of the step size (τ0 + t)^−κ: a larger delay trusts the first
    batches less, and κ says how soon early ones are forgotten (above 0.5 steps settle).
    max_inner, inner_tol: updates of a document at most, and until Σ|Δc| ≤ tol·L.
    learn_after: steps before hyper-parameters are learned.
    held_out: share of the documents that is kept out of all batches, and whose completion is in the
    history after every epoch.

    >>> StochasticMeanField(batch_size=100).name
    'stochastic-mean-field'
    """

    loadings: str = "mean"
    batch_size: int | str = "auto"
    delay: float = 10.0
    forgetting: float = 0.7
    max_inner: int = 20
    inner_tol: float = 1e-3
    learn_after: int = 3
    held_out: float = 0.0
    dtype: str = "float32"

    name: ClassVar[str] = "stochastic-mean-field"
    objective_name: ClassVar[str] = "running bound"
    options: ClassVar[tuple[Option, ...]] = (
        LOADINGS,
        MAX_INNER,
        HELD_OUT,
        BATCH_SIZE,
        DELAY,
        FORGETTING,
    )
    runs_its_course: ClassVar[bool] = True
    usual_sweeps: ClassVar[int] = EPOCHS

    def __post_init__(self) -> None:
        if self.loadings not in TREATMENTS:
            raise InvalidParameter(
                f"loadings must be one of {', '.join(TREATMENTS)}; got {self.loadings!r}"
            )
        if self.dtype not in ("float32", "float64"):
            raise InvalidParameter(f"dtype must be float32 or float64; got {self.dtype!r}")
        if self.batch_size != "auto":
            whole_number("batch_size", self.batch_size, 1)
        whole_number("max_inner", self.max_inner, 1)
        whole_number("learn_after", self.learn_after, 0)
        for name, least in (("delay", 1.0), ("inner_tol", 0.0)):
            if not least <= getattr(self, name) < np.inf:
                raise InvalidParameter(
                    f"{name} must be at least {least:g} and finite; got {getattr(self, name)}"
                )
        if not 0.5 <= self.forgetting <= 1:
            raise InvalidParameter(
                f"forgetting must lie between 0.5 and 1, else steps do not settle; "
                f"got {self.forgetting}"
            )
        if not 0 <= self.held_out < 1:
            raise InvalidParameter(f"held_out must be at least 0 and below 1; got {self.held_out}")

    @property
    def min_sweeps(self) -> int:
        """It runs its course."""
        return 1

    @property
    def treatment(self) -> str:
        """As `loadings` says."""
        return self.loadings

    def info_type(self, model: Model) -> type[Info]:
        """With steps, and what held-out documents say."""
        return StochasticInfo

    def carried_type(self, model: Model) -> type[Carried]:
        """Where the steps stand."""
        return Steps

    def init(
        self, model: Model, observed: Observations, seed: int, executor: Executor | None = None
    ) -> State:
        """Loadings seeded by documents; documents have nothing yet."""
        self._check(model, observed)
        executor, K = executor or LocalExecutor(1), model.n_components
        n = seeded_n(observed, K, seed, self.dtype, executor)
        if model.loadings.is_own:  # features begin where their prior has them
            n *= K * prior_shares(model, len(n)).astype(self.dtype)
        parts, empty = observed.parts, Local(read_only(np.empty((0, K), self.dtype)))
        held = Held(self.held_out, seed)
        _, n_docs = executor.map_reduce(nothing_of, parts, [None] * len(parts), held)
        if not n_docs:
            raise InvalidParameter(
                f"held_out = {self.held_out:g} of {observed.counts.n_docs} documents leaves none "
                "to learn from; give a smaller share"
            )
        steps = Steps(np.zeros(K), np.zeros(K), 0, n_docs)
        shared = Global(model, read_only(n), 0, seed, carried=steps)
        return State(shared, [empty] * len(parts), observed.counts.firsts)

    def _check(self, model: Model, observed: Observations) -> None:
        if model.loadings.learned:
            raise UnsupportedCombination(
                f"gamma='auto' is learned by gibbs and collapsed-gibbs; {self.name} needs a number"
            )
        if observed.allowed is not None:
            raise UnsupportedCombination(
                f"{self.name} takes documents that may use all components: for allowed= use "
                "mean-field, map, gibbs or collapsed-gibbs"
            )
        model.loadings.check(observed.counts.n_features, model.n_components)
        gamma = model.loadings.gamma
        if self.loadings == "map" and gamma.min() < 1:
            raise InvalidParameter(
                "loadings='map' needs gamma >= 1, below which the objective is unbounded; "
                f"got gamma = {gamma.min():g} (use loadings='mean' or 'vb')"
            )

    def step(self, observed: Observations, state: State, executor: Executor) -> tuple[State, Info]:
        """One epoch: a step for every batch, in an order of the epoch's own."""
        held = Held(self.held_out, state.seed)
        batches = Batches.of(self.batch_size, observed.counts.n_docs, held)
        shared, total = state.shared, _Epoch()
        for number in batches.order(state.sweep):
            shared, total = self._one(observed, state, shared, batches.at(number), total, executor)
        shared = self._pooled(shared, total)
        weights = self._weights(shared, observed, executor)
        sweep = state.sweep + 1
        score = None
        if self.held_out:
            score = self._held_out(observed, shared, weights, held, executor)
        info = StochasticInfo(
            sweep,
            total.bound + weights.log_prior,
            total.bound,
            total.n_updates / max(total.n_docs, 1),
            capped=total.capped,
            steps=steps_of(shared).steps,
            step_size=total.size,
            held_out=score,
        )
        return replace(state, shared=replace(shared, sweep=sweep)), info

    def _pooled(self, shared: Global, epoch: _Epoch) -> Global:
        """With n that every document of the corpus has the same part in, after an epoch that was
        not the first: steps lead there sooner, and what the last batches happen to be is noise."""
        if epoch.n is None or shared.sweep == 0 or epoch.n_docs != steps_of(shared).n_docs:
            return shared
        return replace(shared, n=read_only(epoch.n))

    def _one(
        self,
        observed: Observations,
        state: State,
        shared: Global,
        batch: Batches,
        total: _Epoch,
        executor: Executor,
    ) -> tuple[Global, _Epoch]:
        """What a batch makes of the loadings and priors; of one without documents, nothing."""
        weights = self._weights(shared, observed, executor)
        how = Allocation(shared.model, weights, self.max_inner, self.inner_tol)
        parts = observed.parts
        _, stats = executor.map_reduce(allocate_batch, parts, state.locals, (how, batch))
        if not stats.n_docs:
            return shared, total
        finite_objective(stats, weights, shared.sweep + 1)
        size = self.step_size(steps_of(shared).steps)
        after, capped = self.moved(shared, stats, size, steps_of(shared).n_docs)
        return after, total.with_batch(stats, capped, size)

    def step_size(self, steps: int) -> float:
        """(τ0 + t)^−κ."""
        return float((self.delay + steps) ** -self.forgetting)

    def moved(
        self, shared: Global, stats: SufficientStats, size: float, n_docs: float
    ) -> tuple[Global, tuple[str, ...]]:
        """After a step of this size towards what a batch says of a corpus of `n_docs` documents;
        and what is held at a limit."""
        before = steps_of(shared)
        n = _between(shared.n, stats.n, size, n_docs / stats.n_docs)
        own = max(size, 1 / (before.steps + 1))  # nothing is known of moments at first
        log_scores = (1 - own) * before.log_scores + own * stats.log_scores / stats.n_docs
        mean_scores = (1 - own) * before.mean_scores + own * stats.mean_scores / stats.n_docs
        steps = Steps(log_scores, mean_scores, before.steps + 1, n_docs)
        model, capped = shared.model, tuple[str, ...]()
        if before.steps >= self.learn_after:
            scores: Any = model.scores
            learned, capped = scores.learn_from_moments(log_scores, mean_scores, 1)
            model = with_learned(model, learned)
        return replace(shared, model=model, n=read_only(n), carried=steps), capped

    def _weights(self, shared: Global, observed: Observations, executor: Executor) -> Weights:
        features = observed.counts.features
        return Weights.build(shared.model, features, shared.n, self.loadings, executor.n_threads)

    def _held_out(
        self,
        observed: Observations,
        shared: Global,
        weights: Weights,
        held: Held,
        executor: Executor,
    ) -> float | None:
        """The completion of the held-out documents, per token; None where they have none."""
        features, threads = observed.counts.features, executor.n_threads
        treatment = "map" if self.loadings == "map" else "mean"
        mean = Weights.build(shared.model, features, shared.n, treatment, threads)
        how = Allocation(shared.model, weights, *AT_REST)
        parts = observed.parts
        _, found = executor.map_reduce(
            judge_held_out, parts, [None] * len(parts), (how, mean, held)
        )
        return float(found[0] / found[1]) if found[1] > 0 else None

    def finish(self, observed: Observations, state: State, executor: Executor) -> State:
        """With documents where `transform` has them."""
        weights = self._weights(state.shared, observed, executor)
        how = Allocation(state.model, weights, *AT_REST)
        after, _ = executor.map_reduce(_come_to_rest, observed.parts, state.locals, how)
        return replace(state, locals=after).gathered(executor)


@dataclass(frozen=True, eq=False)
class Steps(Carried):
    """Where the steps stand."""

    log_scores: FloatArray  # (K): E[log score] of a document, on average
    mean_scores: FloatArray  # (K): E[score]
    steps: int  # so far
    n_docs: float  # of the corpus, for which n speaks

    def check(self, model: Model, c: npt.NDArray[Any], n: npt.NDArray[Any]) -> None:
        """A ValueError unless there is a number for each component."""
        for name in ("log_scores", "mean_scores"):
            own = getattr(self, name)
            if own.shape != (model.n_components,) or own.dtype != np.float64:
                raise ValueError(f"{name} must have a number for each component")
            if not np.isfinite(own).all():
                raise ValueError(f"{name} must be finite")
        if self.steps < 0 or not self.n_docs > 0:
            raise ValueError("steps and documents cannot be less than nothing")


def steps_of(shared: Global) -> Steps:
    """Where they stand."""
    assert isinstance(shared.carried, Steps)
    return shared.carried


@dataclass(frozen=True, kw_only=True)
class StochasticInfo(Info):
    """A row of an epoch. Its objective is a running one: each batch's documents with the loadings
    before its own step. held_out: log p per token of held-out documents' second halves."""

    steps: int  # in all epochs so far
    step_size: float  # of the last
    held_out: float | None = None


@dataclass(frozen=True)
class _Epoch:
    """What the batches of an epoch come to."""

    n: FloatingArray | None = None  # (J, K): of all its documents, each as its batch found it
    bound: float = 0.0
    n_updates: int = 0
    n_docs: int = 0
    capped: tuple[str, ...] = ()
    size: float = 0.0  # of the last step

    def with_batch(self, stats: SufficientStats, capped: tuple[str, ...], size: float) -> _Epoch:
        n = stats.n if self.n is None else self.n + stats.n
        bound, n_docs = self.bound + stats.bound, self.n_docs + stats.n_docs
        return _Epoch(n, bound, self.n_updates + stats.n_updates, n_docs, capped, size)


def _between(
    before: FloatingArray, batch: FloatingArray, size: float, scale: float
) -> FloatingArray:
    """(1 − s) before + s · scale · batch, in the precision that they have."""
    n = before * before.dtype.type(1 - size)
    n += batch * before.dtype.type(size * scale)
    return n


def _come_to_rest(
    part: Observations, local: Local, how: Allocation, n_threads: int
) -> tuple[Local, None]:
    """Documents where they are as new ones."""
    return replace(local, c=read_only(rested(part, how, n_threads)[0])), None
