"""A beginning that is given: words of documents and of features per component, as another fit, cut
or joined, has left them. Samplers draw a component for each word from it; climbs go on from it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.executors import Executor
from dcomp.inference.base import Algorithm
from dcomp.inference.mean_field import Weights
from dcomp.inference.sampler_start import MeanFieldStart
from dcomp.inference.state import Local, State
from dcomp.models import Model, Observations
from dcomp.models.arrays import read_only

LEAST = 1e-3  # of a component's mean share in any document: nothing is ruled out


def can_begin_at(model: Model, algorithm: Algorithm) -> bool:
    """Whether a fit can: of components that are all alike beforehand, with no edges between them,
    by an algorithm whose c and n say where it stands."""
    if model.loadings.is_own or model.scores.nodes is not None:
        return False
    if algorithm.samples:
        return hasattr(algorithm, "init_at") and model.scores.capabilities.tokens == "linear"
    return algorithm.is_plain and algorithm.divides_words


def state_at(
    model: Model,
    algorithm: Algorithm,
    observed: Observations,
    c: npt.NDArray[Any],
    n: npt.NDArray[Any],
    seed: int,
    executor: Executor,
) -> State:
    """Where a fit begins that is told c (I, K) and n (J, K), before its first sweep."""
    c, n = np.ascontiguousarray(c + LEAST * c.mean(axis=1, keepdims=True)), np.ascontiguousarray(n)
    firsts = (*observed.counts.firsts, observed.counts.n_docs)
    pieces = [c[a:b] for a, b in pairwise(firsts)]
    how: Any = algorithm
    if algorithm.samples:
        locals_ = [Local(read_only(piece.astype(np.float32))) for piece in pieces]
        Theta = n + LEAST * n.mean(axis=1, keepdims=True) + 1e-9
        begin = MeanFieldStart(model, locals_, Weights.of_loadings(Theta / Theta.sum(axis=0)))
        return how.init_at(begin, observed, seed, executor)  # type: ignore[no-any-return]
    begun = algorithm.init(model, observed, seed, executor)
    dtype = begun.n.dtype
    locals_ = [
        replace(local, c=read_only(piece.astype(dtype)), carried={})
        for local, piece in zip(begun.locals, pieces, strict=True)
    ]
    shared = replace(begun.shared, n=read_only(np.asarray(n, dtype=dtype)))
    return replace(begun, shared=shared, locals=locals_)
