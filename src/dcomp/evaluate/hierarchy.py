"""Reading a tree of components: what each node stands for, and whether it hangs together (BJ04 §4).

A node is summarised by the average of its own loadings and those of all nodes below it, weighted by
their shares of the words. BJ04 prints the sum over children alone; MODELS asks for all descendants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.data import Counts
from dcomp.errors import UnsupportedCombination
from dcomp.models import Tree
from dcomp.models.arrays import FloatArray
from dcomp.printable import printable, printable_json
from dcomp.result import Fit
from dcomp.result.of_estimator import as_fit


@dataclass(frozen=True)
class Node:
    """One node of a fitted tree."""

    number: int  # its component; −1 for a node that was put above several trees
    name: str
    parent: int  # −1 for the root
    level: int
    share: float  # of all words, its own alone
    subtree: float  # of all words, with all nodes below it
    own: tuple[str, ...]  # top features of its own component
    summary: tuple[str, ...]  # of the weighted average with all nodes below it
    coherence: float | None  # how well its features go with those of its children; None for leaves
    fits: bool | None  # whether of all nodes on its parent's level its own parent suits it best


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """A fitted tree to read, as text, as JSON and as a picture.

    `coherence` of an internal node is the mean normalised pointwise mutual information (−1 to 1) of
    its own top features with the top features of its children's summaries, by their occurrence in
    the same documents. A child `fits` if no other node on its parent's level has a larger one with
    it; `fitting` is the share of children (of parents that are not alone on their level) that do,
    a number for what BJ04 §4 judges by eye. Both need the counts.

    >>> import dcomp
    >>> X = [[4, 3, 0, 0, 2], [5, 2, 0, 1, 3], [0, 0, 6, 3, 2], [0, 1, 4, 4, 1]]
    >>> model = dcomp.TreeDCA(2, 2, max_iter=20, verbose=0).fit(X)
    >>> tree = Hierarchy.from_fit(model.fit_, X, n=2)
    >>> [node.name for node in tree.nodes], round(tree.nodes[0].subtree, 6)
    (['root', '1', '2'], 1.0)
    """

    tree: Tree
    nodes: tuple[Node, ...]
    summaries: npt.NDArray[np.float32]  # (J, nodes): the weighted averages

    @classmethod
    def from_fit(cls, fit: Fit, X: Any = None, *, n: int = 8) -> Hierarchy:
        """Of a fit of model TM, or of ST with a tree, with n top features per node; coherence if
        counts are given."""
        tree, component = place_nodes(fit)
        # A node that stands above several trees is no component, and has no words of its own.
        share, Theta = (
            np.where(component < 0, 0, np.asarray(values)[..., component])
            for values in (node_shares(fit), fit.Theta)
        )
        summaries = _summaries(tree, share, Theta)
        own, below = (_top(values, n) for values in (Theta, summaries))
        coherence: list[float | None] = [None] * tree.n_nodes
        fits: list[bool | None] = [None] * tree.n_nodes
        if X is not None:
            together = _association(fit.observe(X).counts, own, below)
            coherence, fits = _judge(tree, together)
        name = fit.features.name
        nodes = tuple(
            Node(
                int(component[k]),
                tree.names[k],
                tree.parents[k],
                int(tree.level[k]),
                float(share[k]),
                float(share @ tree.on_path[:, k]),
                tuple(name(int(j)) for j in own[k]) if component[k] >= 0 else (),
                tuple(name(int(j)) for j in below[k]),
                coherence[k],
                fits[k],
            )
            for k in range(tree.n_nodes)
        )
        return cls(tree, nodes, summaries)

    @property
    def fitting(self) -> float | None:
        """The share of children that suit their own parent best; None without counts."""
        told = [node.fits for node in self.nodes if node.fits is not None]
        return sum(told) / len(told) if told else None

    def text(self, summary: bool = True) -> str:
        """The tree as lines: name, share of the words with all below, coherence, and the features
        of the summary, or of the node's own component."""
        labels = []
        for node in self.nodes:
            words = node.summary if summary else node.own
            numbers = f"{100 * node.subtree:.1f} %"
            if node.coherence is not None:
                numbers += f", coherence {node.coherence:.2f}"
            labels.append(f"{printable(node.name)} ({numbers}): {' '.join(map(printable, words))}")
        return self.tree.text(labels)

    def to_json(self) -> str:
        """Everything but the loadings, nodes within nodes."""

        def nested(k: int) -> dict[str, Any]:
            node = self.nodes[k]
            return {
                "node": node.number,
                "name": node.name,
                "share": node.share,
                "subtree": node.subtree,
                "own": node.own,
                "summary": node.summary,
                "coherence": node.coherence,
                "fits": node.fits,
                "children": [nested(child) for child in self.tree.children[k]],
            }

        return printable_json(nested(0))

    def plot(self, axis: Any = None, n: int = 3) -> Any:
        """The tree as a picture, the root at the centre: each node a ring segment as wide as its
        words, with as many of its own n first features as have room (`pip install "dcomp[plot]"`).
        """
        from dcomp.plot import tree

        return tree(self, n, ax=axis)


