"""Rao-Blackwellised (collapsed) Gibbs sampling for DM, GP, CGP, TM and ST: BJ06 figure 7, table IV,
B09 5.1–5.3.

Scores and loadings are integrated out; each token is drawn given all others. Small corpora, and
`exact=True`, run the exact sequential sampler. Larger ones are cut into a fixed grid of documents ×
features whose diagonals run in parallel: only the components' totals are briefly stale, the cut
does not depend on the machine, and the fit is labelled approximate. So it is whenever a corpus is
in several parts: each is swept with the counts that the others had a sweep ago.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from dcomp import _core
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.executors import Executor, LocalExecutor
from dcomp.inference import gibbs
from dcomp.inference.base import Info, Sampler, Schedule
from dcomp.inference.draws import draw_loadings, hyper_parameters
from dcomp.inference.gibbs import check_schedule
from dcomp.inference.growth import (
    Growth,
    check_growth,
    grow_tokens,
    is_due,
    wished_growth,
)
from dcomp.inference.keep import Keep
from dcomp.inference.options import OF_SAMPLERS
from dcomp.inference.room import require_room
from dcomp.inference.sampler_start import (
    HEAT,
    MeanFieldStart,
    begins_by_mean_field,
    begun_apart,
    check_start,
    heated,
    is_known,
)
from dcomp.inference.sampling import add_loadings, empty_loadings
from dcomp.inference.state import (
    Carried,
    Draw,
    Global,
    Local,
    State,
)
from dcomp.inference.structure_search import StructureSearch, search_tokens, wished_search
from dcomp.inference.token_samplers import Grid, Tokens, token_family
from dcomp.inference.token_tasks import (
    Begin,
    Reading,
    Sweep,
    Walk,
    begin_tokens,
    draw_documents,
    in_entry_order,
    move_tokens,
    pool,
    pooled_of,
    read_documents,
    record_documents,
    sweep_tokens,
    with_pooled,
)
from dcomp.inference.word_trace import WordsInfo, check_trace, drawn_given, traced
from dcomp.models import Model, Observations
from dcomp.models.arrays import read_only
from dcomp.models.options import Occasion, Option

SMALL = 100_000  # tokens
# Parts of documents and of features by number of tokens: more of them let more threads help, and
# cut a feature's tokens into shorter runs.
PARTS = ((10_000_000, 8), (100_000_000, 16))
MOST_PARTS = 32
# Sweeps from one to the next that begins by drawing whole documents, where scores can be exactly 0:
# single tokens do not empty a component that has thousands of them.
ANEW_EVERY = 5
# By measurement: components from which a sweep follows the documents' own components, by how the
# chances of a token's component follow from c.
MANY = {"linear": 512, "tree": 512}


@dataclass(frozen=True)
class CollapsedGibbs(Sampler):
    """One token at a time given all the rest; posterior means over the recorded sweeps.

    burn_in: sweeps before recording. learn_every: sweeps from one update of learned priors to the
    next; None for 5, or for 1 from the middle of the burn-in on where scores can be exactly 0.
    exact: True for the sequential sampler at any size, None for small corpora only.
    sparse: whether a token looks at all components or follows lists of those that its document and
    its feature use; None chooses by their number. Both draw from the same distribution.
    start: "random"; "mean-field" for a chain that begins near a mode, "seeded" for one near a mode
    of its own seed; "auto": where documents are long and the table is dense the former, in chains
    after the first the latter; else random. anneal: first sweeps with priors that begin stronger,
    for a chain that settles slowly and better.
    keep: which recorded sweeps leave draws of scores, loadings or assignments behind.
    grow: when and how far a tree of components grows, or when a structure is searched for.
    trace_words: None, or which log p(w | V, Θ) a row of the history has: Θ at its "mean" given n,
    "drawn" given n, or "both"; of flat components and trees.

    >>> CollapsedGibbs(burn_in=50).name
    'collapsed-gibbs'
    """

    burn_in: int = 100
    learn_every: int | None = None
    exact: bool | None = None
    sparse: bool | None = None
    start: str = "auto"
    anneal: int = 0
    keep: Keep = field(default_factory=Keep)
    grow: Growth | StructureSearch | None = None
    trace_words: str | None = None

    name: ClassVar[str] = "collapsed-gibbs"
    objective_name: ClassVar[str] = "log joint"
    options: ClassVar[tuple[Option, ...]] = OF_SAMPLERS
    assigns_tokens: ClassVar[bool] = True
    heat: ClassVar[float] = HEAT

    def __post_init__(self) -> None:
        check_schedule(self.burn_in, self.learn_every)
        check_start(self.start, self.anneal, self.burn_in)
        check_growth(self.grow, self.burn_in)
        check_trace(self.trace_words)

    @classmethod
    def restored(cls, options: Mapping[str, Any]) -> CollapsedGibbs:
        """From a file."""
        grow = options.get("grow")
        adds: Growth | StructureSearch | None = None
        if grow is not None:
            adds = StructureSearch.restored(grow) if "max_nodes" in grow else Growth(**grow)
        return cls(**{**options, "keep": Keep.restored(options.get("keep")), "grow": adds})

    def adding(
        self, occasion: Occasion, burn_in: int | None = None, n_draws: int = 0
    ) -> Growth | StructureSearch | None:
        """A tree may grow, a structure be found."""
        if occasion.wishes.search is None:
            return wished_growth(occasion.wishes)
        if n_draws and occasion.n_chains > 1:
            raise InvalidParameter(
                "draws of several chains need one structure, and a search finds one for each "
                "chain: give tree=, mask= or n_chains=1, or leave out n_draws"
            )
        return wished_search(occasion.wishes, self.burn_in if burn_in is None else burn_in)

    @property
    def schedule(self) -> Schedule:
        """Recording after the burn-in; a tree may grow, a structure be found."""
        return Schedule(self.burn_in, self.keep, self.grow)

    def info_type(self, model: Model) -> type[Info]:
        """As the tokens' sampler has it, with what is traced of the words."""
        return token_family(model).info_type if self.trace_words is None else WordsInfo

    def carried_type(self, model: Model) -> type[Carried] | None:
        """As the tokens' sampler has it."""
        return token_family(model).carried_type

    def is_exact(self, n_tokens: int, n_parts: int = 1) -> bool:
        """Whether a corpus of this size is swept token by token in one sequence."""
        return n_parts == 1 and self._in_sequence(n_tokens)

    def _in_sequence(self, n_tokens: int) -> bool:
        return self.exact if self.exact is not None else n_tokens < SMALL

    def is_sparse(self, model: Model, observed: Observations) -> bool:
        """Whether sweeps follow lists of components. Exposures that differ give every document
        score weights of its own, which leaves nothing for lists to share."""
        if model.loadings.is_own or observed.allowed is not None:
            if self.sparse:
                raise UnsupportedCombination(
                    "sparse=True needs one prior of loadings for all components, and documents "
                    "that may use all of them: leave sparse at None"
                )
            return False
        shares = not model.has_exposure or observed.has_one_exposure
        if self.sparse and not shares:
            raise UnsupportedCombination(
                "sparse=True needs the same exposure for all documents; they differ here: "
                "leave sparse at None"
            )
        many = MANY.get(str(model.scores.capabilities.tokens))
        if many is None:
            if self.sparse:
                raise UnsupportedCombination(
                    "sparse=True is for flat models and trees; a structure looks at all pairs of "
                    "leaf and node: leave sparse at None"
                )
            return False
        return shares and (model.n_components >= many if self.sparse is None else self.sparse)

    def _walk(self, model: Model, observed: Observations) -> Walk:
        totals = observed.feature_totals if len(observed.parts) > 1 else None
        return Walk(self, self.is_sparse(model, observed), totals)

    def sampler(self, model: Model, part: Observations, walk: Walk | None = None) -> Tokens:
        """The sampler of single tokens: their order, with room for the counts."""
        walk = walk or self._walk(model, part)
        n_tokens = part.counts.n_tokens
        parts = 1 if self._in_sequence(n_tokens) else parts_of(n_tokens)
        return token_family(model)(model, part, Grid(parts, walk.sparse, walk.feature_totals))

    def apart(self, model: Model, observed: Observations) -> Self:
        """Near a mode of its own seed, where the first chain is near that of the spectrum."""
        return begun_apart(self, model, observed)

    def init(
        self, model: Model, observed: Observations, seed: int, executor: Executor | None = None
    ) -> State:
        """Every token given to a component, at random or by a mean-field fit."""
        require_room(observed, self.name, pairs=model.scores.capabilities.tokens == "pairs")
        executor, parts = executor or LocalExecutor(1), observed.parts
        if self.trace_words is not None and token_family(model).info_type is not Info:
            raise UnsupportedCombination(
                "trace_words= is for flat components and trees; words of model "
                f"{model.key} take a leaf and a node: leave it out"
            )
        if self.exact and len(parts) > 1:
            raise UnsupportedCombination(
                f"exact=True needs a corpus in one part, and these counts are in {len(parts)}: "
                "each part is swept with the counts that the others had a sweep ago"
            )
        begin = None
        if begins_by_mean_field(self.start, self.anneal, model, observed):
            flat = token_family(model).flat_model(model)
            begin = MeanFieldStart.fitted(self.start, flat, observed, seed, executor)
        elif is_known(model, observed):
            begin = MeanFieldStart.known(model, observed)
        return self._begun(model, begin, observed, seed, executor)

    def init_at(
        self, begin: MeanFieldStart, observed: Observations, seed: int, executor: Executor
    ) -> State:
        """Tokens given to components as a fit of this model expects them."""
        require_room(observed, self.name)
        return self._begun(begin.model, begin, observed, seed, executor)

    def _begun(
        self,
        model: Model,
        begin: MeanFieldStart | None,
        observed: Observations,
        seed: int,
        executor: Executor,
    ) -> State:
        walk = self._walk(model, observed)
        locals_: Sequence[Local | None] = [None] * len(observed.parts)
        if begin is not None:
            model, locals_ = token_family(model).with_start(model, begin.model), begin.locals
        how = Begin(walk, model, None if begin is None else begin.weights, seed)
        after, _ = executor.map_reduce(begin_tokens, observed.parts, locals_, how)
        unread = read_only(np.empty((0, model.n_components), dtype=np.int32))
        state = State(Global(model, unread, 0, seed), after, observed.counts.firsts)
        return state if walk.alone else pool(observed, state, walk, executor)

    def step(self, observed: Observations, state: State, executor: Executor) -> tuple[State, Info]:
        """One sweep over all tokens. The native counts are a cache of z: rebuilt if they are not
        those of this state, as after an interrupt or a load."""
        walk, parts = self._walk(state.model, observed), observed.parts
        if self.grow is not None and is_due(self.grow, state):
            state = self._grown(self.grow, observed, state, walk, executor)
            walk = self._walk(state.model, observed)
        model, sweep = state.model, state.sweep + 1
        learns = bool(model.scores.learned or model.loadings.learned)
        learns = learns and sweep > self.anneal and self.learns_in(sweep, model)
        anew = sweep % ANEW_EVERY == 0 and self._switches(model, observed)
        how = Sweep(walk, state.shared, heated(model, sweep, self.anneal, self.heat), learns, anew)
        after, stats = executor.map_reduce(sweep_tokens, parts, state.locals, how)
        shared = replace(state.shared, sweep=sweep)
        joint, family = stats.joint, token_family(model)
        if not walk.alone:
            shared = with_pooled(shared, pooled_of(shared) + stats.moved)
            joint += self._of_corpus(observed, shared, executor)
        new = replace(state, shared=shared, locals=after)
        if sweep > self.burn_in:
            new = self._recorded(observed, new, walk, executor)
        if self.keep.wants(sweep - self.burn_in):
            new = self._drawn(observed, new, walk, executor)
        capped = tuple[str, ...]()
        if learns:
            n = stats.moved.n if walk.alone and model.loadings.learned else shared.n
            learned, capped = family.learn(model, stats.seen, n, observed.counts.features)
            new = replace(new, shared=replace(new.shared, model=learned))
        words = self._words(observed, new, model, walk, executor)
        row = self.info_type(model)
        return new, row(sweep, joint + stats.constant, stats.words, 1.0, capped=capped, **words)

    def _switches(self, model: Model, observed: Observations) -> bool:
        """Whether documents are so long that their components have to be switched."""
        if not (token_family(model).switches and model.scores.slots.zeros):
            return False
        return bool(observed.counts.doc_totals.max(initial=0) >= gibbs.SWITCH_FROM)

    def _words(
        self, observed: Observations, state: State, model: Model, walk: Walk, executor: Executor
    ) -> dict[str, float]:
        """log p(w | V, Θ) where it is traced; `model` is that of the sweep."""
        if self.trace_words is None:
            return {}
        n = pool(observed, state, walk, executor).n if walk.alone else state.n
        features, where = observed.counts.features, (state.seed, state.sweep, executor.n_threads)
        return traced(
            self.trace_words, n, model, features, lambda: drawn_given(n, model, features, *where)
        )

    def _of_corpus(self, observed: Observations, shared: Global, executor: Executor) -> float:
        """What the counts of the whole corpus add to the log joint."""
        model, features = shared.model, observed.counts.features
        gamma = model.loadings.columns(features.n_features, model.n_components)
        blocks = (features.blocks, features.n_blocks)
        value = _core.log_loading_moments(shared.n, gamma, *blocks, executor.n_threads)
        return value + token_family(model).log_row_moments(model, pooled_of(shared))

    def _recorded(
        self, observed: Observations, state: State, walk: Walk, executor: Executor
    ) -> State:
        """With this sweep added to the sums."""
        shared, features = state.shared, observed.counts.features
        model = shared.model
        recorded = shared.recorded or empty_loadings(model, features.n_features)
        how = Reading(walk, shared, recorded if walk.alone else None)
        after, found = executor.map_reduce(record_documents, observed.parts, state.locals, how)
        if walk.alone:
            recorded = found
        else:
            gamma = model.loadings.columns(features.n_features, model.n_components)
            recorded = add_loadings(recorded, shared.n, gamma, features)
            rows = pooled_of(shared).rows if found is None else found
            recorded = token_family(model).record_pooled(recorded, model, rows)
        return replace(state, shared=replace(shared, recorded=recorded), locals=after)

    def _drawn(self, observed: Observations, state: State, walk: Walk, executor: Executor) -> State:
        """With draws of scores and Θ given the sweep's counts and priors; the chain knows nothing
        of them."""
        shared, kinds = state.shared, self.keep.kinds
        how = Reading(walk, shared, kinds=kinds)
        after, _ = executor.map_reduce(draw_documents, observed.parts, state.locals, how)
        Theta = None
        if "loadings" in kinds:
            n = pool(observed, state, walk, executor).n if walk.alone else state.n
            where = (shared.model, observed.counts.features, n)
            Theta = draw_loadings(*where, shared.seed, shared.sweep, executor.n_threads)
        draw = Draw(shared.sweep, hyper_parameters(shared.model), Theta=Theta)
        return replace(state, shared=replace(shared, draws=(*shared.draws, draw)), locals=after)

    def _grown(
        self,
        grow: Growth | StructureSearch,
        observed: Observations,
        state: State,
        walk: Walk,
        executor: Executor,
    ) -> State:
        """The state with new nodes."""
        state = pool(observed, state, walk, executor)
        if isinstance(grow, StructureSearch):
            new = search_tokens(grow, observed, state, walk, move_tokens, executor)
        else:
            new = grow_tokens(grow, observed, state, walk, move_tokens, executor)
        if walk.alone:
            return new
        return pool(observed, new, self._walk(new.model, observed), executor)

    def in_entry_order(
        self, model: Model, observed: Observations, z: npt.NDArray[np.uint16]
    ) -> npt.NDArray[np.uint16]:
        """z by document and, within one, by entry of the counts, each repeated by its count."""
        walk, first, pieces = self._walk(model, observed), 0, []
        for part in observed.parts:
            last = first + part.counts.n_tokens
            pieces.append(in_entry_order(self.sampler(model, part, walk), z[first:last]))
            first = last
        return pieces[0] if len(pieces) == 1 else read_only(np.concatenate(pieces))

    def finish(self, observed: Observations, state: State, executor: Executor) -> State:
        """c and n of the last assignment, and what else is read from it."""
        walk = self._walk(state.model, observed)
        state = pool(observed, state, walk, executor)
        how = Reading(walk, state.shared)
        after, _ = executor.map_reduce(read_documents, observed.parts, state.locals, how)
        return replace(state, locals=after).gathered(executor)


def parts_of(n_tokens: int) -> int:
    """Into how many parts documents and features are cut, on every machine.

    >>> parts_of(4_000_000), parts_of(20_000_000), parts_of(10**9)
    (8, 16, 32)
    """
    return next((parts for limit, parts in PARTS if n_tokens < limit), MOST_PARTS)
