"""Labels of documents as users have them: a class each, or topics, some of them unknown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from dcomp.data import Counts, FeatureSpace
from dcomp.errors import InvalidParameter

UNKNOWN = -1  # in codes
NO_TOPIC = "(no topic)"
_SEVERAL = (list, tuple, set, frozenset)


@dataclass(frozen=True, eq=False)
class Labels:
    """One class per document, or any number of topics.

    >>> Labels.read(["cat", None, "dog"]).codes.tolist()
    [0, -1, 1]
    >>> found = Labels.read([["tax", "law"], [], None, ["law"]])
    >>> found.classes.tolist(), found.codes.tolist()
    (['law', 'tax'], [[1, 1], [0, 0], [-1, -1], [1, 0]])
    """

    classes: npt.NDArray[Any]  # (C), sorted
    codes: npt.NDArray[np.int64]  # (I): number of the class; (I, C) of topics: 1, 0; −1: unknown

    @property
    def are_topics(self) -> bool:
        """Whether a document may have several."""
        return self.codes.ndim == 2

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """The documents of which all is known, (I)."""
        is_known = self.codes != UNKNOWN
        return np.asarray(is_known.all(axis=1) if self.are_topics else is_known)

    @classmethod
    def read(cls, y: Any, unknown: Any = -1) -> Labels:
        """Of a sequence of classes, a table of 0 and 1 with a column per topic, or lists of topics
        by name. Unknown are None, NaN and what `unknown` says; of topics a whole list or a cell.
        """
        if y is None:
            raise InvalidParameter("a classifier requires y to be passed, but the target y is None")
        y = y.toarray() if hasattr(y, "toarray") else y
        if _are_lists(y):
            return cls._of_lists(y, unknown)
        table = _as_array(y)
        if table.ndim == 2 and table.shape[1] > 1:
            return cls._of_table(table, unknown)
        values = column_or_1d(table, warn=True)
        gone = is_unknown(values, unknown)
        if gone.all():
            raise InvalidParameter(
                f"y must have two classes or more; all {len(values)} are unknown"
            )
        check_classification_targets(values[~gone])
        known = values[~gone]
        known = known.astype(str) if known.dtype == object and _are_text(known) else known
        classes, numbers = np.unique(known, return_inverse=True)
        codes = np.full(len(values), UNKNOWN)
        codes[~gone] = numbers
        return cls(classes, codes)

    @classmethod
    def _of_lists(cls, y: Iterable[Any], unknown: Any) -> Labels:
        rows = [None if not isinstance(row, _SEVERAL) else {str(t) for t in row} for row in y]
        wrong = [v for v in y if not isinstance(v, _SEVERAL) and not _is_gap(v, unknown)]
        if wrong:
            raise InvalidParameter(
                f"topics must be a list for each document, or None where unknown; got {wrong[0]!r}"
            )
        classes = sorted(set().union(*(row for row in rows if row is not None)))
        number = {name: t for t, name in enumerate(classes)}
        codes = np.full((len(rows), len(classes)), UNKNOWN)
        for i, row in enumerate(rows):
            if row is not None:
                codes[i] = 0
                codes[i, [number[name] for name in row]] = 1
        return cls(np.array(classes), codes)

    @classmethod
    def _of_table(cls, table: npt.NDArray[Any], unknown: Any) -> Labels:
        gone = np.stack([is_unknown(column, unknown) for column in table.T], axis=1)
        codes = np.full(table.shape, UNKNOWN)
        for code in (0, 1):
            codes[np.where(gone, np.nan, table.astype(np.float64)) == code] = code
        if ((codes == UNKNOWN) & ~gone).any():
            i, t = np.argwhere((codes == UNKNOWN) & ~gone)[0].tolist()
            raise InvalidParameter(
                "Unknown label type: a table of topics must hold 0 and 1, and "
                f"{unknown!r} where unknown; found {table[i, t]!s} at document {i}, topic {t}"
            )
        return cls(np.arange(table.shape[1]), codes)

    def as_counts(self, weight: float, doc_ids: Sequence[str] | None, fractional: bool) -> Counts:
        """As a block with a feature per class, of which a document's own has the count `weight`,
        and none where it is unknown. The topics of a document share it, each with 1 at least; one
        that is known to have no topic has the feature for that."""
        table = np.zeros((len(self.codes), self.features.n_features))
        if self.are_topics:
            table[:, :-1] = self.codes == 1
            table[:, -1] = (self.codes == 0).all(axis=1)
        else:
            known = np.flatnonzero(self.known)
            table[known, self.codes[known]] = 1
        each = weight / np.maximum(table.sum(axis=1, keepdims=True), 1)
        table *= each if fractional else np.maximum(np.rint(each), 1)
        made = Counts.from_matrix(sparse.csr_array(table), doc_ids=doc_ids, fractional=fractional)
        return made.with_features(self.features)

    @property
    def features(self) -> FeatureSpace:
        """One per class, and one for no topic."""
        names = [str(name) for name in self.classes]
        names += [NO_TOPIC] * self.are_topics
        return FeatureSpace.build(len(names), names)


def is_unknown(values: npt.NDArray[Any], unknown: Any) -> npt.NDArray[np.bool_]:
    """Which labels are none: None, NaN, and what `unknown` says."""
    return np.array([_is_gap(value, unknown) for value in values.tolist()], dtype=bool)


def _is_gap(value: Any, unknown: Any) -> bool:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return True
    return (
        unknown is not None
        and isinstance(value, str) == isinstance(unknown, str)
        and bool(value == unknown)
    )


def _are_lists(y: Any) -> bool:
    """Whether these are lists of topics by name; rows of numbers are a table."""
    if not isinstance(y, list | tuple | np.ndarray):
        return False
    if isinstance(y, np.ndarray) and (y.dtype != object or y.ndim != 1):
        return False
    rows = [row for row in y if isinstance(row, _SEVERAL)]
    named = any(isinstance(topic, str) for row in rows for topic in row)
    return bool(rows) and (named or len({len(row) for row in rows}) > 1)


def _as_array(y: Any) -> npt.NDArray[Any]:
    if isinstance(y, np.ndarray):
        return y
    if hasattr(y, "to_numpy"):
        return np.asarray(y.to_numpy())
    if not isinstance(y, list | tuple):
        return np.asarray(y)
    gaps = any(value is None for value in y)
    mixed = len({isinstance(value, str) for value in y}) > 1
    return np.array(y, dtype=object) if gaps or mixed else np.asarray(y)


def _are_text(values: npt.NDArray[Any]) -> bool:
    return all(isinstance(value, str) for value in values.tolist())
