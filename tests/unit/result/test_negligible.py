"""The share of negligible scores, against numbers worked out by hand and against draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dcomp
from dcomp.cli.show import Ranking, as_record, summary_lines
from dcomp.inference.state import Recorded, State
from dcomp.models import MODELS
from dcomp.result import NegligibleScores
from dcomp.result import negligible as module


def state(key, c, recorded=None, **priors):
    c = np.array(c)
    model = MODELS[key].build(c.shape[1], **priors)
    return State.whole(model, c, np.zeros((2, c.shape[1])), 1, recorded=recorded)


def record(c, zeros, count):
    as_floats = [None if x is None else np.array(x, np.float32) for x in (c, zeros)]
    return Recorded(np.zeros((2, len(c[0])), np.float32), *as_floats, count)


def build(state, threshold=None, unit="words", exposure=1.0):
    return NegligibleScores.build(state, np.full(len(state.c), exposure), threshold, unit)


def test_words_by_hand():
    found = build(state("DM", [[3.0, 0.009, 0.0], [0.5, 0.01, 2.0]]))
    assert (found.threshold, found.unit) == (0.01, "words")
    assert found.share == pytest.approx(2 / 6)  # 0.01 itself is not below
    np.testing.assert_allclose(found.of_component, [0, 0.5, 0.5])
    np.testing.assert_allclose(found.of_document, [2 / 3, 0])
    assert found.zero is None
    assert found.zero_of_component is None
    assert build(state("DM", [[3.0, 0.4, 0.0], [0.5, 0.01, 2.0]]), 0.5).share == pytest.approx(0.5)


def test_words_of_a_sampler_are_means_over_recorded_sweeps():
    recorded = record([[50, 1], [0, 9]], None, 200)
    found = build(state("GP", [[9, 9], [0, 0]], recorded))  # the last draw would say 0 and 1
    np.testing.assert_allclose(found.of_document, [0.5, 0.5])
    np.testing.assert_allclose(found.of_component, [0.5, 0.5])
    assert build(state("GP", [[9, 9], [0, 0]], recorded), 0.1).share == 0.75


def test_normalised_by_hand():
    # Beta(1, b) has the distribution function 1 - (1 - x)^b; Beta(2, 1) has x^2.
    found = build(state("DM", [[0.0, 1.0]], alpha=1.0), 0.1, "normalised")
    np.testing.assert_allclose(found.of_component, [1 - 0.9**2, 0.1**2])
    assert found.share == pytest.approx((0.19 + 0.01) / 2)
    assert build(state("DM", [[0.0, 1.0]], alpha=1.0), unit="normalised").threshold == 1e-8


def test_normalised_gamma_by_hand():
    # The rates 2 and 4: Gamma(1)/2 < x/(1 - x) Gamma(2)/4 with x = 1/3 is Gamma(1) < Gamma(2)/4,
    # whose share Beta(1, 2) is below 1/5.
    found = build(state("GP", [[0, 1]], alpha=1.0, beta=[1.0, 3.0]), 1 / 3, "normalised")
    assert found.of_component[0] == pytest.approx(1 - 0.8**2)
    # With one rate it is DM.
    c = [[0, 3, 1], [5, 0, 0], [0, 0, 0]]
    poisson = build(state("GP", c, alpha=0.3, beta=2.0), 0.01, "normalised", exposure=3.0)
    plain = build(state("DM", c, alpha=0.3), 0.01, "normalised")
    np.testing.assert_allclose(poisson.of_component, plain.of_component)
    np.testing.assert_allclose(poisson.of_document, plain.of_document)


def test_zeros_by_hand():
    # q0 = ρ / (ρ + (1 - ρ) (β / (β + e))^α) = 0.5 / (0.5 + 0.25) = 2/3 at α = β = e = 1.
    priors = {"alpha": 1.0, "beta": 1.0, "rho": 0.5}
    last = build(state("CGP", [[0, 2], [4, 0], [1, 1]], **priors))
    assert last.zero == pytest.approx(2 * (2 / 3) / 6)
    np.testing.assert_allclose(last.zero_of_component, [2 / 9, 2 / 9])
    recorded = record([[2, 9], [9, 1], [1, 1]], [[8, 0], [0, 9], [9, 9]], 10)
    found = build(state("CGP", [[0, 2], [4, 0], [1, 1]], recorded, **priors))
    np.testing.assert_allclose(found.zero_of_component, [1.7 * 2 / 9, 1.8 * 2 / 9])
    assert found.share == 0
    small = build(state("CGP", [[0, 2]], **priors), unit="normalised")
    assert small.of_component[0] == pytest.approx(2 / 3, abs=1e-6)  # those, and hardly any more
    assert small.of_component[1] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("key", ["DM", "GP", "CGP"])
def test_normalised_is_what_draws_have(key):
    rng = np.random.default_rng(0)
    c = np.array([[0, 0, 0, 12], [0, 1, 30, 3], [0, 0, 0, 0]])
    priors = {"DM": {"alpha": [0.02, 0.1, 0.3, 0.05]}}
    priors["GP"] = priors["DM"] | {"beta": [0.1, 0.5, 0.2, 1.0]}
    priors["CGP"] = priors["GP"] | {"rho": [0.5, 0.2, 0.1, 0.7]}
    made = state(key, c, **priors[key])
    scores, n = made.model.scores, 20_000
    rate = 1.0 if key == "DM" else scores.beta + 1.0
    draws = rng.gamma(scores.alpha + c, 1 / rate, size=(n, *c.shape))
    if key == "CGP":
        absent = np.where(c > 0, 0, scores.zero_probability(np.ones(3)))
        draws[rng.random(draws.shape) < absent] = 0
    small = draws <= 1e-4 * draws.sum(axis=2, keepdims=True)
    expected = module._small_probability(made, slice(None), np.ones(3), 1e-4)
    np.testing.assert_allclose(expected[:2], small.mean(axis=0)[:2], atol=0.01)
    # An empty document's other scores may all be zero, which a gamma for their sum leaves out.
    np.testing.assert_allclose(expected[2], small.mean(axis=0)[2], atol=0.02)
    if key == "CGP":  # also where all but one component are as good as gone
        sure = state(key, c, alpha=1.0, beta=1e-18, rho=0.999999)
        assert np.isfinite(module._small_probability(sure, slice(None), np.ones(3), 1e-4)).all()


def test_one_component_is_never_negligible_once_normalised():
    for key in ("DM", "GP"):
        assert build(state(key, [[0.0], [3.0]]), unit="normalised").share == 0


def test_any_cut_gives_the_same(monkeypatch):
    c = np.random.default_rng(1).poisson(0.5, size=(23, 3))
    made = state("CGP", c)
    whole = build(made, unit="normalised")
    monkeypatch.setattr(module, "_CHUNK", 7)
    parts = build(made, unit="normalised")
    for name in ("share", "of_component", "of_document", "zero", "zero_of_component"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-12)
    assert build(made, 0.5).share == pytest.approx((c == 0).mean())
    np.testing.assert_allclose(build(made, 0.5).of_document, (c == 0).mean(axis=1))


@pytest.mark.parametrize(
    ("threshold", "unit", "message"),
    [
        (0.5, "percent", "unit must be 'words' or 'normalised'; got 'percent'"),
        (0.0, "words", "a positive number of words; got 0.0"),
        (float("nan"), "words", "a positive number of words"),
        (1.0, "normalised", "between 0 and 1; got 1.0"),
    ],
)
def test_wrong_limits_are_refused(threshold, unit, message):
    with pytest.raises(dcomp.InvalidParameter, match=message):
        build(state("DM", [[1.0, 2.0]]), threshold, unit)


def test_the_summary_says_it():
    X = dcomp.Counts.from_matrix([[30, 20, 0, 0], [0, 0, 25, 35]])
    fit = dcomp.fit(X, MODELS["DM"].build(2, alpha=0.01))
    line = "50 % of scores are negligible (under 0.01 expected words)"
    assert f"{line}; CGP can make them exactly zero" in summary_lines(fit, X)
    recorded = {"share": 0.5, "below_words": 0.01, "zero": None}
    assert as_record(fit, Ranking(2))["negligible_scores"] == recorded
    # Where documents have fewer words than components, or few scores are, nothing is recommended.
    short = replace(fit, state=fit.state.changed(c=0.03 * fit.state.c))
    assert line in summary_lines(short, X)
    even = replace(fit, state=fit.state.changed(c=np.ones((2, 2))))
    assert "0 % of scores are negligible (under 0.01 expected words)" in summary_lines(even, X)
    model = dcomp.DCA(2, model="CGP", max_iter=20, verbose=0).fit(X)
    said = [line for line in summary_lines(model.fit_, X) if "negligible" in line]
    assert len(said) == 1
    assert said[0].endswith("% are zero by the posterior")
    assert as_record(model.fit_, Ranking(2))["negligible_scores"]["zero"] > 0
