"""What must hold for every data set: hypothesis looks for one where it does not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import gammaln

import dcomp
from dcomp import registry
from dcomp.data import Counts
from dcomp.executors import LocalExecutor
from dcomp.inference.mean_field import MeanField, Weights
from dcomp.inference.rest import fold_in
from dcomp.models import (
    MODELS,
    DirichletMultinomial,
    GammaPoisson,
    GammaScores,
    Observations,
    Tree,
    TreeMultinomial,
)
from dcomp.models.learning import (
    dirichlet_alpha,
    dirichlet_objective,
    gamma_objective,
    gamma_parameters,
)

MEAN_FIELD = [key for key, names in registry.supported().items() if "mean-field" in names]
tables = hnp.arrays(
    np.int64,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=8),
    elements=st.one_of(st.integers(0, 3), st.sampled_from([0, 1, 1000, 10**6, 2**31 - 1])),
)


def build(key, K, alpha=0.3, gamma=0.5, learn=False):
    if key == "TM":  # alpha stands for all of a1, a2 and b
        a = float(np.mean(alpha))
        return TreeMultinomial.build(Tree.complete(K, 2), a1=a, a2=3 * a, b=a, gamma=gamma)
    options = {"learn_alpha": learn}
    if key == "GP":
        options |= {"beta": 0.7, "learn_beta": learn}
    return MODELS[key].build(K, alpha=alpha, gamma=gamma, **options)


def gamma_step(scores, mean_log, mean):
    return gamma_parameters(scores.alpha, scores.beta, scores.learned, mean_log, mean)


def objectives(model, observed, algorithm, sweeps, threads=1):
    state, values = algorithm.init(model, observed, 3), []
    for _ in range(sweeps):
        state, info = algorithm.step(observed, state, LocalExecutor(threads))
        values.append(info.objective)
    return state, np.array(values)


@pytest.mark.parametrize("key", MEAN_FIELD)
@pytest.mark.parametrize(("treatment", "gamma"), [("mean", 0.3), ("vb", 0.3), ("map", 1.2)])
@pytest.mark.parametrize("inner", [1, 4])
@pytest.mark.parametrize("learn", [False, True])
def test_bound_never_falls(planted, key, treatment, gamma, inner, learn):
    counts, _ = planted
    observed = Observations.build(counts, "total" if key == "GP" else None)
    algorithm = MeanField(
        treatment, inner, inner_tol=1e-3, gentle_sweeps=3, learn_after=2, dtype="float64"
    )
    model = build(key, 4, gamma=gamma, learn=learn)
    _, values = objectives(model, observed, algorithm, 40)
    assert np.all(np.diff(values) >= -1e-10 * np.abs(values[1:]))
    assert values[-1] > values[0] + 1


@pytest.mark.parametrize("key", MEAN_FIELD)
def test_bound_never_falls_in_float32_beyond_rounding(planted, key):
    counts, _ = planted
    _, values = objectives(build(key, 4, learn=True), Observations.build(counts), MeanField(), 60)
    assert np.all(np.diff(values) >= -1e-6 * np.abs(values[1:]))


def test_the_wrong_objective_does_fall(planted):
    """Negative control: from a sharp start a strong prior pulls Θ back, so the documents' part
    alone falls while the objective, which has the matching prior, still rises (MODELS §4)."""
    counts, _ = planted
    observed = Observations.build(counts)
    algorithm = MeanField("mean", 1, dtype="float64")
    sharp, _ = objectives(build("DM", 4, gamma=0.01), observed, algorithm, 40)
    state = sharp.changed(model=build("DM", 4, gamma=30.0))
    right, wrong = [], []
    for _ in range(10):
        state, info = algorithm.step(observed, state, LocalExecutor(1))
        right.append(info.objective)
        wrong.append(info.documents)
    assert np.diff(right).min() > 0
    assert np.diff(wrong).min() < -1


def test_lemma_1(planted):
    """GP with a common β is DM times a law of the lengths: BJ06 Lemma 1, for fit and bound."""
    counts, _ = planted
    observed = Observations.build(counts)
    algorithm = MeanField(dtype="float64")
    alpha, beta = np.array([0.2, 0.5, 0.9]), 0.4
    dm = DirichletMultinomial.build(3, alpha=alpha)
    gp = GammaPoisson.build(3, alpha=alpha, beta=beta)
    state_dm, bound_dm = objectives(dm, observed, algorithm, 10)
    state_gp, bound_gp = objectives(gp, observed, algorithm, 10)
    np.testing.assert_allclose(state_dm.c, state_gp.c, atol=1e-9)
    np.testing.assert_allclose(state_dm.n, state_gp.n, atol=1e-9)
    L, A = counts.doc_totals, alpha.sum()
    log_length = (
        gammaln(A + L) - gammaln(A) - gammaln(L + 1.0) + A * np.log(beta) - (A + L) * np.log1p(beta)
    )
    np.testing.assert_allclose(bound_gp - bound_dm, log_length.sum(), rtol=1e-9)


def test_lemma_1_with_blocks_and_exposure(planted):
    counts = planted[0].with_blocks(np.arange(30) % 3)
    exposure = np.random.default_rng(0).gamma(2.0, 1.0, (300, 3)) + 0.1
    algorithm = MeanField(dtype="float64")
    dm, _ = objectives(build("DM", 3), Observations.build(counts), algorithm, 6)
    gp, _ = objectives(build("GP", 3), Observations.build(counts, exposure), algorithm, 6)
    np.testing.assert_allclose(dm.c, gp.c, atol=1e-9)


@pytest.mark.parametrize("key", MEAN_FIELD)
def test_one_block_is_plain(planted, key):
    counts, _ = planted
    named = counts.with_blocks(["all"] * counts.n_features)
    plain, values = objectives(build(key, 3), Observations.build(counts), MeanField(), 5)
    block, again = objectives(build(key, 3), Observations.build(named), MeanField(), 5)
    assert np.array_equal(plain.n, block.n)
    assert np.array_equal(values, again)


@pytest.mark.parametrize("key", MEAN_FIELD)
def test_order_of_documents_does_not_matter(planted, key):
    counts, _ = planted
    order = np.random.default_rng(1).permutation(counts.n_docs)
    model, algorithm = build(key, 3), MeanField(dtype="float64")
    weights = Weights.build(
        model, counts.features, algorithm.init(model, Observations.build(counts), 0).n, "mean", 1
    )
    straight = fold_in(model, Observations.build(counts), weights, LocalExecutor(2)).c
    shuffled = fold_in(model, Observations.build(counts.rows(order)), weights, LocalExecutor(2)).c
    assert np.array_equal(straight[order], shuffled)


@settings(max_examples=60, deadline=None)
@given(
    W=tables,
    key=st.sampled_from(MEAN_FIELD),
    K=st.integers(1, 12),
    treatment=st.sampled_from(["mean", "vb"]),
    alpha=st.sampled_from([1e-4, 0.1, 1.0, 50.0]),
    gamma=st.sampled_from([1e-4, 0.05, 0.5, 10.0]),
)
def test_no_nan_on_extremes(W, key, K, treatment, alpha, gamma):
    counts = Counts.from_matrix(W)
    fitted = dcomp.fit(
        counts,
        build(key, K, alpha=alpha, gamma=gamma, learn=True),
        MeanField(treatment, gentle_sweeps=1, learn_after=1),
        max_iter=4,
        tol=0,
    )
    new = fitted.transform(counts)
    for values in (fitted.Theta, fitted.scores, fitted.expected_counts, new, fitted.bound(counts)):
        assert np.isfinite(values).all()
    np.testing.assert_allclose(fitted.Theta.sum(axis=0), 1, rtol=1e-4)
    np.testing.assert_allclose(
        fitted.expected_counts.sum(axis=1), counts.doc_totals, rtol=1e-3, atol=1e-3
    )
    assert (new >= 0).all()
    if key != "GP":
        np.testing.assert_allclose(new.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("key", MEAN_FIELD)
def test_an_empty_document_keeps_its_posterior(planted, key):
    counts, _ = planted  # document 17 is empty
    model = build(key, 3, alpha=[0.1, 0.2, 0.3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dcomp.ConvergenceWarning)
        fitted = dcomp.fit(counts, model, max_iter=3)
    expected = np.array([0.1, 0.2, 0.3]) / (0.6 if key == "DM" else 0.7 + 1)
    if key == "TM":
        expected = np.array([1 / 4, 3 / 8, 3 / 8])
    np.testing.assert_allclose(fitted.scores[17], expected, rtol=1e-6)
    np.testing.assert_allclose(fitted.transform(counts)[17], expected, rtol=1e-6)


@settings(max_examples=100, deadline=None)
@given(
    alpha=hnp.arrays(float, 4, elements=st.floats(1e-3, 50)),
    mean_log=hnp.arrays(float, 4, elements=st.floats(-200, -1.5)),
)
def test_dirichlet_step_never_lowers(alpha, mean_log):
    new, _ = dirichlet_alpha(alpha, mean_log)
    assert (new > 0).all()
    assert dirichlet_objective(new, mean_log) >= dirichlet_objective(alpha, mean_log) - 1e-9


@settings(max_examples=100, deadline=None)
@given(
    alpha=st.floats(1e-3, 5),
    beta=st.floats(1e-3, 50),
    mean=st.floats(1e-6, 1e6),
    gap=st.floats(1e-9, 300),
    learn=st.sampled_from([(True, True), (True, False), (False, True)]),
)
def test_gamma_step_never_lowers(alpha, beta, mean, gap, learn):
    scores = GammaScores.build(1, alpha, beta, learn_alpha=learn[0], learn_beta=learn[1])
    moments = (np.array([np.log(mean) - gap]), np.array([mean]))  # Jensen: E log < log E
    changes, _ = gamma_step(scores, *moments)
    new = {"alpha": scores.alpha, "beta": scores.beta} | changes
    before = gamma_objective(scores.alpha, scores.beta, *moments)[0]
    after = gamma_objective(new["alpha"], new["beta"], *moments)[0]
    assert after >= before - 1e-9 * abs(before)


def test_hyper_steps_find_the_maximum():
    rng = np.random.default_rng(0)
    m = rng.dirichlet([0.2, 0.7, 1.5], size=20000)
    alpha, capped = dirichlet_alpha(np.ones(3), np.log(np.maximum(m, 1e-300)).mean(axis=0))
    np.testing.assert_allclose(alpha, [0.2, 0.7, 1.5], rtol=0.05)
    assert not capped
    draws = rng.gamma([0.5, 3.0], 1 / np.array([2.0, 0.1]), size=(20000, 2))
    scores = GammaScores.build(2, 1.0, 1.0, learn_alpha=True, learn_beta=True)
    changes, limits = gamma_parameters(
        scores.alpha, scores.beta, scores.learned, np.log(draws).mean(axis=0), draws.mean(axis=0)
    )
    np.testing.assert_allclose(changes["alpha"], [0.5, 3.0], rtol=0.05)
    np.testing.assert_allclose(changes["beta"], [2.0, 0.1], rtol=0.05)
    assert limits == ()


def test_the_cap_is_reported():
    scores = GammaScores.build(1, 1.0, 1.0, learn_alpha=True, learn_beta=True)
    changes, limits = gamma_parameters(
        scores.alpha, scores.beta, scores.learned, np.array([np.log(3.0) - 1e-6]), np.array([3.0])
    )
    assert changes["alpha"][0] == 5.0
    assert limits == ("alpha",)


@pytest.mark.parametrize("key", MEAN_FIELD)
def test_planted_components_are_found(planted, key):
    counts, Theta = planted
    if key == "TM":
        pytest.skip("a root takes what is common to all: tests/properties/test_tree.py")
    fitted = dcomp.DCA(3, model=key, gamma=0.1, verbose=0).fit(counts).fit_
    similarity = np.corrcoef(Theta.T, fitted.Theta.T)[:3, 3:]
    assert sorted(similarity.argmax(axis=1)) == [0, 1, 2]
    assert similarity.max(axis=1).min() > 0.97
