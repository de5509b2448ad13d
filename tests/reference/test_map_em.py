"""EM at the modes: native against NumPy, against the papers' own updates, and its equivalences."""

from __future__ import annotations

import numpy as np
import pytest

import dcomp
from dcomp.data import Counts
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.executors import LocalExecutor
from dcomp.inference import MapEM, TemperedEM
from dcomp.inference.state import State
from dcomp.models import DirichletMultinomial, GammaPoisson, Observations
from dcomp.reference import map_em as reference
from dcomp.result import fit

ALPHA, BETA = np.array([1.1, 1.6, 1.0]), np.array([0.3, 0.8, 0.5])


def problem(seed=0, n_docs=12, n_features=9, K=3, blocks=None):
    rng = np.random.default_rng(seed)
    W = rng.poisson(rng.gamma(0.4, 4.0, size=(n_docs, n_features)))
    W[0] = 0  # a document without words
    counts = Counts.from_matrix(W, blocks=blocks)
    return counts, rng.gamma(1.0, 2.0, (n_docs, K)), rng.gamma(1.0, 3.0, (n_features, K))


def native_step(model, observed, c, n, **options):
    algorithm = MapEM(dtype="float64", max_inner=1, inner_tol=0, **options)
    state, info = algorithm.step(observed, State.whole(model, c, n, 0), LocalExecutor(1))
    return state, info.objective


