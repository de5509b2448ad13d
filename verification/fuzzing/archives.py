"""Zip archives of arrays and JSON with a few things wrong, written so that every check sum agrees.

Blind bytes get nowhere in an archive: the first check sum ends it. Here bytes say which edits are
made: a value of a JSON text, a number or the header of an array, a member as a whole. Then the
archive is put together again, and perhaps damaged as a file, too.
"""

from __future__ import annotations

import io
import json
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from fuzzing.choices import Choices

Members = dict[str, bytes]
Seal = Callable[[Members], None]

NUMBERS: tuple[Any, ...] = (
    0, 1, -1, 2, 3, 255, 65536, 2**31 - 1, 2**31, -(2**31), 2**53 + 1, 2**63 - 1, 2**63, 2**64,
    10**30, 0.0, -0.0, 0.5, 1.5, 1e-320, 1e-30, 1e30, 1e308, -1e308, float("nan"), float("inf"),
    float("-inf"), True, False,
)  # fmt: skip
WORDS: tuple[Any, ...] = (
    None, "", "x", "\x00", "é", "\ud800", "0", "auto", "DM", "GP", "CGP", "TM", "LN", "ST", "gibbs",
    "collapsed-gibbs", "mean-field", "map", "laplace", "../x", "model", [], {}, [[]], [None], [0],
    [1, 2], {"x": 1}, [[1, [2, [3]]]],
)  # fmt: skip
DTYPES = ("<f4", "<f8", "<i4", "<i8", "<u2", "<u8", "|b1", "|u1", ">f8", "<f2", "<c16", "|O", "<U3",
          "|S4", "<M8[s]", "|V8", "<f16")  # fmt: skip
HEADERS = (
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (3037000500, 3037000500), }",
    b"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }",
    b"{'descr': '<f8', 'fortran_order': 1, 'shape': (1,), }",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (True,), }",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (1L,), }",
    b"__import__('os')",
    b"(" * 500,
    b"{" + b"[" * 5000,
    b"-" * 9000 + b"1",
    b"",
    b"\xff\xfe",
    b"3",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': 1, 'shape': (1,)}",
)


def members_of(content: bytes) -> Members:
    """The members of an archive, by name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def edited(members: Members, choices: Choices, seal: Seal) -> bytes:
    """An archive of these members after the edits that the bytes say, sealed after the last."""
    members = dict(members)
    for _ in range(1 + choices.below(3)):
        edit = choices.of((_json, _json, _json, _array, _array, _array, _header, _member))
        if members:
            edit(members, choices)
    if not choices.rarely():
        seal(members)
    return _damaged(_packed(members, choices), choices)


def _chosen(members: Members, choices: Choices, ending: str) -> str | None:
    names = [name for name in members if name.endswith(ending)]
    return choices.of(names) if names else None


def _json(members: Members, choices: Choices) -> None:
    """Another value somewhere in a JSON text, or a text that is none."""
    name = _chosen(members, choices, ".json")
    if name is None:
        return _array(members, choices)
    if choices.rarely():
        members[name] = _spoilt(members[name], choices)
        return None
    try:
        tree = json.loads(members[name])
    except (ValueError, RecursionError):
        return None
    holder = [tree]
    _change(holder, choices)
    if holder:
        members[name] = json.dumps(holder[0]).encode()
    return None


def _change(tree: Any, choices: Choices) -> None:
    """Goes down from the root as long as the bytes say, and changes one entry there."""
    while True:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        if not keys:
            break
        key = choices.of(keys)
        inner = tree[key]
        if not isinstance(inner, dict | list) or not inner or choices.byte() % 8 == 7:
            break
        tree = inner
    if not keys:
        return
    what = choices.below(8)
    if what < 3:
        tree[key] = choices.of(NUMBERS)
    elif what < 5:
        tree[key] = choices.of(WORDS)
    elif what == 5:
        del tree[key]
    elif what == 6:
        tree[key] = tree[choices.of(keys)]
    elif isinstance(tree, dict):
        tree[str(choices.of(WORDS))] = tree[key]
    else:
        tree.append(tree[key])


def _array(members: Members, choices: Choices) -> None:
    """Other numbers in an array, or the same as another kind, or in another shape."""
    name = _chosen(members, choices, ".npy")
    if name is None:
        return
    try:
        array = np.load(io.BytesIO(members[name]), allow_pickle=False).copy()
    except Exception:  # edited before, and no array any more
        return
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            members[name] = npy(_other(array, choices))
        except (ValueError, TypeError, OverflowError, IndexError):
            return


def _other(array: np.ndarray, choices: Choices) -> np.ndarray:
    what = choices.below(10)
    if what < 5 and array.size:
        for _ in range(1 + choices.below(2)):
            value = choices.of([v for v in NUMBERS if v is not None])
            array.reshape(-1)[choices.below(array.size)] = _fitted(value, array.dtype)
        return array
    if what == 5:
        return array.astype(choices.of(("<f4", "<f8", "<i4", "<i8", "<u2", "|b1", "<c16", "<U3")))
    if what == 6:
        return np.append(array, array[:1], axis=0) if array.ndim else array.reshape(1)
    if what == 7:
        return array[:-1] if array.ndim else array
    if what == 8:
        return array.T.copy() if choices.flag() else array[..., np.newaxis]
    return np.full_like(array, _fitted(choices.of(NUMBERS), array.dtype))


def _fitted(value: Any, dtype: np.dtype) -> Any:
    """The value as such an array can hold it."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        whole = int(value) if value == value and abs(value) < 1e300 else 0
        return min(max(whole, limits.min), limits.max)
    return value


