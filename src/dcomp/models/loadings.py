"""The prior of the loadings: θ_k ~ Dirichlet(γ) within each block of features (BJ06 IV.A, IV.D),
and what is known of them beforehand (MODELS §11).

Jeffreys' γ = 0.5 is the default; the empirical prior of BJ04 §5 has the corpus's own smoothed
frequencies as mean and a total of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.models.arrays import (
    FloatArray,
    column_totals,
    equal_fields,
    in_range,
    positive_array,
    read_only,
)
from dcomp.models.learning import polya_gamma

# A component whose loadings are given has γ = θ times this: a prior beside which no count is seen,
# so that every kernel treats it as data without knowing of it (MODELS §11).
GIVEN = 1e30
LEAST_GIVEN = 1e-9  # of a given loading: what has never been seen is rare, not impossible


@dataclass(frozen=True, eq=False)
class DirichletLoadings:
    """θ_k ~ Dirichlet(γ_k) per block; γ a number for all features, one per feature, or (K, J): a
    prior of its own for every component.

    learned: whether a sampler learns γ; then it is one number for all features.
    fixed, fixed_at: loadings (components, J) that are given and not found, and the numbers of the
    components that have them (MODELS §11). names: of all components, where they have some.

    >>> DirichletLoadings(0.5).per_feature(3)
    array([0.5, 0.5, 0.5])
    >>> DirichletLoadings([[0.5, 9.5], [0.5, 0.5]]).columns(2, 2)
    array([[0.5, 0.5],
           [9.5, 0.5]])
    """

    gamma: FloatArray
    learned: bool
    fixed: FloatArray | None
    fixed_at: tuple[int, ...]
    names: tuple[str, ...] | None

    def __init__(
        self,
        gamma: npt.ArrayLike = 0.5,
        learned: bool = False,
        fixed: npt.ArrayLike | None = None,
        fixed_at: Sequence[int] = (),
        names: Sequence[str] | None = None,
    ) -> None:
        value = in_range("gamma", positive_array("gamma", gamma))
        if value.ndim > 2:
            raise InvalidParameter(
                "gamma must be a number, one number per feature, or (components, features); got "
                f"shape {value.shape}"
            )
        if learned and value.ndim:
            raise InvalidParameter(
                f"a learned gamma is one number for all features; got {value.size} numbers"
            )
        given = None if fixed is None else positive_array("fixed", fixed)
        where = tuple(int(k) for k in fixed_at)
        if given is not None and (given.ndim != 2 or len(given) != len(set(where))):
            raise InvalidParameter(
                f"fixed loadings must have a row for each of {len(where)} components; got shape "
                f"{given.shape}"
            )
        if learned and given is not None:
            raise UnsupportedCombination(
                "gamma='auto' is learned from components that are found, and here some are fixed: "
                "give a number"
            )
        for name, field in (("gamma", value), ("learned", bool(learned)), ("fixed", given)):
            object.__setattr__(self, name, field)
        object.__setattr__(self, "fixed_at", where if given is not None else ())
        object.__setattr__(self, "names", None if names is None else tuple(map(str, names)))

    __eq__ = equal_fields

    @property
    def is_own(self) -> bool:
        """Whether components have priors of their own, or some are given."""
        return self.gamma.ndim == 2 or self.fixed is not None

    def free(self, n_components: int) -> npt.NDArray[np.int64]:
        """The components that are found."""
        return np.setdiff1d(np.arange(n_components), self.fixed_at)

    def check(self, n_features: int, n_components: int) -> None:
        """An error unless all of it belongs to so many features and components."""
        if self.gamma.ndim == 1 and len(self.gamma) != n_features:
            raise InvalidParameter(
                f"gamma must be a number or hold one number per feature ({n_features}); "
                f"got {len(self.gamma)}"
            )
        shape = (n_components, n_features)
        if self.gamma.ndim == 2 and self.gamma.shape != shape:
            raise InvalidParameter(
                f"gamma must be a number, one number per feature, or (components, features) = "
                f"{shape}; got shape {self.gamma.shape}"
            )
        if self.fixed is not None and self.fixed.shape[1] != n_features:
            raise InvalidParameter(
                f"fixed loadings must have a number for each of {n_features} features; got "
                f"{self.fixed.shape[1]}"
            )
        if any(not 0 <= k < n_components for k in self.fixed_at):
            raise InvalidParameter(
                f"{len(self.fixed_at)} components are fixed, and there are {n_components}"
            )
        if self.names is not None and len(self.names) != n_components:
            raise InvalidParameter(
                f"names must be those of {n_components} components; got {len(self.names)}"
            )

    def per_feature(self, n_features: int) -> FloatArray:
        """γ as an array of length J, where one prior serves all components."""
        if self.is_own:
            raise UnsupportedCombination(
                "this needs one prior for the loadings of all components; here some have their "
                "own (gamma of two axes, seed_words= or fixed=)"
            )
        self.check(n_features, len(self.names or ()))
        return read_only(np.broadcast_to(self.gamma, (n_features,)).astype(np.float64))

    def columns(self, n_features: int, n_components: int) -> FloatArray:
        """γ as kernels take it: (J), or (J, K) where components have their own; of those that are
        given GIVEN times θ."""
        self.check(n_features, n_components)
        if not self.is_own:
            return read_only(np.broadcast_to(self.gamma, (n_features,)).astype(np.float64))
        rows = self.gamma if self.gamma.ndim == 2 else self.gamma * np.ones((1, n_features))
        out = np.broadcast_to(rows, (n_components, n_features)).astype(np.float64)
        if self.fixed is not None:
            out[list(self.fixed_at)] = GIVEN * self.fixed
        return read_only(np.ascontiguousarray(out.T))

    def table(self, n_features: int, n_components: int) -> FloatArray:
        """The same as (J, 1) or (J, K), for sums with counts n (J, K)."""
        gamma = self.columns(n_features, n_components)
        return gamma if gamma.ndim == 2 else gamma[:, None]

    def with_names(self, names: Sequence[str] | None) -> DirichletLoadings:
        """With other names of components."""
        return replace(self, names=None if names is None else tuple(names))

    def learn(
        self, n: npt.NDArray[Any], blocks: npt.NDArray[np.int32]
    ) -> tuple[DirichletLoadings, tuple[str, ...]]:
        """One step of learning a symmetric γ from drawn counts n (J, K), monotone in log p(n), and
        its name where it is at a limit; the same prior where γ is given."""
        if not self.learned:
            return self, ()
        gamma, capped = polya_gamma(float(self.gamma), n, blocks)
        return replace(self, gamma=np.asarray(gamma)), ("gamma",) if capped else ()

    def simulate(
        self, blocks: npt.NDArray[np.int32], n_components: int, rng: np.random.Generator
    ) -> FloatArray:
        """Draw Θ (J, K) from the prior; columns sum to 1 within each block."""
        gamma = np.broadcast_to(
            self.table(len(blocks), n_components), (len(blocks), n_components)
        ).T
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
    """log p(Θ) under Dirichlet(γ) per column and block, for Θ (J, K) with no zeros; γ (J), (J, 1)
    or (J, K)."""
    from scipy.special import gammaln

    table = np.broadcast_to(gamma if gamma.ndim == 2 else gamma[:, None], Theta.shape)
    constant = gammaln(column_totals(table, blocks)).sum() - gammaln(table).sum()
    return float(constant) + float(((table - 1) * np.log(Theta)).sum())
