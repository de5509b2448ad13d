"""Corpora in files: small ones with some bytes wrong, sealed again, and what must hold of one that
opens."""

from __future__ import annotations

import json
import zlib
from functools import cache

import numpy as np

import dcomp
from dcomp.io.dcounts import MAGIC, START
from fuzzing.files import check_counts, folder, scratch


@cache
def whole() -> tuple[bytes, ...]:
    """Bare; with all that there is; of fractions."""
    table = np.array([[2, 0, 1], [0, 0, 0], [1, 3, 0]])
    bare = dcomp.Counts.from_matrix(table).in_parts(2)
    texts = dcomp.Counts.from_texts(["a cat", "dog, cat", "sat"], doc_ids="abc")
    full = texts.with_blocks([0, 1, 1]).with_attributes(n=[1, 2, 3], t=["x", None, "y"])
    path, found = folder() / "made.dcounts", []
    for counts in (bare, full, dcomp.Counts.from_matrix(table / 2, fractional=True)):
        dcomp.write(counts, path, overwrite=True)
        found.append(path.read_bytes())
    return tuple(found)


_NOT_ONE = (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)


def build(data: bytes) -> bytes:
    """The file with sums that agree with what it is now, where its head still is one."""
    if len(data) < START.size:
        return data
    _, length, _ = START.unpack(data[: START.size])
    text, rest = data[START.size : START.size + length], data[START.size + length :]
    try:
        head = json.loads(text)
        for section in head["sections"].values():
            section[2] = zlib.crc32(data[section[0] : section[0] + section[1]])
        again = json.dumps(head).encode().ljust(len(text))  # the length may say anything
        text = again if len(again) == len(text) else text
    except _NOT_ONE:
        pass
    return START.pack(MAGIC, len(text), zlib.crc32(text)) + text + rest


def check(content: bytes) -> None:
    """Open a corpus, have it looked at, and cut it as a fit would."""
    counts = dcomp.as_counts(dcomp.open(scratch("x.dcounts", content)))
    check_counts(counts)
    for part in counts.parts:
        check_counts(part)
