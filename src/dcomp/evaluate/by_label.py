"""Components by what is known of documents: the mean share of each in every group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.errors import InvalidParameter, MissingDependency
from dcomp.models.arrays import FloatArray, read_only
from dcomp.printable import columns, padded, shortened

MOST = 8  # groups that are told apart unless more are asked for
_WIDTH = 80  # columns of a line; components that do not fit come below
OTHERS, UNKNOWN = "others", "unknown"


@dataclass(frozen=True, eq=False)
class ByLabel:
    """Mean shares of components, a row per group of documents.

    >>> print(by_label([[0.9, 0.1], [0.7, 0.3], [0, 1]], ["D", "D", "R"]))
    group  documents     #0     #1
    D              2   80 %   20 %
    R              1    0 %  100 %
    """

    names: tuple[str, ...]
    sizes: npt.NDArray[np.int64]  # (G)
    mean: FloatArray  # (G, K)
    error: FloatArray  # (G, K), of the mean over documents; 0 for a group of one

    def to_frame(self) -> Any:
        """As a pandas DataFrame, a row per group and a column per component (`dcomp[frames]`)."""
        try:
            import pandas
        except ImportError:
            raise MissingDependency(
                'a frame needs pandas, which is not installed: pip install "dcomp[frames]"'
            ) from None
        frame = pandas.DataFrame(self.mean, index=pandas.Index(self.names, name="group"))
        frame.insert(0, "documents", self.sizes)
        return frame

    def __str__(self) -> str:
        named = [shortened(name, 24) for name in self.names]
        width = max([len("group"), *map(columns, named)])
        heads = [f"{'group':<{width}}  documents"]
        heads += [
            f"{padded(n, width)}  {size:>9,}" for n, size in zip(named, self.sizes, strict=True)
        ]
        K, at_once = self.mean.shape[1], (_WIDTH - width - 11) // 7
        return "\n\n".join(
            "\n".join(map(str.__add__, heads, self._cells(range(first, min(first + at_once, K)))))
            for first in range(0, K, at_once)
        )

    def _cells(self, components: range) -> list[str]:
        """The columns of some components: their numbers, and a line of shares for each group."""
        shares = self.mean[:, components.start : components.stop].tolist()
        lines = ["".join(f"{100 * value:>5.0f} %" for value in row) for row in shares]
        return ["".join(f"{f'#{k}':>7}" for k in components), *lines]


def by_label(
    shares: npt.ArrayLike, labels: Sequence[Any] | npt.NDArray[Any], *, most: int = MOST
) -> ByLabel:
    """Mean shares by label, one per document; rows of scores are divided by their sums.

    Groups come by name. Where there are more than `most` labels, the rest are "others"; numbers of
    more than eight values become four groups of about as many documents. Documents without a label
    (None, NaN) are "unknown", which comes last.

    >>> by_label([[1, 3], [2, 2]], [None, "YRI"]).names
    ('YRI', 'unknown')
    """
    rows = np.asarray(shares, np.float64)
    column = labels if isinstance(labels, np.ndarray) else np.array(labels, object)
    if rows.ndim != 2 or len(column) != len(rows):
        raise InvalidParameter(
            f"labels must be one per document: {len(rows)} documents, {len(column)} labels"
        )
    rows = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1e-300)
    names, place = _groups(column, most)
    sizes = np.bincount(place, minlength=len(names))
    mean = np.stack([rows[place == g].mean(axis=0) for g in range(len(names))])
    spread = np.stack([rows[place == g].std(axis=0) for g in range(len(names))])
    error = spread / np.sqrt(np.maximum(sizes - 1, 1))[:, None]
    return ByLabel(tuple(names), sizes, read_only(mean), read_only(error))


def _groups(column: npt.NDArray[Any], most: int) -> tuple[list[str], npt.NDArray[np.intp]]:
    """The names of groups, and the group of each document."""
    if column.dtype.kind in "iuf":
        texts = _of_numbers(np.asarray(column, np.float64))
    else:
        texts = [UNKNOWN if _is_gap(value) else str(value) for value in column.tolist()]
        often: dict[str, int] = {}
        for text in texts:
            often[text] = often.get(text, 0) + 1
        if len(often) > most:
            kept = set(sorted(often, key=lambda name: (-often[name], name))[: most - 1])
            texts = [text if text in kept or text == UNKNOWN else OTHERS for text in texts]
    last = (OTHERS, UNKNOWN)
    order = dict.fromkeys(texts)
    if column.dtype.kind not in "iuf":
        order = dict.fromkeys(sorted(order))
    else:
        order = dict.fromkeys(sorted(order, key=_first_number))
    names = [name for name in order if name not in last] + [n for n in last if n in order]
    number = {name: g for g, name in enumerate(names)}
    return names, np.array([number[text] for text in texts])


def is_cut(column: npt.NDArray[Any]) -> bool:
    """Whether these are numbers of so many values that groups are ranges of them.

    >>> is_cut(np.arange(1990, 2020)), is_cut(np.array([1999, 2003, 1999]))
    (True, False)
    """
    if column.dtype.kind not in "iuf":
        return False
    return np.unique(column[np.isfinite(column)]).size > MOST


def _is_gap(value: Any) -> bool:
    return value is None or value != value


def _of_numbers(values: FloatArray) -> list[str]:
    """Each number, or the quarter of all documents that it is in."""
    known = values[np.isfinite(values)]
    if not is_cut(values):
        return [f"{value:g}" if np.isfinite(value) else UNKNOWN for value in values]
    cuts = np.unique(np.quantile(known, [0, 0.25, 0.5, 0.75, 1]))
    place = np.clip(np.searchsorted(cuts, values, side="right") - 1, 0, cuts.size - 2)
    names = [f"{low:g} to {high:g}" for low, high in pairwise(cuts)]
    return [names[place[i]] if np.isfinite(value) else UNKNOWN for i, value in enumerate(values)]


def _first_number(name: str) -> float:
    try:
        return float(name.partition(" ")[0])
    except ValueError:
        return np.inf
