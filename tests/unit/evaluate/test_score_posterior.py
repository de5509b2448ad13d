"""The posterior of scores summed up, against integrals over two components."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats

import dcomp
from dcomp.evaluate import score_posterior
from dcomp.evaluate.score_posterior import matched_dirichlet, matched_gamma
from dcomp.models import MODELS

THETA = np.array([[0.6, 0.1], [0.3, 0.3], [0.1, 0.6]])
WORDS = np.array([[5, 4, 1], [1, 0, 0], [2, 9, 12]])


def fit_with(key, Theta, **priors):
    """A fit whose loadings and priors are these: n is so large that γ says nothing."""
    X = np.random.default_rng(0).poisson(2.0, (20, 3))
    fit = dcomp.fit(X, MODELS[key].build(2, **priors), tol=1e-2)
    state = fit.state.changed(n=1e7 * Theta, model=MODELS[key].build(2, **priors))
    return replace(fit, state=state)


def dirichlet_moments(words, alpha):
    """Mean and sd of m_0 by quadrature over the posterior p(w | m) m_0^(α−1) (1 − m_0)^(α'−1)."""

    def density(x):
        m = np.array([x, 1 - x])
        return np.prod((THETA @ m) ** words) * x ** (alpha[0] - 1) * (1 - x) ** (alpha[1] - 1)

    scale = max(density(x) for x in np.linspace(0.01, 0.99, 99))
    z, first, second = (
        integrate.quad(lambda x, p=p: x**p * density(x) / scale, 0, 1, limit=200)[0]
        for p in range(3)
    )
    return first / z, np.sqrt(second / z - (first / z) ** 2)


ALPHA = [1.3, 0.8]


@pytest.fixture(scope="module")
def found():
    """40,000 draws, some 4,000 of them effective: deviations within 3 % in 99 of 100 runs, and the
    seed is fixed."""
    return score_posterior(fit_with("DM", THETA, alpha=ALPHA), WORDS, n_draws=40_000)


def test_the_dirichlet_against_an_integral(found):
    for i, words in enumerate(WORDS):
        mean, sd = dirichlet_moments(words, ALPHA)
        assert found.mean[i, 0] == pytest.approx(mean, rel=0.03)
        assert found.sd[i].tolist() == pytest.approx([sd, sd], rel=0.03)
        # The matched Dirichlet is a beta distribution with these very moments.
        beta = stats.beta(*found.a[i])
        assert beta.mean() == pytest.approx(found.mean[i, 0], rel=1e-5)
        assert beta.std() == pytest.approx(found.sd[i].mean(), rel=1e-3)
    assert found.b is None


def gamma_moments(words, alpha, beta):
    """Means and sds of l_0, l_1 by quadrature over a grid of both."""
    grid = np.linspace(0, 60, 1201)[1:] - 0.025
    first, second = np.meshgrid(grid, grid, indexing="ij")
    mean = THETA[:, 0, None, None] * first + THETA[:, 1, None, None] * second
    log_p = (words[:, None, None] * np.log(mean)).sum(axis=0) - first - second
    for score, a, b in ((first, alpha[0], beta[0]), (second, alpha[1], beta[1])):
        log_p += (a - 1) * np.log(score) - b * score
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    means = [(p * score).sum() for score in (first, second)]
    squares = [(p * score**2).sum() for score in (first, second)]
    return means, [np.sqrt(s - m**2) for s, m in zip(squares, means, strict=True)]


def test_the_gammas_against_an_integral():
    alpha, beta = [2.0, 3.0], [0.5, 0.8]
    fit = fit_with("GP", THETA, alpha=alpha, beta=beta)
    found = score_posterior(fit, WORDS, n_draws=10_000)
    for i, words in enumerate(WORDS):
        means, sds = gamma_moments(words, alpha, beta)
        assert found.mean[i].tolist() == pytest.approx(means, rel=0.03)
        assert found.sd[i].tolist() == pytest.approx(sds, rel=0.04)
        gamma = stats.gamma(found.a[i], scale=1 / found.b[i])
        np.testing.assert_allclose(gamma.mean(), found.mean[i], rtol=1e-6)
        np.testing.assert_allclose(gamma.std(), found.sd[i], rtol=1e-6)


def test_mean_field_is_its_own_q():
    alpha = np.array([1.3, 0.8])
    fit = fit_with("DM", THETA, alpha=alpha)
    own = score_posterior(fit, WORDS, n_draws=50).mean_field
    c = fit.fold_in(WORDS).c
    np.testing.assert_allclose(own.a, alpha + c, rtol=1e-5)
    for i in range(3):
        q = stats.dirichlet(own.a[i])
        np.testing.assert_allclose(own.mean[i], q.mean(), rtol=1e-6)
        np.testing.assert_allclose(own.sd[i], np.sqrt(q.var()), rtol=1e-6)
    gp = fit_with("GP", THETA, alpha=[2.0, 3.0], beta=[0.5, 0.8])
    own = score_posterior(gp, WORDS, exposure=[1.0, 2.0, 3.0], n_draws=50).mean_field
    q = stats.gamma(own.a, scale=1 / own.b)
    np.testing.assert_allclose(own.sd, q.std(), rtol=1e-9)
    np.testing.assert_allclose(own.b[:, 0], [1.5, 2.5, 3.5])


def test_mean_field_is_overconfident(found):
    """Loadings that overlap: mean field's spread is well below that of the posterior, by integral
    as by the ratio that is reported."""
    by_integral = [dirichlet_moments(words, ALPHA)[1] for words in WORDS]
    expected = by_integral / found.mean_field.sd[:, 0]
    np.testing.assert_allclose(found.overconfidence, expected, rtol=0.03)
    assert expected[[0, 2]].min() > 1.2
    assert "times those of mean field" in str(found)


def test_without_overlap_mean_field_is_right():
    Theta = np.array([[1.0, 0.0], [0.0, 0.5], [0.0, 0.5]]) + 1e-12
    found = score_posterior(fit_with("DM", Theta, alpha=0.7), WORDS, n_draws=10_000)
    np.testing.assert_allclose(found.overconfidence, 1, rtol=0.03)
    np.testing.assert_allclose(found.a, found.mean_field.a, rtol=0.08)


@pytest.mark.parametrize("agree", ["variance", "deviation"])
def test_a_dirichlet_is_recovered(agree):
    a = np.array([[0.2, 3.0, 1.1], [50.0, 1.0, 2.0]])
    mean = a / a.sum(axis=1, keepdims=True)
    sd = np.sqrt(mean * (1 - mean) / (1 + a.sum(axis=1, keepdims=True)))
    np.testing.assert_allclose(matched_dirichlet(mean, sd, agree), a, rtol=1e-9)


def test_what_agrees_where_no_dirichlet_fits():
    mean = np.array([[0.5, 0.3, 0.2]])
    sd = np.array([[0.02, 0.2, 0.1]])
    for agree, power in (("variance", 2), ("deviation", 1)):
        q = stats.dirichlet(matched_dirichlet(mean, sd, agree)[0])
        np.testing.assert_allclose(q.mean(), mean[0])
        assert (np.sqrt(q.var()) ** power).sum() == pytest.approx((sd**power).sum())


def test_limits_stay_finite():
    sure = matched_dirichlet(np.array([[1.0, 0.0]]), np.zeros((1, 2)))
    assert np.isfinite(sure).all()
    assert np.isfinite(matched_dirichlet(np.array([[0.5, 0.5]]), np.full((1, 2), 0.9))).all()
    for part in matched_gamma(np.array([[0.0, 1.0]]), np.zeros((1, 2))):
        assert np.isfinite(part).all()


def test_cgp_has_zeros_and_no_mean_field(planted):
    fit = dcomp.DCA(3, model="CGP", max_iter=30, verbose=0).fit(planted[0]).fit_
    found = score_posterior(fit, planted[0].rows(range(20)))
    assert found.mean_field is None
    assert 0 < found.zero.mean() < 1
    assert np.isfinite(found.a).all()
    assert np.isfinite(found.b).all()
    assert "the model has no mean field" in str(found)
    with pytest.raises(dcomp.UnsupportedCombination, match="no mean field to compare with"):
        _ = found.overconfidence
    with pytest.raises(dcomp.InvalidParameter, match="agree must be"):
        score_posterior(fit, planted[0], agree="median")
