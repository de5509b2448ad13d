"""Chains of a fit side by side: as one after the other, and no more in memory than is said."""

from __future__ import annotations

import signal
import threading
import warnings

import numpy as np
import pytest
from support.interrupt import apart

import dcomp
from dcomp.executors import LocalExecutor
from dcomp.inference import ALGORITHMS
from dcomp.models import DirichletMultinomial
from dcomp.result import chains, fitting, progress

X = np.random.default_rng(0).poisson(2.0, (30, 12))


def fit(n_jobs=2, n_chains=4, algorithm="mean-field", **options):
    options = {"max_iter": 12, "tol": 0, "seed": 3, **options}
    model = DirichletMultinomial.build(3)
    how = ALGORITHMS[algorithm](**({} if algorithm == "mean-field" else {"burn_in": 4}))
    return dcomp.fit(X, model, how, n_jobs=n_jobs, n_chains=n_chains, **options)


class Watch:
    """A callback that may be of any chain, and what it has seen."""

    def __init__(self, act=None):
        self.seen, self.act = [], act

    def __call__(self, info):
        raise AssertionError("there are several chains")

    def of_chain(self, number):
        def look(info):
            self.seen.append((number, info.sweep, threading.current_thread().name))
            return None if self.act is None else self.act(number, info.sweep)

        return look


@pytest.mark.parametrize("algorithm", ["mean-field", "gibbs", "collapsed-gibbs"])
@pytest.mark.parametrize("n_jobs", [2, 3, 9])
def test_the_same_bits_as_one_after_the_other(algorithm, n_jobs):
    alone, beside = fit(1, algorithm=algorithm), fit(n_jobs, algorithm=algorithm)
    assert alone.seed == beside.seed
    np.testing.assert_array_equal(alone.Theta, beside.Theta)
    np.testing.assert_array_equal(alone.scores, beside.scores)
    for one, other in zip(alone.chains, beside.chains, strict=True):
        np.testing.assert_array_equal(one["objective"], other["objective"])


def test_draws_of_every_chain_stay_its_own():
    how = {"algorithm": "collapsed-gibbs", "max_iter": 30, "n_draws": 5, "n_chains": 3}
    alone = dcomp.LDA(2, n_jobs=1, verbose=0, **how).fit(X).fit_.draws
    beside = dcomp.LDA(2, n_jobs=2, verbose=0, **how).fit(X).fit_.draws
    np.testing.assert_array_equal(alone.scores, beside.scores)


def test_chains_are_on_threads_and_a_watcher_is_told_which_it_sees():
    watch = Watch()
    fit(2, callbacks=[watch])
    by_chain = {n: [sweep for number, sweep, _ in watch.seen if number == n] for n in range(4)}
    assert by_chain == {n: list(range(1, 13)) for n in range(4)}
    assert all(name.startswith("chain") for _, _, name in watch.seen)


def test_a_plain_callback_sees_one_chain_after_the_other_and_may_stop_each():
    seen = []

    def stop(info):
        seen.append((info.sweep, threading.current_thread() is threading.main_thread()))
        return info.sweep == 3

    fitted = fit(2, callbacks=[stop])
    assert seen == [(1, True), (2, True), (3, True)] * 4
    assert fitted.reason == "callback"


@pytest.mark.parametrize("n_jobs", [2, 4])
def test_no_more_states_at_once_than_threads(monkeypatch, n_jobs):
    lock, now, most = threading.Lock(), 0, 0
    real = fitting.run

    def run(*args, **options):
        nonlocal now, most
        assert args[3].n_threads == 1
        with lock:
            now += 1
            most = max(most, now)
        outcome = real(*args, **options)
        with lock:
            now -= 1
        return outcome

    monkeypatch.setattr(fitting, "run", run)
    fit(n_jobs, n_chains=5, max_iter=60)
    assert 1 < most <= n_jobs


def test_few_chains_share_out_many_threads(monkeypatch):
    threads, real = [], fitting.run

    def run(*args, **options):
        threads.append(args[3].n_threads)
        return real(*args, **options)

    monkeypatch.setattr(fitting, "run", run)
    fit(7, n_chains=2)
    assert threads == [3, 3]


def test_only_the_best_state_is_kept(monkeypatch):
    kept, real = [], chains.run_chains

    def run_chains(*args):
        kept.extend(real(*args))
        return list(kept)

    monkeypatch.setattr(fitting, "run_chains", run_chains)
    fitted = fit(2)
    assert len({id(chain.run.state.shared.n) for chain in kept}) == 1
    np.testing.assert_array_equal(kept[0].run.state.n, fitted.state.n)


