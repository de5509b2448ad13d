"""Ancestries behind genotypes: the model of ADMIXTURE and STRUCTURE, in the words of the field.

DM with a block of alleles per locus, people as documents: a person's scores are Q, the loadings of
an ancestry its allele frequencies P. Maximum likelihood gives ADMIXTURE's point estimates, and the
bootstrap over loci their intervals (`resampled_loci`). A sampler has flat priors unless told, and
means and intervals are those of its draws.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

from dcomp.atomic import atomic_write
from dcomp.data import Counts
from dcomp.errors import InvalidCounts, InvalidFile, InvalidParameter
from dcomp.evaluate.align import align_chains
from dcomp.evaluate.by_label import ByLabel, by_label
from dcomp.evaluate.intervals import Intervals, intervals
from dcomp.evaluate.modes import pooled_chains
from dcomp.inference.run import uninterrupted
from dcomp.io.loci import POPULATION
from dcomp.models.arrays import FloatArray, read_only
from dcomp.printable import columns, padded, shortened
from dcomp.recipe import Recipe
from dcomp.result import Fit, fit
from dcomp.use.agreement import agreement_lines, usual_draws
from dcomp.use.hidden_genotypes import CrossValidation, Fitted, cross_validate, whole_numbers
from dcomp.use.resampled_loci import (
    REPLICATES,
    Progress,
    Resampled,
    resampled_intervals,
    shares_of,
)

SHOWN = 16  # people on the screen
BAR = 30  # columns of a bar
LIGHT = 2_000_000  # allele copies times ancestries up to which intervals are found unless told
_ROUGH = 1.0  # nats per person that a fit with hidden genotypes may leave
_AT_ONCE = 1 << 22  # cells of a product
# What a sampler is told unless the user says otherwise. A learned alpha goes to 0 where most people
# are of one ancestry, and chains whose alpha is 0 move nobody.
SAMPLED: Mapping[str, Any] = {
    "alpha": 1.0,
    "gamma": 1.0,
    "max_iter": 600,
    "n_chains": 4,
    "n_draws": 100,
}


@dataclass(frozen=True, eq=False)
class Admixture:
    """What genotypes say of ancestry; components of `fit` are the ancestries, by number."""

    fit: Fit
    counts: Counts
    log_likelihood: float  # Σ n log Σ_k q p over allele copies, as ADMIXTURE has it
    intervals: Intervals | None = None  # of Q, and of its means by population
    cross_validation: CrossValidation | None = None

    @property
    def people(self) -> tuple[str, ...]:
        """Their ids, or numbers."""
        return self.counts.doc_ids or tuple(map(str, range(self.counts.n_docs)))

    @property
    def names(self) -> tuple[str, ...]:
        """Of the ancestries that were known, by labels or given frequencies; "" for the others."""
        told = self.fit.model.loadings.names
        if told is None:
            return ("",) * self.fit.n_components
        found = ({str(k), f"component {k}"} for k in range(len(told)))  # what has no name is called
        return tuple("" if name in own else name for name, own in zip(told, found, strict=True))

    @cached_property
    def Q(self) -> FloatArray:
        """The shares of ancestries, (I, K); rows sum to 1. Of a sampler with intervals they are
        the posterior means over the chains that lie with the best."""
        return self.intervals.mean if self._pools and self.intervals else shares_of(self.fit)

    @cached_property
    def frequencies(self) -> FloatArray:
        """The frequency of every allele in each ancestry, (J, K); the alleles of a locus sum to 1.
        `counts.features.labels` names them."""
        if self._pools:
            return _pooled_loadings(self.fit)
        return read_only(np.asarray(self.fit.Theta, np.float64))

    @property
    def _pools(self) -> bool:
        """Whether estimates are those of chains of a sampler."""
        return self.intervals is not None and self.fit.kept is not None

    @property
    def is_biallelic(self) -> bool:
        """Whether every locus has two alleles."""
        return bool((np.bincount(self.counts.features.blocks) == 2).all())

    @cached_property
    def P(self) -> FloatArray:
        """The frequency of the second allele of each SNP, (SNPs, K): ADMIXTURE's .P."""
        if not self.is_biallelic:
            raise InvalidCounts(
                "P has one frequency per SNP of two alleles, and some loci have more or fewer: "
                "see frequencies"
            )
        return read_only(self.frequencies[1::2])

    @cached_property
    def by_population(self) -> ByLabel | None:
        """Mean shares by known population, where people have one."""
        if POPULATION not in self.counts.attributes:
            return None
        return by_label(self.Q, self.counts.attributes[POPULATION])

    def write(self, prefix: str | os.PathLike[str], *, overwrite: bool = False) -> tuple[Path, ...]:
        """Write PREFIX.K.Q, a line of shares per person, and PREFIX.K.P, one of frequencies of the
        second allele per SNP where all have two; the paths. `io.ancestry` reads them back."""
        K = self.fit.n_components
        tables = {"Q": self.Q, **({"P": self.P} if self.is_biallelic else {})}
        paths = {kind: Path(f"{os.fspath(prefix)}.{K}.{kind}") for kind in tables}
        for kind, path in paths.items():
            lines = (" ".join(f"{value:.6f}" for value in row) for row in tables[kind].tolist())
            with atomic_write(path, overwrite=overwrite) as stream:
                stream.writelines(f"{line}\n".encode() for line in lines)
        return tuple(paths.values())

    def people_lines(self, n: int | None = SHOWN) -> list[str]:
        """A bar per person, by population and then by the largest share; n of them evenly, or
        all."""
        Q = self.Q
        labels = [""] * len(Q)
        if POPULATION in self.counts.attributes:
            labels = [str(label or "-") for label in self.counts.attributes[POPULATION]]
        main = Q.argmax(axis=1)
        order = sorted(range(len(Q)), key=lambda i: (labels[i], main[i], -Q[i, main[i]], i))
        if n is not None and len(order) > n:
            order = [order[int(place)] for place in np.linspace(0, len(order) - 1, n)]
        width = min(max([0, *(len(label) for label in labels)]), 10)
        return [self._line(i, padded(labels[i], width) if width else "") for i in order]

    def _line(self, i: int, label: str) -> str:
        Q = self.Q if self.intervals is None else self.intervals.mean
        ends = np.round(BAR * np.cumsum(Q[i])).astype(int)
        bar, begin = "", 0
        for k, end in enumerate(ends.tolist()):
            bar += _letter(k) * (end - begin)
            begin = end
        k = int(np.argmax(Q[i]))
        tail = f"#{k} {Q[i, k]:.2f}"
        if self.intervals is not None:
            tail += f" {self.intervals.ends(i, k)}"
        return f"{padded(self.people[i], 12)} {label} |{bar:<{BAR}}| {tail}"

    def plot(self, axes: Any = None) -> Any:
        """A bar of ancestries for each person, by population where it is known, on matplotlib
        axes (`dcomp[plot]`)."""
        from dcomp.plot.shares import stacked_bars

        labels = None
        if POPULATION in self.counts.attributes:
            labels = [str(label or "-") for label in self.counts.attributes[POPULATION]]
        names = [f"#{k} {name}".rstrip() for k, name in enumerate(self.names)]
        axes = stacked_bars(self.Q, labels, names, axes)
        axes.set_ylabel("ancestry")
        return axes

    def telling(self, n: int = 3) -> list[tuple[str, FloatArray]]:
        """The alleles whose frequencies differ most between ancestries: name, frequencies."""
        spread = np.ptp(self.frequencies, axis=1)
        found, seen = [], set()
        for j in np.argsort(-spread, kind="stable").tolist():
            block = int(self.counts.features.blocks[j])
            if block not in seen:
                seen.add(block)
                found.append((self.counts.features.name(j), self.frequencies[j]))
            if len(found) == n:
                break
        return found

    def lines(self, people: int | None = SHOWN) -> list[str]:
        """All that is to say, in lines of at most 80 columns."""
        G, fitted = self.counts.features.n_blocks, self.fit
        observed = int((self.counts.block_totals > 0).sum())
        missing = 1 - observed / (self.counts.n_docs * G)
        out = [
            f"{_ancestries(fitted.n_components)} behind {self.counts.n_docs:,} people "
            f"at {G:,} loci ({100 * missing:.2f} % missing)",
            f"log-likelihood {self.log_likelihood:,.1f} "
            f"({fitted.algorithm.name}, {fitted.n_sweeps} sweeps, {fitted.reason})",
            *fitted.remarks,
        ]
        if self.cross_validation is not None:
            out += ["", str(self.cross_validation)]
        sizes = "  ".join(f"#{k} {100 * q:.0f} %" for k, q in enumerate(self.Q.mean(axis=0)))
        out += ["", *self._known_lines(), f"mean shares: {sizes}"]
        if self.by_population is not None:
            head, *rows = str(self.by_population).splitlines()
            out += ["by population:", head, *self._name_row(len(head) - 7 * len(self.names)), *rows]
        out += ["", "alleles that tell ancestries apart, with their frequencies"]
        out += self._name_row(26, 6)
        for name, values in self.telling():
            cells = "".join(f"{value:7.2f}" for value in values[:6])
            out.append(f"  {padded(name, 24)}{cells}")
        out += ["", *self._people_title(), *self.people_lines(people)]
        return out

    def _known_lines(self) -> list[str]:
        """The names of ancestries that were known."""
        named = ", ".join(f"#{k} is {name}" for k, name in enumerate(self.names) if name)
        return wrap(f"known ancestries: {named}", 80) if named else []

    def _name_row(self, indent: int, most: int | None = None) -> list[str]:
        """The names above columns of seven, if there are any."""
        short = [shortened(name, 6) for name in self.names[:most]]
        cells = "".join(f" {' ' * (6 - columns(name))}{name}" for name in short)
        return [" " * indent + cells] if cells.strip() else []

    def _people_title(self) -> list[str]:
        found = self.intervals
        if found is None:
            return ["people, a letter per ancestry (A is #0), and the largest share:"]
        legend = [] if found.quotable.all() else [found.legend]
        if isinstance(found, Resampled):
            return [
                "people, a letter per ancestry (A is #0), by maximum likelihood; the largest",
                f"share with its {100 * found.level:g} % interval, of {found.n_draws} fits to "
                "resampled loci:",
                "(chance in loci alone; where ancestries hardly differ shares are off by more,",
                "and of relatives, whose alleles are no independent draws)",
                *legend,
            ]
        return [
            *agreement_lines(self.fit, found),
            "people, a letter per ancestry (A is #0), by their posterior means; the largest",
            f"share with its {100 * found.level:g} % interval:",
            *legend,
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def as_record(self) -> dict[str, Any]:
        """For programs: plain numbers, text and lists."""
        found, cv, known = self.intervals, self.cross_validation, self.by_population
        people = [
            {
                "id": name,
                "shares": self.Q[i].tolist(),
                "mean": None if found is None else found.mean[i].tolist(),
                "low": None if found is None else found.low[i].tolist(),
                "high": None if found is None else found.high[i].tolist(),
                "quotable": None if found is None else found.quotable[i].tolist(),
            }
            for i, name in enumerate(self.people)
        ]
        return {
            "n_components": self.fit.n_components,
            "names": [name or None for name in self.names],
            "log_likelihood": self.log_likelihood,
            "reason": self.fit.reason,
            "cross_validation": None if cv is None else dict(zip(cv.ks, cv.errors, strict=True)),
            "cross_validation_above": None
            if cv is None
            else dict(zip(cv.ks, cv.above, strict=True)),
            "cross_validation_indistinct": None if cv is None else list(cv.indistinct),
            "populations": None
            if known is None
            else dict(zip(known.names, known.mean.tolist(), strict=True)),
            "people": people,
        }


def _ancestries(n: int) -> str:
    return "1 ancestry" if n == 1 else f"{n} ancestries"


def admixture(
    genotypes: Any,
    n_components: int = 3,
    *,
    cross_validation: int | Sequence[int] | None = None,
    n_folds: int = 5,
    with_intervals: bool | None = None,
    level: float = 0.9,
    n_replicates: int = REPLICATES,
    supervised: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Admixture:
    """Ancestries of people: shares with intervals, allele frequencies, log-likelihood, and the
    error of cross-validation for a choice of K.

    genotypes: counts with a block of alleles per locus (`dcomp.read` of .bed, VCF or STRUCTURE
    files), or a path to such a file. Fitted by maximum likelihood, as ADMIXTURE; `options` are
    those of `dcomp.DCA`, such as `algorithm="mean-field"` for shares with a learned prior, or
    `algorithm="collapsed-gibbs"` for STRUCTURE's way: four chains of 600 sweeps under flat priors,
    of which all that lie with the best count.

    cross_validation: the numbers of ancestries for which genotypes are hidden, `n_folds` times, and
    told from the others. with_intervals: whether to find an interval for every share, None for
    where that takes seconds: of maximum likelihood by `n_replicates` fits to resampled loci
    (`progress` is called with how many are done), else by chains (`evaluate.intervals`).
    supervised: known ancestries, a label per person or the name of an attribute such as
    "population": people with a label have that ancestry alone, those without may have all
    (`allowed` of `dcomp.DCA`).

    >>> import dcomp
    >>> table = dcomp.datasets.genotypes(60, 200, f_st=(0.2, 0.3), seed=1)
    >>> found = admixture(table.counts, 2, with_intervals=False)
    >>> found.Q.shape, found.P.shape
    ((60, 2), (200, 2))
    """
    counts = read_genotypes(genotypes)
    _check(counts)
    judged = None
    if supervised is not None:
        if options.get("allowed") is not None:
            raise InvalidParameter("supervised= and allowed= are the same: give one")
        options["allowed"] = supervised
    if cross_validation is not None:
        judged = validate(counts, cross_validation, n_folds=n_folds, n_jobs=n_jobs, **options)
    fitted = _fit(counts, n_components, n_jobs, options)
    if with_intervals is None:
        with_intervals = counts.n_tokens * n_components <= LIGHT
    found: Intervals | None = None
    how: Any = {"level": level, "seed": fitted.seed, "n_jobs": n_jobs}
    if with_intervals and fitted.algorithm.name == "ml":
        how |= {"n_replicates": n_replicates, "progress": progress}
        found = resampled_intervals(fitted, counts, **how)
    elif with_intervals:
        found = intervals(fitted, counts, shares=True, **how)
    made = Admixture(fitted, counts, 0.0, found, judged)
    return replace(made, log_likelihood=log_likelihood(counts, made.Q, made.frequencies))


def validate(
    genotypes: Any,
    ks: int | Sequence[int],
    *,
    n_folds: int = 5,
    n_jobs: int | None = None,
    **options: Any,
) -> CrossValidation:
    """The error of cross-validation of each number of ancestries; options as in `admixture`.

    >>> import dcomp
    >>> table = dcomp.datasets.genotypes(60, 200, f_st=(0.3, 0.3), unmixed=1, seed=1)
    >>> validate(table.counts, [1, 2, 4], n_folds=3).recommended
    2
    """
    counts = read_genotypes(genotypes)
    _check(counts)

    def fit_one(seen: Counts, K: int) -> Fitted:
        fitted = _fit(seen, K, n_jobs, {"tol": _ROUGH, "n_chains": 1, **options})
        return shares_of(fitted), np.asarray(fitted.Theta, np.float64)

    seed = int(options.get("random_state") or 0)
    return cross_validate(counts, whole_numbers(ks), fit_one, n_folds=n_folds, seed=seed)


def _fit(counts: Counts, K: int, n_jobs: int | None, options: dict[str, Any]) -> Fit:
    said = {"model": "DM", "algorithm": "ml", **options}
    told = Recipe.from_options(**said, n_components=K).resolve(counts)
    if told.algorithm.samples:
        usual = {**SAMPLED, "n_draws": usual_draws(options, SAMPLED)}
        told = Recipe.from_options(**{**usual, **said}, n_components=K).resolve(counts)
    how: Any = {"n_jobs": n_jobs, **vars(told.settings)}
    return uninterrupted(fit(counts, told.model, told.algorithm, **how))


def _pooled_loadings(fitted: Fit) -> FloatArray:
    """The mean of the pooled chains' draws of the loadings, ancestries in the order of the fit."""
    drawn = fitted.draws.Theta
    assert drawn is not None  # `intervals` has asked for them
    if len(drawn) > 1:
        drawn = align_chains(fitted).apply(drawn)[list(pooled_chains(fitted))]
    return read_only(drawn.mean(axis=(0, 1), dtype=np.float64))


def log_likelihood(counts: Counts, Q: FloatArray, frequencies: FloatArray) -> float:
    """Σ n_ij log Σ_k q_ik p_jk over people and alleles, as ADMIXTURE reports it: without constants.
    frequencies: of every allele, (J, K).

    >>> counts = Counts.from_matrix([[2, 0], [1, 1]])
    >>> value = log_likelihood(counts, np.ones((2, 1)), np.array([[0.75], [0.25]]))
    >>> bool(np.isclose(value, 3 * np.log(0.75) + np.log(0.25)))
    True
    """
    matrix, total = counts.to_scipy(), 0.0
    step = max(1, _AT_ONCE // counts.n_features)
    for first in range(0, counts.n_docs, step):
        part: Any = matrix[first : first + step].tocoo()
        p = Q[first : first + step] @ frequencies.T
        chance = np.maximum(p[part.row, part.col], 1e-300)
        total += float(np.sum(part.data * np.log(chance)))
    return total


def read_genotypes(genotypes: Any, **options: Any) -> Counts:
    """Counts as they are, or those of a file."""
    if isinstance(genotypes, Counts):
        return genotypes
    if not isinstance(genotypes, str | Path):
        raise InvalidParameter(
            "admixture takes Counts or a path of genotypes (dcomp.read); got "
            f"{type(genotypes).__name__}"
        )
    from dcomp.io import read
    from dcomp.io.read import guess_format

    path = Path(genotypes)
    name = options.pop("format", None)
    if name is None and path.exists():
        name = guess_format(path)
        if name not in ("plink", "vcf", "structure"):
            raise InvalidFile(
                f"{path}: ancestries are found in genotypes, PLINK's .bed, a VCF or a STRUCTURE "
                f"file; this is read as {name}"
            )
    return read(path, format=name, **options)


def _check(counts: Counts) -> None:
    if counts.features.n_blocks < 2:
        raise InvalidCounts(
            "admixture needs a block of alleles per locus, as dcomp.read makes of genotypes; found "
            f"{counts.features!r}"
        )


def _letter(k: int) -> str:
    return chr(ord("A") + k) if k < 26 else "?"
