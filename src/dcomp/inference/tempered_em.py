"""Tempered EM for PLSA, with held-out words to say when to stop: Hofmann's annealed EM, BJ06 VII.D.

The E-step divides words in proportion to (m_k θ_jk)^β with β ≤ 1, which keeps a component from
claiming the few words that it happens to fit. A sweep at a given β raises the tempered free energy
(1/β) Σ_ij w_ij log Σ_k (m_ik θ_jk)^β; at β = 1 that is the log-likelihood, B18 (5.5).

A share of every document's tokens is held out. EM at β = 1 goes on while it predicts those better,
then β falls step by step and EM goes on at each, from the best so far, until a lower β no longer
helps; the last sweeps use all tokens at the best β.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from dcomp import _core
from dcomp.data import halves
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.executors import Executor, LocalExecutor
from dcomp.inference.base import Climber, FloatingArray, Info, SufficientStats
from dcomp.inference.map_em import check_flat, check_modes
from dcomp.inference.mean_field import Allocation, Weights, allocate, finite_objective
from dcomp.inference.options import HELD_OUT, MAX_INNER
from dcomp.inference.rest import AT_REST, rested
from dcomp.inference.start import seeded_state
from dcomp.inference.state import Carried, Global, Local, State
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray, read_only
from dcomp.models.options import Option


@dataclass(frozen=True)
class TemperedEM(Climber):
    """PLSA by EM whose β is lowered while that predicts held-out words better.

    held_out: the share of tokens that is held out, until the last sweeps.
    cooling: what a step makes of β. patience: sweeps without a better prediction before a step.
    min_gain: of the held-out log-likelihood per token, to count as better.
    final_sweeps: with all tokens, at the end.

    >>> TemperedEM(held_out=0.2).name
    'tempered-em'
    """

    held_out: float = 0.1
    cooling: float = 0.9
    patience: int = 3
    min_gain: float = 1e-4
    final_sweeps: int = 10
    max_inner: int = 3
    dtype: str = "float32"

    name: ClassVar[str] = "tempered-em"
    objective_name: ClassVar[str] = "tempered free energy"
    mode: ClassVar[str] = "maximise"
    estimates: ClassVar[str] = "likelihood"
    has_schedule: ClassVar[bool] = True
    options: ClassVar[tuple[Option, ...]] = (HELD_OUT, MAX_INNER)

    def __post_init__(self) -> None:
        for name in ("held_out", "cooling"):
            if not 0 < getattr(self, name) < 1:
                raise InvalidParameter(
                    f"{name} must lie between 0 and 1; got {getattr(self, name)}"
                )
        for name in ("patience", "max_inner", "final_sweeps"):
            if getattr(self, name) < 1:
                raise InvalidParameter(f"{name} must be at least 1; got {getattr(self, name)}")
        if not self.min_gain >= 0:
            raise InvalidParameter(f"min_gain must be at least 0; got {self.min_gain}")
        if self.dtype not in ("float32", "float64"):
            raise InvalidParameter(f"dtype must be float32 or float64; got {self.dtype!r}")

    @property
    def min_sweeps(self) -> int:
        """The schedule ends a fit, not the change of its objective."""
        return np.iinfo(np.int64).max

    def init(
        self, model: Model, observed: Observations, seed: int, executor: Executor | None = None
    ) -> State:
        """Even scores, loadings seeded by documents."""
        model.loadings.check(observed.counts.n_features, model.n_components)
        check_flat(model, self.name)
        if observed.allowed is not None:
            raise UnsupportedCombination(
                "tempered-em holds out tokens of documents that may use all components: for "
                "allowed= use map, mean-field, gibbs or collapsed-gibbs"
            )
        check_modes(model, self.treatment)
        executor = executor or LocalExecutor(1)
        state = seeded_state(model, observed, seed, self.dtype, executor)
        share = self._split(seed)
        after, sides = executor.map_reduce(_split, observed.parts, state.locals, share)
        if not sides.all():
            raise InvalidParameter(
                f"held_out = {self.held_out:g} of {observed.counts.n_tokens} tokens leaves "
                "nothing on one side; give another share"
            )
        cooling = Cooling(None, state.n, 1.0, 1.0, _NONE, 0, 0, -1)
        return replace(state, shared=replace(state.shared, carried=cooling), locals=after)

    def step(self, observed: Observations, state: State, executor: Executor) -> tuple[State, Info]:
        """One sweep at the β of the schedule, and what the held-out tokens make of it."""
        cooling, split = _cooling(state.shared), self._split(state.seed)
        unseen = None if cooling.is_final else split
        new, info = self._sweep(observed, state, cooling.beta, unseen, executor)
        if cooling.is_final:
            after = replace(cooling, n=new.n, final=cooling.final + 1)
            new = replace(new, shared=replace(new.shared, carried=after))
            return _all(_remember, observed, new, executor), info
        weights = Weights.build(
            new.model, observed.counts.features, new.n, self.treatment, executor.n_threads
        )
        kept, held = executor.map_reduce(
            _predict, observed.parts, new.locals, _Prediction(split, weights)
        )
        score = float(held[0] / held[1])
        judged = self._judge(observed, replace(new, locals=kept), cooling, score, executor)
        return judged, replace(info, held_out=score)

    def finish(self, observed: Observations, state: State, executor: Executor) -> State:
        """Where the schedule is over, with documents where `transform` has them."""
        if self.is_done(state):
            beta, features = self.temper(state), observed.counts.features
            how = (state.model, features, state.n, self.treatment, executor.n_threads)
            weights = Weights.build(*how).tempered(beta)
            allocation = Allocation(state.model, weights, *AT_REST, self.mode, temper=beta)
            state = _all(_come_to_rest, observed, state, executor, allocation)
        return state.gathered(executor)

    def is_done(self, state: State) -> bool:
        """Whether the last sweeps are done."""
        return _cooling(state.shared).final >= self.final_sweeps

    def temper(self, state: State) -> float:
        """The best β."""
        return _cooling(state.shared).best_beta

    def info_type(self, model: Model) -> type[Info]:
        """With β and what the held-out tokens say."""
        return TemperedInfo

    def carried_type(self, model: Model) -> type[Carried]:
        """Where the cooling stands."""
        return Cooling

    @property
    def treatment(self) -> str:
        """θ ∝ n."""
        return "map"

    def _split(self, seed: int) -> _Share:
        return _Share(1 - self.held_out, seed)

    def _judge(
        self, observed: Observations, state: State, now: Cooling, score: float, executor: Executor
    ) -> State:
        """Better: go on. Not better for a while: back to the best, with a lower β or to the end."""
        shared = state.shared
        if score > now.best + self.min_gain:
            gained = 0 if now.best == _NONE else 1
            best: Any = {"n": state.n, "best": score, "best_beta": now.beta}
            after = replace(now, **best, waited=0, gained=gained)
            state = replace(state, shared=replace(shared, carried=after))
            return _all(_remember, observed, state, executor)
        if now.waited + 1 < self.patience:
            after = replace(now, waited=now.waited + 1)
            return replace(state, shared=replace(shared, carried=after))
        if now.gained:
            after = replace(now, beta=now.beta * self.cooling, waited=0, gained=0)
        else:
            after = replace(now, beta=now.best_beta, final=0)
        state = replace(state, shared=replace(shared, n=now.n, carried=after))
        return _all(_go_back, observed, state, executor)

    def _sweep(
        self,
        observed: Observations,
        state: State,
        beta: float,
        split: _Share | None,
        executor: Executor,
    ) -> tuple[State, TemperedInfo]:
        """One sweep at a β, over all tokens or over those that a split does not hold out."""
        features = observed.counts.features
        weights = Weights.build(state.model, features, state.n, self.treatment, executor.n_threads)
        how = Allocation(
            state.model, weights.tempered(beta), self.max_inner, 0.0, self.mode, temper=beta
        )
        parts, locals_ = observed.parts, state.locals
        if split is None:
            after, stats = executor.map_reduce(allocate, parts, locals_, how)
        else:
            after, stats = executor.map_reduce(_allocate_seen, parts, locals_, (split, how))
        flat = stats.n_docs * float(gammaln(state.model.n_components))  # the density of each m
        free = (finite_objective(stats, weights, state.sweep + 1) - weights.log_prior - flat) / beta
        updates = stats.n_updates / stats.n_docs
        info = TemperedInfo(state.sweep + 1, free, free, updates, shares=stats.shares, temper=beta)
        whole = replace(state.shared, n=read_only(stats.n), sweep=state.sweep + 1)
        return replace(state, shared=whole, locals=after), info


_NONE = -1e300  # the score before there is one


@dataclass(frozen=True, eq=False)
class Cooling(Carried):
    """Where the schedule stands, with the best c and n so far."""

    c: FloatingArray | None  # of the documents
    n: FloatingArray
    beta: float
    best_beta: float
    best: float  # held-out log-likelihood per token
    waited: int  # sweeps without a better one
    gained: int  # whether this β had a better one
    final: int  # sweeps done of the last ones, -1 before them

    @classmethod
    def of_documents(cls, model: Model) -> tuple[str, ...]:
        """c."""
        return ("c",)

    @property
    def is_final(self) -> bool:
        """Whether all tokens are in use."""
        return self.final >= 0

    def check(self, model: Model, c: npt.NDArray[Any], n: npt.NDArray[Any]) -> None:
        """A ValueError unless both β are powers, and the best counts are of these documents."""
        super().check(model, c, n)
        if not (0 < self.beta <= 1 and 0 < self.best_beta <= 1):
            raise ValueError(f"β must lie in (0, 1]; found {self.beta} and {self.best_beta}")
        for mine, theirs in ((self.c, c), (self.n, n)):
            if mine is None or mine.shape != theirs.shape or not (mine >= 0).all():
                raise ValueError("the best counts do not belong to these documents and features")


def _cooling(shared: Global) -> Cooling:
    assert isinstance(shared.carried, Cooling)
    return shared.carried


@dataclass(frozen=True, kw_only=True)
class TemperedInfo(Info):
    """A row of tempered EM: its β, and the log-likelihood per held-out token, None in the last
    sweeps, which hold out nothing."""

    temper: float
    held_out: float | None = None

    comparison = "held-out words"

    @classmethod
    def chain_value(cls, rows: Any) -> float:
        """How well the best sweep predicted the held-out words: objectives of another β do not
        compare."""
        return float(max(row.held_out for row in rows if row.held_out is not None))


@dataclass(frozen=True)
class _Share:
    """Which tokens are not held out: every document's by random numbers of its own."""

    fraction: float
    seed: int

    def split(self, part: Observations) -> tuple[Observations, Observations]:
        """What is seen and what is held out."""
        seen, held = halves(part.counts, self.fraction, self.seed, part.document_keys)
        return replace(part, counts=seen), replace(part, counts=held)

    def of_part(self, part: Observations, local: Local) -> tuple[Observations, Observations]:
        """The same, made once: it is kept as long as the worker lives."""
        kept: Any = local.handle
        return kept if isinstance(kept, tuple) else self.split(part)


