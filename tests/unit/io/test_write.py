"""What is written is read again as it was, and what a format cannot hold is told."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path

import numpy as np
import pytest

import dcomp
from dcomp.errors import DataWarning, InvalidParameter
from dcomp.io import OUT_FORMATS

EXACT = {"stop_words": None, "min_length": 1, "case": "keep", "numbers": "all"}
NAMES = ("cat", 'naïve, "so"', "=1+1", "日本", "zebra")
X = np.array([[2, 0, 1, 0, 0], [0, 0, 0, 0, 0], [1, 3, 0, 0, 7]])
FILES = [
    "docword.x.txt", "docword.x.txt.gz", "x.dat", "x.mtx", "x.mtx.bz2", "x.npz", "x.npz.xz",
    "x.csv", "x.tsv", "x.csv.gz", "x.jsonl", "x.jsonl.gz", "x.parquet", "x.h5ad",
]  # fmt: skip


def plain(path: Path, **options: object) -> dcomp.Counts:
    words = EXACT if OUT_FORMATS[_format(path)].write.__name__ in _OF_TOKENS else {}
    return dcomp.read(path, **{**words, **options})


_OF_TOKENS = ("write_jsonl", "write_parquet")


def _format(path: Path) -> str:
    from dcomp.io.write import out_format

    return out_format(path, "10x" if path.is_dir() else None)


def _quietly(counts: dcomp.Counts, path: Path, **options: object) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        dcomp.write(counts, path, **options)


@pytest.mark.parametrize("name", FILES)
def test_round_trip(tmp_path: Path, name: str) -> None:
    if "parquet" in name:
        pytest.importorskip("pyarrow")
    if "h5ad" in name:
        pytest.importorskip("anndata")
    counts = dcomp.Counts.from_matrix(X, feature_names=NAMES, doc_ids=["a", "b, c", "d\td"])
    _quietly(counts, tmp_path / name)
    again = plain(tmp_path / name)
    known, dropped = again.aligned_to(counts.features)
    assert dropped == 0
    assert (known.to_scipy().toarray() == X).all()
    holds = OUT_FORMATS[_format(tmp_path / name)].holds
    assert again.doc_ids == (counts.doc_ids if "ids" in holds else None)
    if _format(tmp_path / name) in ("docword", "ldac", "matrix-market", "npz", "h5ad"):
        assert again.features == counts.features  # those of no document, too


def test_long_tables_keep_empty_documents_and_features(tmp_path: Path) -> None:
    counts = dcomp.Counts.from_matrix(X, feature_names=list("abcde"), doc_ids=list("xyz"))
    dcomp.write(counts, tmp_path / "x.csv")
    assert dcomp.read(tmp_path / "x.csv") == counts
    nothing = dcomp.Counts.from_matrix(
        np.eye(3, 5, dtype=int) * [[0], [0], [3]], doc_ids=list("xyz")
    )
    dcomp.write(nothing, tmp_path / "n.tsv")
    assert dcomp.read(tmp_path / "n.tsv").shape == (3, 5)


def test_wide_tables(tmp_path: Path) -> None:
    counts = dcomp.Counts.from_matrix(X, feature_names=NAMES, doc_ids=list("xyz"))
    dcomp.write(counts, tmp_path / "x.csv", layout="wide")
    assert dcomp.read(tmp_path / "x.csv") == counts
    dcomp.write(counts, tmp_path / "s.csv", layout="wide", spreadsheet=True)
    assert "'=1+1" in (tmp_path / "s.csv").read_text()


@pytest.mark.parametrize("name", ["x.jsonl", "x.parquet"])
def test_records_hold_blocks_ids_attributes_and_the_reading_order(
    tmp_path: Path, name: str
) -> None:
    if "parquet" in name:
        pytest.importorskip("pyarrow")
    pairs = [[("noun", "watch"), ("verb", "watch"), ("noun", "a")], [], [("verb", "go")]]
    counts = dcomp.Counts.from_tokens(pairs, doc_ids=["1", "2", "3"])
    counts = counts.with_attributes(party=["D", None, "R"], year=[1999, 2000, 2001])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dcomp.write(counts, tmp_path / name)
    again = plain(tmp_path / name, labels=["party", "year"])
    assert again == counts
    assert again.attributes == counts.attributes
    text = dcomp.Counts.from_texts(["b a b", "a"], **EXACT)
    _quietly(text, tmp_path / f"t{name}")
    assert plain(tmp_path / f"t{name}").sequence(0).tolist() == [1, 0, 1]


def test_folders_of_10x_hold_blocks(tmp_path: Path) -> None:
    counts = dcomp.Counts.from_matrix(
        X, feature_names=list("abcab"), doc_ids=list("xyz"), blocks=["gene"] * 3 + ["antibody"] * 2
    )
    dcomp.write(counts, tmp_path / "cells", format="10x")
    assert dcomp.read(tmp_path / "cells") == counts
    with pytest.raises(FileExistsError, match="overwrite=True"):
        dcomp.write(counts, tmp_path / "cells", format="10x")
    dcomp.write(counts.rows([0]), tmp_path / "cells", format="10x", overwrite=True)
    assert dcomp.read(tmp_path / "cells").n_docs == 1


@pytest.mark.parametrize("name", ["x.mtx", "x.npz", "x.csv"])
def test_fractional_counts_come_back_to_the_last_digit(tmp_path: Path, name: str) -> None:
    values = np.array([[0.1, 2.0], [1 / 3, 0]])
    counts = dcomp.Counts.from_matrix(
        values, feature_names=list("ab"), doc_ids=list("xy"), fractional=True
    )
    _quietly(counts, tmp_path / name)
    again = dcomp.read(tmp_path / name, fractional=True)
    assert (again.to_scipy().toarray() == values).all()
    with pytest.raises(InvalidParameter, match="holds whole counts"):
        dcomp.write(counts, tmp_path / "x.dat")


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    counts = dcomp.Counts.from_matrix(X, feature_names=list("abcab"), blocks=[1, 1, 1, 2, 2])
    counts = counts.with_attributes(party=["D", "R", "D"])
    with pytest.warns(DataWarning, match=r"cannot hold blocks of features, attributes of doc"):
        dcomp.write(counts, tmp_path / "x.npz")
    assert dcomp.read(tmp_path / "x.npz").features.names == counts.features.labels


def test_wrong_names_and_places_are_told(tmp_path: Path) -> None:
    counts = dcomp.Counts.from_matrix(X)
    for name, said in (
        ("x.xyz", r"must end in one of \.txt, \.dat"),
        ("x", "must end in one of"),
        ("news.txt", r"is called docword\.NAME\.txt"),
    ):
        with pytest.raises(InvalidParameter, match=said):
            dcomp.write(counts, tmp_path / name)
    with pytest.raises(InvalidParameter, match="format must be one of"):
        dcomp.write(counts, tmp_path / "x", format="excel")
    with pytest.raises(InvalidParameter, match="'layout' has no effect on the format 'npz'"):
        dcomp.write(counts, tmp_path / "x.npz", layout="wide")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_replaced_unasked(tmp_path: Path) -> None:
    counts = dcomp.Counts.from_matrix(X, feature_names=list("abcde"))
    (tmp_path / "x.dat.vocab.txt").write_text("mine\n")
    with pytest.raises(FileExistsError):
        dcomp.write(counts, tmp_path / "x.dat")
    assert not (tmp_path / "x.dat").exists()
    dcomp.write(counts, tmp_path / "x.dat", overwrite=True)
    assert dcomp.read(tmp_path / "x.dat") == counts


@pytest.mark.parametrize("bad", ["two\nlines", " blank", "", "half \ud800"])
def test_names_that_would_not_come_back_are_refused(tmp_path: Path, bad: str) -> None:
    counts = dcomp.Counts.from_matrix([[1, 2]], feature_names=["a", bad])
    with pytest.raises(InvalidParameter, match="cannot"):
        dcomp.write(counts, tmp_path / "x.mtx")
    assert list(tmp_path.iterdir()) == []


def test_names_beside_belong_to_one_file(tmp_path: Path) -> None:
    first = dcomp.Counts.from_matrix([[1, 2]], feature_names=["a", "b"])
    other = dcomp.Counts.from_matrix([[3, 4]], feature_names=["c", "d"])
    plain = dcomp.Counts.from_matrix([[5, 6]])
    for shared in ("vocab.txt", "x.vocab.txt"):  # as others write it, and as it once was
        (tmp_path / shared).write_text("old\nnames\n")
    files = ("x.mtx", "x.npz", "x.dat", "x.ldac", "x.mtx.gz", "y.dat")
    for place, name in enumerate(files):
        assert dcomp.write(other if place % 2 else first, tmp_path / name) is None
    for place, name in enumerate(files):
        assert dcomp.read(tmp_path / name) == (other if place % 2 else first), name
    for shared in ("vocab.txt", "x.vocab.txt"):
        assert (tmp_path / shared).read_text() == "old\nnames\n"
        (tmp_path / shared).unlink()
    dcomp.write(plain, tmp_path / "x.npz", overwrite=True)
    assert dcomp.read(tmp_path / "x.npz") == plain  # and not the names of what it was


def test_names_stay_with_what_is_packed_or_unpacked(tmp_path: Path) -> None:
    counts = dcomp.Counts.from_matrix([[1, 2]], feature_names=["a", "b"])
    dcomp.write(counts, tmp_path / "x.mtx.gz")
    (tmp_path / "x.mtx").write_bytes(gzip.decompress((tmp_path / "x.mtx.gz").read_bytes()))
    assert dcomp.read(tmp_path / "x.mtx").features.names is None  # they are another file's
    (tmp_path / "x.mtx.gz").unlink()
    assert dcomp.read(tmp_path / "x.mtx") == counts
