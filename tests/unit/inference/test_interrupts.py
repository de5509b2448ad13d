"""Ctrl-C comes through within a second, wherever it falls: a fit keeps its whole sweeps, and
nothing of the one that was under way.

These tests press the key of their own process, and so run in one of their own: the last of them is
the one that the suite sees.
"""

from __future__ import annotations

import threading
import time
from zlib import crc32

import numpy as np
import pytest
from scipy import sparse
from support.cells import CELLS, make, same
from support.interrupt import Pressed, apart, outside, run_apart, seconds_to_stop

import dcomp
from dcomp import _core, datasets, use
from dcomp.evaluate import evidence, intervals, left_to_right, select_components
from dcomp.executors import LocalExecutor, SideBySide
from dcomp.inference.tempered_em import TemperedEM

SLACK = 2.0  # seconds; one, and some for Python to come to it
N, J = 3000, 800


def table(n_docs: int, n_features: int, length: int, seed: int = 0) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    row = np.repeat(np.arange(n_docs), length)
    column = (n_features * rng.random(row.size) ** 2).astype(int)
    return sparse.csr_array((np.ones(row.size, int), (row, column)), (n_docs, n_features))


@pytest.fixture(scope="module")
def counts():
    return dcomp.Counts.from_matrix(table(N, J, 60))


@apart
@pytest.mark.parametrize("cell", CELLS, ids=" ".join)
def test_an_interrupted_fit_is_one_of_its_whole_sweeps(counts, cell):
    has_schedule = "tempered-em" in cell  # which is over by itself after some milliseconds
    longest = 0.02 if has_schedule else 0.1
    key = Pressed(np.random.default_rng(crc32(str(cell).encode())).uniform(0.01, longest))

    def start(info):
        if info.sweep >= 5:  # one is recorded
            key.start()
            time.sleep(0.03 if has_schedule else 0)

    part = make(*cell, max_iter=100_000, callbacks=[start]).fit(counts).fit_
    assert key.waited() < SLACK
    assert part.reason == "interrupted"
    n = part.n_sweeps
    assert same(part, make(*cell, max_iter=n).fit(counts).fit_)
    whole = make(*cell, max_iter=n + 2).fit(counts).fit_
    assert same(dcomp.fit(counts, part.model, resume=part, max_iter=n + 2, tol=0), whole)


def test_an_interrupt_at_the_very_end_loses_nothing(counts, monkeypatch):
    """Documents of tempered EM come to rest after its last sweep."""
    plain, finish, presses = make("DM", "tempered-em"), TemperedEM.finish, iter([True])

    def pressed(*args):
        if next(presses, False):
            raise KeyboardInterrupt
        return finish(*args)

    whole = plain.fit(counts).fit_
    monkeypatch.setattr(TemperedEM, "finish", pressed)
    part = plain.fit(counts).fit_
    assert part.reason == "interrupted"
    assert same(part, whole)


@pytest.fixture(scope="module")
def large():
    """Of which every sweep, or even one document, takes far more than a second."""
    return dcomp.Counts.from_matrix(table(2, 60_000, 400_000))


def corpus_of(counts):
    return _core.Corpus(counts.indptr, counts.indices, counts.data, counts.n_features)


def prior(K, key="GP"):
    return _core.ScorePrior(key, {name: np.full(K, 0.3) for name in ("alpha", "beta")})


