"""The harmonic mean of a fit's kept draws against enumeration, where all states are visited."""

from __future__ import annotations

import numpy as np
import pytest

import dcomp
from dcomp.evaluate import evidence, harmonic_mean
from dcomp.reference.evidence import exact_log_evidence

W = np.array([[2, 0, 1], [0, 2, 0]])
LONG = {"max_iter": 3100, "burn_in": 100, "n_draws": 3000, "verbose": 0, "random_state": 1}
PRIORS = {"alpha": 2.0, "gamma": 2.0}


@pytest.mark.parametrize("algorithm", ["gibbs", "collapsed-gibbs"])
@pytest.mark.parametrize("model", ["DM", "GP"])
def test_it_equals_enumeration_on_mild_data(model, algorithm):
    priors = PRIORS | ({"beta": 2.0} if model == "GP" else {})
    kept = {"draws_of": ("assignments",)} if algorithm == "collapsed-gibbs" else {}
    fit = dcomp.DCA(2, model=model, algorithm=algorithm, **priors, **kept, **LONG).fit(W).fit_
    found = harmonic_mean(fit, W)
    exact = exact_log_evidence(fit.model, fit.observe(W))
    assert found.log_evidence == pytest.approx(exact, abs=0.1)
    assert "harmonic mean hangs on draws" in found.warnings[0]
    assert not found.is_sound
    fenced = evidence(W, 2, model=model, **priors)
    assert fenced.lower <= exact <= fenced.upper


def test_one_chain_has_no_error_to_print():
    how = {"algorithm": "gibbs", "max_iter": 20, "n_draws": 5, "verbose": 0}
    fits = [dcomp.LDA(2, n_chains=n, **how).fit(W) for n in (1, 3)]
    one, three = (str(harmonic_mean(fit, W)) for fit in fits)
    assert "nan" not in one
    assert "±" not in one
    assert "± " in three


def test_what_it_needs():
    plain = dcomp.LDA(2, verbose=0).fit(W)
    with pytest.raises(dcomp.DcompError, match="no draws were kept"):
        harmonic_mean(plain, W)
    how = {"algorithm": "gibbs", "max_iter": 20, "n_draws": 5, "verbose": 0}
    with pytest.raises(dcomp.InvalidParameter, match="kept scores"):
        harmonic_mean(dcomp.LDA(2, draws_of=("scores",), **how).fit(W), W)
    with pytest.raises(dcomp.InvalidCounts, match="a harmonic mean can be had only on the counts"):
        harmonic_mean(dcomp.LDA(2, **how).fit(W), W[::-1])
