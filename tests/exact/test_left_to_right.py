"""Left to right against the exact likelihood of single documents: prior × layout.

Exactness first: adding up assignments by their counts equals listing them. Then unbiasedness: the
mean of many estimates of p(w) lies within 4 of its standard errors of the exact value (10 cases × 3
documents, each with a false-alarm rate below 1e-4; seeds are fixed).
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

from dcomp.data import Counts
from dcomp.evaluate.left_to_right import estimates
from dcomp.inference.mean_field import Weights
from dcomp.models import MODELS, Observations, Tree, TreeMultinomial
from dcomp.reference.left_to_right import exact_log_likelihood, left_to_right

W = np.array([[2, 0, 3], [0, 2, 0], [1, 1, 1]])
THETA = np.array([[0.5, 0.2], [0.3, 0.1], [0.2, 0.7]])
BLOCKED = np.array([[1.0, 1.0], [0.3, 0.6], [0.7, 0.4]])
OF_A_TREE = np.array([[0.3, 0.6, 0.1, 0.2], [0.2, 0.3, 0.8, 0.1], [0.5, 0.1, 0.1, 0.7]])
CASES = [
    (key, layout)
    for key in ("DM", "GP", "CGP", "TM")
    for layout in ("plain", "blocks", "exposure")
    if not (key in ("DM", "TM") and layout == "exposure")
]

SOME = [("DM", "plain"), ("GP", "blocks"), ("CGP", "exposure")]


def make(key, layout):
    counts = Counts.from_matrix(W, blocks=[0, 1, 1] if layout == "blocks" else None)
    if key == "TM":
        model = a_tree()
        Theta = OF_A_TREE / OF_A_TREE[1:].sum(axis=0) if layout == "blocks" else OF_A_TREE
        return model, Observations.build(counts), Theta
    options = {"alpha": [0.3, 0.8]}
    if key != "DM":
        options["beta"] = [0.5, 1.5]
    if key == "CGP":
        options["rho"] = [0.3, 0.6]
    exposure = [0.5, 2.0, 3.0] if layout == "exposure" else None
    Theta = BLOCKED if layout == "blocks" else THETA
    return MODELS[key].build(2, **options), Observations.build(counts, exposure), Theta


def a_tree():
    """Four nodes: a chain of three, and a leaf beside it."""
    tree, numbers = Tree.from_parents([-1, 0, 1, 0]), {"a1": 0.8, "a2": 2.5}
    return TreeMultinomial.build(tree, **numbers, b=[1, 0.4, 0.7, 0.9])


def listed(model, observed, Theta):
    """log p(w | Θ) per document with every assignment written out."""
    out = model.log_constant(observed, combinatoric=False).copy()
    dense = observed.counts.to_scipy().toarray()
    for i, row in enumerate(dense):
        words = np.repeat(np.arange(len(row)), row)
        exposure = observed.total_exposure[i : i + 1]
        terms = []
        K = model.n_components
        for z in itertools.product(range(K), repeat=len(words)):
            c = np.bincount(np.array(z, dtype=int), minlength=K)[None]
            moment = model.scores.log_moment(c, exposure)[0]
            terms.append(np.log(Theta[words, list(z)]).sum() + moment)
        out[i] += logsumexp(terms)
    return out


def z_scores(log_estimates, exact):
    ratio = np.exp(log_estimates - exact)
    error = np.maximum(ratio.std(axis=0, ddof=1) / np.sqrt(len(ratio)), 1e-6)
    return (ratio.mean(axis=0) - 1) / error


@pytest.mark.parametrize(("key", "layout"), CASES)
def test_counts_or_assignments_add_up_to_the_same(key, layout):
    model, observed, Theta = make(key, layout)
    exact = exact_log_likelihood(model, observed, Theta)
    np.testing.assert_allclose(exact, listed(model, observed, Theta), rtol=1e-12)


@pytest.mark.parametrize("moves", [0, 2, 100])
@pytest.mark.parametrize(("key", "layout"), CASES)
def test_the_kernel_is_unbiased(key, layout, moves):
    model, observed, Theta = make(key, layout)
    weights = Weights.of_loadings(Theta)
    found = estimates(
        model, observed, weights.Theta, weights.log_scale,
        particles=3, seed=5, n_threads=2, runs=4000, moves=moves,
    )  # fmt: skip
    exact = exact_log_likelihood(model, observed, Theta)
    assert np.abs(z_scores(found, exact)).max() < 4


@pytest.mark.parametrize(
    ("key", "layout"), [("DM", "plain"), ("GP", "blocks"), ("CGP", "exposure"), ("TM", "plain")]
)
def test_the_reference_is_unbiased(key, layout):
    model, observed, Theta = make(key, layout)
    rng = np.random.default_rng(3)
    found = np.array(
        [left_to_right(model, observed, Theta, rng, particles=3, moves=2) for _ in range(400)]
    )
    assert np.abs(z_scores(found, exact_log_likelihood(model, observed, Theta))).max() < 4


@pytest.mark.parametrize("wrong", ["alpha", "rho", "Theta", "a1", "b"])
def test_a_slightly_wrong_model_is_noticed(wrong):
    """Negative control: the same test refuses estimates of another model."""
    model, observed, Theta = make(*(("TM", "plain") if wrong in "a1 b" else ("CGP", "exposure")))
    exact = exact_log_likelihood(model, observed, Theta)
    if wrong == "Theta":
        Theta = Theta + np.array([[0.03, 0], [-0.03, 0], [0, 0]])
    else:
        # Of b only the parts count: one of them grows.
        factor = np.array([1, 1.3, 1, 1]) if wrong == "b" else 1.1
        model = model.with_scores(**{wrong: getattr(model.scores, wrong) * factor})
    weights = Weights.of_loadings(Theta)
    found = estimates(
        model, observed, weights.Theta, weights.log_scale,
        particles=3, seed=5, n_threads=2, runs=4000,
    )  # fmt: skip
    assert np.abs(z_scores(found, exact)).max() > 4


@pytest.mark.parametrize("key", ["DM", "GP", "CGP"])
def test_long_documents(key):
    """50 tokens, 4 components, more tokens than moves: the log of a mean of 200 runs is exact to a
    few hundredths."""
    rng = np.random.default_rng(1)
    Theta = rng.dirichlet([0.3] * 20, size=4).T
    dense = np.array([rng.multinomial(50, Theta @ m) for m in rng.dirichlet([0.3] * 4, size=5)])
    options = {} if key == "DM" else {"beta": 0.05}
    model = MODELS[key].build(4, alpha=0.3, **options)
    observed = Observations.build(Counts.from_matrix(dense))
    weights = Weights.of_loadings(Theta)
    runs = estimates(
        model, observed, weights.Theta, weights.log_scale,
        particles=50, seed=1, n_threads=2, runs=200, moves=20,
    )  # fmt: skip
    exact = exact_log_likelihood(model, observed, Theta)
    assert np.abs(z_scores(runs, exact)).max() < 4
    assert np.abs(logsumexp(runs, axis=0) - np.log(len(runs)) - exact).max() < 0.1


def test_scores_that_are_hardly_ever_above_zero():
    """1 − q0 is about 1e-60 here, far below what a float holds."""
    model = MODELS["CGP"].build(2, alpha=[20.0, 25.0], beta=1.0, rho=0.5)
    observed = Observations.build(Counts.from_matrix([[2, 1, 0]]), [1000.0])
    weights = Weights.of_loadings(THETA)
    found = estimates(
        model, observed, weights.Theta, weights.log_scale,
        particles=20, seed=0, n_threads=1, runs=4,
    )  # fmt: skip
    exact = exact_log_likelihood(model, observed, THETA)
    assert exact[0] < -100
    np.testing.assert_allclose(found, exact[0], atol=0.01)