def _split(
    part: Observations, local: Local, share: _Share, n_threads: int
) -> tuple[Local, npt.NDArray[np.int64]]:
    """The start is the best so far; tokens that are seen, and held out."""
    both = share.split(part)
    tokens = np.array([side.counts.n_tokens for side in both])
    return replace(local, carried={"c": local.c}, handle=both), tokens


def _allocate_seen(
    part: Observations, local: Local, shared: tuple[_Share, Allocation], n_threads: int
) -> tuple[Local, SufficientStats]:
    """A sweep over what is not held out."""
    share, how = shared
    both = share.of_part(part, local)
    return allocate(both[0], replace(local, handle=both), how, n_threads)


@dataclass(frozen=True)
class _Prediction:
    share: _Share
    weights: Weights


def _predict(
    part: Observations, local: Local, shared: _Prediction, n_threads: int
) -> tuple[Local, FloatArray]:
    """Σ w log Σ_k m_k θ_jk over the held-out tokens, and their number."""
    both = shared.share.of_part(part, local)
    held, weights = both[1], shared.weights
    out = np.empty(held.counts.n_docs)
    c = np.ascontiguousarray(local.c)
    _core.log_predictive(held.corpus, weights.Theta, weights.log_scale, c, out, n_threads)
    return replace(local, handle=both), np.array([out.sum(), held.counts.n_tokens])


def _remember(part: Observations, local: Local, shared: Any, n_threads: int) -> tuple[Local, None]:
    """The scores are the best so far."""
    return replace(local, carried={"c": local.c}), None


def _go_back(part: Observations, local: Local, shared: Any, n_threads: int) -> tuple[Local, None]:
    """The best scores are taken up again."""
    return replace(local, c=local.carried["c"]), None


def _come_to_rest(
    part: Observations, local: Local, how: Allocation, n_threads: int
) -> tuple[Local, None]:
    """Documents where they are as new ones."""
    return replace(local, c=read_only(rested(part, how, n_threads)[0])), None


def _all(
    task: Any, observed: Observations, state: State, executor: Executor, shared: Any = None
) -> State:
    """The state with this done to every part."""
    after, _ = executor.map_reduce(task, observed.parts, state.locals, shared)
    return replace(state, locals=after)
