"""The prior of the loadings: θ_k ~ Dirichlet(γ) within each block of features (BJ06 IV.A, IV.D).

Jeffreys' γ = 0.5 is the default; the empirical prior of BJ04 §5 has the corpus's own smoothed
frequencies as mean and a total of one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.errors import InvalidParameter
from dcomp.models.arrays import FloatArray, equal_fields, in_range, positive_array, read_only
from dcomp.models.learning import polya_gamma


@dataclass(frozen=True, eq=False)
class DirichletLoadings:
    """θ_k ~ Dirichlet(γ) per block; γ a number for all features or one per feature.

    learned: whether a sampler learns γ; then it is one number for all features.

    >>> DirichletLoadings(0.5).per_feature(3)
    array([0.5, 0.5, 0.5])
    """

    gamma: FloatArray
    learned: bool

    def __init__(self, gamma: npt.ArrayLike = 0.5, learned: bool = False) -> None:
        value = in_range("gamma", positive_array("gamma", gamma))
        if value.ndim > 1:
            raise InvalidParameter(
                f"gamma must be a number or one number per feature; got shape {value.shape}"
            )
        if learned and value.ndim:
            raise InvalidParameter(
                f"a learned gamma is one number for all features; got {value.size} numbers"
            )
        object.__setattr__(self, "gamma", value)
        object.__setattr__(self, "learned", bool(learned))

    __eq__ = equal_fields

    def per_feature(self, n_features: int) -> FloatArray:
        """γ as an array of length J."""
        if self.gamma.ndim and len(self.gamma) != n_features:
            raise InvalidParameter(
                f"gamma must be a number or hold one number per feature ({n_features}); "
                f"got {len(self.gamma)}"
            )
        return read_only(np.broadcast_to(self.gamma, (n_features,)).astype(np.float64))

    def learn(
        self, n: npt.NDArray[Any], blocks: npt.NDArray[np.int32]
    ) -> tuple[DirichletLoadings, tuple[str, ...]]:
        """One step of learning a symmetric γ from drawn counts n (J, K), monotone in log p(n), and
        its name where it is at a limit; the same prior where γ is given."""
        if not self.learned:
            return self, ()
        gamma, capped = polya_gamma(float(self.gamma), n, blocks)
        return DirichletLoadings(gamma, learned=True), ("gamma",) if capped else ()

    def simulate(
        self, blocks: npt.NDArray[np.int32], n_components: int, rng: np.random.Generator
    ) -> FloatArray:
        """Draw Θ (J, K) from the prior; columns sum to 1 within each block."""
        gamma = self.per_feature(len(blocks))
        # Gammas are drawn in log space: small shapes underflow otherwise.
        shape = (n_components, len(blocks))
        log_draw = np.log(rng.standard_gamma(gamma + 1, shape)) + np.log(rng.random(shape)) / gamma
        Theta = np.empty((len(blocks), n_components))
        for g in range(int(blocks.max()) + 1):
            members = blocks == g
            part = np.exp(log_draw[:, members] - log_draw[:, members].max(1, keepdims=True))
            Theta[members] = (part / part.sum(1, keepdims=True)).T
        return Theta


def empirical_gamma(
    feature_totals: npt.NDArray[np.int64], blocks: npt.NDArray[np.int32]
) -> FloatArray:
    """γ_j = (n_j + 1) / Σ_j' (n_j' + 1) within each block: BJ04 §5, total one per block.

    >>> empirical_gamma(np.array([3, 0]), np.zeros(2, np.int32))
    array([0.8, 0.2])
    """
    smoothed = feature_totals + 1.0
    totals = np.bincount(blocks, weights=smoothed)
    return np.asarray(smoothed / totals[blocks], dtype=np.float64)


def log_dirichlet_density(
    Theta: FloatArray, gamma: FloatArray, blocks: npt.NDArray[np.int32]
) -> float:
    """log p(Θ) under Dirichlet(γ) per column and block, for Θ (J, K) with no zeros."""
    from scipy.special import gammaln

    K = Theta.shape[1]
    totals = np.bincount(blocks, weights=gamma)
    constant = float(K * (gammaln(totals).sum() - gammaln(gamma).sum()))
    return constant + float(((gamma - 1)[:, None] * np.log(Theta)).sum())
