"""Rankings and classes: precision against recall, and where two classifiers differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.errors import InvalidParameter
from dcomp.evaluate.retrieved import precision_recall as of_ranking
from dcomp.plot.axes import axes_or_new, colour, names_of, open_frame


def precision_recall(
    scores: npt.ArrayLike | Mapping[str, npt.ArrayLike],
    relevant: npt.ArrayLike,
    *,
    ax: Any = None,
) -> Any:
    """Precision against recall along a ranking, or several by name; the legend has the average
    precision, and the dotted line what chance would give.

    scores: of each document, higher is better. relevant: whether each is.

    >>> from matplotlib.figure import Figure
    >>> ax = precision_recall({"ours": [3, 2, 1, 0]}, [1, 0, 1, 0], ax=Figure().subplots())
    >>> ax.get_legend().get_texts()[0].get_text()
    'ours, 0.833'
    """
    several = scores if isinstance(scores, Mapping) else {"": scores}
    axes = open_frame(axes_or_new(ax, size=(4.5, 4)))
    share = 0.0
    for number, (name, values) in enumerate(several.items()):
        found = of_ranking(values, relevant)
        recall = np.concatenate([[0.0], found.recall])
        precision = np.concatenate([found.precision[:1], found.precision])
        label = f"{names_of([name])[0]}, {found.average:.3f}".removeprefix(", ")
        axes.step(recall, precision, where="pre", color=colour(number), label=label)
        share = found.share
    axes.axhline(share, color="0.5", lw=0.8, ls=":")
    axes.set(xlabel="recall", ylabel="precision", xlim=(0, 1.01), ylim=(0, 1.05))
    axes.legend(title="average precision", fontsize=8, title_fontsize=8, frameon=False)
    return axes


def confusion_differences(
    truth: Sequence[Any],
    first: Sequence[Any],
    second: Sequence[Any],
    *,
    names: tuple[str, str] = ("first", "second"),
    ax: Any = None,
) -> Any:
    """Where two classifiers differ: of the documents of each true class (rows), how many more the
    first puts into each class (columns) than the second. Purple on the diagonal is good for the
    first, orange off the diagonal too.

    >>> from matplotlib.figure import Figure
    >>> truth, ours, theirs = list("aabb"), list("aabb"), list("abba")
    >>> ax = confusion_differences(truth, ours, theirs, ax=Figure().subplots())
    >>> ax.images[0].get_array().tolist()
    [[1, -1], [-1, 1]]
    """
    if not len(truth) or len({len(truth), len(first), len(second)}) != 1:
        raise InvalidParameter("truth and both predictions must be labels of the same documents")
    labels = sorted({str(x) for part in (truth, first, second) for x in part})
    place = {label: i for i, label in enumerate(labels)}
    rows = [place[str(x)] for x in truth]
    table = np.zeros((len(labels), len(labels)), int)
    for sign, told in ((1, first), (-1, second)):
        np.add.at(table, (rows, [place[str(x)] for x in told]), sign)
    side = 1.8 + 0.42 * len(labels)
    axes = axes_or_new(ax, size=(side + 0.8, side))
    most = max(int(np.abs(table).max()), 1)
    image = axes.imshow(table, cmap="PuOr", vmin=-most, vmax=most)
    if len(labels) <= 25:
        for (i, j), value in np.ndenumerate(table):
            if value:
                ink = "white" if abs(value) > 0.6 * most else "black"
                axes.text(j, i, f"{value:+d}", ha="center", va="center", fontsize=7, color=ink)
    axes.set_xticks(range(len(labels)), names_of(labels), rotation=90, fontsize=8)
    axes.set_yticks(range(len(labels)), names_of(labels), fontsize=8)
    axes.set(xlabel="told", ylabel="truth")
    more = axes.figure.colorbar(image, ax=axes, shrink=0.8)
    more.set_label(f"{names_of(names)[0]} minus {names_of(names)[1]}, documents", fontsize=8)
    return axes
