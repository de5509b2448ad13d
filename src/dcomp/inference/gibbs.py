"""Direct Gibbs sampling for DM, GP, CGP and TM: BJ06 figure 6 and table III, BJ04 3.4.

A sweep draws Θ given n, every document's scores given c, and splits every non-zero count over the
components by one multinomial draw. Documents are independent given Θ: exactly parallel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dcomp import _core
from dcomp.data import FeatureSpace
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.executors import Executor
from dcomp.inference.base import Draw, Info, Recorded, Sampler, Schedule, State
from dcomp.inference.draws import hyper_parameters, plain_loadings
from dcomp.inference.growth import Growth, check_growth, grow_counts, is_due, wished_growth
from dcomp.inference.keep import Keep
from dcomp.inference.mean_field import with_learned
from dcomp.inference.options import OF_SAMPLERS
from dcomp.inference.sampler_start import MeanFieldStart, check_start, heated
from dcomp.inference.sampling import add_means, empty_record
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray, column_totals, large_array, read_only
from dcomp.models.base import moment_scores
from dcomp.models.options import Occasion, Option


@dataclass(frozen=True)
class Gibbs(Sampler):
    """Draws of scores, loadings and allocation in turn; posterior means over the recorded sweeps.

    burn_in: sweeps before recording. learn_every: sweeps between updates of learned priors.
    start: "random", or "mean-field" for a chain that begins near a mode. anneal: first sweeps with
    priors that begin stronger, for a chain that settles slowly and better.
    keep: which recorded sweeps leave their draws of scores and loadings behind.
    grow: when and how far a tree of components grows.

    >>> Gibbs(burn_in=100).name
    'gibbs'
    """

    burn_in: int = 100
    learn_every: int = 5
    start: str = "random"
    anneal: int = 0
    keep: Keep = field(default_factory=Keep)
    grow: Growth | None = None

    name: ClassVar[str] = "gibbs"
    objective_name: ClassVar[str] = "log joint"
    options: ClassVar[tuple[Option, ...]] = OF_SAMPLERS

    def __post_init__(self) -> None:
        check_schedule(self.burn_in, self.learn_every)
        check_start(self.start, self.anneal, self.burn_in)
        check_growth(self.grow, self.burn_in)
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

    def init(
        self, model: Model, observed: Observations, seed: int, executor: Executor | None = None
    ) -> State:
        """Every token given to a component, at random or by a mean-field fit."""
        counts, K = observed.counts, model.n_components
        if self.start == "mean-field":
            return self._from_mean_field(model, observed, seed, executor)
        c = np.zeros((counts.n_docs, K), dtype=np.int32)
        n = np.zeros((counts.n_features, K), dtype=np.int32)
        _core.start_counts(observed.corpus, seed, c, n)
        return State(model, read_only(c), read_only(n), sweep=0, seed=seed)

    def _from_mean_field(
        self, model: Model, observed: Observations, seed: int, executor: Executor | None
    ) -> State:
        begin = MeanFieldStart.fitted(model, observed, seed, executor)
        expected = np.rint(begin.c).astype(np.int32)
        c = np.empty_like(expected)
        n = np.zeros((observed.counts.n_features, model.n_components), dtype=np.int32)
        _core.sample(
            observed.corpus,
            np.ascontiguousarray(begin.weights.Theta, dtype=np.float32),
            begin.weights.log_scale,
            moment_scores(begin.model).without_zeros().native(observed.native_exposure),
            expected,
            c,
            n,
            None,
            seed,
            0,
            1 if executor is None else executor.n_threads,
        )
        return State(begin.model, read_only(c), read_only(n), sweep=0, seed=seed)

    def step(self, observed: Observations, state: State, executor: Executor) -> tuple[State, Info]:
        """One sweep: Θ, then every document."""
        if self.grow is not None and is_due(self.grow, state):
            state = grow_counts(self.grow, state)
        model, features, sweep = state.model, observed.counts.features, state.sweep + 1
        gamma = model.loadings.per_feature(features.n_features)
        prior = moment_scores(model).native(observed.native_exposure)
        warm = heated(model, sweep, self.anneal)
        warm_gamma = warm.loadings.per_feature(features.n_features)
        warm_prior = moment_scores(warm).native(observed.native_exposure)
        log_scale = np.empty(features.n_features)
        blocks = (features.blocks, features.n_blocks)
        Theta = _core.draw_loadings(
            state.n, warm_gamma, *blocks, state.seed, sweep, log_scale, executor.n_threads
        )
        kept = self.keep.wants(sweep - self.burn_in)
        scores = large_array(state.c.shape) if kept and "scores" in self.keep.kinds else None
        c, n = np.empty_like(state.c), np.zeros_like(state.n)
        words = _core.sample(
            observed.corpus,
            Theta,
            log_scale,
            warm_prior,
            state.c,
            c,
            n,
            scores,
            state.seed,
            sweep,
            executor.n_threads,
        )
        constant = float(model.log_constant(observed, combinatoric=False).sum())
        joint = _core.log_loading_moments(n, gamma, *blocks, executor.n_threads)
        joint += _core.log_score_moments(c, prior, executor.n_threads)
        draws = state.draws
        if kept:
            draws = (*draws, self._draw(model, sweep, scores, Theta, log_scale))
        recorded = state.recorded
        if sweep > self.burn_in:
            recorded = _record(recorded or empty_record(model, observed), c, n, gamma, features)
            recorded = add_means(recorded, model, c, executor.n_threads)
        capped = tuple[str, ...]()
        if sweep > self.anneal and sweep % self.learn_every == 0:
            model, capped = learn_from_counts(model, c, n, observed)
        info = Info(sweep, joint + constant, words, 1.0, capped=capped)
        new = replace(
            state,
            model=model,
            c=read_only(c),
            n=read_only(n),
            sweep=sweep,
            recorded=recorded,
            draws=draws,
        )
        return new, info

    def _draw(
        self,
        model: Model,
        sweep: int,
        scores: npt.NDArray[np.float32] | None,
        weights: npt.NDArray[np.float32],
        log_scale: FloatArray,
    ) -> Draw:
        """What the sweep itself drew, with the priors that it drew from."""
        wants_loadings = "loadings" in self.keep.kinds
        return Draw(
            sweep,
            hyper_parameters(model),
            None if scores is None else read_only(scores),
            plain_loadings(weights, log_scale, model.n_components) if wants_loadings else None,
        )


def learn_from_counts(
    model: Model, c: npt.NDArray[Any], n: npt.NDArray[Any], observed: Observations
) -> tuple[Model, tuple[str, ...]]:
    """The model with what its priors learn from drawn counts, and the names of what is at a
    limit."""
    scores: Any = model.scores
    learned, capped = scores.learn_from_counts(c, observed.total_exposure)
    loadings, at_limit = model.loadings.learn(n, observed.counts.features.blocks)
    return with_learned(model, learned).with_loadings(loadings), capped + at_limit


def check_schedule(burn_in: int, learn_every: int) -> None:
    """An error unless both are in range."""
    if burn_in < 0:
        raise InvalidParameter(f"burn_in must be at least 0; got {burn_in}")
    if learn_every < 1:
        raise InvalidParameter(f"learn_every must be at least 1; got {learn_every}")


def _record(
    recorded: Recorded,
    c: npt.NDArray[np.int32],
    n: npt.NDArray[np.int32],
    gamma: FloatArray,
    features: FeatureSpace,
) -> Recorded:
    blocks = features.blocks
    totals = column_totals(n, blocks) + np.bincount(blocks, weights=gamma)[:, None]
    Theta = recorded.Theta + ((n + gamma[:, None]) / totals[blocks]).astype(np.float32)
    zeros = None if recorded.zeros is None else recorded.zeros + (c == 0)
    c_sum = read_only(recorded.c + c.astype(np.float32))
    return replace(recorded, Theta=read_only(Theta), c=c_sum, zeros=zeros, count=recorded.count + 1)
