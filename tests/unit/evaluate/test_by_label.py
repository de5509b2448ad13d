"""Mean shares by label: groups, gaps, numbers, and what the table says."""

import numpy as np
import pytest

from dcomp.errors import InvalidParameter
from dcomp.evaluate import by_label


def test_means_and_errors_of_groups():
    scores = np.array([[1, 3], [3, 1], [5, 5], [0, 2.0]])
    found = by_label(scores, ["R", "D", "R", None])
    assert found.names == ("D", "R", "unknown")
    assert found.sizes.tolist() == [1, 2, 1]
    np.testing.assert_allclose(found.mean, [[0.75, 0.25], [0.375, 0.625], [0, 1]])
    # The standard error of a mean of 0.25 and 0.5.
    np.testing.assert_allclose(found.error[:2], [[0, 0], [0.125, 0.125]])
    assert found.to_frame().loc["R", "documents"] == 2


def test_many_labels_are_others():
    labels = [f"s{i}" for i in range(12)] + ["s3"] * 4
    found = by_label(np.ones((16, 2)), labels)
    assert len(found.names) == 8
    assert found.names[-1] == "others"
    assert "s3" in found.names
    assert found.sizes.sum() == 16


def test_numbers_are_cut_into_quarters():
    ages = np.r_[np.arange(20.0), np.nan]
    found = by_label(np.ones((21, 2)), ages)
    assert found.names == ("0 to 4.75", "4.75 to 9.5", "9.5 to 14.25", "14.25 to 19", "unknown")
    assert found.sizes.tolist() == [5, 5, 5, 5, 1]
    assert by_label(np.ones((3, 1)), np.array([10, 2, 2])).names == ("2", "10")


def test_labels_must_be_one_per_document():
    with pytest.raises(InvalidParameter, match="3 documents, 2 labels"):
        by_label(np.ones((3, 2)), ["a", "b"])


def test_many_components_come_below_each_other() -> None:
    rng = np.random.default_rng(0)
    found = by_label(rng.random((12, 20)), ["a group with quite a long name", "b"] * 6)
    lines = str(found).splitlines()
    assert max(map(len, lines)) <= 80
    heads = [line.split()[2:] for line in lines if line.startswith("group")]
    assert [name for row in heads for name in row] == [f"#{k}" for k in range(20)]
    shares = [line.split("6", 1)[1].split("%")[:-1] for line in lines if line.startswith("b ")]
    assert [int(cell) for row in shares for cell in row] == np.rint(100 * found.mean[1]).tolist()


def test_as_many_groups_as_are_asked_for():
    labels = [f"g{i % 20}" for i in range(60)]
    shares = np.ones((60, 2))
    assert len(by_label(shares, labels, most=20).names) == 20
    assert len(by_label(shares, labels).names) == 8
