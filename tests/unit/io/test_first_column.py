"""Wide tables whose first column is, or may be, a feature."""

import warnings

import pytest

import dcomp
from dcomp.cli.main import main
from dcomp.io.first_column import FirstColumn, is_usual_name

AGAIN = "whisky,gin,rum,beer\n31,4,1,1\n12,1,1,0\n0,0,0,0\n31,3,2,5\n"
APART = "whisky,gin,rum,beer\n31,4,1,1\n12,1,1,0\n45,3,2,5\n"


def given(folder, inside, name="t.csv", **options):
    """What is read, and the warnings about it."""
    file = folder / name
    file.write_text(inside)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        counts = dcomp.read(file, **options)
    assert all(w.category is dcomp.DataWarning for w in caught)
    return counts, [str(w.message) for w in caught]


@pytest.mark.parametrize("fractional", [False, True])
def test_numbers_that_come_again_are_a_feature(tmp_path, fractional):
    counts, said = given(tmp_path, AGAIN, fractional=fractional)
    assert counts.features.names == ("whisky", "gin", "rum", "beer")
    assert counts.doc_ids is None
    table = [[31, 4, 1, 1], [12, 1, 1, 0], [0, 0, 0, 0], [31, 3, 2, 5]]
    assert counts.to_scipy().toarray().tolist() == table
    assert counts.is_fractional == fractional
    assert len(said) == 1
    assert "'whisky'" in said[0]
    assert "label_columns=1" in said[0]
    assert counts == given(tmp_path, AGAIN, fractional=fractional, label_columns=0)[0]


def test_other_whole_numbers_are_ids_and_it_is_said(tmp_path):
    counts, said = given(tmp_path, APART)
    assert counts.doc_ids == ("31", "12", "45")
    assert counts.features.names == ("gin", "rum", "beer")
    assert len(said) == 1
    assert "label_columns=0" in said[0]


@pytest.mark.parametrize(("n", "width"), [(0, 4), (1, 3)])
def test_what_is_said_settles_it(tmp_path, n, width):
    counts, said = given(tmp_path, APART, label_columns=n)
    assert counts.n_features == width
    assert (counts.doc_ids is None) == (n == 0)
    assert said == []


def test_fractions_are_no_ids(tmp_path):
    counts, said = given(tmp_path, "gin,rum,tea,ale\n0.5,1,2,0\n1.5,0,1,1\n", fractional=True)
    assert counts.features.names == ("gin", "rum", "tea", "ale")
    assert len(said) == 1


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("id", ["7", "3", "7"]),
        ("", ["7", "3", "5"]),
        ("Sample No.", ["7", "3", "5"]),
        ("userId", ["7", "3", "5"]),
        ("Unnamed: 0", ["7", "3", "5"]),
        ("whisky", ["1", "2", "3"]),
        ("whisky", ["0", "1", "2"]),
        ("whisky", ["101", "205", "309"]),
        ("whisky", ["30", "20", "10"]),
        ("whisky", ["007", "003", "007"]),
        ("whisky", ["99999999999", "3", "3"]),
        ("whisky", ["A1", "3", "3"]),
    ],
)
def test_what_are_ids_makes_no_words(tmp_path, name, ids):
    rows = "".join(f"{id},{i},1,0\n" for i, id in enumerate(ids))
    counts, said = given(tmp_path, f"{name},gin,rum,tea\n{rows}")
    assert counts.doc_ids == tuple(ids)
    assert said == []


def test_names_of_columns():
    assert not any(map(is_usual_name, ("acid", "whisky", "casino", "monkey", "word1", "V1")))
    assert FirstColumn.of("gin", ["4"]) is FirstColumn.PERHAPS


@pytest.mark.parametrize(("inside", "n"), [(AGAIN, 0), (APART, 1)])
def test_new_files_are_read_as_the_first_was(tmp_path, inside, n):
    counts, _ = given(tmp_path, inside)
    assert counts.reading.label_columns == n
    for new in (AGAIN, APART):
        again, said = given(tmp_path, new, "new.csv", like=counts)
        assert again.features.names == counts.features.names
        assert said == []


def test_the_shell_says_it_and_remembers(tmp_path, capsys):
    fit, file, new = tmp_path / "fit.dcomp", tmp_path / "t.csv", tmp_path / "new.csv"
    file.write_text(AGAIN)
    new.write_text(APART)
    assert main(["fit", str(file), "-k", "2", "-q", "-o", str(fit)]) == 0
    assert "--label-columns 1" in capsys.readouterr().err
    assert main(["transform", str(fit), str(new)]) == 0
    said = capsys.readouterr()
    assert "label" not in said.err
    assert len(said.out.splitlines()) == 4


def test_a_corpus_has_the_feature(tmp_path, capsys):
    file, corpus = tmp_path / "t.csv", tmp_path / "t.dcounts"
    file.write_text(APART)
    assert main(["convert", str(file), str(corpus), "--label-columns", "0"]) == 0
    assert dcomp.open(corpus).features.names == ("whisky", "gin", "rum", "beer")


def test_turned_tables_need_names_of_features(tmp_path):
    with pytest.raises(dcomp.errors.InvalidParameter, match="from 1 to less"):
        given(tmp_path, APART, transpose=True, label_columns=0)


def test_a_column_more_is_charged(tmp_path):
    rows = "".join(f"{i % 7},1,0,2\n" for i in range(5_000))
    limits = dcomp.Limits(memory=700_000)
    with pytest.raises(dcomp.errors.InvalidFile, match="would take"):
        given(tmp_path, "gin,rum,tea,ale\n" + rows, limits=limits)
