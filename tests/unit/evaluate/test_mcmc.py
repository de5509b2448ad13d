"""R-hat and effective sample size: ArviZ's numbers, and traces whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

import dcomp
from dcomp.evaluate import ess_bulk, ess_tail, rhat


def autoregressive(phi, shape, rng):
    x = np.empty(shape)
    x[:, 0] = rng.normal(size=shape[0]) / np.sqrt(1 - phi**2)
    for t in range(1, shape[1]):
        x[:, t] = phi * x[:, t - 1] + rng.normal(size=shape[0])
    return x


def waves():
    x = np.sin(np.arange(120) ** 1.7).reshape(3, 40)
    x[1] *= 2
    x[2] += 0.5
    return x


# arviz 0.23.4: rhat(v), ess(v, method="bulk"), ess(v, method="tail")
ARVIZ = [
    (waves(), 1.175025157493931, 96.6789145429914, 65.95228628230616),
    (
        np.cumsum(np.cos(np.arange(100) * 7.0)).reshape(2, 50),
        0.9825395702512437,
        45.29171482969954,
        120.68149550402272,
    ),
    (np.round(waves()), 1.2273951820560927, 118.48451639314482, 20.878274892423896),
    (waves()[:, :11], 1.2094832320501145, 17.650210047236754, 14.778325123152708),
]


@pytest.mark.parametrize("case", range(len(ARVIZ)))
def test_numbers_of_arviz(case):
    trace, *expected = ARVIZ[case]
    assert [rhat(trace), ess_bulk(trace), ess_tail(trace)] == pytest.approx(expected, rel=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_arviz_itself():
    arviz = pytest.importorskip("arviz")
    rng = np.random.default_rng(0)
    for case in range(60):
        shape = (int(rng.integers(2, 6)), int(rng.integers(4, 30 if case % 2 else 300)))
        trace = autoregressive(rng.uniform(-0.9, 0.99), shape, rng)
        trace += (case % 3 == 0) * rng.normal(size=(shape[0], 1))
        trace = np.round(trace) if case % 5 == 0 else trace
        expected = [float(arviz.ess(trace, method=name)) for name in ("bulk", "tail")]
        assert [ess_bulk(trace), ess_tail(trace)] == pytest.approx(expected, rel=1e-8)
        if np.isfinite(theirs := float(arviz.rhat(trace))):
            assert rhat(trace) == pytest.approx(theirs, rel=1e-8)


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_ess_of_an_autoregression(phi):
    """N (1 − φ) / (1 + φ) for the mean; within 20 %, some 5 standard errors of this estimate."""
    trace = autoregressive(phi, (4, 20_000), np.random.default_rng(1))
    assert ess_bulk(trace) == pytest.approx(80_000 * (1 - phi) / (1 + phi), rel=0.2)


def test_rhat_sees_place_spread_and_drift():
    rng = np.random.default_rng(2)
    same = rng.normal(size=(4, 400))
    assert rhat(same) < 1.01
    assert rhat(same + np.array([[0], [0], [0], [1]])) > 1.05
    assert rhat(same * [[1], [1], [1], [4]]) > 1.05
    assert rhat(same[0]) < 1.01  # one chain: its halves
    assert rhat(same[0] + np.linspace(0, 3, 400)) > 1.3
    heavy = rng.standard_cauchy((4, 400))  # without a variance
    assert rhat(heavy) < 1.01
    assert rhat(np.exp(20 * same)) == pytest.approx(rhat_of_ranks(same), abs=0.01)


def rhat_of_ranks(trace):
    return rhat(trace.argsort(axis=None).argsort().reshape(trace.shape))


def test_traces_that_do_not_vary():
    assert rhat(np.ones((3, 10))) == 1.0
    assert rhat(np.repeat([[1.0], [2.0]], 10, axis=1)) == np.inf
    assert ess_bulk(np.ones((3, 10))) == 30
    assert ess_tail(np.ones((3, 10))) == 30
    split = np.ones((1, 10))
    split[0, 5:] = 2
    assert rhat(split) == np.inf


@pytest.mark.parametrize("trace", [np.zeros((2, 3)), np.zeros((2, 3, 4)), np.full((2, 9), np.nan)])
def test_what_is_refused(trace):
    for measure in (rhat, ess_bulk, ess_tail):
        with pytest.raises(dcomp.InvalidParameter, match="a trace must"):
            measure(trace)
