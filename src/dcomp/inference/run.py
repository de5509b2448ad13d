"""The only loop: step, look, stop. Ctrl-C keeps the last complete sweep."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from dcomp.errors import ConvergenceWarning, InvalidParameter
from dcomp.errors import warn as warn_user
from dcomp.executors import Executor, FiledExecutor, LocalExecutor
from dcomp.executors.blas import one_blas_thread
from dcomp.inference.ascent import Ascent, path_of
from dcomp.inference.base import Algorithm, Info
from dcomp.inference.state import State
from dcomp.inference.stopping import Rule, change_of, recent_gain
from dcomp.inference.tries import begin
from dcomp.models import Model, Observations
from dcomp.models.memory import require_memory
from dcomp.models.scratch import Scratch

Callback = Callable[[Info], bool | None]
AfterSweep = Callable[[State, Sequence[Info]], None]

CONVERGED, LIMIT, INTERRUPTED, CALLBACK = "converged", "limit", "interrupted", "callback"
COMPLETE, ROUNDING = "complete", "rounding"


@dataclass(frozen=True)
class Run:
    """Where the loop came to rest, and why."""

    state: State
    history: tuple[Info, ...]
    # "converged"; "rounding", where it hides what may be left to gain; "limit", "complete" (what
    # runs its course: a sampler, say), "interrupted" or "callback".
    reason: str


def run(
    model: Model,
    algorithm: Algorithm,
    observed: Observations,
    executor: Executor,
    *,
    seed: int = 0,
    max_iter: int = 200,
    stopping: Rule | None = None,
    callbacks: Sequence[Callback] = (),
    resume: Run | None = None,
    warn: bool = True,
    after_sweep: AfterSweep | None = None,
) -> Run:
    """Sweep until the stopping rule is met, `max_iter` sweeps are done, a callback returns True,
    or the user interrupts. `max_iter` counts all sweeps, those of a resumed run too, but not those
    of tries (`tries`), which come before the first. `warn`: where
    they were not enough. `after_sweep` is shown every whole sweep but the last, to keep it.
    """
    if max_iter < 1:
        raise InvalidParameter(f"max_iter must be at least 1; got {max_iter}")
    executor = with_room(executor, observed, model)
    rule = stopping or Rule()
    ascent = Ascent(algorithm, rule) if algorithm.is_plain else None
    way: Any = ascent or algorithm
    with one_blas_thread():
        if resume is None:
            state = begin(model, algorithm, observed, seed, executor)
        else:
            state = resume.state.cut(observed.parts)
            state = ascent.taken_up(state) if ascent else state
        history: list[Info] = [] if resume is None else list(resume.history)
        reason = COMPLETE if algorithm.runs_its_course else LIMIT
        may_stop, n_docs = (
            not (algorithm.runs_its_course or algorithm.is_plain),
            observed.counts.n_docs,
        )
        try:
            while state.sweep < max_iter:
                started = time.perf_counter()
                next_state, info = way.step(observed, state, executor)
                change = change_of(history[-1], info, n_docs) if history else None
                info = replace(info, change=change, seconds=time.perf_counter() - started)
                history.append(info)
                state = next_state
                answers = [callback(info) for callback in callbacks]  # all of them, always
                if any(answers):
                    reason = CALLBACK
                    break
                if way.is_done(state):
                    reason = ROUNDING if path_of(state).noise else CONVERGED
                    break
                if may_stop and state.sweep >= algorithm.min_sweeps and rule.is_calm(history):
                    reason = CONVERGED
                    break
                if after_sweep is not None and state.sweep < max_iter:
                    after_sweep(state, history)
        except KeyboardInterrupt:
            # It may fall between a sweep's entry in the history and its state: the state decides.
            history = history[: state.sweep]
            if not history:
                raise
            reason = INTERRUPTED
        try:
            ended = algorithm.finish(observed, state, executor)
        except KeyboardInterrupt:  # whole sweeps are kept, and so their end is made again
            reason, ended = INTERRUPTED, algorithm.finish(observed, state, executor)
    if warn and reason == LIMIT and rule.tol > 0:
        warn_of_limit(algorithm, max_iter, rule, history)
    return Run(ended, tuple(history), reason)


def with_room(executor: Executor, observed: Observations, model: Model) -> Executor:
    """The executor, or one that keeps what is known of documents in files where their counts lie in
    one; an error where there is too little memory."""
    mapped = observed.counts.mapped
    in_memory = observed.counts.n_docs if mapped is None else 0
    require_memory(in_memory, observed.counts.n_features, model.n_components)
    if mapped is None or type(executor) is not LocalExecutor:
        return executor
    return FiledExecutor(executor.n_threads, Scratch(mapped.scratch))


class Ended(Protocol):
    """A run, or a fit."""

    @property
    def reason(self) -> str:
        """Why it ended."""


Outcome = TypeVar("Outcome", bound=Ended)


def uninterrupted(outcome: Outcome) -> Outcome:
    """What came of a fit that is a step of something larger. An interrupt ends a fit and keeps its
    whole sweeps; of something larger there is nothing to keep, and the interrupt goes on.

    >>> from types import SimpleNamespace
    >>> uninterrupted(SimpleNamespace(reason="converged")).reason
    'converged'
    """
    if outcome.reason == INTERRUPTED:
        raise KeyboardInterrupt
    return outcome


def warn_of_limit(
    algorithm: Algorithm, max_iter: int, rule: Rule, history: Sequence[Info], where: str = ""
) -> None:
    """That the sweeps were not enough; `where`: of which chains that is said."""
    what = f"less than tol = {rule.tol:g} nats per document were left to gain"
    if not algorithm.is_plain:
        what = "documents had settled"
    if len(history) > 1:
        what += " (the last {} sweeps gained {:.2g})".format(*recent_gain(history))
    what += "; raise max_iter or tol"
    if algorithm.has_schedule:
        what = "its schedule was over; raise max_iter"
    warn_user(
        f"{algorithm.name} reached max_iter = {max_iter}{where} before {what}, or resume the fit",
        ConvergenceWarning,
        stacklevel=3,
    )
