"""Rao-Blackwellised (collapsed) Gibbs sampling for DM, GP, CGP and TM: BJ06 figure 7, table IV.

Scores and loadings are integrated out; each token is drawn given all others. Small corpora, and
`exact=True`, run the exact sequential sampler. Larger ones are cut into a fixed grid of documents ×
features whose diagonals run in parallel: only the components' totals are briefly stale, the cut
does not depend on the machine, and the fit is labelled approximate.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dcomp import _core
from dcomp.errors import UnsupportedCombination
from dcomp.executors import Executor
from dcomp.inference.base import Draw, Info, Recorded, State
from dcomp.inference.draws import Keep, draw_given_counts, room
from dcomp.inference.gibbs import check_schedule
from dcomp.inference.growth import Growth, check_growth, grow_tokens, is_due
from dcomp.inference.hyper import learn_from_counts, learn_gamma
from dcomp.inference.sampler_start import MeanFieldStart, check_start, heated
from dcomp.inference.sampling import PriorArguments, empty_record, native_tree, score_weights
from dcomp.models import Model, Observations, TreeScores
from dcomp.models.arrays import read_only

SMALL = 100_000  # tokens
# Parts of documents and of features by number of tokens: more of them let more threads help, and
# cut a feature's tokens into shorter runs.
PARTS = ((10_000_000, 8), (100_000_000, 16))
MOST_PARTS = 32
MANY = 512  # by measurement: components from which a sweep follows the documents' own components


@dataclass(frozen=True)
class CollapsedGibbs:
    """One token at a time given all the rest; posterior means over the recorded sweeps.

    burn_in: sweeps before recording. learn_every: sweeps between updates of learned priors.
    exact: True for the sequential sampler at any size, None for small corpora only.
    sparse: whether a token looks at all components or follows lists of those that its document and
    its feature use; None chooses by their number. Both draw from the same distribution.
    start: "random", or "mean-field" for a chain that begins near a mode. anneal: first sweeps with
    priors that begin stronger, for a chain that settles slowly and better.
    keep: which recorded sweeps leave draws of scores, loadings or assignments behind.
    grow: when and how far a tree of components grows.

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
    grow: Growth | None = None

    name: ClassVar[str] = "collapsed-gibbs"
    objective_name: ClassVar[str] = "log joint"
    samples: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_schedule(self.burn_in, self.learn_every)
        check_start(self.start, self.anneal, self.burn_in)
        check_growth(self.grow, self.burn_in)

    @property
    def min_sweeps(self) -> int:
        """Samplers run their course."""
        return self.burn_in + 1

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
        if isinstance(model.scores, TreeScores):
            if self.sparse:
                raise UnsupportedCombination(
                    "sparse=True is for flat models; a tree looks at all its nodes: leave sparse "
                    "at None"
                )
            return False
        return shares and (model.n_components >= MANY if self.sparse is None else self.sparse)

    def sampler(self, model: Model, observed: Observations) -> Any:
        """The native sampler: tokens in their order, with room for the counts."""
        counts = observed.counts
        parts = 1 if self.is_exact(counts.n_tokens) else parts_of(counts.n_tokens)
        features = counts.features
        return _core.CollapsedSampler(
            observed.corpus,
            features.blocks,
            features.n_blocks,
            model.n_components,
            parts,
            self.is_sparse(model, observed),
            native_tree(model.scores) if isinstance(model.scores, TreeScores) else None,
        )

    def init(
        self, model: Model, observed: Observations, seed: int, executor: Executor | None = None
    ) -> State:
        """Every token given to a component, at random or by a mean-field fit."""
        sampler = self.sampler(model, observed)
        z = np.empty(sampler.n_tokens, dtype=np.uint16)
        if self.start == "mean-field":
            begin = MeanFieldStart.of(model, observed, seed, executor)
            model = begin.model
            scores = _rough_scores(model, begin.c)
            Theta = np.ascontiguousarray(begin.weights.Theta, dtype=np.float32)
            sampler.start_from(
                seed, scores, Theta, z, 1 if executor is None else executor.n_threads
            )
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
            state = grow_tokens(self.grow, state, self._documents(observed, state))
        model, threads = state.model, executor.n_threads
        cache = state.cache
        if not isinstance(cache, _Cache) or cache.sweep != state.sweep:
            cache = _Cache(self.sampler(model, observed), state.sweep)
            cache.sampler.count(state.z)
        sweep, n_features = state.sweep + 1, observed.counts.n_features
        warm = heated(model, sweep, self.anneal)
        assert state.z is not None
        z = state.z.copy()
        cache.sweep = -1  # until the sweep is whole
        words = _sweep(cache.sampler, warm, observed, z, state.seed, sweep, threads)
        cache.sweep = sweep
        gamma = model.loadings.per_feature(n_features)
        prior = PriorArguments.of(model, observed).as_tuple()
        joint = cache.sampler.log_moments(gamma, *prior, threads)
        joint += float(model.log_constant(observed, combinatoric=False).sum())
        recorded = state.recorded
        if sweep > self.burn_in:
            recorded = _record(
                cache.sampler, recorded or empty_record(model, observed), model, gamma, threads
            )
        draws = state.draws
        if self.keep.wants(sweep - self.burn_in):
            draws = (*draws, self._draw(observed, model, cache, z, state.seed, threads))
        capped = tuple[str, ...]()
        learns = model.scores.learned or model.loadings.learned
        if learns and sweep > self.anneal and sweep % self.learn_every == 0:
            c, n = _read(cache.sampler, model, observed)
            model, capped = learn_from_counts(model, c, observed)
            model, more = learn_gamma(model, n, observed.counts.features.blocks)
            capped += more
        info = Info(sweep, joint, words, 1.0, capped=capped)
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
        c, n = _read(cache.sampler, model, observed)
        draw = draw_given_counts(
            model,
            observed.counts.features,
            None if observed.is_unit else observed.total_exposure,
            c,
            n,
            seed=seed,
            sweep=cache.sweep,
            of=self.keep.of,
            n_threads=n_threads,
        )
        if "assignments" in self.keep.of:
            draw = replace(draw, assignments=_in_entry_order(cache.sampler, z))
        return draw

    def in_entry_order(
        self, model: Model, observed: Observations, z: npt.NDArray[np.uint16]
    ) -> npt.NDArray[np.uint16]:
        """z by document and, within one, by entry of the counts, each repeated by its count."""
        return _in_entry_order(self.sampler(model, observed), z)

    def _documents(self, observed: Observations, state: State) -> npt.NDArray[np.int64]:
        """The document of each token, in the order of z."""
        cache = state.cache
        if not isinstance(cache, _Cache):
            cache = _Cache(self.sampler(state.model, observed), -1)
        entry = np.empty(cache.sampler.n_tokens, dtype=np.int64)
        cache.sampler.entries(entry)
        return np.searchsorted(observed.counts.indptr, entry, side="right") - 1

    def finish(self, observed: Observations, state: State) -> State:
        """c and n of the last assignment."""
        cache = state.cache
        if not isinstance(cache, _Cache) or cache.sweep != state.sweep:
            cache = _Cache(self.sampler(state.model, observed), state.sweep)
            cache.sampler.count(state.z)
        c, n = _read(cache.sampler, state.model, observed)
        return replace(state, c=c, n=n, cache=None)


