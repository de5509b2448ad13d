"""Wide tables with several columns of labels, and in either orientation."""

import numpy as np
import pytest

import dcomp
from dcomp.cli.main import main

TYPES = "type,bases,t1,t2,t3\nC>A,ACA,0,5,1\nC>A,ACC,1,0,0\nC>G,ACA,2,0,3\n"
TURNED = [[0, 1, 2], [5, 0, 0], [1, 0, 3]]


@pytest.fixture
def types(tmp_path):
    file = tmp_path / "types.csv"
    file.write_text(TYPES)
    return file


@pytest.mark.parametrize("given", [None, 2])
@pytest.mark.parametrize("fractional", [False, True])
def test_lines_are_features_named_by_all_their_labels(types, given, fractional):
    counts = dcomp.read(types, transpose=True, label_columns=given, fractional=fractional)
    assert counts.features.names == ("C>A ACA", "C>A ACC", "C>G ACA")
    assert counts.doc_ids == ("t1", "t2", "t3")
    assert counts.to_scipy().toarray().tolist() == TURNED
    assert counts.is_fractional == fractional


def test_lines_are_documents_with_their_labels_as_attributes(types):
    counts = dcomp.read(types, label_columns=2)
    assert counts.doc_ids == ("C>A ACA", "C>A ACC", "C>G ACA")
    assert counts.to_scipy().toarray().T.tolist() == TURNED
    assert counts.attributes["type"].tolist() == ["C>A", "C>A", "C>G"]
    assert counts.attributes["bases"].tolist() == ["ACA", "ACC", "ACA"]


def test_numbers_may_be_labels_where_that_is_said(tmp_path):
    file = tmp_path / "codes.csv"
    file.write_text("a,b,x,y\n1,7,3,0\n2,7,0,4\n")
    counts = dcomp.read(file, transpose=True, label_columns=2)
    assert counts.features.names == ("1 7", "2 7")
    assert dcomp.read(file, transpose=True).doc_ids == ("b", "x", "y")


def test_a_second_label_is_no_count_and_the_error_says_what_to_type(types, tmp_path, capsys):
    with pytest.raises(dcomp.errors.InvalidFile, match=r"'bases' \(label_columns=2"):
        dcomp.read(types)
    assert main(["fit", str(types), "-k", "2", "-o", str(tmp_path / "fit.dcomp")]) == 1
    assert "--label-columns 2" in capsys.readouterr().err


def test_long_tables_turn_as_well(tmp_path):
    file = tmp_path / "long.csv"
    file.write_text("word,doc,count\ncat,d1,2\nant,d2,1\n")
    counts = dcomp.read(file, transpose=True)
    assert counts.doc_ids == ("d1", "d2")
    assert counts.features.names == ("ant", "cat")
    assert counts.to_scipy().toarray().tolist() == [[0, 2], [1, 0]]


@pytest.mark.parametrize("n", [-1, 5, 6, True, 1.0, "2"])
def test_label_columns_leave_columns_for_counts(types, n):
    with pytest.raises(dcomp.errors.InvalidParameter, match="label_columns must be a whole number"):
        dcomp.read(types, label_columns=n)


def test_long_tables_have_no_label_columns(types):
    with pytest.raises(dcomp.errors.InvalidParameter, match="label_columns are those of a wide"):
        dcomp.read(types, layout="long", label_columns=2)


def test_lines_of_one_name_are_refused(types):
    types.write_text(TYPES + "C>A,ACA,1,1,1\n")
    with pytest.raises(dcomp.errors.InvalidFile, match="'C>A ACA'"):
        dcomp.read(types, transpose=True)


@pytest.mark.parametrize("options", [{"transpose": True}, {"label_columns": 2}])
def test_labels_are_charged(tmp_path, options):
    file = tmp_path / "much.csv"
    file.write_text("a,b,x,y\n" + "".join(f"l{i},m{i},1,0\n" for i in range(5_000)))
    with pytest.raises(dcomp.errors.InvalidFile, match="lines would take"):
        dcomp.read(file, limits=dcomp.Limits(memory=1_000_000), **options)


def test_a_fit_and_new_documents_from_the_shell(types, tmp_path):
    fit, scores = tmp_path / "fit.dcomp", tmp_path / "scores.csv"
    assert main(["fit", str(types), "--transpose", "-k", "2", "-q", "-o", str(fit)]) == 0
    assert main(["transform", str(fit), str(types), "--transpose", "-o", str(scores)]) == 0
    lines = scores.read_text().splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == ["t1", "t2", "t3"]


def test_the_table_is_the_same_as_one_written_the_other_way(tmp_path):
    rng = np.random.default_rng(0)
    W = rng.poisson(0.7, (40, 300))
    wide, turned = tmp_path / "wide.csv", tmp_path / "turned.csv"
    names, ids = [f"f{j}" for j in range(300)], [f"d{i}" for i in range(40)]
    for file, table, lines, columns in ((wide, W, ids, names), (turned, W.T, names, ids)):
        rows = [",".join([name, *map(str, row)]) for name, row in zip(lines, table, strict=True)]
        file.write_text("\n".join([",".join(["name", *columns]), *rows]))
    assert dcomp.read(turned, transpose=True) == dcomp.read(wide)


def test_a_header_that_is_missing(tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text("d,1,0,3,1\ne,0,4,1,5\n")
    with pytest.raises(
        dcomp.InvalidFile, match=r"'1' appears more than once; the header seems to be"
    ):
        dcomp.read(path)
    path.write_text("d,cat,0,3,cat\ne,0,4,1,5\n")
    with pytest.raises(dcomp.InvalidFile, match=r"'cat' appears more than once$"):
        dcomp.read(path)


@pytest.mark.parametrize("called", ["", "Unnamed: 0"])
def test_an_index_of_pandas_in_front_of_names(tmp_path, called):
    """The remedy that is named is one."""
    path = tmp_path / "t.csv"
    path.write_text(f"{called},site,newt,toad,frog\n0,Fen,1,2,3\n1,Mere,2,0,4\n")
    message = r"'Fen' in column 'site' \(label_columns=2 takes the words for names; format="
    with pytest.raises(dcomp.InvalidFile, match=message):
        dcomp.read(path)
    assert dcomp.read(path, label_columns=2).doc_ids == ("0 Fen", "1 Mere")
    path.write_text(f"{called},newt,toad,frog\n0,1,2,x\n1,2,0,4\n")
    with pytest.raises(dcomp.InvalidFile, match=r"'x' in column 'frog' \(format="):
        dcomp.read(path)
