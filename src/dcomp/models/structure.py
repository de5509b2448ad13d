"""Structures of components: which nodes the words of a leaf may come from (B09 2.2).

Leaves are the nodes 0..K−1, internal nodes follow. A structure is the set of allowed pairs (c, h)
of leaf and node, those with υ_ch > 0; in a strict tree they are the paths from leaves to the top.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dcomp.errors import InvalidParameter
from dcomp.models.arrays import component_count, equal_fields, read_only
from dcomp.models.hierarchy import (
    MOST_LEVELS,
    IntArray,
    Tree,
    too_deep,
    typed_tree,
    whole_parent,
)
from dcomp.printable import printable

MOST_PAIRS = 1 << 16  # a token's pair is a number of 16 bits


@dataclass(frozen=True, eq=False)
class Structure:
    """Leaves, nodes and the allowed pairs of them; with `parents` where it is a strict tree, or
    several side by side.

    >>> structure = Structure.from_parents([3, 3, -1, -1])
    >>> structure.n_leaves, structure.n_nodes, structure.n_pairs
    (3, 4, 5)
    >>> structure.mask.astype(int)
    array([[1, 0, 0, 1],
           [0, 1, 0, 1],
           [0, 0, 1, 0]])
    """

    leaf: IntArray  # (P): of each allowed pair, in order of leaf and then node
    node: IntArray  # (P)
    n_leaves: int  # K
    names: tuple[str, ...]  # (H)
    parents: tuple[int, ...] | None  # (H): −1 at the top; None where it is no strict tree

    __eq__ = equal_fields

    @classmethod
    def flat(cls, n_leaves: int) -> Structure:
        """Every leaf on its own, H = K: plain components.

        >>> Structure.flat(2).parents
        (-1, -1)
        """
        return cls.from_parents([-1] * n_leaves)

    @classmethod
    def from_parents(
        cls, parents: Sequence[int | None], names: Sequence[str] | None = None
    ) -> Structure:
        """From the parent of each node, −1 or None for one at the top; there may be several.
        Nodes are renumbered where leaves do not come first.

        >>> Structure.from_parents([None, 0, 0], ["all", "x", "y"]).names
        ('x', 'y', 'all')
        """
        above = _checked_parents(parents)
        is_inner = np.isin(np.arange(len(above)), above)
        order = [*np.flatnonzero(~is_inner), *np.flatnonzero(is_inner)]
        number = np.argsort(order)
        moved = tuple(-1 if above[old] < 0 else int(number[above[old]]) for old in order)
        n_leaves = int((~is_inner).sum())
        if names is not None and len(names) != len(above):
            raise InvalidParameter(
                f"a structure needs a name for each of its {len(above)} nodes; got {len(names)}"
            )
        pairs = [(c, h) for c in range(n_leaves) for h in sorted(_path(moved, c))]
        called = None if names is None else [str(names[old]) for old in order]
        return cls._build(pairs, n_leaves, len(moved), called, moved)

    @classmethod
    def from_tree(cls, tree: Tree) -> Structure:
        """A tree of components with its leaves in front.

        >>> Structure.from_tree(Tree.regular(2, 2)).parents
        (2, 2, -1)
        """
        return cls.from_parents(tree.parents, tree.names)

    @classmethod
    def from_mask(cls, mask: Any, names: Sequence[str] | None = None) -> Structure:
        """From a table of leaves × nodes, dense or sparse, that is not zero where a pair is
        allowed. Nested sets of leaves are recognised as a tree.

        >>> Structure.from_mask([[1, 0, 1, 0], [0, 1, 1, 1]]).parents is None
        False
        >>> Structure.from_mask(np.ones((2, 3))).parents is None
        True
        """
        try:
            table = sparse.csr_matrix(mask)
        except (TypeError, ValueError):
            raise InvalidParameter(
                f"a mask is a table of numbers, leaves × nodes; got {repr(mask)[:40]}"
            ) from None
        table.eliminate_zeros()
        K, H = table.shape
        if not 1 <= K <= H:
            raise InvalidParameter(
                "a mask has a row for each leaf and a column for each node, the leaves among the "
                f"nodes: at least as many columns as rows; got {K} × {H}"
            )
        table.sort_indices()
        for what, counts in (
            ("leaf", np.diff(table.indptr)),
            ("node", np.diff(table.tocsc().indptr)),
        ):
            if (counts == 0).any():
                side = "row" if what == "leaf" else "column"
                raise InvalidParameter(
                    f"every leaf needs a node and every node a leaf; {what} "
                    f"{int(np.flatnonzero(counts == 0)[0])} has nothing in its {side} of the mask"
                )
        coo = table.tocoo()
        pairs = list(zip(coo.row.tolist(), coo.col.tolist(), strict=True))
        return cls._build(pairs, K, H, names, _tree_of(table))

    @classmethod
    def _build(
        cls,
        pairs: Sequence[tuple[int, int]],
        n_leaves: int,
        n_nodes: int,
        names: Sequence[str] | None,
        parents: tuple[int, ...] | None,
    ) -> Structure:
        if len(pairs) >= MOST_PAIRS:
            raise InvalidParameter(
                f"a structure may have fewer than {MOST_PAIRS} pairs of leaf and node; "
                f"got {len(pairs)}"
            )
        if names is None:
            names = [f"{'c' if h < n_leaves else 'h'}{h}" for h in range(n_nodes)]
        called = tuple(map(str, names))
        if len(called) != n_nodes or len(set(called)) != n_nodes:
            raise InvalidParameter(
                f"a structure needs a different name for each of its {n_nodes} nodes; "
                f"got {len(called)}, {len(set(called))} of them different"
            )
        leaf, node = np.array(sorted(pairs), dtype=np.int32).reshape(-1, 2).T
        return cls(read_only(leaf.copy()), read_only(node.copy()), n_leaves, called, parents)

    @classmethod
    def from_json(cls, text: str) -> Structure:
        """The way back from `to_json`.

        >>> full = Structure.from_mask(np.ones((2, 3)))
        >>> Structure.from_json(full.to_json()) == full
        True
        """
        try:
            value = json.loads(text)
            names = [str(name) for name in value["names"]]
            if value["parents"] is not None:
                return cls.from_parents(value["parents"], names)
            mask = np.zeros((int(value["n_leaves"]), len(names)))
            mask[value["leaf"], value["node"]] = 1
            return cls.from_mask(mask, names)
        except (json.JSONDecodeError, KeyError, TypeError, IndexError, ValueError) as error:
            if isinstance(error, InvalidParameter):
                raise
            raise InvalidParameter(
                f"a structure in JSON has names, n_leaves, and parents or leaf and node; {error!r}"
            ) from None

    def to_json(self) -> str:
        """As one line of JSON."""
        pairs = {"leaf": self.leaf.tolist(), "node": self.node.tolist()}
        value = {"n_leaves": self.n_leaves, "names": self.names, "parents": self.parents}
        return json.dumps(value | ({} if self.parents is not None else pairs), ensure_ascii=False)

    @property
    def n_nodes(self) -> int:
        """H, leaves included."""
        return len(self.names)

    @property
    def n_pairs(self) -> int:
        """P."""
        return len(self.leaf)

    @cached_property
    def start(self) -> npt.NDArray[np.int64]:
        """(K + 1): where the pairs of each leaf begin."""
        return read_only(np.searchsorted(self.leaf, np.arange(self.n_leaves + 1)))

    @cached_property
    def mask(self) -> npt.NDArray[np.bool_]:
        """(K, H): the allowed pairs."""
        out = np.zeros((self.n_leaves, self.n_nodes), dtype=bool)
        out[self.leaf, self.node] = True
        return read_only(out)

    @cached_property
    def is_leaf(self) -> npt.NDArray[np.bool_]:
        """(H)."""
        return read_only(np.arange(self.n_nodes) < self.n_leaves)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The nodes of a tree from the top down, parents before children."""
        assert self.parents is not None
        below = self.children
        found = [h for h, parent in enumerate(self.parents) if parent < 0]
        for node in found:
            found.extend(below[node])
        return tuple(found)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Of each node of a tree."""
        assert self.parents is not None
        below: list[list[int]] = [[] for _ in self.parents]
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                below[parent].append(node)
        return tuple(map(tuple, below))

    @cached_property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """(child, parent) in a tree; else (leaf, node) of every pair of two different nodes.

        >>> Structure.from_parents([2, 2, -1]).edges
        ((0, 2), (1, 2))
        """
        if self.parents is not None:
            return tuple((h, p) for h, p in enumerate(self.parents) if p >= 0)
        both = zip(self.leaf.tolist(), self.node.tolist(), strict=True)
        return tuple((c, h) for c, h in both if c != h)

    def table(self, values: npt.NDArray[Any]) -> sparse.csr_matrix:
        """Numbers of the pairs (P) as a sparse table (K, H)."""
        return sparse.csr_matrix(
            (values, self.node, self.start), shape=(self.n_leaves, self.n_nodes)
        )

    @cached_property
    def to_nodes(self) -> sparse.csr_matrix:
        """(P, H): what a pair adds to its node."""
        ones = np.ones(self.n_pairs)
        return sparse.csr_matrix((ones, self.node, np.arange(self.n_pairs + 1)))

    def text(self, labels: Sequence[str] | None = None) -> str:
        """As lines of text: a tree with its branches, any other structure leaf by leaf.

        >>> print(Structure.from_parents([3, 3, -1, -1]).text())
        c2
        h3
        ├─ c0
        └─ c1
        """
        shown = [printable(label) for label in (self.names if labels is None else labels)]
        if self.parents is None:
            nodes = np.split(self.node, self.start[1:-1])
            return "\n".join(
                f"{shown[c]}: {', '.join(shown[h] for h in own)}" for c, own in enumerate(nodes)
            )
        lines = []
        for top in (h for h, parent in enumerate(self.parents) if parent < 0):
            lines.extend(_branches(self.children, shown, top, "", ""))
        return "\n".join(lines)


def typed_structure(
    n_leaves: int | None, tree: Any = None, mask: Any = None, upsilon: Any = None
) -> Structure | None:
    """A structure as users type it: from a tree, from a mask, or from a given Υ (leaves × nodes);
    None where nothing says what it is.

    >>> typed_structure(None, tree=[-1, 0, 0]).n_leaves
    2
    """
    named = {"tree": tree, "mask": mask, "upsilon": upsilon}
    given = [name for name, value in named.items() if value is not None]
    if not given:
        return None
    if len(given) > 1:
        raise InvalidParameter(
            f"{given[0]}= and {given[1]}= both say what the structure is: give one"
        )
    if tree is not None:
        structure = tree if isinstance(tree, Structure) else _from_tree(tree)
    else:
        structure = Structure.from_mask(mask if upsilon is None else upsilon)
    if n_leaves is not None and n_leaves != structure.n_leaves:
        raise InvalidParameter(
            f"n_components is the number of leaves, of which {given[0]}= has {structure.n_leaves}; "
            f"got {n_leaves}"
        )
    return structure


def _from_tree(tree: Any) -> Structure:
    """Parents may have several at the top; everything else is as for a tree of components."""
    is_parents = (
        isinstance(tree, Iterable)
        and not isinstance(tree, str | Tree)
        and all(parent is None or isinstance(parent, int | np.integer) for parent in tree)
    )
    if is_parents:
        return Structure.from_parents(list(tree))
    return Structure.from_tree(typed_tree(tree))


def _branches(
    children: tuple[tuple[int, ...], ...], shown: Sequence[str], node: int, lead: str, mark: str
) -> list[str]:
    lines = [f"{lead}{mark}{shown[node]}"]
    inner = lead + {"": "", "├─ ": "│  ", "└─ ": "   "}[mark]
    for child in children[node]:
        last = child == children[node][-1]
        lines += _branches(children, shown, child, inner, "└─ " if last else "├─ ")
    return lines


def _checked_parents(parents: Sequence[int | None]) -> list[int]:
    """Parents as numbers, −1 at the top; an error names the node that breaks the tree."""
    component_count(len(parents))
    above: list[int] = []
    for node, parent in enumerate(parents):
        above.append(-1 if parent is None else whole_parent(parent, node))
        if not -1 <= above[-1] < len(parents) or above[-1] == node:
            raise InvalidParameter(
                f"the parent of node {node} must be another node from 0 to {len(parents) - 1}, or "
                f"-1 at the top; got {parent}"
            )
    if not above:
        raise InvalidParameter("a structure has at least one node; got none")
    for node in range(len(above)):
        if len(_path(above, node)) <= MOST_LEVELS:
            continue
        if len(_path(above, node, len(above))) <= len(above):
            raise too_deep(node)
        raise InvalidParameter(
            f"every node must lie below one at the top; the parents of node {node} go round in a "
            "circle"
        )
    return above


def _path(parents: Sequence[int], node: int, most: int = MOST_LEVELS) -> list[int]:
    """A node and all above it, or one more than `most` of them."""
    path = [node]
    while parents[path[-1]] >= 0 and len(path) <= most:
        path.append(parents[path[-1]])
    return path


def _tree_of(table: sparse.csr_matrix) -> tuple[int, ...] | None:
    """Parents, if every leaf has its own node and the leaves of nodes are nested sets or apart.
    Nodes with the same leaves lie above one another, the later higher."""
    K, H = table.shape
    of_node = [frozenset(own.tolist()) for own in np.split(*_columns(table))]
    if any(of_node[c] != {c} for c in range(K)):
        return None
    parents = [-1] * H
    for h, own in enumerate(of_node):
        above = [
            (len(other), g)
            for g, other in enumerate(of_node)
            if g >= K and g != h and (own < other or (own == other and g > h))
        ]
        if any(
            own & other and not (own <= other or other <= own)
            for g, other in enumerate(of_node)
            if g != h
        ):
            return None
        parents[h] = min(above)[1] if above else -1
    return tuple(parents)


def _columns(table: sparse.csr_matrix) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    by_column = table.tocsc()
    by_column.sort_indices()
    return by_column.indices, by_column.indptr[1:-1]
