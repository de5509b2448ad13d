"""Learning the priors: each step finds the maximum of what it says it maximises."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import digamma, gammaln
from scipy.stats import dirichlet, gamma

import dcomp
from dcomp.data import Counts
from dcomp.inference import MeanField
from dcomp.models import (
    MODELS,
    ConditionalGammaPoisson,
    DirichletLoadings,
    DirichletMultinomial,
    DirichletScores,
    GammaPoisson,
    GammaScores,
    Observations,
    Structure,
)
from dcomp.models.learning import (
    dirichlet_alpha,
    dirichlet_objective,
    gamma_objective,
    gamma_parameters,
    inverse_digamma,
    polya_alpha,
    polya_gamma,
    solve_shape,
)
from dcomp.models.spread import Spread
from dcomp.models.structure_rows import DirichletRows, StickRows
from dcomp.models.sums import Tallies

CHAIN = Structure.from_parents([3, 3, 4, 4, -1])  # ((0, 1), 2): two internal nodes, 3 and 4


def gamma_step(scores, mean_log, mean):
    return gamma_parameters(scores.alpha, scores.beta, scores.learned, mean_log, mean)


def test_stopping_and_going_on_are_learned_apart():
    """φ ~ Beta(1, 5) at node 3 and Beta(6, 2) at node 4 are found from the words they stop."""
    rng = np.random.default_rng(0)
    true = {3: (1.0, 5.0), 4: (6.0, 2.0)}
    S = np.zeros((4000, 5), dtype=np.int64)
    S[:, 4] = rng.binomial(60, rng.beta(*true[4], 4000))
    S[:, 2] = rng.binomial(60 - S[:, 4], 0.3)
    reach = 60 - S[:, 4] - S[:, 2]
    S[:, 3] = rng.binomial(reach, rng.beta(*true[3], 4000))
    S[:, 0] = rng.binomial(reach - S[:, 3], 0.5)
    S[:, 1] = reach - S[:, 3] - S[:, 0]
    rows = StickRows.build(CHAIN, 2.0, per_document=True, learn_psi=True)
    for _ in range(200):
        rows, limits = rows.learn(rows.seen(S))
    for node, pair in true.items():
        np.testing.assert_allclose(rows.psi[node], pair, rtol=0.15)
    assert (rows.psi[CHAIN.is_leaf] == 1).all()
    assert limits == ()


@pytest.mark.parametrize("beta", [0.2, 7.0])
def test_alpha_alone_is_the_maximum_for_the_given_beta(beta):
    """Draws of Gamma(0.7, β) with β known: the likelihood's maximum, found another way, and 0.7."""
    draws = np.random.default_rng(1).gamma(0.7, 1 / beta, 20_000)
    scores = GammaScores.build(1, 2.0, beta, learn_alpha=True)
    mean_log = np.log(draws).mean()
    changes, limits = gamma_step(scores, np.array([mean_log]), np.array([draws.mean()]))
    best = minimize_scalar(
        lambda a: gammaln(a) - a * np.log(beta) - (a - 1) * mean_log, (0.1, 1.0), tol=1e-10
    ).x
    assert changes.keys() == {"alpha"}
    assert changes["alpha"][0] == pytest.approx(best, rel=1e-6)
    assert changes["alpha"][0] == pytest.approx(0.7, rel=0.05)
    assert limits == ()


def test_objectives_are_the_log_densities():
    """Of scores that are known: E[log l] = log l."""
    known, alpha, beta = np.array([0.4, 3.0]), np.array([0.7, 2.5]), np.array([0.2, 4.0])
    np.testing.assert_allclose(
        gamma_objective(alpha, beta, np.log(known), known),
        gamma.logpdf(known, alpha, scale=1 / beta),
    )
    m = np.array([0.3, 0.7])
    assert dirichlet_objective(alpha, np.log(m)) == pytest.approx(dirichlet.logpdf(m, alpha))


def test_expected_moments_of_documents_give_the_maximum():
    """`learn_from_moments` takes sums over documents: at the maximum of its part of the bound
    the prior has the documents' mean moments."""
    n_docs, mean = 40, np.array([0.5, 3.0])
    mean_log = np.array([-1.5, 0.6])  # below log E[l], as Jensen has it
    dm = DirichletMultinomial.build(2, alpha=1.0, learn_alpha=True)
    new, limits = dm.scores.learn_from_moments(
        n_docs * np.array([-0.9, -1.7]), np.full(2, np.nan), n_docs
    )
    alpha = new.alpha
    np.testing.assert_allclose(digamma(alpha) - digamma(alpha.sum()), [-0.9, -1.7], rtol=1e-6)
    assert limits == ()
    gp = GammaPoisson.build(2, alpha=1.0, beta=1.0, learn_alpha=True, learn_beta=True)
    new, limits = gp.scores.learn_from_moments(n_docs * mean_log, n_docs * mean, n_docs)
    alpha, beta = new.alpha, new.beta
    np.testing.assert_allclose(alpha / beta, mean, rtol=1e-9)
    np.testing.assert_allclose(digamma(alpha) - np.log(beta), mean_log, rtol=1e-9)
    assert limits == ()


