"""Splits and joins: what words gain by them, and fits that begin there."""

from __future__ import annotations

from itertools import chain, repeat

import numpy as np
import pytest
from scipy.special import gammaln

import dcomp
from dcomp.data import Counts
from dcomp.evaluate import select_chains, select_components
from dcomp.evaluate.ladder import Ladder, Rung
from dcomp.evaluate.neighbours import Neighbours, Words
from dcomp.executors import LocalExecutor
from dcomp.inference import CollapsedGibbs, Gibbs, MeanField
from dcomp.inference.given_start import state_at
from dcomp.models import DirichletMultinomial, Observations


@pytest.fixture
def planted():
    """Four components that share no word; 60 documents of one each."""
    X = np.kron(np.eye(4, dtype=int), np.full((15, 5), 4))
    c = np.kron(np.eye(4), np.full((15, 1), 20.0))
    n = np.kron(np.eye(4), np.full((5, 1), 60.0))
    return Counts.from_matrix(X), Words(c, n)


def near(counts):
    return Neighbours(counts, np.full(counts.n_features, 0.1), 0)


def joined(words, *groups):
    return Words(
        *(np.column_stack([t[:, g].sum(axis=1) for g in groups]) for t in vars(words).values())
    )


def test_what_a_join_loses_is_the_evidence_of_the_words_by_hand(planted):
    counts, words = planted
    loss = near(counts).losses(words)

    def evidence(n):
        own = gammaln(0.1 + n) - gammaln(0.1)
        return own.sum() + gammaln(2.0) - gammaln(2.0 + n.sum())

    a, b = words.n[:, 0], words.n[:, 1]
    assert loss[0, 1] == pytest.approx(evidence(a) + evidence(b) - evidence(a + b))
    assert loss[1, 0] == loss[0, 1] > 100
    assert np.isinf(np.diag(loss)).all()


def test_a_component_that_is_two_is_the_one_that_is_cut(planted):
    counts, words = planted
    three = joined(words, [0], [1, 3], [2])
    cuts = near(counts).cuts(three)
    assert max(cuts, key=lambda cut: cut.gain).component == 1
    assert cuts[1].gain == pytest.approx(near(counts).losses(words)[1, 3])
    assert max(cuts[0].gain, cuts[2].gain) <= 0  # nothing is gained by cutting what is one
    four = near(counts).at(three, 4)
    assert sorted(map(tuple, (four.n > 1).T.tolist())) == sorted(
        map(tuple, (words.n > 1).T.tolist())
    )
    assert four.c.sum() == pytest.approx(counts.n_tokens)


def test_what_a_cut_gains_does_not_hang_on_what_a_draw_has():
    """Halves are made of expected words: a draw's own counts, sharper by tens of nats, are not what
    they are compared with, or nothing would be worth a cut."""
    rng = np.random.default_rng(0)
    Theta = rng.dirichlet(np.full(20, 0.3), 3)
    shares = rng.dirichlet(np.full(3, 0.3), 60)
    X = np.array([rng.multinomial(40, share @ Theta) for share in shares])
    c, n = np.zeros((60, 3)), np.zeros((20, 3))
    for i, j in zip(*np.nonzero(X), strict=True):
        of = rng.multinomial(X[i, j], shares[i] * Theta[:, j] / (shares[i] @ Theta[:, j]))
        c[i] += of
        n[j] += of
    merged = joined(Words(c, n), [0, 1], [2])
    cuts = near(Counts.from_matrix(X)).cuts(merged)
    assert cuts[0].gain > 0 > cuts[1].gain
    whole = near(Counts.from_matrix(X)).log_words(cuts[0].halves.sum(axis=1, keepdims=True))
    both = near(Counts.from_matrix(X)).log_words(cuts[0].halves).sum()
    assert cuts[0].gain == pytest.approx(both - whole[0])


def test_fits_are_compared_by_what_was_asked_for(planted):
    """The worst by that is left, whatever the sampler's own objective says."""
    counts, words = planted

    def model_of(K):
        return DirichletMultinomial.build(K, alpha=0.1, gamma=0.1)

    # Of four from three, of three from four, and of what is tried after that.
    worths = chain([-5.0, -1.0], repeat(-9.0))
    how = {"max_iter": 12, "worth": lambda fitted: next(worths)}
    ladder = Ladder(counts, model_of, CollapsedGibbs(burn_in=5), **how)
    three = joined(words, [0], [1, 3], [2])
    rungs = {3: Rung(three, -6.0), 4: Rung(words, -4.0)}
    found = ladder.climbed(rungs, LocalExecutor(1))
    assert (found[4].value, found[4].fit, found[4].others[0]) == (-4.0, None, -5.0)
    assert (found[3].value, found[3].others[0]) == (-1.0, -6.0)
    assert found[3].fit is not None


