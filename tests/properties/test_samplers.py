"""Models that are one another's special cases have samplers that are, too: ρ = 0 is GP, and GP with
one rate β for all components is DM given the lengths (BJ06 Lemma 1), with blocks and exposure.

Where the weights are the same numbers, or differ by a power of two, chains of one seed agree token
by token. The direct sampler of CGP asks for one random number more; there the laws are compared,
by the chi-square test and with the false-alarm rate of `tests/exact` (1e-4 each, fixed seeds).
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import gammaln
from scipy.stats import chi2

from dcomp.data import Counts
from dcomp.executors import LocalExecutor
from dcomp.inference import CollapsedGibbs, Gibbs
from dcomp.models import MODELS, Observations
from dcomp.reference.enumeration import Posterior

ALARM = 1e-4
SWEEPS = 4
corpora = hnp.arrays(np.int64, (5, 6), elements=st.sampled_from([0, 0, 0, 1, 2, 5, 40]))
block_ids = st.sampled_from([[0] * 6, [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]])
alphas = hnp.arrays(float, 4, elements=st.floats(0.01, 3.0))
rates = hnp.arrays(float, 4, elements=st.floats(0.05, 20.0))


def build(key, alpha, **options):
    return MODELS[key].build(len(alpha), alpha=alpha, gamma=0.3, **options)


def chain(algorithm, model, counts, exposure=None):
    """Counts after a few sweeps; z too, where there is one."""
    observed = Observations.build(counts, exposure)
    state = algorithm.init(model, observed, seed=3)
    for _ in range(SWEEPS):
        state, _ = algorithm.step(observed, state, LocalExecutor(1))
    state = algorithm.finish(observed, state, LocalExecutor(1))
    return [state.c, state.n] if state.z is None else [state.c, state.n, state.z]


def same(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@settings(max_examples=40, deadline=None)
@given(W=corpora, blocks=block_ids, alpha=alphas, beta=rates, sparse=st.booleans())
def test_collapsed_cgp_without_zeros_is_gp(W, blocks, alpha, beta, sparse):
    assume(W.any())
    counts, algorithm = (
        Counts.from_matrix(W, blocks=blocks),
        CollapsedGibbs(sparse=sparse, start="random"),
    )
    exposure = np.full(5, 1.3) if sparse else np.linspace(0.2, 3.0, 5)
    gp, cgp = build("GP", alpha, beta=beta), build("CGP", alpha, beta=beta, rho=0.0)
    assert same(chain(algorithm, gp, counts, exposure), chain(algorithm, cgp, counts, exposure))


def test_a_small_rho_is_not_zero():
    """Negative control: the two chains above can differ."""
    W = np.random.default_rng(0).poisson(1.0, (30, 6))
    counts, alpha, beta = Counts.from_matrix(W), np.full(4, 0.3), np.full(4, 0.5)
    gp, cgp = build("GP", alpha, beta=beta), build("CGP", alpha, beta=beta, rho=0.1)
    assert not same(chain(CollapsedGibbs(), gp, counts), chain(CollapsedGibbs(), cgp, counts))


@pytest.mark.parametrize("rho", [0.0, 1e-12])
def test_weights_of_cgp_approach_those_of_gp(rho):
    observed = Observations.build(Counts.from_matrix([[1, 2], [0, 1]]), [0.5, 4.0])
    alpha, beta = np.array([0.2, 1.5]), np.array([0.3, 2.0])
    cgp = build("CGP", alpha, beta=beta, rho=rho)
    models = build("GP", alpha, beta=beta), cgp
    (_, a, F), (a0, a_cgp, F_cgp) = (
        model.scores.native(observed.native_exposure).weights(2) for model in models
    )
    np.testing.assert_allclose(a0, a, rtol=1e-6)
    np.testing.assert_array_equal(a_cgp, a)
    np.testing.assert_array_equal(F_cgp, F)
    c = np.array([[0, 3], [1, 0]])
    np.testing.assert_allclose(
        cgp.scores.log_moment(c, observed.total_exposure),
        build("GP", alpha, beta=beta).scores.log_moment(c, observed.total_exposure),
        rtol=1e-10,
    )


def hits(model, observed, n_chains):
    """How often each table (c, n) is reached from random starts by direct sweeps."""
    found: dict[bytes, int] = {}
    for seed in range(n_chains):
        state = (algorithm := Gibbs(burn_in=10**6)).init(model, observed, seed=seed)
        for _ in range(2):
            state, _ = algorithm.step(observed, state, LocalExecutor(1))
        key = Posterior.key(state.c, state.n)
        found[key] = found.get(key, 0) + 1
    return found


def p_of_same_law(first, second):
    """Chi-square of two samples of equal size over tables that both could have reached."""
    keys = sorted(first | second)
    table = np.array([[sample.get(key, 0) for key in keys] for sample in (first, second)], float)
    rare = table.sum(axis=0) < 16
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    statistic = ((table[0] - table[1]) ** 2 / table.sum(axis=0)).sum()
    return chi2.sf(statistic, table.shape[1] - 1)


def test_direct_cgp_without_zeros_has_the_law_of_gp():
    counts = Counts.from_matrix([[2, 0, 1], [0, 1, 1]], blocks=[0, 1, 1])
    observed = Observations.build(counts, [0.5, 2.0])
    alpha, beta = np.array([0.3, 0.8]), np.array([0.2, 1.5])
    gp = hits(build("GP", alpha, beta=beta), observed, 3000)
    cgp, other = (hits(build("CGP", alpha, beta=beta, rho=rho), observed, 3000) for rho in (0, 0.3))
    assert p_of_same_law(gp, cgp) > ALARM
    assert p_of_same_law(gp, other) < ALARM  # negative control


@settings(max_examples=40, deadline=None)
@given(
    W=corpora,
    blocks=block_ids,
    alpha=alphas,
    powers=hnp.arrays(np.int64, 5, elements=st.integers(1, 4)),
    sparse=st.booleans(),
)
def test_lemma_1_token_by_token(W, blocks, alpha, powers, sparse):
    """β + e is a power of two in every document, so that it divides without rounding."""
    assume(W.any())
    counts, algorithm = (
        Counts.from_matrix(W, blocks=blocks),
        CollapsedGibbs(sparse=sparse, start="random"),
    )
    G, beta = counts.features.n_blocks, 0.5
    powers = np.full_like(powers, powers[0]) if sparse else powers  # lists need one exposure
    total = 2.0**powers - beta
    exposure = np.repeat((total / 4)[:, None], G, axis=1)
    exposure[:, 0] = total - (G - 1) * total / 4
    assert np.array_equal(exposure.sum(axis=1) + beta, 2.0**powers)
    dm = chain(algorithm, build("DM", alpha), counts)
    assert same(dm, chain(algorithm, build("GP", alpha, beta=beta), counts, exposure))


@settings(max_examples=40, deadline=None)
@given(W=corpora, blocks=block_ids, alpha=alphas)
def test_lemma_1_for_direct_draws(W, blocks, alpha):
    """Scores are weights up to a factor, and the factor of a common rate is one for all."""
    assume(W.any())
    counts = Counts.from_matrix(W, blocks=blocks)
    exposure = np.full((5, counts.features.n_blocks), 0.5 / counts.features.n_blocks)
    dm = chain(Gibbs(start="random"), build("DM", alpha), counts)
    # A rate of 1 leaves the logs of the draws as they are.
    assert same(dm, chain(Gibbs(start="random"), build("GP", alpha, beta=0.5), counts, exposure))


def test_unequal_rates_are_not_dm():
    """Negative control."""
    counts = Counts.from_matrix(np.random.default_rng(0).poisson(1.0, (30, 6)))
    alpha, beta = np.full(4, 0.3), np.array([0.5, 0.5, 0.5, 2.0])
    for algorithm in (Gibbs(start="random"), CollapsedGibbs(start="random")):
        dm = chain(algorithm, build("DM", alpha), counts)
        assert not same(dm, chain(algorithm, build("GP", alpha, beta=beta), counts))


@settings(max_examples=25, deadline=None)
@given(
    alpha=hnp.arrays(float, 2, elements=st.floats(0.05, 3.0)),
    beta=st.floats(0.05, 10.0),
    exposure=hnp.arrays(float, (2, 2), elements=st.floats(0.05, 5.0)),
)
def test_lemma_1_by_enumeration(alpha, beta, exposure):
    """Any β and exposure: the same posterior of the assignment, and log joints that differ by the
    Poisson-gamma law of the lengths, L ~ Poisson-Gamma(Σα, β, e)."""
    counts = Counts.from_matrix([[2, 1, 1], [0, 1, 0]], blocks=[0, 1, 1])
    observed = Observations.build(counts, exposure)
    gp, dm = build("GP", alpha, beta=beta), build("DM", alpha)
    with_lengths, given_lengths = Posterior(gp, observed), Posterior(dm, Observations.build(counts))
    np.testing.assert_allclose(with_lengths.p, given_lengths.p, atol=1e-10)
    A, L, e = alpha.sum(), counts.doc_totals, exposure.sum(axis=1)
    # Without L! and e^L, which log_joint leaves out as terms of the words alone.
    log_length = gammaln(A + L) - gammaln(A) + A * np.log(beta) - (A + L) * np.log(beta + e)
    np.testing.assert_allclose(
        with_lengths.log_joint - given_lengths.log_joint, log_length.sum(), atol=1e-8
    )
