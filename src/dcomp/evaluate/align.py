"""Which component of one fit is which of another: the numbering of components means nothing.

Components are compared by the Bhattacharyya coefficient of their loadings,
s_kk' = Σ_j √(θ_jk θ'_jk'): 1 for equal ones, 0 without a common feature; 1 − s is the squared
Hellinger distance. With blocks it is the mean over blocks. Pairs are chosen to make the sum of s
largest (the assignment problem, Kuhn's Hungarian method), before anything is averaged or compared
across fits, chains, or numbers of components.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.data import FeatureSpace
from dcomp.errors import InvalidParameter
from dcomp.inference import Draw
from dcomp.models.arrays import FloatArray, column_totals, read_only
from dcomp.result import Fit
from dcomp.result.of_estimator import as_fit

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Alignment:
    """A matching of the components of `other` to those of `reference`.

    permutation: for each component of the reference, the one of other that it is matched to, or −1.
    similarity: of each such pair, between 0 and 1; 0 where there is none.
    matrix: all similarities, reference by other.
    belongs: for each component of the one that has more, the most similar component of the one that
    has fewer; several can belong to one.
    """

    permutation: Numbers  # (K)
    similarity: FloatArray  # (K)
    matrix: FloatArray  # (K, K')
    belongs: Numbers  # (max(K, K'))

    @classmethod
    def from_similarity(cls, matrix: FloatArray) -> Alignment:
        """The best matching by these similarities (K, K').

        >>> Alignment.from_similarity(np.array([[0.2, 0.9], [0.3, 0.8]])).permutation
        array([1, 0])
        """
        # Imported here because it takes longer than all else that `import dcomp` needs.
        from scipy.optimize import linear_sum_assignment

        rows, columns = linear_sum_assignment(matrix, maximize=True)
        permutation = np.full(len(matrix), -1)
        permutation[rows] = columns
        similarity = np.zeros(len(matrix))
        similarity[rows] = matrix[rows, columns]
        finer = matrix if matrix.shape[0] >= matrix.shape[1] else matrix.T
        return cls(
            read_only(permutation),
            read_only(similarity),
            read_only(np.array(matrix)),
            read_only(finer.argmax(axis=1)),
        )

    @property
    def unmatched(self) -> tuple[list[int], list[int]]:
        """The components of the reference, and of other, that have no partner."""
        alone = np.flatnonzero(self.permutation < 0)
        spare = np.setdiff1d(np.arange(self.matrix.shape[1]), self.permutation)
        return alone.tolist(), spare.tolist()

    @property
    def mean(self) -> float:
        """The mean similarity of the matched pairs."""
        return float(self.similarity[self.permutation >= 0].mean())

    @property
    def chance(self) -> float:
        """The mean similarity of pairs that are matched at random: the mean of the matrix."""
        return float(self.matrix.mean())

    @property
    def agreement(self) -> float:
        """(mean − chance) / (1 − chance): 1 for equal components. Unrelated ones have a little
        more than 0, since the best of their matchings is better than one at random."""
        return (self.mean - self.chance) / max(1 - self.chance, 1e-12)

    def apply(self, array: npt.ArrayLike, axis: int = -1) -> npt.NDArray[Any]:
        """An array over the components of other, put into the order of the reference.

        Where other has more components, those without a partner come last, in their own order.

        >>> matching = Alignment.from_similarity(np.array([[0.2, 0.9], [0.3, 0.8]]))
        >>> matching.apply([[1, 2], [3, 4]], axis=0).tolist()
        [[3, 4], [1, 2]]
        """
        values = np.asarray(array)
        alone, spare = self.unmatched
        if alone:
            raise InvalidParameter(
                f"other has fewer components than the reference: nothing matches {alone}; "
                "align the other way round"
            )
        if values.shape[axis] != self.matrix.shape[1]:
            raise InvalidParameter(
                f"axis {axis} must have the {self.matrix.shape[1]} components of other; "
                f"it has {values.shape[axis]}"
            )
        return np.take(values, np.concatenate([self.permutation, spare]).astype(int), axis=axis)

    def __str__(self) -> str:
        pairs = (
            f"{k}: {'–' if other < 0 else other} ({value:.2f})"
            for k, (other, value) in enumerate(zip(self.permutation, self.similarity, strict=True))
        )
        return f"mean similarity {self.mean:.3f} (at random {self.chance:.3f}); " + ", ".join(pairs)


@dataclass(frozen=True, eq=False)
class ChainAlignment:
    """The chains of one fit, each matched to the chain that the fit shows.

    Each chain is matched as a whole, by the mean of its drawn loadings: within a chain components
    keep their numbers, and to match each draw by itself would hide it if they did not.
    """

    chains: tuple[Alignment, ...]  # (C)
    best: int  # the place of the reference among them

    @property
    def permutations(self) -> Numbers:
        """(C, K): row c has the components of chain c in the order of the fit."""
        return np.array([chain.permutation for chain in self.chains])

    @property
    def similarity(self) -> FloatArray:
        """(C, K) to the fit's own chain, whose row is 1."""
        return np.array([chain.similarity for chain in self.chains])

    @property
    def stability(self) -> FloatArray:
        """(K): how similar each component is in the other chains, on average; 1 is the same."""
        return np.asarray(np.delete(self.similarity, self.best, axis=0).mean(axis=0))

    @property
    def mean(self) -> float:
        """The mean similarity over the other chains and all components."""
        return float(self.stability.mean())

    @property
    def chance(self) -> float:
        """What that would be for pairs matched at random."""
        others = [chain.chance for c, chain in enumerate(self.chains) if c != self.best]
        return float(np.mean(others))

    def apply(self, array: npt.ArrayLike, axis: int = -1) -> npt.NDArray[Any]:
        """An array (chain, ...) such as those of `Fit.draws`, components in the fit's order."""
        values = np.asarray(array)
        if axis % values.ndim == 0 or len(values) != len(self.chains):
            raise InvalidParameter(
                f"the first axis must be the {len(self.chains)} chains, and another the "
                f"components; got shape {values.shape} and axis {axis}"
            )
        axis = axis if axis < 0 else axis - 1
        return np.stack(
            [chain.apply(part, axis) for chain, part in zip(self.chains, values, strict=True)]
        )

    def __str__(self) -> str:
        return (
            f"{len(self.chains)} chains: mean similarity of matched components {self.mean:.3f} "
            f"(at random {self.chance:.3f}), the least stable {self.stability.min():.3f}"
        )


def align(reference: Any, other: Any, *, blocks: npt.ArrayLike | None = None) -> Alignment:
    """Match the components of `other` to those of `reference`.

    Either is a Fit, a Draw with loadings, or components as scikit-learn has them, (K, J). The
    features must be the same; the numbers of components may differ.
    blocks: of the features, where neither is a Fit; one block unless given.

    >>> first = [[0.5, 0.5, 0, 0], [0, 0, 0.4, 0.6]]
    >>> found = align(first, [[0, 0.1, 0.5, 0.4], [0.6, 0.4, 0, 0], [0.2, 0.8, 0, 0]])
    >>> found.permutation, found.belongs, found.unmatched
    (array([1, 0]), array([1, 0, 0]), ([], [2]))
    """
    reference, other = (as_fit(x) if hasattr(x, "fit") else x for x in (reference, other))
    space = _common_features(reference, other)
    parts = [_loadings(x, name) for x, name in ((reference, "reference"), (other, "other"))]
    if len(parts[0]) != len(parts[1]):
        raise InvalidParameter(
            "components must be over the same features; reference has "
            f"{len(parts[0])}, other {len(parts[1])}"
        )
    if space is not None:
        kinds = space.blocks
    else:
        kinds = np.zeros(len(parts[0]), np.int32) if blocks is None else np.asarray(blocks)
        kinds = np.unique(kinds, return_inverse=True)[1].astype(np.int32)
    if kinds.shape != parts[0].shape[:1]:
        raise InvalidParameter(
            f"blocks must be one per feature, {len(parts[0])}; got shape {kinds.shape}"
        )
    first, second = (_normalised(part, kinds) for part in parts)
    return Alignment.from_similarity(similarity(first, second, kinds))


def align_chains(fit: Fit) -> ChainAlignment:
    """Match the components of a fit's chains, from their kept draws of the loadings.

    >>> import dcomp
    >>> X = np.random.default_rng(0).poisson([[4, 4, 0, 0]] * 9 + [[0, 0, 4, 4]] * 9)
    >>> sampler = dcomp.LDA(2, algorithm="gibbs", max_iter=60, n_draws=10, n_chains=3, verbose=0)
    >>> chains = align_chains(sampler.fit(X).fit_)
    >>> chains.permutations.shape, bool(chains.mean > 0.9)
    ((3, 2), True)
    """
    fit = as_fit(fit)
    draws = fit.draws
    if draws.Theta is None:
        raise InvalidParameter("no loadings are among the kept draws: fit with draws_of='loadings'")
    if draws.n_chains < 2:
        raise InvalidParameter("chains are aligned with one another: there must be 2; there is 1")
    means = [chain.mean(axis=0, dtype=np.float64) for chain in draws.Theta]
    blocks, reference = fit.features.blocks, means[draws.best]
    return ChainAlignment(
        tuple(Alignment.from_similarity(similarity(reference, mean, blocks)) for mean in means),
        draws.best,
    )


def similarity(first: FloatArray, second: FloatArray, blocks: npt.NDArray[np.int32]) -> FloatArray:
    """(K, K'): Bhattacharyya's coefficient of loadings (J, K) and (J, K'), mean over blocks."""
    n_blocks = int(blocks.max()) + 1
    return np.asarray(np.minimum(np.sqrt(first).T @ np.sqrt(second) / n_blocks, 1.0))


def _common_features(reference: Any, other: Any) -> FeatureSpace | None:
    spaces = [x.features for x in (reference, other) if isinstance(x, Fit)]
    if len(spaces) == 2 and spaces[0] != spaces[1]:
        raise InvalidParameter(
            "components must be over the same features in the same order; of the two fits "
            f"{spaces[0].difference(spaces[1])}"
        )
    return spaces[0] if spaces else None


def _loadings(thing: Any, name: str) -> FloatArray:
    """(J, K), non-negative."""
    if isinstance(thing, Fit):
        return np.asarray(thing.Theta, dtype=np.float64)
    if isinstance(thing, Draw):
        if thing.Theta is None:
            raise InvalidParameter(f"{name} must be a draw with loadings; it has none")
        return np.asarray(thing.Theta, dtype=np.float64)
    values = np.asarray(thing, dtype=np.float64)
    if values.ndim != 2 or not values.size:
        raise InvalidParameter(
            f"{name} must be a Fit, a Draw or components (K, J); got shape {values.shape}"
        )
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise InvalidParameter(f"{name} must have non-negative, finite loadings")
    return values.T


def _normalised(Theta: FloatArray, blocks: npt.NDArray[np.int32]) -> FloatArray:
    """Columns that sum to 1 within each block; all of a block's zeros stay zeros."""
    return np.asarray(Theta / np.maximum(column_totals(Theta, blocks), 1e-300)[blocks])
