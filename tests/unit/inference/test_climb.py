"""Hill climbing in structure space: planted hierarchies, the score's promises, and bad input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dcomp.errors import InvalidCounts, InvalidParameter
from dcomp.inference import climb
from dcomp.inference.climb import _climb, _climbed, _proposals
from dcomp.inference.climb_forest import Forest, Proposal, WordPrior
from dcomp.inference.climb_moves import first_gains, start_of
from dcomp.inference.climb_refine import (
    _leaf_words,
    _lone_score,
    _merged,
    _pushed_down,
    _tops_shared,
    _whole,
    climb_tree,
    paper_gain,
    refine,
)
from dcomp.inference.climb_score import Problems
from dcomp.reference import structure_score as reference

GAMMA = 0.05


def planted(families, phi, *, J=400, N=10_000, gamma=GAMMA, seed=0):
    """n (J, K): leaves of a family share a parent that gives φ of their words; a family of one has
    none. All loadings are draws of the prior."""
    rng = np.random.default_rng(seed)
    columns = []
    for size in families:
        parent = rng.dirichlet(np.full(J, gamma))
        for _ in range(size):
            own = rng.dirichlet(np.full(J, gamma))
            theta = own if size == 1 else phi * parent + (1 - phi) * own
            columns.append(rng.multinomial(N, theta))
    return np.array(columns).T


def three_levels(seed=1, J=300, N=10_000):
    """Two parents of three leaves below one root, φ = 0.35 and 0.25, and a leaf of its own."""
    rng = np.random.default_rng(seed)

    def draw():
        return rng.dirichlet(np.full(J, GAMMA))

    root, columns = draw(), []
    for _ in range(2):
        parent = draw()
        for _ in range(3):
            theta = 0.25 * root + 0.75 * (0.35 * parent + 0.65 * draw())
            columns.append(rng.multinomial(N, theta))
    columns.append(rng.multinomial(N, draw()))
    return np.array(columns).T


def groups(found, K):
    """Leaves by their parent."""
    out = {}
    for leaf in range(K):
        out.setdefault(found.parents[leaf], set()).add(leaf)
    return out


def forest_of(n, gamma=GAMMA, blocks=None):
    n = np.asarray(n, dtype=float)
    return Forest(n.T, WordPrior.build(gamma, blocks, len(n)))


def tree_problem(n, gamma, blocks):
    """((0, 1), 2) as one problem, and its parents as the reference numbers nodes."""
    rows = np.zeros((5, len(n)))
    rows[[2, 3, 4]] = n.T
    G = blocks.max() + 1
    total = np.bincount(blocks, gamma, G)[None]
    held = np.zeros((5, 1, G))
    whole = Problems(
        (-1, 0, 1, 1, 0), rows, np.zeros_like(rows), blocks, gamma, total, held, held[:, :, 0]
    )
    return whole, [4, 4, 3, -1, 3], [2, 3, 4, 0, 1]  # reference node -> row


def dense_shares(whole, g, order, parents):
    """r (K, H, J) of the reference from weights g."""
    r = np.zeros((3, 5, g.shape[1]))
    for c in range(3):
        path = reference.path(parents, c)
        r[c, path] = g[[order[h] for h in path]]
    return r / r.sum(axis=1, keepdims=True)


# --- what is found --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("phi", "N"), [(0.2, 50_000), (0.3, 10_000), (0.5, 10_000)])
def test_two_parents_and_a_lone_leaf_are_found(phi, N, seed):
    """Fixed seeds. 60 of 60 such data sets came out right when the test was written."""
    found = climb(planted([3, 3, 1], phi, N=N, seed=seed), GAMMA)
    by_parent = groups(found, 7)
    assert sorted(map(sorted, by_parent.values())) == [[0, 1, 2], [3, 4, 5], [6]]
    assert len(found.parents) == 9
    assert found.parents[6:] == (-1, -1, -1)
    np.testing.assert_allclose(found.phi[7:], phi, atol=0.1)
    np.testing.assert_array_equal(found.phi[:7], 1)


def test_three_levels_are_found():
    found = climb(three_levels(), GAMMA)
    assert sorted(map(sorted, groups(found, 7).values())) == [[0, 1, 2], [3, 4, 5], [6]]
    assert found.parents[6:] == (-1, 9, 9, -1)
    np.testing.assert_allclose(found.phi[7:], [0.35, 0.35, 0.25], atol=0.05)
    assert found.moves[-1].kind == "join"
    assert found.moves[-1].children == (7, 8)


@pytest.mark.parametrize(("families", "seed"), [([3, 3, 1], 1), ([5, 4, 1], 4)])
def test_no_node_is_left_without_words(families, seed):
    """Here a join above the parent and the third leaf gains a little more than the attachment, and
    empties the parent: the same tree with a node too many."""
    K = sum(families)
    found = climb(planted(families, 0.2, J=200, seed=seed), GAMMA)
    assert len(found.parents) == K + 2
    assert sorted(map(len, groups(found, K).values())) == sorted(families)
    assert (found.phi > 0.1).all()


def test_the_parent_gets_the_words_that_are_shared():
    rng = np.random.default_rng(3)
    parts = rng.dirichlet(np.full(60, 1.0), 3) * 3000
    n = np.zeros((180, 2))
    for c in range(2):
        n[:60, c] = rng.poisson(parts[0])
        n[60 * (c + 1) : 60 * (c + 2), c] = rng.poisson(parts[c + 1])
    found = climb(n, GAMMA)
    r = found.responsibilities(0)
    assert found.path(0) == (0, 2)
    shared = np.average(r[1, :60], weights=n[:60, 0])
    own = np.average(r[1, 60:120], weights=n[60:120, 0])
    assert shared > 0.95
    assert own < 0.01


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("J", "N", "gamma"), [(200, 10_000, 0.05), (200, 10_000, 0.2), (50, 1000, 0.3)]
)
def test_nothing_is_found_where_nothing_is(seed, J, N, gamma):
    """Loadings from the prior itself. p(w | hierarchy) / p(w | flat) has mean 1 here at any one φ,
    so a bound of its log passes g with a chance of at most e^−g per proposal; 120 such data sets
    gave no move when the test was written, and seeds are fixed."""
    found = climb(planted([1] * 8, 0.0, J=J, N=N, gamma=gamma, seed=seed), gamma)
    assert found.moves == ()
    assert found.parents == (-1,) * 8
    assert found.score == found.flat_score


def test_equal_leaves_become_one():
    n = planted([1, 1], 0.0, J=100, N=2000)
    found = climb(np.column_stack([n[:, 0], n[:, 1], n[:, 0]]), GAMMA)
    assert found.parents == (3, -1, 3, -1)
    assert found.phi[3] == pytest.approx(1, abs=1e-6)


def test_the_order_of_features_and_of_leaves_does_not_matter():
    n = planted([3, 2, 1], 0.4, J=150, seed=4)
    rng = np.random.default_rng(5)
    features, leaves = rng.permutation(150), rng.permutation(6)
    found, other = climb(n, GAMMA), climb(n[features][:, leaves], GAMMA)
    assert other.score == pytest.approx(found.score, abs=0.1)
    named = [{int(leaves[c]) for c in group} for group in groups(other, 6).values()]
    assert sorted(map(sorted, named)) == sorted(map(sorted, groups(found, 6).values()))


# --- B09 (6) --------------------------------------------------------------------------------


def test_formula_6_accepts_nothing_where_the_bound_finds_a_hierarchy():
    n = planted([3, 3, 1], 0.5, J=200)
    assert len(climb(n, GAMMA).moves) == 4
    paper = climb(n, GAMMA, score="paper")
    assert paper.moves == ()
    assert paper.parents == (-1,) * 7


def test_formula_6_is_convex_in_phi_and_the_bound_is_not():
    """Below the chord everywhere, so that no φ inside is best; the bound with r free is above it
    somewhere, by the same code."""
    n = planted([2], 0.5, J=200).astype(float)
    gamma, blocks, parents = np.full(200, GAMMA), np.zeros(200, dtype=int), [2, 2, -1]
    grid = np.linspace(0, 1, 21)
    paper, bound = [], []
    for phi in grid:
        upsilon = reference.stops(parents, np.array([1, 1, phi]), 2)
        paper.append(reference.paper_score(n, upsilon, gamma, blocks))
        common = n / n.sum(axis=0)
        W = np.column_stack([n, common.min(axis=1) * n.sum()]).T
        for _ in range(100):
            r = reference.responsibilities(W, upsilon, gamma, blocks)
            W = reference.words(n, r)
        bound.append(reference.score(n, r, upsilon, gamma, blocks))

    def above_chord(values):
        chord = values[0] + grid * (values[-1] - values[0])
        return np.array(values)[1:-1] - chord[1:-1]

    assert (above_chord(paper) < 0).all()
    assert above_chord(bound).max() > 0
    assert max(bound) > max(bound[0], bound[-1])


def test_the_gain_by_formula_6_is_that_of_the_reference(monkeypatch):
    """With the grid cut to the inside of [0, 1] and ends that do not count, its value shows."""
    n = planted([2, 1], 0.5, J=60, N=500).astype(float)
    forest = forest_of(n)
    gamma, blocks = np.full(60, GAMMA), np.zeros(60, dtype=int)
    gain, tree = paper_gain(forest, Proposal("join", 0, 1))
    assert gain == -np.inf
    phi = float(tree.phi[0])
    assert phi in (0.0, 1.0)
    monkeypatch.setattr("dcomp.inference.climb_refine._GRID", (0.3, 0.3 + 1e-9, 0.3))
    _, tree = paper_gain(forest, Proposal("join", 0, 1))
    upsilon = reference.stops([2, 2, -1], np.array([1, 1, 0.3]), 2)
    expected = reference.paper_score(n[:, :2], upsilon, gamma, blocks)
    assert tree.score == pytest.approx(expected, abs=1e-4)


# --- the score ------------------------------------------------------------------------------


@pytest.mark.parametrize("blocks", [None, np.arange(300) % 3])
def test_the_score_is_the_reference_s(blocks):
    n, gamma = three_levels().astype(float), np.linspace(0.03, 0.08, 300)
    found = climb(n, gamma, blocks)
    assert len(found.moves) >= 2
    K, H = 7, len(found.parents)
    r = np.zeros((K, H, 300))
    for c in range(K):
        r[c, list(found.path(c))] = found.responsibilities(c)
    np.testing.assert_allclose(r.sum(axis=1), 1)
    ids = np.zeros(300, dtype=int) if blocks is None else blocks
    upsilon = reference.stops(found.parents, found.phi, K)
    for c in range(K):
        np.testing.assert_allclose(found.stops(c), upsilon[c, list(found.path(c))])
    assert found.score == pytest.approx(reference.score(n, r, upsilon, gamma, ids), rel=1e-11)
    phi = reference.best_phi(found.parents, reference.words(n, r), K)
    np.testing.assert_allclose(found.phi, phi, atol=1e-9)
    flat = sum(reference.log_ratio(row, gamma, ids) for row in n.T)
    assert found.flat_score == pytest.approx(flat, rel=1e-12)


def test_a_round_is_the_reference_s_and_never_lowers_the_score():
    rng = np.random.default_rng(6)
    n = rng.poisson(rng.gamma(0.3, 20.0, (30, 3))).astype(float)
    gamma, blocks = rng.uniform(0.02, 0.5, 30), rng.integers(0, 3, 30)
    whole, parents, order = tree_problem(n, gamma, blocks)
    g = rng.gamma(0.5, 1.0, (5, 30)) + 1e-6
    values = [float(whole.score(g)[0])]
    for _ in range(60):
        W = whole.place(g)
        phi = reference.best_phi(parents, W[order], 3)
        upsilon = reference.stops(parents, phi, 3)
        r = dense_shares(whole, g, order, parents)
        np.testing.assert_allclose(reference.words(n, r), W[order], atol=1e-9)
        expected = reference.score(n, r, upsilon, gamma, blocks)
        assert values[-1] == pytest.approx(expected, rel=1e-11)
        g = whole.weights(W)
        r = reference.responsibilities(W[order], upsilon, gamma, blocks)
        np.testing.assert_allclose(dense_shares(whole, g, order, parents), r, atol=1e-10)
        values.append(float(whole.score(g)[0]))
    assert (np.diff(values) > -1e-9).all()
    assert values[-1] > values[0] + 10


def test_a_jump_never_lowers_the_score_and_passes_where_rounds_rest():
    rng = np.random.default_rng(7)
    n = rng.poisson(rng.gamma(0.3, 20.0, (60, 3))).astype(float)
    whole, *_ = tree_problem(n, np.full(60, GAMMA), np.zeros(60, dtype=int))
    W = whole.place(np.ones((5, 60)))
    for _ in range(2000):
        g = whole.weights(W)
        W = whole.place(g)
    rest = float(whole.score(g)[0])
    values = [rest]
    for _ in range(10):
        g, F = whole.step(W, jump=True)
        W = whole.place(g)
        values.append(float(F[0]))
        assert values[-1] == pytest.approx(float(whole.score(g)[0]), rel=1e-12)
    assert (np.diff(values) > -1e-9).all()
    assert values[-1] > rest + 1


def test_words_with_nowhere_to_go_have_no_score():
    whole, *_ = tree_problem(np.ones((4, 3)), np.ones(4), np.zeros(4, dtype=int))
    g = np.ones((5, 4))
    g[[0, 1, 2], 1] = 0  # leaf 0's whole path
    assert float(whole.score(g)[0]) == -np.inf


def test_first_gains_are_bounds_that_refinement_keeps():
    forest = forest_of(planted([3, 3, 1], 0.4, J=200, seed=8))
    _climb(forest, limit=8, least=0.01)  # one internal node, and what can go below it
    assert len(forest.tops()) < 6
    for kind in ("join", "attach"):
        moves = [move for move in _proposals(forest) if move.kind == kind]
        assert moves
        for move, first in first_gains(forest, moves):
            gain, tree = refine(forest, move)
            before = sum(part.score for part in forest.involved(move))
            assert tree.score - before >= first - 1e-6
            assert gain in (-np.inf, pytest.approx(tree.score - before))


def test_a_refinement_takes_the_better_start_and_ends_above_plain_rounds():
    n = planted([3, 1], 0.3, J=200, seed=1)
    forest = forest_of(n)
    gain, tree = refine(forest, Proposal("join", 0, 1))
    forest.accept(Proposal("join", 0, 1), tree, gain)
    scores = []
    for u in (2, 3):
        move = Proposal("attach", u, 4)
        shape = _merged(forest, move)
        whole, cells = _whole(forest, shape)
        rest = _lone_score(forest, shape, cells)
        starts = [make(forest, move, shape) for make in (_tops_shared, _pushed_down)]
        scores.append([climb_tree(whole, W[:, cells])[1] + rest for W in starts])
        _, tree = refine(forest, move)
        assert tree.score == pytest.approx(max(scores[-1]), rel=1e-12)
        W = starts[0][:, cells]
        for _ in range(500):
            g = whole.weights(W)
            W = whole.place(g)
        assert tree.score > float(whole.score(g)[0]) + rest + 1
    best = np.argmax(scores, axis=1)
    assert set(best) == {0, 1}  # neither start is the better one everywhere


def test_a_first_gain_is_a_difference_of_whole_scores():
    """The cells of a join, with everything else held, against the reference on all words."""
    n = planted([2], 0.4, J=80, N=800, seed=9).astype(float)
    forest = forest_of(n, blocks=np.arange(80) % 2)
    start = start_of(forest, [Proposal("join", 0, 1)])
    g = start.problems.weights(start.W)
    gain = float((start.problems.score(g) - start.before)[0])
    both = start.features[0]
    r = np.zeros((2, 3, 80))
    r[[0, 1], [0, 1]] = 1
    share = g[0] / (g[0] + g[1:])
    r[:, 2, both] = share
    r[[0, 1], [0, 1]] -= r[:, 2]
    gamma, blocks = np.full(80, GAMMA), np.arange(80) % 2
    phi = reference.best_phi([2, 2, -1], reference.words(n, r), 2)
    whole = reference.score(n, r, reference.stops([2, 2, -1], phi, 2), gamma, blocks)
    assert gain == pytest.approx(whole - forest.flat_score, rel=1e-9)


def test_a_first_gain_of_an_attachment_is_one_too():
    n = planted([3], 0.4, J=80, N=800, seed=10).astype(float)
    forest = forest_of(n)
    gain, tree = refine(forest, Proposal("join", 0, 1))
    forest.accept(Proposal("join", 0, 1), tree, gain)
    start = start_of(forest, [Proposal("attach", 2, 3)])
    g = start.problems.weights(start.W)
    found = float((start.problems.score(g) - start.before)[0])
    held = _climbed(forest)
    r = np.zeros((3, 4, 80))
    for c in range(2):
        r[c, list(held.path(c))] = held.responsibilities(c)
    r[2, 3, start.features[0]] = g[0] / g.sum(axis=0)
    r[2, 2] = 1 - r[2, 3]
    gamma, blocks, parents = np.full(80, GAMMA), np.zeros(80, dtype=int), [3, 3, 3, -1]
    phi = reference.best_phi(parents, reference.words(n, r), 3)
    whole = reference.score(n, r, reference.stops(parents, phi, 3), gamma, blocks)
    assert found == pytest.approx(whole - forest.score, rel=1e-8)


# --- the climb ------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [13, 9])
def test_kept_gains_change_nothing(limit):
    n = planted([3, 2, 1, 1], 0.4, J=150, seed=11)
    found = []
    for cached in (True, False):
        forest = forest_of(n)
        _climb(forest, limit, 0.01, cached=cached)
        found.append(forest.moves)
    assert len(found[0]) >= 3
    assert found[0] == found[1]


def test_moves_add_up_to_the_forest():
    found = climb(three_levels(), GAMMA)
    gains = [move.gain for move in found.moves]
    assert min(gains) > 0
    scores = found.flat_score + np.cumsum(gains)
    np.testing.assert_allclose([move.score for move in found.moves], scores, rtol=1e-12)
    assert found.score == found.moves[-1].score
    parents, H = [-1] * 7, 7
    for move in found.moves:
        if move.kind == "join":
            assert move.node == H
            parents, H = [*parents, -1], H + 1
        assert all(parents[child] == -1 for child in move.children)
        assert len(move.children) == (2 if move.kind == "join" else 1)
        for child in move.children:
            parents[child] = move.node
    assert tuple(parents) == found.parents
    assert found.moves[-1].phi == found.phi[found.moves[-1].node]


def test_limits_are_kept():
    n = three_levels()
    assert climb(n, GAMMA, max_nodes=7).moves == ()
    one = climb(n, GAMMA, max_nodes=8)
    assert len(one.parents) == 8
    assert one.moves[0].kind == "join"
    gains = [move.gain for move in climb(n, GAMMA).moves]
    some = climb(n, GAMMA, min_gain=min(gains) + 0.1)
    assert min(move.gain for move in some.moves) > min(gains)
    assert len(some.moves) < len(gains)


def test_one_answer():
    n = planted([2, 2, 1], 0.4, J=100)
    first, second = climb(n, GAMMA), climb(n.copy(), GAMMA)
    assert first.moves == second.moves
    np.testing.assert_array_equal(first.weights, second.weights)


def test_features_without_words_count_only_through_gamma():
    """γ of an unseen feature is part of the block's total: moved to another, it changes nothing."""
    n = planted([2, 1], 0.5, J=100, seed=12)
    found = climb(np.vstack([n, np.zeros((50, 3))]), GAMMA)
    one = climb(np.vstack([n, np.zeros((1, 3))]), np.r_[np.full(100, GAMMA), 50 * GAMMA])
    assert found.score == pytest.approx(one.score, rel=1e-12)
    assert found.score != pytest.approx(climb(n, GAMMA).score, rel=1e-6)
    assert found.responsibilities(0)[:, 120] == pytest.approx(found.stops(0))


