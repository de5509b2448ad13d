"""A hierarchy of components in rings."""

from __future__ import annotations

import math
from typing import Any

from dcomp.evaluate.hierarchy import Hierarchy
from dcomp.plot.axes import colour, names_of, pyplot
from dcomp.result.of_estimator import as_fit


def tree(found: Any, n: int = 3, *, ax: Any = None) -> Any:
    """The tree with its root at the centre: each node a ring segment as wide as its words, with as
    many of its own n first features as have room.

    found: a fit with a tree, or a `Hierarchy`. ax: polar axes.

    >>> import numpy as np
    >>> import dcomp
    >>> from matplotlib.figure import Figure
    >>> X = np.random.default_rng(0).poisson(2.0, (30, 8))
    >>> fit = dcomp.TreeDCA(2, 2, max_iter=10, verbose=0).fit(X).fit_
    >>> len(tree(fit, ax=Figure().add_subplot(projection="polar")).patches)
    3
    """
    if not hasattr(found, "nodes"):
        found = Hierarchy.from_fit(as_fit(found), n=n)
    if ax is None:
        ax = pyplot().subplots(subplot_kw={"projection": "polar"}, figsize=(8, 8))[1]
    _draw_rings(found, ax, n)
    return ax


def _draw_rings(hierarchy: Any, axis: Any, n: int, size: float = 6) -> None:
    """Segments level by level, and in each as many of the n words as it has room for."""
    tree, start = hierarchy.tree, {0: 0.0}
    rings = float(tree.level.max()) + 1
    inches = axis.figure.get_size_inches().min() * axis.get_position().height / 2 / rings
    line = 1.2 * size / 72 / inches  # height of a line, in units of the radius
    for k in tree.order:
        node, angle = hierarchy.nodes[k], start[k]
        width, bottom = 2 * math.pi * node.subtree, float(node.level)
        axis.bar(
            angle, 0.96, width=width, bottom=bottom, align="edge", edgecolor="white", linewidth=0.5,
            color=colour(_branch(tree, k) - 1) if k else "0.88",
            alpha=0.6 / (1 + 0.3 * node.level),
        )  # fmt: skip
        middle, radius = angle + width / 2, bottom + 0.48 if k else 0.0
        room = n if k == 0 else min(n, int(width * radius / line))
        turn = math.degrees(middle) if k else 0.0  # along the radius, and never upside down
        turn = turn + 180 if 90 < turn % 360 < 270 else turn
        axis.text(
            middle, radius, "\n".join(names_of(node.own[:room], 14)), rotation=turn, ha="center",
            va="center", fontsize=size, linespacing=1.0,
        )  # fmt: skip
        for child in tree.children[k]:
            start[child] = angle
            angle += 2 * math.pi * hierarchy.nodes[child].subtree
    axis.set_ylim(0, rings)
    axis.set_axis_off()


def _branch(tree: Any, node: int) -> int:
    """The root's child above a node, or the node itself."""
    while tree.parents[node] > 0:
        node = int(tree.parents[node])
    return node
