"""Frames that look wrong, and are right."""

import numpy as np
import pandas
import pytest

from dcomp import as_counts
from dcomp.errors import InvalidCounts


def test_a_year_at_the_end_of_a_vocabulary_is_a_word():
    words = [f"w{i:02d}" for i in range(30)]
    frame = pandas.DataFrame(np.ones((3, 31), int), columns=[*words, "year"])
    assert as_counts(frame).features.names[-1] == "year"
    with pytest.raises(InvalidCounts, match="column 'year' says which document it is"):
        as_counts(frame[[*words[:5], "year"]])
