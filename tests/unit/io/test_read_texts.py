"""Text from files with fields: which, who is who, what is left out; and from standard input."""

import csv
import io
import json
import lzma
import os
import sys

import numpy as np
import pytest

import dcomp
from dcomp.data import Counts, TextOptions
from dcomp.errors import InvalidFile, InvalidParameter

RECORDS = [
    {"id": 1, "split": "a", "title": "Cats", "body": "Cats sleep.", "stars": 5, "tags": ["x", "y"]},
    {"id": 2, "split": "b", "title": "Dogs", "body": None, "stars": 3, "tags": []},
    {"id": 3, "split": "a", "title": "", "body": "Dogs bark at cats", "stars": 1, "tags": ["y"]},
]


def written(path, records=RECORDS):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture
def file(tmp_path):
    return written(tmp_path / "pets.jsonl")


def dense(counts):
    return counts.to_scipy().toarray().tolist()


def test_fields_together(file):
    counts = dcomp.read(file, text=["title", "body"])
    assert counts.features.names == ("bark", "cats", "dogs", "sleep")
    assert dense(counts) == [[0, 2, 0, 1], [0, 0, 1, 0], [1, 1, 1, 0]]
    assert counts.doc_ids == ("1", "2", "3")
    assert dcomp.read(file, text="title", id="split").doc_ids == ("a", "b", "a")


def test_a_block_for_each_field(file):
    counts = dcomp.read(file, text=["title", "body"], text_blocks=True)
    assert counts.features.labels == (
        "title=cats", "title=dogs", "body=bark", "body=cats", "body=dogs", "body=sleep",
    )  # fmt: skip
    assert dense(counts) == [[1, 0, 0, 1, 0, 1], [0, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 0]]
    assert counts.sequence(0).tolist() == [0, 3, 5]
    assert counts.text == TextOptions(text=("title", "body"), text_blocks=True)
    assert counts.vocabulary.n_kept == 6
    parts = {name: dcomp.read(file, text=name) for name in ("title", "body")}
    assert counts == Counts.join(parts)
    again = dcomp.read(file, like=counts)
    assert again == counts


def test_labels_become_attributes(file):
    about = dcomp.read(file, text="title", labels=["stars", "tags"]).attributes
    assert about["stars"].tolist() == [5, 3, 1]
    assert about["tags"].tolist() == ["x, y", "", "y"]
    assert not dcomp.read(file, text="title").attributes
    with pytest.raises(InvalidParameter, match="labels: no document has a field 'moons'"):
        dcomp.read(file, text="title", labels="moons")


def test_where(file):
    assert dcomp.read(file, text="body", where={"split": "a"}).doc_ids == ("1", "3")
    assert dcomp.read(file, text="title", where={"split": ["a", "b"], "stars": 3}).doc_ids == ("2",)
    assert dcomp.read(file, text="body", where={"tags": "x"}).doc_ids == ("1",)  # one of a list
    with pytest.raises(InvalidParameter, match="where: no document has a field 'splt'"):
        dcomp.read(file, text="body", where={"splt": "a"})
    with pytest.raises(InvalidFile, match="none of 3 documents has split=c or d"):
        dcomp.read(file, text="body", where={"split": ["c", "d"]})
    with pytest.raises(InvalidParameter, match="where must be values by"):
        dcomp.read(file, text="body", where="split=a")


def test_tokens_that_somebody_else_has_found(tmp_path):
    lists = written(tmp_path / "l.jsonl", [{"text": ["New York", "The"]}, {"text": []}])
    counts = dcomp.read(lists)
    assert counts.features.names == ("New York", "The")  # as they are
    assert dense(counts) == [[1, 1], [0, 0]]
    tagged = [
        {"text": [["verb", "watch"], ["noun", "watch"]]},
        {"text": [["noun", "cat"]]},
        {"text": []},
    ]
    counts = dcomp.read(written(tmp_path / "t.jsonl", tagged))
    assert counts.features.labels == ("noun=cat", "noun=watch", "verb=watch")
    assert dense(counts) == [[0, 1, 1], [1, 0, 0], [0, 0, 0]]
    mixed = written(tmp_path / "m.jsonl", [{"text": "cat"}, {"text": ["cat"]}])
    with pytest.raises(InvalidFile, match=r"m\.jsonl:2: the text must be of one kind"):
        dcomp.read(mixed)
    wrong = written(tmp_path / "w.jsonl", [{"text": ["cat", 3]}])
    with pytest.raises(InvalidFile, match=r"w\.jsonl:1: expected an object with text"):
        dcomp.read(wrong)


