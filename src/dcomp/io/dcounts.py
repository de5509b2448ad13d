"""Corpora in a file of dcomp's own, .dcounts: rows that are mapped, not read (decision 58).

| bytes | what |
|---|---|
| 8 | `DCOUNTS1` |
| 8, 4 | length and CRC-32 of the head |
| … | the head: JSON |
| … | sections, each from a multiple of 4,096 on, with their CRC-32 in the head |

Numbers are little-endian. `indptr` (int64), `indices` (int32) and `data` (int32, or float64) are
compressed rows of all documents; how they are cut into parts is a list in the head. Names are two
sections, the text of all of them in UTF-8 and how many characters each has, -1 for none.
"""

from __future__ import annotations

import mmap
import platform
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcomp.data.attributes import Attributes
from dcomp.data.canonical import LIMIT, Rows
from dcomp.data.counts import Counts
from dcomp.data.features import FeatureSpace
from dcomp.data.mapped import Mapped, Once, wrong_rows
from dcomp.data.text_options import TextOptions, Vocabulary
from dcomp.errors import DcompError, InvalidFile, InvalidParameter
from dcomp.io.files import StrPath
from dcomp.io.limits import Budget, Limits
from dcomp.io.strict_json import parse_json
from dcomp.printable import printable

MAGIC, VERSION, SUFFIX = b"DCOUNTS1", 1, ".dcounts"
START = struct.Struct("<8sQL")
PAGE = 4096
TYPES = {"int64": "<i8", "int32": "<i4", "float64": "<f8", "bool": "|b1", "text": "|u1"}
_LONGEST = 1 << 28  # bytes of a head; a part takes 10 of them
_CHUNK = 1 << 22  # bytes that are summed up at a time


def open_corpus(
    path: StrPath,
    *,
    scratch: StrPath | None = None,
    limits: Limits | None = None,
    shared: bool = False,
) -> Counts:
    """Open a corpus that `dcomp.convert` or `dcomp.write` has made. Names, ids and attributes are
    read; the counts stay in the file, and are looked at when they are first worked with.

    Its shards are the parts of the counts. What is known of documents while it is fitted lies in
    files without names in the folder `scratch`, beside the corpus unless given.

    `shared`: whether the workers of a cluster see the file under the same name, so that each can
    open its parts there, and they need not be sent.

    >>> import dcomp, tempfile
    >>> counts = dcomp.Counts.from_matrix([[2, 0], [1, 3]]).in_parts(2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dcomp.write(counts, f"{folder}/pets.dcounts")
    ...     dcomp.open(f"{folder}/pets.dcounts") == counts
    True
    """
    path = Path(path)
    folder = path.resolve().parent if scratch is None else Path(scratch)
    if not folder.is_dir():
        raise InvalidParameter(f"scratch must be a folder; {printable(folder)} is none")
    budget = Budget(path, limits)
    try:
        return _opened(path, folder, budget, shared)
    except InvalidFile:
        raise
    except (ValueError, TypeError, KeyError, OverflowError, DcompError) as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise InvalidFile(f"{path}: not a corpus of dcomp: {why}") from None


