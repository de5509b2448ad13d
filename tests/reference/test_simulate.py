"""The simulator against moments that can be written down: the other tests of samplers rest on it.

Means of 20,000 draws lie within 5 standard errors: a false alarm in fewer than 1e-6 comparisons.
"""

from __future__ import annotations

import numpy as np
import pytest

from dcomp import registry
from dcomp.data import FeatureSpace
from dcomp.errors import InvalidParameter
from dcomp.models import MODELS, TreeMultinomial
from dcomp.reference.simulate import draw_loadings, draw_scores, simulate

SAMPLED = [key for key, names in registry.supported().items() if "gibbs" in names]
R = 20_000
FEATURES = FeatureSpace.build(5, blocks=[0, 0, 1, 1, 1])
GAMMA = np.array([0.4, 0.7, 1.1, 0.5, 0.9])
ALPHA, BETA, RHO = np.array([0.3, 0.8]), np.array([0.5, 2.0]), np.array([0.25, 0.6])
EXPOSURE = np.array([[1.0, 0.5], [0.0, 3.0], [0.0, 0.0]])
TOKENS = np.array([[4, 2], [0, 7], [0, 0]])


def build(key):
    if key == "TM":  # a root that stops, and the only child
        return TreeMultinomial.build(2, a1=ALPHA[0], a2=ALPHA[1], b=0.7, gamma=GAMMA)
    options = {"alpha": ALPHA, "gamma": GAMMA}
    options |= {"beta": BETA} if key != "DM" else {}
    options |= {"rho": RHO} if key == "CGP" else {}
    return MODELS[key].build(2, **options)


def draws(key, seed=0):
    size = EXPOSURE if MODELS[key].has_exposure else TOKENS
    return simulate(build(key), FEATURES, size, np.random.default_rng(seed), n_replicates=R)


def assert_mean(values, expected):
    """Over the first axis, to 5 standard errors."""
    error = values.std(axis=0) / np.sqrt(len(values))
    np.testing.assert_array_less(np.abs(values.mean(axis=0) - expected), 5 * error + 1e-12)


def prior_mean_of_scores(key):
    if not MODELS[key].has_exposure:  # a tree of two nodes is the flat Dirichlet
        return ALPHA / ALPHA.sum()
    return ALPHA / BETA * (1 - RHO if key == "CGP" else 1)


@pytest.mark.parametrize("key", SAMPLED)
def test_means_of_the_prior(key):
    draw = draws(key)
    mean = prior_mean_of_scores(key)
    theta = GAMMA / np.bincount(FEATURES.blocks, weights=GAMMA)[FEATURES.blocks]
    size = EXPOSURE if MODELS[key].has_exposure else TOKENS
    assert_mean(draw.scores, np.tile(mean, (3, 1)))
    assert_mean(draw.Theta, np.tile(theta[:, None], (1, 2)))
    assert_mean(draw.v, size[:, FEATURES.blocks][..., None] * theta[:, None] * mean)
    for g in range(2):
        total = draw.Theta[:, FEATURES.blocks == g].sum(axis=1)
        np.testing.assert_allclose(total, 1.0)


@pytest.mark.parametrize("key", SAMPLED)
def test_second_moments_of_the_prior(key):
    """E[score²], E[θ²] and, because words share their document's score, E[c (c − 1)] = e² E[l²]."""
    draw = draws(key, seed=1)
    if not MODELS[key].has_exposure:
        square = ALPHA * (ALPHA + 1) / (ALPHA.sum() * (ALPHA.sum() + 1))
        pairs = (TOKENS.sum(axis=1) * (TOKENS.sum(axis=1) - 1))[:, None] * square
    else:
        square = ALPHA * (ALPHA + 1) / BETA**2 * (1 - RHO if key == "CGP" else 1)
        pairs = EXPOSURE.sum(axis=1)[:, None] ** 2 * square
    assert_mean(draw.scores**2, np.tile(square, (3, 1)))
    assert_mean(draw.c * (draw.c - 1), pairs)
    totals = np.bincount(FEATURES.blocks, weights=GAMMA)[FEATURES.blocks]
    assert_mean(draw.Theta**2, np.tile((GAMMA * (GAMMA + 1) / totals / (totals + 1))[:, None], 2))


