"""Draws given counts: the right distribution, always finite, and none that a chain would notice.

The Kolmogorov-Smirnov tests have fixed seeds and a false-alarm rate of 1e-4 each; a distribution
that is slightly off must fail (the negative controls)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, binomtest, gamma, kstest

import dcomp
from dcomp import registry
from dcomp.data import FeatureSpace
from dcomp.inference import CollapsedGibbs, DrawPlan, Gibbs, Keep, draw_given_counts
from dcomp.models import MODELS

SAMPLED = [key for key, names in registry.supported().items() if "gibbs" in names]
ALARM = 1e-4
ROWS = 20_000
C = np.array([3, 0, 1], np.int32)
ALPHA, BETA, RHO = np.array([0.3, 0.8, 2.0]), np.array([0.5, 1.5, 1.0]), np.array([0.3, 0.6, 0.2])
OPTIONS = {"DM": {}, "GP": {"beta": BETA}, "CGP": {"beta": BETA, "rho": RHO}, "TM": {}}


def scores_of(key, exposure=None, seed=0, sweep=1, n_threads=2):
    """Many documents with one c: as many independent draws."""
    model = MODELS[key].build(3, alpha=ALPHA, **OPTIONS[key])
    c = np.tile(C, (ROWS, 1))
    exposure = None if exposure is None else np.full(ROWS, exposure)
    n = np.zeros((1, 3), np.int32)
    features = FeatureSpace.build(1)
    options = {"seed": seed, "sweep": sweep, "n_threads": n_threads}
    return draw_given_counts(model, features, exposure, c, n, **options).scores


def test_dirichlet_scores():
    m = scores_of("DM")
    np.testing.assert_allclose(m.sum(axis=1), 1, rtol=1e-5)
    a = ALPHA + C
    for k in range(3):
        assert kstest(m[:, k], beta(a[k], a.sum() - a[k]).cdf).pvalue > ALARM
        assert kstest(m[:, k], beta(1.05 * a[k], a.sum() - a[k]).cdf).pvalue < ALARM
    expected = (np.diag(a) / a.sum() - np.outer(a, a) / a.sum() ** 2) / (a.sum() + 1)
    np.testing.assert_allclose(np.cov(m.T), expected, atol=0.002)


@pytest.mark.parametrize("exposure", [None, 2.5])
def test_gamma_scores(exposure):
    scores = scores_of("GP", exposure)
    rate = BETA + (exposure or 1.0)
    for k in range(3):
        assert kstest(scores[:, k], gamma(ALPHA[k] + C[k], scale=1 / rate[k]).cdf).pvalue > ALARM
        wrong = gamma(ALPHA[k] + C[k], scale=1.05 / rate[k])
        assert kstest(scores[:, k], wrong.cdf).pvalue < ALARM


@pytest.mark.parametrize("exposure", [None, 2.5])
def test_zeros_come_as_often_as_they_should(exposure):
    scores = scores_of("CGP", exposure)
    model = MODELS["CGP"].build(3, alpha=ALPHA, **OPTIONS["CGP"])
    q0 = model.scores.zero_probability(np.array([exposure or 1.0]))[0, 1]
    assert (scores[:, [0, 2]] > 0).all()  # components with words
    zeros = int((scores[:, 1] == 0).sum())
    assert binomtest(zeros, ROWS, q0).pvalue > ALARM
    assert binomtest(zeros, ROWS, RHO[1]).pvalue < ALARM
    rest = scores[scores[:, 1] > 0, 1]
    assert kstest(rest, gamma(ALPHA[1], scale=1 / (BETA[1] + (exposure or 1.0))).cdf).pvalue > ALARM


def test_loadings_in_blocks():
    """As many equal columns as draws are wanted."""
    blocks = np.array([0, 1, 0, 1, 1], np.int32)
    prior = np.array([0.2, 0.5, 1.0, 0.3, 0.4])
    n = np.tile(np.array([[4], [0], [1], [2], [0]], np.int32), (1, ROWS))
    model = MODELS["DM"].build(ROWS, gamma=prior)
    space = FeatureSpace(None, blocks)
    draw = draw_given_counts(
        model, space, None, np.zeros((1, ROWS), np.int32), n, seed=1, sweep=1, kinds=("loadings",)
    )
    assert draw.scores is None
    a = prior + n[:, 0]
    for j, block in enumerate(blocks):
        rest = a[blocks == block].sum() - a[j]
        assert kstest(draw.Theta[j], beta(a[j], rest).cdf).pvalue > ALARM
    for block in (0, 1):
        np.testing.assert_allclose(draw.Theta[blocks == block].sum(axis=0), 1, rtol=1e-5)


def test_seeds_and_sweeps_differ_and_threads_do_not():
    one = scores_of("CGP", 2.0, n_threads=1)
    assert np.array_equal(one, scores_of("CGP", 2.0, n_threads=7))
    for other in (scores_of("CGP", 2.0, seed=1), scores_of("CGP", 2.0, sweep=2)):
        both = (one[:, 0] > 0) & (other[:, 0] > 0)
        assert abs(np.corrcoef(one[both, 0], other[both, 0])[0, 1]) < 0.04


@pytest.mark.parametrize("gamma", [1e-3, 1e-10, 1e-18])
@pytest.mark.parametrize("key", SAMPLED)
def test_extreme_priors_leave_no_nan(key, gamma):
    options = {name: 1e-3 if name == "beta" else value for name, value in OPTIONS[key].items()}
    alpha = dict.fromkeys(("a1", "a2", "b") if key == "TM" else ("alpha",), gamma)
    model = MODELS[key].build(3, gamma=gamma, **alpha, **options)
    c, n = np.zeros((50, 3), np.int32), np.zeros((40, 3), np.int32)
    c[:20, 0], n[7, 1] = 1_000_000, 1
    for exposure in (None, np.zeros(50)):
        draw = draw_given_counts(model, FeatureSpace.build(40), exposure, c, n, seed=0, sweep=1)
        assert np.isfinite(draw.scores).all()
        assert np.isfinite(draw.Theta).all()
        assert (draw.Theta >= 0).all()
        np.testing.assert_allclose(draw.Theta.sum(axis=0), 1, rtol=1e-5)
        if not model.has_exposure:
            np.testing.assert_allclose(draw.scores.sum(axis=1), 1, rtol=1e-5)
        else:
            assert ((draw.scores == 0).any()) == (key == "CGP")


def test_what_a_plan_says():
    counts = dcomp.Counts.from_matrix(np.ones((3, 5), int))
    keep = Keep(n=2, every=10, kinds=("assignments", "loadings", "scores"))
    plan = DrawPlan.for_fit(keep, 100, 4, counts, K=7)
    times = 20 * 4
    assert plan.parts == {
        "scores": times * 4 * 7 * 3,
        "loadings": times * 4 * 7 * 5,
        "assignments": times * 2 * 15,
    }
    assert str(plan) == (
        "keeping 20 draws of each of 4 chains: scores 6.6 KiB, loadings 10.9 KiB, "
        "assignments 2.3 KiB"
    )
    plan.check(plan.total)
    with pytest.raises(dcomp.InvalidParameter) as raised:
        plan.check(plan.total - 1)
    for words in ("20 draws of 4 chains take 19.8 KiB", "scores 6.6 KiB", "or fewer chains"):
        assert words in str(raised.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 3, "every": 2}, "of every 2 recorded sweeps .* got n = 3"),
        ({"n": -1}, "got n = -1"),
        ({"n": 0, "every": 0}, "of every 0 recorded sweeps"),
        ({"n": 1, "kinds": ("scores", "words")}, "scores, loadings, assignments; got 'words'"),
    ],
)
def test_rules_that_cannot_be(options, message):
    with pytest.raises(dcomp.InvalidParameter, match=message):
        Keep(**options)


def test_who_has_assignments():
    keep = Keep(n=1, every=2, kinds=("assignments",))
    assert CollapsedGibbs(keep=keep).keep.kinds == ("assignments",)
    with pytest.raises(dcomp.UnsupportedCombination, match="use collapsed-gibbs"):
        Gibbs(keep=keep)
