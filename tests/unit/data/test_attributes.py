"""Attributes: one array per name, a row per document, kept by every selection of documents."""

from __future__ import annotations

import pickle

import numpy as np
import pandas
import polars
import pytest

from dcomp.data import Attributes, Counts, halves, train_test
from dcomp.errors import InvalidParameter

PARTY, YEAR = ["D", "R", "D", "I"], [1999, 2003, 2001, 2005]


@pytest.fixture
def counts() -> Counts:
    W = np.arange(1, 13).reshape(4, 3)
    return Counts.from_matrix(W).with_attributes(party=PARTY, year=YEAR)


def test_values_are_kept_by_kind():
    about = Attributes(
        3,
        {
            "text": ["a", None, 3],
            "gap": ["a", float("nan"), "b"],
            "whole": np.array([1, 2, 3], np.uint8),
            "real": [1.5, None, 2],
            "truth": [True, False, True],
            "all gaps": [None, None, None],
        },
    )
    assert about["text"].tolist() == ["a", None, "3"]
    assert about["gap"].tolist() == ["a", None, "b"]
    assert about["whole"].dtype == np.int64
    np.testing.assert_array_equal(about["real"], [1.5, np.nan, 2])
    assert about["truth"].dtype == np.bool_
    assert about["all gaps"].tolist() == [None] * 3


def test_a_name_that_is_not_there_has_no_column():
    about = Attributes(2, {"party": ["D", "R"]})
    assert about.get("party").tolist() == ["D", "R"]
    assert about.get("state") is None


def test_whole_numbers_beyond_int64_become_numbers():
    assert Attributes(1, {"id": np.array([2**64 - 1], np.uint64)})["id"].dtype == np.float64


def test_columns_cannot_be_written_to(counts):
    with pytest.raises(ValueError, match="read-only"):
        counts.attributes["party"][0] = "X"


@pytest.mark.parametrize(
    "select", [[2, 0], slice(1, 3), np.array([True, False, False, True])], ids=str
)
def test_they_go_along_with_documents(counts, select):
    chosen = counts.rows(select).attributes
    assert chosen["party"].tolist() == np.array(PARTY, object)[select].tolist()
    assert chosen["year"].tolist() == np.array(YEAR)[select].tolist()


def test_they_go_along_through_columns_parts_splits_and_pickles(counts):
    for other in (
        counts.columns([0, 2]),
        counts.with_blocks([0, 0, 1]),
        counts.without_order(),
        counts.in_parts(2),
        *halves(counts),
        pickle.loads(pickle.dumps(counts)),
    ):
        assert other.attributes == counts.attributes
    parts = counts.in_parts(2).parts
    assert [v for part in parts for v in part.attributes["party"]] == PARTY
    train, test = train_test(counts, 0.5)
    years = [*train.attributes["year"], *test.attributes["year"]]
    assert sorted(years) == sorted(YEAR)


def test_frames_bring_their_columns(counts):
    for frame in (
        pandas.DataFrame({"state": list("abcd")}),
        polars.DataFrame({"state": ["a"] * 4}),
    ):
        assert list(counts.with_attributes(frame).attributes) == ["party", "year", "state"]


def test_a_name_is_replaced(counts):
    assert counts.with_attributes({"party": list("wxyz")}).attributes["party"].tolist() == [*"wxyz"]


def test_counts_are_the_same_whatever_is_known_of_documents(counts):
    plain = Counts.from_matrix(counts.to_scipy())
    assert plain == counts
    assert plain.fingerprint() == counts.fingerprint()
    assert plain.attributes != counts.attributes


def test_errors_name_what_must_hold(counts):
    with pytest.raises(InvalidParameter, match=r"4 documents, 2 values of 'state'"):
        counts.with_attributes(state=["a", "b"])
    with pytest.raises(InvalidParameter, match=r"no attribute 'state'; there are 'party', 'year'"):
        counts.attributes["state"]
    with pytest.raises(InvalidParameter, match="found 'DRDI'"):
        counts.with_attributes(party="DRDI")