# --- odd input ------------------------------------------------------------------------------


@pytest.mark.parametrize("score", ["variational", "paper"])
@pytest.mark.parametrize(
    ("n", "blocks"),
    [
        (np.zeros((4, 3)), None),
        (np.full((5, 1), 7.0), None),
        (np.full((1, 4), 7.0), None),  # one feature says nothing
        (np.full((3, 4), 7.0), [0, 1, 2]),  # nor do blocks of one
        (np.zeros((0, 2)), None),
    ],
)
def test_where_there_is_nothing_to_find(n, blocks, score):
    found = climb(n, 0.1, blocks, score=score)
    assert found.moves == ()
    assert found.parents == (-1,) * n.shape[1]
    assert found.score == pytest.approx(found.flat_score)
    for leaf in range(n.shape[1]):
        np.testing.assert_array_equal(found.responsibilities(leaf), np.ones((1, len(n))))


def test_a_leaf_without_words_is_not_joined():
    n = planted([2, 1], 0.5, J=100)
    n = np.column_stack([np.zeros(100), n, np.zeros(100)])
    found = climb(n, GAMMA)
    assert found.parents == (-1, 5, 5, -1, -1, -1)


@pytest.mark.parametrize("scale", [1e-3, 0.5, 1e8])
@pytest.mark.parametrize("gamma", [1e-6, 1e-2, 10.0])
def test_numbers_of_any_size(scale, gamma):
    """Warnings are errors here, so that no NaN passes unseen."""
    n = scale * planted([3, 1], 0.5, J=40, N=300)
    blocks = np.r_[np.zeros(20), np.ones(19), 2]  # the last block has one feature
    found = climb(n, gamma, blocks)
    assert np.isfinite([found.flat_score, found.score]).all()
    assert np.isfinite(found.phi).all()
    assert found.score >= found.flat_score
    for leaf in range(4):
        np.testing.assert_allclose(found.responsibilities(leaf).sum(axis=0), 1)


