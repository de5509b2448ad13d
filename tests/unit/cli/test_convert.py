"""dcomp convert, and what dcomp transform writes by the extension of its output."""

import json

import numpy as np
import pytest

import dcomp


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("doc,cat,dog,=bone\na,2,0,1\nb,0,0,0\nc,1,4,0\n")
    return path


def test_convert_there_and_back(run, table):
    for out in ("x.mtx", "z.npz", "docword.x.txt", "x.dat", "x.tsv.gz", "x.jsonl"):
        done = run("convert", table, out)
        assert done.code == 0, done.err
        words = {"stop_words": None} if out == "x.jsonl" else {}
        known, _ = dcomp.read(out, **words).aligned_to(dcomp.read(table).features)
        if out != "x.jsonl":  # where "=bone" is taken apart
            assert (known.to_scipy().toarray() == dcomp.read(table).to_scipy().toarray()).all()
    assert "cannot hold ids of documents" in run("convert", table, "y.mtx").err


def test_convert_tells_what_it_did_and_what_it_cannot(run, table):
    record = json.loads(run("convert", table, "x.csv", "--layout", "wide", "--json").out)
    assert (record["format"], record["documents"], record["tokens"]) == ("table", 3, 8)
    for words, said, code in (
        (("x.csv",), "give --force to replace it", 1),
        (("x.xlsx",), "must end in one of", 2),
        (("x.xlsx",), "or give --to one of docword", 2),
        (("x.npz", "--layout", "wide"), "--layout has no effect on the format 'npz'", 2),
        (("x", "--to", "excel"), "--to must be one of docword", 2),
        ((table,), "is an input of this command", 1),
    ):
        done = run("convert", table, *words)
        assert (done.code, said in done.err) == (code, True), (words, done.err)
    assert run("convert", table, "cells", "--to", "10x").code == 0
    assert dcomp.read("cells").shape == (3, 3)


@pytest.fixture
def fitted(run, table):
    assert run("fit", table, "-k", 2, "-o", "f.dcomp", "-q").code == 0


def test_transform_writes_what_the_extension_says(run, table, fitted):
    for ending in ("csv", "tsv", "json", "npy", "parquet"):
        if ending == "parquet":
            pytest.importorskip("pyarrow")
        done = run("transform", "f.dcomp", table, "-o", f"s.{ending}")
        assert done.code == 0, done.err
    scores = np.load("s.npy")
    csv = np.genfromtxt("s.csv", delimiter=",", skip_header=1)[:, 1:]
    tsv = np.genfromtxt("s.tsv", delimiter="\t", skip_header=1)[:, 1:]
    with open("s.json") as stream:
        record = json.load(stream)
    assert np.allclose(csv, scores, atol=1e-6)
    assert np.allclose(tsv, scores, atol=1e-6)
    assert np.allclose([row["scores"] for row in record["documents"]], scores)
    assert record["documents"][0]["document"] == "a"
    import pyarrow.parquet

    frame = pyarrow.parquet.read_table("s.parquet")
    assert frame.column_names == ["document", "component_0", "component_1"]
    assert np.allclose(frame["component_1"].to_numpy(), scores[:, 1])


def test_transform_refuses_extensions_that_say_nothing(run, table, fitted):
    done = run("transform", "f.dcomp", table, "-o", "s.xlsx")
    assert (done.code, "--output must end in one of .csv, .tsv" in done.err) == (2, True)
    done = run("transform", "f.dcomp", table, "-o", "s.csv", "--json")
    assert (done.code, "--json writes JSON" in done.err) == (2, True)
    done = run("transform", "f.dcomp", table, "-o", "s.parquet", "--spreadsheet")
    assert (done.code, "--spreadsheet has no effect on .parquet" in done.err) == (2, True)


def test_transform_prints_json(run, table, fitted):
    record = json.loads(run("transform", "f.dcomp", table, "--json").out)
    assert record["n_components"] == 2
    assert [row["document"] for row in record["documents"]] == ["a", "b", "c"]


def test_a_corpus_is_made_fitted_and_used(run, tmp_path):
    texts = tmp_path / "pets.jsonl"
    words = ["cat dog bone", "tree leaf root", "cat bone cat", "leaf tree leaf"]
    texts.write_text("".join(json.dumps({"text": text}) + "\n" for text in words))
    done = run("convert", texts, "pets.dcounts", "--shards", "2")
    assert (done.code, done.out) == (0, ""), done.err
    assert "in 2 parts) as dcounts in pets.dcounts" in done.err
    assert dcomp.open("pets.dcounts") == dcomp.read(texts)
    assert "give --force" in run("convert", texts, "pets.dcounts").err
    again = run("convert", "pets.dcounts", "pets.csv")
    assert again.code == 0, again.err
    how = ("-k", "2", "--alpha", "0.1", "--gamma", "0.1", "--max-iter", "5", "--tol", "0")
    done = run("fit", "pets.dcounts", *how, "-o", "file.dcomp")
    assert done.code == 0, done.err
    assert "of memory" in done.err
    assert "of disk while it runs" in done.err
    quiet = run("fit", "pets.dcounts", *how, "-o", "quiet.dcomp", "-q", "--scratch", tmp_path)
    assert (quiet.code, quiet.err) == (0, "")
    plain = dcomp.fit(
        dcomp.read(texts).in_parts(2), dcomp.load("file.dcomp").model, max_iter=5, tol=0
    )
    assert np.array_equal(dcomp.load("quiet.dcomp").Theta, plain.Theta)
    assert run("transform", "file.dcomp", "pets.dcounts").code == 0
    assert "scratch must be a folder" in run("fit", "pets.dcounts", "--scratch", "none").err
    assert "--shards has no effect" in run("convert", texts, "x.mtx", "--shards", "2").err
