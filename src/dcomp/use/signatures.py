"""Mutational signatures: processes behind the mutations of tumours, in the words of the field.

A tumour is a document, a mutation type a feature; components are signatures, and a tumour's
exposures are its mutations by signature. GP by mean field is taken unless another is said: on 9,493
exomes with K = 20 it found more of the published signatures than maximum likelihood, which is what
the field calls NMF with the Kullback-Leibler loss (`docs/decisions/0034-signatures.md`). Signatures
are held against published ones by cosine, and exposures can be refitted with published ones given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

from dcomp.data import Counts
from dcomp.data.counts import amount
from dcomp.data.mutations import type_name
from dcomp.errors import InvalidCounts, InvalidParameter
from dcomp.evaluate.align import Alignment
from dcomp.inference.run import uninterrupted
from dcomp.io.mutation_types import read_types
from dcomp.models.arrays import FloatArray, read_only
from dcomp.printable import padded, shortened
from dcomp.recipe import Recipe
from dcomp.result import Fit, fit
from dcomp.use.catalogue import Aligned, Catalogue, feature_names
from dcomp.use.consensus import Consensus, Fitted, Stability, down_weighted, stability_of
from dcomp.use.cosine import cosines
from dcomp.use.hidden_genotypes import whole_numbers
from dcomp.use.refit import Refit, refitted

ALIKE, THE_SAME = 0.9, 0.95  # cosines from which the field takes a signature for a published one
SHOWN = 10  # tumours, and published signatures, on the screen
REPLICATES = 10  # where several K are to be judged
ROUGHLY = {"tol": 1.0, "max_iter": 300}  # of a replicate: others differ by more
LIGHT = 20_000_000  # mutations times signatures up to which intervals are found unless told


@dataclass(frozen=True, eq=False)
class Signatures:
    """What mutations say of the processes behind them; components of `fit` are signatures."""

    fit: Fit
    counts: Counts
    reference: Aligned | None = None
    refitted: Refit | None = None  # exposures to the published signatures
    stability: Stability | None = None  # of resampled fits, by K

    @cached_property
    def consensus(self) -> Consensus | None:
        """What resampled fits have in common, in the order of these signatures."""
        if self.stability is None:
            return None
        return self.stability.of(self.fit.n_components).ordered_as(self.loadings)

    @property
    def tumours(self) -> tuple[str, ...]:
        """Their ids, or numbers."""
        return self.counts.doc_ids or tuple(map(str, range(self.counts.n_docs)))

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The mutation types, as the field writes them."""
        return tuple(map(type_name, feature_names(self.counts)))

    @cached_property
    def loadings(self) -> FloatArray:
        """The signatures, (K, types); each sums to 1."""
        return read_only(np.asarray(self.fit.components, np.float64))

    @cached_property
    def exposures(self) -> FloatArray:
        """Mutations of each tumour by signature, (I, K)."""
        scores = np.asarray(self.fit.scores, np.float64)
        shares = scores / np.maximum(scores.sum(axis=1, keepdims=True), 1e-300)
        return read_only(shares * self.counts.doc_totals[:, np.newaxis])

    @cached_property
    def shares(self) -> FloatArray:
        """The share of all mutations that each signature has, (K)."""
        totals = self.exposures.sum(axis=0)
        return read_only(totals / max(totals.sum(), 1e-300))

    @cached_property
    def matching(self) -> Alignment | None:
        """Which published signature each is, by cosine: pairs that make its sum largest."""
        if self.reference is None:
            return None
        return Alignment.from_similarity(cosines(self.loadings, self.reference.loadings))

    def found(self, cosine: float = ALIKE) -> dict[str, int]:
        """The published signatures that were found at this cosine or above, and as which."""
        if self.matching is None or self.reference is None:
            return {}
        pairs = zip(self.matching.permutation, self.matching.similarity, strict=True)
        return {
            self.reference.names[other]: k
            for k, (other, value) in enumerate(pairs)
            if other >= 0 and value >= cosine
        }

    def main_types(self, k: int, n: int = 3) -> str:
        """The types that a signature has most of."""
        best = np.argsort(-self.loadings[k], kind="stable")[:n].tolist()
        return ", ".join(f"{self.types[j]} {self.loadings[k, j]:.2f}" for j in best)

    def lines(self, tumours: int | None = SHOWN) -> list[str]:
        """All that is to say, in lines of at most 80 columns."""
        K, fitted = self.fit.n_components, self.fit
        out = [
            f"{K} signatures behind {amount(self.counts.n_tokens)} mutations of "
            f"{self.counts.n_docs:,} tumours",
            f"({self.counts.n_features} types; {fitted.algorithm.name}, {fitted.n_sweeps} sweeps, "
            f"{fitted.reason})",
            *self._climb_lines(),
            "",
        ]
        if self.stability is not None:
            out += [*self.stability.lines(), ""]
        out += self._signature_lines()
        if self.refitted is not None:
            out += ["", *self.refitted.lines(tumours)]
        return out

    def _climb_lines(self) -> list[str]:
        """How far below the climb tumours are shown, in the field's words."""
        left = self.fit.remaining
        said = () if left is None else left.shown_lower
        return [part for line in said for part in wrap(line.replace("document", "tumour"), 80)]

    def _signature_lines(self) -> list[str]:
        matching, reference = self.matching, self.reference
        published = "" if matching is None else "  cosine  published "
        stable = "" if self.consensus is None else "  stable"
        out = [f"       share{stable}{published}  main types"]
        for k in np.argsort(-self.shares, kind="stable").tolist():
            line = f"  #{k:<3}{100 * self.shares[k]:>4.0f} %"
            if self.consensus is not None:
                line += f"    {self.consensus.stability[k]:>4.2f}"
            if matching is not None and reference is not None:
                other = int(matching.permutation[k])
                name = reference.names[other] if other >= 0 else "-"
                # Rounded down: what reads 0.90 is counted as 0.9.
                cosine = np.floor(100 * matching.similarity[k] + 1e-9) / 100
                line += f"    {cosine:.2f}  {padded(name, 10)}"
            out.append(f"{line}  {shortened(self.main_types(k), 78 - len(line))}")
        if matching is None or reference is None:
            return out
        n, same = len(self.found(ALIKE)), len(self.found(THE_SAME))
        return [
            *out,
            f"{n} of {len(self.loadings)} are one of {len(reference.names)} published signatures "
            f"at cosine {ALIKE}, {same} at {THE_SAME}",
            shortened(f"({reference})", 80),
        ]

    def plot(self) -> Any:
        """A bar chart of the mutation types of every signature, with the published one that it is
        where one is near, as a matplotlib figure (`dcomp[plot]`)."""
        from dcomp.plot.profiles import profiles

        near = {k: name for name, k in self.found().items()}
        titles = [f"#{k} {near.get(k, '')}".strip() for k in range(self.fit.n_components)]
        return profiles(self.loadings, self.types, titles)[0].figure

    def plot_exposures(self, axes: Any = None) -> Any:
        """The shares of signatures in each tumour as bars, by the part of the id before "::" where
        ids have one, on matplotlib axes."""
        from dcomp.plot.shares import stacked_bars

        groups = None
        if all("::" in name for name in self.tumours):
            groups = [name.partition("::")[0] for name in self.tumours]
        totals = np.maximum(self.exposures.sum(axis=1, keepdims=True), 1e-300)
        near = {k: name for name, k in self.found().items()}
        names = [f"#{k} {near.get(k, '')}".strip() for k in range(self.fit.n_components)]
        axes = stacked_bars(self.exposures / totals, groups, names, axes)
        axes.set_ylabel("share of mutations")
        return axes

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def as_record(self) -> dict[str, Any]:
        """For programs: plain numbers, text and lists."""
        matching, reference, of = self.matching, self.reference, self.refitted
        found: list[dict[str, Any]] = []
        again, by_k = self.consensus, self.stability
        for k in range(self.fit.n_components):
            other = -1 if matching is None else int(matching.permutation[k])
            known = other >= 0 and matching is not None and reference is not None
            found.append(
                {
                    "signature": k,
                    "share": float(self.shares[k]),
                    "published": reference.names[other] if known and reference else None,
                    "cosine": float(matching.similarity[k]) if known and matching else None,
                    "stability": None if again is None else float(again.stability[k]),
                    "loadings": self.loadings[k].tolist(),
                }
            )
        return {
            "types": list(self.types),
            "signatures": found,
            "unknown_types": None if reference is None else list(reference.unknown),
            "spare_types": None if reference is None else list(reference.spare),
            "tumours": list(self.tumours),
            "exposures": self.exposures.tolist(),
            "refitted": None if of is None else of.as_record(),
            "stability": None if by_k is None else by_k.as_record(),
            "reason": self.fit.reason,
            "remaining": None if self.fit.remaining is None else asdict(self.fit.remaining),
        }