def test_large_tables_and_executors_of_others_get_one_chain_after_the_other(monkeypatch):
    class Elsewhere(LocalExecutor):
        """Counts what it is asked for."""

        calls = 0

        def map_reduce(self, *args):
            Elsewhere.calls += 1
            return super().map_reduce(*args)

    def forbidden(*args):
        raise AssertionError("side by side")

    monkeypatch.setattr(chains, "_SideBySide", forbidden)
    fit(None, executor=Elsewhere(2))
    assert Elsewhere.calls >= 4 * 12
    with pytest.raises(AssertionError, match="side by side"):
        fit(2)
    monkeypatch.setattr(chains, "MOST_CELLS", np.count_nonzero(X) * 3 - 1)
    fit(2)


@apart
@pytest.mark.parametrize("algorithm", ["mean-field", "collapsed-gibbs"])
def test_control_c_keeps_the_whole_sweeps_of_every_chain_that_has_any(algorithm):
    """The signal comes when two chains are under way: two more have not begun. Some seconds later
    it comes again, as from a person, if it fell where Python lets exceptions go unheard."""
    both = threading.Barrier(2, timeout=20)

    def act(number, sweep):
        if sweep == 5 and number < 2:
            both.wait()
        if sweep % 1500 == 5 and number == 1:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        if sweep > 5:
            threading.Event().wait(0.002)

    watch = Watch(act)
    fitted = fit(2, algorithm=algorithm, max_iter=5000, callbacks=[watch])
    assert fitted.reason == "interrupted"
    assert len(fitted.chains) == 2
    ends = [max(sweep for n, sweep, _ in watch.seen if n == number) for number in (0, 1)]
    assert [len(chain) for chain in fitted.chains] == ends
    assert all(5 <= end < 5000 for end in ends)
    if algorithm == "mean-field":  # what is left is a fit of so many sweeps
        best = int(np.argmax([chain["objective"][-1] for chain in fitted.chains]))
        alone = fit(1, n_chains=1, seed=fitted.seed, max_iter=ends[best])
        assert fitted.n_sweeps == ends[best]
        np.testing.assert_array_equal(alone.scores, fitted.scores)


def test_an_interrupt_before_any_sweep_is_raised():
    def interrupted(*args):
        raise KeyboardInterrupt

    class Nothing(ALGORITHMS["mean-field"]):
        init = interrupted

    with pytest.raises(KeyboardInterrupt):
        dcomp.fit(X, DirichletMultinomial.build(3), Nothing(), n_chains=3, n_jobs=2)


def test_the_error_is_that_of_the_first_chain_that_fails(monkeypatch):
    """Though a later one fails sooner."""
    real, seeds = fitting.run, fitting.chain_seeds(3, 4)
    failed = threading.Event()

    def run(*args, seed, **options):
        if seed == seeds[1]:
            failed.set()
            raise ValueError("chain 1")
        if seed == seeds[0]:
            assert failed.wait(20)
            real(*args, seed=seed, **options)
            raise ValueError("chain 0")
        return real(*args, seed=seed, **options)

    monkeypatch.setattr(fitting, "run", run)
    with pytest.raises(ValueError, match="chain 0"):
        fit(2)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_chains_that_reach_their_limit_say_so_once_and_from_here(n_jobs):
    here = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *rest: here.append(
            (str(message), threading.current_thread() is threading.main_thread())
        )
        fit(n_jobs, tol=1e-9)
    assert len(here) == 1
    assert "reached max_iter = 12 in 4 of 4 chains before less than" in here[0][0]
    assert here[0][1]


def test_what_chains_warn_of_is_said_once_in_their_order(monkeypatch):
    real, seeds = fitting.run, fitting.chain_seeds(3, 4)

    def run(*args, seed, **options):
        dcomp.errors.warn("all", dcomp.ConvergenceWarning)
        dcomp.errors.warn(f"chain {seeds.index(seed)}", dcomp.ConvergenceWarning)
        return real(*args, seed=seed, **options)

    monkeypatch.setattr(fitting, "run", run)
    with pytest.warns(dcomp.ConvergenceWarning) as said:
        fit(2)
    assert [str(w.message) for w in said] == ["all", *(f"chain {n}" for n in range(4))]


def test_the_bar_has_a_line_for_each_chain():
    rich = pytest.importorskip("rich.progress")
    display = rich.Progress(disable=True)
    fit(2, callbacks=[progress._Bar(display, "DM K=3", 12)])
    lines = [task for task in display.tasks if task.visible]
    assert {line.description for line in lines} == {f"DM K=3 chain {n}" for n in (1, 2, 3, 4)}
    assert [line.completed for line in lines] == [12] * 4
