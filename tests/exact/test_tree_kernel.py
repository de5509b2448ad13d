"""The token kernel of the tree against its formula, token by token, for every shape of tree.

A sweep returns Σ log p(word | all the rest). Given the components that it drew, the same sum can be
replayed in NumPy: each token is taken out, p(word) = Σ_k E[m_k | c] φ_jk is written down, and it is
put where the sweep has put it. The tests elsewhere show that the draws have the right law; this one
reaches every width of the internal nodes, in registers and in memory.
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


@pytest.mark.parametrize("shape", SHAPES)
def test_weights_are_the_predictive(shape):
    tree, rng = SHAPES[shape], np.random.default_rng(0)
    counts = Counts.from_matrix(rng.poisson(0.6, (12, 9)), blocks=[0] * 5 + [1] * 4)
    K = tree.n_nodes
    a1, a2, b = rng.gamma(2.0, 1.0, (3, K)) + 0.1
    model = TreeMultinomial.build(tree, a1=a1, a2=a2, b=b, gamma=0.3)
    observed, algorithm = Observations.build(counts), CollapsedGibbs(burn_in=10**6)
    state = algorithm.init(model, observed, seed=1)
    for _ in range(2):
        before = state.z
        state, info = algorithm.step(observed, state, LocalExecutor(1))
        expected = replay(model, observed, algorithm, before, state.z)
        assert info.documents == pytest.approx(expected, rel=2e-5)
    if K > 1:
        assert not np.array_equal(before, state.z)


def test_long_documents_have_wide_counts():
    counts = Counts.from_matrix([[70_000, 1], [2, 3]])  # more than uint16 holds
    model = TreeMultinomial.build(Tree.regular(2, 3), gamma=0.5)
    algorithm, observed = CollapsedGibbs(burn_in=10**6, exact=True), Observations.build(counts)
    state = algorithm.init(model, observed, seed=1)
    state, info = algorithm.step(observed, state, LocalExecutor(1))
    assert np.isfinite(info.objective)
    assert algorithm.finish(observed, state, LocalExecutor(1)).c.sum(axis=1).tolist() == [70_001, 5]


@pytest.mark.parametrize("simd", ["baseline", "avx2"])
def test_narrower_instruction_sets(simd):
    """The same tests with the kernels of other machines."""
    environment = {**os.environ, "DCOMP_SIMD": simd, "PYTEST_ADDOPTS": ""}
    test = f"{__file__}::test_weights_are_the_predictive"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
