"""Direct Gibbs sampling for DM, GP and CGP: BJ06 figure 6 and table III.

A sweep draws Θ given n, every document's scores given c, and splits every non-zero count over the
components by one multinomial draw. Documents are independent given Θ: exactly parallel.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dcomp import _core
from dcomp.data import FeatureSpace
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.executors import Executor
from dcomp.inference.base import Draw, Info, Recorded, State
from dcomp.inference.draws import Keep, hyper_parameters, plain_loadings, room
from dcomp.inference.hyper import learn_from_counts
from dcomp.inference.sampling import PriorArguments, empty_record
from dcomp.inference.start import generator
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray, read_only
from dcomp.models.loadings import column_totals


@dataclass(frozen=True)
class Gibbs:
    """Draws of scores, loadings and allocation in turn; posterior means over the recorded sweeps.

    burn_in: sweeps before recording. learn_every: sweeps between updates of learned priors.
    keep: which recorded sweeps leave their draws of scores and loadings behind.

    >>> Gibbs(burn_in=100).name
    'gibbs'
    """

    burn_in: int = 100
    learn_every: int = 5
    keep: Keep = field(default_factory=Keep)

    name: ClassVar[str] = "gibbs"
    objective_name: ClassVar[str] = "log joint"
    samples: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_schedule(self.burn_in, self.learn_every)
        if "assignments" in self.keep.of:
            raise UnsupportedCombination(
                "gibbs divides whole counts and gives no token a component: for draws of "
                "assignments use collapsed-gibbs"
            )

    @property
    def min_sweeps(self) -> int:
        """Samplers run their course."""
        return self.burn_in + 1

    def init(self, model: Model, observed: Observations, seed: int) -> State:
        """Every token given to a component at random."""
        counts, K = observed.counts, model.n_components
        rng = generator(seed, purpose=2)
        split = rng.multinomial(counts.data, np.full(K, 1 / K)).astype(np.int32)
        n = np.zeros((counts.n_features, K), dtype=np.int32)
        np.add.at(n, counts.indices, split)
        c = np.zeros((counts.n_docs, K), dtype=np.int32)
        np.add.at(c, np.repeat(np.arange(counts.n_docs), np.diff(counts.indptr)), split)
        return State(model, read_only(c), read_only(n), sweep=0, seed=seed)

    def step(self, observed: Observations, state: State, executor: Executor) -> tuple[State, Info]:
        """One sweep: Θ, then every document."""
        model, features = state.model, observed.counts.features
        gamma = model.loadings.per_feature(features.n_features)
        prior = PriorArguments.of(model, observed).as_tuple()
        log_scale = np.empty(features.n_features)
        blocks = (features.blocks, features.n_blocks)
        Theta = _core.draw_loadings(
            state.n, gamma, *blocks, state.seed, state.sweep + 1, log_scale, executor.n_threads
        )
        sweep = state.sweep + 1
        kept = self.keep.wants(sweep - self.burn_in)
        scores = room(state.c.shape) if kept and "scores" in self.keep.of else None
        c, n = np.empty_like(state.c), np.zeros_like(state.n)
        words = _core.sample(
            observed.corpus,
            Theta,
            log_scale,
            *prior,
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
        joint += _core.log_score_moments(c, *prior, executor.n_threads)
        draws = state.draws
        if kept:
            draws = (*draws, self._draw(model, sweep, scores, Theta, log_scale))
        recorded = state.recorded
        if sweep > self.burn_in:
            recorded = _record(recorded or empty_record(model, observed), c, n, gamma, features)
        capped = tuple[str, ...]()
        if sweep % self.learn_every == 0:
            model, capped = learn_from_counts(model, c, observed)
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
        wants_loadings = "loadings" in self.keep.of
        return Draw(
            sweep,
            hyper_parameters(model),
            None if scores is None else read_only(scores),
            plain_loadings(weights, log_scale, model.n_components) if wants_loadings else None,
        )

    def finish(self, observed: Observations, state: State) -> State:
        """Nothing is left over."""
        return state


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
    return Recorded(
        read_only(Theta), read_only(recorded.c + c.astype(np.float32)), zeros, recorded.count + 1
    )
