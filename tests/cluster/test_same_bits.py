"""The same parts give the same bits on a cluster as here, by every algorithm."""

from __future__ import annotations

import numpy as np
import pytest
from support.cells import make, same

import dcomp
from dcomp import evaluate
from dcomp.executors import LocalExecutor
from dcomp.inference import ALGORITHMS, MeanField
from dcomp.inference.run import run
from dcomp.models import DirichletMultinomial, Observations
from dcomp.recipe import Recipe

pytestmark = pytest.mark.usefixtures("short_starts_of_laplace")
HERE = LocalExecutor(1)
CELLS = [
    ("DM", "mean-field"),
    ("GP", "mean-field"),
    ("CGP", "gibbs"),
    ("DM", "map"),
    ("DM", "ml"),
    ("DM", "tempered-em"),
    ("GP", "gibbs"),
    ("DM", "collapsed-gibbs"),
    ("LN", "laplace"),
    ("TM", "mean-field"),
]


def fitted(chosen, counts, executor, **more):
    recipe = Recipe.from_options(**chosen._given()).resolve(counts)
    settings = vars(recipe.settings) | more
    return dcomp.fit(counts, recipe.model, recipe.algorithm, **settings, executor=executor)


@pytest.mark.parametrize(("key", "algorithm"), CELLS)
def test_fits_are_the_same(key, algorithm, counts, executor):
    samples = ALGORITHMS[algorithm].samples
    how = {"max_iter": 7} | ({"n_draws": 1} if samples else {})
    here, there = (fitted(make(key, algorithm, **how), counts, x) for x in (HERE, executor))
    assert same(here, there)
    assert there.is_approximate == (algorithm == "collapsed-gibbs")
    if samples and here.draws.scores is not None:
        assert np.array_equal(here.draws.scores, there.draws.scores)


def test_one_worker_gives_the_bits_of_two(counts, client):
    """A cluster that has one worker only, and more parts than it has threads."""
    distributed = pytest.importorskip("distributed")
    how = {"n_workers": 1, "threads_per_worker": 2, "dashboard_address": "127.0.0.1:0"}
    chosen = make("DM", "mean-field", max_iter=5)
    with (
        distributed.LocalCluster(**how, processes=False) as cluster,
        distributed.Client(cluster, set_as_default=False) as alone,
        dcomp.executors.DaskExecutor(alone) as executor,
    ):
        assert same(fitted(chosen, counts, HERE), fitted(chosen, counts, executor))


def test_documents_are_judged_there(counts, executor):
    fit = fitted(make("DM", "mean-field"), counts, HERE)
    for ask in (
        lambda where: fit.transform(counts, executor=where),
        lambda where: fit.sample_scores(counts, n_draws=2, executor=where).mean,
        lambda where: evaluate.completion(fit, counts, executor=where).per_document,
        lambda where: evaluate.left_to_right(fit, counts, particles=2, executor=where).per_document,
    ):
        assert np.array_equal(ask(HERE), ask(executor))


def test_chains_of_a_selection_run_there(counts, executor):
    seen: list[tuple[int, int]] = []
    how = {"n_chains": 2, "max_iter": 10, "with_evidence": False}
    small = counts.rows(slice(0, 40))
    there = evaluate.select_components(
        small, [1, 3], **how, executor=executor, on_progress=lambda *done: seen.append(done)
    )
    assert seen == [(n + 1, 6) for n in range(6)]  # of two K two chains each, which then meet
    assert str(there) == str(evaluate.select_components(small, [1, 3], **how, n_jobs=1))


def test_chains_of_the_evidence_run_there(executor):
    X = [[4, 3, 0, 0], [5, 2, 0, 1], [0, 0, 6, 3], [0, 1, 4, 4]]
    how = {"alpha": 0.5, "gamma": 0.5, "n_sweeps": 20, "n_chains": 2, "n_starts": 1}
    here, there = (evaluate.evidence(X, 2, **how, executor=where) for where in (HERE, executor))
    assert np.array_equal(here.per_chain, there.per_chain)


def test_going_on_is_one_long_run(counts, executor):
    chosen = make("GP", "gibbs", max_iter=9)
    whole = fitted(chosen, counts, HERE)
    part = fitted(chosen, counts, executor, max_iter=5)
    again = dcomp.fit(counts, part.model, max_iter=9, tol=0, resume=part, executor=executor)
    assert same(whole, again)


def test_a_state_on_a_worker_does_not_pretend_to_be_here(counts, executor):
    model = DirichletMultinomial.build(3, alpha=0.1, gamma=0.1)
    seen = []

    def after(state, history):
        seen.extend(type(local).__name__ for local in state.locals)

    how = {"max_iter": 3, "warn": False, "after_sweep": after}
    run(model, MeanField(n_tries=1), Observations(counts), executor, **how)
    assert set(seen) == {"Held"}
