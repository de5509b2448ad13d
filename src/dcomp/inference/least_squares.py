"""Matrix factorisation by least squares: W ≈ Z B, ‖W − ZB‖² small (B18 section 2, appendix A).

Three ways from one start, each sweep a step for B with Z given and one for Z with B given:

- "signed": the plain solutions (2.3), (2.4) of B18 A.1. Its minimum is the truncated singular value
  decomposition, which `dcomp.LSA` finds at once.
- "projected": the same with negative numbers set to 0, B18 A.2. No optimiser: a sweep can raise the
  loss, so the best sweep is kept.
- "coordinate-descent": each column of Z and row of B in turn at its non-negative minimum, which
  never raises the loss.

B18's own stopping rule, |Σ residuals|, is no distance; here the loss itself decides (MODELS §8).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.errors import InvalidParameter
from dcomp.inference.base import Info
from dcomp.inference.maximum_likelihood import FactorInfo
from dcomp.inference.run import CALLBACK, CONVERGED, INTERRUPTED, LIMIT, Callback
from dcomp.inference.start import generator
from dcomp.inference.stopping import WINDOW, in_the_long_run, to_come
from dcomp.models.arrays import FloatArray

LEAST_SQUARES = ("coordinate-descent", "projected", "signed")
# Z and B can lose rank (B18 inverts them all the same): directions below this share do not count.
_RANK = 1e-12
_ROUNDING = 1e-15  # of a sum of squares
_SAME = 1e-9  # losses this near, as a share, are one; then the later sweep is kept

# X, G, target -> the new X of ‖G X − target‖ small.
_HalfStep = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True)
class Factors:
    """Z (I, K) and B (K, J) with the loss of every sweep, as minus half the squared distance."""

    Z: FloatArray
    B: FloatArray
    history: tuple[Info, ...]
    reason: str  # "converged", "limit", "callback" or "interrupted"

    @property
    def loss(self) -> float:
        """½ ‖W − ZB‖²."""
        return -max(row.objective for row in self.history)


def factorise(
    W: Any,
    n_components: int,
    solver: str = "coordinate-descent",
    *,
    start: npt.ArrayLike | None = None,
    max_iter: int = 200,
    tol: float = 0.05,
    seed: int = 0,
    callbacks: Sequence[Callback] = (),
) -> Factors:
    """Z and B for a table W (I, J), dense or sparse; `start` is a first Z (I, K).

    It ends when less than `tol` nats per document are left to gain, of the Gaussian likelihood with
    the residual's own variance, − J/2 log loss: with J features, when the loss will fall by less
    than 2 tol / J of itself. The scale of W has no part in it. Sweeps of "projected", which may
    raise the loss, end when they come to rest by the same measure. Never with tol = 0.

    >>> found = factorise(np.outer([1.0, 2.0, 3.0], [2.0, 0.0, 1.0]), 1)
    >>> bool(found.loss < 1e-12)
    True
    """
    if solver not in LEAST_SQUARES:
        raise InvalidParameter(f"solver must be one of {', '.join(LEAST_SQUARES)}; got {solver!r}")
    if max_iter < 1 or not tol >= 0:
        raise InvalidParameter(
            f"max_iter must be at least 1 and tol at least 0; got {max_iter} and {tol}"
        )
    signed = solver == "signed"
    half_step = _descend if solver == "coordinate-descent" else _solver(signed)
    Z = _first_scores(W, n_components, start, seed, signed=signed)
    B = np.zeros((n_components, W.shape[1]))
    size = _squared_size(W)
    rows: list[Info] = []
    moved: list[float] = []  # by each sweep after the first, in nats
    best, lowest, reason = (Z, B), np.inf, LIMIT
    try:
        for sweep in range(1, max_iter + 1):
            Z, B, loss, breach = _sweep(W, Z, B, size, half_step, signed)
            if loss <= lowest * (1 + _SAME):
                best, lowest = (Z, B), min(loss, lowest)
            gained = _nats(W, loss, size) - _nats(W, -rows[-1].objective, size) if rows else 0.0
            moved += [abs(gained) if abs(gained) > _noise(W, loss, size) else 0.0] * bool(rows)
            change = gained / W.shape[0] if rows else None
            rows.append(FactorInfo(sweep, -loss, -loss, 1.0, change=change, residual=breach))
            answers = [callback(rows[-1]) for callback in callbacks]  # all of them, always
            if any(answers):
                reason = CALLBACK
                break
            if tol > 0 and _left(moved) < tol * W.shape[0]:
                reason = CONVERGED
                break
    except KeyboardInterrupt:
        if not rows:
            raise
        reason = INTERRUPTED
    return Factors(*best, tuple(rows), reason)


def _sweep(
    W: Any, Z: FloatArray, B: FloatArray, size: float, half_step: _HalfStep, signed: bool
) -> tuple[FloatArray, FloatArray, float, float]:
    """B with Z given, then Z with B given; the loss after them, and the breach before the last."""
    B = half_step(B, Z.T @ Z, _times(Z.T, W))
    G, target = B @ B.T, _times(B, W.T)
    gradient = G @ Z.T - target
    breach = float(np.abs(gradient if signed else np.minimum(Z.T, gradient)).max())
    Z = half_step(Z.T, G, target).T
    # ‖W − ZB‖² = ‖W‖² − 2 Σ Zᵀ∘(BWᵀ) + Σ (ZᵀZ)∘(BBᵀ): the whole of ZB is never written out.
    squares = size - 2 * float((Z.T * target).sum()) + float((G * (Z.T @ Z)).sum())
    return Z, B, max(0.5 * squares, 0.0), breach


def scores_given(W: Any, B: FloatArray, n_rounds: int = 200) -> FloatArray:
    """Non-negative Z (I, K) of least squares for new documents, B given."""
    G, target = B @ B.T, _times(B, W.T)
    Z = _solver(signed=False)(target, G, target)
    for _ in range(n_rounds):
        before, Z = Z, _descend(Z, G, target)
        if np.abs(Z - before).max(initial=0) <= 1e-9 * np.abs(Z).max(initial=1):
            break
    return np.ascontiguousarray(Z.T)


def signed_scores_given(W: Any, B: FloatArray) -> FloatArray:
    """Z (I, K) of least squares for new documents, B given, of any sign: (2.4) of B18.

    >>> signed_scores_given(np.array([[1.0, -2.0]]), np.array([[0.5, -1.0]]))
    array([[2.]])
    """
    target = _times(B, W.T)
    return np.ascontiguousarray(_solver(signed=True)(target, B @ B.T, target).T)


def _first_scores(
    W: Any, n_components: int, start: npt.ArrayLike | None, seed: int, *, signed: bool
) -> FloatArray:
    shape = (W.shape[0], n_components)
    if start is None:
        rng = generator(seed, purpose=1)
        return rng.standard_normal(shape) if signed else rng.random(shape)
    Z = np.array(start, dtype=np.float64)
    if Z.shape != shape or not np.isfinite(Z).all() or not (signed or (Z >= 0).all()):
        rule = "finite numbers" if signed else "finite numbers, none below 0"
        raise InvalidParameter(f"start must hold {rule}, in shape {shape}; got shape {Z.shape}")
    return Z


def _solver(signed: bool) -> _HalfStep:
    """X of G X = target, (2.3) and (2.4); projected onto the non-negative unless signed."""

    def solve(X: FloatArray, G: FloatArray, target: FloatArray) -> FloatArray:
        found = np.asarray(np.linalg.pinv(G, rcond=_RANK, hermitian=True) @ target)
        return found if signed else np.maximum(found, 0)

    return solve


def _descend(X: FloatArray, G: FloatArray, target: FloatArray) -> FloatArray:
    """Each row of X (K, n) in turn at the minimum of ½ tr XᵀGX − tr Xᵀtarget over X ≥ 0."""
    X = np.ascontiguousarray(X).copy()
    for k in range(len(X)):
        if G[k, k] > 0:
            X[k] = np.maximum(X[k] + (target[k] - G[k] @ X) / G[k, k], 0)
    return X


def _times(left: FloatArray, right: Any) -> FloatArray:
    """A product with a table that may be sparse."""
    return np.asarray(right.T @ left.T).T


def _nats(W: Any, loss: float, size: float) -> float:
    """The log-likelihood of the Gaussian with the residual's own variance, up to a constant. What
    is below 1e-12 of the table is an exact fit."""
    return float(-0.5 * W.shape[0] * W.shape[1] * np.log(max(loss, 1e-12 * size, 1e-300)))


def _noise(W: Any, loss: float, size: float) -> float:
    """Nats that rounding may change, where the loss is what is left of the squares of the table."""
    return float(0.5 * W.shape[0] * W.shape[1] * _ROUNDING * size / max(loss, 1e-12 * size, 1e-300))


def _left(moved: Sequence[float]) -> float:
    """Nats that are still to come: by the rate of the last ten sweeps, or by what all of them
    promise, the larger; infinite before there are enough to tell."""
    n = len(moved)
    if n < 4 * WINDOW:
        return float("inf")
    half, quarter = (float(sum(moved[n * part // 4 :])) for part in (2, 3))
    return max(to_come(np.asarray(moved[-WINDOW:])), in_the_long_run(half, quarter))


def _squared_size(W: Any) -> float:
    return float(W.multiply(W).sum()) if hasattr(W, "multiply") else float((W * W).sum())
