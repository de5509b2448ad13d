"""Direct Gibbs sampling for DM, GP, CGP and TM: BJ06 figure 6 and table III, BJ04 3.4.

A sweep draws Θ given n, every document's scores given c, and splits every non-zero count over the
components by one multinomial draw. Documents are independent given Θ: exactly parallel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from dcomp import _core
from dcomp.data import FeatureSpace
from dcomp.data.canonical import LIMIT
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.executors import Executor, LocalExecutor
from dcomp.inference.base import Info, Sampler, Schedule
from dcomp.inference.draws import hyper_parameters, plain_loadings
from dcomp.inference.growth import Growth, check_growth, grow_counts, is_due, wished_growth
from dcomp.inference.keep import Keep
from dcomp.inference.mean_field import with_learned
from dcomp.inference.options import OF_SAMPLERS
from dcomp.inference.room import require_room
from dcomp.inference.sampler_start import (
    MeanFieldStart,
    begins_by_mean_field,
    begun_apart,
    check_start,
    heated,
    is_known,
)
from dcomp.inference.sampling import add_loadings, add_means, empty_documents, empty_loadings
from dcomp.inference.state import Draw, DrawnDocuments, Global, Local, RecordedDocuments, State
from dcomp.inference.word_trace import WordsInfo, check_trace, traced
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray, large_array, read_only
from dcomp.models.base import moment_scores
from dcomp.models.options import Occasion, Option

# Words from which on components of a document are switched off and on, where scores can be exactly
# 0: in shorter ones their words leave one by one.
SWITCH_FROM = 256


@dataclass(frozen=True)
class Gibbs(Sampler):
    """Draws of scores, loadings and allocation in turn; posterior means over the recorded sweeps.

    burn_in: sweeps before recording. learn_every: sweeps from one update of learned priors to the
    next; None for 5, or for 1 from the middle of the burn-in on where scores can be exactly 0.
    start: "random"; "mean-field" for a chain that begins near a mode, "seeded" for one near a mode
    of its own seed; "auto": where documents are long and the table is dense the former, in chains
    after the first the latter; else random. anneal: first sweeps with priors that begin stronger,
    for a chain that settles slowly and better.
    keep: which recorded sweeps leave their draws of scores and loadings behind.
    grow: when and how far a tree of components grows.
    trace_words: None, or which log p(w | V, Θ) a row of the history has: Θ at its "mean" given n,
    "drawn" (the sweep's own), or "both".

    >>> Gibbs(burn_in=100).name
    'gibbs'
    """

    burn_in: int = 100
    learn_every: int | None = None
    start: str = "auto"
    anneal: int = 0
    keep: Keep = field(default_factory=Keep)
    grow: Growth | None = None
    trace_words: str | None = None

    name: ClassVar[str] = "gibbs"
    objective_name: ClassVar[str] = "log joint"
    options: ClassVar[tuple[Option, ...]] = OF_SAMPLERS

    def __post_init__(self) -> None:
        check_schedule(self.burn_in, self.learn_every)
        check_start(self.start, self.anneal, self.burn_in)
        check_growth(self.grow, self.burn_in)
        check_trace(self.trace_words)
        if "assignments" in self.keep.kinds:
            raise UnsupportedCombination(
                "gibbs divides whole counts and gives no token a component: for draws of "
                "assignments use collapsed-gibbs"
            )

    @classmethod
    def restored(cls, options: Mapping[str, Any]) -> Gibbs:
        """From a file."""
        grow = options.get("grow")
        parts: dict[str, Any] = {"keep": Keep.restored(options.get("keep"))}
        return cls(**{**options, **parts, "grow": None if grow is None else Growth(**grow)})

    def adding(
        self, occasion: Occasion, burn_in: int | None = None, n_draws: int = 0
    ) -> Growth | None:
        """A tree may grow."""
        return wished_growth(occasion.wishes)

    @property
    def schedule(self) -> Schedule:
        """Recording after the burn-in; a tree may grow."""
        return Schedule(self.burn_in, self.keep, self.grow)

    def apart(self, model: Model, observed: Observations) -> Self:
        """Near a mode of its own seed, where the first chain is near that of the spectrum."""
        return begun_apart(self, model, observed)

    def init(
        self, model: Model, observed: Observations, seed: int, executor: Executor | None = None
    ) -> State:
        """Every token given to a component, at random or by a mean-field fit."""
        require_room(observed, self.name)
        executor, parts = executor or LocalExecutor(1), observed.parts
        if begins_by_mean_field(self.start, self.anneal, model, observed):
            begin = MeanFieldStart.fitted(self.start, model, observed, seed, executor)
            return self.init_at(begin, observed, seed, executor)
        if is_known(model, observed):
            return self.init_at(MeanFieldStart.known(model, observed), observed, seed, executor)
        nothing = [None] * len(parts)
        after, n = executor.map_reduce(_at_random, parts, nothing, (model.n_components, seed))
        return State(Global(model, read_only(n), 0, seed), after, observed.counts.firsts)

    def init_at(
        self, begin: MeanFieldStart, observed: Observations, seed: int, executor: Executor
    ) -> State:
        """Words given to components as a fit expects them."""
        weights = begin.weights
        Theta = np.ascontiguousarray(weights.Theta, dtype=np.float32)
        how = _Sweep(begin.model, begin.model, Theta, weights.log_scale, seed, 0)
        after, n = executor.map_reduce(_from_mean_field, observed.parts, begin.locals, how)
        return State(Global(begin.model, read_only(n), 0, seed), after, observed.counts.firsts)

    def step(self, observed: Observations, state: State, executor: Executor) -> tuple[State, Info]:
        """One sweep: Θ, then every document."""
        if self.grow is not None and is_due(self.grow, state):
            state = grow_counts(self.grow, observed, state, executor)
        model, features, sweep = state.model, observed.counts.features, state.sweep + 1
        gamma = model.loadings.columns(features.n_features, model.n_components)
        warm = heated(model, sweep, self.anneal)
        warm_gamma = warm.loadings.columns(features.n_features, model.n_components)
        log_scale = np.empty(features.n_features)
        blocks = (features.blocks, features.n_blocks)
        Theta = _core.draw_loadings(
            state.n, warm_gamma, *blocks, state.seed, sweep, log_scale, executor.n_threads
        )
        how = _Sweep(
            model,
            warm,
            Theta,
            log_scale,
            state.seed,
            sweep,
            is_recorded=sweep > self.burn_in,
            is_kept=self.keep.wants(sweep - self.burn_in),
            keeps_scores="scores" in self.keep.kinds,
            learns=sweep > self.anneal and self.learns_in(sweep, model),
        )
        after, stats = executor.map_reduce(_sweep, observed.parts, state.locals, how)
        n = read_only(stats.n)
        joint = _core.log_loading_moments(n, gamma, *blocks, executor.n_threads)
        joint += stats.log_scores
        shared = replace(state.shared, n=n, sweep=sweep)
        if how.is_kept:
            shared = replace(shared, draws=(*shared.draws, self._draw(how)))
        if how.is_recorded:
            recorded = shared.recorded or empty_loadings(model, features.n_features)
            shared = replace(shared, recorded=add_loadings(recorded, n, gamma, features))
        capped = tuple[str, ...]()
        if how.learns:
            model, capped = learn_from_counts(model, stats.seen, n, features)
        words = traced(self.trace_words, n, state.model, features, lambda: (Theta, log_scale))
        row = self.info_type(model)
        info = row(sweep, joint + stats.constant, stats.words, 1.0, capped=capped, **words)
        return replace(state, shared=replace(shared, model=model), locals=after), info

    def info_type(self, model: Model) -> type[Info]:
        """With what is traced of the words."""
        return Info if self.trace_words is None else WordsInfo

    def _draw(self, how: _Sweep) -> Draw:
        """The Θ that the sweep itself drew, with the priors that it drew from; the scores stay
        with their documents."""
        Theta = None
        if "loadings" in self.keep.kinds:
            Theta = plain_loadings(how.Theta, how.log_scale, how.model.n_components)
        return Draw(how.sweep, hyper_parameters(how.model), Theta=Theta)


@dataclass(frozen=True)
class _Sweep:
    """What every part is told of a sweep."""

    model: Model
    warm: Model  # that it draws with
    Theta: npt.NDArray[np.float32]
    log_scale: FloatArray
    seed: int
    sweep: int
    is_recorded: bool = False
    is_kept: bool = False
    keeps_scores: bool = False
    learns: bool = False


@dataclass(frozen=True)
class GibbsStats:
    """Sums over the documents of a sweep; they add."""

    n: npt.NDArray[np.int32]  # (J, K)
    words: float  # Σ log p(word | scores, Θ)
    log_scores: float  # Σ_i log p(c_i), but for constants
    constant: float
    seen: Any  # what the score prior learns from

    def __add__(self, other: GibbsStats) -> GibbsStats:
        return GibbsStats(
            self.n + other.n,
            self.words + other.words,
            self.log_scores + other.log_scores,
            self.constant + other.constant,
            None if self.seen is None else self.seen + other.seen,
        )


def _sweep(
    part: Observations, local: Local, how: _Sweep, n_threads: int
) -> tuple[Local, GibbsStats]:
    """Scores and allocation of a part's documents, given Θ."""
    model = how.model
    scores = large_array(local.c.shape) if how.is_kept and how.keeps_scores else None
    warm: Any = moment_scores(how.warm)
    c, n, words = _drawn(part, local.c, how, part.native(warm), scores, n_threads)
    prior: Any = moment_scores(model)
    stats = GibbsStats(
        n,
        words,
        _core.log_score_moments(c, part.native(prior), n_threads),
        float(model.log_constant(part, combinatoric=False).sum()),
        counts_seen(prior, part, c) if how.learns else None,
    )
    draws = local.draws
    if how.is_kept:
        draws = (*draws, DrawnDocuments(None if scores is None else read_only(scores)))
    recorded = local.recorded
    if how.is_recorded:
        recorded = _record(recorded or empty_documents(model, part), c)
        recorded = add_means(recorded, model, c, n_threads)
    return replace(local, c=read_only(c), recorded=recorded, draws=draws), stats


def _drawn(
    part: Observations,
    before: npt.NDArray[np.int32],
    how: _Sweep,
    prior: _core.ScorePrior,
    scores: npt.NDArray[np.float32] | None,
    n_threads: int,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], float]:
    """c and n of a draw, and Σ log p(word)."""
    c = np.empty_like(before)
    n = np.zeros((part.counts.n_features, before.shape[1]), dtype=np.int32)
    where = (part.corpus, how.Theta, how.log_scale, prior, before, c, n, scores)
    words = _core.sample(*where, how.seed, how.sweep, n_threads, switch_from=SWITCH_FROM)
    return c, n, words


