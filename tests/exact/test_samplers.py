"""Samplers against full enumeration: prior × sampler × (plain, blocks, exposure).

Two tests for each cell. *Invariance*: start from exact draws of the posterior and sweep once; the
result must again be exact draws, independent of each other, so that a chi-square test is honest.
*Convergence*: from one fixed start, many sweeps forget it. Each test's false-alarm rate is 1e-4,
with fixed seeds; a sampler broken on purpose must fail (the negative controls, whose p-values are
all below 1e-10 with 12 000 draws).
"""

from __future__ import annotations

import numpy as np
import pytest
from support.enumerated import ALARM, invariance, make, token_sweep

from dcomp import _core
from dcomp.data import Counts
from dcomp.executors import LocalExecutor
from dcomp.inference import CollapsedGibbs, Gibbs, gibbs
from dcomp.inference.state import State
from dcomp.models import MODELS, Observations
from dcomp.reference import gibbs as reference
from dcomp.reference.enumeration import Posterior, chi_square_p, token_order


@pytest.fixture(autouse=True)
def _short_documents_switch_too(monkeypatch):
    monkeypatch.setattr(gibbs, "SWITCH_FROM", 0)


CASES = [
    (key, layout)
    for key in ("DM", "GP", "CGP", "TM")
    for layout in ("plain", "blocks", "exposure")
    if not (key in ("DM", "TM") and layout == "exposure")
]


@pytest.mark.parametrize(("key", "layout"), CASES)
def test_direct_gibbs_keeps_the_posterior(key, layout):
    model, observed = make(key, layout)
    algorithm = Gibbs(burn_in=10**6)

    def sweep(z, c, n, seed):
        state = State.whole(model, c.astype(np.int32), n.astype(np.int32), 0, seed)
        state, _ = algorithm.step(observed, state, LocalExecutor(1))
        state = algorithm.finish(observed, state, LocalExecutor(1))
        return state.c, state.n

    assert invariance(model, observed, sweep) > ALARM


# Lists of components need weights that documents share.
COLLAPSED = [
    (*case, sparse)
    for case in CASES
    for sparse in (False, True)
    if not sparse or case[1] != "exposure"
]


@pytest.mark.parametrize(("key", "layout", "sparse"), COLLAPSED)
def test_collapsed_gibbs_keeps_the_posterior(key, layout, sparse):
    model, observed = make(key, layout)
    assert invariance(model, observed, token_sweep(model, observed, sparse)) > ALARM


def drawn_anew(model, observed):
    """All tokens of every document at once, as the token sampler of CGP does now and then."""
    sampler = CollapsedGibbs().sampler(model, observed)
    order = token_order(sampler, observed)

    def sweep(z, c, n, seed):
        z = z[order].astype(np.uint16)
        sampler.count(z)
        sampler.draw_anew(model, sampler.pooled(model), z, seed, 1, 1)
        sampler.count(z)  # what it has counted itself is what z says
        return sampler.documents(model)[0], sampler.pooled(model).n

    return sweep


@pytest.mark.parametrize("layout", ["plain", "blocks", "exposure"])
def test_documents_drawn_anew_keep_the_posterior(layout):
    model, observed = make("CGP", layout)
    assert invariance(model, observed, drawn_anew(model, observed)) > ALARM


def test_documents_drawn_anew_by_a_wrong_model_do_not():
    """Negative control: zeros a quarter likelier than they are."""
    model, observed = make("CGP", "exposure")
    scores = {"alpha": [0.3, 0.8], "beta": [0.5, 1.5], "rho": [0.3, 0.75]}
    wrong = MODELS["CGP"].build(2, gamma=[0.4, 0.7, 1.1], **scores)
    assert invariance(model, observed, drawn_anew(wrong, observed)) < ALARM


@pytest.mark.parametrize("sampler", ["direct", "collapsed"])
@pytest.mark.parametrize(
    ("key", "layout"), [("DM", "plain"), ("GP", "blocks"), ("CGP", "exposure"), ("TM", "plain")]
)
def test_the_reference_keeps_the_posterior(sampler, key, layout):
    model, observed = make(key, layout)
    step = reference.direct_sweep if sampler == "direct" else reference.collapsed_sweep
    tokens = reference.Tokens.from_counts(observed.counts)

    def sweep(z, c, n, seed):
        new = step(model, observed, z, np.random.default_rng(seed))
        return reference.tables(tokens, new, observed.counts, model.n_components)

    assert invariance(model, observed, sweep, n_draws=2000) > ALARM


