"""Documents and features of a fit in a plane: B18 4 and its figure 4.1, by the fit's own
expectation of each document in place of the noisy counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dcomp.errors import InvalidParameter
from dcomp.models.arrays import FloatArray, read_only
from dcomp.result.of_estimator import as_fit


@dataclass(frozen=True, eq=False)
class PrincipalPlane:
    """The principal axes of E[p(j | document)]: `points` of documents (I, n), `arrows` of features
    (J, n), and the part of the variance that each axis has. points · arrowsᵀ + mean gives the
    expectations back, all of them where n is K − 1."""

    points: FloatArray
    arrows: FloatArray
    explained: FloatArray  # (n)
    mean: FloatArray  # (J)


def principal_plane(fit: Any, n: int = 2) -> PrincipalPlane:
    """The n principal axes of documents as a fit has them, without forming the table: of shares
    times loadings, through the K dimensions that these have.

    >>> import dcomp
    >>> X = np.random.default_rng(0).poisson([[4, 4, 0, 0]] * 20 + [[0, 0, 4, 4]] * 20)
    >>> found = principal_plane(dcomp.LDA(3, verbose=0).fit(X))
    >>> found.points.shape, found.arrows.shape, bool(found.explained[0] > 0.9)
    ((40, 2), (4, 2), True)
    """
    fit = as_fit(fit)
    if not 1 <= n <= fit.n_components:
        raise InvalidParameter(f"n must be from 1 to K = {fit.n_components}; got {n}")
    scores = np.asarray(fit.scores, np.float64)
    shares = scores / np.maximum(scores.sum(axis=1, keepdims=True), 1e-300)
    centre, Theta = shares.mean(axis=0), np.asarray(fit.Theta, np.float64)
    rows, of_rows = np.linalg.qr(shares - centre)
    columns, of_columns = np.linalg.qr(Theta)
    left, size, right = np.linalg.svd(of_rows @ of_columns.T)
    points = rows @ left[:, : len(size)] * size
    arrows = columns @ right[: len(size)].T
    # A sign is arbitrary: the heaviest feature of each axis points to the right, or up.
    heaviest = np.abs(arrows).argmax(axis=0)
    sign = np.where(arrows[heaviest, np.arange(arrows.shape[1])] < 0, -1.0, 1.0)
    part = size**2 / max(float(np.sum(size**2)), 1e-300)
    return PrincipalPlane(
        read_only((points * sign)[:, :n]),
        read_only((arrows * sign)[:, :n]),
        read_only(part[:n]),
        read_only(Theta @ centre),
    )