def test_zeros_of_cgp():
    draw = draws("CGP")
    assert_mean(draw.scores == 0, np.tile(RHO, (3, 1)))
    assert (draw.c[draw.scores == 0] == 0).all()


def test_conditionals_are_those_of_models():
    """E[scores | c] and E[Θ | n], for c with zeros."""
    rng = np.random.default_rng(2)
    c, exposure = np.array([[0, 3], [2, 0], [0, 0]]), np.array([1.5, 3.0, 0.0])
    for key in SAMPLED:
        model = build(key)
        scores = draw_scores(model, np.tile(c, (R, 1, 1)), exposure, rng)
        assert_mean(scores, model.scores.posterior_mean(c, exposure))
    n = np.array([[3, 0], [0, 0], [1, 1], [0, 9], [2, 0]])
    Theta = draw_loadings(build("DM"), FEATURES, np.tile(n, (R, 1, 1)), rng)
    a = GAMMA[:, None] + n
    assert_mean(Theta, a / np.add.reduceat(a, [0, 2])[FEATURES.blocks])


@pytest.mark.parametrize("key", SAMPLED)
def test_replicates_lie_side_by_side(key):
    draw = simulate(
        build(key), FEATURES, TOKENS, np.random.default_rng(3), n_replicates=4
    )  # whole numbers are exposures, too
    observed = draw.observed(build(key))
    W = observed.counts.to_scipy().toarray().reshape(4, 3, 4, 5)
    for r in range(4):
        for other in range(4):
            np.testing.assert_array_equal(W[r, :, other], draw.W[r] if r == other else 0)
    assert observed.counts.features.n_blocks == 8
    if MODELS[key].has_exposure:
        np.testing.assert_array_equal(observed.total_exposure, np.tile(TOKENS.sum(axis=1), 4))
    assert draw.model_of_all(build(key)).loadings.gamma.tolist() == GAMMA.tolist() * 4


@pytest.mark.parametrize("size", ["per document", "per document and block"])
@pytest.mark.parametrize("key", SAMPLED)
def test_models_simulate_the_same(key, size):
    """`Model.simulate` draws words by their totals, another way to the same law."""
    model, rng = build(key), np.random.default_rng(6)
    sizes = EXPOSURE if MODELS[key].has_exposure else TOKENS
    sizes = sizes.sum(axis=1) if size == "per document" else sizes
    counts, scores, Theta = model.simulate(FEATURES, np.repeat(sizes, 4000, axis=0), rng)
    per_block = np.broadcast_to(sizes[:, None] if sizes.ndim == 1 else sizes, (3, 2))
    assert_mean(scores, prior_mean_of_scores(key))
    W = counts.to_scipy().toarray().reshape(3, 4000, 5)
    for i in range(3):  # given Θ, which is drawn once
        assert_mean(W[i], per_block[i, FEATURES.blocks] * (Theta @ prior_mean_of_scores(key)))


def test_an_empty_corpus_is_one():
    draw = simulate(build("CGP"), FEATURES, [0.0, 0.0], np.random.default_rng(0))
    assert draw.counts().n_tokens == 0
    assert draw.counts().shape == (2, 5)


@pytest.mark.parametrize(
    ("key", "size"),
    [("DM", [1.5]), ("DM", [-1]), ("GP", [-0.1]), ("GP", [np.inf]), ("GP", [[1.0, 1.0, 1.0]])],
)
def test_a_wrong_size_is_refused(key, size):
    with pytest.raises(InvalidParameter, match="size must"):
        simulate(build(key), FEATURES, size, np.random.default_rng(0))


def test_simulated_counts_keep_their_feature_space():
    features = FeatureSpace.build(4, ["yea", "nay", "yea", "nay"], ["RC1", "RC1", "RC2", "RC2"])
    model = MODELS["DM"].build(2)
    counts, *_ = model.simulate(features, np.full(3, 5), np.random.default_rng(0))
    assert counts.features == features
