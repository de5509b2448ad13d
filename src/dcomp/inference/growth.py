"""Growing a tree of components in the middle of a fit: BJ04 §5.

BJ04 starts with a small tree and lets new leaves extend its most populous nodes after some sweeps.
It does not say where their words begin. Here each document gives its words of a grown node to one
of the new leaves, drawn at random, but for the share that the prior keeps at the node: words that
came together stay together, and the sweeps that follow sort the documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.executors import Executor
from dcomp.inference.start import generator, keyed_uniform, token_uniform
from dcomp.inference.state import Global, Local, State
from dcomp.models import Model, Observations
from dcomp.models.arrays import read_only
from dcomp.models.options import Wishes
from dcomp.models.tree import STOP

_WORDS, _CHILD, _STAY = 1, 2, 3  # uses of a document's random numbers


@dataclass(frozen=True)
class Growth:
    """After `at` sweeps the leaves with the most words get `branching` leaves each, the most
    populous first, while there are at most `to` components.

    a1, a2: of the nodes that become internal. b: of each new leaf; None for 1/B.

    >>> Growth(at=50, to=200).new_leaves([9.0, 30.0, 20.0, 10.0], [1, 2, 3])
    {1: 7, 2: 7, 3: 7}
    >>> Growth(at=50, to=13).new_leaves([9.0, 30.0, 20.0, 10.0], [1, 2, 3])
    {1: 7, 2: 2}
    """

    at: int
    to: int
    branching: int = 7
    a1: float = STOP[0]
    a2: float = STOP[1]
    b: float | None = None

    option: ClassVar[str] = "grow_at"  # what users call `at`

    def __post_init__(self) -> None:
        for name, least in (("at", 1), ("to", 2), ("branching", 2)):
            if getattr(self, name) < least:
                raise InvalidParameter(
                    f"a tree grows with {name} of at least {least}; got {getattr(self, name)}"
                )

    def most(self, n_components: int) -> int:
        """Components that there may be in the end."""
        return max(n_components, self.to)

    def new_leaves(self, words: Any, leaves: Any) -> dict[int, int]:
        """New leaves of each leaf, given the words of every node. No node gets a single one: an
        only child says nothing that its parent does not."""
        left = self.to - len(words)
        out: dict[int, int] = {}
        for node in sorted(leaves, key=lambda node: (-words[node], node)):
            n_new = min(self.branching, left)
            if n_new < 2:
                break
            out[int(node)] = n_new
            left -= n_new
        return dict(sorted(out.items()))


def wished_growth(wishes: Wishes) -> Growth | None:
    """The growth that a model wishes for.

    >>> wished_growth(Wishes({"at": 5, "to": 9})).to
    9
    """
    return None if wishes.growth is None else Growth(**wishes.growth)


def check_growth(growth: Any, burn_in: int | None = None) -> None:
    """An error where sweeps with another number of components would be averaged."""
    if growth is not None and burn_in is not None and growth.at > burn_in:
        raise InvalidParameter(
            f"all components must be there when recording begins: {growth.option} = {growth.at} "
            f"must be at most burn_in = {burn_in}"
        )


def grown_model(growth: Growth, model: Model, words: npt.NDArray[Any]) -> tuple[Model, Any]:
    """The model with its new nodes, and how many leaves each grown node has got."""
    nodes = model.scores.nodes
    if nodes is None or not model.scores.capabilities.grows:
        raise UnsupportedCombination(f"only a tree of components grows; model {model.key} has none")
    tree: Any = model
    new_leaves = growth.new_leaves(words, np.flatnonzero(nodes.is_leaf).tolist())
    return tree.grown(new_leaves, a1=growth.a1, a2=growth.a2, b=growth.b), new_leaves


def is_due(growth: Any, state: State) -> bool:
    """Whether the next sweep is the first with new nodes."""
    return growth is not None and state.sweep == growth.at


def grow_counts(growth: Growth, observed: Observations, state: State, executor: Executor) -> State:
    """A state of mean field or direct Gibbs with new columns in c and n. c decides: n of the new
    leaves of a node are alike, until the sweep's documents tell them apart."""
    n = state.n
    model, new_leaves = grown_model(growth, state.model, n.sum(axis=0, dtype=np.float64))
    keep = growth.a1 / (growth.a1 + growth.a2)
    rng, new_n = generator(state.seed, purpose=3), [n.copy()]
    for node, n_new in new_leaves.items():
        moved = _moved(n[:, node], 1 - keep, rng)
        new_n.append(_even(moved, n_new, rng))
        new_n[0][:, node] -= moved
    shared = replace(
        state.shared, model=model, n=read_only(np.concatenate(new_n, axis=1, dtype=n.dtype))
    )
    how = _Moves(new_leaves, keep, state.seed, model.n_components - sum(new_leaves.values()))
    after, _ = executor.map_reduce(_grow_documents, observed.parts, state.locals, how)
    return replace(state, shared=shared, locals=after)


