"""fit: from counts and a model to a Fit, by one chain or the best of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dcomp import registry, validation
from dcomp.data import Attributes, Counts, as_counts
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.executors import Executor, resolve_executor
from dcomp.inference import ALGORITHMS, Algorithm, DrawPlan, Rule, Run, run
from dcomp.inference.keep import DRAW_BUDGET
from dcomp.inference.run import COMPLETE, LIMIT, Callback, warn_of_limit
from dcomp.inference.state import State
from dcomp.models import Model, Observations
from dcomp.result.chains import Chain, chain_value, run_chains
from dcomp.result.checkpoints import Checkpoint, CheckpointLike, Kept, Order
from dcomp.result.draws import Draws
from dcomp.result.editing import EDITED
from dcomp.result.ending import Ending
from dcomp.result.fit import Fit
from dcomp.result.provenance import Provenance
from dcomp.result.settling import warn_of_unsettled
from dcomp.result.trace import Trace


def fit(
    counts: Any,
    model: Model,
    algorithm: Algorithm | None = None,
    *,
    exposure: Any = None,
    allowed: Any = None,
    max_iter: int | None = None,
    tol: float = 0.05,
    n_chains: int = 1,
    n_tries: int | str | None = None,
    n_jobs: int | None = None,
    executor: Executor | None = None,
    seed: int = 0,
    callbacks: Sequence[Callback] = (),
    draw_budget: int | str | None = DRAW_BUDGET,
    resume: Fit | None = None,
    begin: State | None = None,
    checkpoint: CheckpointLike = None,
    warn: bool = True,
) -> Fit:
    """Fit a model to counts; `resume` goes on from an earlier fit of the same counts.

    `allowed`: which components a document may use, a label per document (or the name of an
    attribute), lists of them, or a table (I, K); None or -1: all.

    Resuming continues bit for bit as if the first run had never stopped, the draws that are kept
    included, and in the parts that the corpus was cut into. `draw_budget` ("2 GiB", bytes, or None
    for no limit) is what those may take. `executor` says where the parts are worked on, in place of
    `n_jobs` threads here; on small tables chains have them side by side (`result.chains`), unless a
    callback would see more than one at a time. `n_tries`: short climbs from different starts, of
    which the best is carried on, as `MeanField` has it. `max_iter`: 200 sweeps of a sampler and
    2000 of what stops by itself, unless given; those of tries come on top. `warn`: where they were
    not enough, of a sampler by R-hat of its log joint (it is silent about fewer than 40 recorded
    sweeps); and of a table that looks wrong (docs/guides/wrong-tables.md), unless it is resumed.
    `begin`: where one chain begins, before its first sweep (`dcomp.inference.given_start`).
    `checkpoint`: a folder in which what was reached is kept every ten minutes, or a `Checkpoint`;
    the same call goes on from what is there, after a kill too (docs/guides/checkpoints.md).

    >>> from dcomp.models import GammaPoisson
    >>> first = fit([[3, 1, 0], [0, 1, 4]], GammaPoisson.build(2), max_iter=3, tol=0)
    >>> fit([[3, 1, 0], [0, 1, 4]], first.model, max_iter=5, tol=0, resume=first).n_sweeps
    5
    """
    counts = as_counts(counts)
    if resume is not None:
        _check_same_algorithm(algorithm, resume)
        algorithm, seed = resume.algorithm, resume.seed
        counts = _cut_alike(counts, resume)
        exposure = _exposure_of(resume) if exposure is None else exposure
        allowed = resume.allowed if allowed is None else allowed
    algorithm = algorithm or ALGORITHMS[registry.algorithm_name(model.key, counts=counts)]()
    if n_tries is not None:
        algorithm = _with_tries(algorithm, n_tries, resume)
    max_iter = algorithm.usual_sweeps if max_iter is None else max_iter
    registry.check(model, algorithm)
    if exposure is None and resume is None:
        exposure = validation.usual_exposure(counts, model)
    observed = validation.resolve_observations(counts, model, exposure, allowed)
    if warn and resume is None:
        validation.tell_suspicions(observed, model)
    plan_draws(counts, model, algorithm, max_iter, n_chains, draw_budget)
    provenance = Provenance.from_counts(counts)
    earlier = _earlier_run(resume, begin, provenance, n_chains, max_iter)
    stopping, seeds = Rule(tol), chain_seeds(seed, n_chains)
    how: Any = {"max_iter": max_iter, "stopping": stopping, "warn": warn and n_chains == 1}

    def its(chain_seed: int) -> Algorithm:
        return algorithm if chain_seed == seed else algorithm.apart(model, observed)

    def one(chain_seed: int, where: Executor, looking: Sequence[Callback]) -> Chain:
        own = its(chain_seed)
        go = partial(run, model, own, observed, where, seed=chain_seed, callbacks=looking, **how)
        if kept is None:
            outcome = go(resume=earlier)
        else:
            finish = partial(own.finish, observed, executor=where)
            outcome = kept.run(seeds.index(chain_seed), chain_seed, finish, go, earlier)
        ending = _ending(chain_seed, outcome, own, counts) if n_chains > 1 else None
        return Chain(chain_seed, outcome, ending)

    known = _known(observed, exposure, provenance, resume)

    def as_fit(chain_seed: int, outcome: Run) -> Fit:
        chain, own = Chain(chain_seed, outcome), its(chain_seed)
        return _best_of([chain], 0, counts, several=False, algorithm=own, **known)

    kept = None
    if checkpoint is not None:
        told: Any = {"seed": seed, "n_chains": n_chains, "tol": tol}
        told["fingerprint"] = provenance.data_fingerprint
        order = Order.build(observed, model, algorithm, earlier, **told)
        kept = Kept(Checkpoint.told(checkpoint), order, max_iter, as_fit)
    where, work = resolve_executor(n_jobs, executor), counts.nnz * model.n_components
    chains = run_chains(seeds, one, where, callbacks, work)
    best = int(np.argmax([chain.value for chain in chains]))
    if warn:
        _warn(chains, best, model, algorithm, max_iter, stopping)
    several = n_chains > 1  # though one alone may have been whole when Ctrl-C came
    own = its(chains[best].seed)
    return _best_of(chains, best, counts, several=several, algorithm=own, **known)


def _known(
    observed: Observations, exposure: Any, provenance: Provenance, resume: Fit | None
) -> dict[str, Any]:
    """What a fit says of its data, whichever chain it is of."""
    return {
        "exposure": observed.exposure,
        "allowed": observed.allowed,
        "exposure_rule": exposure if isinstance(exposure, str) else None,
        "provenance": provenance,
        "attributes": Attributes(observed.counts.n_docs) if resume is None else resume.attributes,
    }


def _best_of(chains: list[Chain], best: int, counts: Counts, *, several: bool, **known: Any) -> Fit:
    """The fit of the best chain, with what is kept of the others; the chains are let go of."""
    traces = tuple(Trace(chain.run.history) for chain in chains)
    chain_seed, outcome = chains[best].seed, chains[best].run
    endings = tuple(chain.ending for chain in chains if chain.ending is not None)
    pieces = [list(chain.run.state.draws) for chain in chains]
    outcome = replace(outcome, state=outcome.state.changed(draws=()))
    chains.clear()  # `gather` lets go of each piece as it is copied
    kept = Draws.gather(pieces, traces, best, counts.features, counts.doc_ids)
    return Fit(
        outcome.state.changed(draws=() if kept is None else kept.of_chain(kept.best)),
        history=Trace(outcome.history),
        reason=outcome.reason,
        features=counts.features,
        doc_ids=counts.doc_ids,
        seed=chain_seed,
        chains=traces if several else (),
        kept=kept,
        endings=endings,
        **known,
    )


def _exposure_of(resume: Fit) -> Any:
    """As it was said, where it was a word."""
    return resume.exposure if resume.exposure_rule is None else resume.exposure_rule


def _with_tries(algorithm: Algorithm, n_tries: int | str, resume: Fit | None) -> Algorithm:
    """The algorithm with so many starts to try; an error where that would have no effect."""
    if not algorithm.is_plain:
        raise UnsupportedCombination(
            f"n_tries= tries the starts of a climb, and {algorithm.name} has none to try; "
            "n_chains= runs several from different starts and keeps the best"
        )
    if resume is not None:
        raise InvalidParameter("n_tries has no effect on a fit that is resumed: it has begun")
    climb: Any = algorithm
    told: Algorithm = replace(climb, n_tries=n_tries)
    return told


def _check_same_algorithm(algorithm: Algorithm | str | None, resume: Fit) -> None:
    """An error unless a fit is to go on as it was begun."""
    name = algorithm if isinstance(algorithm, str | None) else algorithm.name
    if name not in (None, resume.algorithm.name):
        raise UnsupportedCombination(
            f"a fit goes on by its own algorithm, {resume.algorithm.name}; got {name}"
        )


def _cut_alike(counts: Counts, resume: Fit) -> Counts:
    """The counts in the parts of an earlier fit: a sampler's tokens are in an order of their own
    within each."""
    firsts = resume.state.firsts
    if counts.firsts not in ((0,), firsts):
        raise InvalidParameter(
            f"a fit goes on in the parts it was begun with, {len(firsts)}; these counts are in "
            f"{len(counts.firsts)} of their own: give them uncut"
        )
    return counts.cut_at(firsts) if firsts[-1] < counts.n_docs else counts


def _earlier_run(
    resume: Fit | None, begin: State | None, provenance: Provenance, n_chains: int, max_iter: int
) -> Run | None:
    """The run to go on from, if there is one; an error where that cannot be."""
    if n_chains > 1 and not (resume is None and begin is None):
        raise UnsupportedCombination("one chain is resumed at a time; leave n_chains at 1")
    if resume is None:
        return None if begin is None else Run(begin, (), LIMIT)
    if begin is not None:
        raise InvalidParameter("a resumed fit goes on where it was: leave out begin")
    resume.provenance.require_same(provenance, "a fit can be resumed")
    if resume.reason == EDITED:
        raise UnsupportedCombination(
            "components of this fit were merged or dropped, and no sweep ended there: fit anew, "
            "with fixed= for those that are to stay"
        )
    if resume.n_sweeps >= max_iter:
        raise InvalidParameter(
            f"max_iter counts all sweeps, and {resume.n_sweeps} are done: to go on give more than "
            f"that; got {max_iter}"
        )
    return Run(resume.state, resume.history.rows, resume.reason)


def plan_draws(
    counts: Counts,
    model: Model,
    algorithm: Algorithm,
    max_iter: int,
    n_chains: int = 1,
    draw_budget: int | str | None = DRAW_BUDGET,
) -> DrawPlan | None:
    """What the draws of a fit will take, or None if it keeps none; an error if that is too much."""
    schedule = algorithm.schedule
    budget = validation.memory_size("draw_budget", draw_budget)
    recorded = max_iter - schedule.burn_in
    if not schedule.keep.count(recorded):
        return None
    adds = schedule.adds
    K = model.n_components if adds is None else adds.most(model.n_components)
    plan = DrawPlan.for_fit(schedule.keep, recorded, n_chains, counts, K)
    plan.check(budget)
    return plan


def chain_seeds(seed: int, n_chains: int) -> list[int]:
    """A seed per chain; the first is the seed itself, so that one chain is the plain fit.

    >>> chain_seeds(7, 1)
    [7]
    """
    more = np.random.SeedSequence(seed).generate_state(max(n_chains - 1, 0))
    return [seed, *(int(value) for value in more)]


def _ending(seed: int, outcome: Run, algorithm: Algorithm, counts: Counts) -> Ending | None:
    """What a chain leaves of components with edges."""
    if outcome.state.model.scores.nodes is None:
        return None
    value = chain_value(outcome.history)
    return Ending.build(seed, value, outcome.state, algorithm, counts.features)


def _warn(
    chains: Sequence[Chain],
    best: int,
    model: Model,
    algorithm: Algorithm,
    max_iter: int,
    rule: Rule,
) -> None:
    """Of chains that have not settled, or ended at their limit: one warning for all of these, with
    the gain of the best if it did. A single chain has warned itself."""
    kept = chains[best].run
    if algorithm.samples and kept.reason == COMPLETE:
        traces = [Trace(chain.run.history) for chain in chains]
        warn_of_unsettled(algorithm, traces, comparable=model.scores.capabilities.comparable)
    ended = [chain.run.history for chain in chains if chain.run.reason == LIMIT]
    if ended and rule.tol > 0 and len(chains) > 1:
        shown = kept.history if kept.reason == LIMIT else ended[0]
        warn_of_limit(algorithm, max_iter, rule, shown, f" in {len(ended)} of {len(chains)} chains")
