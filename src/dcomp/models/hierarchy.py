"""Trees of components: who lies below whom, and what the nodes are called (BJ04 3.4)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.errors import InvalidParameter
from dcomp.models.arrays import component_count, read_only
from dcomp.models.options import Request
from dcomp.printable import printable

IntArray = npt.NDArray[np.int32]
ROOT = "root"
BRANCHES, LEVELS = 7, 3  # BJ04 §4 and §5, unless given
MOST_LEVELS = 256  # what is kept of each node's path grows with its length


@dataclass(frozen=True)
class Tree:
    """A rooted tree whose nodes, leaves and internal ones alike, are components; node 0 is the
    root.

    >>> tree = Tree.regular(branching=2, depth=3)
    >>> tree.parents, tree.n_nodes
    ((-1, 0, 0, 1, 1, 2, 2), 7)
    >>> print(Tree.from_names({"all": {"sport": ["soccer", "cricket"], "politics": []}}).text())
    all
    ├─ sport
    │  ├─ soccer
    │  └─ cricket
    └─ politics
    """

    parents: tuple[int, ...]  # of each node, −1 for the root
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        _check(self.parents, self.names)

    @classmethod
    def regular(cls, branching: int, depth: int) -> Tree:
        """Every node above the last of `depth` levels has `branching` children.

        >>> Tree.regular(branching=7, depth=3).n_nodes
        57
        """
        for name, value in (("branching", branching), ("depth", depth)):
            whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
            if not whole or value < 1:
                raise InvalidParameter(
                    f"{name} must be a whole number of at least 1; got {value!r}"
                )
        parents, level = [-1], [0]
        for _ in range(depth - 1):
            component_count(len(parents) + len(level) * int(branching))  # before they are listed
            below = range(len(parents), len(parents) + len(level) * branching)
            parents += [node for node in level for _ in range(branching)]
            level = list(below)
        return cls.from_parents(parents)

    @classmethod
    def complete(cls, n_nodes: int, branching: int = BRANCHES) -> Tree:
        """So many nodes, filled level by level with `branching` children each.

        >>> Tree.complete(57) == Tree.regular(7, 3), Tree.complete(5, 2).parents
        (True, (-1, 0, 0, 1, 1))
        """
        last = component_count(n_nodes)
        return cls.from_parents([-1, *((k - 1) // branching for k in range(1, last))])

    @classmethod
    def from_parents(
        cls, parents: Sequence[int | None], names: Sequence[str] | None = None
    ) -> Tree:
        """From the parent of each node, in any order but for the root, which is node 0 and has
        the parent −1 or None. Nodes without names are called by their place: 2.1 is the first
        child of the root's second.

        >>> Tree.from_parents([None, 0, 0, 2]).names
        ('root', '1', '2', '2.1')
        """
        component_count(len(parents))
        above = tuple(-1 if p is None else whole_parent(p, k) for k, p in enumerate(parents))
        _check(above, tuple(map(str, range(len(above)))))
        return cls(above, _places(above) if names is None else tuple(map(str, names)))

    @classmethod
    def from_names(cls, nested: Any) -> Tree:
        """From names within names: mappings for nodes with children, sequences or empty values for
        leaves. With a single name on top that is the root; several get one above them.

        >>> Tree.from_names({"a": ["x", "y"], "b": {}}).parents
        (-1, 0, 1, 1, 0)
        """
        top = list(_entries(nested, ()))
        if len(top) != 1:
            top = [(ROOT, nested)]
        parents: list[int] = []
        names: list[str] = []

        def add(name: str, below: Any, parent: int, path: tuple[str, ...]) -> None:
            node = len(parents)
            parents.append(parent)
            names.append(name)
            for child, rest in _entries(below, (*path, name)):
                add(child, rest, node, (*path, name))

        add(*top[0], -1, ())
        return cls(tuple(parents), tuple(names))

    @classmethod
    def from_json(cls, text: str) -> Tree:
        """The way back from `to_json`.

        >>> tree = Tree.regular(2, 2)
        >>> Tree.from_json(tree.to_json()) == tree
        True
        """
        try:
            value = json.loads(text)
            return cls.from_parents(value["parents"], value["names"])
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise InvalidParameter(
                f"a tree in JSON is an object with parents and names; {error!r}"
            ) from None

    def to_json(self) -> str:
        """As one line of JSON: parents and names."""
        return json.dumps({"parents": self.parents, "names": self.names}, ensure_ascii=False)

    @property
    def n_nodes(self) -> int:
        """K."""
        return len(self.parents)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Of each node, in the order of their numbers."""
        return _children(self.parents)

    @cached_property
    def is_leaf(self) -> npt.NDArray[np.bool_]:
        """(K)."""
        return read_only(np.array([not below for below in self.children]))

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The nodes level by level, parents before children, siblings together."""
        found = [0]
        for node in found:
            found.extend(self.children[node])
        return tuple(found)

    @cached_property
    def level(self) -> IntArray:
        """Steps from the root, (K)."""
        out = np.zeros(self.n_nodes, dtype=np.int32)
        for node in self.order[1:]:
            out[node] = out[self.parents[node]] + 1
        return read_only(out)

    @cached_property
    def on_path(self) -> npt.NDArray[np.float64]:
        """(K, K): 1 where the second node lies on the path from the root to the first, its ends
        included. c @ on_path are the subtree totals S."""
        out = np.zeros((self.n_nodes, self.n_nodes))
        for node in self.order:
            if node:
                out[node] = out[self.parents[node]]
            out[node, node] = 1
        return read_only(out)

    @cached_property
    def parent_index(self) -> IntArray:
        """Parents as an array (K), with the root for its own."""
        return read_only(np.array((0, *self.parents[1:]), dtype=np.int32))

    @cached_property
    def branching(self) -> npt.NDArray[np.int64]:
        """Number of children of each node, (K)."""
        return read_only(np.array([len(below) for below in self.children]))

    def descendants(self, node: int) -> tuple[int, ...]:
        """The node and all nodes below it.

        >>> Tree.regular(2, 3).descendants(2)
        (2, 5, 6)
        """
        return tuple(np.flatnonzero(self.on_path[:, node]).tolist())

    def grown(self, new_leaves: Mapping[int, int]) -> Tree:
        """With so many new leaves below each of these nodes, numbered after the present nodes.

        >>> Tree.regular(2, 2).grown({2: 2}).names
        ('root', '1', '2', '2.1', '2.2')
        """
        parents, names = list(self.parents), list(self.names)
        for node, n_new in new_leaves.items():
            present = len(self.children[node])
            prefix = "" if node == 0 else f"{names[node]}."
            parents += [node] * n_new
            names += [f"{prefix}{present + place + 1}" for place in range(n_new)]
        return Tree(tuple(parents), tuple(names))

    def text(self, labels: Sequence[str] | None = None) -> str:
        """The tree as lines of text, one per node: its name, or its label."""
        shown = [printable(label) for label in (self.names if labels is None else labels)]
        lines = []

        def add(node: int, lead: str, mark: str) -> None:
            lines.append(f"{lead}{mark}{shown[node]}")
            below = self.children[node]
            inner = lead + {"": "", "├─ ": "│  ", "└─ ": "   "}[mark]
            for child in below:
                add(child, inner, "└─ " if child == below[-1] else "├─ ")

        add(0, "", "")
        return "\n".join(lines)


def typed_tree(tree: Any, branching: int | None = None, depth: int | None = None) -> Tree:
    """A tree as users type it: from branching and depth, or from a Tree, a list of parents, or
    nested names.

    >>> typed_tree([-1, 0, 0]).n_nodes, typed_tree(None, 2).n_nodes
    (3, 7)
    """
    if tree is None:
        return Tree.regular(
            BRANCHES if branching is None else branching, LEVELS if depth is None else depth
        )
    if depth is not None:
        raise InvalidParameter("a tree has its own depth: give tree= or depth=, not both")
    if isinstance(tree, Tree):
        return tree
    if isinstance(tree, Mapping):
        return Tree.from_names(tree)
    if isinstance(tree, str) or not isinstance(tree, Iterable):
        raise InvalidParameter(
            f"tree must be a Tree, a list of parents or nested names; got {tree!r}"
        )
    entries = list(tree)
    is_names = bool(entries) and isinstance(entries[0], str)
    return Tree.from_names(entries) if is_names else Tree.from_parents(entries)


def check_one_size(request: Request, first: str, second: str) -> None:
    """An error where both options say how many nodes there are."""
    if request.get(first) is not None and request.get(second) is not None:
        raise InvalidParameter(
            f"{first}= and {second}= both say how many nodes there are: give one"
        )


def too_deep(node: int) -> InvalidParameter:
    """The error of a tree with this node below too many.

    >>> too_deep(300)
    InvalidParameter('a tree may have 256 levels; node 300 lies deeper')
    """
    return InvalidParameter(f"a tree may have {MOST_LEVELS} levels; node {node} lies deeper")


def whole_parent(parent: Any, node: int) -> int:
    """A node's parent, which must be a number.

    >>> whole_parent(3, 7)
    3
    """
    if isinstance(parent, bool) or not isinstance(parent, int | np.integer):
        raise InvalidParameter(
            f"the parent of node {node} must be a node number; got {repr(parent)[:40]}"
        )
    return int(parent)


def _children(parents: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    below: list[list[int]] = [[] for _ in parents]
    for node, parent in enumerate(parents):
        if parent >= 0:
            below[parent].append(node)
    return tuple(map(tuple, below))


def _check(parents: tuple[int, ...], names: tuple[str, ...]) -> None:
    """An error that names the bad node unless this is a tree with the root in front."""
    if not parents or parents[0] != -1:
        got = "no nodes" if not parents else f"parent {parents[0]}"
        raise InvalidParameter(f"node 0 must be the root, with parent -1 or None; got {got}")
    for node, parent in enumerate(parents[1:], start=1):
        if parent == -1:
            raise InvalidParameter(f"a tree has one root, node 0; node {node} has no parent")
        if not 0 <= parent < len(parents) or parent == node:
            raise InvalidParameter(
                f"the parent of node {node} must be another node from 0 to {len(parents) - 1}; "
                f"got {parent}"
            )
    reached, below, level = {0}, _children(parents), [0]
    for _ in range(MOST_LEVELS):
        level = [child for node in level for child in below[node]]
        reached.update(level)
    if level:
        raise too_deep(level[0])
    if len(reached) < len(parents):
        lost = min(set(range(len(parents))) - reached)
        raise InvalidParameter(
            f"every node must lie below node 0; the parents of node {lost} go round in a circle"
        )
    if len(names) != len(parents):
        raise InvalidParameter(
            f"a tree needs a name for each of its {len(parents)} nodes; got {len(names)}"
        )
    seen: dict[str, int] = {}
    for node, name in enumerate(names):
        if seen.setdefault(name, node) != node:
            raise InvalidParameter(
                f"names of nodes must differ; nodes {seen[name]} and {node} are both {name!r}"
            )


def _places(parents: tuple[int, ...]) -> tuple[str, ...]:
    """Names by place: the numbers of the children on the way, from 1."""
    below, names = _children(parents), [ROOT] * len(parents)
    reached = [0]
    for node in reached:
        for place, child in enumerate(below[node], start=1):
            names[child] = str(place) if node == 0 else f"{names[node]}.{place}"
            reached.append(child)
    return tuple(names)


def _entries(nested: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Names with what lies below them."""
    if nested is None:
        return
    if isinstance(nested, Mapping):
        for name, below in nested.items():
            yield str(name), below
    elif isinstance(nested, Sequence) and not isinstance(nested, str):
        for entry in nested:
            if not isinstance(entry, str):
                place = " / ".join(path) or "the top"
                raise InvalidParameter(
                    "a tree of names has mappings for nodes with children and lists of names for "
                    f"leaves; found {entry!r} in a list at {place}"
                )
            yield entry, None
    else:
        place = " / ".join(path) or "the top"
        raise InvalidParameter(
            f"a tree of names is made of mappings and lists of names; found {nested!r} at {place}"
        )
