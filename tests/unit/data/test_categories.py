"""Tables of categories: a block per column, nothing where something is missing."""

import pickle
import warnings

import numpy as np
import pandas
import polars
import pytest

import dcomp
from dcomp.data import Counts, as_counts, halves, train_test
from dcomp.data.categories import turned
from dcomp.errors import InvalidCounts, InvalidFile, InvalidParameter
from dcomp.io import read

ANSWERS = {
    "honest": ["well", None, "badly", "well"],
    "knows": ["badly", "well", "well", None],
    "vote": [2, 1, None, 10],
    "party": ["D", "R", "R", None],
}
TABLE = [[0, 1, 1, 0], [0, 0, 0, 1], [1, 0, 0, 1], [0, 1, 0, 0]]


@pytest.mark.parametrize("library", [pandas, polars], ids=["pandas", "polars"])
def test_frames(library):
    counts = as_counts(library.DataFrame(ANSWERS), categories=True, attributes=["party"])
    assert counts.features.labels == ("honest=badly", "honest=well", "knows=badly", "knows=well")
    assert counts.to_scipy().toarray().tolist() == TABLE
    np.testing.assert_array_equal(counts.attributes["vote"], [2, 1, np.nan, 10])
    assert counts.attributes["party"].tolist() == ["D", "R", "R", None]
    assert counts.empty_is_missing


def test_codes_are_categories_in_the_order_of_numbers():
    frame = pandas.DataFrame(ANSWERS, index=list("abcd"))
    counts = as_counts(frame, categories=True, codes=["VOTE"])
    of_vote = [name for name in counts.features.labels if name.startswith("vote=")]
    assert of_vote == ["vote=1", "vote=2", "vote=10"]
    assert counts.doc_ids == ("a", "b", "c", "d")
    only = as_counts(frame[["vote"]], categories=True, codes=True)
    assert only.to_scipy().toarray().tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 1]]


def test_missing_stays_missing_in_all_that_is_made_of_the_counts():
    counts = as_counts(pandas.DataFrame(ANSWERS), categories=True, attributes=["party"])
    made = [
        counts.rows([2, 0]),
        counts.columns([0, 1]),
        counts.with_attributes(x=range(4)),
        counts.in_parts(2),
        counts.in_parts(2).parts[1],
        counts.aligned_to(counts.features.select([1, 2]))[0],
        pickle.loads(pickle.dumps(counts)),
        *halves(counts),
        *train_test(counts),
        turned(counts),
    ]
    assert all(found.empty_is_missing for found in made)
    assert not Counts.from_matrix([[1]]).empty_is_missing


def test_turned_twice_is_the_same_table():
    counts = as_counts(pandas.DataFrame(ANSWERS), categories=True, attributes=["party", "vote"])
    there = turned(counts)
    assert there.doc_ids == ("honest", "knows")
    back = turned(there, {"party": ["a", "b", "c", "d"]})
    assert back.to_scipy().toarray().tolist() == TABLE
    assert back.features.labels == counts.features.labels
    assert back.attributes["party"].tolist() == list("abcd")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attributes": ["honest", "knows", "party"]}, "no column holds words .* by codes="),
        ({"attributes": ["age"]}, "attributes must name columns; found 'age', and there are 'hon"),
        ({"attributes": ["vote"], "codes": ["vote"]}, "an attribute or holds codes, not both"),
        ({"attributes": "party"}, "attributes must be names of columns; got 'party'"),
        ({"fractional": True}, "categories=True takes a frame"),
    ],
)
def test_what_cannot_be_is_told_so(options, message):
    with pytest.raises((InvalidCounts, InvalidParameter), match=message):
        as_counts(pandas.DataFrame(ANSWERS), categories=True, **options)


def test_options_of_categories_need_categories():
    with pytest.raises(InvalidParameter, match="no effect without categories=True"):
        as_counts(pandas.DataFrame({"a": [1]}), attributes=["a"])
    with pytest.raises(InvalidParameter, match=r"categories=True takes a frame.*; got list"):
        as_counts([[1]], categories=True)
    with pytest.raises(InvalidCounts, match=r"as_counts\(frame, categories=True\)"):
        as_counts(pandas.DataFrame(ANSWERS))


