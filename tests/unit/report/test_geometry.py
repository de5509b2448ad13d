"""Distances, the map and the order of components, against other ways to the same."""

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon, pdist, squareform

import dcomp
from dcomp.report import geometry
from dcomp.report.geometry import classical_scaling, component_plane, jensen_shannon, leaf_order


def test_divergences_are_scipys():
    p = np.random.default_rng(0).dirichlet(np.full(30, 0.2), 6)
    wanted = squareform(pdist(p, lambda a, b: jensenshannon(a, b, base=2) ** 2))
    assert jensen_shannon(p) == pytest.approx(wanted, abs=1e-12)


def test_points_of_a_plane_keep_their_distances():
    points = np.random.default_rng(1).normal(size=(8, 2))
    places, kept = classical_scaling(squareform(pdist(points)))
    assert kept == pytest.approx(1)
    assert pdist(places) == pytest.approx(pdist(points))


def test_blocks_count_by_their_tokens():
    """Of two blocks the divergence is the mean of theirs, weighted by tokens."""
    X = np.array([[9, 1, 1, 0], [1, 9, 0, 1], [5, 5, 1, 1]])
    counts = dcomp.Counts.from_matrix(X, blocks=[0, 0, 1, 1])
    fit = dcomp.LDA(3, verbose=0, random_state=3).fit(counts).fit_
    weight = geometry._block_weights(fit)
    assert weight == pytest.approx([30 / 34, 4 / 34], abs=1e-6)
    p = geometry._heaviest(fit, weight[fit.features.blocks])
    assert p.sum(axis=1) == pytest.approx(1, abs=1e-5)
    both = [jensen_shannon(fit.Theta[b].T.astype(float)) for b in (slice(0, 2), slice(2, 4))]
    wanted = weight[0] * both[0] + weight[1] * both[1]
    assert jensen_shannon(p) == pytest.approx(wanted, abs=1e-5)


def test_features_beyond_what_can_be_compared_count_as_one(monkeypatch):
    X = np.random.default_rng(2).poisson(0.3, (40, 500))
    fit = dcomp.LDA(4, verbose=0).fit(X).fit_
    whole = jensen_shannon(geometry._heaviest(fit, np.ones(500)))
    monkeypatch.setattr(geometry, "_BUDGET", 6 * 250)
    p = geometry._heaviest(fit, np.ones(500))
    assert p.shape == (4, 251)
    assert p.sum(axis=1) == pytest.approx(1)
    assert (jensen_shannon(p) <= whole + 1e-9).all()  # what is counted together differs less
    assert component_plane(fit).n_features < 500


def test_those_that_go_together_are_neighbours():
    groups = np.repeat([0, 1], 3)
    order = np.array([0, 3, 1, 4, 2, 5])
    correlation = np.where(np.equal.outer(groups, groups), 0.8, -0.2)[np.ix_(order, order)]
    np.fill_diagonal(correlation, 1)
    found = groups[order][leaf_order(correlation)]
    assert len(set(found[:3])) == len(set(found[3:])) == 1


def test_single_precision_is_enough_for_many(monkeypatch):
    p = np.random.default_rng(3).dirichlet(np.full(9000, 0.05), 20)
    exact = jensen_shannon(p)
    monkeypatch.setattr(geometry, "_MANY", 0)
    rough = jensen_shannon(p)
    assert rough == pytest.approx(exact, abs=1e-5)
    assert not np.array_equal(rough, exact)