@pytest.mark.parametrize("blocks", [None, [0] * 4 + [1] * 5])
@pytest.mark.parametrize(("treatment", "gamma"), [("mean", 0.3), ("map", 1.7), ("map", 1.0)])
def test_dm_equals_numpy(treatment, gamma, blocks):
    counts, c, n = problem(blocks=blocks)
    model, observed = (
        DirichletMultinomial.build(3, alpha=ALPHA, gamma=gamma),
        Observations.build(counts),
    )
    prior = np.full(9, gamma + (treatment == "mean"))
    Theta = reference.loadings(n, prior, counts.features.blocks)
    m = reference.dirichlet_scores(c, ALPHA)
    W = counts.to_scipy().toarray().astype(float)
    expected_c, expected_n = reference.allocate(W, m, Theta)
    state, objective = native_step(model, observed, c, n, loadings=treatment)
    np.testing.assert_allclose(state.c, expected_c, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(state.n, expected_n, rtol=1e-9, atol=1e-12)
    likelihood = (W * np.log(m @ Theta.T)).sum()
    of_loadings = sum(
        reference.log_dirichlet(
            Theta[counts.features.blocks == g].T, prior[counts.features.blocks == g]
        )
        for g in range(counts.features.n_blocks)
    )
    assert objective == pytest.approx(
        likelihood + reference.log_dirichlet(m, ALPHA) + of_loadings, rel=1e-10
    )


@pytest.mark.parametrize("exposure", [None, "total", [0.5] * 6 + [2.0] * 6])
def test_gp_equals_numpy_and_canny(exposure):
    counts, c, n = problem(1)
    if exposure == "total":
        counts = counts.rows(slice(1, None))  # an empty document has no length to share out
        c = c[1:]
    model = GammaPoisson.build(3, alpha=ALPHA, beta=BETA, gamma=0.2)
    observed = Observations.build(counts, exposure)
    e = observed.total_exposure
    Theta = reference.loadings(n, np.full(9, 1.2), counts.features.blocks)
    x = reference.gamma_scores(c, ALPHA, BETA, e)
    W = counts.to_scipy().toarray().astype(float)
    expected_c, expected_n = reference.allocate(W, x, Theta)
    state, objective = native_step(model, observed, c, n)
    np.testing.assert_allclose(state.c, expected_c, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(state.n, expected_n, rtol=1e-9, atol=1e-12)
    rate = (x @ Theta.T) * e[:, None]
    poisson = (W * np.log(rate) - rate).sum()
    value = poisson + reference.log_gamma_density(x, ALPHA, BETA)
    value += reference.log_dirichlet(Theta.T, np.full(9, 1.2))
    constant = model.log_constant(observed, combinatoric=False).sum()
    without_words = (W * np.log(e[:, None])).sum()
    assert objective - constant == pytest.approx(value - without_words, rel=1e-10)
    if exposure is None:
        again = reference.gamma_scores(np.asarray(state.c), ALPHA, BETA, e)
        for i in range(1, len(W)):
            by_the_paper = reference.canny_update(W[i], x[i], Theta, ALPHA, BETA)
            np.testing.assert_allclose(again[i], by_the_paper, rtol=1e-9)


@pytest.mark.parametrize("model", ["DM", "GP"])
@pytest.mark.parametrize("treatment", ["mean", "map"])
def test_every_sweep_raises_the_log_posterior(model, treatment):
    counts, *_ = problem(2, n_docs=40, n_features=25)
    built = (
        DirichletMultinomial.build(4, alpha=1.1, gamma=1.2)
        if model == "DM"
        else GammaPoisson.build(4, alpha=1.1, beta=0.5, gamma=1.2)
    )
    algorithm = MapEM(loadings=treatment, dtype="float64", max_inner=8, inner_tol=0)
    path = fit(counts, built, algorithm, max_iter=150, tol=0).history["objective"]
    assert (np.diff(path) > -1e-9 * abs(path[0])).all()
    assert path[-1] > path[0] + 1


def lee_seung(W, L, Theta, n_steps):
    """KL-NMF by multiplicative updates, W ≈ L Θᵀ: Lee and Seung 2001."""
    for _ in range(n_steps):
        ratio = W / np.maximum(L @ Theta.T, 1e-300)
        L = L * (ratio @ Theta) / Theta.sum(axis=0)
        ratio = W / np.maximum(L @ Theta.T, 1e-300)
        Theta = Theta * (ratio.T @ L) / L.sum(axis=0)
        scale = Theta.sum(axis=0)
        L, Theta = L * scale, Theta / scale
    return L, Theta


def test_plsa_is_kl_nmf_is_gp_with_flat_priors():
    """BJ06 Lemma 2, B18 section 5: three names, one maximum from one start."""
    counts, c, n = problem(3, n_docs=30, n_features=20)
    counts, c = counts.rows(slice(1, None)), c[1:]
    W = counts.to_scipy().toarray().astype(float)
    models = {
        "PLSA": DirichletMultinomial.build(3, alpha=1.0, gamma=1.0),
        "NMF": GammaPoisson.build(3, alpha=1.0, beta=1e-12, gamma=1.0),
    }
    algorithm = MapEM(loadings="map", dtype="float64", max_inner=1, inner_tol=0)
    means = {}
    for name, model in models.items():
        observed, state = Observations.build(counts), State.whole(model, c, n, 0)
        for _ in range(4000):
            state, _ = algorithm.step(observed, state, LocalExecutor(1))
        scores = model.scores.posterior_mode(state.c, observed.total_exposure)
        Theta = state.n / state.n.sum(axis=0)
        lengths = W.sum(axis=1, keepdims=True) if name == "PLSA" else 1.0
        means[name] = lengths * (scores @ Theta.T)
    floor = 1e-300  # of what has no words and vanishes
    values = [(W * np.log(mean + floor) - mean).sum() for mean in means.values()]
    np.testing.assert_allclose(values, values[0], rtol=1e-5)
    # Lee and Seung's updates in turn may climb elsewhere, but have nothing to add to a maximum.
    L, Theta = lee_seung(W, scores, Theta, 1)
    np.testing.assert_allclose(L @ Theta.T, means["NMF"], atol=1e-3)
    for mean in means.values():  # the fitted table has the margins of the data
        np.testing.assert_allclose(mean.sum(axis=0), W.sum(axis=0), rtol=1e-5)
        np.testing.assert_allclose(mean, means["NMF"], atol=0.05)


def test_a_flat_dm_is_plsa_of_the_reference():
    counts, c, n = problem(4)
    counts, c = counts.rows(slice(1, None)), c[1:]
    W = counts.to_scipy().toarray().astype(float)
    flat, blocks = np.ones(3), counts.features.blocks
    state = State.whole(DirichletMultinomial.build(3, alpha=1.0, gamma=1.0), c, n, 0)
    algorithm = MapEM(loadings="map", dtype="float64", max_inner=1, inner_tol=0)
    for _ in range(50):
        state, _ = algorithm.step(Observations.build(counts), state, LocalExecutor(1))
        m, Theta = reference.dirichlet_scores(c, flat), reference.loadings(n, np.ones(9), blocks)
        c, n = reference.allocate(W, m, Theta)
    np.testing.assert_allclose(state.c, c, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(state.n, n, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("beta", [1.0, 0.8, 0.3])
def test_a_tempered_sweep_equals_numpy(beta):
    counts, c, n = problem(12)
    counts, c = counts.rows(slice(1, None)), c[1:]
    c[3, 1] = 0.0
    W = counts.to_scipy().toarray().astype(float)
    model = DirichletMultinomial.build(3, alpha=1.0, gamma=1.0)
    algorithm = TemperedEM(dtype="float64", max_inner=1)
    got, info = algorithm._sweep(
        Observations.build(counts), State.whole(model, c, n, 0), beta, None, LocalExecutor(1)
    )
    m, Theta = c / c.sum(axis=1, keepdims=True), n / n.sum(axis=0)
    expected_c, expected_n, free = reference.tempered_allocate(W, m, Theta, beta)
    np.testing.assert_allclose(got.c, expected_c, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(got.n, expected_n, rtol=1e-9, atol=1e-12)
    assert info.objective == pytest.approx(free, rel=1e-10)


def test_a_tempered_sweep_raises_the_free_energy():
    counts, *_ = problem(13, n_docs=50, n_features=30)
    algorithm, model = (
        TemperedEM(dtype="float64"),
        DirichletMultinomial.build(4, alpha=1.0, gamma=1.0),
    )
    observed = Observations.build(counts)
    state, path = algorithm.init(model, observed, 0), []
    for _ in range(100):
        state, info = algorithm._sweep(observed, state, 0.7, None, LocalExecutor(1))
        path.append(info.objective)
    assert (np.diff(path) >= -1e-10 * abs(path[-1])).all()
    assert path[-1] > path[0] + 1


def test_tempering_predicts_better_than_plain_em():
    truth = DirichletMultinomial.build(4, alpha=0.5, gamma=0.5)
    features = Counts.from_matrix(np.ones((1, 80), int)).features
    counts, *_ = truth.simulate(features, np.full(150, 40), np.random.default_rng(14))
    train, test = counts.rows(slice(0, 100)), counts.rows(slice(100, None))
    plain = dcomp.PLSA(8, verbose=0).fit(train)
    # Which words are held out decides whether a lower β helps; to stop in time helps always.
    tries = [
        dcomp.PLSA(8, held_out=0.1, max_iter=500, random_state=seed, verbose=0).fit(train)
        for seed in range(3)
    ]
    assert all(model.perplexity(test) < 0.9 * plain.perplexity(test) for model in tries)
    tempered = min(tries, key=lambda model: model.temper_)
    assert 0.2 < tempered.temper_ < 1
    assert plain.temper_ == 1
    history, fitted = tempered.history_, tempered.fit_
    assert fitted.converged
    assert (np.diff(history["temper"][:-10]) <= 0).all()  # β only falls, until the last sweeps
    assert np.isnan(history["held_out"][-10:]).all()
    best = np.nanargmax(history["held_out"])
    assert history["temper"][best] == tempered.temper_ == history["temper"][-1]
    assert fitted.expected_counts.sum() == pytest.approx(train.n_tokens, rel=1e-5)  # all tokens
    assert len({model.history_["held_out"][0] for model in tries}) == 3


def test_what_tempering_asks_for():
    counts, *_ = problem(6)
    with pytest.raises(InvalidParameter, match=r"held_out must lie between 0 and 1; got 1.5"):
        dcomp.PLSA(2, held_out=1.5, verbose=0).fit(counts)
    with pytest.raises(InvalidParameter, match=r"tempered-em is maximum.*alpha = 1.5"):
        dcomp.LDA(2, algorithm="tempered-em", alpha=1.5, verbose=0).fit(counts)
    with pytest.raises(InvalidParameter, match="of 3 tokens leaves nothing on one side"):
        dcomp.PLSA(1, held_out=0.001, verbose=0).fit([[1, 2]])
    with pytest.warns(dcomp.ConvergenceWarning, match="before its schedule was over"):
        dcomp.PLSA(2, held_out=0.2, max_iter=3, verbose=0).fit(counts)


def test_gap_by_em_from_the_estimator():
    truth = GammaPoisson.build(3, alpha=1.3, beta=0.05, gamma=0.1)
    features = Counts.from_matrix(np.ones((1, 30), int)).features
    counts, *_ = truth.simulate(features, np.ones(60), np.random.default_rng(5))
    model = dcomp.GaP(3, algorithm="map", verbose=0).fit(counts)
    assert (model.fit_.model.scores.alpha == 1.1).all()
    assert model.fit_.model.scores.learned == ()
    expected = 1.1 * 3 / (counts.n_tokens / counts.n_docs)  # Σ α/β is the mean length
    np.testing.assert_allclose(model.fit_.model.scores.beta, expected)
    again = model.transform(counts)
    assert np.isfinite(again).all()
    rate = again @ model.components_
    assert np.corrcoef(rate.ravel(), counts.to_scipy().toarray().ravel())[0, 1] > 0.5
    by_length = dcomp.GaP(3, algorithm="map", exposure="total", verbose=0).fit(
        counts.rows(np.flatnonzero(counts.doc_totals > 0))
    )
    assert by_length.fit_.exposure is not None


def test_a_learned_rate_comes_from_the_means_of_the_scores():
    counts, *_ = problem(7, n_docs=60, n_features=30)
    model = GammaPoisson.build(2, alpha=1.1, beta=0.2, gamma=0.1, learn_beta=True)
    fitted = fit(counts, model, MapEM())
    scores = fitted.model.scores
    mean = ((scores.alpha + fitted.state.c) / (scores.beta + 1)).mean(axis=0)
    np.testing.assert_allclose(scores.alpha / mean, scores.beta, rtol=0.05)
    assert (scores.beta != 0.2).all()


def test_where_no_mode_exists():
    counts, *_ = problem(6)
    with pytest.raises(InvalidParameter, match=r"alpha >= 1.*got alpha = 0.5"):
        dcomp.GaP(2, algorithm="map", alpha=0.5, verbose=0).fit(counts)
    with pytest.raises(UnsupportedCombination, match="does not learn alpha"):
        fit(counts, DirichletMultinomial.build(2, alpha=1.5, learn_alpha=True), MapEM())
    with pytest.raises(InvalidParameter, match="needs gamma >= 1"):
        dcomp.LDA(2, algorithm="map", loadings="map", verbose=0).fit(counts)
    with pytest.raises(
        UnsupportedCombination, match="burn_in= is an option of the samplers, not map"
    ):
        dcomp.LDA(2, algorithm="map", burn_in=3, verbose=0).fit(counts)
    with pytest.raises(UnsupportedCombination, match="gamma='auto'"):
        dcomp.LDA(2, algorithm="map", gamma="auto", verbose=0).fit(counts)
    with pytest.raises(UnsupportedCombination, match="CGP"):
        dcomp.DCA(2, model="CGP", algorithm="map", verbose=0).fit(counts)


@pytest.mark.parametrize("key", ["DM", "GP"])
@pytest.mark.parametrize("blocks", [None, [0] * 4 + [1] * 5])
@pytest.mark.parametrize("n_parts", [1, 3])
def test_more_m_steps_equal_numpy(key, blocks, n_parts):
    """C04 3.5: scores are held while Θ is stepped again."""
    counts, c, n = problem(5, blocks=blocks)
    model = (
        DirichletMultinomial.build(3, alpha=ALPHA, gamma=1.7)
        if key == "DM"
        else GammaPoisson.build(3, alpha=ALPHA, beta=BETA, gamma=1.7)
    )
    observed = Observations.build(counts)
    prior, e, W = (
        np.full(9, 1.7),
        observed.total_exposure,
        counts.to_scipy().toarray().astype(float),
    )

    def scores(c):
        if key == "DM":
            return reference.dirichlet_scores(c, ALPHA)
        return reference.gamma_scores(c, ALPHA, BETA, e)

    Theta = reference.loadings(n, prior, counts.features.blocks)
    expected_c, expected_n = reference.allocate(W, scores(c), Theta)
    for _ in range(2):
        Theta = reference.loadings(expected_n, prior, counts.features.blocks)
        _, expected_n = reference.allocate(W, scores(expected_c), Theta)
    cut = Observations.build(counts.in_parts(n_parts))
    algorithm = MapEM(dtype="float64", max_inner=1, inner_tol=0, loadings="map", m_steps=3)
    state = State.whole(model, c, n, 0).cut(cut.parts)
    state, _ = algorithm.step(cut, state, LocalExecutor(1))
    np.testing.assert_allclose(state.n, expected_n, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        state.gathered(LocalExecutor(1)).c, expected_c, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("key", ["DM", "GP"])
@pytest.mark.parametrize("treatment", ["mean", "map"])
def test_more_m_steps_climb_faster_and_never_fall(key, treatment):
    counts, *_ = problem(6, n_docs=40, n_features=25)
    model = (
        DirichletMultinomial.build(4, alpha=1.1, gamma=1.2)
        if key == "DM"
        else GammaPoisson.build(4, alpha=1.1, beta=0.5, gamma=1.2)
    )
    ends = []
    for m_steps in (1, 5):
        algorithm = MapEM(loadings=treatment, dtype="float64", start="seeded", m_steps=m_steps)
        observed, path = Observations.build(counts), []
        state = algorithm.init(model, observed, 0)
        for _ in range(25):
            state, info = algorithm.step(observed, state, LocalExecutor(1))
            path.append(info.objective)
        assert (np.diff(path) > -1e-9 * abs(path[0])).all()
        ends.append(path[-1])
    assert ends[1] > ends[0]
    with pytest.raises(InvalidParameter, match="m_steps must be at least 1; got 0"):
        MapEM(m_steps=0)


@pytest.mark.parametrize("exposure", [None, "total"])
def test_a_scale_for_every_theme(exposure):
    """C04 3.1: c_k = α_k/β_k is the mean of theme k. It is estimated from E[l | c], because the
    joint mode of scores and scales does not exist (MODELS §7)."""
    counts, c, n = problem(7)
    counts, c = counts.rows(slice(1, None)), c[1:]
    observed = Observations.build(counts, exposure)
    model = GammaPoisson.build(3, alpha=1.1, beta=BETA, learn_beta=True)
    state, _ = native_step(model, observed, c, n)
    mean = ((1.1 + state.c) / (BETA + observed.total_exposure[:, None])).mean(axis=0)
    np.testing.assert_allclose(state.model.scores.beta, 1.1 / mean, rtol=1e-9)

    options = {"algorithm": "map", "exposure": exposure, "verbose": 0}
    fitted = dcomp.GaP(3, beta="learned", **options).fit(counts).fit_
    scale = fitted.model.scores.alpha / fitted.model.scores.beta
    assert len(set(scale.tolist())) == 3
    expected = (1.1 + fitted.expected_counts) / (
        fitted.model.scores.beta + observed.total_exposure[:, None]
    )
    np.testing.assert_allclose(scale, expected.mean(axis=0), rtol=0.05)
    one = dcomp.GaP(3, **options).fit(counts).fit_.model.scores
    assert len(set(one.beta.tolist())) == 1


def test_a_learned_scale_where_there_is_none():
    X = [[3, 1], [0, 4]]
    with pytest.raises(InvalidParameter, match="beta='learned' needs a prior of the scores"):
        dcomp.DCA(2, model="GP", algorithm="ml", beta="learned", gamma=1.0, verbose=0).fit(X)
    assert dcomp.GaP(2, beta="learned", verbose=0).fit(X).fit_.model.scores.learn_beta
