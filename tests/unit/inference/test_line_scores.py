"""Long documents along lines: exact against quadrature, alike for all seeds; splits are neither."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln

from dcomp.data import Counts
from dcomp.executors import LocalExecutor
from dcomp.inference import sampled_scores
from dcomp.inference.line_scores import along_lines, is_for_lines
from dcomp.inference.mean_field import Weights
from dcomp.inference.mixing import effective_sizes
from dcomp.inference.sampled_scores import in_single_precision, sample_scores
from dcomp.models import MODELS, Observations
from dcomp.reference.lines import Document, Walk

CLEAR = np.array([[0.6, 0.1], [0.3, 0.2], [0.1, 0.7]])
ALIKE = np.array([[0.335, 0.333], [0.333, 0.333], [0.332, 0.334]])
NEAR = np.array([[0.36, 0.3], [0.33, 0.33], [0.31, 0.37]])


def draws(model, W, Theta, n_draws=4000, exposure=None, seed=0):
    """Native sweeps of one document along lines: scores (S, K)."""
    observed = Observations.build(Counts.from_matrix([W]), exposure)
    weights = in_single_precision(Weights.of_loadings(Theta).Theta, len(Theta[0]))
    how = {"shape": (n_draws, 1, 20), "seed": seed, "sweep": 0, "n_threads": 1}
    return along_lines(model, observed, np.arange(1), weights, None, **how)[1][:, 0].astype(float)


def shares_by_quadrature(w, Theta, alpha):
    """Mean and deviation of the first share of DM, on the scale of log odds."""
    x = np.linspace(-80, 80, 400_001)
    log_m = np.stack([-np.logaddexp(0, -x), -np.logaddexp(0, x)])
    f = np.asarray(alpha) @ log_m + w @ np.log(Theta @ np.exp(log_m))
    p = np.exp(f - f.max())
    p /= p.sum()
    mean = p @ np.exp(log_m[0])
    return mean, np.sqrt(p @ np.exp(2 * log_m[0]) - mean**2)


@pytest.mark.parametrize("length", [30, 3_000, 2_400_000])
@pytest.mark.parametrize("alpha", [(0.1, 0.1), (0.4, 0.9), (5.0, 3.0)])
@pytest.mark.parametrize("Theta", [CLEAR, ALIKE], ids=["clear", "alike"])
def test_shares_are_those_of_the_integral(length, alpha, Theta):
    w = np.random.default_rng(length).multinomial(length, Theta @ [0.3, 0.7])
    exact, deviation = shares_by_quadrature(w, Theta, alpha)
    found = draws(MODELS["DM"].build(2, alpha=alpha), w, Theta)[:, 0]
    ess = float(effective_sizes(found[:, None])[0])
    assert ess > 400
    assert abs(found.mean() - exact) < 4.5 * deviation / np.sqrt(ess)
    assert found.std() == pytest.approx(deviation, rel=0.12)


def scores_by_quadrature(w, Theta, model, e):
    """E[l] and P(l = 0) of two gamma scores that may be 0, by a grid of their logs."""
    prior = model.scores
    alpha, beta = prior.alpha, prior.beta
    rho = getattr(prior, "rho", np.full(2, 1e-300))
    u = [np.linspace(-40, np.log(4 * (w.sum() + 9) / (b + e)), 2401) for b in beta]
    step = [x[1] - x[0] for x in u]
    with np.errstate(under="ignore"):
        one = [
            alpha[k] * (np.log(beta[k]) + u[k]) - gammaln(alpha[k]) - beta[k] * np.exp(u[k])
            + np.log1p(-rho[k]) + np.log(step[k])
            for k in (0, 1)
        ]  # fmt: skip
        l0, l1 = np.exp(u[0]), np.exp(u[1])

        def words(a, b):
            y = Theta[:, 0, None, None] * a + Theta[:, 1, None, None] * b
            return np.tensordot(w, np.log(np.maximum(y, 1e-300)), axes=1) - e * (a + b)

        both = one[0][:, None] + one[1] + words(l0[:, None], l1[None])
        first = one[0] + np.log(rho[1]) + words(l0[:, None], np.zeros((1, 1)))[:, 0]
        second = one[1] + np.log(rho[0]) + words(np.zeros((1, 1)), l1[None])[0]
        top = max(x.max() for x in (both, first, second))
        both, first, second = (np.exp(x - top) for x in (both, first, second))
    total = both.sum() + first.sum() + second.sum()
    mean = np.array([both.sum(1) @ l0 + first @ l0, both.sum(0) @ l1 + second @ l1]) / total
    return mean, np.array([second.sum(), first.sum()]) / total


CASES = {
    "GP": (MODELS["GP"].build(2, alpha=[0.4, 1.9], beta=[0.05, 0.02]), [200, 190, 195], NEAR),
    "CGP sparse": (
        MODELS["CGP"].build(2, alpha=[0.4, 0.9], beta=[0.05, 0.02], rho=[0.3, 0.6]),
        [200, 190, 195],
        NEAR,
    ),
    "CGP broad": (
        MODELS["CGP"].build(2, alpha=[2.0, 3.0], beta=[0.05, 0.02], rho=[0.3, 0.6]),
        [200, 190, 195],
        NEAR,
    ),
    "CGP short": (
        MODELS["CGP"].build(2, alpha=[0.4, 0.9], beta=[0.05, 0.02], rho=[0.3, 0.6]),
        [20, 10, 5],
        CLEAR,
    ),
}


def z_of(found, exact, deviation):
    ess = np.maximum(effective_sizes(found), 1)
    return np.abs(found.mean(axis=0) - exact) / np.maximum(deviation / np.sqrt(ess), 1e-9)


@pytest.mark.parametrize("name", CASES)
def test_scores_and_zeros_are_those_of_the_integral(name):
    model, w, Theta = CASES[name]
    mean, zero = scores_by_quadrature(np.array(w), Theta, model, 1.0)
    found = draws(model, w, Theta, 30_000)
    assert (z_of(found, mean, found.std(axis=0)) < 4.5).all()
    empty = (found == 0).astype(float)
    assert (z_of(empty, zero, np.sqrt(zero * (1 - zero)) + 1e-4) < 4.5).all()


def test_a_wrong_prior_is_seen():
    """The same measure, with a ρ that is not the sampler's."""
    model, w, Theta = CASES["CGP broad"]
    wrong = model.with_scores(rho=np.array([0.45, 0.6]))
    _, zero = scores_by_quadrature(np.array(w), Theta, wrong, 1.0)
    empty = (draws(model, w, Theta, 30_000) == 0).astype(float)
    assert z_of(empty, zero, np.sqrt(zero * (1 - zero)) + 1e-4)[0] > 10