@pytest.mark.parametrize("learning", [True, "shared"])
def test_alpha_learned_from_words_that_are_spread_is_the_best_for_them(learning):
    """One step of EM stops short where documents have little of most components: α given the words
    c is where p(c) is highest, found another way."""
    rng = np.random.default_rng(3)
    true = np.full(4, 0.2) if learning == "shared" else np.array([0.05, 0.1, 0.2, 0.4])
    shares = rng.dirichlet(true, 3000)
    c = (shares * rng.integers(20, 200, 3000)[:, None]).astype(np.float32)
    scores = DirichletScores.build(4, 1.0, learn_alpha=learning)

    def moments(scores):
        return scores.expected_log(c, np.ones(3000)).sum(axis=0), np.zeros(4), 3000

    def likelihood(alpha):
        return DirichletScores.build(4, alpha).log_moment(c, np.ones(3000)).sum()

    def spread_over(x):
        return np.exp(x if learning is True else np.repeat(x, 4))

    start = np.zeros(4 if learning is True else 1)
    best = spread_over(minimize(lambda x: -likelihood(spread_over(x)), start).x)
    short, _ = scores.learn_from_moments(*moments(scores))
    seen = scores.moments_seen(c[:1000], 1) + scores.moments_seen(c[1000:], 2)
    levels, now = [likelihood(scores.alpha), likelihood(short.alpha)], scores
    for _ in range(3):
        now, _ = now.learn_from_moments(*moments(now), seen)
        levels.append(likelihood(now.alpha))
    assert np.abs(np.log(short.alpha / best)).max() > 0.3
    np.testing.assert_allclose(now.alpha, best, rtol=0.01)
    assert np.diff(levels).min() > -1e-6 * abs(levels[-1])


def test_words_spread_over_sizes_as_numpy_has_them():
    """Every number in one bin, whatever its size; any number of threads; parts add."""
    rng = np.random.default_rng(0)
    c = np.exp(rng.uniform(-20, 21, (300, 33))).astype(np.float32)
    c[::7] = 0.0
    one, three = Spread.build(c, 1), Spread.build(c, 3)
    assert np.array_equal(one.times, three.times)
    assert np.array_equal(one.sums, three.sums)
    assert (one.times.sum(axis=1) == 300).all()
    np.testing.assert_allclose(one.sums[:-1].sum(axis=1), c.sum(axis=0, dtype=np.float64))
    both = Spread.build(c[:100], 1) + Spread.build(c[100:], 1)
    assert np.array_equal(both.times, one.times)
    alpha = np.full(33, 0.3)
    wide = Spread.build(c.astype(np.float64), 1)
    np.testing.assert_allclose(wide.log_scores(alpha), one.log_scores(alpha), rtol=1e-6)
    exact = DirichletScores(alpha).expected_log(c.astype(np.float64), np.ones(300)).sum(axis=0)
    np.testing.assert_allclose(one.log_scores(alpha), exact, rtol=2e-3)


@pytest.mark.parametrize("key", ["DM", "GP"])
def test_mean_field_learns_what_it_is_told_to_and_nothing_else(planted, key):
    options = {"alpha": 2.0} if key == "DM" else {"alpha": 2.0, "beta": 1.0}
    algorithm = MeanField(gentle_sweeps=1, learn_after=1)
    for learned in [(), *((name,) for name in options), tuple(options)]:
        flags = {f"learn_{name}": True for name in learned}
        model = MODELS[key].build(3, **options, **flags)
        scores = dcomp.fit(planted[0], model, algorithm, max_iter=20, tol=0).model.scores
        for name, value in options.items():
            moved = np.abs(getattr(scores, name) / value - 1)
            assert (moved > 0.05).all() if name in learned else (moved == 0).all()


@pytest.mark.parametrize("key", ["DM", "GP", "CGP"])
def test_what_is_given_is_not_learned_from_counts(key):
    observed = Observations.build(Counts.from_matrix(np.ones((3, 1), int)))
    c = np.array([[5, 0], [0, 6], [4, 1]])
    model = MODELS[key].build(2)
    assert model.scores.learn_from_counts(model.scores.counts_seen(c, observed.total_exposure)) == (
        model.scores,
        (),
    )