def parts_of(n_tokens: int) -> int:
    """Into how many parts documents and features are cut, on every machine.

    >>> parts_of(4_000_000), parts_of(20_000_000), parts_of(10**9)
    (8, 16, 32)
    """
    return next((parts for limit, parts in PARTS if n_tokens < limit), MOST_PARTS)


@dataclass
class _Cache:
    """Native counts and the sweep whose assignment they are the counts of."""

    sampler: Any
    sweep: int


def _read(sampler: Any, model: Model, observed: Observations) -> tuple[Any, Any]:
    counts, K = observed.counts, model.n_components
    c = np.empty((counts.n_docs, K), dtype=np.int32)
    n = np.empty((counts.n_features, K), dtype=np.int32)
    sampler.read(c, n)
    return read_only(c), read_only(n)


def _in_entry_order(sampler: Any, z: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint16]:
    out = room(z.shape, np.uint16)
    sampler.in_entry_order(z, out)
    return read_only(out)


def _rough_scores(model: Model, c: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Scores for a start, up to a factor per document."""
    scores: Any = model.scores
    if isinstance(scores, TreeScores):
        return scores.posterior_mean(c, np.ones(len(c))).astype(np.float32)
    return np.asarray(c + scores.alpha.astype(np.float32))


def _sweep(
    sampler: Any,
    model: Model,
    observed: Observations,
    z: npt.NDArray[np.uint16],
    seed: int,
    sweep: int,
    n_threads: int,
) -> float:
    """All tokens once: z and the native counts change; Σ log p(word | all the rest)."""
    gamma = model.loadings.per_feature(observed.counts.n_features)
    if isinstance(model.scores, TreeScores):
        tree = native_tree(model.scores)
        return float(sampler.sweep_tree(z, gamma, tree, seed, sweep, n_threads))
    padded = (model.n_components + _core.lanes() - 1) // _core.lanes() * _core.lanes()
    weights = score_weights(model, observed, padded)
    return float(sampler.sweep(z, gamma, *weights, seed, sweep, n_threads))


def _record(sampler: Any, recorded: Recorded, model: Model, gamma: Any, n_threads: int) -> Recorded:
    Theta, c = recorded.Theta.copy(), recorded.c.copy()
    zeros = None if recorded.zeros is None else recorded.zeros.copy()
    sampler.record(gamma, Theta, c, zeros, n_threads)
    scores = recorded.scores
    if isinstance(model.scores, TreeScores) and scores is not None:
        scores = scores.copy()
        sampler.add_means(native_tree(model.scores), scores, n_threads)
        read_only(scores)
    return Recorded(
        read_only(Theta),
        read_only(c),
        None if zeros is None else read_only(zeros),
        recorded.count + 1,
        scores,
    )