def test_a_split_and_a_join_at_once(planted):
    counts, words = planted
    halves = Words(
        np.column_stack([words.c[:, 0] / 2] * 2), np.column_stack([words.n[:, 0] / 2] * 2)
    )
    rest = joined(words, [1, 3], [2])
    stuck = Words(np.column_stack([halves.c, rest.c]), np.column_stack([halves.n, rest.n]))
    freed = near(counts).exchanged(stuck)
    assert sorted((freed.n > 1).sum(axis=0).tolist()) == [5, 5, 5, 5]
    assert near(counts).exchanged(words) is None
    assert near(counts).pruned(stuck).n_components == 3  # the halves are one
    assert near(counts).pruned(words) is None


@pytest.mark.parametrize("algorithm", [CollapsedGibbs(burn_in=5), Gibbs(burn_in=5), MeanField()])
def test_a_fit_begins_where_it_is_told(planted, algorithm):
    """Samplers and climbs: a beginning at the truth is the truth after one sweep."""
    counts, words = planted
    model = DirichletMultinomial.build(4, alpha=0.1, gamma=0.1)
    observed = Observations.build(counts, None)
    begin = state_at(model, algorithm, observed, words.c, words.n, 3, LocalExecutor(1))
    fitted = dcomp.fit(counts, model, algorithm, begin=begin, max_iter=1, warn=False, seed=3)
    np.testing.assert_allclose(fitted.state.n, words.n, atol=2)


@pytest.mark.parametrize("algorithm", [CollapsedGibbs(burn_in=10), MeanField()])
def test_a_stuck_rung_is_freed_by_its_neighbours(planted, algorithm):
    counts, words = planted

    def model_of(K):
        return DirichletMultinomial.build(K, alpha=0.1, gamma=0.1)

    ladder = Ladder(counts, model_of, algorithm, max_iter=30)
    three = joined(words, [0], [1, 3], [2])
    lost = np.column_stack([three.n, np.full(20, 1e-3)]), np.column_stack([three.c, np.zeros(60)])
    rungs = {3: Rung(three, -1e9), 4: Rung(Words(lost[1], lost[0]), -1e9)}
    found = ladder.climbed(rungs, LocalExecutor(1))
    assert sorted((found[4].words.n > 5).sum(axis=0).tolist()) == [5, 5, 5, 5]
    assert found[4].value > found[3].value
    assert found[4].spread >= 0


def test_votes_are_hidden_and_not_senators():
    votes = dcomp.datasets.votes(40, 60, seed=1).counts
    priors = {"alpha": "auto", "beta": "auto", "rho": "auto", "gamma": 0.5}
    how = {"n_chains": 3, "n_starts": 1, "max_iter": 20, "tol": 0.05, "seed": 0, "keep": None}
    build = select_chains.Plan.build
    plan = build(votes, None, model="DM", algorithm="mean-field", priors=priors, **how)
    assert plan.hides_cells
    hidden = [plan.hidden(chain) for chain in range(3)]
    assert sum(h.cells.n_tokens for h in hidden) == votes.n_tokens
    for h in hidden:
        assert h.train.n_docs == h.cells.n_docs == votes.n_docs
        assert h.train.n_tokens + h.cells.n_tokens == votes.n_tokens
        both = (h.train.block_totals > 0) & (h.cells.block_totals > 0)
        assert not both.any()  # a vote is hidden whole
    found = select_components(
        votes, [1, 2], algorithm="mean-field", n_chains=3, n_starts=1, with_evidence=False, n_jobs=1
    )
    assert found.candidates[1].behind == 0


def test_pruning_from_above(planted):
    counts, _ = planted
    how = {"alpha": 0.1, "gamma": 0.1, "n_chains": 2, "n_starts": 1, "n_jobs": 1}
    found = select_components(counts, [3, 4, 5], with_evidence=False, prune=9, **how)
    assert found.pruned[0] == 9
    assert found.pruned[-1] == 4
    assert "From above, 9 components of which the weak were deleted leave 4" in found.summary
    with pytest.raises(dcomp.InvalidParameter, match="prune must be a whole number"):
        select_components(counts, [3], prune=1, **how)
    with pytest.raises(dcomp.InvalidParameter, match="prune needs a fit that can go on"):
        select_components(counts, [3], model="LN", prune=5, max_iter=2, **how | {"alpha": "auto"})