def test_gamma_is_learned_only_where_it_is_not_given():
    n, blocks = np.array([[5, 0], [0, 6], [4, 1]]), np.zeros(3, np.int32)
    given = DirichletLoadings(1.0)
    assert given.learn(n, blocks) == (given, ())
    learned, limits = DirichletLoadings(1.0, learned=True).learn(n, blocks)
    assert learned.learned
    assert 0.01 < float(learned.gamma) < 1.0
    assert limits == ()


@pytest.mark.parametrize("learn_rho", [False, True])
def test_one_step_from_counts_by_hand(learn_rho):
    """MODELS §6: E[l] = (α+c)/(β+e) and E[log l] = ψ(α+c) − log(β+e), each document with its own
    exposure and, where a score may be zero, its weight u = P(l > 0 | c)."""
    c, e = np.array([0, 0, 3, 9]), np.array([0.5, 4.0, 1.0, 2.0])
    alpha, beta, rho = 0.8, 0.6, 0.3
    q0 = rho / (rho + (1 - rho) * (beta / (beta + e)) ** alpha)
    u = np.where(c > 0, 1.0, 1 - q0)
    mean = (u * (alpha + c) / (beta + e)).sum() / u.sum()
    mean_log = (u * (digamma(alpha + c) - np.log(beta + e))).sum() / u.sum()
    model = ConditionalGammaPoisson.build(
        1, alpha=alpha, beta=beta, rho=rho, learn_alpha=True, learn_beta=True, learn_rho=learn_rho
    )
    observed = Observations.build(Counts.from_matrix(np.ones((4, 1), int)), e)
    scores, _ = model.scores.learn_from_counts(
        model.scores.counts_seen(c[:, None], observed.total_exposure)
    )
    assert float(scores.alpha[0] / scores.beta[0]) == pytest.approx(mean, rel=1e-9)
    assert digamma(scores.alpha[0]) - np.log(scores.beta[0]) == pytest.approx(mean_log, rel=1e-9)
    assert scores.rho[0] == pytest.approx(1 - u.mean() if learn_rho else rho, rel=1e-12)


def test_one_component_or_feature_leaves_nothing_to_learn():
    """Its share is 1 whatever the prior; and without words every prior is as good."""
    one, blocks = np.array([0.3]), np.arange(2, dtype=np.int32)
    for value, limit in (
        dirichlet_alpha(one, np.array([-0.5])),
        polya_alpha(one, Tallies.build(np.array([[5], [2]]))),
        polya_gamma(0.3, np.array([[5, 1], [2, 0]]), blocks),  # two blocks of one feature
        polya_gamma(0.3, np.zeros((2, 2), int), np.zeros(2, np.int32)),
    ):
        assert value == pytest.approx(0.3, abs=0)
        assert not limit
    options = {"per_document": True, "learn_psi": True}
    rows = DirichletRows.build(Structure.from_parents([-1, -1]), 0.3, **options)
    learned, limits = rows.learn(rows.seen(np.array([[5, 2], [1, 0]])))
    assert learned.psi.tolist() == [0.3, 0.3]
    assert limits == ()


def test_what_has_no_maximum_stops_at_a_limit_and_says_so():
    """Equal shares send α and γ up without end (slowly: from near the limit), a component without
    words sends its α to 0."""
    equal, absent = np.full((50, 2), 500), np.array([[5, 1, 0], [2, 7, 0], [9, 0, 0]])
    alpha, at_limit = polya_alpha(np.full(2, 999.0), Tallies.build(equal), n_steps=50)
    assert at_limit
    assert (alpha == 1e3).all()
    alpha, at_limit = polya_alpha(np.ones(3), Tallies.build(absent), n_steps=200)
    assert at_limit
    assert alpha[2] == 1e-4 < alpha[:2].min()
    alpha, at_limit = dirichlet_alpha(np.ones(2), np.log([0.5, 0.5]) - 1e-6, n_steps=200)
    assert at_limit
    assert (alpha == 1e3).all()
    assert dirichlet_alpha(np.ones(2), np.array([-1e-4, -2e4]))[1]
    one_block = np.zeros(50, np.int32)
    assert polya_gamma(999.0, equal, one_block, n_steps=200) == (1e3, True)
    single = np.zeros((50, 2), int)
    single[7] = 900  # one feature has all words
    assert polya_gamma(1.0, single, one_block, n_steps=2000) == (1e-5, True)
    options = {"per_document": True, "learn_psi": True}
    rows = DirichletRows.build(Structure.from_parents([2, 2, -1]), 999.9, **options)
    learned, limits = rows.learn(rows.seen(np.tile([500, 500, 0, 0], (50, 1))))
    assert limits == ("psi",)  # of the first leaf; the other has no words
    assert learned.psi[:2].tolist() == [1e3, 1e3]
    sticks = StickRows.build(Structure.from_parents([2, 2, -1]), 999.9, **options)
    learned, limits = sticks.learn(sticks.seen(np.tile([250, 250, 500], (50, 1))))
    assert limits == ("psi",)
    assert learned.psi.tolist() == [[1, 1], [1, 1], [1e3, 1e3]]


