"""Small helpers for parameters that are numbers or arrays of numbers."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.errors import InvalidParameter

FloatArray = npt.NDArray[np.float64]


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same array, locked."""
    array.flags.writeable = False
    return array


def positive_array(name: str, value: npt.ArrayLike, *, zero: bool = False) -> FloatArray:
    """`value` as a locked float array; an error unless all of it is positive (or, with `zero`, not
    negative) and finite."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(f"{name} must be a number or an array; got {value!r}") from None
    enough = array >= 0 if zero else array > 0
    bad = np.flatnonzero(~(np.isfinite(array) & enough).ravel())
    if bad.size:
        where = f" at position {bad[0]}" if array.ndim else ""
        rule = "at least 0" if zero else "positive"
        raise InvalidParameter(
            f"{name} must be {rule} and finite; found {array.ravel()[bad[0]]}{where}"
        )
    return read_only(array)


def component_vector(
    name: str, value: npt.ArrayLike, n_components: int, *, zero: bool = False
) -> FloatArray:
    """`value` as a locked vector of length K; a single number is repeated."""
    array = positive_array(name, value, zero=zero)
    if array.ndim > 1 or (array.ndim == 1 and len(array) != n_components):
        raise InvalidParameter(
            f"{name} must be a number or hold one number per component ({n_components}); "
            f"got shape {array.shape}"
        )
    return read_only(np.broadcast_to(array, (n_components,)).copy())


def equal_fields(self: Any, other: Any) -> bool:
    """Equality of dataclasses that hold arrays."""
    if type(self) is not type(other):
        return False
    names = [f.name for f in fields(self)]
    return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)
