"""The probability of documents' lengths, against closed forms and plain sums."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import nbinom

from dcomp.data import Counts
from dcomp.models import MODELS, Observations
from dcomp.models.totals import log_totals


def of_lengths(model, lengths, exposure=None):
    counts = Counts.from_matrix(np.asarray(lengths)[:, None])
    return log_totals(model, Observations.build(counts, exposure))


def test_dm_takes_them_as_given():
    assert of_lengths(MODELS["DM"].build(3), [0, 5]).tolist() == [0, 0]


@pytest.mark.parametrize("length", [0, 1, 7, 300, 5000])
def test_one_rate_is_a_negative_binomial(length):
    """A sum of gammas of one rate is a gamma; 5000 goes by Fourier transform."""
    model = MODELS["GP"].build(3, alpha=[0.2, 0.5, 4.0], beta=0.1)
    expected = nbinom.logpmf(length, 4.7, 0.1 / 1.6)
    assert of_lengths(model, [length], [1.5])[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("exposure", [0.01, 1.0, 500.0])
@pytest.mark.parametrize("key", ["GP", "CGP"])
def test_two_components_by_a_plain_sum(key, exposure):
    options = {"alpha": [0.3, 2.0], "beta": [0.02, 3.0]}
    if key == "CGP":
        options["rho"] = [0.9, 0.2]
    model = MODELS[key].build(2, **options)
    for length in (0, 1, 40, 400):
        c = np.arange(length + 1)
        c = np.c_[c, length - c]
        terms = model.scores.log_moment(c, np.full(len(c), exposure)) - gammaln(c + 1).sum(axis=1)
        expected = logsumexp(terms) + length * np.log(exposure)
        assert of_lengths(model, [length], [exposure])[0] == pytest.approx(expected, rel=1e-10)


def test_lengths_have_total_probability_one():
    model = MODELS["CGP"].build(3, alpha=[0.5, 1.0, 3.0], beta=[0.5, 1.0, 2.0], rho=0.4)
    assert np.exp(of_lengths(model, np.arange(200))).sum() == pytest.approx(1, abs=1e-10)


def test_blocks_share_the_total():
    model = MODELS["GP"].build(2, alpha=1.0, beta=[0.5, 2.0])
    rows = np.array([[a, b] for a in range(60) for b in range(60)])
    counts = Counts.from_matrix(rows, blocks=[0, 1])
    observed = Observations.build(counts, np.tile([0.5, 1.0], (len(rows), 1)))
    p = np.exp(log_totals(model, observed))
    assert p.sum() == pytest.approx(1, abs=1e-6)
    mean = p @ rows
    assert mean[1] == pytest.approx(2 * mean[0], rel=1e-4)
    hidden = Observations.build(Counts.from_matrix([[3, 0]], blocks=[0, 1]), [[0.5, 0.0]])
    assert log_totals(model, hidden)[0] == pytest.approx(of_lengths(model, [3], [0.5])[0])


def test_scores_that_are_hardly_ever_above_zero():
    """1 − q0 is below the smallest double."""
    model = MODELS["CGP"].build(1, alpha=300.0, beta=1.0, rho=0.5)
    gp = MODELS["GP"].build(1, alpha=300.0, beta=1.0)
    found, plain = of_lengths(model, [5], [1e4]), of_lengths(gp, [5], [1e4])
    assert plain[0] < -2000
    assert found[0] == pytest.approx(plain[0] + np.log(0.5), abs=1e-6)
