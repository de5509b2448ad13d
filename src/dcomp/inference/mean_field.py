"""Mean field (variational inference) for DM, GP and TM: BJ06 (13)–(19), figure 5; BJ04 3.4.

One sweep visits every document: its fixed point q(scores), the bound and the statistics n come
from one native kernel; then the loadings (BJ06 (15) or B18 (6.12)) and the hyper-parameters
(MODELS §6) follow from the sums. State holds c, not a = α + c: when α is learned, the next a is
then the optimum for the new α, which keeps the bound monotone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from dcomp import _core
from dcomp.data import FeatureSpace
from dcomp.errors import InvalidParameter, NumericalFailure, UnsupportedCombination
from dcomp.executors import Executor, LocalExecutor
from dcomp.inference.base import (
    Climber,
    FloatingArray,
    Info,
    Schedule,
    SufficientStats,
    share_change,
)
from dcomp.inference.growth import Growth, grow_counts, is_due, wished_growth
from dcomp.inference.options import LOADINGS, MAX_INNER, N_TRIES, START
from dcomp.inference.path import AS_TOLD, SPECTRAL, Path
from dcomp.inference.spectral import check_climb_start, check_tries, climb_state, is_spectral
from dcomp.inference.state import Carried, Local, State
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray, read_only
from dcomp.models.base import moment_scores
from dcomp.models.options import Occasion, Option
from dcomp.models.prior import learned_values

TREATMENTS = ("mean", "map", "vb")


@dataclass(frozen=True)
class MeanField(Climber):
    """q(scores) q(v) q(Θ) by coordinate ascent on the bound (16), (19).

    loadings: how Θ enters (MODELS §4): "mean" θ ∝ n + γ, "map" θ ∝ n + γ − 1 (γ ≥ 1), "vb"
    exp E[log θ] under q(θ) = Dirichlet(n + γ).
    max_inner, inner_tol: updates of one document per sweep, at most and until Σ|Δc| ≤ tol·L.
    gentle_sweeps: first sweeps with a single update per document (BJ04 2.1).
    learn_after: sweeps before hyper-parameters are learned.
    part_sweeps: first sweeps in which these are learned with restraint, because documents that have
    not parted yet look as if they never would (docs/decisions/0044).
    start: "seeded" by single documents, "spectral" by the spectrum of the table, or "auto": the
    latter where the table is not mostly zeros.
    n_tries: short climbs from different starts, of which the best is carried on; "auto": 6 where
    components are few and the table is small, else 1 (`tries`).
    grow: when and how far a tree of components grows.

    >>> MeanField(loadings="vb").name
    'mean-field'
    """

    loadings: str = "mean"
    max_inner: int = 5
    inner_tol: float = 3e-4
    gentle_sweeps: int = 3
    learn_after: int = 1
    part_sweeps: int = 20
    dtype: str = "float32"
    start: str = "auto"
    n_tries: int | str = "auto"
    grow: Growth | None = None

    name: ClassVar[str] = "mean-field"
    objective_name: ClassVar[str] = "bound"
    options: ClassVar[tuple[Option, ...]] = (LOADINGS, MAX_INNER, START, N_TRIES)
    is_plain: ClassVar[bool] = True
    must_carry: ClassVar[bool] = False  # a fit of few sweeps carries nothing yet

    def __post_init__(self) -> None:
        if self.loadings not in TREATMENTS:
            raise InvalidParameter(
                f"loadings must be one of {', '.join(TREATMENTS)}; got {self.loadings!r}"
            )
        if self.dtype not in ("float32", "float64"):
            raise InvalidParameter(f"dtype must be float32 or float64; got {self.dtype!r}")
        check_climb_start(self.start)
        check_tries(self.n_tries)
        if self.max_inner < 1:
            raise InvalidParameter(f"max_inner must be at least 1; got {self.max_inner}")
        for name in ("inner_tol", "gentle_sweeps", "learn_after", "part_sweeps"):
            if not getattr(self, name) >= 0:
                raise InvalidParameter(f"{name} must be at least 0; got {getattr(self, name)}")

    @property
    def min_sweeps(self) -> int:
        """Sweeps before the stopping rule is asked: the schedule must be in its last phase."""
        grown = 0 if self.grow is None else self.grow.at + 10  # time to sort the new leaves
        return max(self.gentle_sweeps, self.learn_after, grown) + 2

    def init(
        self, model: Model, observed: Observations, seed: int, executor: Executor | None = None
    ) -> State:
        """Even scores, loadings seeded by documents."""
        if model.loadings.learned:
            raise UnsupportedCombination(
                "gamma='auto' is learned by gibbs and collapsed-gibbs; mean-field needs a number"
            )
        counts = observed.counts
        model.loadings.check(counts.n_features, model.n_components)
        gamma = model.loadings.gamma
        if self.loadings == "map" and gamma.min() < 1:
            raise InvalidParameter(
                "loadings='map' needs gamma >= 1, below which the objective is unbounded; "
                f"got gamma = {gamma.min():g} (use loadings='mean' or 'vb')"
            )
        executor = executor or LocalExecutor(1)
        return climb_state(self.start, model, observed, seed, self.dtype, executor)

    def step(self, observed: Observations, state: State, executor: Executor) -> tuple[State, Info]:
        """One sweep: weights from n, every document, then new n and hyper-parameters."""
        if self.grow is not None and is_due(self.grow, state):
            state = grow_counts(self.grow, observed, state, executor)
        features = observed.counts.features
        weights = Weights.build(state.model, features, state.n, self.loadings, executor.n_threads)
        # A start by the spectrum knows its documents: there is nothing to be gentle to.
        is_known = self._is_spectral(state, observed)
        gentle = state.sweep < self.gentle_sweeps and not is_known
        max_inner = 1 if gentle else self.max_inner
        how = Allocation(state.model, weights, max_inner, self.inner_tol)
        after, stats = executor.map_reduce(allocate, observed.parts, state.locals, how)
        objective = finite_objective(stats, weights, state.sweep + 1)
        model, capped = state.model, tuple[str, ...]()
        if state.sweep >= self.learn_after:
            model, capped = learn_scores(model, stats, restrained=state.sweep < self.part_sweeps)
        inner_updates = stats.n_updates / stats.n_docs
        sweep = state.sweep + 1
        info = Info(
            sweep, objective, stats.bound, inner_updates, shares=stats.shares, capped=capped
        )
        shared = replace(state.shared, model=model, n=read_only(stats.n), sweep=sweep)
        return replace(state, shared=shared, locals=after), info

    def _is_spectral(self, state: State, observed: Observations) -> bool:
        """Whether this climb began by the spectrum; of several tries that of the best counts."""
        path = state.shared.carried
        if isinstance(path, Path) and path.start != AS_TOLD:
            return path.start == SPECTRAL
        return is_spectral(self.start, state.model, observed)

    def settling(self) -> Self:
        """Itself with documents that come to rest in every sweep."""
        return replace(self, max_inner=max(self.max_inner, 30), inner_tol=1e-4)

    def judging(self) -> Self:
        """Itself: the objective of a sweep is of the loadings that it begins with."""
        return self

    def adding(
        self, occasion: Occasion, burn_in: int | None = None, n_draws: int = 0
    ) -> Growth | None:
        """A tree may grow."""
        return wished_growth(occasion.wishes)

    def carried_type(self, model: Model) -> type[Carried]:
        """Where its climb stands."""
        return Path

    @property
    def treatment(self) -> str:
        """As `loadings` says."""
        return self.loadings

    @classmethod
    def restored(cls, options: Mapping[str, Any]) -> MeanField:
        """From a file."""
        grow = options.get("grow")
        return cls(**{**options, "grow": None if grow is None else Growth(**grow)})

    @property
    def schedule(self) -> Schedule:
        """Nothing is recorded; a tree may grow."""
        return Schedule(adds=self.grow)


def learn_scores(
    model: Model, stats: SufficientStats, *, restrained: bool = False
) -> tuple[Model, tuple[str, ...]]:
    """The model with what its score prior learns from a sweep, and the names of what is at a
    limit. restrained: as documents that have not parted yet may teach it."""
    scores: Any = model.scores
    n_docs = stats.n_docs if stats.users is None else stats.users
    moments = (stats.log_scores, stats.mean_scores, n_docs)
    learned, capped = scores.learn_from_moments(*moments, stats.seen)
    return with_learned(model, scores.restrained(learned) if restrained else learned), capped


def with_learned(model: Model, learned: Any) -> Model:
    """The model with the values that its score prior has learned."""
    return model.with_scores(**learned_values(learned))


@dataclass(frozen=True)
class Weights:
    """Allocation weights exp E[log θ] (or θ), rows scaled to a largest value of 1 and padded."""

    Theta: FloatingArray  # (J, padded K)
    log_scale: FloatArray  # (J)
    log_prior: float  # what the loadings add to the objective

    @classmethod
    def build(
        cls, model: Model, features: FeatureSpace, n: FloatingArray, treatment: str, n_threads: int
    ) -> Weights:
        """From the statistics n, in native code; components whose loadings are given have those."""
        gamma = model.loadings.columns(features.n_features, model.n_components)
        if model.loadings.fixed is None:
            return cls._found(gamma, features, n, treatment, n_threads)
        Theta = model.loadings.fixed.T.astype(n.dtype)
        free = model.loadings.free(model.n_components)
        if not len(free):
            return cls._joined(None, free, Theta, model.loadings.fixed_at)
        own = (np.ascontiguousarray(gamma[:, free]), features, n[:, free], treatment, n_threads)
        return cls._joined(cls._found(*own), free, Theta, model.loadings.fixed_at)

    @classmethod
    def _joined(
        cls,
        found: Weights | None,
        free: npt.NDArray[np.int64],
        given: FloatingArray,
        given_at: Sequence[int],
    ) -> Weights:
        """Components that are found and those whose loadings (J, F) are given, in one table; the
        prior of the latter adds nothing, for they are data."""
        log_scale = np.log(np.maximum(given.max(axis=1), 1e-300)).astype(np.float64)
        Theta = np.zeros((len(given), len(free) + len(given_at)))
        if found is not None:
            log_scale = np.maximum(log_scale, found.log_scale)
            ratio = np.exp(found.log_scale - log_scale)
            Theta[:, free] = found.Theta[:, : len(free)] * ratio[:, None]
        Theta[:, list(given_at)] = given / np.exp(log_scale)[:, None]
        weights = padded_columns(np.maximum(Theta, 1e-18).astype(given.dtype))
        return cls(weights, log_scale, 0.0 if found is None else found.log_prior)

    @classmethod
    def _found(
        cls,
        gamma: FloatArray,
        features: FeatureSpace,
        n: FloatingArray,
        treatment: str,
        n_threads: int,
    ) -> Weights:
        log_scale = np.empty(features.n_features)
        Theta, log_prior = _core.loadings(
            np.ascontiguousarray(n),
            gamma,
            features.blocks,
            features.n_blocks,
            treatment,
            log_scale,
            n_threads,
        )
        return cls(Theta, log_scale, log_prior)

    def tempered(self, power: float) -> Weights:
        """θ to a power, as tempered EM has it."""
        if power == 1:
            return self
        return Weights(self.Theta**power, self.log_scale * power, self.log_prior)

    @classmethod
    def of_loadings(cls, Theta: FloatingArray) -> Weights:
        """From given loadings (J, K), as a sampler's average."""
        largest = np.maximum(Theta.max(axis=1), 1e-300)
        weights = np.maximum(Theta / largest[:, None], 1e-18).astype(np.float32)
        return cls(padded_columns(weights), np.log(largest).astype(np.float64), 0.0)


