"""Attributes of the training documents in the manifest of a fit: a list of values per name."""

from __future__ import annotations

import math
from typing import Any

from dcomp.data import Attributes


def attribute_entry(about: Attributes) -> dict[str, list[Any]]:
    """As JSON has it; a gap is null.

    >>> attribute_entry(Attributes(2, {"party": ["D", None], "born": [1946, 1934]}))
    {'party': ['D', None], 'born': [1946, 1934]}
    """
    return {name: [_plain(value) for value in about[name].tolist()] for name in about}


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def read_attributes(entry: Any, n_docs: int) -> Attributes:
    """From a manifest; a ValueError where that is none of these documents.

    >>> read_attributes({"party": ["D"]}, 2)
    Traceback (most recent call last):
    ValueError: the attribute 'party' must be a list of 2 values
    """
    if not entry:
        return Attributes(n_docs)
    if not isinstance(entry, dict):
        raise ValueError("attributes must be lists by name")
    for name, values in entry.items():
        if not isinstance(values, list) or len(values) != n_docs:
            raise ValueError(f"the attribute {name!r} must be a list of {n_docs} values")
        if not all(value is None or type(value) in (str, int, float, bool) for value in values):
            raise ValueError(f"the attribute {name!r} must hold text, numbers and null")
        numbers = [value for value in values if type(value) in (int, float)]
        if not all(abs(value) < 2**63 for value in numbers):
            raise ValueError(f"the attribute {name!r} must hold numbers of 64 bits")
    return Attributes(n_docs, entry)
