"""Frames that look wrong, and are right."""

import warnings

import numpy as np
import pandas
import pytest

import dcomp
from dcomp import as_counts
from dcomp.data import frames
from dcomp.errors import InvalidCounts


def test_a_year_at_the_end_of_a_vocabulary_is_a_word():
    words = [f"w{i:02d}" for i in range(30)]
    frame = pandas.DataFrame(np.ones((3, 31), int), columns=[*words, "year"])
    assert as_counts(frame).features.names[-1] == "year"
    with pytest.raises(InvalidCounts, match="column 'year' says which document it is"):
        as_counts(frame[[*words[:5], "year"]])


NUMBERED = [f"OTU{j}" for j in range(12)]


@pytest.mark.parametrize(
    "names",
    [
        NUMBERED,
        ["age", *NUMBERED[:9]],  # too few to tell
        ["age", *NUMBERED, "elm"],
        ["elm", "oak", "ash", "fir", "yew", "box", *NUMBERED],  # too many to be measurements
        ["Unclassified", *NUMBERED],
        ["A1", "A2", *NUMBERED],
        ["OTU", *NUMBERED],
        ["chrM", "chrX", *(f"chr{j}" for j in range(1, 23))],
        [str(j) for j in range(30)],
        ["age", *map(str, range(30))],
        ["age", *(f"{word}" for word in "abcdefghijklmnop")],
        ["age"],
    ],
)
def test_names_that_may_all_be_features_are_not_odd(names):
    assert frames.odd_in_front(names) == ()


def test_odd_names_in_front_are_warned_of_once():
    table = np.random.default_rng(0).poisson(3, (20, 13))
    frame = pandas.DataFrame(table, columns=["depth_cm", *NUMBERED])
    with pytest.warns(
        dcomp.DataWarning, match="'depth_cm' in front of 'OTU0' and the like is a"
    ) as w:
        dcomp.LDA(2, max_iter=2, tol=0, verbose=0).fit(frame)
    assert sum("depth_cm" in str(one.message) for one in w) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dcomp.as_counts(frame, feature_names=frame.columns)
        dcomp.as_counts(frame[NUMBERED])
