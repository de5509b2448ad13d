"""evidence: one answer for any number of threads, what it warns of and refuses."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import dcomp
from dcomp import evaluate
from dcomp.evaluate.evidence import Chains, effective_size, log_mean_error
from dcomp.models import DirichletMultinomial

evidence = partial(evaluate.evidence, method="annealed")
X = np.random.default_rng(3).poisson([[3, 2, 0.2, 0.1], [0.1, 0.1, 2, 4]] * 6, (12, 4))


@pytest.mark.parametrize("method", ["annealed", "harmonic"])
@pytest.mark.parametrize("model", ["DM", "CGP"])
def test_threads_change_nothing(method, model):
    priors = {"alpha": 0.5} if model == "DM" else {"alpha": 0.5, "beta": 0.1, "rho": 0.2}
    found = [
        evidence(X, 3, model=model, n_sweeps=40, method=method, n_jobs=jobs, **priors)
        for jobs in (1, 2, 7)
    ]
    assert len({tuple(one.per_chain) for one in found}) == 1
    other = evidence(X, 3, model=model, n_sweeps=40, method=method, random_state=1, **priors)
    assert other.log_evidence != found[0].log_evidence


def test_parts_for_interrupts_change_nothing(monkeypatch):
    whole = evidence(X, 2, alpha=0.5, n_sweeps=30)
    monkeypatch.setitem(evidence.func.__globals__, "_STEP", 1)
    assert evidence(X, 2, alpha=0.5, n_sweeps=30).per_chain.tolist() == whole.per_chain.tolist()


def test_one_component_has_a_closed_form():
    from scipy.special import gammaln

    n = X.sum(axis=0)
    exact = gammaln(2.0) - gammaln(2.0 + n.sum()) + (gammaln(0.5 + n) - gammaln(0.5)).sum()
    assert evidence(X, 1, n_sweeps=5).log_evidence == pytest.approx(exact, abs=1e-8)


def test_it_finds_the_number_of_components():
    values = [evidence(X, K, alpha=0.3, n_sweeps=500).log_evidence for K in (1, 2, 4)]
    assert np.argmax(values) == 1


def test_too_few_sweeps_are_said_so(planted):
    rough = evidence(planted[0].rows(np.arange(100)), 3, alpha=0.3, n_sweeps=20)
    assert rough.effective_sample_size < 4
    assert any("lower bound" in sentence for sentence in rough.warnings)
    assert "warning: the effective number of chains" in str(rough)
    one = evidence(X, 2, alpha=0.5, n_sweeps=20, n_chains=1)
    assert np.isnan(one.standard_error)
    assert any("lower bound" in sentence for sentence in one.warnings)


def test_priors_left_open_are_learned_and_said_so():
    found = evidence(X, 2, model="GP", gamma="auto", n_sweeps=50)
    assert "alpha, beta, gamma were learned from the same counts" in found.warnings[0]
    fixed = evidence(
        X, 2, model="GP", n_sweeps=50,
        alpha=found.model.scores.alpha, beta=found.model.scores.beta,
        gamma=found.model.loadings.gamma,
    )  # fmt: skip
    assert fixed.log_evidence == found.log_evidence
    assert not any("learned" in sentence for sentence in fixed.warnings)
    assert found.bits == pytest.approx(-found.log_evidence / np.log(2))


def test_a_model_object_and_blocks():
    from dcomp.models import DirichletMultinomial

    model = DirichletMultinomial.build(2, alpha=0.5)
    by_name = evidence(X, 2, alpha=0.5, n_sweeps=30, blocks=[0, 0, 1, 1])
    assert evidence(X, 2, model=model, n_sweeps=30).log_evidence != by_name.log_evidence
    counts = dcomp.Counts.from_matrix(X, blocks=[0, 0, 1, 1])
    assert evidence(counts, 2, model=model, n_sweeps=30).log_evidence == by_name.log_evidence


@pytest.mark.parametrize(
    ("n_chains", "carrying", "warned"), [(20, 5, False), (20, 4, True), (4, 2, False), (4, 1, True)]
)
def test_a_quarter_of_the_chains_and_no_fewer_than_two_must_carry_it(
    monkeypatch, n_chains, carrying, warned
):
    """Chains at a constant log weight, −5 for some and hopeless for the others: temperatures go
    from 0 to 1, so that the constant itself is the chain's estimate."""
    level = np.where(np.arange(n_chains) < carrying, -5.0, -900.0)

    def sweeps(self, temperatures):
        assert temperatures[0] == 0
        assert (np.diff(temperatures) > 0).all()
        assert temperatures[-1] < 1  # the last sweep's weight is up to 1
        values = np.repeat(level[:, None], len(temperatures), axis=1)
        return 0.25 * values, 0.75 * values

    monkeypatch.setattr(Chains, "sweeps", sweeps)
    found = evidence(X, 2, alpha=0.5, n_sweeps=7, n_chains=n_chains)
    assert found.log_evidence == pytest.approx(-5 + np.log(carrying / n_chains))
    assert found.per_chain.tolist() == pytest.approx(level.tolist())
    assert found.effective_sample_size == pytest.approx(carrying)
    assert any("lower bound" in sentence for sentence in found.warnings) == warned


