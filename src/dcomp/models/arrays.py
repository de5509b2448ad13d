"""Small helpers for parameters that are numbers or arrays of numbers."""

from __future__ import annotations

import math
import mmap
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.errors import InvalidParameter

FloatArray = npt.NDArray[np.float64]
MOST_COMPONENTS = 65_535
_OWN_PAGES = 1 << 18  # bytes; a process may have some 60,000 maps, too few for small arrays

SMALLEST, LARGEST = 1e-18, 1e12  # numbers of a prior


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


def in_range(name: str, array: FloatArray) -> FloatArray:
    """The same numbers of a prior; an error unless the arithmetic can hold them: sums, products and
    quotients of any two must stay finite in single precision. 0, where it is allowed, is no prior.

    >>> in_range("alpha", np.array([0.1, 1e40]))
    Traceback (most recent call last):
    dcomp.errors.InvalidParameter: alpha must lie between 1e-18 and 1e+12; found 1e+40 at position 1
    """
    bad = np.flatnonzero(((array < SMALLEST) & (array != 0) | (array > LARGEST)).ravel())
    if bad.size:
        where = f" at position {bad[0]}" if array.ndim else ""
        raise InvalidParameter(
            f"{name} must lie between {SMALLEST:g} and {LARGEST:g}; found "
            f"{array.ravel()[bad[0]]:g}{where}"
        )
    return array


def component_count(n_components: int) -> int:
    """The same number; an error where it is more than the kernels can tell apart.

    >>> component_count(70_000)
    Traceback (most recent call last):
    dcomp.errors.InvalidParameter: the number of components must be at most 65,535, because every \
token's component is kept in 16 bits; got 70,000
    """
    if n_components > MOST_COMPONENTS:
        raise InvalidParameter(
            f"the number of components must be at most {MOST_COMPONENTS:,}, because every token's "
            f"component is kept in 16 bits; got {n_components:,}"
        )
    return n_components


def component_vector(
    name: str, value: npt.ArrayLike, n_components: int, *, zero: bool = False
) -> FloatArray:
    """`value` as a locked vector of length K; a single number is repeated."""
    component_count(n_components)
    array = in_range(name, positive_array(name, value, zero=zero))
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


def column_totals(
    values: npt.NDArray[Any], blocks: npt.NDArray[np.int32]
) -> npt.NDArray[np.float64]:
    """Sums of (J, K) values within each block: (G, K)."""
    out = np.zeros((int(blocks.max()) + 1, values.shape[1]))
    np.add.at(out, blocks, values.astype(np.float64))
    return out


def stored_vector(name: str, arrays: Mapping[str, Any]) -> FloatArray:
    """The vector of this name that a file holds; a ValueError where it is none."""
    array = arrays.get(name)
    if array is None or array.ndim != 1 or array.dtype != np.float64 or not len(array):
        found = "nothing" if array is None else f"{array.dtype} of shape {array.shape}"
        raise ValueError(f"{name} must be a vector of float64; found {found}")
    return np.asarray(array)


def stored_flag(entry: Mapping[str, Any], name: str) -> bool:
    """Whether a file says so; a ValueError where it says anything but yes or no.

    >>> stored_flag({"learn_beta": True}, "learn_beta")
    True
    """
    value = entry[name]
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false; found {str(value)[:40]}")
    return value


def draw_dirichlet(a: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Dirichlet(a) along the last axis, by gammas in logs: small shapes underflow otherwise."""
    log_draw = np.log(rng.standard_gamma(a + 1)) + np.log1p(-rng.random(a.shape)) / a
    draw = np.exp(log_draw - log_draw.max(axis=-1, keepdims=True))
    return np.asarray(draw / draw.sum(axis=-1, keepdims=True))


def large_array(shape: tuple[int, ...], dtype: Any = np.float32) -> npt.NDArray[Any]:
    """An array to be written to. A large one has pages of its own, which the system gets back when
    the array is let go; the heap would keep them, and draws take twice their size when gathered.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < _OWN_PAGES:
        return np.empty(shape, dtype)
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(pages, dtype).reshape(shape)
