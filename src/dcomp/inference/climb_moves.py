"""What a move in structure space gains: B09 5.4 with the bound of `dcomp.inference.climb_score`.

A first gain holds everything but the words of the two tops: in a join they are shared with the new
node, in an attachment the top's words with the nodes above. That is a bound, too, and many of them
are found side by side. `refine` then climbs with the whole of both trees.

Words of a feature that only one side has stay where they are. Of a feature that both have, a node
above two can hold equal rates at most, so all starts there: x_u / T_u = x_v / T_v = min(a / T_u,
b / T_v) for words a and b out of trees of T_u and T_v words. Starts with less of it, or from r = υ,
end at lower maxima.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from dcomp.inference.climb_forest import NEW, Forest, Proposal, Tree
from dcomp.inference.climb_score import IntArray, Problems
from dcomp.models.arrays import FloatArray

_SCREEN = (True, False, False, True, False)  # rounds of a first gain: with a jump or without
_STEPS, _MAX_JUMPS = 8, 60  # of a refinement: rounds between two jumps; jumps at most
_CLOSE = 0.01  # nats: less between two jumps ends a refinement
_CELLS = 400_000  # features × proposals at one time


class Start(NamedTuple):
    """Proposals of one kind as problems."""

    problems: Problems
    features: list[IntArray]  # of each problem's cells
    W: FloatArray  # Ŵ to begin at
    before: FloatArray  # (S) F of these cells without the move


def first_gains(forest: Forest, moves: Sequence[Proposal]) -> Iterator[tuple[Proposal, float]]:
    """Lower bounds of the gains of joins, or of attachments below one node."""
    for some in _batches(forest, moves):
        start = _start(forest, some)
        _, after = _screened(start)
        yield from zip(some, map(float, after - start.before), strict=True)


def _batches(forest: Forest, moves: Sequence[Proposal]) -> Iterator[list[Proposal]]:
    some: list[Proposal] = []
    cells = 0
    for move in moves:
        more = len(forest.trees[move.u].features)
        if some and cells + more > _CELLS:
            yield some
            some, cells = [], 0
        some.append(move)
        cells += more
    if some:
        yield some


def _screened(start: Start) -> tuple[FloatArray, FloatArray]:
    """Ŵ and F (S) after the rounds of a first gain."""
    problems, W = start.problems, start.W
    for jump in _SCREEN:
        g = problems.step(W, jump=True)[0] if jump else problems.weights(W)
        W = problems.place(g)
    return W, problems.score(g)


def _start(forest: Forest, moves: Sequence[Proposal]) -> Start:
    return _joins(forest, moves) if moves[0].kind == "join" else _attachments(forest, moves)


def _joins(forest: Forest, moves: Sequence[Proposal]) -> Start:
    """Nodes: the new one, u, v."""
    prior = forest.prior
    cells: list[FloatArray] = []
    features: list[IntArray] = []
    rest = np.zeros((3, len(moves), len(prior.total)))
    N, M, below = np.zeros((3, 3, len(moves)))
    for s, move in enumerate(moves):
        pair = (forest.trees[move.u], forest.trees[move.to])
        tops = [dense_row(forest, tree, 0) for tree in pair]
        both = np.flatnonzero((tops[0] > 0) & (tops[1] > 0))
        features.append(both)
        cells.append(np.array([top[both] for top in tops]))
        for h, (tree, top) in enumerate(zip(pair, cells[-1], strict=True), 1):
            rest[h, s] = prior.by_block(tree.W[0], tree.features) - prior.by_block(top, both)
            N[h, s], M[h, s] = tree.N[0], tree.M[0]
            below[h, s] = tree.M[0]
            below[0, s] += tree.size - top.sum()
    n = np.concatenate(cells, axis=1)
    n = np.concatenate([np.zeros((1, n.shape[1])), n])
    problems = _problems(forest, (-1, 0, 0), n, np.zeros_like(n), features, rest, below)
    size = (N + M)[1:, problems.problem]
    common = (n[1:] / size).min(axis=0) * size
    W = np.concatenate([common.sum(axis=0)[None], np.maximum(n[1:] - common, 0)])
    return Start(problems, features, W, problems.complete(n, N, M))


def _attachments(forest: Forest, moves: Sequence[Proposal]) -> Start:
    """Nodes: those from the top of the tree down to the node that gets a child, then u."""
    prior, tree = forest.prior, forest.tree_of(moves[0].to)
    path = tree.path(tree.nodes.index(moves[0].to))
    held = np.array([dense_row(forest, tree, h) for h in path])
    d = len(path)
    rest = np.zeros((d + 1, len(moves), len(prior.total)))
    rest[:d] = np.array([prior.by_block(tree.W[h], tree.features) for h in path])[:, None]
    N, M, below = np.zeros((3, d + 1, len(moves)))
    N[:d], M[:d] = tree.N[path, None], tree.M[path, None]
    below[:d] = M[:d]
    features: list[IntArray] = []
    cells: list[FloatArray] = []
    for s, move in enumerate(moves):
        other = forest.trees[move.u]
        top = dense_row(forest, other, 0)
        both = np.flatnonzero((top > 0) & (held > 0).any(axis=0))
        features.append(both)
        cells.append(top[both])
        rest[d, s] = prior.by_block(other.W[0], other.features) - prior.by_block(top[both], both)
        N[d, s], M[d, s] = other.N[0], other.M[0]
        below[d, s] = other.M[0]
        below[:d, s] += other.size - top[both].sum()
    n = np.zeros((d + 1, sum(map(len, features))))
    n[d] = np.concatenate(cells)
    base = np.zeros_like(n)
    base[:d] = held[:, np.concatenate(features)]
    problems = _problems(forest, tuple(range(-1, d)), n, base, features, rest, below)
    W = _rates(problems, N, M)
    return Start(problems, features, W, problems.complete(n, N, M))


def _rates(problems: Problems, N: FloatArray, M: FloatArray) -> FloatArray:
    """Ŵ where each node on the way down takes what it takes of the words it has seen, if there."""
    left = problems.n[-1].copy()
    W = np.zeros_like(problems.n)
    passing = (N + M)[-1]
    for h in range(len(W) - 1):
        words = (passing / (N[h] + M[h]))[problems.problem] * problems.base[h]
        W[h] = np.minimum(words, left)
        left -= W[h]
        passing = passing * M[h] / (N[h] + M[h])
    W[-1] = left
    return W


def _problems(
    forest: Forest,
    parent: tuple[int, ...],
    n: FloatArray,
    base: FloatArray,
    features: Sequence[IntArray],
    rest: FloatArray,
    below: FloatArray,
) -> Problems:
    prior, flat = forest.prior, np.concatenate(features)
    problem = np.repeat(np.arange(len(features)), [len(some) for some in features])
    cell = problem * len(prior.total) + prior.block[flat]
    rest = np.maximum(rest, 0.0)  # differences of sums: rounding
    total = prior.total[None]
    return Problems(parent, n, base, cell, prior.gamma[flat], total, rest, np.maximum(below, 0.0))


def dense_row(forest: Forest, tree: Tree, place: int) -> FloatArray:
    """Ŵ of one node over all J features."""
    row = np.zeros(forest.counts.shape[1])
    row[tree.features] = tree.W[place]
    return row


class Shape(NamedTuple):
    """The tree that a move makes, before its words are placed."""

    nodes: tuple[int, ...]
    parent: tuple[int, ...]
    features: IntArray
    W: FloatArray  # (nodes, features) Ŵ as it was
    shared: list[int]  # places from the top to where the trees meet, and of the tops that moved


def refine(forest: Forest, move: Proposal, joined: Tree | None = None) -> tuple[float, Tree]:
    """The gain of a move with all of both trees free to follow, and the tree that comes of it.

    joined: for an attachment below a top, what `refine` makes of the join of the two.

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
    if joined is not None:  # the new node in the place of the top that u goes below
        rows = [joined.nodes.index(NEW if h == move.to else h) for h in shape.nodes]
        starts.append(joined.W[rows])
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
        if score - last < _CLOSE:
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
    return _problems(
        forest, shape.parent, n, nothing, chosen, rest[:, None], below[:, None]
    ), cells


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
    start = _start(forest, [move])
    W = shape.W.copy()
    cells = np.searchsorted(shape.features, start.features[0])
    W[np.ix_(shape.shared, cells)] = start.problems.base + _screened(start)[0]
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
