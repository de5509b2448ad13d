"""Cross-validation by hidden genotypes: how many ancestries predict calls that were not seen.

Every call that was made (a person at a locus) is hidden in one of some folds. The rest is fitted,
and the hidden ones are told: the error is the mean of n log(n/μ) + (2 − n) log((2 − n)/(2 − μ))
over them, n copies of an allele where μ are expected (Alexander and Lange 2011); of several alleles
the sum over all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

import numpy as np
import numpy.typing as npt

from dcomp import validation
from dcomp.data import Counts
from dcomp.errors import InvalidParameter
from dcomp.models.arrays import FloatArray

_AT_ONCE = 1 << 18  # entries
_LEAST = 1e-5  # ADMIXTURE's bound on frequencies, and on what is predicted
Fitted = tuple[FloatArray, FloatArray]  # Q (I, K) and loadings (J, K)


@dataclass(frozen=True)
class CrossValidation:
    """The error by number of ancestries, with its standard error over folds; and by fold, where
    all numbers are told the same calls: their differences are much surer than the errors are.

    >>> by_fold = ((0.55, 0.45, 0.5), (0.45, 0.36, 0.39))
    >>> found = CrossValidation((2, 3), (0.5, 0.4), (0.03, 0.03), 3, by_fold)
    >>> found.recommended, found.indistinct
    (3, (3,))
    >>> print(found)
    cross-validation by hidden genotypes, 3 folds
     K   error
     2  0.5000 ± 0.0300  0.1000 ± 0.0058 above, fold by fold
     3  0.4000 ± 0.0300  lowest
    the largest K tried has the lowest error: more may be better still
    """

    ks: tuple[int, ...]
    errors: tuple[float, ...]
    standard_errors: tuple[float, ...]
    n_folds: int
    by_fold: tuple[tuple[float, ...], ...] = ()  # of each K; none where it is not known

    @property
    def recommended(self) -> int:
        """The K of the lowest error."""
        return self.ks[int(np.argmin(self.errors))]

    @property
    def above(self) -> tuple[tuple[float, float], ...]:
        """How far the error of each K is above the lowest, and the standard error of that: over
        folds, or of two errors that have nothing in common where folds are not known."""
        best = int(np.argmin(self.errors))
        return tuple(self._above(place, best) for place in range(len(self.ks)))

    def _above(self, place: int, best: int) -> tuple[float, float]:
        gap = self.errors[place] - self.errors[best]
        if place == best:
            return 0.0, 0.0
        if not self.by_fold:
            return gap, float(np.hypot(self.standard_errors[place], self.standard_errors[best]))
        gaps = np.subtract(self.by_fold[place], self.by_fold[best])
        return gap, float(gaps.std(ddof=1) / np.sqrt(self.n_folds))

    @property
    def indistinct(self) -> tuple[int, ...]:
        """The K whose error is within one standard error of the lowest, which is among them."""
        return tuple(k for k, (gap, error) in zip(self.ks, self.above, strict=True) if gap <= error)

    @property
    def words(self) -> list[str]:
        """What to think of it, in lines of at most 80 columns."""
        return [] if len(self.ks) == 1 else [*self._doubt(), *self._edge(), *self._other_way()]

    def __str__(self) -> str:
        lines = [f"cross-validation by hidden genotypes, {self.n_folds} folds", " K   error"]
        numbers = zip(self.ks, self.errors, self.standard_errors, self.above, strict=True)
        for k, error, sd, (gap, of_gap) in numbers:
            line = f"{k:>2}  {error:.4f} ± {sd:.4f}"
            if k == self.recommended and len(self.ks) > 1:
                line += "  lowest"
            elif self.by_fold:
                line += f"  {gap:.4f} ± {of_gap:.4f} above, fold by fold"
            lines.append(line)
        return "\n".join([*lines, *self.words])

    def _doubt(self) -> list[str]:
        others = [str(k) for k in self.indistinct if k != self.recommended]
        if not others:
            return []
        named = " and ".join([", ".join(others[:-1]), others[-1]] if others[1:] else others)
        are = "are" if others[1:] else "is"
        return wrap(
            f"this cannot tell K = {self.recommended} from {named}: {named} {are} within one "
            "standard error of the lowest",
            80,
        )

    def _edge(self) -> list[str]:
        """Of a lowest error at the end of what was tried; 1 is an end of its own."""
        if self.recommended == max(self.ks):
            return ["the largest K tried has the lowest error: more may be better still"]
        if self.recommended == min(self.ks) > 1:
            return ["the smallest K tried has the lowest error: fewer were not tried"]
        return []

    def _other_way(self) -> list[str]:
        """Shares and frequencies are estimated with error, which costs more than ancestries that
        hardly differ gain: three at F_ST 0.05 had the lowest error as one, of 800 SNPs."""
        if self.recommended == max(self.ks):
            return []
        return [
            "a lower error is no proof that there are no more: ancestries that hardly",
            "differ tell hidden genotypes no better; `dcomp select` finds K another way",
        ]


def cross_validate(
    counts: Counts,
    ks: Iterable[int],
    fit_one: Callable[[Counts, int], Fitted],
    *,
    n_folds: int = 5,
    seed: int = 0,
) -> CrossValidation:
    """The error of each number of ancestries; `fit_one` gives Q and loadings of counts and K."""
    validation.whole_number("n_folds", n_folds, 2)
    wanted = list(ks)
    fold = np.random.Generator(np.random.Philox(seed)).integers(
        0, n_folds, (counts.n_docs, counts.features.n_blocks), dtype=np.uint8
    )
    of_entry, row = _of_entries(counts, fold)
    if len(np.unique(of_entry)) < n_folds:
        raise InvalidParameter(
            f"n_folds must leave genotypes to hide in each; {n_folds} are too many for these"
        )
    errors = np.empty((len(wanted), n_folds))
    for f in range(n_folds):
        seen = _without(counts, of_entry == f, row)
        for place, K in enumerate(wanted):
            errors[place, f] = deviance(counts, of_entry == f, row, fit_one(seen, K))
    means = errors.mean(axis=1)
    sds = errors.std(axis=1, ddof=1) / np.sqrt(n_folds)
    by_fold = tuple(map(tuple, errors.tolist()))
    numbers = (tuple(means.tolist()), tuple(sds.tolist()), n_folds, by_fold)
    return CrossValidation(tuple(wanted), *numbers)


def _of_entries(
    counts: Counts, fold: npt.NDArray[np.uint8]
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """The fold and the row of each entry; both alleles of a call are hidden together."""
    row = np.repeat(np.arange(counts.n_docs), np.diff(counts.indptr))
    return fold[row, counts.features.blocks[counts.indices]], row


def _without(counts: Counts, hidden: npt.NDArray[np.bool_], row: npt.NDArray[np.int64]) -> Counts:
    lengths = np.bincount(row[~hidden], minlength=counts.n_docs)
    return replace(
        counts,
        indptr=np.r_[0, np.cumsum(lengths)],
        indices=counts.indices[~hidden],
        data=counts.data[~hidden],
        sequences=None,
    )


def deviance(
    counts: Counts, hidden: npt.NDArray[np.bool_], row: npt.NDArray[np.int64], fitted: Fitted
) -> float:
    """The mean over hidden calls."""
    Q, P = fitted
    places = np.flatnonzero(hidden)
    totals = counts.block_totals
    total, blocks = 0.0, counts.features.blocks
    for start in range(0, places.size, _AT_ONCE):
        here = places[start : start + _AT_ONCE]
        i, j, n = row[here], counts.indices[here], counts.data[here].astype(np.float64)
        p = np.clip(np.einsum("nk,nk->n", Q[i], P[j]), _LEAST, 1.0)
        total += float(np.sum(n * np.log(n / (totals[i, blocks[j]] * p))))
    calls = np.unique(row[places] * np.int64(totals.shape[1]) + blocks[counts.indices[places]])
    return total / calls.size


def whole_numbers(ks: int | Sequence[int]) -> list[int]:
    """One number of ancestries, or several.

    >>> whole_numbers(3), whole_numbers([2, 3])
    ([3], [2, 3])
    """
    found = [ks] if isinstance(ks, int | np.integer) else list(ks)
    return [validation.whole_number("n_components", k, 1) for k in found]
