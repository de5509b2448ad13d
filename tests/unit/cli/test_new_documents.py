"""A fit of labelled texts and other documents: labels are attributes, which new ones may lack."""

import json

import pytest

import dcomp

TEXTS = ["cats sleep", "dogs bark", "cats purr", "dogs run"]
FITTED = ("--text-field", "body", "--stop-words", "none")


def written(path, **labels):
    rows = [
        {"body": text, **{n: of[i] for n, of in labels.items()}} for i, text in enumerate(TEXTS)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def old(tmp_path):
    return written(tmp_path / "old.jsonl", group=list("xyxy"), year=[1999, 2000, 2001, 2002])


@pytest.fixture
def new(tmp_path):
    return written(tmp_path / "new.jsonl")


def fit(run, old, *more):
    done = run("fit", old, "-k", 2, *FITTED, *more, "-o", "f.dcomp", "-q")
    assert done.code == 0, done.err


def test_new_documents_need_no_labels(run, old, new, tmp_path):
    fit(run, old, "--label-field", "group")
    (tmp_path / "new.csv").write_text("body\n" + "\n".join(TEXTS) + "\n")
    for words in (
        ("transform", "f.dcomp", new),
        ("transform", "f.dcomp", "new.csv"),
        ("evaluate", "f.dcomp", new),
        ("similar", "f.dcomp", new, "0"),
        ("similar", "f.dcomp", "new.csv", "0"),
        ("show", "f.dcomp", new, "--documents", 1),
    ):
        done = run(*words)
        assert done.code == 0, (words, done.err)
    assert not dcomp.read(new, like=dcomp.load("f.dcomp")).attributes
    assert list(dcomp.read(old, like=dcomp.load("f.dcomp")).attributes) == ["group"]
    with pytest.raises(dcomp.errors.InvalidParameter, match="no document has a field 'group'"):
        dcomp.read(new, like=dcomp.load("f.dcomp"), labels="group")


def test_new_parquet_needs_no_labels(run, old, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    fit(run, old, "--label-field", "group")
    parquet.write_table(pyarrow.table({"body": TEXTS}), tmp_path / "new.parquet")
    for words in (("transform",), ("similar", "0")):
        done = run(words[0], "f.dcomp", "new.parquet", *words[1:])
        assert done.code == 0, done.err


def test_by_reads_a_field_of_texts(run, old, new):
    fit(run, old)
    done = run("show", "f.dcomp", old, "--by", "group")
    assert "mean shares by group; documents: x 2, y 2" in done.out, done.err
    done = run("show", "f.dcomp", new, "--by", "group")
    assert (done.code, "no document has a field 'group'" in done.err) == (2, True)
    fit(run, old, "--label-field", "group", "--force")
    for by in ("GROUP", "year"):
        assert f"mean shares by {by}" in run("show", "f.dcomp", old, "--by", by).out


def test_counts_are_compared_by_a_fit_of_text(run, old, tmp_path):
    fit(run, old)
    (tmp_path / "counts.csv").write_text("id,cats,dogs,sleep\na,1,0,2\nb,0,3,0\n")
    done = run("similar", "f.dcomp", "counts.csv", "a")
    assert done.code == 0, done.err
    assert done.out.startswith("1 document most like a\n")
    assert run("show", "f.dcomp", "counts.csv", "--documents", 1).code == 0
    for nothing in ("", " ", "zzz"):
        done = run("similar", "f.dcomp", old, "--text", nothing)
        assert done.code == 2
        assert f"--text has no word that the fit knows; got {nothing!r}" in done.err