def test_the_harmonic_mean_by_hand(monkeypatch):
    """N / Σ 1/p(w | z) over the second half of each chain; what went before does not count."""
    log_words = np.array([[99.0, 99.0, -3.0, -4.0, -5.0], [-99.0, -99.0, -2.0, -2.0, -2.5]])
    monkeypatch.setattr(Chains, "sweeps", lambda self, t: (np.nan * log_words, log_words))
    found = evidence(X, 2, alpha=0.5, method="harmonic", n_sweeps=5, n_chains=2)
    p = np.exp(log_words[:, 2:])
    assert found.log_evidence == pytest.approx(np.log(6 / (1 / p).sum()))
    np.testing.assert_allclose(found.per_chain, np.log(3 / (1 / p).sum(axis=1)))
    assert found.effective_sample_size == pytest.approx((1 / p).sum() ** 2 / (1 / p**2).sum())
    assert found.method == "harmonic"
    first, *warned = str(found).splitlines()
    assert "(harmonic, effective number of draws" in first
    assert [line[:9] for line in warned] == ["warning: "]


def test_the_error_is_the_larger_of_two():
    """The delta method's, s(w) / (√n mean w), or that of mean(log w) where one weight is all."""
    few = np.array([1.0, 1.0, 1.0, 1.0, np.exp(2.0)])
    delta = few.std(ddof=1) / np.sqrt(5) / few.mean()
    assert log_mean_error(np.log(few)) == pytest.approx(delta)
    one = np.array([0.0, -50.0, -50.0])
    assert log_mean_error(one) == pytest.approx(one.std(ddof=1) / np.sqrt(3))
    assert log_mean_error(np.array([0.0, 1.0])) == pytest.approx(0.5)  # two are enough
    assert log_mean_error(np.full(4, -7.0)) == 0
    assert effective_size(np.full(4, -7.0)) == pytest.approx(4)


def test_what_it_refuses():
    with pytest.raises(dcomp.InvalidParameter, match=r"beta must be positive, got 0"):
        evidence(X, 2, model="GP", alpha=1.0, beta=0.0)
    with pytest.raises(dcomp.UnsupportedCombination, match="needs a score prior that can be"):
        evidence(X, 2, model="LN")
    with pytest.raises(dcomp.InvalidParameter, match=r"^n_chains must be a whole number"):
        evidence(X, 2, n_chains=0)
    with pytest.raises(dcomp.InvalidParameter, match="method must be"):
        evidence(X, 2, method="chib")
    with pytest.raises(dcomp.InvalidParameter, match="n_sweeps must be a whole number"):
        evidence(X, 2, n_sweeps=1)
    with pytest.raises(dcomp.InvalidCounts, match="needs documents with tokens"):
        evidence(np.zeros((2, 3), int), 2)
    with pytest.raises(dcomp.UnsupportedCombination, match="exposure has no meaning"):
        evidence(X, 2, alpha=1.0, exposure="total")


def test_how_many_components_there_are_is_said_once():
    X = [[4, 3, 0, 0], [5, 2, 0, 1], [0, 0, 6, 3], [0, 1, 4, 4]]
    how = {"method": "two-sided", "gamma": 0.5, "n_sweeps": 20, "n_chains": 2, "n_starts": 1}
    parents = evidence(X, model="TM", tree=[-1, 0, 0], **how)
    levels = evidence(X, model="TM", branching=2, depth=2, **how)
    assert parents.log_evidence == levels.log_evidence
    model = DirichletMultinomial.build(2, alpha=0.5, gamma=0.5)
    assert evidence(X, model=model, **how).log_evidence == (
        evidence(X, 2, model=model, **how).log_evidence
    )
    with pytest.raises(dcomp.InvalidParameter, match="that of the model, 2; got 3"):
        evidence(X, 3, model=model, **how)
    with pytest.raises(dcomp.InvalidParameter, match="n_components must say how many"):
        evidence(X)
