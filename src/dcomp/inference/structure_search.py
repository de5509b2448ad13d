"""Finding a structure in the middle of a fit: hill climbing from flat components (B09 5.4).

A chain begins with K leaves and no other nodes. After some sweeps `climb` proposes nodes above them
from the words of each leaf, every token of a leaf gets a node of its path by the responsibilities
of that climb, and the sampler goes on with the structure that was found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dcomp.errors import FlatTreeWarning, InvalidParameter, UnsupportedCombination, warn
from dcomp.executors import Executor
from dcomp.inference.climb import SCORES, Climbed, Move, climb
from dcomp.inference.growth import check_growth
from dcomp.inference.pairs import PairCounts
from dcomp.inference.start import token_uniform
from dcomp.inference.state import Global, State
from dcomp.models import Observations, Structure
from dcomp.models.arrays import FloatArray, read_only
from dcomp.models.options import Wishes

_NODE = 5  # use of a document's random numbers


@dataclass(frozen=True)
class StructureSearch:
    """After `at` sweeps nodes are put above the leaves, as long as a move gains in `score`.

    max_nodes: H at most; None for no limit (2K − 1). psi: prior of the new structure.

    >>> StructureSearch(at=50).most(10)
    19
    """

    at: int
    score: str = "variational"
    max_nodes: int | None = None
    psi: float | tuple[float, float] = 1.0

    option: ClassVar[str] = "search_at"  # what users call `at`

    def __post_init__(self) -> None:
        if self.at < 1:
            raise InvalidParameter(
                f"a structure is searched for after 1 sweep or more; got {self.at}"
            )
        if self.score not in SCORES:
            raise InvalidParameter(f"score must be one of {', '.join(SCORES)}; got {self.score!r}")

    @classmethod
    def restored(cls, entry: Mapping[str, Any]) -> StructureSearch:
        """From a file."""
        psi = entry["psi"]
        return cls(**{**entry, "psi": tuple(psi) if isinstance(psi, list) else psi})

    def most(self, n_leaves: int) -> int:
        """Nodes that there may be in the end."""
        most = 2 * n_leaves - 1
        return most if self.max_nodes is None else min(self.max_nodes, most)


def wished_search(wishes: Wishes, burn_in: int) -> StructureSearch | None:
    """The search that a model wishes for: half way through the burn-in unless it says when.

    >>> wished_search(Wishes(search={"psi": 1.0}), burn_in=20).at
    10
    """
    if wishes.search is None:
        return None
    search = StructureSearch(**{"at": max(burn_in // 2, 1), **wishes.search})
    check_growth(search, burn_in)
    return search


def search_tokens(
    search: StructureSearch,
    observed: Observations,
    state: State,
    walk: Any,
    task: Any,
    executor: Executor,
) -> State:
    """The state with the structure that `climb` finds for its words n (J, K), which are at hand.
    `task` gives each part its new z by a `Found`, with its tokens walked as `walk` says."""
    if not state.model.scores.capabilities.searches:
        raise UnsupportedCombination(
            f"only model ST has a structure; model {state.model.key} has none"
        )
    model: Any = state.model
    features = observed.counts.features
    gamma = model.loadings.per_feature(features.n_features)
    found = climb(state.n, gamma, features.blocks, score=search.score, max_nodes=search.max_nodes)
    if not found.moves:
        warn(
            f"no node above the leaves pays by the {search.score} score: the components stay flat. "
            "A smaller gamma or more leaves may find a structure; tree= gives one",
            FlatTreeWarning,
            stacklevel=2,
        )
    structure = Structure.from_parents(found.parents)
    how = Found(walk, state.shared, found, structure)
    after, _ = executor.map_reduce(task, observed.parts, state.locals, how)
    model = model.with_structure(structure, search.psi)
    unread = read_only(np.empty((0, model.n_components), dtype=np.int32))
    carried = PairCounts(None, None, read_only(as_rows(found.moves)))
    shared = replace(state.shared, model=model, n=unread, carried=carried)
    return replace(state, shared=shared, locals=after)


@dataclass(frozen=True)
class Found:
    """How the tokens of a part get nodes of the structure that was found."""

    walk: Any
    before: Global
    climbed: Climbed
    structure: Structure

    def moved(
        self, part: Observations, leaf: npt.NDArray[np.uint16], entry: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.uint16]:
        """A pair for each token: its leaf, and a node of the leaf's path by r_cjh; `entry` is the
        entry of the counts of each token, in the order of z."""
        found, structure, feature = self.climbed, self.structure, part.counts.indices[entry]
        u = token_uniform(part, entry, self.before.seed, _NODE)
        z = np.empty(len(leaf), dtype=np.uint16)
        for c in range(structure.n_leaves):
            tokens = np.flatnonzero(leaf == c)
            path = np.array(found.path(c))
            order = np.argsort(path)  # pairs of a leaf are in order of node
            up_to = np.cumsum(found.responsibilities(c)[order], axis=0)[:, feature[tokens]]
            place = (u[tokens] * up_to[-1] >= up_to[:-1]).sum(axis=0)
            z[tokens] = structure.start[c] + place
        return read_only(z)


def as_rows(moves: tuple[Move, ...]) -> FloatArray:
    """Moves as numbers, (M, 6): first child, second child or −1, node, gain, score, φ."""
    rows = [
        (
            m.children[0],
            m.children[1] if len(m.children) > 1 else -1,
            m.node,
            m.gain,
            m.score,
            m.phi,
        )
        for m in moves
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, 6)


def as_moves(rows: FloatArray) -> tuple[Move, ...]:
    """The way back from `as_rows`.

    >>> move = Move("join", (0, 1), 4, gain=12.5, score=-100.0, phi=0.25)
    >>> as_moves(as_rows((move,))) == (move,)
    True
    """
    return tuple(
        Move(
            "attach" if second < 0 else "join",
            (int(first),) if second < 0 else (int(first), int(second)),
            int(node),
            gain=float(gain),
            score=float(score),
            phi=float(phi),
        )
        for first, second, node, gain, score, phi in rows
    )
