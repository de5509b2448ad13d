"""Index files: inverted lists on disk, mapped into memory when they are opened.

    8 bytes    DCOMPIDX
    4 + 8      version and length of the manifest, little-endian
    16         digest of the manifest (BLAKE2b)
    manifest   JSON: type, shape, place and digest of each array, how text was read, which fit
    arrays     each at a multiple of 64 bytes, zeros between them; the last ends the file

Nothing is pickled. The manifest and the names are checked when a file is opened; lists are checked
by the native core as they are read, and their digests are compared on request, or where the file is
small enough.
"""

from __future__ import annotations

import json
import math
import os
import struct
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
import numpy.typing as npt

from dcomp.atomic import atomic_write
from dcomp.data import FeatureSpace, TextOptions
from dcomp.errors import DcompError, InvalidFile
from dcomp.io import Limits
from dcomp.io.limits import Budget
from dcomp.io.strict_json import parse_json
from dcomp.printable import printable
from dcomp.use.inverted import BLOCK, LAYOUT, InvertedIndex

MAGIC, VERSION = b"DCOMPIDX", 1
SMALL = 256_000_000  # bytes, up to which all digests are compared unless told otherwise
HEAD = struct.Struct("<8sIQ16s")
_ALIGN = 64
_OF_TEXT = 6  # bytes of memory that each byte of JSON takes before it is parsed
_MOST = 1e200  # of a total, so that all of them add up
_NAMES = "names"  # beside the arrays: features, blocks and documents, as JSON
_KEYS = {"format", "text", "fit", "arrays"}
_OPTIONAL = (("shares", "envelope", "Theta"), ("lsa_documents", "lsa_features"),
             ("beginnings",))  # fmt: skip


def _digest(content: Any) -> str:
    return blake2b(content, digest_size=16).hexdigest()


def save_index(
    index: InvertedIndex, path: str | os.PathLike[str], *, overwrite: bool = False
) -> None:
    """Write an index, whole or not at all.

    >>> import tempfile
    >>> from dcomp.data import Counts
    >>> index = InvertedIndex.build(Counts.from_matrix([[2, 0], [1, 3]]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_index(index, f"{folder}/a.dindex")
    ...     open_index(f"{folder}/a.dindex").n_docs
    2
    """
    names = {
        "features": index.features.names,
        "blocks": index.features.blocks.tolist() if index.features.n_blocks > 1 else None,
        "block_names": index.features.block_names,
        "documents": index.doc_ids,
    }
    text = np.frombuffer(json.dumps(names).encode(), np.uint8)
    parts: dict[str, npt.NDArray[Any]] = {_NAMES: text, **index.arrays}
    entries: dict[str, dict[str, Any]] = {
        name: {
            "type": str(a.dtype),
            "shape": list(a.shape),
            "place": 0,
            "digest": _digest(_bytes(a)),
        }
        for name, a in parts.items()
    }
    about: dict[str, Any] = {"format": "dcomp-index", "fit": index.fit, "arrays": entries}
    about["text"] = None if index.text is None else asdict(index.text)
    # Places stand in the manifest, whose length they depend on: numbers have a width of their own.
    width = len(_manifest(about, entries))
    place = _after(HEAD.size + width)
    for name, array in parts.items():
        entries[name]["place"] = place
        place = _after(place + array.nbytes)
    manifest = _manifest(about, entries)
    head = HEAD.pack(MAGIC, VERSION, len(manifest), blake2b(manifest, digest_size=16).digest())
    with atomic_write(path, overwrite=overwrite) as stream:
        stream.write(head + manifest)
        at = len(head) + len(manifest)
        for name, array in parts.items():
            stream.write(b"\0" * (entries[name]["place"] - at))
            stream.write(_bytes(array))
            at = entries[name]["place"] + array.nbytes


def _bytes(array: npt.NDArray[Any]) -> Any:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data if array.size else b""


