"""The kernels do what the NumPy reference does, number by number."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from dcomp import _core, registry
from dcomp.data import Counts
from dcomp.executors import LocalExecutor
from dcomp.inference.mean_field import MeanField, Weights
from dcomp.inference.rest import fold_in
from dcomp.models import MODELS, Observations, Tree, TreeMultinomial
from dcomp.reference import mean_field as reference
from dcomp.reference.tree import document_tree

MEAN_FIELD = [key for key, names in registry.supported().items() if "mean-field" in names]
TREATMENTS = [("mean", 0.5), ("mean", 0.01), ("vb", 0.3), ("map", 1.5)]
TOLERANCE = {"float64": 1e-10, "float32": 2e-5}


def make_case(key: str, gamma: float, n_blocks: int, K: int = 5):
    rng = np.random.default_rng(K)
    W = rng.poisson(0.8, (40, 30)) * rng.integers(1, 4, (40, 30))
    W[3], W[:, 7] = 0, 0
    counts = Counts.from_matrix(W, blocks=np.arange(30) % n_blocks)
    if key == "TM":
        scale = np.linspace(0.3, 2, K)
        options = {"a1": scale, "a2": 4 * scale[::-1], "b": 0.5 * scale}
        model = TreeMultinomial.build(Tree.complete(K, 2), gamma=gamma, **options)
        return W, Observations.build(counts), model
    exposure = None if key == "DM" else rng.gamma(2.0, 1.0, (40, n_blocks)) + 0.1
    options = {} if key == "DM" else {"beta": np.linspace(0.2, 2, K)}
    model = MODELS[key].build(K, alpha=np.linspace(0.05, 1, K), gamma=gamma, **options)
    return W, Observations.build(counts, exposure), model


def reference_pass(W, observed, model, state, treatment, inner):
    gamma = model.loadings.per_feature(observed.counts.n_features)
    blocks = observed.counts.features.blocks
    theta = reference.loadings(state.n.astype(float), gamma, blocks, treatment)
    if isinstance(model, TreeMultinomial):
        update = partial(document_tree, scores=model.scores)
        c = state.c.astype(float)
        return theta, reference.sweep(W, c, theta, np.ones(1), inner=inner, document=update)
    beta = getattr(model.scores, "beta", None)
    exposure = None if beta is None else observed.total_exposure
    return theta, reference.sweep(
        W, state.c.astype(float), theta, model.scores.alpha, beta, exposure, inner
    )


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("key", MEAN_FIELD)
@pytest.mark.parametrize(("treatment", "gamma"), TREATMENTS)
@pytest.mark.parametrize("n_blocks", [1, 4])
def test_one_sweep(dtype, key, treatment, gamma, n_blocks):
    W, observed, model = make_case(key, gamma, n_blocks)
    algorithm = MeanField(treatment, max_inner=3, inner_tol=0, gentle_sweeps=0, dtype=dtype)
    state = algorithm.init(model, observed, seed=1)
    new, info = algorithm.step(observed, state, LocalExecutor(2))
    theta, expected = reference_pass(W, observed, model, state, treatment, inner=3)

    tolerance = TOLERANCE[dtype]
    np.testing.assert_allclose(new.c, expected.c, atol=tolerance * 10, rtol=tolerance)
    np.testing.assert_allclose(new.n, expected.n, atol=tolerance * 10, rtol=tolerance)
    constant = model.log_constant(observed, combinatoric=False).sum()
    objective = expected.bound.sum() + constant + theta.log_prior
    assert info.objective == pytest.approx(objective, rel=tolerance)
    assert info.inner_updates == (39 * 3 + 1) / 40  # the empty document needs one


@pytest.mark.parametrize("key", MEAN_FIELD)
def test_score_sums_feed_the_hyper_parameters(key):
    W, observed, model = make_case(key, 0.5, 1)
    algorithm = MeanField(max_inner=1, dtype="float64")
    state = algorithm.init(model, observed, seed=1)
    weights = Weights.build(model, observed.counts.features, state.n, "mean", 1)
    c_out, n = np.empty_like(state.c), np.zeros_like(state.n)
    prior = model.scores.native(observed.native_exposure)
    sums = _core.expect(
        observed.corpus, weights.Theta, weights.log_scale, prior, state.c, c_out, n, 1, 0.0, 2
    )
    _, expected = reference_pass(W, observed, model, state, "mean", inner=1)
    np.testing.assert_allclose(sums[2], expected.log_scores, rtol=1e-10)
    np.testing.assert_allclose(sums[3], expected.mean_scores, rtol=1e-10)


@pytest.mark.parametrize("key", ["DM", "TM"])
@pytest.mark.parametrize("K", [1, 2, 7, 16, 17, 33, 70])
def test_every_width_of_the_padding(key, K):
    W, observed, model = make_case(key, 0.5, 2, K)
    algorithm = MeanField(max_inner=2, inner_tol=0, gentle_sweeps=0, dtype="float64")
    state = algorithm.init(model, observed, seed=1)
    new, _ = algorithm.step(observed, state, LocalExecutor(1))
    _, expected = reference_pass(W, observed, model, state, "mean", inner=2)
    np.testing.assert_allclose(new.c, expected.c, atol=1e-10)
    np.testing.assert_allclose(new.n, expected.n, atol=1e-10)


@pytest.mark.parametrize("key", MEAN_FIELD)
def test_fold_in_reaches_the_fixed_point(key):
    W, observed, model = make_case(key, 0.5, 1)
    algorithm = MeanField(dtype="float64")
    state = algorithm.init(model, observed, seed=1)
    weights = Weights.build(model, observed.counts.features, state.n, "mean", 1)
    folded = fold_in(model, observed, weights, LocalExecutor(2), max_inner=2000, tol=1e-12)
    theta, again = reference_pass(
        W, observed, model, state.changed(model=model, c=folded.c), "mean", inner=1
    )
    np.testing.assert_allclose(again.c, folded.c, atol=1e-7)
    constant = model.log_constant(observed, combinatoric=False)
    np.testing.assert_allclose(folded.bound, again.bound + constant, rtol=1e-9, atol=1e-9)
    assert theta.log_weight.shape == (30, 5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["exp", "log", "digamma", "log_gamma"])
def test_special_functions(name, dtype):
    from scipy import special

    if name == "log_gamma" and dtype is np.float32:
        pytest.skip("bounds are differences of large log-gammas: double only")
    x = np.geomspace(1e-6, 1e6, 1600).astype(dtype)
    if name == "exp":
        x = np.linspace(-80, 80, 1600).astype(dtype)
    out = np.empty_like(x)
    _core.special(name, x, out)
    exact = {
        "exp": np.exp,
        "log": np.log,
        "digamma": special.digamma,
        "log_gamma": special.gammaln,
    }[name](x.astype(np.float64))
    tolerance = 2e-6 if dtype is np.float32 else 5e-13
    np.testing.assert_allclose(out, exact, rtol=tolerance, atol=tolerance)
