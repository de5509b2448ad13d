"""Fields of a table that hold counts: their numbers, and what is wrong with one that has none."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcomp.data.canonical import LIMIT, MISSING, TAKES_ANY
from dcomp.data.mistaken import excerpt, have_many_words
from dcomp.errors import InvalidFile
from dcomp.io.limits import Budget

BATCH = 4096  # fields that are made numbers at a time
_THOUSANDS = re.compile(r"\s*\d{1,3}(?:[,'\u2019\s]\d{3})+(?:\.0*)?\s*")
_COMMA = re.compile(r"\s*[+-]?\d*,\d+\s*")


@dataclass(frozen=True, slots=True)
class Cells:
    """Counts out of fields, whole ones or fractional ones."""

    path: Path
    fractional: bool
    budget: Budget
    hint: str = ""  # what else a field that is no number may be

    @property
    def code(self) -> str:
        """Of an `array` of counts."""
        return "d" if self.fractional else "i"

    def numbers(self, fields: list[str], places: Iterable[tuple[int, str]]) -> NDArray[Any]:
        """Of these fields; places have the line and column of each, for an error."""
        values = _plain(fields)
        if values is None:
            placed = zip(fields, places, strict=True)
            found = [self._count(field, *place) for field, place in placed]
            values = np.array(found, np.float64 if self.fractional else np.int32)
        return values.astype(np.float64) if self.fractional else values

    def _count(self, field: str, line: int, column: str) -> float:
        value = float(field) if is_number(field) else -1.0
        if not (0 <= value <= LIMIT and (self.fractional or value.is_integer())):
            kind = "numbers" if self.fractional else "whole numbers"
            is_part = not self.fractional and 0 <= value <= LIMIT
            hint = f" ({TAKES_ANY})" if is_part else self._no_count(field, column)
            raise InvalidFile(
                f"{self.path}:{line}: counts must be non-negative {kind} up to {LIMIT}; "
                f"found {excerpt(field)!r} in column {excerpt(column)!r}{hint}"
            )
        return value

    def _no_count(self, field: str, column: str) -> str:
        """Which formats take words where counts are expected; how missing is written."""
        if field.strip().lower() in ("", "nan", "na", "null", "none"):
            return f": {MISSING}"
        if is_number(field):
            return ""
        if _THOUSANDS.fullmatch(field):
            plain = re.sub(r"\D", "", field.partition(".")[0])
            return f": thousands are written without a mark between them, {excerpt(plain)}"
        if _COMMA.fullmatch(field):
            point = field.replace(",", ".").strip()
            need = "" if self.fractional else ", and fractional=True if counts need not be whole"
            return f": a decimal comma is written as a point, {excerpt(point)}{need}"
        if have_many_words([field]):
            return f" (whole texts are read by text={excerpt(column)!r})"
        formats = "format='categories' reads a table of answers, format='votes' one of votes"
        return f" ({self.hint + '; ' if self.hint else ''}{formats})"


def _plain(fields: list[str]) -> NDArray[np.int32] | None:
    """The counts if all are plain whole numbers in range, the common case, or None."""
    try:
        values = np.array([int(field) for field in fields], np.int64)
        in_range = values.min() >= 0 and values.max() <= LIMIT and "_" not in "".join(fields)
    except (ValueError, OverflowError):
        return None
    # The range is looked at in 64 bits: in 32, NumPy before 2.0 makes 1 of 4294967297.
    return values.astype(np.int32) if in_range else None


def is_number(field: str) -> bool:
    """Whether a field reads as a number.

    >>> is_number("1e3"), is_number("C>A"), is_number("1_0")
    (True, False, False)
    """
    try:
        float(field)
    except ValueError:
        return False
    return "_" not in field  # which only Python takes for part of a number
