"""fit: which of several chains it shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dcomp
from dcomp.errors import UnsupportedCombination
from dcomp.inference import ALGORITHMS
from dcomp.models import ConditionalGammaPoisson, DirichletMultinomial, GammaPoisson
from dcomp.result import fitting

X = np.random.default_rng(0).poisson(2.0, (8, 5))


def fit_with_objectives(monkeypatch, chains, algorithm=None):
    """A fit whose chains seem to have had these objectives, sweep by sweep; and their seeds."""
    seeds, real = [], fitting.run

    def run(*args, seed, **options):
        outcome = real(*args, seed=seed, **options)
        values = chains[len(seeds)]
        seeds.append(seed)
        rows = zip(outcome.history, values, strict=True)
        history = tuple(replace(row, objective=value) for row, value in rows)
        return replace(outcome, history=history)

    monkeypatch.setattr(fitting, "run", run)
    fitted = fitting.fit(
        X,
        DirichletMultinomial.build(2),
        algorithm,
        max_iter=len(chains[0]),
        tol=0,
        n_chains=len(chains),
        n_jobs=1,
    )
    return fitted, seeds


def test_the_best_chain_ended_highest_over_its_last_tenth(monkeypatch):
    """Two sweeps of twenty decide, by their mean: neither the last nor the best, nor all."""
    spiky = [0.0] * 18 + [-10.0, -1.0]
    steady = [-99.0] * 18 + [-5.0, -5.0]
    low = [0.0] * 18 + [-6.0, -6.0]
    sampler = ALGORITHMS["gibbs"](burn_in=10)
    fitted, seeds = fit_with_objectives(monkeypatch, [spiky, steady, low], sampler)
    assert fitted.seed == seeds[1]
    assert [chain["objective"].tolist() for chain in fitted.chains] == [spiky, steady, low]
    monkeypatch.undo()
    model = DirichletMultinomial.build(2)
    alone = dcomp.fit(X, model, sampler, max_iter=20, tol=0, seed=seeds[1])
    np.testing.assert_array_equal(fitted.Theta, alone.Theta)  # the state is that chain's too


def test_of_climbs_the_one_that_ended_highest_is_the_best(monkeypatch):
    """By its last sweep alone: at rest it may lie below those on the way."""
    chains = [[0.0] * 19 + [-5.0], [-99.0] * 19 + [-4.0]]
    fitted, seeds = fit_with_objectives(monkeypatch, chains)
    assert fitted.seed == seeds[1]


def test_of_few_sweeps_the_last_decides(monkeypatch):
    fitted, seeds = fit_with_objectives(monkeypatch, [[-1.0, -1.0, -4.0], [-9.0, -9.0, -3.0]])
    assert fitted.seed == seeds[1]


@pytest.mark.parametrize("algorithm", ["mean-field", "gibbs"])
def test_a_resumed_fit_that_has_nothing_left_to_do_is_an_error(algorithm):
    """Nothing would be done, and the fit would be called stopped at a limit that it never met."""
    X = np.random.default_rng(0).poisson(2.0, (20, 6))
    options = {"algorithm": algorithm, "max_iter": 40, "tol": 0, "verbose": 0}
    done = dcomp.LDA(2, **options).fit(X).fit_
    for max_iter in (10, 40):
        with pytest.raises(dcomp.InvalidParameter, match=rf"40 are done.*got {max_iter}"):
            dcomp.fit(X, done.model, resume=done, max_iter=max_iter, tol=0)
    again = dcomp.LDA(2, warm_start=True, **options).fit(X)
    first = again.fit_
    assert again.fit(X).fit_ is first


def test_a_fit_goes_on_by_its_own_algorithm():
    first = dcomp.fit(X, GammaPoisson.build(2), max_iter=3, tol=0)
    for other in ("gibbs", ALGORITHMS["collapsed-gibbs"]()):
        with pytest.raises(UnsupportedCombination, match="by its own algorithm, mean-field; got"):
            dcomp.fit(X, first.model, other, max_iter=5, resume=first)
    assert dcomp.fit(X, first.model, "mean-field", max_iter=5, tol=0, resume=first).n_sweeps == 5


@pytest.mark.parametrize(("words", "chosen"), [(1, "collapsed-gibbs"), (40, "gibbs")])
def test_a_fit_goes_on_by_the_sampler_that_it_had_whatever_the_table(words, chosen):
    """Begun by the one that the table would not choose, or saved before there was a choice."""
    counts = dcomp.Counts.from_matrix(np.full((6, 4), words))
    other = next(name for name in ("gibbs", "collapsed-gibbs") if name != chosen)
    model = ConditionalGammaPoisson.build(2)
    assert dcomp.fit(counts, model, max_iter=2).algorithm.name == chosen
    begun = dcomp.fit(counts, model, ALGORITHMS[other](burn_in=1), max_iter=3)
    assert dcomp.fit(counts, begun.model, max_iter=5, resume=begun).algorithm == begun.algorithm

    options = {"model": "CGP", "verbose": 0, "warm_start": True, "burn_in": 1}
    estimator = dcomp.DCA(2, algorithm=other, max_iter=3, **options).fit(counts)
    estimator.set_params(algorithm="auto", max_iter=5).fit(counts)
    assert (estimator.fit_.algorithm.name, estimator.fit_.n_sweeps) == (other, 5)
    estimator.set_params(algorithm=chosen, max_iter=7)
    with pytest.raises(UnsupportedCombination, match=f"by its own algorithm, {other}; got"):
        estimator.fit(counts)