def _header(members: Members, choices: Choices) -> None:
    """Another header before the same numbers, or a cut or longer array."""
    name = _chosen(members, choices, ".npy")
    if name is None or len(members[name]) < 10:
        return
    content = members[name]
    length = struct.unpack("<H", content[8:10])[0]
    text, numbers = content[10 : 10 + length], content[10 + length :]
    what = choices.below(6)
    if what == 0:
        text = choices.of(HEADERS)
    elif what == 1:
        text = text.replace(b"'<f8'", b"'%s'" % choices.of(DTYPES).encode())
    elif what == 2:
        text = _spoilt(text, choices)
    elif what == 3:
        size = str(abs(int(choices.of((0, 1, 7, 2**31, 2**40, 2**62))))).encode()
        text = text.replace(b"'shape': (", b"'shape': (" + size + b", ")
    elif what == 4:
        numbers = numbers[: choices.below(len(numbers) + 1)] if choices.flag() else numbers * 2
    else:
        content = bytes([*content[:6], choices.byte(), choices.byte()]) + content[8:]
        members[name] = content
        return
    version = choices.of((b"\x01\x00", b"\x01\x00", b"\x02\x00", b"\x03\x00"))
    size_of_header = struct.pack("<H" if version[0] == 1 else "<I", len(text) % 65536)
    members[name] = content[:6] + version + size_of_header + text + numbers


def _member(members: Members, choices: Choices) -> None:
    """A member less, or another, or one in the place of another."""
    name = choices.of(list(members))
    what = choices.below(5)
    if what == 0:
        del members[name]
    elif what == 1:
        members[choices.of(("x.npy", "model/x.npy", "../x", "/x", "draws/x.npy", ""))] = members[
            name
        ]
    elif what == 2:
        members[name] = members[choices.of(list(members))]
    elif what == 3:
        members[name] = b""
    else:
        members[name] = _spoilt(members[name], choices)


def _spoilt(content: bytes, choices: Choices) -> bytes:
    """A few bytes changed, put in, or left out."""
    place = choices.below(len(content) + 1)
    what = choices.below(4)
    if what == 0:
        return content[:place] + choices.bytes(1) + content[place + 1 :]
    if what == 1:
        return content[:place] + choices.bytes(4) + content[place:]
    if what == 2:
        return content[:place]
    return content[:place] + content[place + 1 + choices.below(8) :]


def _packed(members: Members, choices: Choices) -> bytes:
    """The archive; compressed in one of the ways that zip has, now and then."""
    methods = (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    method = choices.of(methods) if choices.rarely() else zipfile.ZIP_STORED
    entries = list(members.items())
    if members and choices.rarely():
        entries.append((next(iter(members)), b"again"))
    if method == zipfile.ZIP_STORED:
        return stored(entries)
    stream = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w", method) as archive:
        warnings.simplefilter("ignore")  # of a name that stands twice
        for name, content in entries:
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return stream.getvalue()


_LOCAL, _ENTRY = struct.Struct("<4s5H3L2H"), struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")


def stored(entries: list[tuple[str, bytes]]) -> bytes:
    """An archive without compression, byte for byte that of `zipfile` in a fifth of its time.

    >>> stream = io.BytesIO()
    >>> with zipfile.ZipFile(stream, "w") as archive:
    ...     archive.writestr(zipfile.ZipInfo("a"), b"x")
    >>> stored([("a", b"x")]) == stream.getvalue()
    True
    """
    bodies, directory, start = [], [], 0
    for name, content in entries:
        raw, size = name.encode("ascii"), len(content)
        same = (0, 0, 0, 33, zlib.crc32(content), size, size, len(raw), 0)  # 33: 1 January 1980
        body = _LOCAL.pack(b"PK\3\4", 20, *same) + raw + content
        bodies.append(body)
        directory += [_ENTRY.pack(b"PK\1\2", 788, 20, *same, 0, 0, 0, 0o600 << 16, start), raw]
        start += len(body)
    listed = b"".join(directory)
    n = len(entries)
    end = _END.pack(b"PK\5\6", 0, 0, n, n, len(listed), start, 0)
    return b"".join([*bodies, listed, end])


def _damaged(content: bytes, choices: Choices) -> bytes:
    """The file itself: fields of its directory, or any byte."""
    what = choices.byte()
    if what < 224:
        return content
    at = content.rfind(b"PK\x01\x02") if what & 1 else content.find(b"PK\x01\x02")
    if what < 240 and at >= 0:
        # Flags, method, check sum, sizes, lengths of names, disk, attributes, offset.
        place = at + choices.of((6, 8, 10, 16, 20, 24, 28, 30, 32, 34, 38, 42, 45))
        return content[:place] + bytes([choices.byte()]) + content[place + 1 :]
    return _spoilt(content, choices)


def npy(array: np.ndarray) -> bytes:
    """An array as a member has it."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array, order="C"), allow_pickle=False)
    return stream.getvalue()
