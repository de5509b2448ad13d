"""The start by the spectrum of a table: where it is taken, and that it finds what was planted."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import dcomp
from dcomp import datasets
from dcomp.executors import LocalExecutor
from dcomp.inference import MapEM, MaximumLikelihood, MeanField
from dcomp.inference.spectral import is_spectral, spectral_state
from dcomp.models import DirichletMultinomial, Observations, Tree, TreeMultinomial

ONE = LocalExecutor(1)


@pytest.fixture(scope="module")
def people():
    return datasets.genotypes(seed=2)


def error_in_shares(c, truth) -> float:
    """The mean error once the components are matched."""
    shares = c / np.maximum(c.sum(axis=1, keepdims=True), 1e-300)
    orders = permutations(range(truth.shape[1]))
    return min(float(np.abs(shares[:, order] - truth).mean()) for order in map(list, orders))


def test_people_are_placed_before_the_first_sweep(people):
    model = DirichletMultinomial.build(3)
    state = spectral_state(model, Observations(people.counts), 0, "float64", ONE)
    assert error_in_shares(state.c, people.memberships) < 0.06
    np.testing.assert_allclose(state.c.sum(axis=1), people.counts.doc_totals, rtol=1e-12)
    np.testing.assert_allclose(state.n.sum(), people.counts.n_tokens, rtol=1e-9)
    assert (state.n[people.counts.feature_totals > 0] > 0).all()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_defaults_leave_the_saddle_of_genotypes(people, seed):
    """From single documents plain sweeps of mean field rest where all people are alike: the climb
    leaves that point, too, and both starts come to one answer."""
    model = DirichletMultinomial.build(3, alpha=1 / 3, gamma=0.5, learn_alpha=True)
    fits = [
        dcomp.fit(people.counts, model, MeanField(start=start), seed=seed)
        for start in ("auto", "seeded")
    ]
    errors = [error_in_shares(fit.expected_counts, people.memberships) for fit in fits]
    assert max(errors) < 0.08
    assert abs(fits[0].objective - fits[1].objective) < 0.5 * people.counts.n_docs


def test_cut_and_uncut_begin_alike(people):
    whole, cut = (
        spectral_state(DirichletMultinomial.build(3), Observations(counts), 1, "float64", ONE)
        for counts in (people.counts, people.counts.in_parts(4))
    )
    np.testing.assert_allclose(whole.c, cut.c, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(whole.n, cut.n, rtol=1e-6, atol=1e-6)


def test_auto_is_for_tables_that_are_not_mostly_zeros(people, planted):
    rng = np.random.default_rng(0)
    sparse = Observations(dcomp.Counts.from_matrix(rng.random((200, 300)) < 0.05))
    dense, model = Observations(people.counts), DirichletMultinomial.build(3)
    asked = [is_spectral(start, model, dense) for start in ("auto", "seeded", "spectral")]
    assert asked == [True, False, True]
    assert [is_spectral(start, model, sparse) for start in ("auto", "spectral")] == [False, True]
    tree = TreeMultinomial.build(Tree.regular(2, 2))
    assert not is_spectral("spectral", tree, dense)
    assert not is_spectral("spectral", DirichletMultinomial.build(1), dense)
    few = Observations(planted[0].rows(slice(0, 2)))
    assert not is_spectral("spectral", model, few)


@pytest.mark.parametrize("algorithm", [MeanField, MapEM, MaximumLikelihood])
def test_other_starts_are_refused(algorithm):
    with pytest.raises(dcomp.InvalidParameter, match="one of auto, seeded, spectral; got 'svd'"):
        algorithm(start="svd")


def test_silent_blocks_are_at_the_mean():
    """Someone who was never seen is everyone; missing calls do not pull a person aside."""
    votes = datasets.votes(seed=1)
    W = votes.counts.to_scipy().toarray()
    W[5] = 0
    counts = dcomp.Counts.from_matrix(W, blocks=votes.counts.features.blocks)
    state = spectral_state(DirichletMultinomial.build(3), Observations(counts), 0, "float64", ONE)
    assert np.isfinite(state.c).all()
    assert np.isfinite(state.n).all()
    assert (state.c[5] == 0).all()
