"""More than one M-step in a pass of EM at modes: C04 3.5.

Given the scores of all documents, a step for Θ needs of a feature its own row alone: where scores
are in memory it costs little beside the 8 to 20 steps of every document, and can be repeated. Each
is C04 (9), with a prior as in MODELS §4: n_jk = θ_jk Σ_i (w_ij / y_ij) x_ik, then Θ from n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dcomp import _core
from dcomp.executors import Executor
from dcomp.inference.base import FloatingArray
from dcomp.inference.mean_field import Weights, padded_columns
from dcomp.inference.state import Local
from dcomp.models import Model, Observations
from dcomp.models.options import Option

M_STEPS = Option(
    "m_steps",
    "whole",
    "steps for loadings per sweep, scores held (C04 3.5).",
    least=1,
    shown="1",
    panel="Course of a fit",
)


@dataclass(frozen=True)
class _Given:
    """What every part is told: its scores are its own."""

    model: Model
    Theta: FloatingArray  # (J, K)


def repeated_m_steps(
    model: Model,
    observed: Observations,
    locals_: Any,
    n: FloatingArray,
    treatment: str,
    n_more: int,
    executor: Executor,
) -> FloatingArray:
    """n after `n_more` further steps for Θ, the scores held at the modes that c gives them. No step
    lowers log p(w, scores, Θ)."""
    features, K = observed.counts.features, model.n_components
    for _ in range(n_more):
        weights = Weights.build(model, features, n, treatment, executor.n_threads)
        scale = np.exp(weights.log_scale).astype(n.dtype)
        Theta = np.ascontiguousarray(weights.Theta[:, :K] * scale[:, None])
        _, n = executor.map_reduce(_m_step, observed.parts, locals_, _Given(model, Theta))
    return n


def _m_step(
    part: Observations, local: Local, how: _Given, n_threads: int
) -> tuple[Local, FloatingArray]:
    """A part's share of n by C04 (9), features one by one."""
    prior: Any = how.model.scores
    x = part.ask(prior, "posterior_mode", local.c).astype(local.c.dtype)
    n = np.empty_like(how.Theta)
    _core.factor(
        part.by_feature, padded_columns(x), how.Theta, n, "multiplicative", 1, 0.0, n_threads
    )
    return local, n