def test_the_name_of_what_is_at_a_limit_is_told():
    """As the history shows it, in `capped`; all other steps of this file are at none."""
    observed = Observations.build(Counts.from_matrix(np.ones((3, 1), int)))
    c = np.array([[5, 1, 0], [2, 7, 0], [9, 0, 0]])
    dm = DirichletScores.build(3, 0.5, learn_alpha=True)
    assert dm.learn_from_counts(dm.counts_seen(c, observed.total_exposure))[1] == ("alpha",)
    assert dm.learn_from_counts(dm.counts_seen(c + 1, observed.total_exposure))[1] == ()
    far = np.array([-1e-4, -2e4, -2e4])
    assert dm.learn_from_moments(far, np.ones(3), 1)[1] == ("alpha",)
    free, single = DirichletLoadings(1e-5, learned=True), np.array([[50, 90, 20], [0, 0, 0]])
    assert free.learn(single, np.zeros(2, np.int32))[1] == ("gamma",)


def test_a_component_that_is_never_there_keeps_rho_below_one():
    observed = Observations.build(Counts.from_matrix(np.ones((30, 1), int)))
    c = np.column_stack([np.zeros(30, int), np.arange(30)])
    options = {"alpha": 1.0, "beta": 0.1, "rho": 0.9, "learn_rho": True}
    scores, limits = ConditionalGammaPoisson.build(2, **options).scores, ()
    for _ in range(2000):
        if limits:
            break
        scores, limits = scores.learn_from_counts(scores.counts_seen(c, observed.total_exposure))
    assert limits == ("rho",)
    assert scores.rho[0] == 1 - 1e-6
    assert scores.rho[1] < 0.1


def test_a_limit_is_not_taken_where_it_is_worse_than_the_start():
    """α = 6 lies beyond the limit of 5, and the maximum beyond that: 6 is kept."""
    scores = GammaScores.build(2, [6.0, 1.0], 1.0, learn_alpha=True)
    changes, limits = gamma_step(scores, digamma([8.0, 8.0]), np.array([8.0, 8.0]))
    assert changes["alpha"].tolist() == [6.0, 5.0]
    assert limits == ("alpha",)


def test_limits_of_beta():
    scores = GammaScores.build(1, 1.0, 1.0, learn_beta=True)
    for mean, beta in ((1e12, 1e-9), (1e-12, 1e9)):
        changes, limits = gamma_step(scores, np.log([mean]) - 1, np.array([mean]))
        assert changes["beta"].tolist() == [beta]
        assert limits == ("beta",)
    given = GammaScores.build(1, 8.0, 1.0, learn_beta=True)  # limits are for what is learned
    changes, limits = gamma_step(given, np.array([0.0]), np.array([2.0]))
    assert changes["beta"].tolist() == [4.0]
    assert limits == ()


def test_inverses_hold_from_one_end_to_the_other():
    x = np.geomspace(1e-8, 1e6, 400)
    np.testing.assert_allclose(inverse_digamma(digamma(x)), x, rtol=1e-9)
    x = np.geomspace(1e-4, 1e4, 400)
    np.testing.assert_allclose(solve_shape(np.log(x) - digamma(x)), x, rtol=1e-6)


@pytest.mark.parametrize("start", [1e-3, 0.5, 400.0])
def test_alpha_is_found_from_far_away(start):
    """Newton's step where it goes up, the fixed point where it does not."""
    true = np.array([0.05, 1.0, 30.0])
    alpha, limit = np.full(3, start), False
    for _ in range(20):
        alpha, limit = dirichlet_alpha(alpha, digamma(true) - digamma(true.sum()))
    np.testing.assert_allclose(alpha, true, rtol=1e-4)
    assert not limit


def test_where_newton_does_not_go_up_the_step_is_the_fixed_point():
    """ψ(α_k) = ψ(Σα) + E_k, B09 (10)."""
    true, start = np.array([0.05, 1.0, 30.0]), np.full(3, 5.0)
    mean_log = digamma(true) - digamma(true.sum())
    alpha, _ = dirichlet_alpha(start, mean_log, n_steps=1)
    np.testing.assert_allclose(digamma(alpha), digamma(15.0) + mean_log, rtol=1e-9)
