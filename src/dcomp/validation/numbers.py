"""Sizes and seeds as users type them."""

from __future__ import annotations

import numbers
import re
from typing import Any

import numpy as np

from dcomp.errors import InvalidParameter

_UNITS = {"": 1, "b": 1} | {
    f"{letter}{unit}": base ** (power + 1)
    for unit, base in (("b", 1000), ("ib", 1024))
    for power, letter in enumerate("kmgt")
}


def memory_size(name: str, value: Any) -> int | None:
    """A number of bytes from a number or from text like "2 GiB"; None is no limit.

    >>> memory_size("draw_budget", "1.5 GiB"), memory_size("draw_budget", "200MB")
    (1610612736, 200000000)
    """
    if value is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", str(value).strip().lower())
    if isinstance(value, bool) or found is None or found[2] not in _UNITS:
        raise InvalidParameter(
            f"{name} must be a number of bytes, text such as '2 GiB' or '500 MB', or None; "
            f"got {value!r}"
        )
    return int(float(found[1]) * _UNITS[found[2]])


def resolve_seed(random_state: Any) -> int:
    """A seed from scikit-learn's random_state: a number, a generator, or None for a fresh one."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, numbers.Integral) and 0 <= int(random_state) < 1 << 63:
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    raise InvalidParameter(
        "random_state must be None, a whole number from 0, below 2^63, or a NumPy generator; "
        f"got {random_state!r}"
    )
