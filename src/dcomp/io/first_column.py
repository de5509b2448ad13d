"""Whether the first column of a wide table names its lines, or is a feature like the others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dcomp.data.canonical import LIMIT
from dcomp.data.mistaken import excerpt
from dcomp.errors import DataWarning, warn
from dcomp.io.cells import is_number
from dcomp.io.numbers import is_whole

# What a column of names is called, in small letters and without the s of many.
_WORDS = (
    "id docid doc document name sample site user row index idx key code case subject patient "
    "participant respondent person people member customer client student household observation "
    "ob record entry date year month week day time cell barcode station plot quadrat transect "
    "ward county district precinct constituency region country city town state zip fip postcode "
    "author speaker senator legislator voter article file filename title line unit group label "
    "clas cluster target component topic run trial batch session basket order receipt transaction "
    "invoice individual tumour tumor locality no nr num number # y"
)
_USUAL = set(_WORDS.split())
_ENDING = re.compile(r"(?:^|[\s_.#-])(?:id|no|nr|num|number|name|code|key|index|#)\.?$")
_CAMEL = re.compile(r"[a-z](?:Id|ID|No|Nr)$")
_FEW = 3  # rows from which on rising numbers are no accident


class FirstColumn(Enum):
    """What the first column is: names, names for all that can be told, or a feature.

    >>> FirstColumn.of("whisky", ["31", "12", "31"])
    <FirstColumn.FEATURE: 'feature'>
    """

    NAMES = "names"
    PERHAPS = "perhaps"
    FEATURE = "feature"

    @classmethod
    def of(cls, name: str, fields: list[str], fractional: bool = False) -> FirstColumn:
        """By what it is called and holds: numbers that come again tell no lines apart, rising ones
        were given in a row; of others nobody can be sure."""
        if not name.strip() or is_usual_name(name) or not fields:
            return cls.NAMES
        if not all(map(is_count, fields)):
            return cls.FEATURE if fractional and _are_parts(fields) else cls.NAMES
        values = np.fromiter(map(int, fields), np.int64, len(fields))
        if np.unique(values).size < values.size:
            return cls.FEATURE
        return cls.NAMES if _are_in_a_row(values) else cls.PERHAPS


def is_usual_name(name: str) -> bool:
    """Whether this is what people call a column that names documents.

    >>> [is_usual_name(name) for name in ("Sample No.", "userId", "site_id", "acid", "gin")]
    [True, True, True, False, False]
    """
    small = name.strip().lower()
    if small.removesuffix("s") in _USUAL or small.startswith("unnamed: "):  # as pandas writes
        return True
    return bool(_ENDING.search(small) or _CAMEL.search(name.strip()))


def is_count(field: str) -> bool:
    """Whether a field is a count in plain digits; zeros in front are those of codes.

    >>> is_count("30"), is_count("007"), is_count("D1")
    (True, False, False)
    """
    if not is_whole(field) or (len(field) > 1 and field[0] == "0"):
        return False
    return int(field) <= LIMIT


def say_of(path: Path, name: str, kind: FirstColumn) -> None:
    """Warn of a column that may be the other thing."""
    called = f"{path.name}: the first column, {excerpt(name)!r},"
    if kind is FirstColumn.FEATURE:
        warn(
            f"{called} holds numbers that come again and is read as a feature; label_columns=1 "
            "reads it as names of documents, label_columns=0 as now and without a word",
            DataWarning,
        )
    elif kind is FirstColumn.PERHAPS:
        warn(
            f"{called} holds whole numbers and is read as names of documents; label_columns=0 "
            "reads it as a feature, label_columns=1 as now and without a word",
            DataWarning,
        )


def _are_parts(fields: Iterable[str]) -> bool:
    """Whether all are numbers from 0 on, and some not whole, which no name is."""
    some = False
    for field in fields:
        if not is_number(field) or not 0 <= (value := float(field)) <= LIMIT:
            return False
        some = some or not value.is_integer()
    return some


def _are_in_a_row(values: NDArray[np.int64]) -> bool:
    """Whether numbers rise or fall all the way, or count the lines."""
    steps = np.diff(values)
    if values.size < _FEW:
        return bool(values[0] in (0, 1) and (steps == 1).all())
    return bool((steps > 0).all() or (steps < 0).all())