def test_a_column_of_names_is_no_question():
    frame = pandas.DataFrame({"who": [f"n{i}" for i in range(30)], "q": ["a", "b"] * 15})
    with pytest.raises(InvalidCounts, match="'who' has 30 different values in 30 rows: name it as"):
        as_counts(frame, categories=True)
    with pytest.raises(InvalidCounts, match="column 'q' has no answer in any row"):
        as_counts(pandas.DataFrame({"q": [None, None], "r": ["a", "b"]}), categories=True)


SURVEY = (
    "who,honest,knows,vote,age\nAnn,well,badly,2.0,49.0\nBob,,well,1.0,\nCyd,well,refused,,35\n"
)


def test_survey_files(tmp_path):
    path = tmp_path / "survey.csv"
    path.write_text(SURVEY)
    how = {"format": "categories", "id": "who"}
    counts = read(path, missing="refused", codes="vote", **how)
    labels = ("honest=well", "knows=badly", "knows=well", "vote=1", "vote=2")
    assert counts.features.labels == labels
    expected = [[1, 1, 0, 0, 1], [0, 0, 1, 1, 0], [1, 0, 0, 0, 0]]
    assert counts.to_scipy().toarray().tolist() == expected
    assert counts.doc_ids == ("Ann", "Bob", "Cyd")
    np.testing.assert_array_equal(counts.attributes["age"], [49, np.nan, 35])
    assert read(path, transpose=True, **how).doc_ids == ("honest", "knows")
    everything = read(path, codes="all", **how)
    assert everything.features.block_names == ("honest", "knows", "vote", "age")


def test_a_survey_read_as_counts_is_told_which_format_it_is(tmp_path):
    path = tmp_path / "survey.csv"
    path.write_text(SURVEY)
    with pytest.raises(InvalidFile, match=r"survey\.csv:2: .*'well'.*format='categories' reads"):
        read(path)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a\nx\n", {}, ":1: expected a header of two or more columns"),
        ("a,b\n", {}, "at least one line below the header"),
        ("a,a\nx,y\nx,y\n", {}, "'a' is there twice"),
        ("a,b\nx,y\nx\n", {}, ":3: expected 2 columns, found 1"),
        ("a,b\nx,y\n,y\n", {"id": "a"}, "column 'a' names the documents, and is empty"),
    ],
)
def test_wrong_surveys(tmp_path, content, options, message):
    path = tmp_path / "survey.csv"
    path.write_text(content)
    with pytest.raises(InvalidFile, match=message):
        read(path, format="categories", **options)


@pytest.mark.parametrize("name", ["id", "ID"])
def test_a_column_called_id_names_the_documents(tmp_path, name):
    path = tmp_path / "survey.csv"
    path.write_text(f"{name},q\n7,yes\n8,no\n9,yes\n")
    counts = read(path, format="categories")
    assert counts.doc_ids == ("7", "8", "9")
    assert not counts.attributes
    assert read(path, format="categories", attributes="id").attributes[name].tolist() == [7, 8, 9]
    assert read(path, format="categories", codes="id").features.n_blocks == 2
    path.write_text(f"{name},q\n7,yes\n,no\n9,yes\n")
    assert read(path, format="categories").doc_ids is None


def test_a_column_of_many_numbers_among_questions_is_warned_of():
    """Only where all were said to be questions, and where it is not what the questions are like."""
    frame = pandas.DataFrame({f"q{j}": np.arange(60) % (j + 2) for j in range(4)})
    frame.insert(0, "age", np.arange(60) % 28 + 18)
    with pytest.warns(dcomp.DataWarning, match="'age' is read as a question of 28 answers"):
        dcomp.as_counts(frame, categories=True, codes=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dcomp.as_counts(frame, categories=True, codes=list(frame.columns))
        dcomp.as_counts(frame, categories=True, codes=True, attributes=["age"])
        many = frame.assign(**{f"q{j}": np.arange(60) % 25 for j in range(4)})
        dcomp.as_counts(many, categories=True, codes=True)
