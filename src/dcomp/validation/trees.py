"""Trees of components as users type them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dcomp.data import Counts
from dcomp.errors import InvalidParameter
from dcomp.inference import Growth
from dcomp.models import Tree, TreeMultinomial
from dcomp.validation.numbers import whole_number
from dcomp.validation.priors import resolve_gamma, with_learned_gamma

BRANCHING, DEPTH, GROW_AT = 7, 3, 50  # BJ04 §4 and §5


def resolve_tree(tree: Any, branching: int | None = None, depth: int | None = None) -> Tree:
    """A tree from branching and depth, or from a Tree, a list of parents, or nested names.

    >>> resolve_tree([-1, 0, 0]).n_nodes, resolve_tree(None, 2).n_nodes
    (3, 7)
    """
    if tree is None:
        branching = BRANCHING if branching is None else whole_number("branching", branching, 1)
        return Tree.regular(branching, DEPTH if depth is None else whole_number("depth", depth, 1))
    if depth is not None:
        raise InvalidParameter("a tree has its own depth: give tree= or depth=, not both")
    if isinstance(tree, Tree):
        return tree
    if isinstance(tree, str):
        raise InvalidParameter(
            f"tree must be a Tree, a list of parents or nested names; got {tree!r}"
        )
    if isinstance(tree, Mapping):
        return Tree.from_names(tree)
    entries = list(tree)
    return Tree.from_names(entries) if isinstance(entries[0], str) else Tree.from_parents(entries)


def resolve_tree_model(
    tree: Tree,
    counts: Counts,
    *,
    a1: Any = None,
    a2: Any = None,
    b: Any = None,
    gamma: Any = 0.05,
) -> TreeMultinomial:
    """A model of a tree; None for the paper's a1, a2 and b."""
    built = TreeMultinomial.build(tree, a1=a1, a2=a2, b=b, gamma=resolve_gamma(gamma, counts))
    learned = with_learned_gamma(built, gamma)
    assert isinstance(learned, TreeMultinomial)
    return learned


def resolve_growth(
    model: TreeMultinomial,
    grow_to: int | None,
    grow_at: int | None,
    branching: int | None,
    *,
    a1: Any = None,
    a2: Any = None,
    b: Any = None,
) -> Growth | None:
    """When and how far a tree grows, or None. Its new nodes have the a1, a2 and b that were given
    as numbers, or the paper's."""
    if grow_to is None:
        if grow_at is not None:
            raise InvalidParameter(f"grow_at = {grow_at} has no effect without grow_to")
        return None
    to = whole_number("grow_to", grow_to, 2)
    if to < model.n_components + 2:
        raise InvalidParameter(
            f"grow_to must exceed the {model.n_components} nodes of the tree by two or more; "
            f"got {to}"
        )
    numbers = {"a1": a1, "a2": a2, "b": b}
    given = {name: float(x) for name, x in numbers.items() if x is not None and np.ndim(x) == 0}
    n_new = BRANCHING if branching is None else whole_number("branching", branching, 2)
    at = GROW_AT if grow_at is None else whole_number("grow_at", grow_at, 1)
    return Growth(at, to, n_new, **given)
