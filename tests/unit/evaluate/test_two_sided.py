"""The evidence between two fences: one answer for any number of threads, words and doubts."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import gammaln

import dcomp
from dcomp.evaluate import evidence, two_sided

X = np.random.default_rng(3).poisson([[3, 2, 0.2, 0.1], [0.1, 0.1, 2, 4]] * 6, (12, 4))
QUICK = {"n_sweeps": 40, "n_chains": 4}


@pytest.mark.parametrize("model", ["DM", "TM"])
def test_threads_change_nothing(model):
    priors = {"alpha": 0.5} if model == "DM" else {}
    found = [evidence(X, 3, model=model, n_jobs=jobs, **priors, **QUICK) for jobs in (1, 2, 7)]
    assert len({(*one.per_chain, *one.backward) for one in found}) == 1
    other = evidence(X, 3, model=model, random_state=1, **priors, **QUICK)
    assert other.log_evidence != found[0].log_evidence
    assert found[0].lower < found[0].log_evidence < found[0].upper


def test_one_component_has_a_closed_form():
    n = X.sum(axis=0)
    exact = gammaln(2.0) - gammaln(2.0 + n.sum()) + (gammaln(0.5 + n) - gammaln(0.5)).sum()
    found = evidence(X, 1, **QUICK)
    assert found.log_evidence == pytest.approx(exact, abs=1e-7)
    assert found.lower == pytest.approx(exact - two_sided.NEAREST, abs=1e-7)
    assert found.upper == pytest.approx(exact + two_sided.NEAREST, abs=1e-7)


def test_it_says_how_many_components():
    found = {K: evidence(X, K, alpha=0.3) for K in (1, 2, 4)}
    assert found[2].lower > max(found[1].upper, found[4].upper)
    assert all(one.is_sound for one in found.values())
    assert found[2].bits == pytest.approx(-found[2].log_evidence / np.log(2))
    assert "with probability 0.95 (two-sided, 16 runs each way)" in str(found[2])


def test_more_sweeps_bring_the_fences_nearer():
    few, many = (evidence(X, 2, alpha=0.3, n_sweeps=n, n_chains=8) for n in (2, 200))
    assert many.upper - many.lower < (few.upper - few.lower) / 4


def test_a_rough_value_is_near_the_evidence_on_any_number_of_threads():
    found = evidence(X, 2, alpha=0.3)
    model = dcomp.models.DirichletMultinomial.build(2, alpha=0.3, gamma=0.5)
    counts = dcomp.Counts.from_matrix(X)
    fitted = dcomp.fit(counts, model, two_sided.REFERENCE, max_iter=300, warn=False)
    observed = dcomp.models.Observations.build(counts, None)
    path = two_sided.Path.from_fit(fitted, observed, 0)
    values = {two_sided.rough(path, dcomp.executors.LocalExecutor(n)) for n in (1, 2)}
    assert len(values) == 1
    assert abs(values.pop() - found.log_evidence) < 1.0


def test_learned_priors_and_other_methods():
    found = evidence(X, 2, model="GP", **QUICK)
    assert "alpha, beta were learned from the same counts" in found.warnings[0]
    rough = evidence(X, 2, alpha=0.5, method="annealed", n_sweeps=50)
    assert rough.upper is None
    assert rough.lower < rough.log_evidence
    with pytest.raises(dcomp.UnsupportedCombination, match="method='two-sided' has one"):
        evidence(X, 3, model="TM", method="annealed")


def test_a_fence_is_the_better_of_two():
    even, odd = np.array([-1.0, -1.1, -0.9, -1.0]), np.array([0.0, -90.0, -90.0, -90.0])
    assert -1.3 < two_sided.lower_fence(even) < -1.0  # Student's
    assert two_sided.lower_fence(odd) == pytest.approx(-np.log(4) - np.log(80))  # Markov's


def test_an_estimate_from_both_ways():
    """Bennett's: where forward and backward meet, and the middle where they do not."""
    assert two_sided.between(np.full(3, -7.0), np.full(3, -7.0)) == -7
    assert two_sided.between(np.full(4, -100.0), np.full(4, 100.0)) == pytest.approx(0)
    # Gaussian work of variance 1: log means are ∓ 0.5 off, and the ratio is right.
    rng = np.random.default_rng(0)
    ways = rng.normal(-0.5, 1.0, 4000), rng.normal(0.5, 1.0, 4000)
    assert two_sided.between(*ways) == pytest.approx(0, abs=0.06)


def test_doubts_are_said():
    calm, own = np.array([0.1, -0.2, 0.1]), np.full(3, 0.2)
    assert list(two_sided.doubts(calm, own, -5.0, -4.0)) == []
    drifting = np.array([9.0, 10.0, 11.0])
    (sentence,) = two_sided.doubts(drifting, own, -5.0, -4.0)
    assert "have not settled in the posterior" in sentence
    assert list(two_sided.doubts(drifting, np.full(3, 9.0), -5.0, -4.0)) == []
    many = np.tile([9.0, -9.5], 8)  # which do not agree: no trend, whatever each says of its own
    assert list(two_sided.doubts(many, np.full(16, 0.1), -5.0, -4.0)) == []
    (crossed,) = two_sided.doubts(calm, own, -3.0, -4.0)
    assert "wrong order, 1.0 nats apart" in crossed


def test_a_pilot_says_how_many_sweeps_are_needed(monkeypatch):
    """Where they take time; more where the ways are further apart, between two limits."""

    def needed(n_tokens, apart):
        pilot = two_sided.OneRun(0.0, apart, 0.0, 1.0)
        monkeypatch.setattr(two_sided, "one_run", lambda *_: (pilot, None))
        counts = SimpleNamespace(n_tokens=n_tokens)
        return two_sided.sweeps_needed(SimpleNamespace(observed=SimpleNamespace(counts=counts)))

    assert [needed(10**6, apart) for apart in (-1.0, 1.0, 4.0, 100.0)] == [100, 100, 200, 400]
    assert needed(100, 1.0) == two_sided.SWEEPS
