"""What else is read: names beside counts, JSON that options name, catalogues, folders, standard
input, and AnnData's files."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import signal
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import dcomp
from dcomp.cli.source import Source
from dcomp.io.anndata import collected
from dcomp.io.h5ad import check_ended, take_out
from dcomp.io.stdin import kept_stdin
from dcomp.recipe import Recipe
from dcomp.use.catalogue import Catalogue, read_types
from fuzzing.files import BETWEEN, check_counts, folder, scratch
from fuzzing.guard import hold

_OF_PROCESSOR = 0.3  # seconds for an .h5ad file
_DOCWORD = b"2\n3\n2\n1 1 4\n2 3 1\n"
# Where names come from, of which the content says one: a first file, the option, its format.
_NAMED = (
    ("x.txt", "vocab", "docword"), ("x.dat", "vocab", "ldac"), ("x.mtx", "vocab", "matrix-market"),
    ("x.txt", "blocks", "docword"), ("x.txt", "stop_words", "text"),
)  # fmt: skip
NAMES = [
    _DOCWORD + BETWEEN + b"cat\nant\nbee\n",
    _DOCWORD + BETWEEN + "é\r\n\"b\"\r\nc d\r\n".encode(),
    b"1 0:2\n1 2:1\n" + BETWEEN + b"cat\nant\nbee\n",
    b"The cat and the ant.\n" + BETWEEN + b"# for people\nthe\nand # also\n",
    b"%%MatrixMarket matrix coordinate integer general\n1 2 1\n1 1 4\n" + BETWEEN + b"a\nb\n",
]  # fmt: skip


def names(content: bytes) -> None:
    """Read counts with a file of names: of features, of their blocks, of words to leave out."""
    first, _, second = content.partition(BETWEEN)
    name, option, format_ = _NAMED[zlib.crc32(content) % len(_NAMED)]
    path, beside = scratch(name, first), scratch("names", second)
    if option == "blocks":
        counts = Source(path, {"format": format_, "blocks": beside}).read()
    else:
        counts = dcomp.read(path, format=format_, **{option: beside})
    check_counts(counts)


TREES = [
    b"[-1, 0, 0, 1, 1]", b"[4, 4, 5, 5, -1, -1]", b"[[1, 0], [0, 1], [1, 1]]",
    b"[[0.5, 0.5], [0.25, 0.75]]", b'{"a": [1e3, null]}',
]  # fmt: skip
_OPTIONS: tuple[dict[str, Any], ...] = (
    {"model": "TM", "of": "tree"}, {"model": "ST", "of": "tree"}, {"model": "ST", "of": "mask"},
    {"model": "ST", "of": "upsilon"},
)  # fmt: skip


def trees(content: bytes) -> None:
    """Make a model of a hierarchy in JSON."""
    chosen = _OPTIONS[zlib.crc32(content) % len(_OPTIONS)]
    path = scratch("tree.json", content)
    recipe = Recipe(model=chosen["model"], max_iter=1, **{chosen["of"]: path})
    resolved = recipe.resolve(dcomp.Counts.from_matrix([[3, 1], [0, 2]]))
    hold(0 < resolved.model.n_components < 1 << 16, "a tree: components")
    repr(resolved.model)


CATALOGUES = [
    b"Type,SBS1,SBS2\nA[C>A]A,0.25,0.5\nA[C>A]C,0.75,0.5\n",
    b"Substitution Type,Trinucleotide,S1\nC>A,ACA,0.01\nC>T,TCG,1e-3\n",
    b"signature,A[C>A]A,A[C>T]G\nSBS1,0.5,0.5\nSBS2,1,0\n",
]


def catalogue(content: bytes) -> None:
    """Read published signatures, and tumours by types of mutations."""
    path = scratch("signatures.csv", content)
    if zlib.crc32(content) & 1:
        check_counts(read_types(path))
        return
    found = Catalogue.of(path)
    hold(bool(abs(found.loadings.sum(axis=1) - 1).max() < 1e-9), "a signature: sums to 1")
    hold(found.loadings.shape == (len(found.names), len(found.types)), "a catalogue: its shape")
    str(found.aligned_to(found.types[:1]))


FOLDERS = [
    BETWEEN.join([b"Cat and dog.\n", b"Dog!", b""]), b"naive caf\xc3\xa9\r\n\r\ncat",
]  # fmt: skip


def texts_of_folder(content: bytes) -> None:
    """Read a folder of texts, some in a folder of their own, some packed and so not of it."""
    place = folder() / "texts"
    shutil.rmtree(place, ignore_errors=True)
    (place / "below").mkdir(parents=True)
    for number, text in enumerate(content.split(BETWEEN, 5)):
        (place / ("below" if number % 2 else ".") / f"{number}.txt").write_bytes(text)
    check_counts(dcomp.read(place))


STREAMS = [b"Cat and dog.\nDog!\n", b'{"text": "cat"}\n', b"title,body\nx,cat\n", b"\x1f\x8b\x08"]


def stdin(content: bytes) -> None:
    """Read what came in by a pipe."""
    columns = bool(zlib.crc32(content) & 1)
    with kept_stdin(io.BytesIO(content), has_columns=columns) as path:
        check_counts(dcomp.read(path, **({"text": "body"} if columns else {})))


@cache
def h5ad_files() -> list[bytes]:
    """A small one, counts sparse, and one dense and packed."""
    import anndata
    import numpy as np
    import pandas as pd
    from scipy import sparse

    out = []
    table = np.array([[4.0, 0, 1], [0, 1, 0]])
    for X, packing in ((sparse.csr_matrix(table), None), (table, "gzip")):
        about = pd.DataFrame({"kind": ["a", "b"], "n": [1, 2]}, index=["AAC-1", "AAG-1"])
        data = anndata.AnnData(X, obs=about, var=pd.DataFrame(index=["CD4", "CD8A", "CD3"]))
        path = Path(folder(), "made.h5ad")
        data.write_h5ad(path, compression=packing)
        out.append(path.read_bytes())
    return out


def h5ad(content: bytes) -> None:
    """Read cells by genes, as `dcomp.read` does but for the way its process begins: a copy of this
    one, which has all libraries at hand, since a new one takes seconds. It has ten times what a
    whole file takes of the processor: many damaged ones make HDF5 go round until the end of it."""
    import anndata
    import h5py

    path, out = scratch("x.h5ad", content), folder() / "out"
    hold(bool(anndata and h5py), "they are here")  # before the copy is made, and in it
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.setitimer(signal.ITIMER_PROF, _OF_PROCESSOR)
            take_out(path, None, dcomp.Limits(), out)
            os._exit(0)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    # HDF5 can go round in circles in a damaged file; the end of its processor time is what ends it.
    check_ended(path, out, code)
    check_counts(collected(path, out, fractional=bool(zlib.crc32(content) & 1)))
