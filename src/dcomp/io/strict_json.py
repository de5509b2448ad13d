"""JSON from strangers: looked over before it is parsed, and nothing in it twice.

Python's parser gives up on deep nesting with a RecursionError, takes the last of two equal keys in
silence, and makes objects of 20 times the size of a text that is all brackets.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from dcomp.io.limits import Budget

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_EACH = 240  # bytes that an item may take: a key, a value, and the places of both
# Of records with few keys each, as histories are: items, whose keys are the same ones again and
# whose places no dictionary has made room for that then outgrew it; objects; lists.
_FEW_KEYS, _OF_RECORDS = 24, (80, 350, 100)
_LONGEST = 40  # digits of a whole number; 64 bits have 20
# Without these no number is beyond a float or that long, and none needs to be looked at by itself.
_LARGE = re.compile(rb"[0-9]{40}|[eE]\+?[0-9]{3}")


def parse_json(content: bytes, budget: Budget, what: str, *, nan: bool = True) -> Any:
    """The value of a JSON text. A ValueError where it is none, is too deep, or says a key twice;
    an InvalidFile where it would take more memory than the budget has. nan: whether numbers may be
    what JSON has no word for.

    >>> parse_json(b'{"a": [1, 2]}', Budget("x"), "the text")
    {'a': [1, 2]}
    >>> parse_json(b'{"a": 1, "a": 2}', Budget("x"), "the text")
    Traceback (most recent call last):
    ValueError: the key 'a' is there twice
    """
    n_opened = content.count(b"[") + content.count(b"{")
    is_small = len(content) < 1 << 14 and n_opened <= int(budget.limits.depth)
    depth, memory = (n_opened, 0) if is_small else _outline(content)
    most = int(budget.limits.depth)
    if depth > most:
        raise ValueError(f"it is {depth:,} deep, and may be {most}; limits=dcomp.Limits(depth=…)")
    cost = len(content) * (3 if content.isascii() else 9) + memory
    budget.charge(cost, what)
    value = _DECODERS[nan, bool(_LARGE.search(content))].decode(content.decode())
    if not nan and _SURROGATE.search(content):
        json.dumps(value, ensure_ascii=False).encode()  # a ValueError for half a character
    budget.free(cost)
    return value


def _outline(content: bytes) -> tuple[int, int]:
    """How deep a text is, and what its items may take of memory at most, beside their letters."""
    bare = content.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in content else content
    text = np.frombuffer(bare, np.uint8)
    outside = np.bitwise_xor.accumulate(text == ord('"')) ^ True  # an even number of quotes before
    marks = text[outside]
    opens = (marks == ord("[")) | (marks == ord("{"))
    closes = (marks == ord("]")) | (marks == ord("}"))
    n_items = int(opens.sum()) + int((marks == ord(",")).sum())
    if not n_items:
        return 0, 0
    steps = opens.astype(np.int8) - closes.astype(np.int8)
    depth = int(np.cumsum(steps[steps != 0], dtype=np.int32).max(initial=0))
    return depth, _memory(marks, n_items)


def _memory(marks: npt.NDArray[np.uint8], n_items: int) -> int:
    """What items take, given the marks outside of texts."""
    braces = np.flatnonzero((marks == ord("{")) | (marks == ord("}")))
    keys = np.searchsorted(np.flatnonzero(marks == ord(":")), braces)  # in front of each
    if np.diff(keys).max(initial=0) > _FEW_KEYS:
        return _EACH * n_items
    n_objects, n_lists = (int((marks == ord(mark)).sum()) for mark in "{[")
    item, an_object, a_list = _OF_RECORDS
    return item * (n_items - n_objects - n_lists) + an_object * n_objects + a_list * n_lists


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice[:40]!r} is there twice")
    return out


def _whole_number(digits: str) -> int:
    if len(digits) > _LONGEST:
        raise ValueError(f"a whole number has {len(digits):,} digits")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        _refuse(digits)
    return value


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word[:40]} is no finite number")


_LENIENT: dict[str, Any] = {"object_pairs_hook": _once}
_STRICT: dict[str, Any] = {**_LENIENT, "parse_constant": _refuse}
_DECODERS = {
    (True, False): json.JSONDecoder(**_LENIENT),
    (True, True): json.JSONDecoder(**_LENIENT, parse_int=_whole_number),
    (False, False): json.JSONDecoder(**_STRICT),
    (False, True): json.JSONDecoder(**_STRICT, parse_int=_whole_number, parse_float=_finite),
}  # nan or not, large numbers or none
