"""Arrays in NumPy's .npy form, read strictly: a header of the one shape that NumPy writes, and as
many bytes as it says. Never pickled.

NumPy's own reader takes the header for Python code to be evaluated; here a pattern says it all.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MAGIC = b"\x93NUMPY"
_HEADER = re.compile(
    rb"\{'descr': '([<>|][a-zA-Z]\d{1,4})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,18}, ?)*(?:\d{1,18},?)?)\), \} *\n"
)
_MOST_AXES = 8
_KINDS = "biufS"


def parse_npy(content: bytes, name: str) -> NDArray[Any]:
    """The array of a .npy text; it shares the memory of `content`. A ValueError names it.

    >>> import io
    >>> stream = io.BytesIO()
    >>> np.save(stream, np.array([[1, 2]], np.int32))
    >>> parse_npy(stream.getvalue(), "a")
    array([[1, 2]], dtype=int32)
    """
    width = {b"\1\0": 2, b"\2\0": 4}.get(content[6:8])
    if content[:6] != _MAGIC or width is None:
        raise ValueError(f"array {name!r} is not in NumPy's form")
    start = 8 + width
    length = int.from_bytes(content[8:start], "little")
    match = _HEADER.fullmatch(content[start : start + length]) if length <= 1 << 16 else None
    if match is None:
        raise ValueError(f"array {name!r} has a header that NumPy does not write")
    dtype, shape = _dtype(match[1].decode(), name), _shape(match[3])
    body = start + length
    if len(shape) > _MOST_AXES or math.prod(shape) * dtype.itemsize != len(content) - body:
        raise ValueError(f"array {name!r} is not as long as its header says")
    order: Any = "F" if match[2] == b"True" else "C"
    return np.frombuffer(content, dtype, offset=body).reshape(shape, order=order)


def _dtype(text: str, name: str) -> np.dtype[Any]:
    try:
        dtype = np.dtype(text)
    except TypeError:
        dtype = np.dtype(object)
    if dtype.kind not in _KINDS or not dtype.itemsize:
        raise ValueError(f"array {name!r} holds {text!r}, which are no numbers")
    return dtype


def _shape(text: bytes) -> tuple[int, ...]:
    return tuple(int(side) for side in text.split(b",") if side.strip())