def place_nodes(fit: Fit) -> tuple[Tree, npt.NDArray[np.int64]]:
    """The tree of a fit with its root in front, and the component of each of its nodes: −1 for a
    root that is put above several trees. An error where there is no tree."""
    nodes = fit.model.scores.nodes
    if nodes is None or nodes.parents is None:
        raise UnsupportedCombination(
            "only model TM, and ST with a strict tree, have a tree to read; this fit is of model "
            f"{fit.model.key} (see dcomp.TreeDCA and dcomp.StructuredDCA)"
        )
    tops = [k for k, parent in enumerate(nodes.parents) if parent < 0]
    if tops == [0]:  # the root is in front already
        return Tree.from_parents(nodes.parents, nodes.names), np.arange(len(nodes.parents))
    order = [*([-1] if len(tops) > 1 else []), *_top_down(nodes.parents)]
    place = {component: node for node, component in enumerate(order)}
    parents = [-1, *(place[nodes.parents[component]] for component in order[1:])]
    names = [nodes.names[k] if k >= 0 else "all" for k in order]
    return Tree.from_parents(parents, names), np.array(order)


def _top_down(parents: Sequence[int]) -> list[int]:
    """The nodes level by level, those at the top first."""
    found = [k for k, parent in enumerate(parents) if parent < 0]
    for node in found:
        found.extend(k for k, parent in enumerate(parents) if parent == node)
    return found


def node_shares(fit: Fit) -> FloatArray:
    """The part of all words that belongs to each component, (K)."""
    words = np.asarray(fit.expected_counts).sum(axis=0, dtype=np.float64)
    return np.asarray(words / max(words.sum(), 1e-300))