def _at_random(
    part: Observations, local: None, shared: tuple[int, int], n_threads: int
) -> tuple[Local, npt.NDArray[np.int32]]:
    K, seed = shared
    c = np.zeros((part.counts.n_docs, K), dtype=np.int32)
    n = np.zeros((part.counts.n_features, K), dtype=np.int32)
    _core.start_counts(part.corpus, seed, c, n)
    return Local(read_only(c)), n


def _from_mean_field(
    part: Observations, local: Local, how: _Sweep, n_threads: int
) -> tuple[Local, npt.NDArray[np.int32]]:
    # In single precision the words of a component may be rounded up to 2^31.
    expected = np.rint(local.c.astype(np.float64)).clip(max=LIMIT).astype(np.int32)
    prior = part.native(moment_scores(how.model).without_zeros())
    c, n, _ = _drawn(part, expected, how, prior, None, n_threads)
    return Local(read_only(c)), n


def counts_seen(prior: Any, part: Observations, c: npt.NDArray[np.int32]) -> Any:
    """What a score prior learns from in a part."""
    if part.allowed is None:
        return prior.counts_seen(c, part.total_exposure)
    return prior.counts_seen(c, part.total_exposure, part.allowed)


def learn_from_counts(
    model: Model, seen: Any, n: npt.NDArray[Any], features: FeatureSpace
) -> tuple[Model, tuple[str, ...]]:
    """The model with what its priors learn from drawn counts, and the names of what is at a
    limit."""
    scores: Any = model.scores
    learned, capped = scores.learn_from_counts(seen)
    loadings, at_limit = model.loadings.learn(n, features.blocks)
    return with_learned(model, learned).with_loadings(loadings), capped + at_limit


def check_schedule(burn_in: int, learn_every: int | None) -> None:
    """An error unless both are in range."""
    if burn_in < 0:
        raise InvalidParameter(f"burn_in must be at least 0; got {burn_in}")
    if learn_every is not None and learn_every < 1:
        raise InvalidParameter(f"learn_every must be at least 1; got {learn_every}")


def _record(recorded: RecordedDocuments, c: npt.NDArray[np.int32]) -> RecordedDocuments:
    zeros = None if recorded.zeros is None else recorded.zeros + (c == 0)
    return replace(recorded, c=read_only(recorded.c + c.astype(np.float32)), zeros=zeros)
