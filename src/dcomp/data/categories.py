"""Tables of categories: answers, votes, grades, codes. One block of features per column.

A row has one category in each column, or none where it is missing: the block then has no count,
which is no answer, and not the answer "no" (grade of membership, BJ06 V.C).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcomp.data import frames
from dcomp.data.attributes import Attributes
from dcomp.data.counts import Counts
from dcomp.data.features import FeatureSpace
from dcomp.errors import DataWarning, InvalidCounts, InvalidParameter, warn

FEW = 20  # categories that any column may have; beyond, more than half as many as rows are too many


@dataclass(slots=True)
class Column:
    """The values of a column by number, in the order of first appearance; -1 where missing.

    >>> answers = Column("vote")
    >>> for answer in ("yea", None, "nay", "yea"):
    ...     answers.add(answer)
    >>> answers.codes.tolist(), list(answers.values)
    ([0, -1, 1, 0], ['yea', 'nay'])
    """

    name: str
    values: dict[str, int] = field(default_factory=dict)
    codes: array[int] = field(default_factory=lambda: array("i"))

    def add(self, value: str | None) -> None:
        """The value of one more row."""
        code = -1 if value is None else self.values.setdefault(value, len(self.values))
        self.codes.append(code)

    @property
    def is_numeric(self) -> bool:
        """Whether all values are numbers; of a column without any it is not said."""
        return bool(self.values) and all(_number(value) is not None for value in self.values)

    def as_attribute(self) -> list[Any]:
        """The values as an attribute has them: numbers where all are, None for a gap."""
        values: list[Any] = list(self.values)
        if self.is_numeric:
            values = [_plain(value) for value in values]
        return [None if code < 0 else values[code] for code in self.codes]

    def as_codes(self) -> Column:
        """With numbers written one way: 2.0 is 2."""
        plain = [
            str(_plain(value)) if _number(value) is not None else value for value in self.values
        ]
        numbers: dict[str, int] = {}
        places = [numbers.setdefault(value, len(numbers)) for value in plain]
        moved = array("i", [-1 if code < 0 else places[code] for code in self.codes])
        return Column(self.name, numbers, moved)


def from_columns(
    columns: Sequence[Column],
    *,
    attributes: Iterable[str] = (),
    codes: Iterable[str] | bool = (),
    doc_ids: Sequence[str] | None = None,
) -> Counts:
    """Counts of columns that hold categories; what is known of rows beside them are attributes.

    Columns of words are categories, and columns of numbers are attributes, unless `codes` names
    them (True: all): numbers that stand for answers. `attributes` are columns that are no question.

    >>> party, vote = Column("party"), Column("vote")
    >>> for row in (("D", "yea"), ("R", "nay"), ("R", None)):
    ...     party.add(row[0]), vote.add(row[1])
    (None, None)
    (None, None)
    (None, None)
    >>> counts = from_columns([party, vote], attributes=["party"])
    >>> counts.features.labels, counts.to_scipy().toarray().tolist()
    (('nay', 'yea'), [[0, 1], [1, 0], [0, 0]])
    """
    known = {column.name: column for column in columns}
    if len(known) < len(columns):
        names = [column.name for column in columns]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidCounts(f"columns must differ in their names; {twice!r} is there twice")
    beside = _known("attributes", attributes, known)
    coded = set(known) - beside if codes is True else _known("codes", codes or (), known)
    if beside & coded:
        raise InvalidParameter(
            f"a column is an attribute or holds codes, not both; got {sorted(beside & coded)[0]!r}"
        )
    about, questions = {}, []
    for name, column in known.items():
        if name in beside or (column.is_numeric and name not in coded):
            about[name] = column.as_attribute()
        else:
            questions.append(column.as_codes() if name in coded else column)
    if not questions:
        raise InvalidCounts(
            "no column holds words that could be categories; where numbers are codes of answers, "
            "name their columns by codes="
        )
    if codes is True:
        _say_of_measured(questions)
    return _counts(questions, about, doc_ids)


def _say_of_measured(questions: Sequence[Column]) -> None:
    """Warn of a column of many numbers among questions of few, where nobody has named it: such as
    an age."""
    many = [column for column in questions if column.is_numeric and len(column.values) > FEW]
    if many and 2 * len(many) < len(questions):
        name, n, more = many[0].name, len(many[0].values), len(many) - 1
        others = f", and there are {more:,} more such columns" if more else ""
        warn(
            f"column {name!r} is read as a question of {n:,} answers, all of them numbers{others}: "
            f"attributes={name!r} says that it is none, codes={name!r} with the others that it is",
            DataWarning,
        )


def _known(what: str, names: Iterable[str] | bool, known: Mapping[str, Column]) -> set[str]:
    if isinstance(names, str | bool):
        raise InvalidParameter(f"{what} must be names of columns; got {names!r}")
    return {column_name(what, str(name), list(known)) for name in names}


def column_name(what: str, name: str, there: Sequence[str]) -> str:
    """The column that is meant: small and capital letters are told apart only where they must be.

    >>> column_name("attributes", "party", ["AGE", "PARTY"])
    'PARTY'
    """
    if name in there:
        return name
    alike = [other for other in there if other.lower() == name.lower()]
    if len(alike) != 1:
        among = ", ".join(map(repr, there[:12])) + (", …" if len(there) > 12 else "")
        raise InvalidParameter(f"{what} must name columns; found {name!r}, and there are {among}")
    return alike[0]


def _counts(
    questions: Sequence[Column], about: Mapping[str, Iterable[Any]], doc_ids: Sequence[str] | None
) -> Counts:
    n_docs = len(questions[0].codes)
    names: list[str] = []
    sizes, cells = [], np.empty((n_docs, len(questions)), np.int32)
    for g, column in enumerate(questions):
        values = _in_order(_checked(column))
        place = np.empty(len(values) + 1, np.int32)
        place[[column.values[value] for value in values]] = np.arange(len(values)) + len(names)
        place[-1] = -1
        cells[:, g] = place[np.frombuffer(column.codes, np.int32)]
        names += values
        sizes.append(len(values))
    blocks = np.repeat(np.arange(len(questions), dtype=np.int32), sizes)
    features = FeatureSpace(tuple(names), blocks, tuple(column.name for column in questions))
    answered = cells >= 0
    indptr = np.r_[0, np.cumsum(answered.sum(axis=1))]
    return Counts(
        indptr,
        cells[answered],
        np.ones(int(indptr[-1]), np.int32),
        features,
        None if doc_ids is None else tuple(doc_ids),
        attributes=Attributes(n_docs, about),
        empty_is_missing=True,
    )


def _checked(column: Column) -> Column:
    """An error where the values of a column are no categories."""
    n_values = len(column.values)
    n_rows = int((np.frombuffer(column.codes, np.int32) >= 0).sum())
    if not n_values:
        raise InvalidCounts(f"column {column.name!r} has no answer in any row: leave it out")
    if n_values > max(FEW, n_rows / 2):
        raise InvalidCounts(
            f"a category must come more than once; column {column.name!r} has {n_values:,} "
            f"different values in {n_rows:,} rows: name it as id= or among attributes=, or "
            "leave it out"
        )
    return column


def _in_order(column: Column) -> list[str]:
    values = list(column.values)
    if column.is_numeric:
        return sorted(values, key=lambda value: (_number(value) or 0.0, value))
    return sorted(values)


def _number(text: str) -> float | None:
    """The number that is written, if one is; a name such as 'nan' or '1_0' is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) and "_" not in text else None