def _summaries(tree: Tree, share: FloatArray, Theta: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """(J, nodes): Σ over a node and all below it of share · θ, divided by their shares: BJ04 §4."""
    weights = np.maximum(share, 1e-12)[:, None] * tree.on_path
    return np.asarray(Theta @ (weights / weights.sum(axis=0)), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class LevelCorrelations:
    """Pairwise correlations of the components' words E[m]·L over documents: BJ04 §5, figure 1.

    within internal nodes (T-T), within leaves (B-B) and between them (T-B); a flat model has one
    group, D.
    """

    groups: dict[str, FloatArray]  # correlations of the pairs of each group

    def quantiles(self, at: tuple[float, ...] = (0, 0.25, 0.5, 0.75, 1)) -> dict[str, FloatArray]:
        """The numbers of a box plot."""
        return {name: np.quantile(r, at) for name, r in self.groups.items() if len(r)}

    def __str__(self) -> str:
        lines = [
            f"{name}: {len(self.groups[name])} pairs, median {q[2]:.4f}, quartiles {q[1]:.4f} "
            f"and {q[3]:.4f}, from {q[0]:.3f} to {q[4]:.3f}"
            for name, q in self.quantiles().items()
        ]
        return "\n".join(lines)


def level_correlations(fit: Fit) -> LevelCorrelations:
    """Correlations between components by their place in the tree; of a flat fit, all pairs as D.

    A component without any words has no correlation, and its pairs are left out.

    >>> import dcomp
    >>> X = np.random.default_rng(0).poisson(2.0, (40, 8))
    >>> model = dcomp.TreeDCA(2, 3, max_iter=20, verbose=0).fit(X)
    >>> {name: len(r) for name, r in level_correlations(model.fit_).groups.items()}
    {'T-T': 3, 'B-B': 6, 'T-B': 12}
    """
    fit = as_fit(fit)
    lengths = np.asarray(fit.expected_counts).sum(axis=1, dtype=np.float64)
    words = np.asarray(fit.scores, dtype=np.float64)
    words = words / words.sum(axis=1, keepdims=True) * lengths[:, None]
    words = words - words.mean(axis=0)
    scale = np.sqrt((words**2).sum(axis=0))
    known = scale > 0
    correlation = words.T @ words / np.maximum(np.outer(scale, scale), 1e-300)
    K = fit.n_components
    first, second = np.array(list(combinations(range(K), 2))).reshape(-1, 2).T
    usable = known[first] & known[second]
    first, second = first[usable], second[usable]
    r = correlation[first, second]
    nodes = fit.model.scores.nodes
    if nodes is None:
        return LevelCorrelations({"D": r})
    inner = (~nodes.is_leaf).astype(int)
    n_inner = inner[first] + inner[second]
    return LevelCorrelations(
        {"T-T": r[n_inner == 2], "B-B": r[n_inner == 0], "T-B": r[n_inner == 1]}
    )


def _top(values: npt.NDArray[Any], n: int) -> npt.NDArray[np.int64]:
    """(K, n): the rows of largest value in each column."""
    n = min(n, len(values))
    part = np.argpartition(-values, n - 1, axis=0)[:n]
    order = np.argsort(-np.take_along_axis(values, part, axis=0), axis=0, kind="stable")
    return np.asarray(np.take_along_axis(part, order, axis=0).T)


def _association(
    counts: Counts, own: npt.NDArray[np.int64], below: npt.NDArray[np.int64]
) -> FloatArray:
    """(K, K): mean NPMI of the own features of the first node with the summary features of the
    second, over pairs of different features."""
    used, place = np.unique(np.concatenate([own, below]), return_inverse=True)
    place = place.reshape(2 * len(own), -1)
    W = counts.to_scipy().tocsc()[:, used].astype(bool).astype(np.float64)
    n_docs = max(counts.n_docs, 1)
    both = (W.T @ W).toarray() / n_docs
    single = np.diag(both)
    with np.errstate(divide="ignore", invalid="ignore"):
        npmi = np.log(both / np.outer(single, single)) / -np.log(both)
    npmi[both == 0] = -1.0  # never together
    npmi[both == 1] = 0.0  # in every document: nothing to tell
    first, second = place[: len(own)], place[len(own) :]
    K = len(own)
    out = np.empty((K, K))
    for k in range(K):
        block = npmi[first[k][:, None, None], second[None]]  # (n, K, n)
        differ = first[k][:, None, None] != second[None]
        total = np.where(differ, block, 0.0).sum(axis=(0, 2))
        out[k] = total / np.maximum(differ.sum(axis=(0, 2)), 1)
    return out


def _judge(tree: Tree, together: FloatArray) -> tuple[list[float | None], list[bool | None]]:
    """Coherence of internal nodes, and whether each node's parent suits it best."""
    coherence: list[float | None] = [None] * tree.n_nodes
    fits: list[bool | None] = [None] * tree.n_nodes
    for node, below in enumerate(map(list, tree.children)):
        if not below:
            continue
        coherence[node] = float(together[node, below].mean())
        rivals = np.flatnonzero((tree.level == tree.level[node]) & ~tree.is_leaf)
        if len(rivals) > 1:
            for child in below:
                fits[child] = bool(together[rivals, child].max() <= together[node, child])
    return coherence, fits
