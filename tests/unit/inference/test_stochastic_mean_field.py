"""Stochastic mean field: batches, steps, held-out documents, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import dcomp
from dcomp.evaluate import completion
from dcomp.executors import LocalExecutor
from dcomp.inference import StochasticMeanField
from dcomp.inference.batches import Batches, Held
from dcomp.inference.stochastic_mean_field import steps_of
from dcomp.models import DirichletMultinomial, Observations

NAME = "stochastic-mean-field"


def test_batches_are_a_partition_whatever_the_cut(planted):
    counts = planted[0]
    batches = Batches.of(20, counts.n_docs, Held(0.2, 5))
    held = np.flatnonzero(batches.held.of(Observations(counts)))
    seen = [held]
    for number in range(batches.n_batches):
        batch = batches.at(number)
        whole = batch.rows(Observations(counts))
        cut = [batch.rows(part) + part.first for part in Observations(counts.in_parts(4)).parts]
        assert np.array_equal(np.concatenate(cut), whole)
        seen.append(whole)
    assert np.array_equal(np.sort(np.concatenate(seen)), np.arange(counts.n_docs))
    assert 0.1 < len(held) / counts.n_docs < 0.3


def test_every_epoch_has_an_order_of_its_own():
    batches = Batches.of(1, 50, Held(0.0, 1))
    first, second = batches.order(0), batches.order(1)
    assert sorted(first) == sorted(second) == list(range(50))
    assert first != second
    assert batches.order(1) == second


def test_large_batches_are_runs_of_neighbours():
    batches = Batches.of("auto", 1_000_000, Held(0.0, 1))
    assert (batches.n_batches, batches.run) == (200, 78)


def test_held_out_documents_teach_nothing_and_are_scored(planted):
    counts = planted[0]
    algorithm = StochasticMeanField(batch_size=20, held_out=0.25)
    model = DirichletMultinomial.build(4, alpha=0.2, gamma=0.1)
    fitted = dcomp.fit(counts, model, algorithm, max_iter=4, seed=2)
    held = Held(0.25, 2).of(Observations(counts))
    rest, test = counts.rows(~held), counts.rows(held)
    assert steps_of(fitted.state.shared).n_docs == rest.n_docs
    assert fitted.state.n.sum() == pytest.approx(rest.n_tokens, rel=1e-5)
    scores = fitted.history["held_out"]
    assert scores[-1] > scores[0]
    assert scores[-1] == pytest.approx(completion(fitted, test).log_likelihood, abs=1e-6)


def test_nothing_is_recorded_of_held_out_documents_unless_asked(planted):
    fitted = dcomp.DCA(4, algorithm=NAME, verbose=0, max_iter=2).fit(planted[0]).fit_
    assert np.isnan(fitted.history["held_out"].astype(float)).all()
    assert fitted.reason == "complete"


def test_documents_end_where_transform_has_them(planted):
    fitted = dcomp.DCA(4, algorithm=NAME, verbose=0, max_iter=3).fit(planted[0]).fit_
    assert np.array_equal(fitted.scores, fitted.transform(planted[0]))


def test_it_comes_near_the_batch_in_a_fraction_of_the_passes():
    """1500 documents of a known model: three epochs are within 1 % of what mean field ends with."""
    truth = DirichletMultinomial.build(8, alpha=0.1, gamma=0.05)
    space, rng = dcomp.data.FeatureSpace.build(300), np.random.default_rng(3)
    counts = truth.simulate(space, np.full(2000, 80), rng)[0]
    train, test = dcomp.data.train_test(counts, 0.25, seed=0)
    few = dcomp.LDA(8, algorithm=NAME, max_iter=3, verbose=0).fit(train)
    batch = dcomp.LDA(8, verbose=0, n_tries=1).fit(train)
    how = {"n_tries": 1, "start": "seeded", "max_iter": 3, "tol": 0}
    short = dcomp.LDA(8, verbose=0, **how).fit(train)
    assert few.perplexity(test) < 1.01 * batch.perplexity(test)
    assert few.perplexity(test) < 0.9 * short.perplexity(test)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"forgetting": 0.4}, "forgetting must lie between 0.5 and 1, else steps do not settle"),
        ({"delay": 0.5}, "delay must be at least 1 and finite"),
        ({"batch_size": 0}, "batch_size must be a whole number of at least 1"),
        ({"held_out": 1.0}, "held_out must be at least 0 and below 1"),
        ({"loadings": "best"}, "loadings must be one of mean, map, vb"),
        ({"dtype": "int8"}, "dtype must be float32 or float64"),
        ({"inner_tol": -1.0}, "inner_tol must be at least 0"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(dcomp.InvalidParameter, match=message):
        StochasticMeanField(**options)


def test_what_it_cannot_do(planted):
    counts = planted[0]
    with pytest.raises(dcomp.UnsupportedCombination, match="model TM has no algorithm"):
        dcomp.TreeDCA(branching=2, depth=2, algorithm=NAME, verbose=0).fit(counts)
    with pytest.raises(dcomp.UnsupportedCombination, match="may use all components"):
        dcomp.DCA(2, algorithm=NAME, allowed=[0, 1] * (counts.n_docs // 2), verbose=0).fit(counts)
    with pytest.raises(dcomp.UnsupportedCombination, match="gamma='auto' is learned by gibbs"):
        dcomp.DCA(2, algorithm=NAME, gamma="auto", verbose=0).fit(counts)
    everything = StochasticMeanField(held_out=1 - 1e-12)
    with pytest.raises(dcomp.InvalidParameter, match="leaves none to learn from"):
        dcomp.DCA(2, algorithm=everything, verbose=0).fit(counts)


def test_a_batch_without_documents_is_no_step():
    counts = dcomp.Counts.from_matrix([[3, 1, 0], [0, 1, 4]])
    algorithm = StochasticMeanField(batch_size=1)
    state = algorithm.init(DirichletMultinomial.build(2), Observations(counts), 0, LocalExecutor(1))
    _, info = algorithm.step(Observations(counts), state, LocalExecutor(1))
    assert 1 <= info.steps <= 2
