"""Maximum likelihood with blocks (ADMIXTURE's model) against plain NumPy and an optimiser."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import dcomp
from dcomp import Counts, fit
from dcomp.executors import LocalExecutor
from dcomp.inference import MaximumLikelihood, likelihood_em
from dcomp.models import DirichletMultinomial, GammaPoisson, Observations
from dcomp.reference import map_em

K = 3
SHAPES = {"genotypes": [2] * 40, "mixed": [2, 3, 1, 5, 2, 4, 2] * 5, "one block": [30]}


def problem(shape="genotypes", seed=0, n_docs=23, times=1):
    """Counts with missing calls, people of one and of three copies, a person without calls, a
    feature that nobody has; all copies so many times, for a likelihood that is less flat."""
    rng = np.random.default_rng(seed)
    sizes = SHAPES[shape]
    blocks = np.repeat(np.arange(len(sizes)), sizes)
    copies = np.where(np.arange(n_docs) % 5 == 0, 1, 2)[:, None] * np.ones(len(sizes), int)
    copies[3] = 3
    copies[rng.random(copies.shape) < 0.1] = 0
    copies[7] = 0
    m = rng.dirichlet(np.full(K, 0.5), n_docs)
    rows = []
    for g, size in enumerate(sizes):
        theta = rng.dirichlet(np.full(size, 0.7), K)
        shares = np.minimum(m @ theta, 1.0)
        rows.append([rng.multinomial(times * copies[i, g], shares[i]) for i in range(n_docs)])
    W = np.concatenate(rows, axis=1)
    W[:, 1] = 0
    return Counts.from_matrix(W, blocks=blocks), W.astype(float), blocks


def model_of(key="DM"):
    if key == "GP":
        return GammaPoisson.build(K, alpha=1.0, beta=0.0, gamma=1.0)
    return DirichletMultinomial.build(K, alpha=1.0, gamma=1.0)


def begin(counts, dtype, key="DM", seed=4):
    observed = Observations(counts)
    algorithm = MaximumLikelihood(dtype=dtype)
    return algorithm, observed, algorithm.init(model_of(key), observed, seed)


def log_likelihood(W, m, Theta):
    y = m @ Theta.T
    return float((W * np.log(np.where(W > 0, y, 1.0))).sum())


def shares_of(c, n, blocks):
    totals = np.zeros((blocks.max() + 1, K))
    np.add.at(totals, blocks, n)
    m = c / np.maximum(c.sum(axis=1, keepdims=True), 1e-300)
    return m, n / np.maximum(totals[blocks], 1e-300)


def reference_step(W, c, n, blocks):
    """One step of EM from c and n: the new ones, and the log-likelihood before."""
    m, Theta = shares_of(c, n, blocks)
    return *map_em.allocate(W, m, Theta), log_likelihood(W, m, Theta)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_parts", [1, 4])
def test_a_sweep_is_a_step_of_em(shape, dtype, n_parts):
    counts, W, blocks = problem(shape)
    algorithm, observed, state = begin(counts.in_parts(n_parts), dtype)
    executor = LocalExecutor(2)
    rtol = 1e-5 if dtype == "float32" else 1e-10
    for _ in range(4):
        whole = state.gathered(executor)
        c, n, height = reference_step(W, whole.c.astype(float), whole.n.astype(float), blocks)
        state, info = algorithm.step(observed, state, executor)
        after = state.gathered(executor)
        np.testing.assert_allclose(after.c, c, rtol=rtol, atol=rtol)
        np.testing.assert_allclose(after.n, n, rtol=rtol, atol=rtol)
        assert info.objective == pytest.approx(height, rel=rtol)


@pytest.mark.parametrize(
    ("shape", "key"), [("genotypes", "DM"), ("mixed", "GP"), ("one block", "DM")]
)
def test_the_likelihood_never_falls_and_its_conditions_come_to_hold(shape, key):
    counts, W, blocks = problem(shape, times=5)
    algorithm, observed, state = begin(counts, "float64", key)
    history = []
    for _ in range(1200):
        state, info = algorithm.step(observed, state, LocalExecutor(1))
        history.append(info)
    heights = np.array([info.objective for info in history])
    assert (np.diff(heights) >= -1e-9 * abs(heights[-1])).all()
    assert history[-1].residual < 1e-3 < 0.1 < history[0].residual
    m, Theta = shares_of(state.c, state.n, blocks)
    if key == "DM":
        assert heights[-1] == pytest.approx(log_likelihood(W, m, Theta), rel=1e-9)
    conditions(W, m, Theta, blocks)


def conditions(W, m, Theta, blocks):
    """Slopes worked out again: at most the multiplier, and equal to it where a share is used."""
    ratio = np.where(W > 0, W / np.maximum(m @ Theta.T, 1e-300), 0.0)
    has_words = W.sum(axis=1) > 0
    slope = (ratio @ Theta)[has_words] / W.sum(axis=1)[has_words, None]
    assert slope.max() < 1 + 2e-3
    assert (m[has_words] * np.abs(1 - slope)).max() < 2e-3
    n = Theta * (ratio.T @ m)
    totals = np.zeros((blocks.max() + 1, K))
    np.add.at(totals, blocks, n)
    excess = ratio.T @ m - totals[blocks]
    assert (Theta * np.abs(excess)).max() < 2e-3
    assert excess.max() < 2e-2


def test_a_general_optimiser_finds_no_more():
    counts, W, blocks = problem("mixed", seed=5, n_docs=9, times=5)
    found = fit(
        counts, model_of(), MaximumLikelihood(dtype="float64"), max_iter=1500, tol=0, warn=False
    )
    sizes = (len(W), K), (W.shape[1], K)

    def parts(x):
        m, theta = (a.reshape(s) for a, s in zip(np.split(x, [len(W) * K]), sizes, strict=True))
        m = np.exp(m - m.max(axis=1, keepdims=True))
        theta = np.exp(theta - theta.max())
        totals = np.zeros((blocks.max() + 1, K))
        np.add.at(totals, blocks, theta)
        return m / m.sum(axis=1, keepdims=True), theta / totals[blocks]

    def loss(x):
        m, Theta = parts(x)
        ratio = np.where(W > 0, W / np.maximum(m @ Theta.T, 1e-300), 0.0)
        slope_m, slope_t = m * (ratio @ Theta), Theta * (ratio.T @ m)
        totals = np.zeros((blocks.max() + 1, K))
        np.add.at(totals, blocks, slope_t)
        g_m = slope_m - m * slope_m.sum(axis=1, keepdims=True)
        g_t = slope_t - Theta * totals[blocks]
        return -log_likelihood(W, m, Theta), -np.concatenate([g_m.ravel(), g_t.ravel()])

    at = [np.log(np.maximum(a, 1e-6)).ravel() for a in (found.scores, found.Theta)]
    # From near the fit, which a maximum must not be left from; a step back shows the way is open.
    how = {"jac": True, "method": "L-BFGS-B", "options": {"maxiter": 3000}}
    again = minimize(loss, np.concatenate(at), **how)
    height = log_likelihood(W, found.scores, found.Theta)
    assert -again.fun == pytest.approx(height, abs=0.02)
    moved = np.concatenate(at) + np.random.default_rng(0).normal(0, 0.3, len(again.x))
    assert -loss(moved)[0] < height - 1
    back = minimize(loss, moved, **how)
    assert -back.fun == pytest.approx(height, abs=0.5)


@pytest.mark.parametrize("without", ["features", "documents"])
def test_the_residual_is_the_largest_breach(without, monkeypatch):
    """Of documents and of features, each with the other left out."""
    counts, W, blocks = problem("mixed")
    algorithm, observed, state = begin(counts.in_parts(3), "float64")
    left_out = {"features": "_breach_of_loadings", "documents": "_breach_of_scores"}[without]
    monkeypatch.setattr(likelihood_em, left_out, lambda *_: 0.0)
    for _ in range(5):
        whole = state.gathered(LocalExecutor(1))
        c, n, _ = reference_step(W, whole.c, whole.n, blocks)
        m, Theta = shares_of(whole.c, whole.n, blocks)
        totals = np.zeros((blocks.max() + 1, K))
        np.add.at(totals, blocks, n)
        sides = (m * c.sum(axis=1, keepdims=True), c), (Theta * totals[blocks], n)
        x, new = sides[0 if without == "features" else 1]
        breach = np.abs(np.minimum(x, 1 - new / np.maximum(x, 1e-300))).max()
        state, info = algorithm.step(observed, state, LocalExecutor(1))
        assert info.residual == pytest.approx(breach, rel=1e-6)


def test_the_residual_sees_one_wrong_document_and_one_wrong_feature():
    counts, *_ = problem(times=5)
    algorithm, observed, state = begin(counts, "float64")
    for _ in range(1200):
        state, info = algorithm.step(observed, state, LocalExecutor(1))
    assert info.residual < 1e-3
    c, n = np.array(state.c), np.array(state.n)
    c[0] = np.roll(c[0], 1) + 1
    n[10] = np.roll(n[10], 1) + 1
    for changed in (state.changed(c=c), state.changed(n=n)):
        assert algorithm.step(observed, changed, LocalExecutor(1))[1].residual > 0.1


def test_a_missing_call_says_nothing():
    _, W, blocks = problem()
    rows = np.arange(len(W))
    heights, loadings = [], []
    for kept in (rows, rows[rows != 7]):  # the person without calls
        table = Counts.from_matrix(W[kept].astype(int), blocks=blocks)
        algorithm, observed, state = begin(table, "float64")
        c = np.delete(np.tile([5.0, 2.0, 1.0], (len(W), 1)), [7] if len(kept) < len(W) else [], 0)
        n = np.random.default_rng(2).uniform(0.5, 1, (W.shape[1], K))
        state = state.changed(c=c, n=n)
        for _ in range(5):
            state, info = algorithm.step(observed, state, LocalExecutor(1))
        heights.append(info.objective)
        loadings.append(np.asarray(state.n))
    assert heights[0] == pytest.approx(heights[1], rel=1e-12)
    np.testing.assert_allclose(*loadings, rtol=1e-10, atol=1e-12)


def test_faces(tmp_path):
    _, W, blocks = problem()
    options = {"blocks": blocks, "verbose": 0, "max_iter": 60, "tol": 0}
    table = W.astype(int)
    found = dcomp.DCA(K, algorithm="ml", **options).fit(table)
    same = dcomp.LDA(K, algorithm="ml", **options).fit(table)
    np.testing.assert_array_equal(found.components_, same.components_)
    assert (np.asarray(found.fit_.model.loadings.gamma) == 1).all()
    assert (found.fit_.model.scores.alpha == 1).all()
    per_block = np.add.reduceat(found.components_, np.flatnonzero(np.diff(blocks, prepend=-1)), 1)
    np.testing.assert_allclose(per_block, 1, atol=1e-5)
    plsa = dcomp.PLSA(K, **options).fit(table)
    assert plsa.components_.shape == (K, W.shape[1])
    dcomp.save(found.fit_, tmp_path / "a.dcomp")
    loaded = dcomp.load(tmp_path / "a.dcomp")
    np.testing.assert_array_equal(loaded.history["residual"], found.history_["residual"])
    with pytest.raises(dcomp.InvalidParameter, match=r"no priors.*got gamma = 0.3"):
        dcomp.DCA(K, algorithm="ml", gamma=0.3, **options).fit(table)
    assert isinstance(found.fit_.algorithm, MaximumLikelihood)


def test_stopped_and_resumed():
    counts, *_ = problem("mixed")
    whole = fit(counts, model_of(), MaximumLikelihood(), max_iter=20, tol=0, warn=False)
    half = fit(counts, model_of(), MaximumLikelihood(), max_iter=9, tol=0, warn=False)
    again = fit(counts, model_of(), resume=half, max_iter=20, tol=0, warn=False)
    np.testing.assert_array_equal(whole.Theta, again.Theta)
    np.testing.assert_array_equal(whole.scores, again.scores)


def test_threads_change_nothing():
    counts, *_ = problem("mixed", n_docs=200)
    one, two = (
        fit(counts, model_of(), MaximumLikelihood(), max_iter=12, tol=0, n_jobs=n, warn=False)
        for n in (1, 7)
    )
    np.testing.assert_array_equal(one.Theta, two.Theta)
    np.testing.assert_array_equal(one.scores, two.scores)
