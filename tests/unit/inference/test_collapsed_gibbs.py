"""The collapsed sampler beyond the exact tests: its parallel and its sparse form."""

from __future__ import annotations

import numpy as np
import pytest

import dcomp
from dcomp import _core, registry
from dcomp.data import Counts
from dcomp.errors import UnsupportedCombination
from dcomp.executors import LocalExecutor
from dcomp.inference import CollapsedGibbs
from dcomp.models import MODELS, Observations, Tree, TreeMultinomial

SAMPLED = [key for key, names in registry.supported().items() if "gibbs" in names]
OPTIONS = {
    "DM": {"alpha": 0.2},
    "GP": {"alpha": 0.2, "beta": 0.2},
    "CGP": {"alpha": 0.2, "beta": 0.2, "rho": 0.5},
    "TM": {"a1": 2.0, "a2": 5.0, "b": 0.2},
}


@pytest.fixture(scope="module")
def corpus():
    """120,000 tokens without structure: no mode for a chain to be stuck in, so that the levels of
    single chains can be compared."""
    rng = np.random.default_rng(2)
    frequency = rng.dirichlet(np.full(200, 1.0))
    return dcomp.Counts.from_matrix(rng.multinomial(80, frequency, size=1500))


def end(corpus, key, n_sweeps=40, threads=2, K=6, **options):
    observed = Observations.build(corpus)
    model = MODELS[key].build(K, gamma=0.05, **OPTIONS[key])
    algorithm = CollapsedGibbs(burn_in=10**6, **options)
    state = algorithm.init(model, observed, 3)
    for _ in range(n_sweeps):
        state, info = algorithm.step(observed, state, LocalExecutor(threads))
    return algorithm.finish(observed, state, LocalExecutor(1)), info


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("key", SAMPLED)
def test_parallel_and_exact_end_at_one_level(corpus, key, sparse):
    levels = [
        end(corpus, key, exact=exact, sparse=sparse)[1].objective / corpus.n_tokens
        for exact in (True, False)
    ]
    assert abs(levels[0] - levels[1]) < 0.05  # chains differ by about 0.01


@pytest.mark.parametrize("key", SAMPLED)
def test_sparse_and_dense_end_at_one_level(corpus, key):
    levels = [
        end(corpus, key, K=40, sparse=sparse)[1].objective / corpus.n_tokens
        for sparse in (True, False)
    ]
    assert abs(levels[0] - levels[1]) < 0.05  # chains differ by about 0.01


@pytest.mark.parametrize(("key", "sparse"), [("CGP", False), ("CGP", True), ("TM", True)])
def test_same_for_any_number_of_threads(corpus, key, sparse):
    one, two, seven = (
        end(corpus, key, n_sweeps=4, threads=n, K=21, sparse=sparse)[0] for n in (1, 2, 7)
    )
    for other in (two, seven):
        assert np.array_equal(one.z, other.z)
        assert np.array_equal(one.c, other.c)
        assert np.array_equal(one.n, other.n)


def test_a_lost_cache_is_rebuilt(corpus):
    """A state without its native counts, as after a load, goes on bit for bit."""

    observed = Observations.build(corpus)
    model = MODELS["DM"].build(6, alpha=0.2, gamma=0.05)
    algorithm, executor = CollapsedGibbs(burn_in=10**6), LocalExecutor(2)
    state = algorithm.init(model, observed, 3)
    state, _ = algorithm.step(observed, state, executor)
    bare = state.changed()
    forgotten, _ = algorithm.step(observed, bare, executor)
    straight, _ = algorithm.step(observed, state, executor)
    again, _ = algorithm.step(observed, state, executor)  # the cache is now ahead of this state
    assert np.array_equal(straight.z, forgotten.z)
    assert np.array_equal(straight.z, again.z)


def test_large_corpora_are_labelled_approximate(corpus, planted):
    approximate = dcomp.LDA(3, algorithm="collapsed-gibbs", max_iter=2, verbose=0).fit(corpus).fit_
    exact = dcomp.LDA(3, algorithm="collapsed-gibbs", max_iter=2, verbose=0).fit(planted[0]).fit_
    forced = dcomp.fit(corpus, approximate.model, CollapsedGibbs(burn_in=1, exact=True), max_iter=2)
    assert approximate.is_approximate
    assert not exact.is_approximate
    assert not forced.is_approximate


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_parts", [1, 2])
def test_a_word_of_more_tokens_than_a_run(n_parts, sparse):
    """Tokens of one word are cut into runs of 4096: none is lost, or another document's."""
    W = np.array([[9000, 4096, 1, 0], [1, 4097, 0, 20_000], [0, 3, 8192, 5]])
    counts, K = Counts.from_matrix(W), 3
    corpus = _core.Corpus(counts.indptr, counts.indices, counts.data, 4)
    prior = _core.ScorePrior("DM", {"alpha": np.full(K, 0.3)})
    sampler = _core.CollapsedSampler(corpus, np.zeros(4, np.int32), 1, prior, n_parts, sparse)
    z = np.empty(sampler.n_tokens, np.uint16)
    sampler.start(1, z)
    sampler.count(z)
    for sweep in range(3):
        sampler.sweep(z, np.full(4, 0.1), prior, 1, sweep, 2)
    entry, c, n = np.empty(z.size, np.int64), np.empty((3, K), np.int32), np.empty((4, K), np.int32)
    sampler.entries(entry)
    assert (np.bincount(entry) == counts.data).all()
    sampler.read(c, n)
    document = np.searchsorted(counts.indptr, entry, side="right") - 1
    for k in range(K):
        assert (np.bincount(document[z == k], minlength=3) == c[:, k]).all()
        assert (np.bincount(counts.indices[entry[z == k]], minlength=4) == n[:, k]).all()


def test_too_many_components_for_the_tokens_type(planted):
    with pytest.raises(ValueError, match="components must be at most 65,535"):
        dcomp.LDA(70_000, algorithm="collapsed-gibbs", verbose=0).fit(planted[0])


def test_lists_need_one_exposure():
    counts = Counts.from_matrix([[2, 1], [1, 3]])
    model = MODELS["GP"].build(2)
    algorithm = CollapsedGibbs(sparse=True)
    assert algorithm.is_sparse(model, Observations.build(counts, [2.0, 2.0]))
    with pytest.raises(UnsupportedCombination, match="same exposure"):
        algorithm.init(model, Observations.build(counts, [1.0, 2.0]), 0)
    assert not CollapsedGibbs().is_sparse(
        MODELS["GP"].build(600), Observations.build(counts, [1, 2])
    )


def test_structures_have_no_lists():
    sparse = CollapsedGibbs(sparse=True)
    with pytest.raises(UnsupportedCombination, match="sparse=True is for flat models and trees"):
        dcomp.StructuredDCA(tree=[2, 2, -1], algorithm=sparse, verbose=0).fit([[1, 2]])


@pytest.mark.parametrize(("n_nodes", "sparse"), [(511, False), (512, True)])
def test_large_trees_are_swept_by_lists(n_nodes, sparse):
    model = TreeMultinomial.build(Tree.complete(n_nodes, 8))
    assert (
        CollapsedGibbs().is_sparse(model, Observations.build(Counts.from_matrix([[1]]))) == sparse
    )
