"""Whether what a file says is of the kind that the code is written for: by the same annotations."""

from __future__ import annotations

import math
import types
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_LEAST, _MOST = -(1 << 63), 1 << 64

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
    kind: Any = type(thing)
    hints = _hints(kind)
    for field in fields(thing):
        value = getattr(thing, field.name)
        if is_dataclass(value):
            check_fields(value, field.name)
        elif not _matches(value, hints[field.name]):
            kind = getattr(hints[field.name], "__name__", str(hints[field.name]))
            raise ValueError(
                f"{field.name} of {place} must be of type {kind}; found {str(value)[:40]}"
            )


@cache
def _hints(kind: Any) -> dict[str, Any]:
    """Annotations are texts that Python compiles each time it is asked, and a history has a row per
    sweep."""
    return get_type_hints(kind)


def _matches(value: Any, hint: Any) -> bool:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return any(_matches(value, part) for part in get_args(hint))
    if origin is Literal:
        return type(value) is str and value in get_args(hint)
    if origin is tuple:
        return isinstance(value, tuple) and all(_matches(v, get_args(hint)[0]) for v in value)
    if hint is Any or hint is type(None):
        return hint is Any or value is None
    if hint is float:
        return type(value) in (int, float) and abs(value) < 2**1000 and math.isfinite(value)
    if hint is int:
        return type(value) is int and _LEAST <= value < _MOST
    return type(value) is hint
