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
from scipy.special import gammaln

from dcomp import _core
from dcomp.data import Counts, halves
from dcomp.errors import InvalidParameter
from dcomp.executors import Executor
from dcomp.inference.base import Carried, Climber, FloatingArray, Info, State
from dcomp.inference.map_em import check_flat, check_modes
from dcomp.inference.mean_field import Allocation, Weights, allocate, finite_objective
from dcomp.inference.options import HELD_OUT, MAX_INNER
from dcomp.inference.start import seeded_state
from dcomp.models import Model, Observations
from dcomp.models.arrays import read_only
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
        model.loadings.per_feature(observed.counts.n_features)
        check_flat(model, self.name)
        check_modes(model, self.treatment)
        state = seeded_state(model, observed.counts, seed, self.dtype)
        return replace(state, carried=Cooling(state.c, state.n, 1.0, 1.0, _NONE, 0, 0, -1))

    def step(self, observed: Observations, state: State, executor: Executor) -> tuple[State, Info]:
        """One sweep at the β of the schedule, and what the held-out tokens make of it."""
        cooling = _cooling(state)
        split = state.cache if isinstance(state.cache, _Split) else self._split(observed, state)
        words = observed if cooling.is_final else split.seen
        c, n, info = self._sweep(words, state, cooling.beta, executor)
        new = replace(state, c=c, n=n, sweep=state.sweep + 1, cache=split)
        if cooling.is_final:
            after = replace(cooling, c=c, n=n, final=cooling.final + 1)
            return replace(new, carried=after), info
        score = split.score(new, executor.n_threads)
        return self._judge(new, cooling, score), replace(info, held_out=score)

    def finish(self, observed: Observations, state: State) -> State:
        """The split is let go; it can be made again."""
        return replace(state, cache=None)

    def is_done(self, state: State) -> bool:
        """Whether the last sweeps are done."""
        return _cooling(state).final >= self.final_sweeps

    def temper(self, state: State) -> float:
        """The best β."""
        return _cooling(state).best_beta

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

    def _judge(self, state: State, now: Cooling, score: float) -> State:
        """Better: go on. Not better for a while: back to the best, with a lower β or to the end."""
        if score > now.best + self.min_gain:
            gained = 0 if now.best == _NONE else 1
            best: Any = {"c": state.c, "n": state.n, "best": score, "best_beta": now.beta}
            return replace(state, carried=replace(now, **best, waited=0, gained=gained))
        if now.waited + 1 < self.patience:
            return replace(state, carried=replace(now, waited=now.waited + 1))
        if now.gained:
            after = replace(now, beta=now.beta * self.cooling, waited=0, gained=0)
        else:
            after = replace(now, beta=now.best_beta, final=0)
        return replace(state, c=now.c, n=now.n, carried=after)

    def _sweep(
        self, observed: Observations, state: State, beta: float, executor: Executor
    ) -> tuple[FloatingArray, FloatingArray, TemperedInfo]:
        features = observed.counts.features
        weights = Weights.build(state.model, features, state.n, self.treatment, executor.n_threads)
        how = Allocation(
            state.model, weights.tempered(beta), self.max_inner, 0.0, self.mode, temper=beta
        )
        c, stats = allocate(observed, state.c, how, executor)
        flat = stats.n_docs * float(gammaln(state.model.n_components))  # the density of each m
        free = (finite_objective(stats, weights, state.sweep + 1) - weights.log_prior - flat) / beta
        updates = stats.n_updates / stats.n_docs
        info = TemperedInfo(state.sweep + 1, free, free, updates, temper=beta)
        return c, read_only(stats.n), info

    def _split(self, observed: Observations, state: State) -> _Split:
        seen, held = halves(observed.counts, 1 - self.held_out, state.seed)
        if not held.n_tokens or not seen.n_tokens:
            raise InvalidParameter(
                f"held_out = {self.held_out:g} of {observed.counts.n_tokens} tokens leaves "
                "nothing on one side; give another share"
            )
        return _Split(Observations(seen), Observations(held))


_NONE = -1e300  # the score before there is one


@dataclass(frozen=True, eq=False)
class Cooling(Carried):
    """Where the schedule stands, with the best c and n so far."""

    c: FloatingArray
    n: FloatingArray
    beta: float
    best_beta: float
    best: float  # held-out log-likelihood per token
    waited: int  # sweeps without a better one
    gained: int  # whether this β had a better one
    final: int  # sweeps done of the last ones, -1 before them

    @property
    def is_final(self) -> bool:
        """Whether all tokens are in use."""
        return self.final >= 0


def _cooling(state: State) -> Cooling:
    assert isinstance(state.carried, Cooling)
    return state.carried


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
class _Split:
    seen: Observations
    held: Observations

    def score(self, state: State, n_threads: int) -> float:
        """Σ w log Σ_k m_k θ_jk per held-out token."""
        counts: Counts = self.held.counts
        weights = Weights.build(state.model, counts.features, state.n, "map", n_threads)
        out = np.empty(counts.n_docs)
        _core.log_predictive(
            self.held.corpus,
            weights.Theta,
            weights.log_scale,
            np.ascontiguousarray(state.c),
            out,
            n_threads,
        )
        return float(out.sum() / counts.n_tokens)
