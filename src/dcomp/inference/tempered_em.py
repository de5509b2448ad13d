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
from dcomp.inference.base import FloatingArray, Info, State
from dcomp.inference.map_em import check_modes
from dcomp.inference.mean_field import Allocation, Weights, allocate, finite_objective
from dcomp.inference.start import seeded_state
from dcomp.models import Model, Observations
from dcomp.models.arrays import read_only


@dataclass(frozen=True)
class TemperedEM:
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
    samples: ClassVar[bool] = False
    mode: ClassVar[str] = "maximise"
    loadings: ClassVar[str] = "map"

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
        scores: Any = model.scores
        if np.any(scores.alpha != 1) or np.any(model.loadings.gamma != 1):
            raise InvalidParameter(
                "tempered-em has no priors: give alpha=1 and gamma=1, or use map; got alpha = "
                f"{scores.alpha[0]:g}, gamma = {np.ravel(model.loadings.gamma)[0]:g}"
            )
        check_modes(model, self.loadings)
        state = seeded_state(model, observed.counts, seed, self.dtype)
        return replace(state, extra=_Schedule(1.0, 1.0, _NONE, 0, 0, -1).extra(state.c, state.n))

    def step(self, observed: Observations, state: State, executor: Executor) -> tuple[State, Info]:
        """One sweep at the β of the schedule, and what the held-out tokens make of it."""
        schedule = _Schedule.of(state)
        split = state.cache if isinstance(state.cache, _Split) else self._split(observed, state)
        words = observed if schedule.is_final else split.seen
        c, n, info = self._sweep(words, state, schedule.beta, executor)
        new = replace(state, c=c, n=n, sweep=state.sweep + 1, cache=split)
        score = split.score(new, executor.n_threads)
        info = replace(info, held_out=float("nan") if schedule.is_final else score)
        if schedule.is_final:
            after = replace(schedule, final=schedule.final + 1)
            return replace(new, extra=after.extra(c, n)), info
        return self._judge(new, schedule, score), info

    def finish(self, observed: Observations, state: State) -> State:
        """The split is let go; it can be made again."""
        return replace(state, cache=None)

    def is_done(self, state: State) -> bool:
        """Whether the last sweeps are done."""
        return _Schedule.of(state).final >= self.final_sweeps

    def _judge(self, state: State, schedule: _Schedule, score: float) -> State:
        """Better: go on. Not better for a while: back to the best, with a lower β or to the end."""
        if score > schedule.best + self.min_gain:
            gained = 0 if schedule.best == _NONE else 1
            better = replace(schedule, best=score, best_beta=schedule.beta, waited=0, gained=gained)
            return replace(state, extra=better.extra(state.c, state.n))
        c, n = state.extra["c"], state.extra["n"]
        if schedule.waited + 1 < self.patience:
            return replace(state, extra=replace(schedule, waited=schedule.waited + 1).extra(c, n))
        if schedule.gained:
            beta = schedule.beta * self.cooling
            schedule = replace(schedule, beta=beta, waited=0, gained=0)
        else:
            schedule = replace(schedule, beta=schedule.best_beta, final=0)
        return replace(state, c=c, n=n, extra=schedule.extra(c, n))

    def _sweep(
        self, observed: Observations, state: State, beta: float, executor: Executor
    ) -> tuple[FloatingArray, FloatingArray, Info]:
        features = observed.counts.features
        weights = Weights.build(state.model, features, state.n, self.loadings, executor.n_threads)
        how = Allocation(
            state.model, weights.tempered(beta), self.max_inner, 0.0, self.mode, temper=beta
        )
        c, stats = allocate(observed, state.c, how, executor)
        flat = stats.n_docs * float(gammaln(state.model.n_components))  # the density of each m
        free = (finite_objective(stats, weights, state.sweep + 1) - weights.log_prior - flat) / beta
        info = Info(state.sweep + 1, free, free, stats.n_updates / stats.n_docs, temper=beta)
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


@dataclass(frozen=True)
class _Schedule:
    beta: float
    best_beta: float
    best: float  # held-out log-likelihood per token
    waited: int  # sweeps without a better one
    gained: int  # whether this β had a better one
    final: int  # sweeps done of the last ones, -1 before them

    @classmethod
    def of(cls, state: State) -> _Schedule:
        """As `extra` wrote it."""
        beta, best_beta, best, waited, gained, final = (
            state.extra[name] for name in ("beta", "best_beta", "best", "waited", "gained", "final")
        )
        return cls(float(beta), float(best_beta), float(best), int(waited), int(gained), int(final))

    @property
    def is_final(self) -> bool:
        """Whether all tokens are in use."""
        return self.final >= 0

    def extra(self, c: FloatingArray, n: FloatingArray) -> dict[str, FloatingArray]:
        """As a State keeps it, with the best c and n so far."""
        numbers = {name: np.array(value) for name, value in vars(self).items()}
        return {"c": read_only(c), "n": read_only(n), **numbers}


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
