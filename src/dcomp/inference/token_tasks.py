"""What the collapsed sampler does with each part of a corpus: the tasks of its sweeps, and what the
parts are told.

Among several parts the counts of features are lent to each for a sweep, and it tells what it moved;
a part that is alone keeps them to itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dcomp.executors import Executor
from dcomp.inference.draws import draw_scores
from dcomp.inference.growth import TokenMoves
from dcomp.inference.mean_field import Weights
from dcomp.inference.pairs import PairCounts
from dcomp.inference.sampling import empty_documents
from dcomp.inference.state import DrawnDocuments, Global, Local, RecordedLoadings, State
from dcomp.inference.structure_search import Found
from dcomp.inference.token_samplers import Pooled, Tokens, token_family
from dcomp.models import Model, Observations
from dcomp.models.arrays import large_array, read_only

if TYPE_CHECKING:
    from dcomp.inference.collapsed_gibbs import CollapsedGibbs


@dataclass(frozen=True)
class Walk:
    """How the tokens of every part are walked."""

    algorithm: CollapsedGibbs  # which makes samplers of tokens
    sparse: bool
    feature_totals: npt.NDArray[np.int64] | None  # of the corpus, where there are several parts

    @property
    def alone(self) -> bool:
        """Whether one part is the whole corpus. It keeps the counts of features to itself while it
        runs, because at many components they are large."""
        return self.feature_totals is None

    def counts_of(self, part: Observations, local: Local, shared: Global) -> Counted:
        """The native counts of the part's assignment: those that are at hand if they are its."""
        counts = local.handle
        if not isinstance(counts, Counted) or counts.sweep != shared.sweep:
            counts = Counted(self.algorithm.sampler(shared.model, part, self), shared.sweep)
            assert local.z is not None
            counts.tokens.count(local.z)
        return counts


@dataclass
class Counted:
    """Native counts, a worker's own, and the sweep whose assignment they are the counts of."""

    tokens: Tokens
    sweep: int


def pool(observed: Observations, state: State, walk: Walk, executor: Executor) -> State:
    """With the counts of the corpus as the parts' own add up."""
    how = Reading(walk, state.shared)
    after, pooled = executor.map_reduce(own_counts, observed.parts, state.locals, how)
    return replace(state, shared=with_pooled(state.shared, pooled), locals=after)


def pooled_of(shared: Global) -> Pooled:
    """The counts of the corpus that sweeps share."""
    carried = shared.carried
    return Pooled(shared.n, carried.structure_counts if isinstance(carried, PairCounts) else None)


def with_pooled(shared: Global, pooled: Pooled) -> Global:
    """With other counts of the corpus."""
    shared = replace(shared, n=read_only(pooled.n))
    if token_family(shared.model).carried_type is None:
        return shared
    moves = shared.carried.moves if isinstance(shared.carried, PairCounts) else None
    return replace(shared, carried=PairCounts(None, pooled.rows, moves))


@dataclass(frozen=True)
class Begin:
    """What every part is told at the start."""

    walk: Walk
    model: Model
    weights: Weights | None  # of a mean-field fit
    seed: int


def begin_tokens(
    part: Observations, local: Local | None, how: Begin, n_threads: int
) -> tuple[Local, None]:
    """A component for every token of a part."""
    tokens = how.walk.algorithm.sampler(how.model, part, how.walk)
    z = np.empty(tokens.n_tokens, dtype=np.uint16)
    if how.weights is None or local is None:
        tokens.start(how.seed, z)
    else:
        tokens.start_from(how.model, local.c, how.weights, how.seed, z, n_threads)
    tokens.count(z)
    if not how.walk.alone:
        tokens.unload()
    # While it runs, z says it all; `finish` reads c, which at many components is large.
    unread = read_only(np.empty((0, how.model.n_components), dtype=np.int32))
    return Local(unread, read_only(z), handle=Counted(tokens, 0)), None


@dataclass(frozen=True)
class Sweep:
    """What every part is told of a sweep."""

    walk: Walk
    before: Global
    warm: Model  # that it draws with
    learns: bool
    anew: bool  # whether all tokens of long documents are first drawn at once


@dataclass(frozen=True)
class TokenStats:
    """What a sweep of a part's tokens adds up to."""

    words: float  # Σ log p(word | all the rest)
    joint: float  # log p(z, words) but for constants: all of it alone, else the documents' part
    constant: float
    moved: Any  # the change of the corpus's counts; of a part that is alone they themselves where
    # γ is learned from them, and else None
    seen: Any  # what the score prior learns from

    def __add__(self, other: TokenStats) -> TokenStats:
        return TokenStats(
            self.words + other.words,
            self.joint + other.joint,
            self.constant + other.constant,
            self.moved + other.moved,
            None if self.seen is None else self.seen + other.seen,
        )


