"""Scores of documents under ST by collapsed sampling with Θ given (BJ04 2.1, B09 5.1–5.3).

Leaves and nodes of a document's words are drawn as in a fit, but loadings are given, and so is Υ
where the corpus shares it: every document is then on its own.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dcomp.inference.collapsed_gibbs import CollapsedGibbs
from dcomp.inference.draws import draw_given_counts
from dcomp.inference.mean_field import Weights
from dcomp.inference.pairs import PairCounts
from dcomp.inference.sampled_scores import (
    Moments,
    SampledScores,
    check_draws,
    in_single_precision,
)
from dcomp.inference.token_samplers import PairTokens
from dcomp.models import Observations, Structured


def sample_structured_scores(
    model: Structured,
    observed: Observations,
    weights: Weights,
    n_threads: int,
    *,
    n_draws: int = 50,
    burn_in: int = 20,
    seed: int = 0,
    keep_draws: bool = False,
) -> SampledScores:
    """Node scores of every document on its own; the same for any number of threads."""
    check_draws(n_draws, burn_in)
    tokens = CollapsedGibbs().sampler(model, observed)
    assert isinstance(tokens, PairTokens)
    z = np.empty(tokens.n_tokens, dtype=np.uint16)
    tokens.start(seed, z)
    tokens.count(z)
    H = model.n_components
    Theta = in_single_precision(weights.Theta, H)
    exposure = None if observed.is_unit else observed.total_exposure
    moments = Moments.empty((observed.counts.n_docs, H), n_draws, keep_draws)
    n = np.zeros((observed.counts.n_features, H), dtype=np.int32)
    leaves = np.zeros((observed.counts.n_docs, model.scores.n_leaves))
    nodes = np.zeros((observed.counts.n_docs, H), dtype=np.float32)
    for sweep in range(burn_in + n_draws):
        tokens.sweep_given(model, Theta, z, seed, sweep, n_threads)
        if sweep < burn_in:
            continue
        C, S = tokens.documents(model)
        of_leaves, mean = model.scores.posterior_means(C, S, observed.total_exposure)
        leaves += of_leaves
        nodes[:] = 0
        tokens.native.add_nodes(nodes)
        beside = PairCounts(C, S)
        draw = draw_given_counts(
            model,
            observed.counts.features,
            exposure,
            nodes.astype(np.int32),
            n,
            seed=seed,
            sweep=sweep,
            kinds=("scores",),
            n_threads=n_threads,
            carried=beside,
        )
        assert draw.scores is not None
        moments.add(mean, draw.scores, nodes)
    return replace(moments.result(), leaves=(leaves / n_draws).astype(np.float32))
