"""Hill climbing in structure space: a forest of components from the counts of its leaves, B09 5.4.

Components c of a flat fit become leaves. Two nodes without a parent may get a new node above them
("join"), or one goes below an internal node of another tree ("attach"); the move with the largest
gain of the score is made while there is one. Trees do not share terms of the score, so a gain holds
until one of its two trees changes.

B09 proposes its approximation (6) as the score, "paper" here. It cannot find a hierarchy: Ŵ_h is
linear in any one φ and log Z is convex, so that (6) is largest at φ = 0 (the flat model) or φ = 1.
The default is the variational bound of `dcomp.inference.climb.score`, of which (6) is r = υ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dcomp.errors import InvalidCounts, InvalidParameter
from dcomp.inference.climb.forest import Forest, Move, Proposal, Tree, WordPrior
from dcomp.inference.climb.moves import first_gains
from dcomp.inference.climb.refine import CLOSE, paper_gain, refine
from dcomp.models.arrays import FloatArray, read_only

SCORES = ("variational", "paper")
# Proposals to work out, the best first gains first: so many, and if none is good, so many.
_ENOUGH, _REFINED = 4, 10


@dataclass(frozen=True, eq=False)
class Climbed:
    """The forest that hill climbing ended at.

    parents: of each node, -1 for none; leaves are 0..K−1, internal nodes follow as they came.
    phi: (H) probability that a word which comes to a node stops there, B09 (1); 1 at leaves. Near 0
    a node only passes words on, and could be left out.
    weights: (H, J), of which r_cjh are the shares along the path of leaf c.
    flat_score, score: nats, without a node above the leaves and with all of them.

    >>> found = climb([[30, 30], [30, 30], [20, 0], [0, 20]], 0.05)
    >>> found.path(0), found.stops(0).round(2)
    ((0, 2), array([0.25, 0.75]))
    >>> found.responsibilities(0).round(2)  # rows: leaf 0 and its parent; columns: features
    array([[0.  , 0.  , 1.  , 0.25],
           [1.  , 1.  , 0.  , 0.75]])
    """

    parents: tuple[int, ...]
    phi: FloatArray
    weights: FloatArray
    moves: tuple[Move, ...]
    flat_score: float
    score: float

    def path(self, leaf: int) -> tuple[int, ...]:
        """The leaf, its parent, and so on to the top."""
        K = len(self.parents) - sum(move.kind == "join" for move in self.moves)
        if not 0 <= leaf < K:
            raise InvalidParameter(f"leaf must be from 0 to {K - 1}; got {leaf}")
        nodes = [leaf]
        while self.parents[nodes[-1]] >= 0:
            nodes.append(self.parents[nodes[-1]])
        return tuple(nodes)

    def stops(self, leaf: int) -> FloatArray:
        """υ_ch along `path`: where the words of a leaf stop, B09 (1)."""
        phi = self.phi[list(self.path(leaf))]
        passed = np.append(np.cumprod((1 - phi)[:0:-1])[::-1], 1.0)
        return np.asarray(phi * passed)

    def responsibilities(self, leaf: int) -> FloatArray:
        """r_cjh (nodes of `path`, J): which node each feature's words of this leaf belong to; υ for
        features that say nothing."""
        g = self.weights[list(self.path(leaf))]
        total = g.sum(axis=0)
        given = np.broadcast_to(self.stops(leaf)[:, None], g.shape).copy()
        return np.asarray(np.divide(g, total, out=given, where=total > 0))


def climb(
    n: npt.ArrayLike,
    gamma: npt.ArrayLike,
    blocks: npt.ArrayLike | None = None,
    *,
    score: str = "variational",
    max_nodes: int | None = None,
    min_gain: float = 0.0,
) -> Climbed:
    """A forest above the K leaves whose words are n (J, K), by greedy moves: B09 5.4.

    gamma: Dirichlet prior of a node's words, one number or J. blocks: (J) which block of features
    each belongs to. max_nodes: at most so many, leaves included; None for 2K − 1. min_gain: a
    move must gain more than so many nats, and in any case than 0.01, where a climb within a tree
    ends. score "paper" is B09 (6), which accepts nothing.

    >>> shared, own = np.repeat([60, 0, 0], 20), np.repeat([[0, 40, 0], [0, 0, 40]], 20, axis=1)
    >>> found = climb((shared + own).T, 0.05)
    >>> found.parents, found.phi.round(2)
    ((2, 2, -1), array([1. , 1. , 0.6]))
    >>> climb((shared + own).T, 0.05, score="paper").parents
    (-1, -1)
    """
    if score not in SCORES:
        raise InvalidParameter(f"score must be one of {', '.join(SCORES)}; got {score!r}")
    counts = _counts(n)
    J, K = counts.shape
    limit = 2 * K - 1 if max_nodes is None else max_nodes
    if limit < K:
        raise InvalidParameter(f"max_nodes must be at least the {K} leaves; got {max_nodes}")
    if not min_gain >= 0:
        raise InvalidParameter(f"min_gain must be at least 0; got {min_gain}")
    forest = Forest(counts.T, WordPrior.build(gamma, blocks, J))
    (_climb if score == "variational" else _climb_paper)(forest, limit, max(min_gain, CLOSE))
    return _climbed(forest)


def _counts(n: npt.ArrayLike) -> FloatArray:
    try:
        counts = np.asarray(n, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidCounts(f"n must be a table of numbers; got {type(n).__name__}") from None
    if counts.ndim != 2 or counts.shape[1] == 0:
        raise InvalidCounts(f"n must be a table of features × leaves; got shape {counts.shape}")
    bad = np.argwhere(~(np.isfinite(counts) & (counts >= 0)))
    if len(bad):
        j, k = map(int, bad[0])
        raise InvalidCounts(
            f"n must hold finite numbers of at least 0; found {counts[j, k]} at feature {j}, "
            f"leaf {k}"
        )
    return counts


def _climb(forest: Forest, limit: int, least: float, *, cached: bool = True) -> None:
    """Greedy moves by the variational score. `cached`: keep the gains that no move has touched."""
    gains: dict[Proposal, float] = {}
    refined: dict[Proposal, tuple[float, Tree]] = {}
    while True:
        moves = _proposals(forest)
        gains = _screened(forest, moves, gains)
        moves = [move for move in moves if move.kind == "attach" or limit > forest.H]
        best = sorted(moves, key=lambda move: (-gains[move], move))[:_REFINED]
        found: list[Proposal] = []
        for rank, move in enumerate(best):
            if found and rank >= _ENOUGH:
                break
            if move not in refined:
                refined[move] = refine(forest, move)
            if refined[move][0] > least:
                found.append(move)
        if not found:
            return
        move = min(found, key=lambda move: (-refined[move][0], move))
        changed = {node for tree in forest.involved(move) for node in tree.nodes}
        gain, tree = refined[move]
        forest.accept(move, tree, gain)
        # A gain stands while both of its trees do.
        kept = {m for m in gains if cached and not {m.u, m.to} & changed}
        gains = {m: gains[m] for m in kept}
        refined = {m: refined[m] for m in refined if m in kept}


def _proposals(forest: Forest) -> list[Proposal]:
    """All joins, and attachments below an internal node of another tree."""
    tops = forest.tops()
    out = [Proposal("join", u, v) for u in tops for v in tops if u < v]
    for top in tops:
        inner = [node for node in forest.trees[top].nodes if node >= forest.K]
        out += [Proposal("attach", u, node) for node in inner for u in tops if u != top]
    return out


def _screened(
    forest: Forest, moves: list[Proposal], known: dict[Proposal, float]
) -> dict[Proposal, float]:
    """First gains of these moves; attachments below one node come together."""
    out = {move: known[move] for move in moves if move in known}
    new = [move for move in moves if move not in known]
    for key in sorted({(move.kind, _group(move)) for move in new}):
        out |= first_gains(forest, [move for move in new if (move.kind, _group(move)) == key])
    for move in new:
        # Below a top it is worth a look where a join is: the new node may leave the old one empty.
        pair = Proposal("join", min(move.u, move.to), max(move.u, move.to))
        if move.kind == "attach" and pair in out:
            out[move] = max(out[move], out[pair])
    return out


def _group(move: Proposal) -> int:
    return -1 if move.kind == "join" else move.to


def _climb_paper(forest: Forest, limit: int, least: float) -> None:
    """Greedy moves by B09 (6)."""
    while True:
        moves = [move for move in _proposals(forest) if move.kind == "attach" or limit > forest.H]
        found = {move: paper_gain(forest, move) for move in moves}
        good = [move for move in moves if found[move][0] > least]
        if not good:
            return
        move = min(good, key=lambda move: (-found[move][0], move))
        gain, tree = found[move]
        forest.accept(move, tree, gain)


def _climbed(forest: Forest) -> Climbed:
    parents, phi = np.full(forest.H, -1), np.ones(forest.H)
    weights = np.zeros((forest.H, forest.counts.shape[1]))
    for tree in forest.trees.values():
        nodes, up = np.array(tree.nodes), np.array(tree.parent)
        parents[nodes[up >= 0]] = nodes[up[up >= 0]]
        phi[nodes] = tree.phi
        weights[np.ix_(nodes, tree.features)] = tree.g
    return Climbed(
        tuple(map(int, parents)),
        read_only(phi),
        read_only(weights),
        tuple(forest.moves),
        forest.flat_score,
        forest.score,
    )