def padded_columns(Theta: FloatingArray) -> FloatingArray:
    """Rows filled up with zeros to whole vectors of the kernels."""
    lanes = _core.lanes() * 4 // Theta.dtype.itemsize
    out = np.zeros((len(Theta), -(-Theta.shape[1] // lanes) * lanes), dtype=Theta.dtype)
    out[:, : Theta.shape[1]] = Theta
    return out


def native_prior(model: Model, observed: Observations, mode: str, power: float) -> _core.ScorePrior:
    """The score prior as the kernels take it; an error where a model has no fixed points."""
    if (model.key, mode) not in _core.compiled():
        raise UnsupportedCombination(
            f"model {model.key} has no mean field: an exact zero makes E[log l] infinite"
        )
    return observed.native(moment_scores(model), mode=mode, power=power)


@dataclass(frozen=True)
class Allocation:
    """How one sweep divides words among components: what every part of the documents is told."""

    model: Model
    weights: Weights
    max_inner: int
    inner_tol: float
    mode: str = "expect"  # or "maximise": scores at their mode
    temper: float = 1.0  # the power of scores in the allocation; `weights` has its own already


def allocate(
    part: Observations, local: Local, how: Allocation, n_threads: int
) -> tuple[Local, SufficientStats]:
    """One sweep over the documents of a part: their new c, and the sums."""
    counts, weights = part.counts, how.weights
    c = np.empty_like(local.c)
    n = np.zeros((counts.n_features, c.shape[1]), dtype=c.dtype)
    bound, n_updates, log_scores, mean_scores = _core.expect(
        part.corpus,
        weights.Theta,
        weights.log_scale,
        native_prior(how.model, part, how.mode, how.temper),
        local.c,
        c,
        n,
        how.max_inner,
        how.inner_tol,
        n_threads,
    )
    constant = how.model.log_constant(part, combinatoric=False).sum()
    prior: Any = how.model.scores
    stats = SufficientStats(
        n,
        np.array(log_scores),
        np.array(mean_scores),
        bound + float(constant),
        counts.n_docs,
        n_updates,
        share_change(local.c, c, part.doc_totals),
        _seen(prior, part, c, how.mode, n_threads),
        None if part.allowed is None else part.allowed.users,
    )
    return replace(local, c=read_only(c)), stats


def _seen(prior: Any, part: Observations, c: FloatingArray, mode: str, n_threads: int) -> Any:
    """What the score prior learns from documents beside their moments."""
    allowed = () if part.allowed is None else (part.allowed,)
    if mode == "maximise":
        return prior.modes_seen(c, part.total_exposure, *allowed)
    return prior.moments_seen(c, n_threads, *allowed)


def finite_objective(stats: SufficientStats, weights: Weights, sweep: int) -> float:
    """The documents' part and the loadings'; an error names the sweep where it is no number."""
    objective = stats.bound + weights.log_prior
    if not np.isfinite(objective):
        raise NumericalFailure(f"the objective must be finite; it is {objective} in sweep {sweep}")
    return objective
