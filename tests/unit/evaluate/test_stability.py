"""Edges between chains: found where they are, not found where they are not, and said in words."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest

import dcomp
from dcomp.data import FeatureSpace
from dcomp.evaluate import edge_stability
from dcomp.models import Nodes, Tree, TreeMultinomial
from dcomp.result import Ending, Trace

PARENTS = (-1, 0, 0, 0, 1, 1, 2, 2, 3, 3)  # three branches with two leaves each
J = 60


@pytest.fixture(scope="module")
def Theta():
    """Loadings of ten nodes that share few words."""
    return np.random.default_rng(3).dirichlet(np.full(J, 0.1), size=10).T


def tree_ending(parents, Theta, value=-1.0):
    model = TreeMultinomial.build(Tree.from_parents(parents))
    return Ending(0, value, model, np.asarray(Theta, np.float32))


def any_ending(edges, is_leaf, Theta, value=-1.0):
    """Of a structure that is no tree: all that is asked of a model is its nodes."""
    nodes = Nodes((), tuple(sorted(edges)), np.array(is_leaf), None)
    model = SimpleNamespace(scores=SimpleNamespace(nodes=nodes), key="any")
    return Ending(0, value, model, np.asarray(Theta, "f4"))


def numbered(ending, order):
    """The same chain with node order[k] called k."""
    place = np.argsort(order)
    nodes = ending.model.scores.nodes
    edges = [(place[c], place[p]) for c, p in nodes.edges]
    return any_ending(edges, nodes.is_leaf[order], ending.Theta[:, order])


def noisy(Theta, rng):
    """Loadings as another chain of a sampler would have them."""
    return np.stack([rng.dirichlet(2000 * column + 0.01) for column in Theta.T], axis=1)


def found(stability):
    return {(edge.child, edge.parent): edge.found for edge in stability.edges}


def test_other_numbers_of_the_same_nodes_change_nothing(Theta):
    best = tree_ending(PARENTS, Theta, value=0.0)
    rng = np.random.default_rng(0)
    orders = [rng.permutation(10) for _ in range(5)]
    stability = edge_stability([numbered(best, order) for order in orders] + [best])
    assert [edge.found for edge in stability.edges] == [1.0] * 9
    assert [edge.together for edge in stability.edges] == [1.0] * 9
    for order, partners in zip(orders, stability.partners, strict=True):
        assert np.array_equal(order[partners], np.arange(10))
    assert (stability.mean, stability.in_all, stability.in_none) == (1, 9, 0)
    assert stability.warning is None
    assert all(node.matched == 1 for node in stability.nodes)
    np.testing.assert_allclose([node.similarity for node in stability.nodes], 1, atol=1e-5)


@pytest.mark.parametrize("node", range(4, 10))
def test_a_leaf_that_hangs_elsewhere_is_the_edge_that_is_missed(Theta, node):
    rng = np.random.default_rng(node)
    best = tree_ending(PARENTS, Theta, value=0.0)
    parents = list(PARENTS)
    parents[node] = 1 if PARENTS[node] != 1 else 3
    moved = tree_ending(parents, noisy(Theta, rng))
    moved = numbered(moved, rng.permutation(10))
    same = numbered(tree_ending(PARENTS, noisy(Theta, rng)), rng.permutation(10))
    stability = edge_stability([moved, best, same])
    expected = dict.fromkeys(best.model.scores.nodes.edges, 1.0)
    assert found(stability) == expected | {(node, PARENTS[node]): 0.5}
    (sibling,) = (k for k in range(4, 10) if PARENTS[k] == PARENTS[node] and k != node)
    apart = {edge.child for edge in stability.edges if edge.together != 1}
    assert apart == {node, sibling}  # the sibling has lost its company, not its parent


def test_a_subtree_that_hangs_elsewhere(Theta):
    """Internal node 3 with its leaves from the root to node 2: one edge is another, two stay."""
    best = tree_ending(PARENTS, Theta, value=0.0)
    parents = list(PARENTS)
    parents[3] = 2
    stability = edge_stability([best, tree_ending(parents, Theta)])
    assert [edge for edge, share in found(stability).items() if share == 0] == [(3, 0)]
    assert (stability.in_all, stability.in_none) == (8, 1)


def test_fewer_nodes_and_more(Theta):
    best = tree_ending(PARENTS, Theta, value=0.0)
    fewer = tree_ending(PARENTS[:9], Theta[:, :9])
    extra = np.random.default_rng(1).dirichlet(np.full(J, 0.1), size=2).T
    more = tree_ending((*PARENTS, 0, 10), np.hstack([Theta, extra]))
    stability = edge_stability([fewer, best, more])
    assert found(stability) == dict.fromkeys(best.model.scores.nodes.edges, 1.0) | {(9, 3): 0.5}
    assert stability.partners[0].tolist() == [*range(9), -1]
    assert stability.partners[1].tolist() == [*range(10)]
    assert stability.n_edges == (8, 11)
    assert "The others have 8, 11 edges." in str(stability)
    lost = stability.nodes[9]
    assert (lost.matched, lost.similarity) == (0.5, pytest.approx(0.5, abs=1e-5))
    back = edge_stability([replace(more, value=1.0), best])
    assert [edge for edge, share in found(back).items() if not share] == [(10, 0), (11, 10)]


def test_a_pattern_that_is_no_tree(Theta):
    """Leaves with several nodes above them: every allowed pair is an edge."""
    is_leaf = [True] * 6 + [False] * 4
    edges = [(0, 6), (0, 7), (1, 6), (2, 7), (2, 8), (3, 8), (4, 9), (5, 9), (5, 6)]
    best = any_ending(edges, is_leaf, Theta, value=0.0)
    order = np.array([7, 0, 9, 1, 5, 8, 2, 3, 6, 4])
    less = any_ending([e for e in edges if e != (2, 7)], is_leaf, Theta)
    stability = edge_stability([numbered(less, order), best])
    assert found(stability) == dict.fromkeys(sorted(edges), 1.0) | {(2, 7): 0.0}
    # Leaf 0 has lost its companion below node 7, but not those below node 6.
    by_edge = {(e.child, e.parent): e.together for e in stability.edges}
    assert by_edge[0, 7] == 0
    assert by_edge[0, 6] == 1


def test_together_needs_no_parent(Theta):
    """Node 1 has other words in the other chain: its edges are gone, its leaves still siblings."""
    changed = Theta.copy()
    changed[:, 1] = np.random.default_rng(8).dirichlet(np.full(J, 0.1))
    stability = edge_stability(
        [tree_ending(PARENTS, Theta, value=0.0), tree_ending(PARENTS, changed)]
    )
    rows = {(edge.child, edge.parent): edge for edge in stability.edges}
    assert [edge for edge, row in rows.items() if not row.found] == [(1, 0), (4, 1), (5, 1)]
    assert rows[4, 1].together == rows[5, 1].together == 1
    assert rows[1, 0].together == 0
    assert rows[2, 0].together == 0.5  # with node 3, not with node 1
    assert rows[4, 1].parent_match < 0.5 < rows[4, 1].child_match
    changed = Theta.copy()
    changed[:, 9] = np.random.default_rng(8).dirichlet(np.full(J, 0.1))
    stability = edge_stability(
        [tree_ending(PARENTS, Theta, value=0.0), tree_ending(PARENTS, changed)]
    )
    assert [edge.child for edge in stability.edges if edge.together != 1] == [8, 9]
    only = tree_ending((-1, 0, 1), Theta[:, :3], value=0.0)
    chain = edge_stability([only, only])
    assert [edge.together for edge in chain.edges] == [None, None]
    assert chain.to_frame()["together"].isna().all()


def test_chance_is_what_shuffled_leaves_give(Theta):
    """By all 720 ways to put the leaves of the other chain into their places."""
    parents = (-1, 0, 0, 1, 1, 1, 1, 2, 2)
    best = tree_ending(parents, Theta[:, :9], value=0.0)
    stability = edge_stability([best, best])
    leaves = list(range(3, 9))
    shares = []
    for shuffled in permutations(leaves):
        place = {0: 0, 1: 1, 2: 2} | dict(zip(leaves, shuffled, strict=True))
        shares.append(np.mean([parents[place[k]] == p for k, p in best.model.scores.nodes.edges]))
    assert stability.chance == pytest.approx(np.mean(shares))


@pytest.mark.parametrize(("factor", "matches"), [(0.49, True), (0.51, False)])
def test_a_match_is_nearer_than_half_the_way_to_another_node(factor, matches):
    """Two leaves of two words; d = 1 − s is set to a multiple of the distance between them."""
    angles = np.array([0.8, 1.5])  # s of two words is the cosine between their square roots
    apart = 1 - np.cos(0.7)
    other = np.array([0.8 - np.arccos(1 - factor * apart), 1.5])

    def ending(turned, value):
        leaves = np.stack([np.cos(turned) ** 2, np.sin(turned) ** 2])
        whole = np.vstack([np.c_[[0, 0], leaves], [1, 0, 0]])  # the root has a word of its own
        return tree_ending((-1, 0, 0), whole, value)

    best, second = ending(angles, 0.0), ending(other, -1.0)
    stability = edge_stability([best, second])
    assert stability.nodes[1].similarity == pytest.approx(1 - factor * apart, abs=1e-5)
    assert stability.partners[0].tolist() == [0, 1 if matches else -1, 2]
    # The rule looks at the neighbours in both chains: a crowd in the other one is no match either.
    crowded = ending(np.array([0.8 - np.arccos(1 - 0.3 * apart), 0.5]), -1.0)
    assert edge_stability([best, crowded]).partners[0, 1] == -1


def test_nodes_without_words_match_nobody(Theta):
    """Their loadings are the prior's, in all chains the same: that says nothing of their places."""
    empty = Theta.copy()
    empty[:, [5, 8]] = 1 / J
    best = tree_ending(PARENTS, empty, value=0.0)
    stability = edge_stability([best, best])
    assert [node.node for node in stability.nodes if not node.matched] == [5, 8]
    assert stability.in_none == 2
    # Nor do they if they differ by next to nothing, the same in both chains.
    empty[:, 5] *= 1 + 2e-3 * np.tile([-1, 1], J // 2)
    best = tree_ending(PARENTS, empty, value=0.0)
    assert edge_stability([best, best]).in_none == 2


def test_unrelated_nodes_do_not_match():
    """200 nodes drawn independently, of which the assignment pairs the most alike: none matches."""
    rng = np.random.default_rng(0)
    parents = [-1] + [0] * 10 + [1 + k % 10 for k in range(189)]
    one, two = (rng.dirichlet(np.full(100, 0.3), size=200).T for _ in range(2))
    stability = edge_stability([tree_ending(parents, one, 0.0), tree_ending(parents, two)])
    assert (stability.partners == -1).all()
    assert np.mean([node.similarity for node in stability.nodes]) > 0.4  # paired all the same
    assert stability.mean == stability.chance == 0


def test_blocks_weigh_the_same(Theta):
    """The nodes differ in a small block alone: with blocks that is half of what is compared."""
    words = np.repeat(Theta[:, :1], 10, axis=1)
    kind = np.eye(10)
    both = np.vstack([words, kind])
    features = FeatureSpace.build(J + 10, blocks=["words"] * J + ["kind"] * 10)
    best = tree_ending(PARENTS, both, value=0.0)
    other = replace(best, value=-1.0)
    stability = edge_stability([best, other], features=features)
    assert stability.mean == 1
    assert stability.nodes[0].similarity == pytest.approx(1, abs=1e-5)


def test_a_best_chain_without_edges(Theta):
    flat = any_ending([], [True] * 10, Theta, value=0.0)
    stability = edge_stability([flat, tree_ending(PARENTS, Theta)])
    assert (stability.mean, stability.edges, stability.chance) == (None, (), 0)
    assert "the best one has no edges. The others have 9 edges. 6 of 10" in str(stability)
    assert len(stability.to_frame()) == 0
    assert stability.warning is None


def test_in_words(Theta):
    """Half of the edges elsewhere, then most of them."""
    names = [f"w{j}" for j in range(J)]
    features = FeatureSpace.build(J, names)
    best = tree_ending(PARENTS, Theta, value=0.0)
    turned = tree_ending((-1, 0, 0, 0, 2, 2, 3, 3, 1, 1), Theta)
    stability = edge_stability([best, turned, best], features=features, n_top=2)
    assert stability.summary.startswith(
        "3 chains: of the 9 edges of the best one 3 are in every other chain, 0 in none; on "
        "average an edge is in 0.67 of them (0.56 if"
    )
    assert stability.warning is None
    bad = edge_stability([best, turned], features=features, n_top=2)
    assert bad.warning.startswith("6 of 9 edges are in less than half of the other chains.")
    assert "they end 1 below the best one" in bad.warning
    assert str(bad).startswith(bad.summary)
    assert bad.warning in bad.summary
    top = [names[j] for j in np.argsort(-Theta[:, 4])[:2]]
    assert bad.nodes[4].label == f"1.1 ({top[0]} {top[1]})"
    lines = bad.text(4).splitlines()
    assert lines[-1] == "and 5 edges more"
    assert len(lines) == 1 + 1 + 4 + 1
    assert "  0.00" in lines[2]
    assert f"1.1 ({top[0]} {top[1]}) → 1 (" in lines[2]
    assert len(bad.text(None).splitlines()) == 11


def test_frames(Theta, monkeypatch):
    best = tree_ending(PARENTS, Theta, value=0.0)
    stability = edge_stability([best, best])
    frame = stability.to_frame()
    assert frame.index.names == ["child", "parent"]
    assert frame.loc[(4, 1), "found"] == 1
    assert frame.loc[(4, 1), "parent_label"] == "1"
    assert stability.to_frame(nodes=True).loc[0, "label"] == "root"
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(dcomp.MissingDependency, match="needs pandas"):
        stability.to_frame()


TREE = Tree.regular(3, 3)
PRIORS = {"a1": [25] + [30] * 12, "a2": [75] + [70] * 12}


@pytest.fixture(scope="module")
def simulated():
    """300 documents of 100 words from a tree of 13 nodes with 8 words of their own."""
    rng = np.random.default_rng(0)
    Theta = np.full((104, 13), 0.02 / 104)
    for k in range(13):
        Theta[8 * k : 8 * k + 8, k] += 0.98 * rng.dirichlet(np.full(8, 3.0))
    model = TreeMultinomial.build(TREE, **PRIORS)
    return model.simulate(FeatureSpace.build(104), np.full(300, 100), rng, Theta=Theta)[0]


def test_chains_that_find_the_planted_tree_agree(simulated):
    """Three chains of five find it, and their log joint says so: of eight, fewer than two do once
    in 150 runs (the seed is fixed). The others have another tree, of mostly the same nodes."""
    model = dcomp.TreeDCA(3, 3, n_chains=8, gamma=0.1, verbose=0, **PRIORS).fit(simulated)
    endings = model.fit_.endings
    best = max(endings, key=lambda ending: ending.value)
    alike = [ending for ending in endings if best.value - ending.value < 1500]
    others = [ending for ending in endings if best.value - ending.value > 3000]
    assert len(alike) >= 2
    agreed = edge_stability(alike)
    assert (agreed.mean, agreed.in_all) == (1, 12)
    assert agreed.chance == pytest.approx((9 / 3 + 3) / 12)  # a leaf has one place in three
    assert all(node.matched == 1 and node.similarity > 0.97 for node in agreed.nodes)
    assert agreed.warning is None
    for other in others:
        assert edge_stability([best, other]).mean < 1
    assert model.stability().mean >= agreed.mean * (len(alike) - 1) / 7
    # All words exchanged for those of other nodes, half and half: nothing is left.
    swapped = replace(alike[0], Theta=np.roll(alike[0].Theta, 4, axis=0))
    assert edge_stability([replace(best, value=best.value + 1), swapped]).mean == 0


def test_a_chain_cut_short_is_left_out(simulated):
    chain = 0

    def interrupt(info):
        nonlocal chain
        chain += info.sweep == 1
        if (chain, info.sweep) == (3, 4):
            raise KeyboardInterrupt

    options = {"n_chains": 4, "max_iter": 40, "gamma": 0.1, "verbose": 0}
    model = dcomp.TreeDCA(3, 3, **options, callbacks=[interrupt]).fit(simulated)
    assert len(model.fit_.endings) == 3
    stability = model.stability()
    assert (stability.n_chains, stability.left_out) == (2, 1)
    assert "1 chains that were cut short are left out" in stability.summary
    whole = dcomp.TreeDCA(3, 3, **options | {"n_chains": 2}).fit(simulated)
    assert stability.edges == whole.stability().edges
    # Mean field climbs: a chain that rests earlier than the best is as whole as that.
    climbed = dcomp.TreeDCA(3, 3, algorithm="mean-field", **options | {"max_iter": 2000})
    assert climbed.fit(simulated).stability().n_chains == 4


def test_what_is_refused(simulated, Theta):
    one = dcomp.TreeDCA(2, 2, max_iter=5, verbose=0).fit(simulated)
    with pytest.raises(dcomp.InvalidParameter, match="this fit has 1 chain: fit with n_chains=4"):
        one.stability()
    flat = dcomp.LDA(2, verbose=0, n_chains=2).fit(simulated).fit_
    with pytest.raises(dcomp.UnsupportedCombination, match="of model DM have no edges"):
        edge_stability(flat)
    two = dcomp.TreeDCA(2, 2, max_iter=5, n_chains=2, verbose=0).fit(simulated).fit_
    with pytest.raises(dcomp.InvalidParameter, match="fit again"):
        edge_stability(replace(two, endings=()))
    with pytest.raises(dcomp.InvalidParameter, match="a fit has its features"):
        edge_stability(two, features=two.features)
    short = replace(two, history=two.chains[0], chains=(two.chains[0], Trace(())))
    with pytest.raises(dcomp.InvalidParameter, match="there must be 2 whole ones; there is 1"):
        edge_stability(short)
    best = tree_ending(PARENTS, Theta)
    for endings, message in (
        ([best], "there is 1"),
        ([], "there is none"),
        ([best, 7], "number 1 is a int"),
        ([best, tree_ending(PARENTS, Theta[1:])], r"same features; they have \[60, 59\]"),
    ):
        with pytest.raises(dcomp.InvalidParameter, match=message):
            edge_stability(endings)
    with pytest.raises(dcomp.InvalidParameter, match=r"they have \[60, 60, 3\]"):
        edge_stability([best, best], features=FeatureSpace.build(3))
