"""fit: which of several chains it shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dcomp
from dcomp.models import DirichletMultinomial
from dcomp.result import fitting

X = np.random.default_rng(0).poisson(2.0, (8, 5))


def fit_with_objectives(monkeypatch, chains):
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
    fitted, seeds = fit_with_objectives(monkeypatch, [spiky, steady, low])
    assert fitted.seed == seeds[1]
    assert [chain["objective"].tolist() for chain in fitted.chains] == [spiky, steady, low]
    monkeypatch.undo()
    alone = dcomp.fit(X, DirichletMultinomial.build(2), max_iter=20, tol=0, seed=seeds[1])
    np.testing.assert_array_equal(fitted.Theta, alone.Theta)  # the state is that chain's too


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
