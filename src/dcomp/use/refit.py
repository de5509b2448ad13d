"""Exposures of tumours with the signatures given: only how much of each is asked."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.data import Counts
from dcomp.errors import DataWarning, InvalidParameter, warn
from dcomp.evaluate.intervals import NOT_QUOTABLE
from dcomp.models.arrays import FloatArray, read_only
from dcomp.predict import Predictor
from dcomp.printable import padded, shortened
from dcomp.recipe import Recipe
from dcomp.use.catalogue import Aligned
from dcomp.use.misfit import misfit

ALPHA = 0.1  # of the Dirichlet prior of shares: most signatures have no part in a tumour
DRAWS, BURN_IN = 200, 100
SHOWN = 10
NAMED = 5  # tumours that the catalogue does not explain, in one line
_LEAST = 1e-9  # of a loading: what a signature has never shown is rare, not impossible
_AT_ONCE = 1 << 24  # draws of a share in memory
_SEEN = 0.05  # share of a tumour's mutations from which a signature is counted as there


@dataclass(frozen=True, eq=False)
class Refit:
    """Mutations of each tumour by published signature: the posterior mean, and its interval.

    dispersion: how many times the variance of the model each tumour's counts have around what its
    exposures say, NaN where too few mutations tell. quotable: False for tumours where that is
    beyond chance, whose exposures and intervals are not to be quoted (`use.misfit`).
    """

    names: tuple[str, ...]  # of the signatures
    tumours: tuple[str, ...]
    exposures: FloatArray  # (I, R), in mutations
    low: FloatArray | None  # (I, R); None where intervals were not asked for
    high: FloatArray | None
    level: float
    dispersion: FloatArray  # (I)
    quotable: npt.NDArray[np.bool_]  # (I)
    n_left_out: int = 0  # mutations of types that the reference has not

    @cached_property
    def shares(self) -> FloatArray:
        """The share of a tumour's mutations, (I, R); 0 where it has none."""
        totals = self.exposures.sum(axis=1, keepdims=True)
        return read_only(self.exposures / np.maximum(totals, 1e-300))

    @property
    def totals(self) -> FloatArray:
        """The share of all mutations that each signature has, (R)."""
        totals = self.exposures.sum(axis=0)
        return np.asarray(totals / max(totals.sum(), 1e-300))

    @property
    def unexplained(self) -> str:
        """Which tumours the signatures do not explain, and what that means; "" where there are
        none."""
        beyond = np.flatnonzero(~self.quotable)
        if not len(beyond):
            return ""
        worst = beyond[np.argsort(-self.dispersion[beyond], kind="stable")].tolist()
        names = ", ".join(shortened(self.tumours[i], 24) for i in worst[:NAMED])
        more = f" and {len(worst) - NAMED:,} more" if len(worst) > NAMED else ""
        of = f"{len(worst):,} of {len(self.tumours):,} tumours"
        most = float(self.dispersion[worst[0]])
        times = f"{most:,.0f}" if most >= 100 else f"{most:.1f}"
        return (
            f"these signatures do not explain {of} ({names}{more}), whose counts vary up to "
            f"{times} times as much as the model has it: the reference may lack a signature or "
            "have another profile for it, or counts vary more than by chance. Their exposures and "
            "intervals are not to be quoted, nor totals with them"
        )

    def lines(self, tumours: int | None = SHOWN) -> list[str]:
        """In lines of at most 80 columns: the main signatures, then tumours."""
        R = len(self.names)
        out = [f"exposures refitted to {R} published signatures (only exposures are found)"]
        if self.n_left_out:
            out.append(f"without {self.n_left_out:,} mutations of types that the reference has not")
        out.append(f"  signature   of all mutations  tumours with {_SEEN:.0%} of it or more")
        seen = (self.shares >= _SEEN).sum(axis=0)
        for r in np.argsort(-self.totals, kind="stable")[:SHOWN].tolist():
            out.append(
                f"  {padded(self.names[r], 12)}{100 * self.totals[r]:>13.1f} %  {seen[r]:>8,}"
            )
        sure = "" if self.low is None else f", with {100 * self.level:g} % intervals"
        out += ["", f"tumours and their largest exposures{sure}:"]
        n = len(self.tumours)
        chosen = range(n) if tumours is None or n <= tumours else np.linspace(0, n - 1, tumours)
        out += [self._line(int(i)) for i in chosen]
        return out + (
            textwrap.wrap(f"{NOT_QUOTABLE}: {self.unexplained}", 80) if self.unexplained else []
        )

    def _line(self, i: int) -> str:
        parts = []
        for r in np.argsort(-self.exposures[i], kind="stable")[:2].tolist():
            part = f"{self.names[r]} {self.exposures[i, r]:,.0f}"
            if self.low is not None and self.high is not None:
                part += f" ({self.low[i, r]:,.0f} to {self.high[i, r]:,.0f})"
            parts.append(part)
        mark = "" if self.quotable[i] else f" {NOT_QUOTABLE}"
        said = shortened(", ".join(parts), 48 - len(mark))
        return f"  {padded(self.tumours[i], 28)} {said}{mark}"

    def as_record(self) -> dict[str, Any]:
        """For programs: plain numbers, text and lists."""
        return {
            "signatures": list(self.names),
            "exposures": self.exposures.tolist(),
            "low": None if self.low is None else self.low.tolist(),
            "high": None if self.high is None else self.high.tolist(),
            "quotable": self.quotable.tolist(),
            "dispersion": self.dispersion.tolist(),
            "unexplained": self.unexplained or None,
            "left_out": self.n_left_out,
        }


