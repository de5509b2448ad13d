"""Planted hierarchies come back, and a tree that grows does so the same way every time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import dcomp
from dcomp.data import FeatureSpace
from dcomp.executors import LocalExecutor
from dcomp.inference import CollapsedGibbs, Gibbs, Growth, MeanField
from dcomp.models import Observations, Tree, TreeMultinomial

TREE = Tree.regular(3, 3)
PRIORS = {"a1": [25] + [30] * 12, "a2": [75] + [70] * 12}
PER_NODE = 8


@pytest.fixture(scope="module")
def hierarchy():
    """300 documents of 100 words from a tree of 13 nodes with 8 words of its own each."""
    rng = np.random.default_rng(0)
    K, J = TREE.n_nodes, PER_NODE * TREE.n_nodes
    Theta = np.full((J, K), 0.02 / J)
    for k in range(K):
        Theta[PER_NODE * k : PER_NODE * (k + 1), k] += 0.98 * rng.dirichlet(np.full(PER_NODE, 3.0))
    model = TreeMultinomial.build(TREE, **PRIORS)
    counts, m, _ = model.simulate(FeatureSpace.build(J), np.full(300, 100), rng, Theta=Theta)
    return counts, Theta, m


@pytest.fixture(scope="module")
def found(hierarchy):
    """The fit of the defaults, from six chains."""
    return dcomp.TreeDCA(3, 3, n_chains=6, gamma=0.1, verbose=0, **PRIORS).fit(hierarchy[0])


def agreement(fit, Theta):
    """The smallest correlation of a planted node with its best component, and the share of nodes
    whose component lies below that of their parent."""
    K = TREE.n_nodes
    r = np.corrcoef(Theta.T, np.asarray(fit.Theta).T)[:K, K:]
    best, parents = r.argmax(axis=1), fit.model.tree.parents
    placed = np.mean([parents[best[k]] == best[TREE.parents[k]] for k in range(1, K)])
    return r.max(axis=1).min(), placed


@pytest.mark.parametrize("algorithm", ["collapsed-gibbs", "gibbs"])
def test_a_planted_hierarchy_is_found(hierarchy, found, algorithm):
    """Half of the chains find it; the best of six is it but for 2 runs in 100, and seeds are fixed.
    The log joint knows which one it is."""
    counts, Theta, m = hierarchy
    model = found
    if algorithm != "collapsed-gibbs":
        model = dcomp.TreeDCA(3, 3, algorithm=algorithm, n_chains=6, gamma=0.1, verbose=0, **PRIORS)
        model.fit(counts)
    fit = model.fit_
    assert fit.algorithm.name == algorithm
    correlation, placed = agreement(fit, Theta)
    assert placed == 1
    assert correlation > 0.95
    r = np.corrcoef(Theta.T, np.asarray(fit.Theta).T)[:13, 13:].argmax(axis=1)
    # Even with every word's node known, 100 words leave an error of 0.012.
    assert np.abs(fit.scores[:, r] - m).mean() < 0.014
    assert np.abs(model.transform(counts)[:, r] - m).mean() < 0.02


def test_without_annealing_chains_end_in_other_trees(hierarchy, found):
    """Why TreeDCA anneals: the same chains without it end at a much lower log joint."""
    counts, _, _ = hierarchy
    options = {"n_chains": 4, "gamma": 0.1, "verbose": 0, **PRIORS}
    fast = dcomp.TreeDCA(3, 3, anneal=0, **options).fit(counts)
    assert found.fit_.algorithm.anneal == 80
    ends = [np.mean([chain.rows[-1].objective for chain in m.fit_.chains]) for m in (found, fast)]
    assert ends[0] > ends[1] + 1000


def test_mean_field_finds_most_of_it(hierarchy):
    """It cannot anneal, and its chains are cheap: of many, the best has most nodes in place."""
    counts, Theta, _ = hierarchy
    model = dcomp.TreeDCA(3, 3, algorithm="mean-field", n_chains=20, gamma=0.1, verbose=0, **PRIORS)
    _, placed = agreement(model.fit(counts).fit_, Theta)
    assert placed >= 2 / 3


def test_a_flat_model_sees_the_same_words(hierarchy):
    """Held-out, the tree that made the words predicts them at least as well as a flat model."""
    train, test = dcomp.data.train_test(hierarchy[0], 0.2, seed=1)
    tree = dcomp.TreeDCA(3, 3, n_chains=6, gamma=0.1, verbose=0, **PRIORS).fit(train)
    flat = dcomp.LDA(13, algorithm="collapsed-gibbs", n_chains=3, gamma=0.1, verbose=0).fit(train)
    assert tree.score(test) > flat.score(test) - 0.005


GROWTH = Growth(at=5, to=9, branching=3, a1=2.0, a2=7.0)
SAMPLERS = [
    MeanField(grow=GROWTH),
    Gibbs(burn_in=6, grow=GROWTH),
    CollapsedGibbs(burn_in=6, grow=GROWTH),
]


@pytest.fixture(scope="module")
def many():
    """Enough tokens for the parallel sampler."""
    rng = np.random.default_rng(0)
    W = sparse.csr_array(rng.integers(1, 10, (9000, 60)) * (rng.random((9000, 60)) < 0.05))
    return dcomp.Counts.from_matrix(W)


@pytest.mark.parametrize("algorithm", SAMPLERS, ids=lambda a: a.name)
def test_a_tree_grows_at_its_sweep(planted, algorithm):
    counts, _ = planted
    model, observed = TreeMultinomial.build(Tree.regular(3, 2), gamma=0.1), Observations(counts)
    state = algorithm.init(model, observed, 0)
    for sweep in range(1, 9):
        if sweep == 6:
            before = algorithm.finish(observed, state, LocalExecutor(1)).n.sum(axis=0)
        state, _ = algorithm.step(observed, state, LocalExecutor(1))
        assert state.sweep == sweep
        assert state.model.n_components == (4 if sweep <= 5 else 9)
    whole = algorithm.finish(observed, state, LocalExecutor(1))
    assert whole.c.shape == (300, 9)
    np.testing.assert_allclose(whole.c.sum(axis=1), counts.doc_totals, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(whole.n.sum(axis=1), counts.feature_totals, rtol=1e-4)
    leaves = sorted((1, 2, 3), key=lambda node: -before[node])
    n_new = {leaves[0]: 3, leaves[1]: 2}
    grown = sorted(n_new)
    assert state.model.tree.parents[4:] == tuple(k for k in grown for _ in range(n_new[k]))
    assert state.model.scores.a1[grown].tolist() == [2, 2]
    assert state.model.scores.a2[leaves[2]] == 1  # a leaf still


@pytest.mark.parametrize("algorithm", SAMPLERS, ids=lambda a: a.name)
def test_growing_knows_no_threads_and_no_stops(many, tmp_path, algorithm):
    model = TreeMultinomial.build(Tree.regular(3, 2), gamma=0.1)
    options = {"max_iter": 9, "tol": 0}
    one, two = (dcomp.fit(many, model, algorithm, n_jobs=n, **options) for n in (1, 2))
    part = dcomp.fit(many, model, algorithm, max_iter=5, tol=0)
    assert part.n_components == 4
    dcomp.save(part, tmp_path / "part.dcomp")
    loaded = dcomp.load(tmp_path / "part.dcomp")
    assert loaded.algorithm == algorithm
    again = dcomp.fit(many, loaded.model, resume=loaded, **options)
    dcomp.save(again, tmp_path / "whole.dcomp")
    for other in (two, again, dcomp.load(tmp_path / "whole.dcomp")):
        assert other.model == one.model
        assert np.array_equal(other.Theta, one.Theta)
        assert np.array_equal(other.scores, one.scores)
        assert np.array_equal(other.history["objective"], one.history["objective"])


def test_each_document_keeps_its_words_together():
    """At the moment of growth a document's words go to one new leaf of a node, or stay."""
    counts = dcomp.Counts.from_matrix(np.random.default_rng(1).poisson(3.0, (40, 12)))
    model = TreeMultinomial.build(Tree.regular(2, 2), gamma=0.1)
    observed, algorithm = Observations(counts), CollapsedGibbs(burn_in=9)
    state = algorithm.init(model, observed, 0)
    growth = Growth(at=1, to=9, branching=3, a1=1.0, a2=3.0)
    document = (
        np.searchsorted(counts.indptr, algorithm.sampler(model, observed).entries(), side="right")
        - 1
    )
    walk = algorithm._walk(model, observed)
    grown = algorithm._grown(growth, observed, state, walk, LocalExecutor(1))
    moved = grown.z != state.z
    assert (state.z[~moved] == grown.z[~moved]).all()
    parents = np.array(grown.model.tree.parents)
    assert (parents[grown.z[moved]] == state.z[moved]).all()
    stayed = np.isin(grown.z, [1, 2]).sum() / np.isin(state.z, [1, 2]).sum()
    assert stayed == pytest.approx(0.25, abs=0.04)
    for i in range(40):
        for node in (1, 2):
            own = grown.z[(document == i) & moved & (state.z == node)]
            assert len(set(own.tolist())) <= 1


