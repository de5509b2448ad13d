"""Files that once broke a promise, or were meant to: made here, since some are large and all should
say what is wrong with them. Every run begins with them, and the tests read each."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from dcomp.result.storage import MANIFEST
from fuzzing.archives import HEADERS, Members, npy
from fuzzing.files import BETWEEN
from fuzzing.fits import BASES, base, seal

DEEP = 200_000
Known = Iterator[tuple[str, bytes]]


def docword() -> Known:
    yield "words that no file of this size has", b"1\n2147483647\n1\n1 1 1\n"
    yield "documents that no file of this size has", b"2147483647\n1\n1\n1 1 1\n"
    yield "entries that are not there", b"1\n1\n2147483647\n1 1 1\n"
    yield "one long line", b"1\n1\n1\n" + b"1 " * 50_000
    yield "nothing", b""


def ldac() -> Known:
    yield "a term that no file of this size has", b"1 2147483646:1\n"
    yield "a term beyond 32 bits", b"1 4294967296:1\n"
    yield "a number of 5,000 digits", b"1 0:" + b"9" * 5000
    yield "a colon alone", b":\n"


def matrix_market() -> Known:
    banner = b"%%MatrixMarket matrix "
    yield "no banner", b"%x\n1 2\n"
    yield "a large array of nothing", banner + b"array integer general\n100000 100000\n"
    yield "columns of nothing", banner + b"coordinate integer general\n1 2147483647 1\n1 1 1\n"
    yield "rows of nothing", banner + b"coordinate integer general\n2147483647 1 1\n1 1 1\n"
    yield "sizes beyond 64 bits", banner + b"array integer general\n9999999999999999999 1\n"
    yield "comments only", banner + b"coordinate real general\n" + b"%\n" * 5000


def table() -> Known:
    yield "a field of 200,000 letters", b"doc,word,count\na," + b"x" * DEEP + b",1\n"
    yield "a quote that never ends", b'doc,word,count\n"a,b,1\n' * 100
    yield "a zero byte", b"doc,word,count\na,\x00,1\n"
    yield "a number of 5,000 digits", b"doc,word,count\na,b," + b"9" * 5000
    yield "20,000 columns", b"doc" + b",x" * 20_000 + b"\n"


def wide_table() -> Known:
    yield "20,000 documents of nothing", b"a,b" + b",x" * 20_000 + b"\nC>A,ACA" + b",0" * 20_000
    yield "words only", b"a,b,c,d\nx,y,z,w\n"
    yield "one name for all lines", b"a,b,c,d\n" + b"x,y,1,2\n" * 9
    yield "labels of 200,000 letters", b"a,b,c,d\n" + b"x" * DEEP + b",y,1,2\n"


def plink() -> Known:
    few = b"1 rs1 0 10 A G\n", b"f ann 0 0 2 -9\n"
    yield "no people", BETWEEN.join([b"\x6c\x1b\x01\x00", few[0], b"\n"])
    yield "genotypes that are not there", BETWEEN.join([b"\x6c\x1b\x01", *few])
    yield (
        "people that no file of this size has",
        BETWEEN.join([b"\x6c\x1b\x01", few[0] * 3000, few[1] * 3000]),
    )
    yield "one name for all", BETWEEN.join([b"\x6c\x1b\x01" + b"\0" * 9, few[0] * 9, few[1] * 3])


def tenx() -> Known:
    head = b"%%MatrixMarket matrix coordinate integer general\n"
    yield "no genes and no cells", head + b"2 2 1\n1 1 1\n"
    yield "cells of nothing", BETWEEN.join([head + b"1 2147483647 1\n1 1 1\n", b"E1\n", b"a\n"])
    yield "one name for all genes", BETWEEN.join([head + b"2 1 0\n", b"E\tG\n" * 2, b"a\n"])


def structure() -> Known:
    yield "an allele of 5,000 digits", b"a " + b"9" * 5000 + b"\na 1\n"
    yield "alleles far apart", b"a 1 1\na 1 2\nb 999999999 2\nb -999999999 3\n"
    yield "one long line", b"a " + b"1 " * 100_000 + b"\na 1\n"
    yield "20,000 loci of nothing", b"a" + b" -9" * 20_000 + b"\na" + b" -9" * 20_000 + b"\n"


def jsonl() -> Known:
    yield "nested too deep", b"[" * DEEP
    yield "nested too deep within", b'{"text": "a", "more": ' + b'{"a":' * DEEP
    yield "a number of 5,000 digits", b'{"text": "a", "id": ' + b"9" * 5000 + b"}"
    yield "half a letter", b'{"text": "\\ud800"}\n'
    yield "an id that is half a letter", b'{"text": "a", "id": "\\ud800"}\n'
    yield "a name twice", b'{"text": "a", "text": 1}\n'


def config() -> Known:
    yield "nested too deep", b"alpha = " + b"[" * DEEP
    yield "tables too deep", b"a" + b".a" * DEEP + b" = 1\n"
    yield "tables too deep, quoted", b"[ 'a' " + b". 'a' " * DEEP + b"]\n"
    yield "tables too deep, in a table", b"x = {" + b"a." * DEEP + b"a = 1}\n"
    yield "2 MB", b"alpha = [" + b"1," * (1 << 20) + b"]\n"
    yield "a number of 5,000 digits", b"n_components = " + b"9" * 5000
    yield "a number beyond 64 bits", b"n_components = 9223372036854775808\nrandom_state = -1\n"
    yield "not a number", b"alpha = nan\ntol = inf\n"
    yield "a date", b"alpha = 1979-05-27\n[input]\nmin_docs = 07:32:00\n"
    yield "a zero byte in a path", b'tree = "\\u0000"\n[input]\nvocab = "\\u0000"\n'


def _zipped(members: Members, method: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return stream.getvalue()


def _patched(content: bytes, offset: int, value: int) -> bytes:
    """Two bytes of every entry of the directory of a zip file, and of the entry itself."""
    out = bytearray(content)
    for mark, shift in ((b"PK\x01\x02", 0), (b"PK\x03\x04", -2)):
        at = content.find(mark)
        while at >= 0:
            struct.pack_into("<H", out, at + offset + shift, value)
            at = content.find(mark, at + 1)
    return bytes(out)


def _archives(members: Members, array: str) -> Known:
    """What may be wrong with any archive of arrays."""
    yield "method 99", _patched(_zipped(members), 10, 99)
    yield "encrypted", _patched(_zipped(members), 8, 1)
    for number, header in enumerate(HEADERS):
        text = header + b"\n"
        content = b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text)) + text + bytes(8)
        yield f"header {number}", _zipped({**members, array: content})
    bomb = npy(np.zeros(1 << 24, np.uint8))
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        yield f"16 MB of zeros, packed by {method}", _zipped({**members, array: bomb}, method)
    yield "cut short", _zipped(members)[:-40]


def npz() -> Known:
    stream = io.BytesIO()
    sparse.save_npz(stream, sparse.csr_array([[2, 0, 1], [0, 3, 0]]), compressed=False)
    with zipfile.ZipFile(stream) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    yield from _archives(members, "data.npy")
    edits: dict[str, tuple[str, Any]] = {
        "rows beyond the end": ("indptr.npy", np.array([0, 2, 9], np.int32)),
        "rows before the beginning": ("indptr.npy", np.array([0, -5, 3], np.int32)),
        "columns beyond the end": ("indices.npy", np.array([0, 99, 1], np.int32)),
        "a shape that is none": ("shape.npy", np.array([-1, 3])),
        "a large shape": ("shape.npy", np.array([2, 2**31 - 1])),
        "a larger shape": ("shape.npy", np.array([2**31 - 1, 2**31 - 1])),
        "a shape of one number": ("shape.npy", np.array(7)),
        "no format": ("format.npy", np.array(3)),
        "a format that is none": ("format.npy", np.array(b"xyz")),
        "complex counts": ("data.npy", np.array([1j, 2, 3])),
        "words for counts": ("data.npy", np.array(["a", "b", "c"])),
        "infinite counts": ("data.npy", np.array([np.inf, np.nan, 1])),
    }
    for what, (name, value) in edits.items():
        yield what, _zipped({**members, name: npy(value)})
    for kind in ("bsr", "dia", "csc", "coo"):
        other = {**members, "format.npy": npy(np.array(kind.encode()))}
        yield f"rows called {kind}", _zipped(other)
    other = {**members, "format.npy": npy(np.array(b"csc"))}
    for ends in ([0, 3, 2, 0], [0, 3, 0, 0], [0, 0, 5, 3]):
        yield f"columns that end at {ends}", _zipped({**other, "indptr.npy": npy(np.array(ends))})


def _sealed(change: Callable[[Any], object], name: str = MANIFEST, place: int = 0) -> bytes:
    """A fit with a change of a JSON text, sealed again."""
    members = dict(base(place))
    tree = json.loads(members[name])
    change(tree)
    members[name] = json.dumps(tree).encode()
    seal(members)
    return _zipped(members)


def _set(*path: Any) -> Callable[[Any], None]:
    """Sets the last to what comes after its keys."""
    *keys, last, value = path

    def change(tree: Any) -> None:
        for key in keys:
            tree = tree[key]
        tree[last] = value

    return change


def fit() -> Known:
    lda = base(0)
    yield from _archives(lda, "state/c.npy")
    for number, header in enumerate(HEADERS):
        members = dict(lda)
        text = header + b"\n"
        members["state/c.npy"] = b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text)) + text
        seal(members)
        yield f"header {number}, sealed", _zipped(members)
    for name in (MANIFEST, "names.json"):
        yield f"{name} nested too deep", _zipped({**lda, name: b"[" * DEEP})
    values = (3, -1, None, "x", [], {}, 2**70, float("nan"), [[]], "\ud800")
    for key in json.loads(lda[MANIFEST]):
        for value in values:
            yield f"{key} = {value!r}", _sealed(_set(key, value))
    for place, name in enumerate(BASES):
        entry = json.loads(base(place)[MANIFEST])["model"]
        for key in entry if isinstance(entry, dict) else ():
            for value in values[:4]:
                change = _set("model", key, value)
                yield f"{name}: model.{key} = {value!r}", _sealed(change, place=place)
    yield from _fits_of_arrays()


def _fits_of_arrays() -> Known:
    blocks = {"one large": [0, 2**31 - 1], "negative": [0, -1], "not whole": [0.5, 1.5]}
    for what, ends in blocks.items():
        members = dict(base(0))
        old = np.load(io.BytesIO(members["features/blocks.npy"]))
        kind = np.float64 if what == "not whole" else old.dtype
        members["features/blocks.npy"] = npy(np.resize(ends, old.shape).astype(kind))
        seal(members)
        yield f"blocks: {what}", _zipped(members)
    for place, name in enumerate(BASES):
        for array in base(place):
            if not array.endswith(".npy"):
                continue
            old = np.load(io.BytesIO(base(place)[array]))
            for value in {"f": (0, 1e300), "i": (0, -1, 2**30)}.get(old.dtype.kind, (0, 255)):
                members = dict(base(place))
                with np.errstate(over="ignore"):
                    members[array] = npy(np.full_like(old, value))
                seal(members)
                yield f"{name}: {array} all {value}", _zipped(members)


def door() -> Known:
    from fuzzing.files import NAMES

    for place, name in enumerate(NAMES):
        for packer in range(4):
            choice = packer * len(NAMES) + place
            yield f"nothing as {name}, packing {packer}", bytes([choice, 0])
            yield (
                f"cut short as {name}, packing {packer}",
                bytes([choice, 126]) + b"1\n1\n1\n1 1 1\n",
            )


def tree() -> Known:
    yield "brackets 200,000 deep", b"[" * DEEP
    yield "a number of 5,000 digits", b"[-1, " + b"9" * 5000 + b"]"
    for blank in range(4):  # which makes a tree, a structure, a mask and Υ of it
        text = json.dumps(list(range(-1, 30_000))).encode() + b" " * blank
        yield f"30,000 nodes, each below the last, {blank}", text
    yield "more nodes than are allowed", json.dumps([-1] + [0] * 70_000).encode()


def h5ad() -> Known:
    """Files that name others, to be read in their place."""
    import h5py

    from fuzzing.files import folder
    from fuzzing.sources import h5ad_files

    ways: dict[str, Callable[[Any], Any]] = {
        "an array in another file": lambda file: file.create_dataset(
            "obs/more", (2,), "u1", external=[("/proc/self/environ", 0, 2)]
        ),
        "a link to another file": lambda file: file.__setitem__(
            "obs/more", h5py.ExternalLink("/etc/hostname", "/")
        ),
        "a link to what is not there": lambda file: file.__setitem__(
            "obs/more", h5py.SoftLink("/obs/more")
        ),
        "a group within itself": lambda file: file.__setitem__("obs/obs", file["obs"]),
        "an array that is only declared": lambda file: file.create_dataset(
            "obs/more", (1 << 40,), "f8", chunks=(1 << 20,)
        ),
    }
    path = folder() / "known.h5ad"
    for what, change in ways.items():
        path.write_bytes(h5ad_files()[0])
        with h5py.File(path, "r+") as file:
            change(file)
        yield what, path.read_bytes()


KNOWN: dict[str, Callable[[], Known]] = {
    "docword": docword, "ldac": ldac, "matrix-market": matrix_market, "table": table,
    "jsonl": jsonl, "config": config, "npz": npz, "fit": fit, "door": door,
    "plink": plink, "structure": structure, "wide-table": wide_table,
    "10x": tenx, "tree": tree, "h5ad": h5ad,
}  # fmt: skip