def sweep_tokens(
    part: Observations, local: Local, how: Sweep, n_threads: int
) -> tuple[Local, TokenStats]:
    """All tokens of a part once."""
    before, model = how.before, how.before.model
    counts = how.walk.counts_of(part, local, before)
    tokens, sweep, lent = counts.tokens, before.sweep + 1, pooled_of(before)
    if not how.walk.alone:
        tokens.load(lent)
    assert local.z is not None
    z = local.z.copy()
    counts.sweep = -1  # until the sweep is whole
    if how.anew:
        _draw_anew(tokens, z, lent, how, n_threads)
    words = tokens.sweep(how.warm, z, before.seed, sweep, n_threads)
    counts.sweep = sweep
    constant = float(model.log_constant(part, combinatoric=False).sum())
    seen = tokens.seen(model) if how.learns else None
    if how.walk.alone:
        joint = tokens.log_moments(model, n_threads)
        wants_n = how.learns and model.loadings.learned
        moved = tokens.pooled(model) if wants_n else None
    else:
        joint = tokens.log_score_moments(model, n_threads)
        moved = tokens.moved(model, lent)
        tokens.unload()
    after = replace(local, z=read_only(z), handle=counts)
    return after, TokenStats(words, joint, constant, moved, seen)


def _draw_anew(
    tokens: Tokens, z: npt.NDArray[np.uint16], lent: Pooled, how: Sweep, n_threads: int
) -> None:
    """z drawn anew, and what the part was lent with its own change added."""
    model, before = how.before.model, how.before
    where = (before.seed, before.sweep + 1, n_threads)
    if how.walk.alone:
        tokens.draw_anew(how.warm, tokens.pooled(model), z, *where)
        return
    tokens.count(z)
    own = tokens.pooled(model)
    tokens.draw_anew(how.warm, lent, z, *where)
    tokens.load(lent + (tokens.pooled(model) - own))


@dataclass(frozen=True)
class Reading:
    """What every part is told when something is read from its assignment."""

    walk: Walk
    shared: Global
    recorded: RecordedLoadings | None = None  # where a part is alone
    kinds: tuple[str, ...] = ()  # of draws


def own_counts(
    part: Observations, local: Local, how: Reading, n_threads: int
) -> tuple[Local, Pooled]:
    """The part's own counts of features, from its assignment and not from what was lent."""
    counts = how.walk.counts_of(part, local, how.shared)
    if how.walk.alone:
        return replace(local, handle=counts), counts.tokens.pooled(how.shared.model)
    assert local.z is not None
    counts.tokens.count(local.z)
    pooled = counts.tokens.pooled(how.shared.model)
    counts.tokens.unload()  # while it waits for the others
    return replace(local, handle=counts), pooled


def record_documents(
    part: Observations, local: Local, how: Reading, n_threads: int
) -> tuple[Local, Any]:
    """The sums with this sweep's added."""
    model = how.shared.model
    counts = how.walk.counts_of(part, local, how.shared)
    recorded = local.recorded or empty_documents(model, part)
    pooled = None if how.recorded is not None else pooled_of(how.shared)
    recorded, found = counts.tokens.record(recorded, how.recorded, model, pooled, n_threads)
    return replace(local, recorded=recorded, handle=counts), found


def draw_documents(
    part: Observations, local: Local, how: Reading, n_threads: int
) -> tuple[Local, None]:
    """Scores given the sweep's counts, and the assignment itself."""
    shared = how.shared
    model, counts = shared.model, how.walk.counts_of(part, local, shared)
    scores = assignments = None
    if "scores" in how.kinds:
        c, _ = counts.tokens.documents(model)
        beside = counts.tokens.beside(model, None if how.walk.alone else pooled_of(shared))
        scores = draw_scores(model, part, c, beside, shared.seed, shared.sweep, n_threads)
    if "assignments" in how.kinds:
        assert local.z is not None
        by_entry = in_entry_order(counts.tokens, local.z)
        assignments = counts.tokens.components(model, by_entry)
    drawn = DrawnDocuments(scores, assignments)
    return replace(local, draws=(*local.draws, drawn), handle=counts), None


def read_documents(
    part: Observations, local: Local, how: Reading, n_threads: int
) -> tuple[Local, None]:
    """c of the assignment, and what documents have beside it; the native counts are let go."""
    counts = how.walk.counts_of(part, local, how.shared)
    c, beside = counts.tokens.documents(how.shared.model)
    return replace(local, c=c, carried=beside, handle=None), None


def move_tokens(
    part: Observations, local: Local, how: TokenMoves | Found, n_threads: int
) -> tuple[Local, None]:
    """A new assignment for new nodes."""
    counts = how.walk.counts_of(part, local, how.before)
    assert local.z is not None
    z = how.moved(part, local.z, counts.tokens.entries())
    return replace(local, z=z, handle=None), None


def in_entry_order(tokens: Tokens, z: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint16]:
    out = large_array(z.shape, np.uint16)
    tokens.in_entry_order(np.ascontiguousarray(z), out)
    return read_only(out)
