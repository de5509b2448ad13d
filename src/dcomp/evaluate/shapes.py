"""What gamma distribution each component's scores follow: C04 3.1 and its figure 2.

The shape says how many passages a theme tends to have in a document: 1 is a memoryless number of
words, below 1 most documents have next to none, above 1 a theme comes in several passages or not
at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.models.arrays import FloatArray
from dcomp.models.learning import solve_shape
from dcomp.result import Fit
from dcomp.result.of_estimator import as_fit


@dataclass(frozen=True)
class ScoreShapes:
    """Maximum-likelihood gamma of each component's scores over the documents that have it."""

    shape: FloatArray  # (K)
    scale: FloatArray  # (K): mean of the score divided by the shape
    n_docs: FloatArray  # (K): documents with more than `threshold` expected words of it

    def __str__(self) -> str:
        pairs = enumerate(zip(self.shape, self.scale, strict=True))
        parts = (f"{k}: {shape:.2f} × {scale:.3g}" for k, (shape, scale) in pairs)
        return "shape × scale of the scores: " + ", ".join(parts)


def score_shapes(fit: Fit, threshold: float = 0.5) -> ScoreShapes:
    """Fit a gamma to each component's scores, l of a GP model (C04 figure 2): of documents with
    more than `threshold` expected words of the component, because a mode of 0 says nothing of its
    shape. A component with fewer than two such documents has shape and scale 0.

    >>> import dcomp
    >>> model = dcomp.GaP(1, algorithm="map", verbose=0).fit([[3, 5], [1, 2], [8, 4], [2, 2]])
    >>> shapes = score_shapes(model.fit_)
    >>> bool(2 < shapes.shape[0] < 4), int(shapes.n_docs[0])
    (True, 4)
    """
    fit = as_fit(fit)
    if not fit.model.has_exposure:
        raise UnsupportedCombination(
            f"model {fit.model.key} has shares for scores, which no gamma describes; fit GP (GaP)"
        )
    if not threshold >= 0:
        raise InvalidParameter(f"threshold must be at least 0 words; got {threshold}")
    shape, scale, n_docs = (np.zeros(fit.n_components) for _ in range(3))
    for k in range(fit.n_components):
        own = fit.scores[fit.expected_counts[:, k] > threshold, k].astype(np.float64)
        own = own[own > 0]
        n_docs[k] = len(own)
        if len(own) > 1:
            shape[k] = solve_shape(np.array([np.log(own.mean()) - np.log(own).mean()]))[0]
            scale[k] = own.mean() / shape[k]
    return ScoreShapes(shape, scale, n_docs)
