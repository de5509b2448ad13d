"""Components by what is known of documents: mean shares by group, and along a number or a date."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.data import Attributes
from dcomp.evaluate.by_label import by_label, is_cut
from dcomp.models.arrays import FloatArray
from dcomp.report.packing import name_on_page, packed_shares

MOST = 12  # attributes on the page
MOST_GROUPS = 40  # of an attribute that have a bar of their own
_FEW = 8  # groups that may be small
_POINTS = 60  # values of a number that are points of their own
_BINS = 30
_DATE = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?(?:[T ].*)?")


def groups_of(shares: FloatArray, about: Attributes) -> list[dict[str, Any]]:
    """Mean shares by the values of each attribute that has some in common: numbers of many values
    are drawn along a line instead."""
    found = []
    for name in _shown(about):
        column = about[name]
        if column.dtype.kind in "iuf" and is_cut(column):
            continue
        if as_times(column) is not None or is_name(column):
            continue
        groups = by_label(shares, column, most=MOST_GROUPS)
        found.append(
            {
                "name": name_on_page(name, 40),
                "groups": [name_on_page(group, 40) for group in groups.names],
                "sizes": groups.sizes.tolist(),
                "mean": packed_shares(groups.mean),
                "error": packed_shares(groups.error),
            }
        )
    return found


def trends_of(shares: FloatArray, about: Attributes) -> list[dict[str, Any]]:
    """Mean shares along each attribute of many numbers, or of dates."""
    found = []
    for name in _shown(about):
        column = about[name]
        at = as_times(column)
        if at is None and column.dtype.kind in "iuf" and is_cut(column):
            at = np.asarray(column, np.float64)
        if at is not None:
            found.append({"name": name_on_page(name, 40), **_trend(shares, at)})
    return found


def _shown(about: Attributes) -> list[str]:
    return list(about)[:MOST]


def is_name(column: npt.NDArray[Any]) -> bool:
    """Whether an attribute names documents, as a surname does, rather than groups of them.

    >>> is_name(np.array(["Akaka", "Baucus"], object)), is_name(np.array(["D", "D"], object))
    (True, False)
    """
    if column.dtype.kind != "O":
        return False
    known = [value for value in column.tolist() if value is not None]
    return are_names(len(set(known)), len(known))


def are_names(n_values: int, n_known: int) -> bool:
    """Whether documents have values of their own, or nearly: that makes no groups. A few groups may
    be small, many must have five documents each on average (families of four are not compared).

    >>> are_names(3, 6), are_names(4, 6), are_names(100, 324), are_names(20, 324)
    (False, True, True, False)
    """
    return n_values > n_known / 2 or (n_values > _FEW and n_values > n_known / 5) or not n_known


def as_times(column: npt.NDArray[Any]) -> FloatArray | None:
    """Dates such as 2003-07-14 or 2003-07 as years with fractions, NaN for gaps; None for anything
    else.

    >>> as_times(np.array(["2003-07", None, "2004-01-01"], object)).round(1).tolist()
    [2003.5, nan, 2004.0]
    """
    if column.dtype.kind != "O":
        return None
    values, known = np.full(len(column), np.nan), 0
    for i, text in enumerate(column.tolist()):
        if text is None:
            continue
        found = _DATE.fullmatch(text)
        if found is None:
            return None
        try:
            day = date(int(found[1]), int(found[2]), int(found[3] or 1))
        except ValueError:
            return None
        length = date(day.year, 12, 31).timetuple().tm_yday
        values[i] = day.year + (day.timetuple().tm_yday - 1) / length
        known += 1
    return values if known else None


def _trend(shares: FloatArray, at: FloatArray) -> dict[str, Any]:
    """Means over documents of each value, or of intervals of the same width where values are many;
    standard errors of those means over documents."""
    known = np.isfinite(at)
    x, rows = at[known], shares[known]
    values, place = np.unique(x, return_inverse=True)
    width = 0.0
    if values.size > _POINTS:
        edges = np.linspace(x.min(), x.max(), _BINS + 1)
        width = float(edges[1] - edges[0])
        place = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, _BINS - 1)
        values = (edges[:-1] + edges[1:]) / 2
    sizes = np.bincount(place, minlength=len(values))
    here = np.flatnonzero(sizes)
    mean = np.stack([rows[place == t].mean(axis=0) for t in here])
    spread = np.stack([rows[place == t].std(axis=0) for t in here])
    error = spread / np.sqrt(np.maximum(sizes[here] - 1, 1))[:, None]
    return {
        "at": values[here].tolist(),
        "width": width,
        "sizes": sizes[here].tolist(),
        "mean": packed_shares(mean),
        "error": packed_shares(error),
        "missing": int((~known).sum()),
    }
