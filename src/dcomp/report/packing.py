"""How numbers and text get into the page: arrays as base64, text that no parser can mistake."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.printable import on_page

# Kinds of arrays by the names that the page knows them by. All are little-endian.
_KINDS = {"u1": "<u1", "i1": "<i1", "u2": "<u2", "u4": "<u4", "f4": "<f4", "f8": "<f8"}
_UNIT = 65535  # a share of 1 in two bytes: steps of 0.0015 %
_IN_SCRIPT = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
_BLANKS = re.compile(r"\s+")


def packed(values: npt.ArrayLike, kind: str) -> dict[str, str]:
    """An array as the page's script unpacks it; rows one after the other.

    >>> packed([1, 2], "u2")
    {'u2': 'AQACAA=='}
    """
    array = np.ascontiguousarray(np.asarray(values), dtype=_KINDS[kind])
    return {kind: base64.b64encode(array.tobytes()).decode("ascii")}


def packed_shares(values: npt.ArrayLike) -> dict[str, str]:
    """Numbers from 0 to 1 in two bytes each, so that an error is below 0.001 %.

    >>> packed_shares([0.0, 1.0])
    {'share': 'AAD//w=='}
    """
    whole = np.rint(np.clip(np.asarray(values, np.float64), 0, 1) * _UNIT)
    return {"share": packed(whole, "u2")["u2"]}


def smallest(limit: int) -> str:
    """The kind of whole numbers up to a limit.

    >>> smallest(255), smallest(500), smallest(100_000)
    ('u1', 'u2', 'u4')
    """
    return "u1" if limit < 1 << 8 else "u2" if limit < 1 << 16 else "u4"


def name_on_page(name: object, most: int = 80) -> str:
    """A name in one line, cut where it is longer than `most` characters.

    >>> name_on_page("a" * 10, 5), name_on_page(" two\\nlines ")
    ('aaaa…', 'two lines')
    """
    # What is far beyond the cut is not looked at: a name may be of megabytes.
    text = on_page(_BLANKS.sub(" ", str(name)[: 4 * most]).strip())
    return text if len(text) <= most else text[: most - 1] + "…"


def script_json(value: Any) -> str:
    """JSON for a script element: no character in it can end the element or the line.

    >>> print(script_json({"a": "</script>"}))
    {"a":"\\u003c/script\\u003e"}
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_IN_SCRIPT)
