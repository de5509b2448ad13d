"""One learned α for all components: the maximum of what α per component maximises."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import digamma
from scipy.stats import dirichlet, gamma

import dcomp
from dcomp.errors import InvalidParameter
from dcomp.inference import CollapsedGibbs, Gibbs, MeanField
from dcomp.models import MODELS, DirichletScores, GammaScores
from dcomp.models.learning import ALPHA_CAP_DM, ALPHA_FLOOR

K, ONE = 4, np.ones(300)
RNG = np.random.default_rng(0)
SHARES = RNG.dirichlet([0.2, 0.5, 1.0, 0.3], 300)
SCORES = RNG.gamma([0.2, 0.5, 1.0, 0.3], [3.0, 1.0, 5.0, 2.0], (300, 4)) + 1e-6
COUNTS = np.array([RNG.multinomial(40, m) for m in SHARES])
TABLE = RNG.poisson(SCORES @ RNG.dirichlet(np.full(12, 0.3), K) * 20)
SHARED = {
    "DM": {"learn_alpha": "shared"},
    "GP": {"learn_alpha": "shared", "learn_beta": True},
    "CGP": {"learn_alpha": "shared", "learn_beta": True, "learn_rho": True},
}


def best(objective):
    """The α of largest objective, by golden sections on its logarithm."""
    found = minimize_scalar(
        lambda x: -objective(np.exp(x)), bracket=(-3.0, 0.0), options={"xtol": 1e-10}
    )
    return np.exp(found.x)


def test_shares_of_mean_field():
    scores = DirichletScores.build(K, 1.0, learn_alpha="shared")
    new, capped = scores.learn_from_moments(np.log(SHARES).sum(axis=0), SHARES.sum(axis=0), 300)
    true = best(lambda a: dirichlet.logpdf(SHARES.T, np.full(K, a)).sum())
    np.testing.assert_allclose(new.alpha, true, rtol=1e-6)
    assert capped == ()


@pytest.mark.parametrize("learn_beta", [True, False])
def test_rates_of_mean_field(learn_beta):
    beta = np.array([0.5, 1.0, 2.0, 0.7])
    scores = GammaScores.build(K, 1.0, beta, learn_alpha="shared", learn_beta=learn_beta)
    sums = np.log(SCORES).sum(axis=0), SCORES.sum(axis=0)
    new, capped = scores.learn_from_moments(*sums, 300)
    means = SCORES.mean(axis=0)
    true = best(
        lambda a: gamma.logpdf(SCORES, a, scale=means / a if learn_beta else 1 / beta).sum()
    )
    np.testing.assert_allclose(new.alpha, true, rtol=1e-6)
    np.testing.assert_allclose(new.beta, true / means if learn_beta else beta, rtol=1e-6)
    assert capped == ()


def test_counts_of_shares():
    scores = DirichletScores.build(K, 1.0, learn_alpha="shared")
    new, capped = scores.learn_from_counts(scores.counts_seen(COUNTS, ONE))
    true = best(lambda a: DirichletScores.build(K, a).log_moment(COUNTS, ONE).sum())
    np.testing.assert_allclose(new.alpha, true, rtol=1e-6)
    assert capped == ()


@pytest.mark.parametrize("key", ["GP", "CGP"])
def test_counts_of_rates(key):
    """EM comes to rest at the maximum over α and β, which no other α with its own β exceeds."""
    scores = MODELS[key].build(K, alpha=1.0, **SHARED[key]).scores
    drawn = np.where(RNG.random(COUNTS.shape) < 0.5, COUNTS, 0)
    for _ in range(400):
        scores, _ = scores.learn_from_counts(scores.counts_seen(drawn, ONE))
    assert np.ptp(scores.alpha) == 0
    top = scores.log_moment(drawn, ONE).sum()
    for factor in (0.9, 1.1):
        other = scores.with_values(alpha=scores.alpha * factor, learn_alpha=False)
        for _ in range(400):
            other, _ = other.learn_from_counts(other.counts_seen(drawn, ONE))
        assert other.log_moment(drawn, ONE).sum() < top


def test_limits():
    even = np.full(K, digamma(1e5) - digamma(K * 1e5))
    scores = DirichletScores.build(K, 1.0, learn_alpha="shared")
    new, capped = scores.learn_from_moments(even, even, 1)
    assert (new.alpha == ALPHA_CAP_DM).all()
    assert capped == ("alpha",)
    new, capped = scores.learn_from_moments(np.full(K, -1e9), even, 1)
    assert (new.alpha == ALPHA_FLOOR).all()
    assert capped == ("alpha",)
    nothing = scores.counts_seen(np.eye(K, dtype=int), np.ones(K))  # a word each: all α alike
    assert scores.learn_from_counts(nothing) == (scores, ())
    alone = DirichletScores.build(1, 0.3, learn_alpha="shared")
    assert alone.learn_from_moments(np.zeros(1), np.ones(1), 1) == (alone, ())


@pytest.mark.parametrize("key", ["DM", "GP"])
def test_the_bound_never_falls(key):
    fit = dcomp.fit(
        TABLE, MODELS[key].build(K, **SHARED[key]), MeanField(), max_iter=40, tol=0, warn=False
    )
    bound = fit.history["objective"]
    assert (np.diff(bound) >= -1e-6 * abs(bound[-1])).all()
    assert np.ptp(fit.model.scores.alpha) == 0
    assert fit.model.scores.alpha[0] != 0.1


@pytest.mark.parametrize("algorithm", [Gibbs(burn_in=5), CollapsedGibbs(burn_in=5)])
@pytest.mark.parametrize("key", SHARED)
def test_samplers_learn_it_and_files_keep_it(tmp_path, key, algorithm):
    model = MODELS[key].build(K, **SHARED[key])
    fit = dcomp.fit(TABLE, model, algorithm, max_iter=10, warn=False)
    assert np.ptp(fit.model.scores.alpha) == 0
    assert fit.model.scores.alpha[0] != 0.1
    dcomp.save(fit, tmp_path / "shared.dcomp")
    again = dcomp.load(tmp_path / "shared.dcomp")
    assert again.model == fit.model
    assert again.model.scores.learn_alpha == "shared"
    on = [dcomp.fit(TABLE, f.model, max_iter=15, resume=f, warn=False) for f in (fit, again)]
    assert on[0].model == on[1].model


def test_estimators_take_it_and_structured_leaves_too():
    for estimator in (
        dcomp.DCA(3, alpha="shared", verbose=0),
        dcomp.LDA(3, alpha="shared", verbose=0),
        dcomp.GaP(3, alpha="shared", algorithm="mean-field", verbose=0),
        dcomp.DCA(3, model="CGP", alpha="shared", max_iter=10, verbose=0),
        dcomp.StructuredDCA(3, alpha="shared", max_iter=10, verbose=0),
    ):
        alpha = estimator.fit(TABLE).fit_.model.scores.alpha
        assert np.ptp(alpha) == 0
        assert alpha[0] != 1 / 3


@pytest.mark.parametrize(("model", "algorithm"), [("DM", "map"), ("GP", "map"), ("GP", "ml")])
def test_what_does_not_learn_alpha_says_so(model, algorithm):
    with pytest.raises(InvalidParameter, match="alpha='shared' is one learned number"):
        dcomp.DCA(3, model=model, algorithm=algorithm, alpha="shared", verbose=0).fit(TABLE)


def test_one_number_does_not_begin_as_several():
    for build in (DirichletScores.build, GammaScores.build, MODELS["CGP"].scores_type.build):
        with pytest.raises(InvalidParameter, match="a shared alpha is one number"):
            build(2, [0.1, 0.2], learn_alpha="shared")
