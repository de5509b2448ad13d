"""Hill climbing on odd input: nothing to find, numbers of any size, and errors."""

from __future__ import annotations

import numpy as np
import pytest

from dcomp.errors import InvalidCounts, InvalidParameter
from dcomp.inference.climb import climb

GAMMA = 0.05


@pytest.mark.parametrize("score", ["variational", "paper"])
@pytest.mark.parametrize(
    ("n", "blocks"),
    [
        (np.zeros((4, 3)), None),
        (np.full((5, 1), 7.0), None),
        (np.full((1, 4), 7.0), None),  # one feature says nothing
        (np.full((3, 4), 7.0), [0, 1, 2]),  # nor do blocks of one
        (np.zeros((0, 2)), None),
    ],
)
def test_where_there_is_nothing_to_find(n, blocks, score):
    found = climb(n, 0.1, blocks, score=score)
    assert found.moves == ()
    assert found.parents == (-1,) * n.shape[1]
    assert found.score == pytest.approx(found.flat_score)
    for leaf in range(n.shape[1]):
        np.testing.assert_array_equal(found.responsibilities(leaf), np.ones((1, len(n))))


def test_a_leaf_without_words_is_not_joined(planted_leaves):
    n = planted_leaves([2, 1], 0.5, J=100)
    n = np.column_stack([np.zeros(100), n, np.zeros(100)])
    found = climb(n, GAMMA)
    assert found.parents == (-1, 5, 5, -1, -1, -1)


@pytest.mark.parametrize("scale", [1e-3, 0.5, 1e8])
@pytest.mark.parametrize("gamma", [1e-6, 1e-2, 10.0])
def test_numbers_of_any_size(planted_leaves, scale, gamma):
    """Warnings are errors here, so that no NaN passes unseen."""
    n = scale * planted_leaves([3, 1], 0.5, J=40, N=300)
    blocks = np.r_[np.zeros(20), np.ones(19), 2]  # the last block has one feature
    found = climb(n, gamma, blocks)
    assert np.isfinite([found.flat_score, found.score]).all()
    assert np.isfinite(found.phi).all()
    assert found.score >= found.flat_score
    for leaf in range(4):
        np.testing.assert_allclose(found.responsibilities(leaf).sum(axis=0), 1)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (([[1, -1]], 0.1), {}, InvalidCounts, r"at least 0; found -1.0 at feature 0, leaf 1"),
        (([[1, np.nan]], 0.1), {}, InvalidCounts, "found nan at feature 0, leaf 1"),
        (([1, 2], 0.1), {}, InvalidCounts, r"features × leaves; got shape \(2,\)"),
        (("words", 0.1), {}, InvalidCounts, "table of numbers; got str"),
        (([[1, 2]], 0.0), {}, InvalidParameter, "gamma must be positive"),
        (([[1, 2]], [0.1, 0.1]), {}, InvalidParameter, r"one per feature \(1\); got shape \(2,\)"),
        (([[1, 2]], 0.1, [0, 0]), {}, InvalidParameter, r"one block per feature \(1\)"),
        (([[1, 2]], 0.1), {"score": "best"}, InvalidParameter, "one of variational, paper; got"),
        (([[1, 2]], 0.1), {"max_nodes": 1}, InvalidParameter, "at least the 2 leaves; got 1"),
        (([[1, 2]], 0.1), {"min_gain": -1.0}, InvalidParameter, "min_gain must be at least 0"),
    ],
)
def test_errors_say_what_must_hold(arguments, options, error, message):
    with pytest.raises(error, match=message):
        climb(*arguments, **options)


def test_there_is_no_path_from_what_is_no_leaf(planted_leaves):
    found = climb(planted_leaves([2], 0.5, J=100), GAMMA)
    assert len(found.parents) == 3
    with pytest.raises(InvalidParameter, match="leaf must be from 0 to 1; got 2"):
        found.path(2)