def _plain(text: str) -> int | float:
    """A number, whole where it is."""
    value = float(text)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def from_frame(
    frame: Any,
    *,
    attributes: Iterable[str] = (),
    codes: Iterable[str] | bool = (),
    doc_ids: Iterable[object] | None = None,
) -> Counts:
    """The same of a pandas or polars frame; None and NaN are missing. A pandas index names the
    documents, unless it is the default.

    >>> import pandas
    >>> frame = pandas.DataFrame({"vote": ["yea", None, "nay"], "age": [40, 50, 60]})
    >>> counts = from_frame(frame)
    >>> counts.features.names, counts.attributes["age"].tolist()
    (('nay', 'yea'), [40, 50, 60])
    """
    made = []
    for name, values in zip(frame.columns, frames.columns(frame), strict=True):
        column = Column(str(name))
        for value in values:
            # NaN is the one value that differs from itself.
            gap = value is None or value != value or type(value).__name__ == "NAType"
            column.add(None if gap else str(value))
        made.append(column)
    ids = frames.document_names(frame) if doc_ids is None else doc_ids
    names = None if ids is None else [str(name) for name in ids]
    return from_columns(made, attributes=attributes, codes=codes, doc_ids=names)


def turned(counts: Counts, attributes: Mapping[str, Iterable[Any]] | None = None) -> Counts:
    """The other way round: blocks are the documents, and each document is a block.

    Roll calls described by members become members described by roll calls, and back. What is known
    of documents stays behind; `attributes` are those of the new ones.

    >>> table = Counts.from_matrix([[1, 0, 0], [0, 1, 1]], feature_names=["yea", "nay", "yea"],
    ...     doc_ids=["Ann", "Bob"], blocks=["RC1", "RC1", "RC2"])
    >>> turned(table).features.labels, turned(table).doc_ids
    (('Ann=yea', 'Bob=nay', 'Bob=yea'), ('RC1', 'RC2'))
    """
    features = counts.features
    if features.n_blocks < 2:
        raise InvalidParameter("a table must have several blocks to be turned; it has one")
    row = np.repeat(np.arange(counts.n_docs), np.diff(counts.indptr))
    labels = list(features.names or map(features.name, range(features.n_features)))
    number = {name: place for place, name in enumerate(sorted(set(labels)))}
    value = np.array([number[name] for name in labels])[counts.indices]
    keys, place = np.unique(row * len(number) + value, return_inverse=True)
    names = list(number)
    document: NDArray[Any] = features.blocks[counts.indices]
    order = np.lexsort((place, document))
    made = Counts(
        np.r_[0, np.cumsum(np.bincount(document, minlength=features.n_blocks))],
        place[order].astype(np.int32),
        counts.data[order],
        FeatureSpace.build(
            keys.size,
            [names[key] for key in (keys % len(number)).tolist()],
            [counts.doc_name(i) for i in (keys // len(number)).tolist()],
        ),
        tuple(features.block_name(g) for g in range(features.n_blocks)),
        empty_is_missing=counts.empty_is_missing,
    )
    return made if attributes is None else made.with_attributes(attributes)
