"""How sure signatures are: fits of resampled tumours, a consensus of their components, and how well
these agree, by number of signatures.

A replicate draws every tumour's mutations anew from its own (multinomial, as many as it has) and is
fitted from a start of its own. Its components are matched one to one to the consensus (Hungarian,
by cosine), the consensus is the mean of what is matched, and so on until nothing moves: each
replicate has one component in each cluster. The stability of a signature is the mean silhouette of
its cluster, with 1 - cosine as the distance (Alexandrov et al. 2013): 1 where all replicates have
the same, 0 or below where another cluster is as close.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp import validation
from dcomp.data import Counts
from dcomp.errors import InvalidParameter, held_warnings
from dcomp.evaluate.align import Alignment
from dcomp.evaluate.plotting import axes_or_new
from dcomp.models.arrays import FloatArray, read_only
from dcomp.use.cosine import cosines

STABLE, LEAST = 0.8, 0.2  # mean and smallest stability of a K that the field takes for stable
_ROUNDS = 50  # of matching, at most; it settles in a few
Fitted = tuple[FloatArray, FloatArray]  # loadings (K, J), exposures (I, K)


@dataclass(frozen=True, eq=False)
class Consensus:
    """The signatures that replicates have in common, for one K.

    stability: of each signature, between -1 and 1. errors: of each replicate the reconstruction
    error of the table it was given, |X - E S| / |X| (Frobenius).
    """

    loadings: FloatArray  # (K, J); each sums to 1
    stability: FloatArray  # (K)
    errors: FloatArray  # (replicates)

    @property
    def n_components(self) -> int:
        """K."""
        return len(self.loadings)

    @property
    def mean(self) -> float:
        """The mean stability."""
        return float(self.stability.mean())

    @property
    def is_stable(self) -> bool:
        """By the field's thresholds: 0.8 on average, and no signature below 0.2."""
        return self.mean >= STABLE and float(self.stability.min()) >= LEAST

    def ordered_as(self, loadings: FloatArray) -> Consensus:
        """The same signatures in the order of these, by cosine."""
        order = Alignment.from_similarity(cosines(loadings, self.loadings)).permutation
        return replace(
            self,
            loadings=read_only(self.loadings[order]),
            stability=read_only(self.stability[order]),
        )


@dataclass(frozen=True, eq=False)
class Stability:
    """The consensus of each K that was tried.

    >>> even = np.full((1, 2), 0.5)
    >>> one = Consensus(even, np.array([0.9]), np.array([0.2, 0.3]))
    >>> print(Stability((one,), 2))
    stability of signatures over 2 resampled fits
     K  stability: mean, least   error
     1             0.90   0.90  0.2500  recommended
    (recommended: the largest K of mean stability 0.8 or more and none below 0.2)
    """

    found: tuple[Consensus, ...]  # by K
    n_replicates: int

    @property
    def ks(self) -> tuple[int, ...]:
        """The numbers of signatures."""
        return tuple(one.n_components for one in self.found)

    @property
    def recommended(self) -> int | None:
        """The largest K that is stable; None where none is."""
        return max((one.n_components for one in self.found if one.is_stable), default=None)

    def of(self, n_components: int) -> Consensus:
        """The consensus of one K."""
        if n_components not in self.ks:
            raise InvalidParameter(f"the K that were tried are {self.ks}; got {n_components}")
        return self.found[self.ks.index(n_components)]

    def lines(self) -> list[str]:
        """A line for each K, and what the recommendation is."""
        out = [
            f"stability of signatures over {self.n_replicates} resampled fits",
            " K  stability: mean, least   error",
        ]
        for one in self.found:
            mark = "  recommended" if one.n_components == self.recommended else ""
            least = float(one.stability.min())
            out.append(
                f"{one.n_components:>2}{one.mean:>17.2f}{least:>7.2f}{one.errors.mean():>8.4f}{mark}"
            )
        rule = f"the largest K of mean stability {STABLE} or more and none below {LEAST}"
        if self.recommended is None:
            return [*out, f"(none is recommended: that would be {rule})"]
        if self.recommended == max(self.ks) and len(self.ks) > 1:
            out.append("the largest K tried is stable: more may be, too")
        return [*out, f"(recommended: {rule})"]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def as_record(self) -> list[dict[str, Any]]:
        """For programs: a record for each K."""
        return [
            {
                "n_components": one.n_components,
                "stability": one.stability.tolist(),
                "mean_stability": one.mean,
                "error": float(one.errors.mean()),
                "recommended": one.n_components == self.recommended,
                "loadings": one.loadings.tolist(),
            }
            for one in self.found
        ]

    def plot(self, axes: Any = None) -> Any:
        """Mean and smallest stability and the reconstruction error by K, on matplotlib axes."""
        axes = axes_or_new(axes, size=(5, 3.2))
        axes.plot(self.ks, [one.mean for one in self.found], "o-", color="black", label="stability")
        least = [float(one.stability.min()) for one in self.found]
        axes.plot(self.ks, least, "o:", color="grey", label="of the least stable")
        errors = [float(one.errors.mean()) for one in self.found]
        axes.plot(self.ks, errors, "s--", color="#0072b2", label="reconstruction error")
        axes.axhline(STABLE, color="black", lw=0.4)
        axes.set_xlabel("signatures")
        axes.set_xticks(self.ks)
        axes.legend(fontsize=7, frameon=False)
        return axes