def test_pairs_in_python():
    counts = Counts.from_tokens([[("verb", "watch"), ("noun", "watch")], [("noun", "cat")]])
    assert counts.features.labels == ("noun=cat", "noun=watch", "verb=watch")
    assert counts.sequence(0).tolist() == [2, 1]
    with pytest.raises(dcomp.InvalidCounts, match=r"\(bag, token\) pairs of strings; found"):
        Counts.from_tokens([[("noun", "cat"), "dog"]])


def table(path, records=RECORDS, delimiter=","):
    names = ("id", "split", "title", "body", "stars")
    with path.open("w", newline="") as stream:
        rows = csv.writer(stream, delimiter=delimiter)
        rows.writerow(names)
        rows.writerows([record[name] for name in names] for record in records)
    return path


@pytest.mark.parametrize(("name", "delimiter"), [("p.csv", ","), ("p.tsv", "\t")])
def test_a_table_with_a_column_of_text(tmp_path, file, name, delimiter):
    path = table(tmp_path / name, delimiter=delimiter)
    counts = dcomp.read(path, text=["title", "body"], labels="stars", where={"split": "a"})
    same = dcomp.read(file, text=["title", "body"], labels="stars", where={"split": "a"})
    assert counts == same
    assert counts.attributes == same.attributes
    assert dcomp.read(path, like=counts).n_docs == 3  # its columns are those of the text
    with pytest.raises(
        InvalidFile, match=r":1: there is no column 'words'; there are 'id', 'split'"
    ):
        dcomp.read(path, text="words")
    with pytest.raises(InvalidParameter, match="'stem' is for text: name the column"):
        dcomp.read(path, stem="english")


