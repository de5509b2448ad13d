"""A move in structure space with all of both trees free to follow, B09 5.4, and B09 (6) for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from dcomp.inference.climb.forest import NEW, Forest, Proposal, Tree
from dcomp.inference.climb.moves import as_problems, screened, start_of
from dcomp.inference.climb.score import IntArray, Problems
from dcomp.models.arrays import FloatArray

_STEPS, _MAX_JUMPS = 8, 60  # rounds between two jumps; jumps at most
CLOSE = 0.01  # nats: less between two jumps is the end
_GRID = (0.0, 0.25, 0.5, 0.75, 1.0)  # φ of a node under B09 (6)


class Shape(NamedTuple):
    """The tree that a move makes, before its words are placed."""

    nodes: tuple[int, ...]
    parent: tuple[int, ...]
    features: IntArray
    W: FloatArray  # (nodes, features) Ŵ as it was
    shared: list[int]  # places from the top to where the trees meet, and of the tops that moved


def refine(forest: Forest, move: Proposal) -> tuple[float, Tree]:
    """The gain of a move with all of both trees free to follow, and the tree that comes of it.

    −inf where a node that the move is about keeps less than a word. If nothing is shared that move
    is none; if a join empties a top that it joins, then the attachment below that top says the same
    with one node less.
    """
    before = sum(tree.score for tree in forest.involved(move))
    shape = _merged(forest, move)
    whole, cells = _whole(forest, shape)
    starts = [_tops_shared(forest, move, shape)]
    if move.kind == "attach":
        starts.append(_pushed_down(forest, move, shape))
    found = (climb_tree(whole, W[:, cells]) for W in starts)
    weights, score = max(found, key=lambda pair: pair[1])
    N, M = (x[:, 0] for x in whole.passing(whole.totals(whole.place(weights))))
    g, W = _with_lone_features(forest, shape, cells, weights, whole.place(weights))
    score += _lone_score(forest, shape, cells)
    tree = Tree(shape.nodes, shape.parent, shape.features, g, W, N, M, score)
    about = {NEW, move.u, move.to} if move.kind == "join" else {move.to}
    kept = [N[h] for h, node in enumerate(tree.nodes) if node in about and h in tree.parent]
    return (score - before if min(kept) >= 1 else -np.inf), tree


def climb_tree(whole: Problems, W: FloatArray) -> tuple[FloatArray, float]:
    """g and F of one tree, from Ŵ until a jump and the steps before it bring little."""
    score = -np.inf
    for _ in range(_MAX_JUMPS):
        last = score
        g, F = whole.step(W, jump=True)
        score = float(F[0])
        if score - last < CLOSE:
            break
        W = whole.place(g)
        for _ in range(_STEPS):
            W = whole.place(whole.weights(W))
    return g, score


def _merged(forest: Forest, move: Proposal) -> Shape:
    u, other = forest.involved(move)
    features = np.union1d(u.features, other.features)
    if move.kind == "join":
        above, trees, meet = [NEW], (u, other), 0
        shared = [0, 1, 1 + len(u.nodes)]
    else:
        above, trees, meet = [], (other, u), other.nodes.index(move.to)
        shared = [*other.path(meet), len(other.nodes)]
    nodes, parent = list(above), [-1] * len(above)
    W = np.zeros((len(above) + len(u.nodes) + len(other.nodes), len(features)))
    for tree in trees:
        first = len(nodes)
        parent += [p + first if p >= 0 else meet if first else -1 for p in tree.parent]
        nodes += tree.nodes
        places = np.arange(first, len(nodes))
        W[np.ix_(places, np.searchsorted(features, tree.features))] = tree.W
    return Shape(tuple(nodes), tuple(parent), features, W, shared)


def _leaf_words(forest: Forest, shape: Shape) -> FloatArray:
    """(nodes, features) words, at their leaves."""
    n = np.zeros_like(shape.W)
    for h, node in enumerate(shape.nodes):
        if 0 <= node < forest.K:
            n[h] = forest.counts[node, shape.features]
    return n


def _whole(forest: Forest, shape: Shape) -> tuple[Problems, IntArray]:
    """The tree as one problem, and which features are its cells: those that two leaves have or
    more. The others stay at their leaf, which puts them into fewer words than a node above."""
    n = _leaf_words(forest, shape)
    cells = np.flatnonzero((n > 0).sum(axis=0) > 1)
    alone = np.flatnonzero((n > 0).sum(axis=0) == 1)
    rest = np.array([forest.prior.by_block(row[alone], shape.features[alone]) for row in n])
    below = np.zeros(len(n))
    for h in range(len(n) - 1, 0, -1):
        below[shape.parent[h]] += below[h] + rest[h].sum()
    n, nothing = n[:, cells], np.zeros((len(n), len(cells)))
    chosen = [shape.features[cells]]
    held = (rest[:, None], below[:, None])
    return as_problems(forest, shape.parent, n, nothing, chosen, *held), cells


def _with_lone_features(
    forest: Forest, shape: Shape, cells: IntArray, weights: FloatArray, placed: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """g and Ŵ over all features of the tree."""
    W = _leaf_words(forest, shape)
    g = (W > 0).astype(np.float64)
    g[:, cells], W[:, cells] = weights, placed
    return g, W


def _lone_score(forest: Forest, shape: Shape, cells: IntArray) -> float:
    """What features that are no cells add to log Z; their share of the totals is in the problem."""
    alone = np.ones(len(shape.features), dtype=bool)
    alone[cells] = False
    gamma = forest.prior.gamma[shape.features[alone]]
    n = _leaf_words(forest, shape)[:, alone].sum(axis=0)
    return float((gammaln(gamma + n) - gammaln(gamma)).sum())


def _tops_shared(forest: Forest, move: Proposal, shape: Shape) -> FloatArray:
    """Ŵ where the first gain ended."""
    start = start_of(forest, [move])
    W = shape.W.copy()
    cells = np.searchsorted(shape.features, start.features[0])
    W[np.ix_(np.array(shape.shared), cells)] = start.problems.base + screened(start)[0]
    return W


def _pushed_down(forest: Forest, move: Proposal, shape: Shape) -> FloatArray:
    """Ŵ where the nodes above u keep no more of a feature than u has at the same rate; the rest
    goes down to the leaves that it came from. Without it a node that two leaves share would hold
    on to words that a third has not."""
    u, tree = forest.involved(move)
    W = shape.W.copy()
    own = np.searchsorted(shape.features, tree.features)
    path = tree.path(tree.nodes.index(move.to))
    top = W[shape.shared[-1]]  # of u: a view
    passing = u.size
    for h in path:
        size = tree.N[h] + tree.M[h]
        if size == 0:  # all words stop further up
            break
        rate = passing / size
        taken = np.minimum(rate * W[h], top)
        keep = np.divide(taken, rate * W[h], out=np.ones_like(taken), where=W[h] > 0)
        for c, moved in _words_at(forest, tree, h):
            W[c, own] += moved * (1 - keep[own])
        W[h] = W[h] * keep + taken
        top -= taken
        passing *= tree.M[h] / size
    return W


def _words_at(forest: Forest, tree: Tree, h: int) -> Iterator[tuple[int, FloatArray]]:
    """The leaves below a node with the words that each has there: n_c r_ch."""
    for c, node in enumerate(tree.nodes):
        path = tree.path(c)
        if 0 <= node < forest.K and h in path:
            total = tree.g[path].sum(axis=0)
            n = forest.counts[node, tree.features]
            yield c, np.divide(n * tree.g[h], total, out=np.zeros_like(n), where=n > 0)


def paper_gain(forest: Forest, move: Proposal) -> tuple[float, Tree]:
    """The gain of a move by B09 (6), where r = υ, at the best φ in (0, 1) of the node that the move
    makes or adds to, and the tree; other φ stay. −inf if φ = 0 or φ = 1 is as good, and one of them
    always is: (6) is convex in φ."""
    before = sum(tree.score for tree in forest.involved(move))
    shape = _merged(forest, move)
    n = _leaf_words(forest, shape)
    none = np.zeros((len(n), 1, len(forest.prior.total)))
    whole = as_problems(
        forest, shape.parent, n, np.zeros_like(n), [shape.features], none, none[:, :, 0]
    )
    phi = {
        h: p for tree in forest.involved(move) for h, p in zip(tree.nodes, tree.phi, strict=True)
    }
    found = []
    for value in _GRID:
        phi[NEW if move.kind == "join" else move.to] = value
        found.append(_given_stops(whole, shape, [phi[h] for h in shape.nodes]))
    best = max(range(len(_GRID)), key=lambda i: found[i].score)
    inside = found[best].score > max(found[0].score, found[-1].score)
    return (found[best].score - before if inside else -np.inf), found[best]


def _given_stops(whole: Problems, shape: Shape, phi: Sequence[float]) -> Tree:
    """The tree with r = υ for every feature."""
    stops, passed = np.array(phi), np.ones(len(phi))
    for h, p in enumerate(shape.parent):
        if p >= 0:
            passed[h] = passed[p] * (1 - stops[p])
    g = np.repeat((stops * passed)[:, None], len(shape.features), axis=1)
    W = whole.place(g)
    N, M = (x[:, 0] for x in whole.passing(whole.totals(W)))
    return Tree(shape.nodes, shape.parent, shape.features, g, W, N, M, float(whole.score(g)[0]))
