"""Shares of documents: as a grid in grey, or as thin bars side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.errors import InvalidParameter
from dcomp.evaluate.align_shares import align_shares
from dcomp.models.arrays import FloatArray
from dcomp.plot.axes import COLOURS, axes_or_new, colour, names_of, pyplot
from dcomp.result.of_estimator import as_fit

NAMED = 60  # rows that are named each; of more, some


def grey_grid(
    shares: FloatArray,
    rows: Sequence[str],
    columns: Sequence[str],
    axes: Any = None,
    *,
    across: bool = False,
) -> Any:
    """Shares as grey cells, black for 1; a row each, or a column each where they go across."""
    n, K = len(rows), len(columns)
    long, short = 1 + 0.16 * min(n, 2 * NAMED), 2 + 0.5 * K
    axes = axes_or_new(axes, size=(long, 1.1 + 0.22 * K) if across else (short, long))
    cells = shares.T if across else shares
    axes.imshow(cells, cmap="Greys", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    shown = np.unique(np.linspace(0, n - 1, min(n, 2 * NAMED)).astype(int)).tolist()
    named = names_of(rows[i] for i in shown)
    if across:
        axes.set_yticks(range(K), names_of(columns))
        axes.set_xticks(shown, named, fontsize=6, rotation=90)
        axes.set_yticks(np.arange(K + 1) - 0.5, minor=True)
        axes.grid(which="minor", axis="y", color="white", lw=1.5)
        axes.tick_params(which="minor", length=0)
    else:
        axes.set_xticks(range(K), names_of(columns))
        axes.set_yticks(shown, named, fontsize=6)
    return axes


def bloc_grid(
    found: Any,
    *,
    only: Sequence[bool] | npt.NDArray[np.bool_] | None = None,
    across: bool = True,
    ax: Any = None,
) -> Any:
    """Membership of voters in blocs as squares in grey, black for 1: BJ06 figures 8 and 9.

    found: what `use.rollcall` found. Voters and blocs come in the order of binary PCA, from one
    extreme to the other. only: which voters, such as those of one party. across: voters from left
    to right, as in the paper; else a row each.

    >>> import dcomp
    >>> from matplotlib.figure import Figure
    >>> table = dcomp.datasets.votes(12, 30, seed=1)
    >>> found = dcomp.use.rollcall(table.counts, 2, max_iter=20, n_chains=1)
    >>> ax = bloc_grid(found, ax=Figure().subplots())
    >>> ax.images[0].get_array().shape
    (2, 12)
    """
    rows = found.order
    if only is not None:
        mask = np.asarray(only, bool)
        if mask.shape != (len(found.voters),):
            raise InvalidParameter(
                f"only must have a value for each of {len(found.voters)} voters; got {mask.shape}"
            )
        rows = rows[mask[rows]]
    blocs = list(found.bloc_order)
    voters = [found.voters[i] for i in rows.tolist()]
    shares = np.asarray(found.memberships)[np.ix_(rows, blocs)]
    return grey_grid(shares, voters, [f"bloc {k}" for k in blocs], ax, across=across)


def ancestry_bars(
    found: Any,
    *,
    groups: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
    ax: Any = None,
) -> Any:
    """A thin bar for each document, its shares one above the other; of several fits with different
    K one row of bars below the other, with like components in like colours.

    found: a fit, an estimator, what `use.admixture` found or shares (I, K); or a list of these for
    the same documents. groups: a label per document, such as its population, by which bars are
    sorted; within a group by the component that it has most of, in the last of the fits. ax: as
    many axes as there are fits. Returns the axes, an array of them for a list.

    >>> from matplotlib.figure import Figure
    >>> two = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    >>> ax = ancestry_bars(two, groups=["a", "b", "a"], ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_xticklabels()], len(ax.collections)
    (['a', 'b'], 2)
    """
    several = isinstance(found, list | tuple)
    tables = [_shares_of(one) for one in (found if several else [found])]
    places = align_shares(tables)
    labels = None if groups is None else ["-" if g is None else str(g) for g in groups]
    if labels is not None and len(labels) != len(tables[0]):
        raise InvalidParameter(
            f"groups must have a label for each of {len(tables[0])} documents; got {len(labels)}"
        )
    if ax is None:
        size = (9, 0.6 + 1.6 * len(tables))
        grid = pyplot().subplots(len(tables), 1, figsize=size, layout="constrained", squeeze=False)
        ax = grid[1][:, 0] if several else grid[1][0, 0]
    given = np.ravel(np.asarray(ax, object))
    if len(given) < len(tables):
        raise InvalidParameter(f"ax must be {len(tables)} axes; got {len(given)}")
    order = by_group(tables[-1], labels)
    for axes, table, place in zip(given, tables, places, strict=False):
        own = names if names is not None and len(names) == table.shape[1] else None
        titles = own or [f"#{k}" for k in range(table.shape[1])]
        stacked_bars(table, labels, titles, axes, order=order, colours=place.tolist())
        axes.set_ylabel(f"K = {table.shape[1]}")
    for axes in given[: len(tables) - 1]:
        axes.set_xticks([])
    return ax


def _shares_of(found: Any) -> FloatArray:
    """Rows that sum to 1, of whatever has scores."""
    table = getattr(found, "Q", None)
    if table is None:
        is_fit = hasattr(found, "fit_") or hasattr(found, "expected_counts")
        table = as_fit(found).scores if is_fit else found
    values = np.asarray(table, np.float64)
    if values.ndim != 2 or not np.isfinite(values).all() or (values < 0).any():
        raise InvalidParameter("shares must be a table of finite numbers that are not below 0")
    return np.asarray(values / np.maximum(values.sum(axis=1, keepdims=True), 1e-300))


def stacked_bars(
    shares: FloatArray,
    groups: Sequence[str] | None,
    names: Sequence[str],
    axes: Any = None,
    *,
    order: npt.NDArray[np.intp] | None = None,
    colours: Sequence[int] | None = None,
) -> Any:
    """A thin bar for each row, its shares one above the other; rows by group, and within one by the
    component that the group has most of. order: of the rows instead. colours: their numbers, in
    which order components are stacked."""
    axes = axes_or_new(axes, size=(9, 3))
    places = by_group(shares, groups) if order is None else order
    edges = np.arange(len(places) + 1) - 0.5
    of_colour = list(range(len(names))) if colours is None else list(colours)
    stacked = np.argsort(of_colour, kind="stable").tolist()
    tops = np.concatenate([[[0.0]] * len(places), shares[places][:, stacked]], axis=1)
    tops = np.cumsum(tops, axis=1)
    tops = np.concatenate([tops, tops[-1:]])  # a step goes on to the edge behind it
    titles = names_of(names)
    for at, k in enumerate(stacked):
        hatch = "//" if of_colour[k] // len(COLOURS) % 2 else None
        how = {"step": "post", "label": titles[k], "hatch": hatch, "lw": 0}
        how["color"] = colour(of_colour[k])
        axes.fill_between(edges, tops[:, at], tops[:, at + 1], **how)  # thousands of bars are slow
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(0, max(float(tops.max()), 1e-9))
    axes.set_xticks([])
    if groups is not None:
        _name_groups(axes, [groups[i] for i in places])
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=7, frameon=False)
    return axes


def by_group(shares: FloatArray, groups: Sequence[str] | None) -> npt.NDArray[np.intp]:
    """Rows in the order of the picture.

    >>> by_group(np.array([[0.2, 0.8], [0.9, 0.1], [0.7, 0.3]]), ["b", "a", "a"]).tolist()
    [1, 2, 0]
    """
    labels = np.asarray(groups if groups is not None else [""] * len(shares), object)
    out: list[int] = []
    for label in sorted(set(labels.tolist())):
        here = np.flatnonzero(labels == label)
        main = int(shares[here].sum(axis=0).argmax())
        out += here[np.argsort(-shares[here, main], kind="stable")].tolist()
    return np.array(out, np.intp)


def _name_groups(axes: Any, labels: Sequence[str]) -> None:
    """A line between groups, and the name of each below its middle."""
    ends = [i for i in range(1, len(labels)) if labels[i] != labels[i - 1]]
    for end in ends:
        axes.axvline(end - 0.5, color="black", lw=0.8)
    edges = [0, *ends, len(labels)]
    middles = [(a + b - 1) / 2 for a, b in pairwise(edges)]
    names = [labels[a] for a in edges[:-1]]
    turned = 90 if len(names) > 12 else 0
    axes.set_xticks(middles, names_of(names), fontsize=7, rotation=turned)
    axes.tick_params(axis="x", length=0)