def signatures(
    tumours: Any,
    n_components: int | Sequence[int] = 10,
    *,
    reference: Any = None,
    n_replicates: int | None = None,
    max_mutations: float | None = None,
    with_intervals: bool | None = None,
    level: float = 0.9,
    n_jobs: int | None = None,
    **options: Any,
) -> Signatures:
    """Signatures behind the mutations of tumours, which published ones they are, and exposures.

    tumours: counts with a document per tumour and a feature per mutation type, or a path to a table
    that has types as lines or as columns. reference: published signatures, a path or a `Catalogue`;
    types are matched by name, whatever their order. Exposures are then also refitted to these
    (`Refit`), with an interval each: `with_intervals`, None for where that takes seconds.

    n_replicates: how many times tumours are resampled and fitted again, to see how stable
    signatures are (`Stability`, `Consensus`); 10 where several numbers of signatures are given, of
    which the largest stable one is then fitted, or the most stable where none is.
    max_mutations: a tumour of more counts as one of so many, lest a few hypermutated ones decide.

    Fitted as GP by mean field; `options` are those of `dcomp.DCA`. `model="DM", algorithm="ml"` is
    NMF with the Kullback-Leibler loss, and faster.

    >>> import dcomp
    >>> table = dcomp.datasets.mutations(100, n_signatures=3, seed=1)
    >>> names = table.counts.features.names
    >>> published = Catalogue(("A", "B", "C"), names, table.components)
    >>> found = signatures(table.counts, 3, reference=published)
    >>> sorted(found.found(0.95)), found.refitted.exposures.shape
    (['A', 'B', 'C'], (100, 3))
    """
    counts = read_tumours(tumours)
    known = None if reference is None else Catalogue.of(reference).aligned_to(feature_names(counts))
    weighted = counts if max_mutations is None else _weighted(counts, max_mutations)
    ks = whole_numbers(n_components)
    judged = None
    if n_replicates is not None or len(ks) > 1:
        judged = _judged(weighted, ks, n_replicates or REPLICATES, n_jobs, options)
    K = ks[0] if judged is None else _chosen(judged)
    fitted = _fit(weighted, K, n_jobs, options)
    found = None
    if known is not None:
        if with_intervals is None:
            with_intervals = counts.n_tokens * len(known.names) <= LIGHT
        how: Any = {"with_intervals": with_intervals, "level": level, "n_jobs": n_jobs}
        found = refitted(counts, known, seed=fitted.seed, **how)  # what it doubts is shown
    return Signatures(fitted, counts, known, found, judged)


