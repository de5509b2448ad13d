"""The only loop: step, look, stop. Ctrl-C keeps the last complete sweep."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dcomp.errors import ConvergenceWarning, InvalidParameter
from dcomp.executors import Executor
from dcomp.inference.base import Algorithm, Info
from dcomp.inference.state import State
from dcomp.inference.stopping import RelativeChange, relative_change
from dcomp.models import Model, Observations

Callback = Callable[[Info], bool | None]

CONVERGED, LIMIT, INTERRUPTED, CALLBACK = "converged", "limit", "interrupted", "callback"
COMPLETE = "complete"


@dataclass(frozen=True)
class Run:
    """Where the loop came to rest, and why."""

    state: State
    history: tuple[Info, ...]
    reason: str  # "converged", "limit", "complete" (a sampler), "interrupted" or "callback"


def run(
    model: Model,
    algorithm: Algorithm,
    observed: Observations,
    executor: Executor,
    *,
    seed: int = 0,
    max_iter: int = 200,
    stopping: RelativeChange | None = None,
    callbacks: Sequence[Callback] = (),
    resume: Run | None = None,
    warn: bool = True,
) -> Run:
    """Sweep until the stopping rule is met, `max_iter` sweeps are done, a callback returns True,
    or the user interrupts. `max_iter` counts all sweeps, those of a resumed run too. `warn`: where
    they were not enough.
    """
    if max_iter < 1:
        raise InvalidParameter(f"max_iter must be at least 1; got {max_iter}")
    stopping = stopping or RelativeChange()
    state = (
        resume.state.cut(observed.parts)
        if resume
        else algorithm.init(model, observed, seed, executor)
    )
    history: list[Info] = [] if resume is None else list(resume.history)
    reason = COMPLETE if algorithm.samples else LIMIT
    may_stop = not algorithm.samples
    try:
        while state.sweep < max_iter:
            started = time.perf_counter()
            next_state, info = algorithm.step(observed, state, executor)
            change = relative_change(history[-1], info) if history else None
            info = replace(info, change=change, seconds=time.perf_counter() - started)
            history.append(info)
            state = next_state
            answers = [callback(info) for callback in callbacks]  # all of them, always
            if any(answers):
                reason = CALLBACK
                break
            if algorithm.is_done(state):
                reason = CONVERGED
                break
            if may_stop and state.sweep >= algorithm.min_sweeps and stopping.is_met(history):
                reason = CONVERGED
                break
    except KeyboardInterrupt:
        # It may fall between a sweep's entry in the history and its state: the state decides.
        history = history[: state.sweep]
        if not history:
            raise
        reason = INTERRUPTED
    if warn and reason == LIMIT and stopping.tol > 0:
        change = history[-1].change
        so_far = "" if change is None else f" (it is {change:.2g})"
        what = f"the relative change fell below tol = {stopping.tol:g}{so_far}; "
        what += "raise max_iter or tol"
        if algorithm.has_schedule:
            what = "its schedule was over; raise max_iter"
        warnings.warn(
            f"{algorithm.name} reached max_iter = {max_iter} before {what}, or resume the fit",
            ConvergenceWarning,
            stacklevel=2,
        )
    return Run(algorithm.finish(observed, state, executor), tuple(history), reason)