@pytest.mark.parametrize("name", ["GP", "CGP broad"])
def test_the_reference_is_exact_too(name):
    model, w, Theta = CASES[name]
    prior = model.scores
    zeros = {"beta": prior.beta, "rho": prior.rho} if hasattr(prior, "rho") else {}
    one = Document(np.array(w, float), Theta, prior.alpha, prior.beta + 1.0, **zeros)
    walk = Walk(one, np.random.default_rng(1))
    found = np.array([walk.sweep() for _ in range(1500)])
    mean, zero = scores_by_quadrature(np.array(w), Theta, model, 1.0)
    assert (z_of(found, mean, found.std(axis=0)) < 4.5).all()
    assert (z_of((found == 0) * 1.0, zero, np.sqrt(zero * (1 - zero)) + 1e-3) < 4.5).all()


@pytest.fixture(scope="module")
def stubborn():
    """A document of 2.4 million words whose components 0, 1 and 2 hardly differ."""
    rng = np.random.default_rng(5)
    Theta = rng.dirichlet(np.full(96, 0.3), 6).T
    Theta[:, 1:3] = 0.999 * Theta[:, :1] + 0.001 * Theta[:, 1:3]
    return Theta, rng.multinomial(2_400_000, Theta @ [0.2, 0.1, 0.2, 0.3, 0.2, 0.0])[None]


def of_seeds(stubborn, key="DM", **how):
    Theta, W = stubborn
    options = {"alpha": 0.3} | ({} if key == "DM" else {"beta": 1e-6})
    model = MODELS[key].build(6, **options)
    where = (Observations.build(Counts.from_matrix(W)), Weights.of_loadings(Theta))
    return [
        sample_scores(model, *where, LocalExecutor(1), n_draws=200, seed=seed, **how)
        for seed in range(3)
    ]


def disagreement(found):
    """The largest difference of means over its standard error, over pairs of seeds."""
    mean = np.array([x.mean[0] for x in found], float)
    error = np.array([x.sd[0] / np.sqrt(x.ess[0]) for x in found], float)
    pairs = [(0, 1), (0, 2), (1, 2)]
    z = [np.abs(mean[a] - mean[b]) / np.hypot(error[a], error[b]) for a, b in pairs]
    return float(np.max(z))


@pytest.mark.parametrize("key", ["DM", "GP", "CGP"])
def test_seeds_agree_on_a_document_of_millions(stubborn, key):
    found = of_seeds(stubborn, key)
    assert all(x.ess[0] >= x.enough for x in found)
    assert disagreement(found) < 4


def test_splits_alone_stay_where_they_begin(stubborn, monkeypatch):
    """What the lines are for: draws of splits seem sure of shares that the words leave open."""
    along = of_seeds(stubborn)[0]
    monkeypatch.setattr(sampled_scores, "is_for_lines", lambda *_: np.zeros(1, bool))
    splits = of_seeds(stubborn, min_ess=0)[0]
    assert splits.ess[0] < 20
    assert (splits.sd[0, :3] < 0.2 * along.sd[0, :3]).all()


def test_which_documents_go_along_lines():
    """Many words, and many of each feature: not a long text, whose splits are of few words each."""
    table = np.zeros((3, 1000), int)
    table[0, :2] = 90_000, 1
    table[1, :3] = 5000
    table[2] = 30
    observed = Observations.build(Counts.from_matrix(table))
    assert is_for_lines(MODELS["GP"].build(2), observed).tolist() == [True, False, False]
    assert not is_for_lines(MODELS["TM"].build(2, a1=0.7, a2=1.6), observed).any()
