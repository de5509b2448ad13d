"""Rao-Blackwellised (collapsed) Gibbs sampling for DM, GP, CGP, TM and ST: BJ06 figure 7, table IV,
B09 5.1–5.3.

Scores and loadings are integrated out; each token is drawn given all others. Small corpora, and
`exact=True`, run the exact sequential sampler. Larger ones are cut into a fixed grid of documents ×
features whose diagonals run in parallel: only the components' totals are briefly stale, the cut
does not depend on the machine, and the fit is labelled approximate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.executors import Executor
from dcomp.inference.base import Carried, Draw, Info, Sampler, Schedule, State
from dcomp.inference.draws import draw_given_counts
from dcomp.inference.gibbs import check_schedule
from dcomp.inference.growth import Growth, check_growth, grow_tokens, is_due, wished_growth
from dcomp.inference.keep import Keep
from dcomp.inference.options import OF_SAMPLERS
from dcomp.inference.pairs import PairCounts
from dcomp.inference.sampler_start import check_start, heated
from dcomp.inference.sampling import empty_record
from dcomp.inference.structure_search import StructureSearch, search_tokens, wished_search
from dcomp.inference.token_samplers import Tokens, token_family
from dcomp.models import Model, Observations
from dcomp.models.arrays import large_array, read_only
from dcomp.models.options import Occasion, Option

SMALL = 100_000  # tokens
# Parts of documents and of features by number of tokens: more of them let more threads help, and
# cut a feature's tokens into shorter runs.
PARTS = ((10_000_000, 8), (100_000_000, 16))
MOST_PARTS = 32
MANY = 512  # by measurement: components from which a sweep follows the documents' own components


@dataclass(frozen=True)
class CollapsedGibbs(Sampler):
    """One token at a time given all the rest; posterior means over the recorded sweeps.

    burn_in: sweeps before recording. learn_every: sweeps between updates of learned priors.
    exact: True for the sequential sampler at any size, None for small corpora only.
    sparse: whether a token looks at all components or follows lists of those that its document and
    its feature use; None chooses by their number. Both draw from the same distribution.
    start: "random", or "mean-field" for a chain that begins near a mode. anneal: first sweeps with
    priors that begin stronger, for a chain that settles slowly and better.
    keep: which recorded sweeps leave draws of scores, loadings or assignments behind.
    grow: when and how far a tree of components grows, or when a structure is searched for.

    >>> CollapsedGibbs(burn_in=50).name
    'collapsed-gibbs'
    """

    burn_in: int = 100
    learn_every: int = 5
    exact: bool | None = None
    sparse: bool | None = None
    start: str = "random"
    anneal: int = 0
    keep: Keep = field(default_factory=Keep)
    grow: Growth | StructureSearch | None = None

    name: ClassVar[str] = "collapsed-gibbs"
    objective_name: ClassVar[str] = "log joint"
    options: ClassVar[tuple[Option, ...]] = OF_SAMPLERS
    assigns_tokens: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_schedule(self.burn_in, self.learn_every)
        check_start(self.start, self.anneal, self.burn_in)
        check_growth(self.grow, self.burn_in)

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
        """As the tokens' sampler has it."""
        return token_family(model).info_type

    def carried_type(self, model: Model) -> type[Carried] | None:
        """As the tokens' sampler has it."""
        return token_family(model).carried_type

    def is_exact(self, n_tokens: int) -> bool:
        """Whether a corpus of this size is swept token by token in one sequence."""
        return self.exact if self.exact is not None else n_tokens < SMALL

    def is_sparse(self, model: Model, observed: Observations) -> bool:
        """Whether sweeps follow lists of components. Exposures that differ give every document
        score weights of its own, which leaves nothing for lists to share; so does a tree."""
        exposure = observed.total_exposure
        shares = not model.has_exposure or bool(np.all(exposure == exposure[0]))
        if self.sparse and not shares:
            raise UnsupportedCombination(
                "sparse=True needs the same exposure for all documents; they differ here: "
                "leave sparse at None"
            )
        if model.scores.capabilities.tokens != "linear":
            if self.sparse:
                raise UnsupportedCombination(
                    "sparse=True is for flat models; a hierarchy looks at all its nodes: leave "
                    "sparse at None"
                )
            return False
        return shares and (model.n_components >= MANY if self.sparse is None else self.sparse)

    def sampler(self, model: Model, observed: Observations) -> Tokens:
        """The sampler of single tokens: their order, with room for the counts."""
        n_tokens = observed.counts.n_tokens
        parts = 1 if self.is_exact(n_tokens) else parts_of(n_tokens)
        return token_family(model)(model, observed, parts, self.is_sparse(model, observed))

    def init(
        self, model: Model, observed: Observations, seed: int, executor: Executor | None = None
    ) -> State:
        """Every token given to a component, at random or by a mean-field fit."""
        sampler = self.sampler(model, observed)
        z = np.empty(sampler.n_tokens, dtype=np.uint16)
        if self.start == "mean-field":
            model = sampler.start_from_mean_field(model, seed, executor, z)
        else:
            sampler.start(seed, z)
        sampler.count(z)
        # While it runs, z says it all; `finish` reads c and n, which at many components are large.
        unread = read_only(np.empty((0, model.n_components), dtype=np.int32))
        return State(
            model, unread, unread, sweep=0, seed=seed, z=read_only(z), cache=_Cache(sampler, 0)
        )

    def step(self, observed: Observations, state: State, executor: Executor) -> tuple[State, Info]:
        """One sweep over all tokens. The native counts are a cache of z: rebuilt if they are not
        those of this state, as after an interrupt or a load."""
        if self.grow is not None and is_due(self.grow, state):
            state = self._grown(self.grow, observed, state)
        model, threads = state.model, executor.n_threads
        cache = self._cache(observed, state)
        sampler, sweep = cache.sampler, state.sweep + 1
        assert state.z is not None
        z = state.z.copy()
        cache.sweep = -1  # until the sweep is whole
        words = sampler.sweep(heated(model, sweep, self.anneal), z, state.seed, sweep, threads)
        cache.sweep = sweep
        joint = sampler.log_moments(model, threads)
        joint += float(model.log_constant(observed, combinatoric=False).sum())
        recorded = state.recorded
        if sweep > self.burn_in:
            recorded = sampler.record(recorded or empty_record(model, observed), model, threads)
        draws = state.draws
        if self.keep.wants(sweep - self.burn_in):
            draws = (*draws, self._draw(observed, model, cache, z, state.seed, threads))
        capped = tuple[str, ...]()
        learns = model.scores.learned or model.loadings.learned
        if learns and sweep > self.anneal and sweep % self.learn_every == 0:
            model, capped = sampler.learn(model)
        info = sampler.info_type(sweep, joint, words, 1.0, capped=capped)
        new = replace(
            state,
            model=model,
            sweep=sweep,
            z=read_only(z),
            recorded=recorded,
            draws=draws,
            cache=cache,
        )
        return new, info

    def _cache(self, observed: Observations, state: State) -> _Cache:
        """The native counts of this state's assignment."""
        cache = state.cache
        if not isinstance(cache, _Cache) or cache.sweep != state.sweep:
            cache = _Cache(self.sampler(state.model, observed), state.sweep)
            assert state.z is not None
            cache.sampler.count(state.z)
        return cache

    def _grown(self, grow: Growth | StructureSearch, observed: Observations, state: State) -> State:
        """The state with new nodes."""
        entry = np.empty(observed.counts.n_tokens, dtype=np.int64)
        cache = self._cache(observed, state)
        cache.sampler.entries(entry)
        if isinstance(grow, StructureSearch):
            counts = cache.sampler.counts(state.model)
            return search_tokens(grow, state, counts.n, observed.counts, entry)
        document = np.searchsorted(observed.counts.indptr, entry, side="right") - 1
        return grow_tokens(grow, state, document)

    def _draw(
        self,
        observed: Observations,
        model: Model,
        cache: _Cache,
        z: npt.NDArray[np.uint16],
        seed: int,
        n_threads: int,
    ) -> Draw:
        """Scores and Θ given the sweep's counts and priors; the chain knows nothing of them."""
        counts = cache.sampler.counts(model)
        draw = draw_given_counts(
            model,
            observed.counts.features,
            None if observed.is_unit else observed.total_exposure,
            counts.c,
            counts.n,
            seed=seed,
            sweep=cache.sweep,
            kinds=self.keep.kinds,
            n_threads=n_threads,
            carried=counts.carried,
        )
        if "assignments" in self.keep.kinds:
            by_entry = _in_entry_order(cache.sampler, z)
            draw = replace(draw, assignments=cache.sampler.components(model, by_entry))
        return draw

    def in_entry_order(
        self, model: Model, observed: Observations, z: npt.NDArray[np.uint16]
    ) -> npt.NDArray[np.uint16]:
        """z by document and, within one, by entry of the counts, each repeated by its count."""
        return _in_entry_order(self.sampler(model, observed), z)

    def finish(self, observed: Observations, state: State) -> State:
        """c and n of the last assignment, and what else is read from it."""
        counts = self._cache(observed, state).sampler.counts(state.model)
        carried = counts.carried
        if isinstance(carried, PairCounts) and isinstance(state.carried, PairCounts):
            carried = replace(carried, moves=state.carried.moves)
        return replace(state, c=counts.c, n=counts.n, carried=carried, cache=None)


def parts_of(n_tokens: int) -> int:
    """Into how many parts documents and features are cut, on every machine.

    >>> parts_of(4_000_000), parts_of(20_000_000), parts_of(10**9)
    (8, 16, 32)
    """
    return next((parts for limit, parts in PARTS if n_tokens < limit), MOST_PARTS)


@dataclass
class _Cache:
    """Native counts and the sweep whose assignment they are the counts of."""

    sampler: Tokens
    sweep: int


def _in_entry_order(sampler: Tokens, z: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint16]:
    out = large_array(z.shape, np.uint16)
    sampler.in_entry_order(z, out)
    return read_only(out)
