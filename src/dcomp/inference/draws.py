"""Draws of scores, loadings and hyper-parameters from the counts of a sweep.

Given the counts of a sweep, scores and Θ are independent draws from their conjugate posteriors
(BJ06 VII.C), so that they can be had at any sweep of a collapsed sampler too. They have random
numbers of their own: a chain is the same whether it keeps draws or not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp import _core
from dcomp.data import FeatureSpace
from dcomp.inference.state import Arrays, Carried, Draw
from dcomp.models import Model, Observations
from dcomp.models.allowed import Allowed
from dcomp.models.arrays import FloatArray, large_array, read_only
from dcomp.models.base import moment_scores

_STRUCTURE = 5  # purpose of the random numbers of Υ: inference/start.py has the others


def hyper_parameters(model: Model) -> dict[str, FloatArray]:
    """The priors that can change, by name: those of the scores, and γ where it is learned."""
    values = {parameter.name: parameter.value for parameter in model.scores.parameters()}
    return values | ({"gamma": model.loadings.gamma} if model.loadings.learned else {})


def draw_given_counts(
    model: Model,
    features: FeatureSpace,
    exposure: FloatArray | None,
    c: npt.NDArray[np.int32],
    n: npt.NDArray[np.int32],
    *,
    seed: int,
    sweep: int,
    kinds: tuple[str, ...] = ("scores", "loadings"),
    n_threads: int = 1,
    carried: Carried | None = None,
) -> Draw:
    """Scores from p(scores | c) and Θ from p(Θ | n), the same for any number of threads.

    `exposure` is the documents' total, or None where it is 1. `c` and `n` are whole numbers, those
    of a state that an algorithm has finished; what they leave out is in what it `carried`.

    >>> from dcomp.models import DirichletMultinomial
    >>> one = np.array([[3, 0], [0, 2]], np.int32)
    >>> draw = draw_given_counts(
    ...     DirichletMultinomial.build(2), FeatureSpace.build(2), None, one, one, seed=0, sweep=1
    ... )
    >>> draw.scores.sum(axis=1).round(5), draw.Theta.sum(axis=0).round(5)
    (array([1., 1.], dtype=float32), array([1., 1.], dtype=float32))
    """
    scores = Theta = None
    if "scores" in kinds:
        beside = {} if carried is None else carried.arrays()
        scores = _draw_scores(model, exposure, c, beside, seed, sweep, n_threads)
    if "loadings" in kinds:
        Theta = draw_loadings(model, features, n, seed, sweep, n_threads)
    return Draw(sweep, hyper_parameters(model), scores, Theta)


def draw_loadings(
    model: Model,
    features: FeatureSpace,
    n: npt.NDArray[np.int32],
    seed: int,
    sweep: int,
    n_threads: int,
) -> npt.NDArray[np.float32]:
    """Θ (J, K) from p(Θ | n)."""
    log_scale = np.empty(len(n))
    gamma = model.loadings.columns(len(n), model.n_components)
    blocks = (features.blocks, features.n_blocks)
    weights = _core.draw_loadings(n, gamma, *blocks, seed, sweep, log_scale, n_threads, kept=True)
    return plain_loadings(weights, log_scale, model.n_components)


def draw_scores(
    model: Model,
    part: Observations,
    c: npt.NDArray[np.int32],
    beside: Arrays,
    seed: int,
    sweep: int,
    n_threads: int,
) -> npt.NDArray[np.float32]:
    """Scores (I, K) of a part's documents from p(scores | c), and what they have `beside` c."""
    exposure, allowed = part.native_exposure, part.allowed
    where = (seed, sweep, n_threads, part.first)
    return _draw_scores(model, exposure, c, beside, *where, allowed=allowed)


def _draw_scores(
    model: Model,
    exposure: FloatArray | None,
    c: npt.NDArray[np.int32],
    beside: Arrays,
    seed: int,
    sweep: int,
    n_threads: int,
    first: int = 0,
    allowed: Allowed | None = None,
) -> npt.NDArray[np.float32]:
    if "leaf_counts" in beside:
        return _draw_of_pairs(model, exposure, beside, seed, sweep, n_threads, first)
    scores = large_array(c.shape)
    scored: Any = moment_scores(model)
    prior = scored.native(exposure, **({} if allowed is None else allowed.native))
    _core.draw_scores(c, prior, scores, seed, sweep, n_threads, first)
    return read_only(scores)


def _draw_of_pairs(
    model: Any,
    exposure: FloatArray | None,
    beside: Arrays,
    seed: int,
    sweep: int,
    n_threads: int,
    first: int,
) -> npt.NDArray[np.float32]:
    """Scores of nodes: of leaves by the model of leaves, and Υ given the words of the pairs."""
    of_leaves = _draw_scores(
        model.leaf_model, exposure, beside["leaf_counts"], {}, seed, sweep, n_threads, first
    )
    # In 64 bits each: as plain numbers large seeds would become floats, and all of them one.
    key = np.array([seed, (sweep << 8) | _STRUCTURE], dtype=np.uint64)
    # A part has random numbers of its own; where the corpus shares one Υ, all parts draw the same.
    place = first if model.scores.rows.per_document else 0
    counter = np.array([0, 0, place, 0], dtype=np.uint64)
    rng = np.random.Generator(np.random.Philox(key=key, counter=counter))
    upsilon = model.scores.rows.draw(beside["structure_counts"], rng)
    scores = large_array((len(of_leaves), model.n_components))
    scores[:] = model.scores.node_scores(of_leaves, upsilon)
    return read_only(scores)


def plain_loadings(
    weights: npt.NDArray[np.float32], log_scale: FloatArray, K: int
) -> npt.NDArray[np.float32]:
    """Θ (J, K) from the weights of a sweep, whose rows are scaled to a largest value of 1 and held
    at 1e-18 of it."""
    out = large_array((len(weights), K))
    scale = np.exp(log_scale).astype(np.float32)
    return read_only(np.multiply(weights[:, :K], scale[:, None], out=out))