def refit(
    counts: Counts,
    catalogue: Aligned,
    *,
    alpha: float = ALPHA,
    with_intervals: bool = True,
    level: float = 0.9,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Refit:
    """Exposures of tumours to the signatures of a catalogue (`Catalogue.aligned_to`).

    Shares have a Dirichlet prior with `alpha` each. With intervals they are sampled; without, they
    are those of the mean field, which takes a fraction of the time. Tumours that lie further from
    their exposures than chance goes are warned of, and are not `Refit.quotable`.

    >>> from dcomp.use import Catalogue
    >>> counts = Counts.from_matrix([[90, 10], [10, 90]], feature_names=["x", "y"])
    >>> known = Catalogue(("A", "B"), ("y", "x"), [[0.0, 1.0], [1.0, 0.0]])
    >>> found = refit(counts, known.aligned_to(counts.features.names))
    >>> found.exposures.round(-1).tolist()
    [[90.0, 10.0], [10.0, 90.0]]
    >>> bool((found.low <= found.exposures).all())
    True
    """
    how: Any = {"with_intervals": with_intervals, "level": level, "seed": seed, "n_jobs": n_jobs}
    found = refitted(counts, catalogue, alpha=alpha, **how)
    if found.unexplained:
        warn(found.unexplained, DataWarning)
    return found


def refitted(
    counts: Counts,
    catalogue: Aligned,
    *,
    with_intervals: bool,
    level: float,
    seed: int,
    n_jobs: int | None,
    alpha: float = ALPHA,
) -> Refit:
    """The same for those who show what is said of unexplained tumours themselves."""
    if not 0 < level < 1:
        raise InvalidParameter(f"level must lie between 0 and 1; got {level}")
    counts, loadings, left_out = _known_part(counts, catalogue)
    R = len(catalogue.names)
    said: dict[str, Any] = {"model": "DM", "alpha": alpha, "n_components": R}
    model = Recipe.from_options(**said).resolve(counts).model
    Theta = read_only(loadings.astype(np.float32))
    predictor = Predictor(model, counts.features, Theta, fractional=counts.is_fractional)
    totals = np.asarray(counts.doc_totals, np.float64)[:, np.newaxis]
    low = high = None
    if with_intervals:
        shares, *ends = _sampled(predictor, counts, level, seed, n_jobs)
        low, high = (read_only(totals * end) for end in ends)
    else:
        shares = np.asarray(predictor.transform(counts, n_jobs=n_jobs), np.float64)
    ids = counts.doc_ids or tuple(map(str, range(counts.n_docs)))
    exposures = read_only(totals * shares)
    off = misfit(counts, shares, loadings, alpha)
    of_tumours = (off.dispersion, off.is_explained)
    return Refit(catalogue.names, ids, exposures, low, high, level, *of_tumours, left_out)


def _sampled(
    predictor: Predictor, counts: Counts, level: float, seed: int, n_jobs: int | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean and both ends of the interval of each share; some documents at a time, since the draws
    of all would take gigabytes."""
    how: Any = {"n_draws": DRAWS, "burn_in": BURN_IN, "keep_draws": True, "n_jobs": n_jobs}
    tails, found = [(1 - level) / 2, (1 + level) / 2], []
    step = max(1, _AT_ONCE // (DRAWS * predictor.model.n_components))
    for first in range(0, counts.n_docs, step):
        rows = counts.rows(slice(first, first + step))
        sampled = predictor.sample_scores(rows, seed=seed + first, **how)
        assert sampled.draws is not None
        ends = np.quantile(sampled.draws, tails, axis=0)
        found.append(np.stack([sampled.mean, *ends]).astype(np.float64))
    mean, low, high = np.concatenate(found, axis=1)
    # The mean is over more than the draws; a very small sample must not put it outside.
    return mean, np.minimum(low, mean), np.maximum(high, mean)


def _known_part(counts: Counts, catalogue: Aligned) -> tuple[Counts, FloatArray, int]:
    """The types that the catalogue has, its loadings over them (J, R), and what is left out."""
    known = np.flatnonzero(catalogue.loadings.sum(axis=0) > 0)
    kept = counts if len(known) == counts.n_features else counts.columns(known)
    loadings = np.maximum(catalogue.loadings[:, known], _LEAST).T
    loadings = loadings / loadings.sum(axis=0)
    return kept, loadings, round(counts.n_tokens - kept.n_tokens)
