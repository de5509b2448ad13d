"""What stands between the fields of a table."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from dcomp.errors import InvalidParameter
from dcomp.io.files import SHORT, plain_name

MARKS = (",", ";", "\t")
_OTHERS = ("|", ":", "^", "~", " ")  # which are not looked for, since names and texts have them
_SPELT = {"tab": "\t", "\\t": "\t"}  # as it is typed in a shell


def delimiter_of(path: Path, given: str | None = None) -> str:
    """What stands between fields: as told, or by the name of the file.

    >>> delimiter_of(Path("a.tsv.gz")), delimiter_of(Path("a.csv"))
    ('\\t', ',')
    """
    if given is None:
        return "\t" if plain_name(path).lower().endswith(".tsv") else ","
    mark = _SPELT.get(given, given) if isinstance(given, str) else ""
    if len(mark) != 1 or mark in '"\r\n\0':
        raise InvalidParameter(
            f"delimiter must be one character that parts fields, such as '|' or tab; got {given!r}"
        )
    return mark


def delimiter_in(path: Path, front: Sequence[str], given: str | None = None) -> str:
    """The same, of a file that does not say by its name what it is, as its first two lines have it:
    spreadsheets write semicolons into .csv where numbers have commas. Commas win where they part
    both lines alike.

    >>> delimiter_in(Path("a.csv"), ['Site;"Elm, wych";Oak', "Fen;3;4"])
    ';'
    """
    usual = delimiter_of(path, given)
    if given is not None or usual == "\t" or not front:
        return usual
    widths = {mark: _width(front[0], mark) for mark in MARKS}
    wide = {mark: width for mark, width in widths.items() if width > 1}
    if len(front) > 1 and all(len(line) <= SHORT for line in front):
        alike = {mark: n for mark, n in wide.items() if _width(front[1], mark) == n}
        wide = alike or wide
    if usual in wide or not wide:
        return usual
    return max(wide, key=lambda mark: wide[mark])


def other_mark(header: str, below: str) -> str | None:
    """What parts two lines alike that none of the usual marks part, or None.

    >>> other_mark("site|elm|oak", "Fen|3|4"), other_mark("Elms of 2020", "site")
    ('|', None)
    """
    for mark in _OTHERS:
        width = _width(header, mark)
        if width > 2 and _width(below, mark) == width:
            return mark
    return None


def _width(line: str, mark: str) -> int:
    """How many fields the beginning of a line has."""
    try:
        return len(next(csv.reader([line[:SHORT]], delimiter=mark), []))
    except csv.Error:
        return 0
