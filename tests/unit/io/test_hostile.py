"""Files of strangers: what they may cost, and that nothing but our own errors comes of them.

Each is read in a process of its own (`support.bounded`), where memory and time are measured.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zipfile

import numpy as np
import pytest
from scipy import sparse
from support.bounded import Reader
from support.sealed import npy

import dcomp
from dcomp.io.limits import Budget

BANNER = b"%%MatrixMarket matrix coordinate integer general\n"


def npz(**arrays: object) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            archive.writestr(f"{name}.npy", npy(np.asarray(array)))
    return stream.getvalue()


def matrix(shape, **changes) -> bytes:
    parts = {"data": [1], "indices": np.int32([0]), "indptr": np.int32([0, 1])}
    parts["format"] = np.array(b"csr")
    return npz(shape=np.array(shape), **{**parts, **changes})


def flagged(content: bytes, **changes: int) -> bytes:
    """An archive with other flags or another method in both headers of its first member."""
    out = bytearray(content)
    entry = content.index(b"PK\1\2")
    if "flags" in changes:
        out[6] = out[entry + 8] = changes["flags"]
    if "method" in changes:
        out[8] = out[entry + 10] = changes["method"]
    return bytes(out)


# Within max(64 MB, ten times the file): too much is refused, with the way to allow it.
TOO_MUCH = {
    "docword.words.txt": lambda: b"1\n2147483647\n1\n1 1 1\n",
    "docword.documents.txt": lambda: b"2147483647\n1\n1\n1 1 1\n",
    "terms.dat": lambda: b"1 2147483646:1\n",
    "sizes.mtx": lambda: BANNER + b"2147483647 2147483647 1\n1 1 1\n",
    "columns.npz": lambda: matrix([1, 2**31 - 1]),
    "deflated.npz": lambda: matrix([1, 1], data=np.ones(30_000_000, np.int8)),
    "line.jsonl.gz": lambda: gzip.compress(b'{"text": "' + b"ab cd " * 4_000_000 + b'"}\n'),
    "lines.jsonl.gz": lambda: gzip.compress(b'{"text": "aa bb"}\n' * 900_000),
    "rows.csv.bz2": lambda: (
        bz2.compress(b"doc,word,n\n" + b"aa,bb,1\n" * 300_000)
        + bz2.compress(b"aa,bb,1\n" * 1_000_000) * 8
    ),
    "columns.csv.xz": lambda: lzma.compress(b",".join(b"%d" % i for i in range(600_000)), preset=1),
    "row.csv": lambda: b"a,b,c,d\n" + b"," * 3_000_000,
    "letters.txt.xz": lambda: lzma.compress(b"x" * 200_000_000, preset=0),
    "empty.txt.gz": lambda: gzip.compress(b"a\n" * 3_000_000),
    "words.txt": lambda: b" ".join(b"a%db" % i for i in range(1_000_000)).translate(
        bytes.maketrans(b"0123456789", b"qrstuvwxyz")
    ),
    "items.jsonl": lambda: b'{"text": "a", "x": [' + b"[]," * 1_000_000 + b"1]}",
    "keys.jsonl": lambda: b'{"text": "a"' + b"".join(b',"%d":{}' % i for i in range(300_000)),
    "blank.csv.gz": lambda: gzip.compress(b"a,b\n" + b"\n" * 60_000_000, 1),
    "pairs.dat.gz": lambda: gzip.compress(b"1 0:1\n" * 10_000_000, 1),
    "symmetric.mtx": lambda: (
        b"%%MatrixMarket matrix array real symmetric\n2000 2000\n" + b"1\n" * 2_001_000
    ),
}
# Refused at once for what they are.
WRONG = {
    "deep.jsonl": (lambda: b"[" * 200_000, "deep, and may be 64"),
    "twice.jsonl": (lambda: b'{"text": "a", "text": "b"}', "'text' is there twice"),
    "digits.jsonl": (lambda: b'{"text": "ab", "n": ' + b"9" * 5000 + b"}", "5,000 digits"),
    "half.jsonl": (lambda: b'{"text": "ab", "id": "\\ud800"}', "half a character"),
    "nul.csv": (lambda: b"doc,word\n\0,b\n", "NUL"),
    "quote.csv": (lambda: b'doc,word\n"' + b"x\n" * 200_000, "field limit"),
    "latin.csv": (lambda: b"doc,word\na,b\na,\xe9\n", "latin.csv:3: text is not utf-8"),
    "method.npz": (lambda: flagged(matrix([1, 1]), method=99), "method 99"),
    "encrypted.npz": (lambda: flagged(matrix([1, 1]), flags=1), "is encrypted"),
    "negative.npz": (lambda: matrix([1, 1], indptr=np.int32([0, -1])), "negative"),
    "crash.npz": (
        lambda: matrix([3, 3], format=np.array(b"csc"), indptr=np.int32([0, 2**30, 9, 0])),
        "indptr must ascend",
    ),
    "half.npz": (lambda: matrix([1, 2], indices=np.float32([0])), "whole numbers"),
    "pickled.npz": (lambda: matrix([1, 1], data=np.array([b"x"])), "must be numbers"),
    "cut.csv.bz2": (lambda: bz2.compress(b"doc,word\n" * 999)[:-9], "cannot be decompressed"),
    "cut.csv.xz": (lambda: lzma.compress(b"doc,word\n" * 999)[:-9], "cannot be decompressed"),
    "behind.csv.xz": (lambda: lzma.compress(b"doc,word\na,b\n") + b"more", "cannot be decomp"),
}


@pytest.fixture(scope="module")
def reader():
    with Reader() as process:
        yield process


@pytest.mark.parametrize("name", TOO_MUCH)
def test_memory_stays_in_proportion_to_the_file(reader, tmp_path, name):
    path = tmp_path / name
    path.write_bytes(TOO_MUCH[name]())
    outcome = reader.read(path)
    assert outcome.error == "InvalidFile", outcome
    assert "limits=dcomp.Limits(" in outcome.message
    assert outcome.megabytes < max(64, 10 * path.stat().st_size / 1e6), outcome


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(reader, tmp_path, name):
    make, message = WRONG[name]
    path = tmp_path / name
    path.write_bytes(make())
    outcome = reader.read(path)
    assert outcome.error == "InvalidFile", outcome
    assert message in outcome.message


def test_an_npy_header_is_no_python(tmp_path):
    """NumPy's reader raises tokenize.TokenError, or evaluates for minutes."""
    header = b"{'descr': '<i8', 'fortran_order': False, 'shape': ((((((((" + b" " * 62 + b"\n"
    content = b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + bytes(8)
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("format.npy", content)
    with pytest.raises(dcomp.InvalidFile, match="a header that NumPy does not write"):
        dcomp.read(path)


