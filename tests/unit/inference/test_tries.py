"""Tries: the best of several short climbs is carried on, and the rest of a fit knows nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dcomp
from dcomp.executors import LocalExecutor
from dcomp.inference import ALGORITHMS, ascent, tries
from dcomp.inference.path import SEEDED, SPECTRAL
from dcomp.models import DirichletMultinomial

CLIMBS = ("mean-field", "map", "ml")


@pytest.fixture(scope="module")
def votes():
    return dcomp.datasets.votes(seed=0).counts


@pytest.fixture(scope="module")
def unequal():
    """Tumours with few and with very many mutations: the spectrum sees the large ones alone."""
    return dcomp.datasets.mutations(seed=0).counts


def fit(counts, n_tries=None, K=4, algorithm="mean-field", **options):
    options = {"verbose": 0, "max_iter": 25, "tol": 0, **options}
    return dcomp.DCA(K, algorithm=algorithm, n_tries=n_tries, **options).fit(counts).fit_


def same(one, other):
    assert one.n_sweeps == other.n_sweeps
    np.testing.assert_array_equal(one.history["objective"], other.history["objective"])
    np.testing.assert_array_equal(one.Theta, other.Theta)
    np.testing.assert_array_equal(one.scores, other.scores)


def test_tries_find_the_better_optimum(unequal):
    """By more than two thousand nats per tumour, on the table at hand."""
    alone = fit(unequal, 1, K=3, max_iter=1000, tol=0.05)
    tried = fit(unequal, 8, K=3, max_iter=1000, tol=0.05)
    assert tried.objective > alone.objective + 500 * unequal.n_docs
    # In single precision, of totals over four powers of ten.
    assert {alone.reason, tried.reason} <= {"converged", "rounding"}
    assert tried.seed == alone.seed == 0


@pytest.mark.parametrize("algorithm", CLIMBS)
def test_the_best_after_some_sweeps_is_carried_on(votes, algorithm, monkeypatch):
    """Each try is a fit of its own, of one start; the last here, and no other, is looked at."""
    monkeypatch.setattr(tries, "SWEEPS", 7)
    ends, real = [], tries._Tries.objective

    def objective(self, number, executor):
        ends.append((number, real(self, number, executor)))
        return ends[-1][1]

    monkeypatch.setattr(tries._Tries, "objective", objective)
    fitted = fit(votes, 5, K=5, algorithm=algorithm, n_jobs=1, start="seeded")
    assert [number for number, _ in ends] == list(range(5))
    values = [value for _, value in ends]
    assert len(set(values)) == 5
    assert fitted.history["objective"][6] == max(values)
    assert (
        fit(votes, 1, K=5, algorithm=algorithm, start="seeded").history["objective"][6] == values[0]
    )


def test_one_try_is_the_plain_start_and_auto_is_one_where_it_is_dear(votes, monkeypatch):
    plain = ALGORITHMS["mean-field"](n_tries=1)
    observed = dcomp.validation.resolve_observations(votes, DirichletMultinomial.build(4), None)
    model = DirichletMultinomial.build(4)
    state = tries.begin(model, plain, observed, 3, LocalExecutor(1))
    usual = plain.init(model, observed, 3, LocalExecutor(1))
    np.testing.assert_array_equal(state.n, usual.n)
    assert state.shared.carried is None
    auto = ALGORITHMS["mean-field"]()
    assert tries.tries_of(auto, model, observed) == tries.USUAL == 6
    assert tries.tries_of(auto, DirichletMultinomial.build(20), observed) == 6
    assert tries.tries_of(auto, DirichletMultinomial.build(30), observed) == 1  # of 38,141 entries
    assert tries.tries_of(auto, DirichletMultinomial.build(1), observed) == 1
    assert tries.tries_of(replace(auto, n_tries=3), DirichletMultinomial.build(9), observed) == 3
    monkeypatch.setattr(ascent, "CHEAP", votes.nnz * 4)
    assert tries.tries_of(auto, model, observed) == 6
    monkeypatch.setattr(ascent, "CHEAP", votes.nnz * 4 - 1)
    assert tries.tries_of(auto, model, observed) == 1


def test_trees_have_one_try_unless_told(votes):
    model = dcomp.TreeDCA(2, 2, algorithm="mean-field", verbose=0, max_iter=3, tol=0).fit(votes)
    observed = dcomp.validation.resolve_observations(votes, model.fit_.model, None)
    assert tries.tries_of(ALGORITHMS["mean-field"](), model.fit_.model, observed) == 1


def test_both_kinds_of_start_are_tried_in_turn_unless_one_is_asked_for(votes):
    model = DirichletMultinomial.build(4)
    observed = dcomp.validation.resolve_observations(votes, model, None)

    def kinds(start):
        algorithm = ALGORITHMS["mean-field"](start=start)
        four = tries._Tries(model, algorithm, observed, 0)
        states = [four.start(number, LocalExecutor(1)) for number in range(1, 5)]
        assert len({state.n.tobytes() for state in states}) == 4
        assert {state.seed for state in states} == {0}
        return [state.shared.carried.start for state in states]

    assert kinds("auto") == [SEEDED, SPECTRAL] * 2
    assert kinds("seeded") == [SEEDED] * 4
    assert kinds("spectral") == [SPECTRAL] * 4


@pytest.mark.parametrize("n_jobs", [2, 5])
@pytest.mark.parametrize("algorithm", CLIMBS)
def test_threads_change_nothing(votes, n_jobs, algorithm):
    same(
        fit(votes, 4, algorithm=algorithm, n_jobs=1),
        fit(votes, 4, algorithm=algorithm, n_jobs=n_jobs),
    )


def test_an_executor_of_somebody_else_is_used_and_answers_the_same(votes):
    class Elsewhere(LocalExecutor):
        calls = 0

        def map_reduce(self, *args):
            Elsewhere.calls += 1
            return super().map_reduce(*args)

    model = DirichletMultinomial.build(4)
    there = dcomp.fit(votes, model, n_tries=4, executor=Elsewhere(2), max_iter=3, tol=0)
    assert Elsewhere.calls >= 4 * tries.SWEEPS
    same(there, dcomp.fit(votes, model, n_tries=4, n_jobs=2, max_iter=3, tol=0))


@pytest.mark.parametrize("stop", [1, 2, 12, 21])
def test_a_fit_that_was_stopped_goes_on_as_if_it_had_not(votes, unequal, stop, tmp_path):
    """On the first table the usual start wins, on the other one of the other kind, whose first
    sweeps are gentle: that they are is in the file."""
    for counts, K in ((votes, 4), (unequal, 3)):
        whole = fit(counts, 8, K=K)
        part = fit(counts, 8, K=K, max_iter=stop)
        dcomp.save(part, tmp_path / f"{K}.dcomp")
        part = dcomp.load(tmp_path / f"{K}.dcomp")
        same(whole, dcomp.fit(counts, part.model, resume=part, max_iter=25, tol=0))
    assert part.state.carried.start == SEEDED


def test_callbacks_see_the_sweeps_of_the_fit_alone(votes):
    seen = []
    fitted = fit(votes, 3, callbacks=[lambda info: seen.append(info.sweep)])
    assert seen == list(range(1, 26))
    assert fitted.n_sweeps == 25


@pytest.mark.parametrize("algorithm", ["gibbs", "collapsed-gibbs", "tempered-em"])
def test_what_does_not_climb_has_nothing_to_try(votes, algorithm):
    with pytest.raises(dcomp.UnsupportedCombination, match=f"{algorithm} has none .*n_chains="):
        fit(votes, 3, algorithm=algorithm)
    model = DirichletMultinomial.build(2)
    with pytest.raises(dcomp.UnsupportedCombination, match="n_chains="):
        dcomp.fit(votes, model, ALGORITHMS[algorithm](), n_tries=2)


def test_what_cannot_be_is_an_error(votes):
    for wrong in (0, -1, 2.5, "many"):
        with pytest.raises(dcomp.InvalidParameter, match="n_tries"):
            fit(votes, wrong)
        with pytest.raises(dcomp.InvalidParameter, match="n_tries"):
            ALGORITHMS["map"](n_tries=wrong)
    first = fit(votes, 2, max_iter=3)
    with pytest.raises(dcomp.InvalidParameter, match="n_tries has no effect on a fit"):
        dcomp.fit(votes, first.model, resume=first, n_tries=2)
    with pytest.raises(dcomp.UnsupportedCombination, match="n_tries= is for loss="):
        dcomp.NMF(2, loss="squared", n_tries=2, verbose=0).fit([[1, 2], [3, 4]])
    assert dcomp.NMF(2, n_tries=2, verbose=0).fit(votes).fit_.algorithm.n_tries == 2
    assert dcomp.PLSA(2, n_tries=2, verbose=0).fit(votes).fit_.algorithm.n_tries == 2