@dataclass(frozen=True)
class _Moves:
    """What every part is told of a growth."""

    new_leaves: Mapping[int, int]  # of each grown node
    keep: float  # the share of words that stays
    seed: int
    first: int  # number of the first new leaf

    def children(self, part: Observations, node: int) -> npt.NDArray[np.int64]:
        """The new leaf, from 0, that each document gives its words of a node to."""
        documents = np.arange(part.first, part.first + part.counts.n_docs)
        u = keyed_uniform(self.seed, _CHILD, node, documents)
        return np.minimum((u * self.new_leaves[node]).astype(np.int64), self.new_leaves[node] - 1)


def _grow_documents(
    part: Observations, local: Local, how: _Moves, n_threads: int
) -> tuple[Local, None]:
    """Words of grown nodes go to a new leaf of each document's own."""
    new_c = [local.c.copy()]
    documents = np.arange(part.first, part.first + part.counts.n_docs)
    for node, n_new in how.new_leaves.items():
        moved = _moved_by_document(local.c[:, node], 1 - how.keep, how.seed, node, documents)
        child = how.children(part, node)
        new_c.append(np.where(child[:, None] == np.arange(n_new), moved[:, None], 0))
        new_c[0][:, node] -= moved
    return replace(local, c=read_only(np.concatenate(new_c, axis=1, dtype=local.c.dtype))), None


def grow_tokens(
    growth: Growth,
    observed: Observations,
    state: State,
    walk: Any,
    task: Any,
    executor: Executor,
) -> State:
    """The same for an assignment of tokens, whose counts n are at hand. `task` gives each part its
    new z by a `TokenMoves`, with its tokens walked as `walk` says."""
    K = state.model.n_components
    model, new_leaves = grown_model(growth, state.model, state.n.sum(axis=0, dtype=np.int64))
    keep = growth.a1 / (growth.a1 + growth.a2)
    how = TokenMoves(walk, state.shared, _Moves(new_leaves, keep, state.seed, K))
    after, _ = executor.map_reduce(task, observed.parts, state.locals, how)
    unread = read_only(np.empty((0, model.n_components), dtype=np.int32))
    return replace(state, shared=replace(state.shared, model=model, n=unread), locals=after)


@dataclass(frozen=True)
class TokenMoves:
    """How the tokens of a part move to new leaves."""

    walk: Any
    before: Global
    moves: _Moves

    def moved(
        self, part: Observations, z: npt.NDArray[np.uint16], entry: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.uint16]:
        """The new assignment; `entry` is the entry of the counts of each token, in z's order."""
        how = self.moves
        document = np.searchsorted(part.counts.indptr, entry, side="right") - 1
        stay = token_uniform(part, entry, how.seed, _STAY)
        out, first = z.copy(), how.first
        for node, n_new in how.new_leaves.items():
            child = first + how.children(part, node)
            tokens = np.flatnonzero((z == node) & (stay >= how.keep))
            out[tokens] = child[document[tokens]]
            first += n_new
        return read_only(out)


def _moved(values: npt.NDArray[Any], share: float, rng: np.random.Generator) -> npt.NDArray[Any]:
    """A share of each count; whole numbers are drawn."""
    if values.dtype.kind == "f":
        return np.asarray(values * values.dtype.type(share))
    return rng.binomial(values, share).astype(values.dtype)


def _moved_by_document(
    values: npt.NDArray[Any], share: float, seed: int, node: int, documents: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    """The same with random numbers of each document's own."""
    from scipy.stats import binom

    if values.dtype.kind == "f":
        return np.asarray(values * values.dtype.type(share))
    u = keyed_uniform(seed, _WORDS, node, documents)
    return np.asarray(binom.ppf(u, values, share)).clip(0, values).astype(values.dtype)


def _even(values: npt.NDArray[Any], n_parts: int, rng: np.random.Generator) -> npt.NDArray[Any]:
    """(J, n_parts): each count divided evenly; whole numbers are drawn."""
    if values.dtype.kind == "f":
        return np.repeat(values[:, None] / values.dtype.type(n_parts), n_parts, axis=1)
    return rng.multinomial(values, np.full(n_parts, 1 / n_parts)).astype(values.dtype)
