"""Trees and their prior: shapes, errors that name the bad node, and the formulae of BJ04 3.4."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import dcomp
from dcomp import _core
from dcomp.models import DirichletMultinomial, DirichletScores, Tree, TreeMultinomial, TreeScores
from dcomp.reference import tree as reference

DEEP = Tree.from_parents([-1, 2, 0, 0, 2, 1, 1, 3, 0, 8])  # children before parents, an only child


def uneven(tree, seed=0):
    """Priors that all differ."""
    K = tree.n_nodes
    a1, a2, b = np.random.default_rng(seed).gamma(2.0, 1.0, (3, K)) + 0.1
    return TreeScores.build(tree, a1, a2, b)


def flat(tree, alpha):
    """The tree that is Dirichlet(alpha): b of a subtree is its total, a2 that of all below."""
    totals = np.asarray(alpha) @ tree.on_path
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dcomp.FlatTreeWarning)
        return TreeScores.build(tree, alpha, np.maximum(totals - alpha, 1e-9), totals)


def test_the_ways_to_give_a_tree():
    tree = Tree.regular(2, 3)
    assert Tree.from_parents([-1, 0, 0, 1, 1, 2, 2]) == tree
    assert Tree.from_parents([None, 0, 0, 1, 1, 2, 2], tree.names) == tree
    assert tree.names == ("root", "1", "2", "1.1", "1.2", "2.1", "2.2")
    names = Tree.from_names({"all": {"a": ["x", "y"], "b": {"z": None, "w": []}}})
    assert names.parents == (-1, 0, 1, 1, 0, 4, 4)
    assert names.names == ("all", "a", "x", "y", "b", "z", "w")
    assert Tree.from_names(["x", "y"]).names == ("root", "x", "y")
    assert Tree.from_json(names.to_json()) == names
    assert Tree.regular(7, 3).n_nodes == 57
    assert Tree.regular(7, 1).n_nodes == 1
    assert DEEP.level.tolist() == [0, 2, 1, 1, 2, 3, 3, 2, 1, 2]
    assert DEEP.order == (0, 2, 3, 8, 1, 4, 7, 9, 5, 6)
    assert DEEP.descendants(2) == (1, 2, 4, 5, 6)


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ([], "node 0 must be the root"),
        ([1, -1], "node 0 must be the root, with parent -1 or None; got parent 1"),
        ([-1, 0, -1], "node 2 has no parent"),
        ([-1, 0, 3], r"the parent of node 2 must be another node from 0 to 2; got 3"),
        ([-1, 0, 2], "the parent of node 2 must be another node"),
        ([-1, 2, 1, 0], "the parents of node 1 go round in a circle"),
        ([-1, 0.5], "the parent of node 1 must be a node number; got 0.5"),
        ([-1, "a"], "the parent of node 1 must be a node number; got 'a'"),
    ],
)
def test_what_is_no_tree(parents, message):
    with pytest.raises(dcomp.InvalidParameter, match=message):
        Tree.from_parents(parents)


def test_names_must_differ_and_suffice():
    with pytest.raises(dcomp.InvalidParameter, match="nodes 1 and 2 are both 'a'"):
        Tree.from_parents([-1, 0, 0], ["r", "a", "a"])
    with pytest.raises(dcomp.InvalidParameter, match="each of its 3 nodes; got 2"):
        Tree.from_parents([-1, 0, 0], ["r", "a"])
    with pytest.raises(dcomp.InvalidParameter, match="found 3 at a"):
        Tree.from_names({"a": 3})
    with pytest.raises(dcomp.InvalidParameter, match=r"found \['x'\] in a list at a"):
        Tree.from_names({"a": [["x"]]})
    with pytest.raises(dcomp.InvalidParameter, match="parents and names"):
        Tree.from_json("[1]")


def test_priors_are_those_of_the_paper():
    scores = TreeScores.build(Tree.from_parents([-1, 0, 0, 0, 1, 1]))
    assert scores.a1.tolist() == [1, 10, 1, 1, 1, 1]
    assert scores.a2.tolist() == [10, 60, 1, 1, 1, 1]
    np.testing.assert_allclose(scores.b, [1, 1 / 3, 1 / 3, 1 / 3, 1 / 2, 1 / 2])
    assert not scores.is_dirichlet


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"a1": -1.0}, "a1 must be positive and finite; found -1"),
        ({"a2": [1.0, 2.0]}, r"a2 must be a number or hold one number per node \(57\)"),
        ({"b": 0.0}, "b must be positive"),
        ({"depth": 0}, "depth must be a whole number of at least 1; got 0"),
        ({"branching": 2.5}, "branching must be a whole number of at least 1; got 2.5"),
        ({"tree": "wood"}, "tree must be a Tree, a list of parents or nested names"),
        ({"tree": [-1, 0, 7]}, "the parent of node 2"),
        ({"tree": [-1, 0], "depth": 2}, "give tree= or depth=, not both"),
        ({"grow_at": 5}, "grow_at = 5 has no effect without grow_to"),
        ({"grow_to": 58}, "grow_to must exceed the 57 nodes of the tree by two or more; got 58"),
        ({"grow_to": 90, "grow_at": 120}, "grow_at = 120 must be at most burn_in = 100"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(dcomp.InvalidParameter, match=message):
        dcomp.TreeDCA(verbose=0, **options).fit([[1, 2], [0, 4]])


def test_options_without_meaning():
    with pytest.raises(dcomp.UnsupportedCombination, match="branching= beside tree="):
        dcomp.TreeDCA(3, tree=[-1, 0, 0], verbose=0).fit([[1, 2]])
    with pytest.raises(dcomp.UnsupportedCombination, match="alpha has no meaning for model TM"):
        dcomp.DCA(4, model="TM", alpha=0.1, verbose=0).fit([[1, 2]])
    with pytest.raises(dcomp.UnsupportedCombination, match="model TM has no algorithm 'map'"):
        dcomp.TreeDCA(2, 2, algorithm="map", verbose=0).fit([[1, 2]])


@pytest.mark.parametrize("tree", [Tree.regular(3, 2), Tree.regular(2, 3), DEEP, Tree.regular(2, 1)])
def test_matrices_and_branches_agree(tree):
    """models/tree.py by matrices, reference/tree.py branch by branch, and the kernels."""
    scores = uneven(tree)
    c = np.random.default_rng(1).integers(0, 5, (6, tree.n_nodes)).astype(np.int32)
    c[0] = 0
    mean, logs = scores.posterior_mean(c, np.ones(6)), scores.expected_log(c, np.ones(6))
    for i in range(6):
        np.testing.assert_allclose(mean[i], reference.predictive(scores, c[i]), rtol=1e-12)
        np.testing.assert_allclose(logs[i], reference.expected_log(scores, c[i]), atol=1e-12)
    np.testing.assert_allclose(mean.sum(axis=1), 1)
    native = scores.native()
    out = np.ones(c.shape, np.float32)
    _core.tree_means(c, native, out, 2)
    np.testing.assert_allclose(out - 1, mean, atol=2e-7)
    moments = _core.log_score_moments(c, native, 2)
    assert moments == pytest.approx(scores.log_moment(c, np.ones(6)).sum())


@pytest.mark.parametrize("tree", [Tree.regular(2, 3), DEEP])
def test_the_predictive_is_the_ratio_of_moments(tree):
    scores, K = uneven(tree), tree.n_nodes
    c = np.random.default_rng(2).integers(0, 4, K)
    more = scores.log_moment(c + np.eye(K), np.ones(K)) - scores.log_moment(c[None], np.ones(1))
    np.testing.assert_allclose(np.exp(more), scores.posterior_mean(c, np.ones(1)))


def test_moments_are_integrals():
    """E[Π m^c] of three nodes by quadrature over the simplex, against the density and the moment.

    The density tests the volume of the map from (q, n) to m as well.
    """
    scores = TreeScores.build(Tree.regular(2, 2), 1.7, 2.2, [1.0, 1.4, 2.3])
    u, weight = np.polynomial.legendre.leggauss(80)
    u, weight = (u + 1) / 2, weight / 2
    at, weight = u**2 * (3 - 2 * u), 6 * u * (1 - u) * weight  # densely near the edges
    x, share = at[:, None], at[None]  # m = (the rest, x, share of 1 − x)
    m = np.stack(np.broadcast_arrays((1 - x) * (1 - share), x, (1 - x) * share), axis=-1)
    density = np.exp(scores.log_density(m)) * weight[:, None] * weight * (1 - x)
    for c in ([0, 0, 0], [1, 0, 2], [0, 3, 1]):
        exact = float(np.exp(scores.log_moment(np.array([c]), np.ones(1)))[0])
        assert (density * np.prod(m**c, axis=-1)).sum() == pytest.approx(exact, rel=1e-8)


def test_density_of_a_deep_tree_integrates_what_it_draws():
    """E[f(m)/p(m)] under the tree's own draws is the integral of f: here of Dirichlet(2), which is
    1. A false volume of the map would change it."""
    scores = TreeScores.build(Tree.from_parents([-1, 0, 0, 1, 1]), 1.3, 1.6, 0.9)
    m = scores.draw(np.zeros((200_000, 5)), np.zeros(200_000), np.random.default_rng(3))
    m = np.maximum(m, 1e-12)
    other = DirichletScores.build(5, 2.0).log_density(m) - scores.log_density(m)
    ratio = np.exp(other)
    assert ratio.mean() == pytest.approx(1, abs=6 * ratio.std() / np.sqrt(len(ratio)))


def test_draws_have_the_moments():
    scores, c = uneven(DEEP, 4), np.array([3, 0, 0, 1, 2, 0, 5, 0, 0, 1])
    m = scores.draw(np.tile(c, (100_000, 1)), np.zeros(100_000), np.random.default_rng(5))
    np.testing.assert_allclose(m.sum(axis=1), 1)
    first = scores.posterior_mean(c, np.ones(1))
    error = m.std(axis=0) / np.sqrt(len(m))
    assert (np.abs(m.mean(axis=0) - first) < 5 * error).all()
    sd = scores.posterior_sd(c, np.ones(1))
    assert (np.abs(m.std(axis=0) / sd - 1) < 0.03).all()
    pair = (m[:, 1] * m[:, 5]).mean()  # a node with its child
    both = np.zeros(10)
    both[[1, 5]] = 1
    moment = scores.log_moment(np.array([c + both, c]), np.ones(2))
    assert pair == pytest.approx(np.exp(moment[0] - moment[1]), rel=0.03)


@pytest.mark.parametrize("tree", [Tree.regular(3, 2), Tree.regular(2, 3), DEEP])
def test_a_flat_tree_is_a_dirichlet(tree):
    """Both conditions of MODELS §3: then everything equals Dirichlet(α) of all nodes."""
    K = tree.n_nodes
    alpha = np.linspace(0.2, 1.5, K)
    scores, dirichlet = flat(tree, alpha), DirichletScores.build(K, alpha)
    assert scores.is_dirichlet
    rng = np.random.default_rng(6)
    c, one = rng.integers(0, 6, (5, K)), np.ones(5)
    np.testing.assert_allclose(scores.log_moment(c, one), dirichlet.log_moment(c, one))
    np.testing.assert_allclose(scores.posterior_mean(c, one), dirichlet.posterior_mean(c, one))
    np.testing.assert_allclose(scores.expected_log(c, one), dirichlet.expected_log(c, one))
    m = rng.dirichlet(alpha + 1, 5)
    np.testing.assert_allclose(scores.log_density(m), dirichlet.log_density(m))


def test_the_papers_condition_alone_does_not_flatten():
    """Σ b = a2 at every node, but b ≠ a1 + a2 of the internal children: BJ04 has the first."""
    tree = Tree.regular(2, 3)
    alpha = np.ones(7)
    half = flat(tree, alpha)
    half = TreeScores.build(tree, 3 * half.a1, half.a2, half.b)
    np.testing.assert_allclose(half.b_total[:3], half.a2[:3])
    assert not half.is_dirichlet
    c = np.array([[1, 0, 0, 2, 0, 0, 0]])
    dirichlet = DirichletScores.build(7, np.where(tree.is_leaf, 1.0, 3.0))
    assert half.log_moment(c, np.ones(1)) != pytest.approx(dirichlet.log_moment(c, np.ones(1)))


def test_a_flat_tree_warns():
    tree = Tree.regular(3, 2)
    with pytest.warns(dcomp.FlatTreeWarning, match="these parameters flatten the tree"):
        TreeScores.build(tree, 0.5, 1.5, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TreeScores.build(tree)
        TreeScores.build(Tree.regular(3, 1))  # a root alone is nothing to flatten


def test_a_flat_tree_is_fitted_as_the_flat_model(planted):
    """Mean field of both, from one start: the same numbers."""
    counts, _ = planted
    tree, alpha = Tree.complete(5, 2), np.linspace(0.1, 0.5, 5)
    trees = TreeMultinomial(flat(tree, alpha)).with_loadings(dcomp.models.DirichletLoadings(0.1))
    plain = DirichletMultinomial.build(5, alpha=alpha, gamma=0.1)
    mean_field = dcomp.inference.MeanField(dtype="float64", start="seeded", n_tries=1)
    a, b = (dcomp.fit(counts, m, mean_field, max_iter=40, tol=0) for m in (trees, plain))
    np.testing.assert_allclose(a.history["objective"], b.history["objective"], rtol=1e-9)
    np.testing.assert_allclose(a.Theta, b.Theta, atol=1e-7)
    np.testing.assert_allclose(a.scores, b.scores, atol=1e-7)


def test_growing_keeps_what_there_is():
    scores = uneven(Tree.regular(2, 2)).grown({1: 3, 2: 2}, 10.0, 60.0)
    assert scores.tree.parents == (-1, 0, 0, 1, 1, 1, 2, 2)
    assert scores.tree.names == ("root", "1", "2", "1.1", "1.2", "1.3", "2.1", "2.2")
    assert scores.a1[1:3].tolist() == [10, 10]
    assert scores.a2[1:3].tolist() == [60, 60]
    np.testing.assert_allclose(scores.b[3:], [1 / 3] * 3 + [1 / 2] * 2)
    old = uneven(Tree.regular(2, 2))
    np.testing.assert_array_equal(scores.b[1:3], old.b[1:3])
    assert (scores.a1[0], scores.a2[0]) == (old.a1[0], old.a2[0])


def test_text_and_json():
    tree = Tree.from_names({"all": {"a": ["x", "y"], "b": []}})
    assert tree.text().splitlines() == ["all", "├─ a", "│  ├─ x", "│  └─ y", "└─ b"]
    assert tree.text(list("01234")).splitlines()[2] == "│  ├─ 2"
    assert json.loads(tree.to_json())["parents"] == [-1, 0, 1, 1, 0]
