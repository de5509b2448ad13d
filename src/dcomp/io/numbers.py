"""Numbers out of lines of text, at the speed of C."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ENTRY = 48  # bytes that an entry of a table takes until the table is in order


class NumberLines(NamedTuple):
    """The numbers of some lines, in order, with what is needed to check their layout.

    >>> parse_lines(b"1 2\\n3\\n").per_line
    array([2, 1])
    """

    values: NDArray[np.int64]  # all numbers
    per_line: NDArray[np.int64]  # how many numbers each line holds; blank lines are left out
    after_colon: NDArray[np.bool_]  # whether ':' joins the number to the one before it


def parse_lines(chunk: bytes) -> NumberLines | None:
    """Parse lines of numbers separated by blanks or ':'; None if anything else is in them.

    The chunk must end with a line end. A colon counts only between two digits.

    >>> parse_lines(b"2 0:1 7:3\\n").values
    array([2, 0, 1, 7, 3])
    >>> parse_lines(b"2 abc\\n") is None
    True
    """
    text = np.frombuffer(chunk, np.uint8)
    is_number = text > ord(" ")
    # Signs too are refused here: NumPy would read a lone '-' as 0.
    if not ((~is_number) | ((text >= ord("0")) & (text <= ord(":")))).all():
        return None
    colons = np.flatnonzero(text == ord(":"))
    is_number[colons] = False
    starts = _starts(is_number)
    after_colon = np.zeros(starts.size, np.bool_)
    if colons.size:
        joined = np.searchsorted(starts, colons + 1)
        inside = (colons > 0) & (joined < starts.size)
        if not inside.all() or not (starts[joined] == colons + 1).all():
            return None
        if not is_number[colons - 1].all():
            return None
        after_colon[joined] = True
    values = _numbers(chunk.replace(b":", b" ") if colons.size else chunk, np.int64)
    if values is None or values.size != starts.size:
        return None
    return NumberLines(values, _per_line(text, starts), after_colon)


def parse_real_lines(chunk: bytes) -> tuple[NDArray[np.float64], NDArray[np.int64]] | None:
    """Parse lines of real numbers separated by blanks: the numbers, and how many each line holds;
    None if anything else is in them.

    The chunk must end with a line end; blank lines are left out.

    >>> parse_real_lines(b"1 2.5\\n\\n-3e2\\n")
    (array([   1. ,    2.5, -300. ]), array([2, 1]))
    >>> parse_real_lines(b"1-2\\n") is None
    True
    """
    text = np.frombuffer(chunk, np.uint8)
    starts = _starts(text > ord(" "))
    values = _numbers(chunk, np.float64)
    # NumPy reads '1-2' as two numbers, so that numbers must be as many as what blanks part.
    if values is None or values.size != starts.size:
        return None
    return values, _per_line(text, starts)


def _starts(is_number: NDArray[np.bool_]) -> NDArray[np.int64]:
    starts = np.flatnonzero(is_number[1:] & ~is_number[:-1]) + 1
    return np.concatenate(([0], starts)) if is_number[0] else starts


def _per_line(text: NDArray[np.uint8], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many numbers begin on each line that has any."""
    lines_before = np.searchsorted(np.flatnonzero(text == ord("\n")), starts)
    per_line = np.bincount(lines_before) if starts.size else np.zeros(0, np.int64)
    return per_line[per_line > 0]


def is_whole(field: str) -> bool:
    """Tell whether a field is a whole number in plain digits, and not absurdly long.

    >>> is_whole("17"), is_whole("-1"), is_whole("1.5")
    (True, False, False)
    """
    return field.isascii() and field.isdigit() and len(field) < 19


def _numbers(text: bytes, kind: type[Any]) -> NDArray[Any] | None:
    if not text.strip():
        return np.zeros(0, kind)
    with warnings.catch_warnings():
        # Older NumPy releases only warn when they stop early.
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(text, kind, sep=" ")
        except (ValueError, DeprecationWarning):
            return None
