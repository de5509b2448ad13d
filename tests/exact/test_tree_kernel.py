"""The token kernel of the tree against its formula, token by token, for every shape of tree.

A sweep returns Σ log p(word | all the rest). Given the components that it drew, the same sum can be
replayed in NumPy: each token is taken out, p(word) = Σ_k E[m_k | c] φ_jk is written down, and it is
put where the sweep has put it. The tests elsewhere show that the draws have the right law; this one
reaches every width of the internal nodes, in registers, in memory and by lists.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from dcomp import _core
from dcomp.data import Counts
from dcomp.executors import LocalExecutor
from dcomp.inference import CollapsedGibbs
from dcomp.models import Observations, Tree, TreeMultinomial
from dcomp.reference import tree as reference
from dcomp.reference.enumeration import chi_square_p

ALARM = 1e-4
LANES = _core.lanes()
# Internal nodes: 1, a full vector, a little more than one, two, three and four of them.
SHAPES = {
    "root": Tree.regular(1, 1),
    "flat": Tree.regular(9, 2),
    "regular": Tree.regular(3, 3),
    "chain": Tree.regular(1, 40),
    **{f"{n} internal": Tree.complete(2 * n + 1, 2) for n in (LANES, LANES + 1, 2 * LANES + 1)},
    **{f"{n} internal": Tree.complete(2 * n + 1, 2) for n in (3 * LANES + 2, 4 * LANES + 3)},
}


def replay(model, observed, algorithm, z, new):
    """Σ log p(word | rest) of a sweep from z to new, in the order of the sampler."""
    counts, K = observed.counts, model.n_components
    sampler = algorithm.sampler(model, observed)
    entry = sampler.entries()
    document = np.searchsorted(counts.indptr, entry, side="right") - 1
    feature = counts.indices[entry]
    c, n = np.zeros((counts.n_docs, K)), np.zeros((counts.n_features, K))
    np.add.at(c, (document, z), 1)
    np.add.at(n, (feature, z), 1)
    blocks = counts.features.blocks
    gamma = model.loadings.per_feature(counts.n_features)
    total = 0.0
    for t, (i, j) in enumerate(zip(document, feature, strict=True)):
        c[i, z[t]] -= 1
        n[j, z[t]] -= 1
        members = blocks == blocks[j]
        phi = (gamma[j] + n[j]) / (gamma[members].sum() + n[members].sum(axis=0))
        total += np.log(model.scores.posterior_mean(c[i], np.ones(1)) @ phi)
        c[i, new[t]] += 1
        n[j, new[t]] += 1
    return total


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_weights_are_the_predictive(shape, sparse):
    tree, rng = SHAPES[shape], np.random.default_rng(0)
    counts = Counts.from_matrix(rng.poisson(0.6, (12, 9)), blocks=[0] * 5 + [1] * 4)
    K = tree.n_nodes
    a1, a2, b = rng.gamma(2.0, 1.0, (3, K)) + 0.1
    model = TreeMultinomial.build(tree, a1=a1, a2=a2, b=b, gamma=0.3)
    observed = Observations.build(counts)
    algorithm = CollapsedGibbs(burn_in=10**6, sparse=sparse)
    state = algorithm.init(model, observed, seed=1)
    for _ in range(2):
        before = state.z
        state, info = algorithm.step(observed, state, LocalExecutor(1))
        expected = replay(model, observed, algorithm, before, state.z)
        assert info.documents == pytest.approx(expected, rel=2e-5)
    if K > 1:
        assert not np.array_equal(before, state.z)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_sum_by_lists_is_the_predictive(shape):
    """What the sampler by lists adds up, node by node, before any kernel."""
    tree, rng = SHAPES[shape], np.random.default_rng(4)
    a1, a2, b = rng.gamma(2.0, 1.0, (3, tree.n_nodes)) + 0.1
    scores = TreeMultinomial.build(tree, a1=a1, a2=a2, b=b).scores
    for n_tokens in (0, 1, 5, 40):
        c = rng.multinomial(n_tokens, rng.dirichlet(np.full(tree.n_nodes, 0.2)))
        phi = rng.gamma(0.5, 1.0, tree.n_nodes)
        own, rest = reference.word_by_lists(scores, c, phi)
        assert own + rest == pytest.approx(reference.predictive(scores, c) @ phi, rel=1e-12)


def law_of_the_first_token(model, observed, sampler, z):
    """p(k | all the rest) of the token that a sweep visits first."""
    counts, K, entry = observed.counts, model.n_components, sampler.entries()
    document = np.searchsorted(counts.indptr, entry, side="right") - 1
    feature, c, n = counts.indices[entry], np.zeros(K), np.zeros((counts.n_features, K))
    np.add.at(c, z[1:][document[1:] == document[0]], 1)
    np.add.at(n, (feature[1:], z[1:]), 1)
    gamma = model.loadings.per_feature(counts.n_features)
    phi = (gamma[feature[0]] + n[feature[0]]) / (gamma.sum() + n.sum(axis=0))
    weights = reference.predictive(model.scores, c) * phi
    return weights / weights.sum()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("length", [1, 12])
@pytest.mark.parametrize("shape", ["flat", "regular", "ternary", f"{LANES + 1} internal"])
def test_a_draw_has_the_law_of_the_predictive(shape, length, sparse):
    """The same token many times, in a document of its own and in one that has reached parts of the
    tree: every node is drawn as often as it should be."""
    tree = Tree.complete(23, 3) if shape == "ternary" else SHAPES[shape]
    rng, K = np.random.default_rng(7), tree.n_nodes
    a1, a2, b = rng.gamma(3.0, 0.5, (3, K)) + 0.3
    model = TreeMultinomial.build(tree, a1=a1, a2=a2, b=b, gamma=[2.0, 0.5])
    observed = Observations.build(Counts.from_matrix([[length, length // 2], [9, 30]]))
    sampler = CollapsedGibbs(sparse=sparse).sampler(model, observed)
    z = rng.choice(K, sampler.n_tokens, p=rng.dirichlet(np.full(K, 0.3))).astype(np.uint16)
    expected = law_of_the_first_token(model, observed, sampler, z)
    hits = np.zeros(K)
    for seed in range(10_000):
        new = z.copy()
        sampler.count(new)
        sampler.sweep(model, new, seed, 1, 1)
        hits[new[0]] += 1
    assert chi_square_p(hits, hits.sum() * expected) > ALARM


def test_long_documents_have_wide_counts():
    counts = Counts.from_matrix([[70_000, 1], [2, 3]])  # more than uint16 holds
    model = TreeMultinomial.build(Tree.regular(2, 3), gamma=0.5)
    algorithm, observed = CollapsedGibbs(burn_in=10**6, exact=True), Observations.build(counts)
    state = algorithm.init(model, observed, seed=1)
    state, info = algorithm.step(observed, state, LocalExecutor(1))
    assert np.isfinite(info.objective)
    assert algorithm.finish(observed, state, LocalExecutor(1)).c.sum(axis=1).tolist() == [70_001, 5]


ALL_WEIGHTS = test_weights_are_the_predictive.__name__
ALL_DRAWS = test_a_draw_has_the_law_of_the_predictive.__name__


@pytest.mark.parametrize("simd", ["baseline", "avx2"])
def test_narrower_instruction_sets(simd):
    """The same tests with the kernels of other machines."""
    environment = {**os.environ, "DCOMP_SIMD": simd, "PYTEST_ADDOPTS": ""}
    tests = (f"{__file__}::{name}" for name in (ALL_WEIGHTS, ALL_DRAWS))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