@dataclass(frozen=True)
class Section:
    """Where a part of the file lies, and what it adds up to."""

    start: int
    size: int  # bytes
    crc: int
    kind: str  # of TYPES

    def array(self, pages: mmap.mmap) -> NDArray[Any]:
        """Where it is mapped."""
        dtype = np.dtype(TYPES[self.kind])
        return np.frombuffer(pages, dtype, self.size // dtype.itemsize, self.start)

    def is_whole(self, pages: mmap.mmap) -> bool:
        """Whether its bytes are those that were written."""
        crc, view = 0, memoryview(pages)
        for start in range(self.start, self.start + self.size, _CHUNK):
            crc = zlib.crc32(view[start : min(start + _CHUNK, self.start + self.size)], crc)
        return crc == self.crc


class _File:
    """A mapped file with its head."""

    def __init__(self, path: Path, budget: Budget) -> None:
        self.path, self.budget = path, budget
        with open(path, "rb") as stream:
            start = stream.read(START.size)
            if len(start) < START.size or not start.startswith(MAGIC):
                raise ValueError("it does not begin as one")
            _, length, crc = START.unpack(start)
            size = stream.seek(0, 2)
            if length > min(size, _LONGEST):
                raise ValueError("it is cut short, or its head is too long")
            stream.seek(START.size)
            head = stream.read(length)
            if len(head) != length or zlib.crc32(head) != crc:
                raise ValueError("its head is damaged")
            budget.trust(size)
            self.head: dict[str, Any] = parse_json(head, budget, "its head", nan=False)
            if not isinstance(self.head, dict) or self.head.get("version") != VERSION:
                raise ValueError(f"this dcomp reads version {VERSION} of the format alone")
            self.pages = mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_READ)
        self.crc: int = crc
        self.sections = _sections(self.head["sections"], size)

    def whole(self, name: str, at: str) -> int:
        """A whole number of the head."""
        value = self.head[name]
        if type(value) is not int or not 0 <= value < 1 << 62:
            raise ValueError(f"{name} must be {at}; found {str(value)[:40]}")
        return value

    def section(self, name: str, kind: str, n: int | None = None) -> Section:
        """A section of this kind with so many numbers."""
        found = self.sections[name]
        each = np.dtype(TYPES[kind]).itemsize
        if found.kind != kind or found.size % each or n not in (None, found.size // each):
            raise ValueError(f"{name} must be {n} of {kind}; found {found.size} bytes")
        return found

    def rows(self) -> tuple[Rows, list[Section]]:
        """The counts, where they are mapped, and their sections, which nobody has looked at."""
        n_docs, nnz = self.whole("documents", "a number"), self.whole("entries", "a number")
        kind = "float64" if self.head["fractional"] is True else "int32"
        wanted = (("indptr", "int64", n_docs + 1), ("indices", "int32", nnz), ("data", kind, nnz))
        sections = [self.section(*one) for one in wanted]
        return Rows(*(section.array(self.pages) for section in sections)), sections

    def read(self, name: str, kind: str, n: int | None = None) -> NDArray[Any]:
        """A section that is needed at once: mapped, and looked at."""
        found = self.section(name, kind, n)
        if not found.is_whole(self.pages):
            raise ValueError(f"{name} is damaged")
        return found.array(self.pages)

    def texts(self, name: str, n: int) -> list[str | None]:
        """Names, of which some may be missing."""
        lengths = self.read(f"{name}/lengths", "int32", n)
        content = self.read(f"{name}/text", "text").tobytes()
        self.budget.charge(100 * n + 5 * len(content), f"{n:,} names")
        text = content.decode("utf-8", "surrogatepass")
        if lengths.min(initial=0) < -1 or np.maximum(lengths, 0).sum(dtype=np.int64) != len(text):
            raise ValueError(f"{name} are not as long as they are said to be")
        ends = accumulate(np.maximum(lengths, 0).tolist(), initial=0)
        both = zip(pairwise(ends), lengths.tolist(), strict=True)
        return [None if length < 0 else text[a:b] for (a, b), length in both]

    def names(self, name: str, n: int) -> tuple[str, ...] | None:
        """Names of which none is missing, or None."""
        if f"{name}/text" not in self.sections:
            return None
        found = self.texts(name, n)
        if None in found:
            raise ValueError(f"one of the {name} is missing")
        return tuple(str(text) for text in found)


def _sections(told: Any, size: int) -> dict[str, Section]:
    """Where they lie, one behind the other."""
    found, end = {}, 0
    if not isinstance(told, dict):
        raise ValueError("sections must have names")
    for name, (start, length, crc, kind) in told.items():
        if not all(type(number) is int for number in (start, length, crc)) or kind not in TYPES:
            raise ValueError(f"{name} must have a start, a length, a sum and a kind")
        if start % PAGE or start < max(end, START.size) or length < 0 or start + length > size:
            raise ValueError(f"{name} is not within the file: it is cut short, or damaged")
        found[name] = Section(start, length, crc, kind)
        end = start + length
    return found


@dataclass(frozen=True)
class SharedRows:
    """Documents `first` to `end` of a corpus that others open under the same name."""

    path: str
    head: int  # its CRC-32, by which the file is known
    first: int
    end: int

    def run(self, first: int, end: int) -> SharedRows:
        """Those of a run of its documents."""
        return SharedRows(self.path, self.head, self.first + first, self.first + end)

    def rows(self) -> Rows:
        """Where they are mapped, on the machine that asks."""
        whole = _shared_file(self.path, self.head)
        indptr = whole.indptr[self.first : self.end + 1]
        entries = slice(int(indptr[0]), int(indptr[-1]))
        return Rows(indptr - indptr[0], whole.indices[entries], whole.data[entries])


@lru_cache(maxsize=16)
def _shared_file(path: str, head: int) -> Rows:
    try:
        file = _File(Path(path), Budget(path))
    except (OSError, ValueError, DcompError) as error:
        raise InvalidFile(
            f"{path}: every worker must be able to open a corpus that was opened with shared=True, "
            f"and the one on {platform.node()} is not: {error}"
        ) from None
    if file.crc != head:
        raise InvalidFile(
            f"{path}: workers must see the file that the client has opened, and that on "
            f"{platform.node()} is another"
        )
    return file.rows()[0]


def _opened(path: Path, scratch: Path, budget: Budget, shared: bool) -> Counts:
    file = _File(path, budget)
    n_docs, n_features = file.whole("documents", "a number"), file.whole("features", "a number")
    if not (1 <= n_docs < LIMIT and 1 <= n_features <= LIMIT):
        raise ValueError(f"it has {n_docs:,} documents and {n_features:,} features")
    rows, sections = file.rows()
    blocks = file.read("blocks", "int32", n_features)
    block_names = file.names("block_names", file.whole("blocks", "a number"))
    features = FeatureSpace(file.names("names", n_features), blocks, block_names)

    def look() -> None:
        if not all(section.is_whole(file.pages) for section in sections):
            raise InvalidFile(f"{path}: its counts are damaged: they do not add up to their sum")
        wrong = wrong_rows(rows, n_features)
        if wrong is not None:
            raise InvalidFile(f"{path}: its counts are no compressed rows: {wrong}")

    there = SharedRows(str(path.absolute()), file.crc, 0, n_docs) if shared else None
    return Counts(
        *rows,
        features,
        file.names("ids", n_docs),
        firsts=_firsts(file.head["firsts"]),
        attributes=_attributes(file, n_docs),
        text=_made(TextOptions.from_record, file.head["text"]),
        vocabulary=_made(_vocabulary, file.head["vocabulary"]),
        empty_is_missing=file.head["empty_is_missing"] is True,
        mapped=Mapped(rows, n_features, scratch, Once(look), there),
    )


def _firsts(told: Any) -> tuple[int, ...]:
    if not isinstance(told, list) or not all(type(first) is int for first in told):
        raise ValueError("firsts must be numbers of documents")
    return tuple(told)


def _made(make: Any, told: Any) -> Any:
    if told is not None and not isinstance(told, dict):
        raise ValueError("options must have names")
    return None if told is None else make(told)


def _vocabulary(told: Mapping[str, Any]) -> Vocabulary:
    if not all(type(number) is int and 0 <= number < 1 << 62 for number in told.values()):
        raise ValueError("the numbers of the vocabulary must be whole")
    return Vocabulary(**told)


def _attributes(file: _File, n_docs: int) -> Attributes:
    columns: dict[str, Any] = {}
    told = file.head["attributes"]
    if not isinstance(told, list):
        raise ValueError("attributes must be a list")
    for number, (name, kind) in enumerate(told):
        if not isinstance(name, str) or name in columns:
            raise ValueError("attributes must have names of their own")
        place = f"attributes/{number}"
        if kind == "text":
            columns[name] = np.array(file.texts(place, n_docs), dtype=object)
        elif kind in ("int64", "float64", "bool"):
            values = file.read(place, kind, n_docs)
            columns[name] = values.view(np.uint8) != 0 if kind == "bool" else values
        else:
            raise ValueError(f"there is no kind {str(kind)[:20]} of attributes")
    return Attributes(n_docs, columns)
