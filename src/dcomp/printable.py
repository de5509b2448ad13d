"""Names and messages that are safe to look at, whoever wrote the file that they come from.

A name may hold what a terminal obeys instead of showing: escapes that clear the screen or set the
title, marks that turn the direction of writing around, characters without any width. Whatever
is shown goes through this module; whatever is kept or written to a file is left as it is.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

_SPACES = "\xa0\u3000"  # which Python does not call printable, and people write
# Letters and marks by their category, but without a shape of their own.
_SHAPELESS = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    r"\U000e0100-\U000e01ef]"
)
# How a cell begins that is computed, in wide characters too.
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
_PERHAPS = re.compile(r"[^ -~]")
_IN_LINES = re.compile(r"[^ -~\n]")
# Controls but for tabs and ends of lines, marks of direction, halves of characters, separators of
# lines that a page would not break.
_NOT_ON_PAGE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def printable(text: object) -> str:
    """A name or a message as one line: what a terminal would obey, or not show, is spelt out.

    >>> print(printable("a\\x1b[2Jb\\u202ec\\n"))
    a\\x1b[2Jb\\u202ec\\n
    >>> printable("naïve 日本語")
    'naïve 日本語'
    """
    return _PERHAPS.sub(_spelt, str(text))


def printable_lines(text: object) -> str:
    """The same of a text that has lines.

    >>> printable_lines("one\\ntwo\\t\\x9b")
    'one\\ntwo\\\\t\\\\x9b'
    """
    return _IN_LINES.sub(_spelt, str(text))


def on_page(text: object) -> str:
    """A text for a page, which obeys no escapes and needs the invisible parts of an emoji: controls
    and marks that turn the direction of writing around are spelt out, the rest is left.

    >>> print(on_page("a\\x1b[2J\\u202eb\\n\\u2764\\ufe0f"))
    a\\x1b[2J\\u202eb
    \u2764\ufe0f
    """
    return _NOT_ON_PAGE.sub(_in_escapes, str(text))


def printable_json(value: Any, indent: int | None = None) -> str:
    """JSON that says the exact names, and is safe to look at: only what is not is escaped.

    >>> print(printable_json({"name": "é\\u202e\\x7f"}))
    {"name": "é\\u202e\\u007f"}
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    return _IN_LINES.sub(_in_json, text)


def for_spreadsheet(text: str) -> str:
    """A cell of text that no spreadsheet takes for a formula: an apostrophe comes before it.

    >>> for_spreadsheet("=1+1"), for_spreadsheet("cat")
    ("'=1+1", 'cat')
    """
    return f"'{text}" if text.startswith(_FORMULA) else text


def columns(text: str) -> int:
    """How many columns of a terminal a printable text takes.

    >>> columns("cat"), columns("日本"), columns("e\\u0301")
    (3, 4, 1)
    """
    return len(text) if text.isascii() else sum(map(_width, text))


def shortened(text: object, limit: int) -> str:
    """A name in at most `limit` columns.

    >>> shortened("parliament", 7), shortened("日本語", 5), shortened("cat", 7)
    ('parlia…', '日本…', 'cat')
    """
    whole = printable(text)
    if columns(whole) <= limit:
        return whole
    used = end = 0
    while used + _width(whole[end]) <= limit - 1:
        used += _width(whole[end])
        end += 1
    return whole[:end] + "…"


def padded(text: object, width: int) -> str:
    """A name with spaces after it, to fill `width` columns; cut where it is longer.

    >>> padded("日本", 6) + "|"
    '日本  |'
    """
    shown = shortened(text, width)
    return shown + " " * (width - columns(shown))


def _is_safe(character: str) -> bool:
    known = character.isprintable() or character in _SPACES
    return known and _SHAPELESS.match(character) is None


def _spelt(found: re.Match[str]) -> str:
    character = found[0]
    return character if _is_safe(character) else character.encode("unicode_escape").decode()


def _in_escapes(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


def _in_json(found: re.Match[str]) -> str:
    return found[0] if _is_safe(found[0]) else json.dumps(found[0])[1:-1].replace("\x7f", "\\u007f")


def _width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