def test_nodes_below_a_node_where_all_words_stop():
    """Equal leaves: every node but the top is empty, and what goes below one finds it so."""
    forest = forest_of(np.repeat(planted([1], 0.0, J=50, N=500), 5, axis=1))
    moves = [Proposal("join", 0, 1), Proposal("join", 2, 3), Proposal("attach", 5, 6)]
    for move in moves:
        gain, tree = refine(forest, move)
        assert gain > 1
        forest.accept(move, tree, gain)
    tree = forest.trees[6]
    below = tree.nodes.index(5)
    assert tree.N[below] + tree.M[below] < 1e-9
    W, N, M = (np.where(x < 1e-9, 0.0, x) for x in (tree.W, tree.N, tree.M))
    forest.trees[6] = replace(tree, W=W, N=N, M=M)  # as after a jump of every feature
    move = Proposal("attach", 4, 5)
    [(_, first)] = first_gains(forest, [move])
    gain, refined = refine(forest, move)
    assert np.isfinite([first, refined.score]).all()
    assert gain == -np.inf  # node 5 has nothing to share: node 6 has
    [(_, first)] = first_gains(forest, [Proposal("attach", 4, 6)])
    assert first > 1


def test_merged_trees_keep_every_word():
    forest = forest_of(planted([2, 1], 0.5, J=50, N=200))
    shape = _merged(forest, Proposal("join", 0, 2))
    n = _leaf_words(forest, shape)
    np.testing.assert_array_equal(shape.W, n)
    assert n.sum() == 400
    assert shape.parent == (-1, 0, 0)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (([[1, -1]], 0.1), {}, InvalidCounts, r"at least 0; found -1.0 at feature 0, leaf 1"),
        (([[1, np.nan]], 0.1), {}, InvalidCounts, "found nan at feature 0, leaf 1"),
        (([1, 2], 0.1), {}, InvalidCounts, r"features × leaves; got shape \(2,\)"),
        (("words", 0.1), {}, InvalidCounts, "table of numbers; got str"),
        (([[1, 2]], 0.0), {}, InvalidParameter, "gamma must be positive"),
        (([[1, 2]], [0.1, 0.1]), {}, InvalidParameter, r"one per feature \(1\); got shape \(2,\)"),
        (([[1, 2]], 0.1, [0, 0]), {}, InvalidParameter, r"one block per feature \(1\)"),
        (([[1, 2]], 0.1), {"score": "best"}, InvalidParameter, "one of variational, paper; got"),
        (([[1, 2]], 0.1), {"max_nodes": 1}, InvalidParameter, "at least the 2 leaves; got 1"),
        (([[1, 2]], 0.1), {"min_gain": -1.0}, InvalidParameter, "min_gain must be at least 0"),
    ],
)
def test_errors_say_what_must_hold(arguments, options, error, message):
    with pytest.raises(error, match=message):
        climb(*arguments, **options)


def test_there_is_no_path_from_what_is_no_leaf():
    found = climb(planted([2], 0.5, J=100), GAMMA)
    assert len(found.parents) == 3
    with pytest.raises(InvalidParameter, match="leaf must be from 0 to 1; got 2"):
        found.path(2)
