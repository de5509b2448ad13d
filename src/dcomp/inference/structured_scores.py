"""Scores of documents under ST by collapsed sampling with Θ given (BJ04 2.1, B09 5.1–5.3).

Leaves and nodes of a document's words are drawn as in a fit, but loadings are given, and so is Υ
where the corpus shares it: every document is then on its own.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dcomp.executors import Executor
from dcomp.inference.collapsed_gibbs import CollapsedGibbs
from dcomp.inference.draws import draw_scores
from dcomp.inference.mean_field import Weights
from dcomp.inference.room import require_room
from dcomp.inference.sampled_scores import (
    INSTEAD,
    Moments,
    SampledScores,
    Sampling,
    in_single_precision,
    sampled,
)
from dcomp.inference.token_samplers import PairTokens
from dcomp.models import Observations, Structured


def sample_structured_scores(
    model: Structured,
    observed: Observations,
    weights: Weights,
    executor: Executor,
    *,
    n_draws: int = 50,
    burn_in: int = 20,
    seed: int = 0,
    keep_draws: bool = False,
) -> SampledScores:
    """Node scores of every document on its own; the same for any number of threads."""
    # Beside c the sampler counts the words of all documents: no one asks, but they must fit.
    require_room(observed, "sampling", pairs=True, instead=INSTEAD)
    how = Sampling(model, weights, n_draws, burn_in, seed, keep_draws)
    return sampled(_sample_part, how, observed, executor)


def _sample_part(
    part: Observations, local: None, how: Sampling, n_threads: int
) -> tuple[SampledScores, None]:
    model = how.model
    tokens = CollapsedGibbs().sampler(model, part)
    assert isinstance(tokens, PairTokens)
    z = np.empty(tokens.n_tokens, dtype=np.uint16)
    tokens.start(how.seed, z)
    tokens.count(z)
    Theta = in_single_precision(how.weights.Theta, model.n_components)
    moments = Moments.empty((part.counts.n_docs, model.n_components), how.n_draws, how.keep_draws)
    leaves = np.zeros((part.counts.n_docs, model.scores.n_leaves))
    for sweep in range(how.burn_in + how.n_draws):
        tokens.sweep_given(model, Theta, z, how.seed, sweep, n_threads)
        if sweep < how.burn_in:
            continue
        c, _ = tokens.documents(model)
        beside = tokens.beside(model, None)
        of_leaves, mean = model.scores.posterior_means(*beside.values(), part.total_exposure)
        leaves += of_leaves
        moments.add(mean, draw_scores(model, part, c, beside, how.seed, sweep, n_threads), c)
    return replace(moments.result(), leaves=(leaves / how.n_draws).astype(np.float32)), None