@pytest.mark.parametrize("algorithm", [Gibbs(burn_in=10**6), CollapsedGibbs(burn_in=10**6)])
@pytest.mark.parametrize(("key", "layout"), CASES)
def test_a_long_run_forgets_its_start(algorithm, key, layout):
    """Every 10th sweep of one chain: nearly independent, so the alarm is set lower."""
    model, observed = make(key, layout)
    posterior = Posterior(model, observed)
    expected = posterior.by_table()
    index = {table: number for number, table in enumerate(expected)}
    hits = np.zeros(len(index))
    state = algorithm.init(model, observed, seed=11)
    for sweep in range(10_000):
        state, _ = algorithm.step(observed, state, LocalExecutor(1))
        if sweep % 10 == 9:
            whole = algorithm.finish(observed, state, LocalExecutor(1))
            hits[index[posterior.key(whole.c, whole.n)]] += 1
    assert chi_square_p(hits, hits.sum() * np.array(list(expected.values()))) > 1e-5


@pytest.mark.parametrize("broken", ["alpha", "gamma", "rate", "zero"])
def test_a_broken_sampler_fails(broken):
    """Negative control: the right sampler of a slightly wrong model is a wrong sampler."""
    model, observed = make("CGP", "exposure")
    scores = {"alpha": [0.3, 0.8], "beta": [0.5, 1.5], "rho": [0.3, 0.6]}
    gamma = [0.4, 0.7, 1.1]
    if broken == "alpha":
        scores["alpha"] = [0.4, 0.8]
    elif broken == "rate":
        scores["beta"] = [0.5, 2.2]
    elif broken == "zero":
        scores["rho"] = [0.3, 0.75]
    else:
        gamma = [0.6, 0.7, 1.1]
    wrong = MODELS["CGP"].build(2, gamma=gamma, **scores)
    assert invariance(model, observed, token_sweep(wrong, observed)) < ALARM


@pytest.mark.parametrize("algorithm", [Gibbs(), CollapsedGibbs()])
@pytest.mark.parametrize(("key", "layout"), CASES)
def test_log_joint_is_the_enumerated_one(algorithm, key, layout):
    model, observed = make(key, layout)
    posterior = Posterior(model, observed)
    state = algorithm.init(model, observed, seed=5)
    state, info = algorithm.step(observed, state, LocalExecutor(2))
    state = algorithm.finish(observed, state, LocalExecutor(1))
    match = [
        number
        for number, (c, n) in enumerate(posterior.tables)
        if np.array_equal(c, state.c) and np.array_equal(n, state.n)
    ]
    constant = model.log_constant(observed, combinatoric=False).sum()
    assert info.objective == pytest.approx(posterior.log_joint[match[0]] + constant, abs=1e-9)


def test_one_big_count_is_split_like_many_small_ones():
    """A count of 5000 goes through binomials; its split must be multinomial all the same."""
    counts = Counts.from_matrix([[5000]])
    observed = Observations.build(counts)
    c_in, c_out = np.zeros((1, 3), np.int32), np.zeros((1, 3), np.int32)
    lanes = _core.lanes()
    Theta = np.zeros((1, -(-3 // lanes) * lanes), np.float32)
    Theta[0, :3] = 1
    alpha = np.array([1e7, 2e7, 3e7])  # scores all but fixed at 1/6, 2/6, 3/6
    prior = _core.ScorePrior("DM", {"alpha": alpha})
    draws = []
    for seed in range(400):
        _core.sample(
            observed.corpus, Theta, np.zeros(1), prior, c_in, c_out, None, None, seed, 1, 1
        )
        draws.append(c_out[0].copy())
    draws = np.array(draws)
    p = np.array([1, 2, 3]) / 6
    assert (draws.sum(axis=1) == 5000).all()
    np.testing.assert_allclose(draws.mean(axis=0), 5000 * p, atol=4 * 35 / 20)
    covariance = 5000 * (np.diag(p) - np.outer(p, p))
    np.testing.assert_allclose(np.cov(draws.T), covariance, rtol=0.3, atol=120)
