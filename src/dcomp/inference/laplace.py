"""Laplace mean field for the logistic normal: B18 §7 with the corrections of MODELS §3.

One sweep visits every document: Newton climbs to the mode η of log p(w, η | Θ), the fixed point of
B18's alternation, with its covariance Σ_d (7.9); one native kernel does it and gathers the
statistics n. Then Θ follows from n, μ0 and Σ0 from the sums over documents.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from dcomp import _core
from dcomp.errors import InvalidParameter, NumericalFailure, UnsupportedCombination
from dcomp.executors import Executor, LocalExecutor
from dcomp.inference.base import Algorithm, Climber, FloatingArray, Info, share_change
from dcomp.inference.collapsed_gibbs import CollapsedGibbs
from dcomp.inference.mean_field import TREATMENTS, MeanField, Weights, with_learned
from dcomp.inference.options import LEARN_LOADINGS, LOADINGS, MAX_INNER, START
from dcomp.inference.rest import FoldIn
from dcomp.inference.room import require_room, require_whole
from dcomp.inference.start import seeded_state
from dcomp.inference.state import Carried, Local, State
from dcomp.models import DirichletMultinomial, DirichletScores, Model, Observations
from dcomp.models.arrays import FloatArray, column_totals, read_only
from dcomp.models.options import Option

# Sweeps of the Dirichlet model before a fit: for mean field its gentle phase and a little more, for
# the sampler a third of them recorded, and most of those before it annealed.
STARTS = {"collapsed-gibbs": 300, "mean-field": 40, "seeded": 0}
BURN_IN, ANNEAL = 200, 160
TRIED = 10  # sweeps after which two starts are compared


class Warm(CollapsedGibbs):
    """Annealed from less far: on texts better than from HEAT, which parts components that come
    together (docs/decisions/0049)."""

    heat: ClassVar[float] = 3.0


@dataclass(frozen=True)
class Laplace(Climber):
    """q(η_d) = N(mode, −∇²⁻¹) for every document; Θ, μ0 and Σ0 from their sums.

    loadings: "mean", "map" or "vb", as in MeanField.
    start: the first components: "collapsed-gibbs" or "mean-field" of a short fit of the Dirichlet
    model (DM) by these, for the former of two that are annealed from different heats, of which the
    one with the better objective is kept; "seeded" of single documents (docs/decisions/0010).
    learn_loadings: False holds Θ as it is at the start, and learns μ0 and Σ0 alone.
    max_inner, inner_tol: Newton steps of one document per sweep, at most and until a step promises
    less than tol per word.
    learn_after: sweeps before μ0 and Σ0 are learned.

    >>> Laplace(max_inner=2).name
    'laplace'
    """

    loadings: str = "vb"
    start: str = "auto"
    learn_loadings: bool = True
    max_inner: int = 1
    inner_tol: float = 1e-6
    learn_after: int = 2
    dtype: str = "float32"

    name: ClassVar[str] = "laplace"
    objective_name: ClassVar[str] = "Laplace objective"
    options: ClassVar[tuple[Option, ...]] = (LOADINGS, MAX_INNER, START, LEARN_LOADINGS)

    def __post_init__(self) -> None:
        if self.loadings not in TREATMENTS:
            raise InvalidParameter(
                f"loadings must be one of {', '.join(TREATMENTS)}; got {self.loadings!r}"
            )
        if self.start not in ("auto", *STARTS):
            raise InvalidParameter(
                f"start must be one of auto, {', '.join(STARTS)}; got {self.start!r}"
            )
        if self.dtype not in ("float32", "float64"):
            raise InvalidParameter(f"dtype must be float32 or float64; got {self.dtype!r}")
        if self.max_inner < 1:
            raise InvalidParameter(f"max_inner must be at least 1; got {self.max_inner}")
        for name in ("inner_tol", "learn_after"):
            if not getattr(self, name) >= 0:
                raise InvalidParameter(f"{name} must be at least 0; got {getattr(self, name)}")

    @property
    def min_sweeps(self) -> int:
        """Sweeps before the stopping rule is asked."""
        return self.learn_after + 18

    def init(
        self, model: Model, observed: Observations, seed: int, executor: Executor | None = None
    ) -> State:
        """Documents at μ0; loadings by `start`."""
        if model.loadings.learned:
            raise UnsupportedCombination(
                "gamma='auto' is learned by gibbs and collapsed-gibbs; laplace needs a number"
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
        scores: Any = model.scores
        state = seeded_state(model, observed, seed, self.dtype, executor)
        shared = replace(state.shared, carried=Modes(None))
        start = self.start
        if start == "auto":  # tokens of fractional counts cannot be drawn
            start = "mean-field" if counts.is_fractional else "collapsed-gibbs"
        if start == "collapsed-gibbs":
            instead = "start='mean-field' or 'seeded' takes {}"
            require_whole(counts, "start='collapsed-gibbs'", instead.format("fractional counts"))
            instead = instead.format("counts of any size")
            require_room(observed, "start='collapsed-gibbs'", instead=instead)
        after, _ = executor.map_reduce(_at_mean, observed.parts, state.locals, scores.mu0)
        begun = [replace(state, shared=shared, locals=after)]
        if start != "seeded":
            found = [
                _dirichlet_n(model, observed, algorithm, STARTS[start], seed, executor)
                for algorithm in _starters(start)
            ]
            each = [replace(shared, n=read_only(n.astype(self.dtype))) for n in found]
            begun = [replace(state, shared=own, locals=after) for own in each]
        if len(begun) == 1:
            return begun[0]
        return max(begun, key=lambda own: self._after(observed, own, executor))

    def _after(self, observed: Observations, state: State, executor: Executor) -> float:
        """The objective some sweeps later."""
        for _ in range(TRIED):
            state, info = self.step(observed, state, executor)
        return info.objective

    def step(self, observed: Observations, state: State, executor: Executor) -> tuple[State, Info]:
        """One sweep: Θ from n, every document's mode, then the new n, μ0 and Σ0."""
        features = observed.counts.features
        weights = Weights.build(state.model, features, state.n, self.loadings, executor.n_threads)
        how = _Climb(Normal.from_model(state.model), weights, self.max_inner, self.inner_tol)
        after, stats = executor.map_reduce(_climb, observed.parts, state.locals, how)
        sweep = state.sweep + 1
        objective = stats.value + weights.log_prior
        if not np.isfinite(objective):
            raise NumericalFailure(
                f"the objective must be finite; it is {objective} in sweep {sweep}"
            )
        model, capped = state.model, tuple[str, ...]()
        if state.sweep >= self.learn_after:
            prior: Any = model.scores
            learned, capped = prior.learn_from_modes(
                stats.eta, stats.S, stats.squares, stats.n_docs
            )
            model = with_learned(model, learned)
        inner_updates = stats.n_updates / stats.n_docs
        info = Info(
            sweep, objective, stats.value, inner_updates, shares=stats.shares, capped=capped
        )
        n = read_only(stats.n) if self.learn_loadings else state.n
        shared = replace(state.shared, model=model, n=n, sweep=sweep)
        return replace(state, shared=shared, locals=after), info

    @property
    def treatment(self) -> str:
        """As `loadings` says."""
        return self.loadings

    def carried_type(self, model: Model) -> type[Carried]:
        """The documents' modes."""
        return Modes


