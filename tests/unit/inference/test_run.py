"""The loop: stopping, warnings, callbacks, and what an interrupt leaves behind."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dcomp
from dcomp.executors import LocalExecutor
from dcomp.inference import Info, MeanField, Rule, run
from dcomp.models import DirichletMultinomial, Observations


@pytest.fixture
def problem(planted):
    model = DirichletMultinomial.build(3, gamma=0.1)
    return model, MeanField(n_tries=1), Observations.build(planted[0]), LocalExecutor(1)


def test_stops_when_settled(problem):
    result = run(*problem, max_iter=300, stopping=Rule(0.05))
    assert result.reason == "converged"
    assert problem[1].min_sweeps <= result.state.sweep < 300
    assert result.state.shared.carried.remaining.gain < 0.05


def test_a_tighter_tolerance_takes_longer(problem):
    loose = run(*problem, max_iter=900, stopping=Rule(1.0))
    tight = run(*problem, max_iter=900, stopping=Rule(1e-4))
    assert loose.reason == "converged"
    assert tight.state.sweep > loose.state.sweep
    assert tight.history[-1].objective > loose.history[-1].objective


def test_the_limit_warns(problem):
    with pytest.warns(dcomp.ConvergenceWarning, match="reached max_iter = 5 before"):
        result = run(*problem, max_iter=5)
    assert result.reason == "limit"


def test_no_tolerance_no_warning(problem):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(*problem, max_iter=5, stopping=Rule(0)).state.sweep == 5


def test_a_callback_sees_every_sweep_and_can_stop(problem):
    seen: list[Info] = []

    def watch(info):
        seen.append(info)
        return info.sweep == 7

    result = run(*problem, callbacks=[watch])
    assert [info.sweep for info in seen] == list(range(1, 8))
    assert result.reason == "callback"
    assert result.state.sweep == 7


def test_every_callback_is_called_even_when_one_stops(problem):
    seen = []
    run(*problem, callbacks=[lambda info: True, lambda info: seen.append(info)])
    assert len(seen) == 1


def test_interrupt_keeps_the_last_complete_sweep(problem):
    model, _, observed, executor = problem

    class Interrupted(MeanField):
        def step(self, observed, state, executor):
            if state.sweep == 6:
                raise KeyboardInterrupt
            return super().step(observed, state, executor)

    result = run(model, Interrupted(n_tries=1), observed, executor)
    whole = run(*problem, max_iter=6, stopping=Rule(0))
    assert result.reason == "interrupted"
    assert len(result.history) == result.state.sweep == 6
    assert np.array_equal(result.state.n, whole.state.n)


def test_interrupt_before_the_first_sweep_is_passed_on(problem):
    class Interrupted(MeanField):
        def step(self, observed, state, executor):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(problem[0], Interrupted(), problem[2], problem[3])


def test_interrupted_fit_resumes_bit_for_bit(planted):
    counts, _ = planted

    def interrupt(info):
        if info.sweep == 12:
            raise KeyboardInterrupt

    part = dcomp.LDA(3, verbose=0, callbacks=[interrupt]).fit(counts).fit_
    assert part.reason == "interrupted"
    rest = dcomp.fit(counts, part.model, resume=part)
    whole = dcomp.LDA(3, verbose=0).fit(counts).fit_
    assert np.array_equal(rest.Theta, whole.Theta)
    assert rest.n_sweeps == whole.n_sweeps


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loadings": "best"}, "loadings must be one of mean, map, vb; got 'best'"),
        ({"max_inner": 0}, "max_inner must be at least 1"),
        ({"inner_tol": -1}, "inner_tol must be at least 0"),
        ({"dtype": "float16"}, "dtype must be float32 or float64"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(dcomp.InvalidParameter, match=message):
        MeanField(**options)


def test_map_below_one_is_refused(planted):
    with pytest.raises(dcomp.InvalidParameter, match="loadings='map' needs gamma >= 1"):
        dcomp.LDA(3, gamma=0.5, loadings="map", verbose=0).fit(planted[0])


def test_single_updates_in_the_first_sweeps(problem):
    model, _, observed, executor = problem
    algorithm = MeanField(max_inner=5, inner_tol=0, gentle_sweeps=2, start="seeded")
    rows = run(model, algorithm, observed, executor, max_iter=4, stopping=Rule(0)).history
    assert rows[0].inner_updates == rows[1].inner_updates == 1
    assert rows[2].inner_updates > 4


@pytest.mark.parametrize("when", [(2, 3), (2, 1), (1, 4)])
def test_an_interrupt_among_chains_keeps_what_was_run(planted, when):
    """In chain 2 after some sweeps, before its first is whole, and in chain 1."""
    chain, sweep = 0, when[1]

    def interrupt(info):
        nonlocal chain
        chain += info.sweep == 1
        if (chain, info.sweep) == (when[0], sweep):
            raise KeyboardInterrupt

    fitted = dcomp.LDA(
        3, algorithm="gibbs", n_chains=3, max_iter=6, verbose=0, callbacks=[interrupt]
    ).fit(planted[0])
    assert fitted.fit_.reason == "interrupted"
    assert 1 <= len(fitted.fit_.chains) <= 2
    assert np.isfinite(fitted.fit_.scores).all()
