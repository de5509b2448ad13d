"""What a move in structure space gains: B09 5.4 with the bound of `dcomp.inference.climb.score`.

A first gain holds everything but the words of the two tops: in a join they are shared with the new
node, in an attachment the top's words with the nodes above. That is a bound, too, and many of them
are found side by side. `dcomp.inference.climb.refine` then climbs with the whole of both trees.

Words of a feature that only one side has stay where they are. Of a feature that both have, a node
above two can hold equal rates at most, so all starts there: x_u / T_u = x_v / T_v = min(a / T_u,
b / T_v) for words a and b out of trees of T_u and T_v words. Starts with less of it, or from r = υ,
end at lower maxima.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dcomp.inference.climb.forest import Forest, Proposal, Tree
from dcomp.inference.climb.score import IntArray, Problems
from dcomp.models.arrays import FloatArray

_SCREEN = (True, False, False)  # rounds of a first gain: with a jump or without
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
        start = start_of(forest, some)
        _, after = screened(start)
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


def screened(start: Start) -> tuple[FloatArray, FloatArray]:
    """Ŵ and F (S) after the rounds of a first gain."""
    problems, W = start.problems, start.W
    for jump in _SCREEN:
        g = problems.step(W, jump=True)[0] if jump else problems.weights(W)
        W = problems.place(g)
    return W, problems.score(g)


def start_of(forest: Forest, moves: Sequence[Proposal]) -> Start:
    """Joins, or attachments below one node, as problems side by side."""
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
    problems = as_problems(forest, (-1, 0, 0), n, np.zeros_like(n), features, rest, below)
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
    problems = as_problems(forest, tuple(range(-1, d)), n, base, features, rest, below)
    W = _rates(problems, N, M)
    return Start(problems, features, W, problems.complete(n, N, M))


def _rates(problems: Problems, N: FloatArray, M: FloatArray) -> FloatArray:
    """Ŵ where each node on the way down takes what it takes of the words it has seen, if there."""
    left = problems.n[-1].copy()
    W = np.zeros_like(problems.n)
    passing = (N + M)[-1]
    for h in range(len(W) - 1):
        seen = np.where(N[h] + M[h] > 0, N[h] + M[h], 1.0)  # none below a node where all words stop
        words = (passing / seen)[problems.problem] * problems.base[h]
        W[h] = np.minimum(words, left)
        left -= W[h]
        passing = passing * M[h] / seen
    W[-1] = left
    return W


def as_problems(
    forest: Forest,
    parent: tuple[int, ...],
    n: FloatArray,
    base: FloatArray,
    features: Sequence[IntArray],
    rest: FloatArray,
    below: FloatArray,
) -> Problems:
    """`Problems` of these features, one list for each problem."""
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