def _manifest(about: dict[str, Any], entries: dict[str, Any]) -> bytes:
    wide = {name: {**entry, "place": f"{entry['place']:020d}"} for name, entry in entries.items()}
    return json.dumps({**about, "arrays": wide}).encode()


def _after(place: int) -> int:
    return -(-place // _ALIGN) * _ALIGN


def is_index(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins like an index."""
    source = Path(path)
    if not source.is_file():
        return False
    with source.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def open_index(
    path: str | os.PathLike[str], *, check: bool | None = None, limits: Limits | None = None
) -> InvertedIndex:
    """Map an index that `save_index` wrote. What is wrong with the file is an InvalidFile."""
    source = Path(path)
    if not source.exists():
        raise FileNotFoundError(f"there is no file {printable(source)}")
    if source.is_dir():
        raise InvalidFile(f"{source}: expected an index, found a folder")
    budget = Budget(source, limits)
    try:
        with source.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            budget.trust(size)
            whole = size < SMALL if check is None else check
            return _Reader(stream, source, size, budget, whole).index()
    except InvalidFile:
        raise
    except MemoryError:
        raise InvalidFile(f"{source}: reading it takes more memory than there is") from None
    except (LookupError, TypeError, ValueError, OverflowError, AttributeError) as error:
        what = str(error) if isinstance(error, DcompError) else f"{type(error).__name__}: {error}"
        raise InvalidFile(f"{source}: damaged dcomp index ({what})") from error


class _Reader:
    """One file while it is opened."""

    def __init__(
        self, stream: BinaryIO, source: Path, size: int, budget: Budget, check: bool
    ) -> None:
        self.stream, self.source, self.size = stream, source, size
        self.budget, self.check = budget, check

    def refuse(self, what: str) -> NoReturn:
        raise InvalidFile(f"{self.source}: {what}")

    def index(self) -> InvertedIndex:
        """All of it, what may be mapped mapped."""
        about, end = self._about()
        entries: dict[str, Any] = about["arrays"]
        self._check_places(entries, end)
        names = self._names(entries.pop(_NAMES))
        self._check_layout(entries, names)
        arrays = {name: self._mapped(name, entry) for name, entry in entries.items()}
        text = None if about["text"] is None else TextOptions.from_record(about["text"])
        features = FeatureSpace.build(entries["feature_total"]["shape"][0], names["features"],
                                      _blocks(names))  # fmt: skip
        ids = None if names["documents"] is None else tuple(names["documents"])
        order = np.asarray(arrays["order"])
        if not (np.bincount(order.clip(0, len(order) - 1), minlength=len(order)) == 1).all():
            self.refuse("its order is not one of its documents")
        total = np.asarray(arrays["feature_total"])
        if not ((total >= 0) & (total < _MOST)).all():  # nor NaN
            self.refuse("its totals of features are not numbers of 0 or more")
        return InvertedIndex(features, text, ids, arrays, about["fit"])

    def _about(self) -> tuple[dict[str, Any], int]:
        head = self.stream.read(HEAD.size)
        if len(head) < HEAD.size or head[:8] != MAGIC:
            self.refuse("not a dcomp index, or cut short")
        _, version, length, digest = HEAD.unpack(head)
        if version != VERSION:
            self.refuse(f"written in format version {version}; this dcomp reads {VERSION}: upgrade")
        if length > self.size - HEAD.size:
            self.refuse("it is cut short")
        self.budget.charge(_OF_TEXT * length, "its manifest")
        text = self.stream.read(length)
        if blake2b(text, digest_size=16).digest() != digest:
            self.refuse("the manifest is not the one that was written")
        about = parse_json(text, self.budget, "its manifest", nan=False)
        if not isinstance(about, dict) or set(about) != _KEYS or about["format"] != "dcomp-index":
            self.refuse("its manifest is not one of an index")
        if not isinstance(about["fit"], str | None):
            self.refuse("its fit is not named as it should be")
        if not isinstance(about["arrays"], dict) or _NAMES not in about["arrays"]:
            self.refuse("its manifest lists no arrays")
        return about, HEAD.size + length

    def _check_places(self, entries: dict[str, Any], at: int) -> None:
        """Arrays follow each other without a gap, and the last one ends the file."""
        for name, entry in entries.items():
            if set(entry) != {"type", "shape", "place", "digest"}:
                self.refuse(f"what is said of {name!r} is not what an index says")
            known = "uint8" if name == _NAMES else LAYOUT.get(name, ("", ""))[0]
            shape = entry["shape"]
            fine = isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)
            if entry["type"] != known or not fine or not 1 <= len(shape) <= 2:
                self.refuse(f"there is no such array {name!r} in an index")
            place = int(entry["place"])
            if place != _after(at):
                self.refuse(f"{name!r} is not where it should be")
            entry["bytes"] = math.prod(shape) * np.dtype(known).itemsize
            entry["place"], at = place, place + entry["bytes"]
        if at != self.size:
            self.refuse("it is cut short, or has bytes behind its end")

    def _check_layout(self, entries: dict[str, Any], names: dict[str, Any]) -> None:
        """Every array there is, in the shape that the others give it."""
        needed = set(LAYOUT) - {name for group in _OPTIONAL for name in group}
        groups = [set(group) for group in _OPTIONAL]
        if not needed <= set(entries) or any(0 < len(g & set(entries)) < len(g) for g in groups):
            self.refuse("it lacks arrays that an index has")
        sides = {
            "I": entries["length"]["shape"][0],
            "J": entries["feature_total"]["shape"][0],
            "E": entries["entry_block"]["shape"][0],
            "P": entries["document"]["shape"][0],
            "K": entries.get("shares", {"shape": [0, 0]})["shape"][-1],
            "R": entries.get("lsa_documents", {"shape": [0, 0]})["shape"][-1],
            "B": entries.get("beginnings", {"shape": [0, 0]})["shape"][-1],
        }
        sides["G"] = -(-sides["I"] // BLOCK)
        for name, entry in entries.items():
            wanted = [sides[s[0]] + int(s[1:] or 0) for s in LAYOUT[name][1].split(",")]
            if entry["shape"] != wanted:
                self.refuse(f"{name!r} has the shape {entry['shape']}, and must have {wanted}")
        counts = {"documents": sides["I"], "features": sides["J"], "blocks": sides["J"]}
        for key, n in counts.items():
            if names[key] is not None and len(names[key]) != n:
                self.refuse(f"it names {len(names[key])} {key}, and has {n}")
        if not sides["I"] or not sides["J"]:
            self.refuse("it has no documents, or no features")

    def _names(self, entry: dict[str, Any]) -> dict[str, Any]:
        self.budget.charge(_OF_TEXT * entry["bytes"], "its names")
        self.stream.seek(entry["place"])
        text = self.stream.read(entry["bytes"])
        if _digest(text) != entry["digest"]:
            self.refuse("its names are not those that were written")
        names = parse_json(text, self.budget, "its names", nan=False)
        if not isinstance(names, dict) or set(names) != {
            "features",
            "blocks",
            "block_names",
            "documents",
        }:
            self.refuse("its names are not those of an index")
        for key, kind in (("features", str), ("documents", str), ("blocks", int)):
            value = names[key]
            is_list = isinstance(value, list) and all(type(item) is kind for item in value)
            if value is not None and not is_list:
                self.refuse(f"its {key} are not named as they should be")
        return names

    def _mapped(self, name: str, entry: dict[str, Any]) -> npt.NDArray[Any]:
        dtype, shape = np.dtype(entry["type"]), tuple(entry["shape"])
        if not entry["bytes"]:
            return np.zeros(shape, dtype)
        array = np.memmap(self.source, dtype, "r", entry["place"], shape)
        if self.check and _digest(_bytes(array)) != entry["digest"]:
            self.refuse(f"{name!r} is not what was written there")
        return array


def _blocks(names: dict[str, Any]) -> list[Any] | None:
    if names["blocks"] is None:
        return None
    known = names["block_names"]
    return [number if known is None else known[number] for number in names["blocks"]]