def test_no_memory_is_a_file_error(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("some words\n")
    monkeypatch.setattr("dcomp.data.words.WordReader.finish", _no_memory)
    with pytest.raises(dcomp.InvalidFile, match="more memory than there is"):
        dcomp.read(path)


def _no_memory(*args, **options):
    raise MemoryError


HEADER = b"doc," + b",".join(b"w%d" % i for i in range(2000)) + b"\n"
ROW = b",0" * 1999 + b",1\n"
# What honest people have must be read as it is.
HONEST = {
    "docword.many.txt": b"3\n1000000\n2\n1 1 1\n1 999999 2\n",
    "docword.trailing.txt": b"500000\n10\n1\n1 1 1\n",
    "many.dat": b"1 1000000:1\n",
    "zeros.csv.gz": gzip.compress(HEADER + b"".join(b"d%d" % i + ROW for i in range(2000))),
    "returns.csv": b"doc,word\ra,b\rc,d",
    "book.jsonl": b'{"text": "' + b"It was the best of times, it was the worst. " * 60_000 + b'"}',
    "nan.jsonl": b'{"text": "two words", "score": NaN}\n',
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_files_are_read_without_a_word(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(HONEST[name])
    assert dcomp.read(path).nnz


def test_a_vocabulary_vouches_for_features(tmp_path):
    """Many features, of which few are used."""
    n = 400_000
    (tmp_path / "docword.a.txt").write_text(f"1\n{n}\n1\n1 1 1\n")
    (tmp_path / "vocab.a.txt").write_text("".join(f"w{i}\n" for i in range(n)))
    assert dcomp.read(tmp_path / "docword.a.txt").n_features == n


def test_limits_can_be_raised_and_lowered(tmp_path):
    path = tmp_path / "a.dat"
    path.write_text("1 5000000:1\n")
    with pytest.raises(dcomp.InvalidFile, match=r"80 MB of memory, and this file may take 48 MB"):
        dcomp.read(path)
    assert dcomp.read(path, limits=dcomp.Limits(memory="1 GB")).n_features == 5_000_001
    path.write_text("1 5:1\n")
    with pytest.raises(dcomp.InvalidFile, match="may take 10 bytes"):
        dcomp.read(path, limits=dcomp.Limits(memory=10))


def test_decompression_is_counted(tmp_path):
    path = tmp_path / "docword.a.txt.gz"
    path.write_bytes(gzip.compress(b"1\n1\n1\n" + b"\n" * 70_000_000 + b"1 1 1\n", 1))
    with pytest.raises(dcomp.InvalidFile, match=r"64 MB; limits=dcomp\.Limits\(decompressed=…\)"):
        dcomp.read(path)
    assert dcomp.read(path, limits=dcomp.Limits(decompressed="100 MB")).nnz == 1


@pytest.mark.parametrize(
    "text", ["", "memory", "memory=", "memory=-1", "time=3", "memory=1,memory=2"]
)
def test_limits_that_are_none(text):
    with pytest.raises(dcomp.InvalidParameter, match="limit"):
        dcomp.Limits.parse(text)


@pytest.mark.parametrize("value", [0, -1, True, 1.5, "1 xb", "nan", "1e400"])
def test_sizes_that_are_none(value):
    with pytest.raises(dcomp.InvalidParameter, match="memory must be a number"):
        dcomp.Limits(memory=value)


def test_limits_are_an_object(tmp_path):
    (tmp_path / "a.txt").write_text("some words")
    with pytest.raises(dcomp.InvalidParameter, match=r"limits must be dcomp\.Limits"):
        dcomp.read(tmp_path / "a.txt", limits={"memory": 3})


def test_a_budget_gives_back():
    budget = Budget("x", dcomp.Limits(memory=100))
    budget.charge(80, "this")
    budget.free(80)
    budget.charge(100, "that")
    with pytest.raises(dcomp.InvalidFile, match="more would take 101 bytes"):
        budget.charge(1, "more")


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("compressed", [True, False])
def test_every_form_of_npz(tmp_path, form, compressed):
    table = sparse.csr_array([[1, 0, 2, 0], [0, 3, 0, 0]])
    sparse.save_npz(tmp_path / "a.npz", table.asformat(form), compressed=compressed)
    assert (dcomp.read(tmp_path / "a.npz").to_scipy().toarray() == table.toarray()).all()


@pytest.mark.parametrize("field", ["1_0", "1_0.5", "1_000"])
@pytest.mark.parametrize("fractional", [False, True])
def test_what_only_python_takes_for_a_number_is_none(tmp_path, field, fractional):
    (tmp_path / "a.csv").write_text(f"doc,word,count\na,b,{field}\na,c,1\n")
    with pytest.raises(dcomp.InvalidFile, match=rf"a\.csv:2: counts must be .*'{field}'"):
        dcomp.read(tmp_path / "a.csv", fractional=fractional)


@pytest.mark.parametrize("field", ["1_0", "2_1"])
def test_names_with_a_mark_are_names(tmp_path, field):
    """A column of them in front names the lines."""
    (tmp_path / "a.csv").write_text(f"plate,x,y\n1_0,1,2\n{field}1,3,4\n")
    assert dcomp.read(tmp_path / "a.csv").doc_ids == ("1_0", f"{field}1")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_fit_in_a_pipe_is_refused(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    keep = os.open(path, os.O_RDWR)  # so that opening it does not wait
    try:
        with pytest.raises(dcomp.InvalidFile, match="from a file, not from a pipe"):
            dcomp.load(path)
    finally:
        os.close(keep)


LONG = b"x" * 100_000
AT_LENGTH = {
    "a.csv": b"id," + LONG + b"," + LONG + b"\na,1,2\n",
    "b.csv": b"doc,word,count\n" + (LONG + b",b,2147483647\n") * 2,
    "x.vcf": b"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t" + LONG + b"\t" + LONG,
}


@pytest.mark.parametrize("name", AT_LENGTH)
def test_what_a_file_says_at_length_is_told_in_short(tmp_path, name):
    (tmp_path / name).write_bytes(AT_LENGTH[name])
    with pytest.raises(dcomp.InvalidFile) as caught:
        dcomp.read(tmp_path / name)
    said = str(caught.value)
    assert len(said) < 2500
    assert said.startswith(str(tmp_path))
    assert "xxx …" in said