def stability_of(
    counts: Counts,
    ks: Iterable[int],
    fit_one: Callable[[Counts, int, int], Fitted],
    *,
    n_replicates: int,
    seed: int,
) -> Stability:
    """The consensus of each K; `fit_one` gives loadings and exposures of counts, K and a seed."""
    validation.whole_number("n_replicates", n_replicates, 2)
    found = []
    for K in ks:
        validation.whole_number("n_components", K, 1)
        replicates, errors = [], []
        for number in range(n_replicates):
            own = int(np.random.SeedSequence([seed, K, number]).generate_state(1)[0])
            again = resampled(counts, own)
            with held_warnings():  # their agreement is what is judged
                loadings, exposures = fit_one(again, K, own)
            replicates.append(loadings)
            errors.append(reconstruction_error(again, loadings, exposures))
        found.append(consensus_of(replicates, errors))
    return Stability(tuple(found), n_replicates)


def resampled(counts: Counts, seed: int) -> Counts:
    """Every document drawn anew from its own words, as many as it has (rounded, where counts are
    fractional).

    >>> counts = Counts.from_matrix([[3, 1], [0, 5]])
    >>> resampled(counts, 1).doc_totals.tolist()
    [4, 5]
    """
    rng = np.random.Generator(np.random.Philox(seed))
    data = np.zeros(counts.nnz, np.int64)
    for a, b in zip(counts.indptr[:-1].tolist(), counts.indptr[1:].tolist(), strict=True):
        if b > a:
            own = np.asarray(counts.data[a:b], np.float64)
            data[a:b] = rng.multinomial(round(own.sum()), own / own.sum())
    return rebuilt(counts, data)


def down_weighted(counts: Counts, most: float) -> Counts:
    """Documents of more than `most` words, each word of which counts for less, so that they have
    `most` in all; fractional counts.

    >>> down_weighted(Counts.from_matrix([[6, 2], [1, 1]]), 4).to_scipy().toarray().tolist()
    [[3.0, 1.0], [1.0, 1.0]]
    """
    totals = np.asarray(counts.doc_totals, np.float64)
    weight = np.minimum(1.0, most / np.maximum(totals, 1e-300))
    return rebuilt(counts, counts.data * np.repeat(weight, np.diff(counts.indptr)))


def rebuilt(counts: Counts, data: npt.NDArray[Any]) -> Counts:
    """The same table with other entries, of which some may be 0."""
    matrix = counts.to_scipy().tocsr().copy()
    matrix.data = data
    matrix.eliminate_zeros()
    return Counts.from_matrix(
        matrix,
        feature_names=counts.features.names,
        doc_ids=counts.doc_ids,
        fractional=data.dtype.kind == "f",
    )


def reconstruction_error(counts: Counts, loadings: FloatArray, exposures: FloatArray) -> float:
    """|X - E S| / |X|, Frobenius."""
    X = counts.to_scipy().toarray().astype(np.float64)
    whole = float(np.linalg.norm(X))
    return float(np.linalg.norm(X - exposures @ loadings)) / max(whole, 1e-300)


def consensus_of(replicates: Sequence[FloatArray], errors: Sequence[float]) -> Consensus:
    """The consensus of replicates' loadings (K, J), and its stability.

    >>> a, b = np.array([0.9, 0.1, 0.0]), np.array([0.0, 0.2, 0.8])
    >>> found = consensus_of([np.array([a, b]), np.array([b, a])], [0.1, 0.2])
    >>> found.stability.round(2).tolist()
    [1.0, 1.0]
    """
    centre = np.asarray(replicates[int(np.argmin(errors))], np.float64)
    places: list[list[int]] = []
    for _ in range(_ROUNDS):
        matched = [Alignment.from_similarity(cosines(centre, one)) for one in replicates]
        now = [one.permutation.tolist() for one in matched]
        if now == places:
            break
        places = now
        stacked = np.stack([one[place] for one, place in zip(replicates, places, strict=True)])
        centre = stacked.mean(axis=0)
    centre = centre / np.maximum(centre.sum(axis=1, keepdims=True), 1e-300)
    order = np.stack([one[place] for one, place in zip(replicates, places, strict=True)])
    return Consensus(read_only(centre), read_only(silhouettes(order)), read_only(np.array(errors)))


def silhouettes(members: FloatArray) -> FloatArray:
    """The mean silhouette of each cluster, (K); members (replicate, K, J) have one of each cluster
    in every replicate. Of a single cluster there is no other: its mean cosine.

    >>> x = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> silhouettes(np.array([x, x])).tolist()
    [1.0, 1.0]
    """
    R, K, _ = members.shape
    flat = members.reshape(R * K, -1)
    distance = 1 - cosines(flat, flat).reshape(R, K, R, K)
    within = distance.sum(axis=2)  # of each member to the members of each cluster, (R, K, K)
    own = within[:, np.arange(K), np.arange(K)] / max(R - 1, 1)  # itself is at 0
    if K == 1:
        return np.asarray(1 - own.mean(axis=0))
    other = within / R
    other[:, np.arange(K), np.arange(K)] = np.inf
    nearest = other.min(axis=2)
    value = (nearest - own) / np.maximum(np.maximum(nearest, own), 1e-300)
    return np.asarray(value.mean(axis=0))
