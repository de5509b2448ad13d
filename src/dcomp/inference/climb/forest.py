"""The forest that hill climbing changes: trees of components with the words of their nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from dcomp.errors import InvalidParameter
from dcomp.inference.climb.score import IntArray, stop_probability
from dcomp.models.arrays import FloatArray, positive_array

NEW = -1  # the node of a join before it has a number


class Proposal(NamedTuple):
    """A move: "join" the top u with another, or "attach" it below an internal node."""

    kind: str
    u: int
    to: int


@dataclass(frozen=True)
class Move:
    """An accepted move.

    kind: "join" (`children` (u, v) got the new node `node` above them) or "attach" (`children` (u,)
    went below the existing `node`). gain, score: nats, of the move and after it. phi: of `node`.
    """

    kind: str
    children: tuple[int, ...]
    node: int
    gain: float
    score: float
    phi: float


@dataclass(frozen=True, eq=False)
class WordPrior:
    """γ by feature, with the blocks' sums."""

    gamma: FloatArray  # (J)
    block: IntArray  # (J) numbers 0..G−1
    total: FloatArray  # (G)

    @classmethod
    def build(cls, gamma: npt.ArrayLike, blocks: npt.ArrayLike | None, J: int) -> WordPrior:
        """From one number or J, and any names of blocks; None for one block."""
        values = positive_array("gamma", gamma)
        if values.shape not in ((), (J,)):
            raise InvalidParameter(
                f"gamma must be a number or hold one per feature ({J}); got shape {values.shape}"
            )
        ids = np.zeros(J, dtype=np.int64) if blocks is None else np.asarray(blocks)
        if ids.shape != (J,):
            raise InvalidParameter(
                f"blocks must hold one block per feature ({J}); got shape {ids.shape}"
            )
        values = np.broadcast_to(values, (J,)).copy()
        names, block = np.unique(ids, return_inverse=True)
        block = block.astype(np.int64)
        return cls(values, block, np.bincount(block, values, len(names)).astype(np.float64))

    def by_block(self, W: FloatArray, features: IntArray) -> FloatArray:
        """(G) sums of the words W of these features."""
        return np.bincount(self.block[features], W, len(self.total)).astype(np.float64)

    def log_ratio(self, W: FloatArray) -> float:
        """log Z(γ+W)/Z(γ) for W (J)."""
        N = np.bincount(self.block, W, len(self.total))
        cells = gammaln(self.gamma + W) - gammaln(self.gamma)
        return float(cells.sum() - (gammaln(self.total + N) - gammaln(self.total)).sum())


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree, top first, over the features that its leaves have."""

    nodes: tuple[int, ...]
    parent: tuple[int, ...]  # places in `nodes`
    features: IntArray  # (F)
    g: FloatArray  # (nodes, F) the shares of r along a path
    W: FloatArray  # (nodes, F) Ŵ
    N: FloatArray  # (nodes) words that stop there
    M: FloatArray  # (nodes) words that go on below
    score: float

    @property
    def size(self) -> float:
        """All words."""
        return float(self.N[0] + self.M[0])

    @property
    def phi(self) -> FloatArray:
        """Of each node; 1 at leaves."""
        return stop_probability(self.N, self.M)

    def path(self, place: int) -> list[int]:
        """Places from the top down to this one."""
        out = [place]
        while self.parent[out[0]] >= 0:
            out.insert(0, self.parent[out[0]])
        return out


class Forest:
    """A tree for each node without a parent, by that node."""

    def __init__(self, counts: FloatArray, prior: WordPrior) -> None:
        self.counts, self.prior = counts, prior  # (K, J)
        self.K = self.H = len(counts)
        self.trees = {c: self._leaf(c) for c in range(self.K)}
        self.flat_score = self.score
        self.moves: list[Move] = []

    def _leaf(self, c: int) -> Tree:
        features = np.flatnonzero(self.counts[c])
        W = self.counts[c : c + 1, features]
        score = self.prior.log_ratio(self.counts[c])
        return Tree((c,), (-1,), features, np.ones_like(W), W, W.sum(axis=1), np.zeros(1), score)

    @property
    def score(self) -> float:
        """F, the sum over the trees."""
        return sum(tree.score for tree in self.trees.values())

    def tops(self) -> list[int]:
        """Nodes without a parent, but those without words, which have nothing to share."""
        return [top for top, tree in sorted(self.trees.items()) if tree.size > 0]

    def tree_of(self, node: int) -> Tree:
        """The tree that a node is in."""
        return next(tree for tree in self.trees.values() if node in tree.nodes)

    def involved(self, move: Proposal) -> tuple[Tree, Tree]:
        """The two trees of a move."""
        return self.trees[move.u], self.tree_of(move.to)

    def accept(self, move: Proposal, tree: Tree, gain: float) -> None:
        """The move was made and its two trees became `tree`."""
        for old in self.involved(move):
            del self.trees[old.nodes[0]]
        joined = move.kind == "join"
        node = self.H if joined else move.to
        self.H += joined
        tree = replace(tree, nodes=tuple(node if h == NEW else h for h in tree.nodes))
        self.trees[tree.nodes[0]] = tree
        children = (move.u, move.to) if joined else (move.u,)
        phi = float(tree.phi[tree.nodes.index(node)])
        self.moves.append(Move(move.kind, children, node, gain, self.score, phi))
