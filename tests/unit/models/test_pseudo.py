"""Conjugate priors of learned hyper-parameters: steps find the maximum of log p(counts | prior)
plus the log prior, and never lower it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln

import dcomp
from dcomp.models import (
    MODELS,
    DirichletScores,
    LogisticNormal,
    LogisticNormalScores,
    Structure,
    Structured,
)
from dcomp.models.learning import (
    dirichlet_objective,
    gamma_objective,
    polya_alpha,
    shared_polya_alpha,
)
from dcomp.models.pseudo import Pseudo
from dcomp.models.structure_rows import DirichletRows, OfAll, StickRows
from dcomp.models.structured import build_rows
from dcomp.models.sums import Tallies

TREE = Structure.from_parents([3, 3, 4, 4, -1])  # ((0, 1), 2): two internal nodes, 3 and 4
RNG = np.random.default_rng(0)
COUNTS = RNG.negative_binomial(0.4, 0.1, (30, 3))


def log_polya(alpha, c):
    total = alpha.sum()
    each = gammaln(alpha + c).sum(axis=1) - gammaln(alpha).sum()
    return float((each + gammaln(total) - gammaln(total + c.sum(axis=1))).sum())


@pytest.mark.parametrize("worth", [0.3, 1.0, 20.0])
@pytest.mark.parametrize("shared", [False, True])
def test_a_dirichlet_step_climbs_to_the_mode(worth, shared):
    pseudo = Pseudo(worth, 0.7)
    logs, seen = pseudo.logs(3), Tallies.build(COUNTS)

    def value(alpha):
        return log_polya(alpha, COUNTS) + worth * dirichlet_objective(alpha, logs)

    step = shared_polya_alpha if shared else polya_alpha
    alpha, values = np.full(3, 4.0), [value(np.full(3, 4.0))]
    for _ in range(60):
        alpha, capped = step(alpha, seen, worth=worth, logs=logs)
        values.append(value(alpha))
    assert np.diff(values).min() > -1e-9
    size = 1 if shared else 3
    best = minimize(
        lambda x: -value(np.exp(x) * np.ones(3)), np.zeros(size), method="Nelder-Mead", tol=1e-11
    )
    np.testing.assert_allclose(alpha, np.exp(best.x) * np.ones(3), rtol=1e-3)
    assert not capped


def test_where_no_word_is_seen_the_prior_decides():
    nothing = Tallies.build(np.zeros((5, 4), int))
    alpha = np.array([3.0, 0.01, 1.0, 0.4])
    for _ in range(300):
        alpha, capped = polya_alpha(alpha, nothing, worth=1.0, logs=Pseudo(1.0, 0.25).logs(4))
    np.testing.assert_allclose(alpha, 0.25, rtol=1e-3)
    assert not capped


def test_documents_that_are_all_alike_no_longer_drive_alpha_up():
    """Counts in exact proportion: without a prior the best α is infinite."""
    bare = held = DirichletScores.build(2, 100.0, learn_alpha=True)
    seen = bare.counts_seen(np.full((40, 2), 500), np.ones(40))
    for _ in range(200):
        bare, _ = bare.learn_from_counts(seen)
        held, limits = held.learn_from_counts(seen, Pseudo(1.0, 0.5))
    assert bare.alpha[0] > 150
    assert 5 < held.alpha[0] < 30
    assert limits == ()


@pytest.mark.parametrize("key", ["GP", "CGP"])
def test_gammas_climb_with_their_prior(key):
    """E[log p(c)] is EM's: the observed log p(c), with the prior's own term, never falls."""
    pseudo, e = Pseudo(2.0, 0.3, 0.1), np.linspace(0.5, 2.0, 30)
    flags = {"learn_alpha": True, "learn_beta": True}
    if key == "CGP":
        flags["learn_rho"] = True
    scores = MODELS[key].build(3, alpha=1.0, beta=1.0, **flags).scores
    mean_log = np.full(3, pseudo.sums(1)["log_scores"][0] / pseudo.worth)

    def value(s):
        own = gamma_objective(s.alpha, s.beta, mean_log, np.full(3, 3.0)).sum()
        zeros = 0.0
        if key == "CGP":
            zeros = (np.log(s.rho) + np.log1p(-s.rho)).sum()
        return float(s.log_moment(COUNTS, e).sum()) + pseudo.worth * (own + zeros)

    values = [value(scores)]
    for _ in range(40):
        scores, _ = scores.learn_from_counts(scores.counts_seen(COUNTS, e), pseudo)
        values.append(value(scores))
    assert np.diff(values).min() > -1e-9
    assert values[-1] > values[0] + 1


S_PAIRS = np.array([[400, 30, 70, 900, 10, 90, 50, 50]])
S_NODES = np.array([[400, 900, 50, 100, 60]])


def test_one_psi_for_a_shared_upsilon_is_the_mode():
    rows = build_rows(TREE, "shared", 1.0, learn_psi=True, worth=1.0)
    assert isinstance(rows, DirichletRows)
    learned, limits = rows.learn(rows.seen(S_PAIRS))
    assert limits == ()
    assert learned.objective(S_PAIRS) > rows.objective(S_PAIRS)
    assert (learned.psi == learned.psi[0]).all()
    grid = np.geomspace(0.01, 100, 400)
    values = [DirichletRows.build(TREE, a, pseudo=rows.pseudo).objective(S_PAIRS) for a in grid]
    assert learned.psi[0] == pytest.approx(grid[int(np.argmax(values))], rel=0.03)
    again, _ = learned.learn(learned.seen(S_PAIRS))
    assert again.objective(S_PAIRS) >= learned.objective(S_PAIRS)


def test_one_pair_for_a_shared_phi_climbs():
    rows = build_rows(TREE, "phi", 1.0, learn_psi=True, worth=1.0)
    assert isinstance(rows, StickRows)

    def value(r):
        pair = r.psi[3]
        prior = dirichlet_objective(pair, r.pseudo.pair_logs())
        return float(r.log_moment(S_NODES).sum()) + r.pseudo.worth * prior

    values = [value(rows)]
    for _ in range(100):
        rows, limits = rows.learn(rows.seen(S_NODES))
        values.append(value(rows))
    assert np.diff(values).min() > -1e-9
    assert limits == ()
    assert (rows.psi[3] == rows.psi[4]).all()
    assert (rows.psi[:3] == 1).all()
    best = minimize(
        lambda x: -value(StickRows.build(TREE, np.exp(x), pseudo=rows.pseudo)),
        [0.0, 0.0],
        method="Nelder-Mead",
        tol=1e-10,
    )
    np.testing.assert_allclose(rows.psi[3], np.exp(best.x), rtol=0.01)


def test_without_a_node_above_there_is_no_psi_to_learn():
    for kind in ("shared", "phi"):
        rows = build_rows(Structure.flat(3), kind, 1.0, learn_psi=True, worth=1.0)
        S = np.array([[5, 6, 7]])
        assert rows.learn(rows.seen(S)) == (rows, ())


@pytest.mark.parametrize("kind", ["shared", "phi"])
def test_a_psi_learned_as_one_begins_as_one(kind):
    psi = np.arange(1.0, 6) if kind == "shared" else np.arange(1.0, 11).reshape(5, 2)
    with pytest.raises(dcomp.InvalidParameter, match="learned for a shared structure is one"):
        build_rows(TREE, kind, psi, learn_psi=True)


def test_parts_speak_once_for_what_the_corpus_shares():
    first, second = OfAll(S_PAIRS), OfAll(S_PAIRS + 1)
    assert (first + second).value is S_PAIRS


def test_the_normals_are_at_their_mode():
    """Σ_d E[log N(η_d)], with the documents that the prior is worth, in the free directions."""
    K, n, worth = 4, 7, 3.0
    eta = RNG.normal(size=(n, K))
    eta -= eta.mean(axis=1, keepdims=True)
    scores = LogisticNormalScores.build(K, learn_mu0=True, learn_Sigma0=True, worth=worth)
    own = np.eye(K) - 1 / K
    S = sum(0.2 * own + np.outer(row, row) for row in eta)
    learned, limits = scores.learn_from_modes(eta.sum(axis=0), S, 0.0, n)
    assert limits == ()

    def value(s):
        P, log_det = s.precision()
        terms = [(1.0, row, 0.2 * own) for row in eta] + [(worth, np.zeros(K), own)]
        return sum(
            w * (0.5 * log_det - 0.5 * ((row - s.mu0) @ P @ (row - s.mu0) + np.trace(P @ C)))
            for w, row, C in terms
        )

    best = value(learned)
    for _ in range(40):
        step = 1e-3 * own @ RNG.normal(size=(K, K)) @ own
        Sigma0 = learned.Sigma0 + step @ learned.Sigma0 + learned.Sigma0 @ step.T
        mu0 = learned.mu0 + 1e-3 * RNG.normal(size=K)
        for other in (
            LogisticNormalScores.build(K, learned.mu0, (Sigma0 + Sigma0.T) / 2),
            LogisticNormalScores.build(K, mu0, learned.Sigma0),
        ):
            assert value(other) < best
    assert best > value(scores)


def test_a_given_mean_has_the_priors_documents_around_it():
    scores = LogisticNormalScores.build(3, [9.0, 0, -9], learn_Sigma0=True, worth=5.0)
    S = 5.0 * (np.eye(3) - 1 / 3)
    learned, _ = scores.learn_from_modes(5.0 * scores.mu0, S, 0.0, 5)
    np.testing.assert_allclose(learned.Sigma0, np.eye(3) - 1 / 3, atol=1e-12)


def test_files_keep_it_and_older_ones_have_none():
    model = Structured.build(TREE, "phi", alpha=0.1, learn_alpha=True, learn_psi=True)
    scores = model.scores
    arrays = {p.name: p.value for p in scores.parameters()}
    assert "pseudo" not in scores.stored()
    assert type(scores).restored(scores.stored(), arrays) == scores
    rows = build_rows(TREE, "phi", (2.0, 3.0), learn_psi=True, worth=1.0)
    held = type(scores)(scores.leaves, rows, Pseudo(1.0, 0.1))
    arrays = {p.name: p.value for p in held.parameters()}
    entry = held.stored()
    assert type(held).restored(entry, arrays) == held
    for wrong in ({"worth": 1.0}, {"worth": -1.0, "alpha": 1.0, "beta": 1.0}, [1.0]):
        with pytest.raises(ValueError, match=r"pseudo must have|must be a positive number"):
            type(held).restored({**entry, "pseudo": wrong}, arrays)
    normal = LogisticNormal.build(3).scores
    entry = {name: value for name, value in normal.stored().items() if name != "worth"}
    arrays = {p.name: p.value for p in normal.parameters()}
    assert LogisticNormalScores.restored(entry, arrays).worth == 0.0


@pytest.mark.parametrize("kind", ["shared", "phi"])
def test_a_fit_learns_one_psi_and_says_so(kind):
    W = RNG.poisson(2.0, (40, 9))
    model = dcomp.StructuredDCA(
        tree=[-1, 0, 0, 1, 1], structure=kind, max_iter=40, n_chains=1, verbose=0
    ).fit(W)
    scores = model.fit_.model.scores
    assert "psi" in scores.learned
    inner = scores.psi if kind == "shared" else scores.psi[~scores.structure.is_leaf]
    assert len(np.unique(inner, axis=0)) == 1
    assert (inner != 1).all()
    given = dcomp.StructuredDCA(
        tree=[-1, 0, 0, 1, 1], structure=kind, psi=2.0, max_iter=10, n_chains=1, verbose=0
    ).fit(W)
    assert "psi" not in given.fit_.model.scores.learned
