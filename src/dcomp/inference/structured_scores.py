"""Scores of documents under ST by collapsed sampling with Θ given (BJ04 2.1, B09 5.1–5.3).

Leaves and nodes of a document's words are drawn as in a fit, but loadings are given, and so is Υ
where the corpus shares it: every document is then on its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dcomp.executors import Executor
from dcomp.inference.collapsed_gibbs import CollapsedGibbs
from dcomp.inference.draws import draw_scores
from dcomp.inference.mean_field import Weights
from dcomp.inference.room import require_room
from dcomp.inference.sampled_scores import (
    INSTEAD,
    ROOM,
    Moments,
    SampledScores,
    Sampling,
    document_sizes,
    doubling,
    in_single_precision,
    sampled,
)
from dcomp.inference.token_samplers import PairTokens
from dcomp.models import Observations, Structured

MOST = 1  # sweeps of a document for each of its draws: to carry one on alone is slow here


def sample_structured_scores(
    model: Structured,
    observed: Observations,
    weights: Weights,
    executor: Executor,
    **options: Any,
) -> SampledScores:
    """Node scores of every document on its own; the same for any number of threads.

    options: those of `Sampling`.
    """
    # Beside c the sampler counts the words of all documents: no one asks, but they must fit.
    require_room(observed, "sampling", pairs=True, instead=INSTEAD)
    return sampled(_sample_part, Sampling(model, weights, **options), observed, executor)


def _sample_part(
    part: Observations, local: None, how: Sampling, n_threads: int
) -> tuple[SampledScores, None]:
    size = max(1, ROOM // (12 * how.n_draws * how.model.n_components))
    n_docs = part.counts.n_docs
    pieces = [
        _sample_documents(_run(part, first, min(first + size, n_docs)), how, n_threads)
        for first in range(0, n_docs, size)
    ]
    return SampledScores.joined(pieces), None


def _run(part: Observations, first: int, end: int) -> Observations:
    """The documents from `first` on, to the one before `end`."""
    if end - first == part.counts.n_docs:
        return part
    exposure = None if part.exposure is None else part.exposure[first:end]
    return Observations(part.counts.rows(slice(first, end)), exposure, part.first + first)


def _sample_documents(part: Observations, how: Sampling, n_threads: int) -> SampledScores:
    """Documents together, and those that have not mixed once more, each alone, with what was done
    before as its burn-in."""
    found = _sweeps(part, how, how.burn_in, 1, n_threads)
    if not found.not_mixed.size:
        return found
    limit = MOST * how.n_draws if how.max_sweeps is None else how.max_sweeps
    pieces = [found.rows(slice(i, i + 1)) for i in range(part.counts.n_docs)]
    for i in found.not_mixed.tolist():
        alone = _run(part, i, i + 1)
        for every in list(doubling(how))[1:]:
            done = (every - 1) * how.n_draws
            if done + every * how.n_draws > limit:
                break
            pieces[i] = _sweeps(alone, how, how.burn_in + done, every, n_threads)
            if not pieces[i].not_mixed.size:
                break
    return SampledScores.joined(pieces)


def _sweeps(
    part: Observations, how: Sampling, burn_in: int, every: int, n_threads: int
) -> SampledScores:
    """So many sweeps, of which every so-many-th is recorded."""
    model = how.model
    tokens = CollapsedGibbs().sampler(model, part)
    assert isinstance(tokens, PairTokens)
    z = np.empty(tokens.n_tokens, dtype=np.uint16)
    tokens.start(how.seed, z)
    tokens.count(z)
    Theta = in_single_precision(how.weights.Theta, model.n_components)
    shape = (part.counts.n_docs, model.n_components)
    moments = Moments.empty(shape, how.n_draws, how.keep_draws)
    means = np.empty((how.n_draws, *shape), np.float32)
    leaves = np.zeros((part.counts.n_docs, model.scores.n_leaves))
    for sweep in range(burn_in + every * how.n_draws):
        tokens.sweep_given(model, Theta, z, how.seed, sweep, n_threads)
        place, rest = divmod(sweep + 1 - burn_in, every)
        if sweep < burn_in or rest:
            continue
        c, _ = tokens.documents(model)
        beside = tokens.beside(model, None)
        of_leaves, mean = model.scores.posterior_means(*beside.values(), part.total_exposure)
        leaves += of_leaves
        means[place - 1] = mean
        moments.add(mean, draw_scores(model, part, c, beside, how.seed, sweep, n_threads), c)
    # Of the means given c, not of the draws: where each document has its own Υ, what is drawn of
    # it depends on how the corpus is cut, and what is carried on must not.
    done = np.full(len(leaves), (2 * every - 1) * how.n_draws)
    found = moments.result(document_sizes(means), done, how.enough)
    return replace(found, leaves=(leaves / how.n_draws).astype(np.float32))