@dataclass(frozen=True, eq=False)
class Modes(Carried):
    """The mode η of every document, (I, K)."""

    eta: FloatArray | None

    @classmethod
    def of_documents(cls, model: Model) -> tuple[str, ...]:
        """eta."""
        return ("eta",)

    def scores(self, model: Model, exposure: FloatArray) -> FloatArray:
        """softmax(η)."""
        assert self.eta is not None
        return np.asarray(softmax(self.eta, axis=1))

    def check(self, model: Model, c: FloatingArray, n: FloatingArray) -> None:
        """A ValueError where they cannot be of these documents."""
        assert self.eta is not None
        if self.eta.dtype != np.float64 or self.eta.shape != c.shape:
            raise ValueError(f"eta must be float64 of shape {c.shape}; got {self.eta.shape}")


def _starters(start: str) -> tuple[Algorithm, ...]:
    """What the Dirichlet model is fitted by: a chain that was hot parts components that come
    together, one that was warm predicts texts better, and neither is always the better."""
    if start == "mean-field":
        return (MeanField(),)
    return tuple(kind(burn_in=BURN_IN, anneal=ANNEAL) for kind in (CollapsedGibbs, Warm))


def _dirichlet_n(
    model: Model,
    observed: Observations,
    algorithm: Algorithm,
    sweeps: int,
    seed: int,
    executor: Executor,
) -> FloatingArray:
    """n (J, K) of a short fit of DM with learned α: the logistic normal's own sweeps settle near
    where they begin, and this is better than single documents (docs/algorithms/laplace.md)."""
    K = model.n_components
    dirichlet = DirichletMultinomial(
        DirichletScores.build(K, 1 / K, learn_alpha=True), model.loadings
    )
    state = algorithm.init(dirichlet, observed, seed, executor)
    for _ in range(sweeps):
        state, _ = algorithm.step(observed, state, executor)
    state = algorithm.finish(observed, state, executor)
    recorded = state.shared.recorded
    if recorded is None:
        return state.n
    # The n whose E[Θ | n] is the average over the recorded sweeps, with the totals of the last.
    blocks = observed.counts.features.blocks
    gamma = model.loadings.table(len(blocks), K)
    totals = column_totals(state.n + gamma, blocks)[blocks]
    return np.maximum(recorded.Theta / recorded.count * totals - gamma, 0.0)


