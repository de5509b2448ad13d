"""Whether what a file says is of the kind that the code is written for: by the same annotations."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_LEAST, _MOST = -(1 << 63), 1 << 64
_PLAIN = frozenset({int, float, str, bool, tuple, type(None)})  # which are no dataclasses
_Test = Callable[[Any], bool]

# A manifest, part by part: a type, a list of one, what each key of an object holds ("parts?" need
# not be there), or any of several.
_MODEL = {"key": str, "scores": dict, "learn_gamma": bool, "fixed_at?": [int]}
MANIFEST: dict[str, Any] = {
    "model": _MODEL,
    "algorithm": dict,
    "state": {"sweep": int, "seed": int, "recorded": int, "parts?": [int]},
    "reason": str,
    "exposure_rule": (str, None),
    "draws": ({"chains": [int], "best": int}, None),
    "history": [dict],
    "chains": [[dict]],
    "endings": [{"seed": int, "model": _MODEL}],
    "provenance": dict,
    "component_names?": ([str], None),
}
NAMES: dict[str, Any] = {
    "features": ([str], None),
    "block_names": ([str], None),
    "documents": ([str], None),
}


def check_layout(value: Any, wanted: Any, place: str) -> None:
    """A ValueError that names the place where a value is not laid out as wanted.

    >>> check_layout({"sweep": True}, {"sweep": int}, "state")
    Traceback (most recent call last):
    ValueError: state.sweep must be a whole number; found True
    """
    if isinstance(wanted, tuple):
        if value is None and None in wanted:
            return
        wanted = wanted[0]
    if isinstance(wanted, dict):
        _is_of(value, dict, place)
        for key, kind in wanted.items():
            name = key.rstrip("?")
            if name in value:
                check_layout(value[name], kind, f"{place}.{name}")
            elif name == key:
                raise ValueError(f"{place} must have {name}")
    elif isinstance(wanted, list):
        _is_of(value, list, place)
        if wanted == [str]:  # names may be many
            if not all(type(item) is str for item in value):
                raise ValueError(f"{place} must hold nothing but text")
            return
        for number, item in enumerate(value):
            check_layout(item, wanted[0], f"{place}.{number}")
    else:
        _is_of(value, wanted, place)


_IN_WORDS = {
    int: "a whole number",
    str: "text",
    dict: "an object",
    list: "a list",
    bool: "true or false",
}


def _is_of(value: Any, kind: Any, place: str) -> None:
    if type(value) is not kind or (kind is int and not _LEAST <= value < _MOST):
        raise ValueError(f"{place} must be {_IN_WORDS[kind]}; found {str(value)[:40]}")


def check_fields(thing: Any, place: str) -> None:
    """A ValueError unless every field of a dataclass holds what its annotation says, finite where
    it is a number.

    >>> from dcomp.inference import Info
    >>> check_fields(Info(1, -3.0, -3.0, float("inf")), "the history")
    Traceback (most recent call last):
    ValueError: inner_updates of the history must be of type float; found inf
    """
    of: Any = type(thing)
    for name, (hint, holds) in _tests(of).items():
        value = getattr(thing, name)
        if type(value) not in _PLAIN and is_dataclass(value):
            check_fields(value, name)
        elif not holds(value):
            kind = getattr(hint, "__name__", str(hint))
            raise ValueError(f"{name} of {place} must be of type {kind}; found {str(value)[:40]}")


@cache
def _tests(kind: Any) -> dict[str, tuple[Any, _Test]]:
    """For each field its annotation and whether a value is of it. Made once: annotations are texts
    that Python compiles each time it is asked, and a history has a row per sweep."""
    hints = get_type_hints(kind)
    return {field.name: (hints[field.name], _test(hints[field.name])) for field in fields(kind)}


def _test(hint: Any) -> _Test:
    """Whether a value is of such an annotation."""
    origin, within = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        parts = [_test(part) for part in within]
        if len(parts) == 2:  # X | None, nearly always
            first, second = parts
            return lambda value: first(value) or second(value)
        return lambda value: any(holds(value) for holds in parts)
    if origin is Literal:
        return lambda value: type(value) is str and value in within
    if origin is tuple:
        each = _test(within[0])
        return lambda value: isinstance(value, tuple) and all(map(each, value))
    if hint is Any:
        return lambda value: True
    if hint is float:
        return _is_number
    return _is_whole if hint is int else lambda value: type(value) is hint


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 2**1000 and math.isfinite(value)


def _is_whole(value: Any) -> bool:
    return type(value) is int and _LEAST <= value < _MOST