@pytest.mark.parametrize("algorithm", ["gibbs", "collapsed-gibbs"])
def test_recorded_scores_are_means_over_sweeps(planted, algorithm):
    """E[m | c] of a tree is not linear in c: its average is kept, not that of c."""
    counts, _ = planted
    sampler = {"gibbs": Gibbs, "collapsed-gibbs": CollapsedGibbs}[algorithm](burn_in=2)
    model, observed = TreeMultinomial.build(Tree.regular(2, 3), gamma=0.1), Observations(counts)
    state, mean = sampler.init(model, observed, 0), 0
    for sweep in range(6):
        state, _ = sampler.step(observed, state, LocalExecutor(1))
        if sweep >= 2:
            c = sampler.finish(observed, state, LocalExecutor(1)).c
            mean = mean + model.scores.posterior_mean(c, np.ones(1)) / 4
    np.testing.assert_allclose(state.recorded.scores / 4, mean, atol=1e-6)
    linear = model.scores.posterior_mean(state.recorded.c / 4, np.ones(1))
    assert np.abs(linear - mean).max() > 0.005


def test_draws_of_a_tree(planted, tmp_path):
    counts, _ = planted
    model = dcomp.TreeDCA(2, 2, max_iter=20, n_draws=4, grow_to=7, grow_at=5, verbose=0)
    fit = model.fit(counts).fit_
    assert fit.draws.scores.shape == (1, 4, 300, 7)
    assert fit.draws.hyper["a1"].shape == (1, 4, 7)
    with pytest.raises(dcomp.UnsupportedCombination, match="its priors are a1, a2, b"):
        fit.draws.alpha  # noqa: B018
    np.testing.assert_allclose(fit.draws.scores.sum(axis=-1), 1, rtol=1e-5)
    dcomp.save(fit, tmp_path / "draws.dcomp")
    again = dcomp.load(tmp_path / "draws.dcomp")
    assert np.array_equal(again.draws.scores, fit.draws.scores)
    assert fit.draws.to_xarray().sizes["component"] == 7