@dataclass(frozen=True)
class Normal:
    """N(μ0, Σ0) as the kernel takes it."""

    mu0: FloatArray  # (K)
    P: FloatArray  # (K, K)
    half_log_det: float  # of P

    @classmethod
    def from_model(cls, model: Model) -> Normal:
        """From the scores of a model."""
        scores: Any = model.scores
        P, log_det = scores.precision()
        return cls(np.ascontiguousarray(scores.mu0), np.ascontiguousarray(P), 0.5 * log_det)


@dataclass(frozen=True)
class LaplaceStats:
    """Sums over documents, S_d = Σ_d + (η_d − μ0)(η_d − μ0)ᵀ; they add."""

    n: FloatingArray  # (J, K)
    eta: FloatArray  # (K)
    S: FloatArray  # (K, K)
    squares: float  # of S_d off its diagonal
    value: float
    n_docs: int
    n_updates: int  # Newton steps
    shares: float  # the largest change of a document's share

    def __add__(self, other: LaplaceStats) -> LaplaceStats:
        return LaplaceStats(
            self.n + other.n,
            self.eta + other.eta,
            self.S + other.S,
            self.squares + other.squares,
            self.value + other.value,
            self.n_docs + other.n_docs,
            self.n_updates + other.n_updates,
            max(self.shares, other.shares),
        )


@dataclass(frozen=True)
class _Climb:
    """What every part of the documents is told."""

    normal: Normal
    weights: Weights
    max_inner: int
    inner_tol: float


def _at_mean(
    part: Observations, local: Local, mu0: FloatArray, n_threads: int
) -> tuple[Local, None]:
    """Every document at μ0."""
    eta = np.repeat(mu0[None], part.counts.n_docs, axis=0)
    return replace(local, carried={"eta": read_only(eta)}), None


def _climb(
    part: Observations, local: Local, shared: _Climb, n_threads: int
) -> tuple[Local, LaplaceStats]:
    """The modes of a part's documents, and the sums."""
    counts, weights, normal = part.counts, shared.weights, shared.normal
    K, before = len(normal.mu0), local.carried["eta"]
    eta_out, c = np.empty_like(before), np.empty_like(local.c)
    n = np.zeros((counts.n_features, K), dtype=c.dtype)
    value, n_updates, _, eta, S, squares = _core.laplace(
        part.corpus,
        weights.Theta,
        weights.log_scale,
        normal.mu0,
        normal.P,
        normal.half_log_det,
        before,
        eta_out,
        c,
        n,
        shared.max_inner,
        shared.inner_tol,
        n_threads,
    )
    stats = LaplaceStats(
        n,
        np.array(eta),
        np.reshape(S, (K, K)),
        squares,
        value,
        counts.n_docs,
        n_updates,
        share_change(softmax(before, axis=1), softmax(eta_out, axis=1), np.ones(counts.n_docs)),
    )
    return replace(local, c=read_only(c), carried={"eta": read_only(eta_out)}), stats


@dataclass(frozen=True)
class LaplaceFoldIn(FoldIn):
    """Modes of documents with the loadings given; `bound` is the objective, which is no bound."""

    eta: FloatArray  # (I, K): centred, softmax(eta) = scores
    variance: FloatArray  # (I, K): of each η_k, the diagonal of Σ_d


def laplace_fold_in(
    model: Model,
    observed: Observations,
    weights: Weights,
    executor: Executor,
    *,
    max_inner: int = 200,
    tol: float = 1e-4,
) -> LaplaceFoldIn:
    """The mode of each document on its own, from μ0; Newton until a step promises less than tol²
    per word."""
    how, parts = _Climb(Normal.from_model(model), weights, max_inner, tol**2), observed.parts
    found, _ = executor.map_reduce(_fold_in, parts, [None] * len(parts), how)
    return LaplaceFoldIn.joined(executor.gather(found))


def _fold_in(
    part: Observations, local: None, how: _Climb, n_threads: int
) -> tuple[LaplaceFoldIn, None]:
    counts, normal, weights = part.counts, how.normal, how.weights
    shape, dtype = (counts.n_docs, len(normal.mu0)), weights.Theta.dtype
    eta = np.repeat(normal.mu0[None], counts.n_docs, axis=0)
    out, variance, c = np.empty(shape), np.empty(shape), np.empty(shape, dtype=dtype)
    value = np.empty(counts.n_docs)
    _core.laplace_fold_in(
        part.corpus,
        weights.Theta,
        weights.log_scale,
        normal.mu0,
        normal.P,
        normal.half_log_det,
        eta,
        out,
        c,
        value,
        variance,
        how.max_inner,
        how.inner_tol,
        n_threads,
    )
    scores = softmax(out, axis=1).astype(dtype)
    # The free shift adds its own variance 1/K to each η_k.
    return LaplaceFoldIn(c, scores, value, out, variance - 1 / shape[1]), None
