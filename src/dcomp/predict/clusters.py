"""Documents as clusters: the component with the most of each (C04 2, 6.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.models.prior import Nodes


def largest(scores: npt.ArrayLike, nodes: Nodes | None = None) -> npt.NDArray[np.intp]:
    """The number of the largest score in each row, the first of equal ones; where components are
    nodes of a tree, among its leaves: the nodes above have what documents share.

    >>> largest([[0.2, 0.8], [0.5, 0.5]]).tolist()
    [1, 0]
    """
    table: npt.NDArray[Any] = np.asarray(scores)
    if nodes is None or not nodes.edges or nodes.is_leaf.all() or not nodes.is_leaf.any():
        return np.asarray(table.argmax(axis=1))
    leaves = np.flatnonzero(nodes.is_leaf)
    return np.asarray(leaves[table[:, leaves].argmax(axis=1)])