def test_long_cells_and_columns_that_are_alike(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text('id,text\n1,"' + "cat " * 60_000 + '"\n')
    assert dcomp.read(path, text="text").n_tokens == 60_000
    before = csv.field_size_limit()
    path.write_text("text,text\na,b\n")
    with pytest.raises(InvalidFile, match="columns must differ; 'text'"):
        dcomp.read(path, text="text")
    assert csv.field_size_limit() == before


def test_parquet(tmp_path, file):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "p.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(RECORDS), path)
    how = {"text": ["title", "body"], "labels": ["stars"], "where": {"split": "a"}}
    counts = dcomp.read(path, **how)
    assert counts == dcomp.read(file, **how)
    assert counts.attributes["stars"].tolist() == [5, 1]
    with pytest.raises(InvalidFile, match="there is no column 'text'"):
        dcomp.read(path)
    path.write_bytes(b"PAR1 no PAR1")
    with pytest.raises((InvalidFile, OSError)):
        dcomp.read(path, text="title")


def test_a_small_parquet_file_cannot_ask_for_much(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "p.parquet"
    text = "word " * 200_000  # a megabyte, a thousand times
    column = pyarrow.array([0] * 1000, pyarrow.int32())
    column = pyarrow.DictionaryArray.from_arrays(column, [text])
    parquet.write_table(pyarrow.table({"text": column}), path, compression="zstd")
    assert path.stat().st_size < 10_000
    with pytest.raises(InvalidFile, match=r"would take .* of memory"):
        dcomp.read(path)


def test_a_small_parquet_file_cannot_ask_for_much_time(tmp_path):
    """One text that every row repeats, and that is no word."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "p.parquet"
    column = pyarrow.array(["z" * 500_000]).dictionary_encode().take(pyarrow.array([0] * 20_000))
    parquet.write_table(pyarrow.table({"text": column}), path)
    assert path.stat().st_size < 100_000
    with pytest.raises(InvalidFile, match=r"decompressed, and may be 64 MB; limits=dcomp\.Limits"):
        dcomp.read(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path):
    (tmp_path / "a.txt").write_text("cat\n")
    os.mkfifo(tmp_path / "b.txt")
    with pytest.raises(InvalidFile, match=r"b\.txt: a pipe or a device is no document"):
        dcomp.read(tmp_path)
    os.mkfifo(tmp_path / "vocab.c.txt")
    (tmp_path / "docword.c.txt").write_text("1\n1\n1\n1 1 1\n")
    assert dcomp.read(tmp_path / "docword.c.txt").features.names is None


@pytest.mark.parametrize("pack", [bytes, lzma.compress])
def test_standard_input(monkeypatch, pack, file):
    def given(content):
        stream = io.TextIOWrapper(io.BytesIO(pack(content)))
        monkeypatch.setattr(sys, "stdin", stream)

    given(file.read_bytes())
    assert dcomp.read("-", text="title") == dcomp.read(file, text="title")
    given(b"one cat\ntwo dogs\n")
    assert dcomp.read("-").n_docs == 2
    given(b"id,text\n7,one cat\n")
    assert dcomp.read("-", text="text").doc_ids == ("7",)
    given(b'{"text": 3}\n')
    with pytest.raises(InvalidFile, match=r"^standard input:1: expected an object with text"):
        dcomp.read("-")


def test_progress_is_told(tmp_path):
    records = [{"text": "word " * 2000}] * 60
    told = []
    path = written(tmp_path / "a.jsonl", records)
    dcomp.read(path, progress=lambda done, total: told.append((done, total)))
    size = path.stat().st_size
    assert told[-1] == (size, size)
    assert len(told) > 5
    (tmp_path / "folder").mkdir()
    for i in range(3):
        (tmp_path / "folder" / f"{i}.txt").write_text("some words")
    told.clear()
    dcomp.read(tmp_path / "folder", progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (30, 30)


def test_stop_words_from_a_file(tmp_path, file):
    words = tmp_path / "stop.txt"
    words.write_text("cats  # the animals\n\nsleep\n")
    counts = dcomp.read(file, text="body", stop_words=words)
    assert counts.features.names == ("at", "bark", "dogs")
    assert counts.text.stop_words == ("cats", "sleep")  # kept, whatever becomes of the file
    words.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidFile, match="text is not utf-8"):
        dcomp.read(file, text="body", stop_words=words)


def test_joining():
    one = Counts.from_tokens([["a"], ["b", "a"]], doc_ids=["x", "y"]).with_attributes(p=[1, 2])
    two = Counts.from_matrix([[1, 2], [0, 1]], feature_names=["a", "b"], blocks=["u", "v"])
    both = Counts.join({"one": one, "two": two})
    assert both.features.labels == ("one=a", "one=b", "two:u=a", "two:v=b")
    assert dense(both) == [[1, 0, 1, 2], [1, 1, 0, 1]]
    assert both.doc_ids == ("x", "y")
    assert both.attributes["p"].tolist() == [1, 2]
    assert both.sequences is None
    half = Counts.from_matrix([[0.5], [1]], fractional=True)
    assert Counts.join({"a": half, "b": half}).data.dtype == np.float64
    with pytest.raises(dcomp.InvalidCounts, match="'one' has 2, 'two' has 1"):
        Counts.join({"one": one, "two": two.rows([0])})
    other = Counts.from_tokens([["a"], ["b"]], doc_ids=["x", "z"])
    with pytest.raises(dcomp.InvalidCounts, match="number 1 is 'y' in 'one' and 'z' in 'two'"):
        Counts.join({"one": one, "two": other})
    with pytest.raises(dcomp.InvalidCounts, match="must agree on attributes; 'p' differs"):
        Counts.join({"one": one, "two": one.with_attributes(p=[1, 3])})
    with pytest.raises(InvalidParameter, match="join needs counts"):
        Counts.join({})


@pytest.mark.realdata
def test_reuters_has_the_modapte_split(real_data):
    path = real_data("reuters21578.jsonl.xz")
    where = {"lewissplit": "TRAIN", "topics_attr": "YES"}
    counts = dcomp.read(path, text=["title", "body"], text_blocks=True, where=where)
    assert (counts.n_docs, counts.features.block_names) == (9603, ("title", "body"))


@pytest.mark.realdata
def test_the_words_of_the_newsgroups(real_data):
    counts = dcomp.read(real_data("newsgroups20.jsonl.xz"), labels="group")
    assert (counts.shape, counts.n_tokens) == ((19997, 124481), 4468743)
    # Of the tokeniser in Python that was there before.
    assert counts.fingerprint().startswith("dc0481ab")
    assert len(set(counts.attributes["group"])) == 20
