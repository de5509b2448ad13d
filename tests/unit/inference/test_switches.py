"""Components of long documents that are not there: MODELS §12, `kernels/switch.hpp`.

That the step leaves the posterior as it is, is tested by enumeration
(tests/exact/test_samplers.py); here it is tested that it gets there, which single tokens do not.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.optimize import linear_sum_assignment

import dcomp
from dcomp import _core
from dcomp.data import Counts
from dcomp.inference import ALGORITHMS, gibbs
from dcomp.models import ConditionalGammaPoisson, Observations

K = 8


def planted(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Documents of 10^2 to 10^5 words with two of eight components each."""
    rng = np.random.default_rng(seed)
    Theta = rng.dirichlet(np.full(40, 0.3), K).T
    present = np.argsort(rng.random((120, K)), axis=1) < 2
    l = np.where(present, rng.gamma(1.5, size=(120, K)), 0)  # noqa: E741
    l *= (10 ** rng.uniform(2, 5, 120) / l.sum(axis=1))[:, None]  # noqa: E741
    return rng.poisson(l @ Theta.T), Theta, present


def test_zeros_of_long_documents_are_found():
    X, Theta, present = planted(1)
    how = {"max_iter": 150, "start": "mean-field", "exposure": "total", "verbose": 0}
    model = dcomp.DCA(K, model="CGP", algorithm="gibbs", random_state=0, **how).fit(X)
    cosine = (model.components_ @ Theta) / np.linalg.norm(model.components_, axis=1)[:, None]
    place = linear_sum_assignment(-cosine / np.linalg.norm(Theta, axis=0))[1]
    recorded = model.fit_.state.locals[0].recorded
    absent = recorded.zeros > 0.5 * 75
    hits = absent & ~present[:, place]
    assert hits.sum() / absent.sum() > 0.9
    assert hits.sum() / (~present).sum() > 0.9
    rho = model.fit_.model.scores.rho
    np.testing.assert_allclose(rho, (~present).mean(axis=0)[place], atol=0.2)
    assert abs(rho.mean() - 0.75) < 0.1


def test_single_words_do_not_find_the_zeros(monkeypatch):
    """From a random start ρ is learned with the step, and stays near 0 without: over eight pairs of
    tables and seeds it was 0.53 to 0.71 and 0.006 to 0.05, where 0.75 is planted."""
    X, *_ = planted(2)
    how = {"max_iter": 150, "start": "random", "exposure": "total", "verbose": 0}
    model = dcomp.DCA(K, model="CGP", algorithm="gibbs", random_state=1, **how)
    assert model.fit(X).fit_.model.scores.rho.mean() > 0.5
    monkeypatch.setattr(gibbs, "SWITCH_FROM", 10**12)
    assert model.fit(X).fit_.model.scores.rho.mean() < 0.2


@pytest.mark.parametrize("algorithm", ["gibbs", "collapsed-gibbs"])
def test_the_priors_of_short_documents_are_recovered(algorithm):
    """Learned in every sweep from the middle of the burn-in on; every fifth leaves ρ at 0.47 and
    0.49, and α at 0.12 and 0.14."""
    truth = ConditionalGammaPoisson.build(15, alpha=1.0, beta=0.03, rho=0.8, gamma=0.05)
    features = dcomp.Counts.from_matrix(np.ones((1, 300), int)).features
    counts, *_ = truth.simulate(features, np.ones(300), np.random.default_rng(0))
    how = {"model": "CGP", "algorithm": algorithm, "gamma": 0.05, "verbose": 0}
    scores = dcomp.DCA(15, max_iter=150, **how).fit(counts).fit_.model.scores
    assert abs(scores.rho.mean() - 0.8) < 0.1
    assert abs(scores.alpha.mean() - 1.0) < 0.2


def test_who_learns_in_every_sweep():
    """What can be 0, unless it is told otherwise."""
    X = np.random.default_rng(0).poisson(2.0, (9, 5))
    for name, model, options, every in (
        ("gibbs", "CGP", {}, 1),
        ("collapsed-gibbs", "CGP", {}, 1),
        ("collapsed-gibbs", "CGP", {"learn_every": 3}, 3),
        ("gibbs", "DM", {}, 5),
    ):
        algorithm = ALGORITHMS[name](burn_in=1, **options)
        ends = []
        for sweeps in range(every, every + 2):
            how = {"model": model, "algorithm": algorithm, "max_iter": sweeps, "start": None}
            ends.append(dcomp.DCA(2, verbose=0, **how).fit(X).fit_.model.scores.alpha)
        begun = dcomp.DCA(2, verbose=0, model=model).recipe.resolve(dcomp.as_counts(X)).model
        assert not np.array_equal(ends[0], begun.scores.alpha)
        assert np.array_equal(*ends) == (every > 1)


@pytest.mark.parametrize("alpha", [0.3, 2.5])
def test_the_chance_of_a_zero_is_that_of_the_integral(alpha):
    """One document of a thousand words, Θ and the other score all but given: the share of draws in
    which the second score is 0 is ρ : (1 − ρ) B with B by quadrature."""
    w, Theta = np.array([520, 480]), np.array([[0.52, 0.7], [0.48, 0.3]])
    beta, rho, rate = 0.05, 0.6, 1000.0
    fixed = 1e7  # a gamma of this shape is a number
    numbers = {"alpha": [fixed, alpha], "beta": [fixed / rate, beta], "rho": [0.0, rho]}
    prior = _core.ScorePrior("CGP", {name: np.array(value) for name, value in numbers.items()})
    observed = Observations.build(Counts.from_matrix(w[None]))
    weights = np.zeros((2, -(-2 // _core.lanes()) * _core.lanes()), np.float32)
    weights[:, :2] = Theta
    c, out = np.array([[1000, 0]], np.int32), np.zeros((1, 2), np.int32)
    draws = []
    for seed in range(6000):
        scores = np.zeros((1, 2), np.float32)
        where = (observed.corpus, weights, np.zeros(2), prior, c, out, None, scores)
        _core.sample(*where, seed, 1, 1)
        draws.append(scores[0, 1] == 0)
        c = out.copy()

    def odds_of_being_there(u: float) -> float:  # u = P(l < x): no pole at 0
        x = stats.gamma.ppf(u, alpha, scale=1 / beta)
        gain = w @ np.log1p(Theta[:, 1] * x / (Theta[:, 0] * rate)) - x
        return float(np.exp(gain))

    B = integrate.quad(odds_of_being_there, 0, 1, limit=400, points=[0.01, 0.1, 0.5, 0.9])[0]
    expected = rho / (rho + (1 - rho) * B)
    batches = np.reshape(draws, (60, 100)).mean(axis=1)
    error = batches.std(ddof=1) / np.sqrt(60)
    assert 0.02 < expected < 0.98
    assert abs(batches.mean() - expected) < 4.5 * error


def test_new_documents_are_scored_where_no_score_is_ever_zero():
    """ρ = 0, as learning may end; long documents go along lines, which must know it too."""
    rng = np.random.default_rng(2)
    X = rng.poisson(30, (20, 6))
    model = dcomp.DCA(2, model="CGP", rho=0.0, alpha=1.0, beta=1.0, max_iter=10, verbose=0).fit(X)
    assert np.isfinite(model.transform(X * 20)).all()