def _fit(counts: Counts, K: int, n_jobs: int | None, options: dict[str, Any]) -> Fit:
    told = Recipe.from_options(**{"model": "GP", **options}, n_components=K).resolve(counts)
    how: Any = {"n_jobs": n_jobs, **vars(told.settings)}
    return uninterrupted(fit(counts, told.model, told.algorithm, **how))


def _judged(
    counts: Counts, ks: list[int], n_replicates: int, n_jobs: int | None, options: dict[str, Any]
) -> Stability:
    """Resampled fits of each K, each as roughly as their difference allows."""

    def fit_one(again: Counts, K: int, seed: int) -> Fitted:
        fitted = _fit(again, K, n_jobs, {**ROUGHLY, **options, "random_state": seed})
        of = Signatures(fitted, again)
        return of.loadings, of.exposures

    seed = int(options.get("random_state") or 0)
    return stability_of(counts, ks, fit_one, n_replicates=n_replicates, seed=seed)


def _chosen(judged: Stability) -> int:
    """The K that is recommended, or the most stable one."""
    most = max(judged.found, key=lambda one: one.mean)
    return judged.recommended or most.n_components


def _weighted(counts: Counts, most: float) -> Counts:
    if not (np.isfinite(most) and most > 0):
        raise InvalidParameter(f"max_mutations must be a number above 0; got {most!r}")
    return down_weighted(counts, most)


def read_tumours(tumours: Any, **options: Any) -> Counts:
    """Counts as they are, or those of a file, whichever way round it lies."""
    if isinstance(tumours, str | Path):
        counts = read_types(Path(tumours), **options)
    elif isinstance(tumours, Counts):
        counts = tumours
    else:
        raise InvalidParameter(
            "signatures takes Counts or a path to a table of mutations (dcomp.read); got "
            f"{type(tumours).__name__}"
        )
    feature_names(counts)
    if counts.features.n_blocks > 1:
        raise InvalidCounts(
            f"signatures takes one block of mutation types; found {counts.features!r}"
        )
    return counts