def loadings(counts, K):
    lanes = _core.lanes()
    Theta = np.zeros((counts.n_features, -(-K // lanes) * lanes), np.float32)
    Theta[:, :K] = np.random.default_rng(2).gamma(0.3, size=(counts.n_features, K)) + 1e-3
    return Theta


def many_updates(counts, fold):
    K, corpus = 64, corpus_of(counts)
    c, log_scale = np.ones((counts.n_docs, K), np.float32), np.zeros(counts.n_features)
    n = np.zeros((counts.n_features, K), np.float32)
    out = np.zeros(counts.n_docs) if fold else n
    call = _core.fold_in if fold else _core.expect
    how = (corpus, loadings(counts, K), log_scale, prior(K), c, c.copy(), out, 10**6, 0.0)
    return lambda: call(*how, 2)


def one_sweep(counts, sparse):
    K = 3000
    block, gamma = np.zeros(counts.n_features, np.int32), np.full(counts.n_features, 0.1)
    made = _core.CollapsedSampler(corpus_of(counts), block, 1, prior(K), 1, sparse)
    z = np.empty(made.n_tokens, np.uint16)
    made.start(1, z)
    made.count(z)

    def sweeps():
        for sweep in range(10_000):
            made.sweep(z, gamma, prior(K), 1, sweep, 2)

    return sweeps


def draws(counts):
    K, rows = 500, counts.n_docs
    c = np.ones((rows, K), np.int32)
    how = (corpus_of(counts), loadings(counts, K), np.zeros(counts.n_features), prior(K))

    def sweeps():
        for sweep in range(10_000):
            _core.sample(*how, c, c.copy(), None, None, 1, sweep, 2)

    return sweeps


def lines(counts):
    K, rows = 8, counts.n_docs
    how = (corpus_of(counts), np.arange(rows), loadings(counts, K), np.full(K, 0.5))
    rate, out = np.ones((rows, K)), np.empty((1, rows, K), np.int32)
    how = (*how, rate, None, None, False, None, out, out.astype(np.float32), 1, 1, 10**6, 1, 2)
    return lambda: _core.sample_lines(*how)


def particles(counts):
    K = 50
    how = (corpus_of(counts), loadings(counts, K), np.zeros(counts.n_features), prior(K))
    return lambda: _core.left_to_right(*how, 200, 50, 1, 0, np.empty(counts.n_docs), 2)


def chains(counts):
    K = 100
    block, gamma = np.zeros(counts.n_features, np.int32), np.full(counts.n_features, 0.1)
    z, out = np.empty((2, int(counts.n_tokens)), np.uint16), np.empty((2, 2, 1000))
    how = (corpus_of(counts), block, 1, gamma, prior(K), np.linspace(0, 1, 1000), 1, 0)
    return lambda: _core.tempered_sweeps(*how, z, *out, 2)


def both_ways(counts):
    K = 100
    block, gamma = np.zeros(counts.n_features, np.int32), np.full(counts.n_features, 0.1)
    logs = (np.zeros((counts.n_docs, K)), np.full((counts.n_features, K), -3.0))
    z, out = np.zeros(int(counts.n_tokens), np.uint16), np.empty((2, 1000))
    how = (corpus_of(counts), block, 1, gamma, prior(K), *logs, np.linspace(0, 1, 1000))
    return lambda: _core.two_sided_sweeps(*how, True, 1, 0, 0, z, out)


def starts(counts):
    K = 2000
    c = np.zeros((counts.n_docs, K), np.int32)
    n = np.zeros((counts.n_features, K), np.int32)

    def again():
        for seed in range(10_000):
            _core.start_counts(corpus_of(counts), seed, c, n)

    return again


def newton(counts):
    K = 100
    eta = np.zeros((counts.n_docs, K))
    out = (eta.copy(), eta.astype(np.float32), np.zeros(counts.n_docs), eta.copy())
    how = (corpus_of(counts), loadings(counts, K), np.zeros(counts.n_features), np.zeros(K))

    def again():
        for _ in range(10_000):
            _core.laplace_fold_in(*how, np.eye(K), 0.0, eta, *out, 50, 0.0, 2)

    return again


def factors(counts):
    K = 100
    x = np.random.default_rng(1).random((counts.n_docs, K)).astype(np.float32)
    how = (corpus_of(counts), loadings(counts, K), x, x.copy(), "coordinates", 10**6, 0.0, 2)
    return lambda: [_core.factor(*how) for _ in range(10_000)]


LONG = {
    "expect": lambda counts: many_updates(counts, False),
    "fold_in": lambda counts: many_updates(counts, True),
    "a dense sweep": lambda counts: one_sweep(counts, False),
    "a sweep of lists": lambda counts: one_sweep(counts, True),
    "sample": draws,
    "sample_lines": lines,
    "left_to_right": particles,
    "tempered_sweeps": chains,
    "two_sided_sweeps": both_ways,
    "start_counts": starts,
    "laplace_fold_in": newton,
    "factor": factors,
}


@apart
@pytest.mark.parametrize("name", LONG)
def test_a_long_call_ends_soon(large, name):
    assert seconds_to_stop(LONG[name](large)) < SLACK


@apart
@pytest.mark.parametrize(
    "name", ["a dense sweep", "a sweep of lists", "tempered_sweeps", "two_sided_sweeps"]
)
def test_a_document_of_one_word_ends_soon(name):
    """Tokens of one word are worked on in one go."""
    entries = ([10_000_000, 3], ([0, 1], [0, 1]))
    counts = dcomp.Counts.from_matrix(sparse.csr_array(entries, (2, 3)))
    assert seconds_to_stop(LONG[name](counts)) < SLACK


@apart
@pytest.mark.parametrize("name", ["expect", "fold_in"])
def test_many_updates_of_short_documents_end_soon(name):
    counts = dcomp.Counts.from_matrix(np.ones((2000, 3), int))
    assert seconds_to_stop(LONG[name](counts)) < SLACK


def slow_evaluations(counts):
    fit = dcomp.LDA(20, max_iter=3, tol=0, verbose=0).fit(counts).fit_
    zeros = dcomp.DCA(8, model="CGP", algorithm="gibbs", max_iter=4, burn_in=1, verbose=0)
    cgp = zeros.fit(counts).fit_
    yield lambda: left_to_right(fit, counts, particles=2000)
    yield lambda: evidence(counts, 20, alpha=0.1, gamma=0.1, n_sweeps=10**6)
    yield lambda: select_components(counts, [20, 30], max_iter=10**6, tol=0)
    yield lambda: fit.sample_scores(counts, n_draws=10**6)
    yield lambda: cgp.sample_scores(counts, n_draws=10**6)


@apart
@pytest.mark.parametrize("which", range(5))
def test_an_evaluation_ends_soon(counts, which):
    assert seconds_to_stop(list(slow_evaluations(counts))[which]) < SLACK


def of_fields():
    """Steps of something larger: a fit that is interrupted must not pass for one that has ended."""
    people, voters = datasets.genotypes(100, 500, seed=1).counts, datasets.votes(40, 80, seed=1)
    tumours = datasets.mutations(60, n_signatures=3, seed=1)
    known = use.Catalogue(tuple("ABC"), tumours.counts.features.names, tumours.components)
    long = {"tol": 0, "max_iter": 10**6}
    fit = dcomp.LDA(4, max_iter=3, tol=0, verbose=0).fit(voters.counts).fit_
    yield lambda: use.rollcall(voters.counts, 2, max_iter=10**6, n_draws=40)
    yield lambda: use.admixture(people, 3, cross_validation=[2, 3], **long)
    yield lambda: use.admixture(people, 3, with_intervals=False, **long)
    yield lambda: use.signatures(tumours.counts, 3, reference=known, **long)
    yield lambda: intervals(fit, voters.counts, n_draws=10**6)


@apart
@pytest.mark.parametrize("which", range(5))
def test_the_fields_own_questions_end_soon(which):
    assert seconds_to_stop(list(of_fields())[which]) < SLACK


@apart
def test_a_selection_keeps_no_interrupted_chain(counts, tmp_path):
    plan = {"max_iter": 10**6, "tol": 0, "keep": tmp_path, "n_jobs": 1}
    seconds_to_stop(lambda: select_components(counts, [3], n_chains=2, **plan))
    assert list(tmp_path.glob("*.npz")) == []  # what it had reached may be in a folder beside


def wait_forever(part, local, shared, n_threads):
    return particles(shared)(), None


@apart
def test_threads_side_by_side_end_soon(large):
    workers = SideBySide(2)
    work = lambda: workers.map_reduce(wait_forever, range(4), [None] * 4, large)  # noqa: E731
    assert seconds_to_stop(work) < SLACK
    assert LocalExecutor(2).map_reduce(lambda *_: (1, None), [0], [None], None) == ([1], None)


@apart
def test_a_thread_under_a_stop_is_stopped():
    stop = _core.Stop()
    stop.request()
    assert stop.requested
    with stop, pytest.raises(KeyboardInterrupt):
        particles(dcomp.Counts.from_matrix(table(2, 60_000, 400_000)))()
    with stop, pytest.raises(RuntimeError, match="one Stop at a time"):
        _core.Stop().__enter__()


@apart
def test_a_stopped_sweep_leaves_no_counts(large):
    K = 3000
    block, gamma = np.zeros(large.n_features, np.int32), np.full(large.n_features, 0.1)
    made = _core.CollapsedSampler(corpus_of(large), block, 1, prior(K), 1, False)
    z = np.empty(made.n_tokens, np.uint16)
    made.start(1, z)
    made.count(z)
    before = z.copy()
    stop = _core.Stop()
    threading.Timer(0.1, stop.request).start()

    def sweeps():
        for sweep in range(10_000):
            made.sweep(z, gamma, prior(K), 1, sweep, 2)

    with stop, pytest.raises(KeyboardInterrupt):
        sweeps()
    with pytest.raises(RuntimeError, match="a call that changes them was stopped; count z"):
        made.log_score_moments(prior(K), 2)
    made.count(before)
    made.log_score_moments(prior(K), 2)
    with stop, pytest.raises(KeyboardInterrupt):  # before it changes anything
        made.sweep(before, gamma, prior(K), 1, 1, 2)
    made.log_score_moments(prior(K), 2)


@outside
def test_all_in_their_own_process():
    run_apart(__file__)
