"""Signatures as small bar charts, one below the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.errors import InvalidParameter
from dcomp.models.arrays import FloatArray
from dcomp.plot.axes import colour, names_of, open_frame, pyplot


def profiles(
    loadings: FloatArray, types: Sequence[str], titles: Sequence[str], *, ax: Any = None
) -> Any:
    """A small bar chart for each signature, in columns of ten, coloured by substitution where the
    types are of the form A[C>T]G.

    ax: as many axes as signatures. Returns the axes, an array of them.

    >>> from matplotlib.figure import Figure
    >>> axes = profiles(np.eye(2), ["A[C>A]A", "A[C>T]A"], ["a", "b"], ax=Figure().subplots(2, 1))
    >>> [float(bar.get_height()) for bar in axes[1].patches]
    [0.0, 1.0]
    """
    order, colours, kinds = _by_substitution(types)
    K = len(loadings)
    n_rows = K
    if ax is None:
        ax, n_rows = _grid(K)
    given = np.ravel(np.asarray(ax, object))
    if len(given) < K:
        raise InvalidParameter(f"ax must be {K} axes; got {len(given)}")
    for place, axes in enumerate(given[:K]):
        axes.bar(range(len(types)), loadings[place, order], color=colours, width=0.8)
        axes.set_title(names_of([titles[place]])[0], fontsize=7, loc="left", pad=2)
        axes.set_xticks([])
        axes.tick_params(axis="y", labelsize=5)
        open_frame(axes)
        is_last = place == K - 1 or (place + 1) % n_rows == 0
        if is_last and len(kinds) > 1:
            axes.set_xticks(list(kinds.values()), list(kinds), fontsize=6)
            axes.tick_params(axis="x", length=0)
    return given[:K]


def _grid(K: int) -> tuple[Any, int]:
    """Axes in columns of ten at most, one column after the other, and how many a column has."""
    n_columns = -(-K // 10)
    n_rows = -(-K // n_columns)
    size = (7 * n_columns, 0.9 * n_rows + 0.6)
    _, grid = pyplot().subplots(
        n_rows, n_columns, figsize=size, layout="constrained", squeeze=False
    )
    places = grid.T.ravel()
    for axes in places[K:]:
        axes.set_visible(False)
    return places[:K], n_rows


def _by_substitution(
    types: Sequence[str],
) -> tuple[npt.NDArray[np.intp], list[str], dict[str, float]]:
    """The order of types by what becomes what, as the field draws them, a colour each, and the
    middle of each kind.

    >>> order, _, middles = _by_substitution(["A[T>C]A", "A[C>A]A", "A[C>A]C"])
    >>> order.tolist(), middles
    ([1, 2, 0], {'C>A': 0.5, 'T>C': 2.0})
    """
    kinds = [name[2:5] if name[1:2] == "[" and name[5:6] == "]" else "" for name in types]
    order = np.array(sorted(range(len(types)), key=lambda j: (kinds[j], j)), np.intp)
    known = {kind: colour(i) for i, kind in enumerate(sorted(set(kinds)))}
    sorted_kinds = [kinds[j] for j in order]
    middles = {
        kind: sorted_kinds.index(kind) + (sorted_kinds.count(kind) - 1) / 2
        for kind in dict.fromkeys(sorted_kinds)
    }
    return order, [known[kind] for kind in sorted_kinds], middles
