"""Measures of what makes a component special, by hand and where they could go wrong."""

from __future__ import annotations

import numpy as np
import pytest

import dcomp
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.result.special import MEASURES, measured, parts_of_blocks

THETA = np.array([[0.5, 0.5, 0.6], [0.4, 0.1, 0.0], [0.1, 0.4, 0.4]])
PART = np.array([[0.5, 0.3, 0.2]])
BLOCKS = np.zeros(3, np.int32)


def test_lift_is_probability_over_that_in_all_words() -> None:
    in_all = THETA @ PART[0]
    assert np.allclose(measured(THETA, BLOCKS, PART, "lift"), THETA / in_all[:, None])
    assert np.allclose((measured(THETA, BLOCKS, PART, "lift") * PART).sum(axis=1), 1)


def test_relevance_goes_from_lift_to_probability() -> None:
    safe = np.maximum(THETA, 1e-9)
    lift, only = (measured(safe, BLOCKS, PART, "relevance", w) for w in (0.0, 1.0))
    assert np.allclose(only, np.log(safe))
    assert np.allclose(lift, np.log(measured(safe, BLOCKS, PART, "lift")))
    usual = measured(safe, BLOCKS, PART, "relevance")
    assert np.allclose(usual, 0.6 * only + 0.4 * lift)


def test_frex_by_hand() -> None:
    # Component 0: θ ranks 3, 2, 1 of 3; exclusivity 0.3125, 0.8, 0.111: ranks 2, 3, 1.
    often, alone = np.array([1, 2 / 3, 1 / 3]), np.array([2 / 3, 1, 1 / 3])
    found = measured(THETA, BLOCKS, PART, "frex", 0.7)[:, 0]
    assert np.allclose(found, 1 / (0.7 / alone + 0.3 / often))


def test_measures_are_finite_at_the_edges() -> None:
    theta = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    for by in MEASURES:
        assert np.isfinite(measured(theta, BLOCKS, np.array([[1.0, 0.0]]), by)).all()


def test_parts_are_those_of_each_block() -> None:
    n = np.array([[1.0, 3.0], [2.0, 2.0], [9.0, 1.0]])
    assert np.allclose(parts_of_blocks(n, np.array([0, 0, 1])), [[3 / 8, 5 / 8], [0.9, 0.1]])


@pytest.fixture(scope="module")
def blocked() -> dcomp.Fit:
    """Short titles, whose words are the more probable, and long bodies."""
    rng = np.random.default_rng(0)
    title = rng.multinomial(3, [0.5, 0.5, 0], 30), rng.multinomial(3, [0, 0.5, 0.5], 30)
    body = rng.multinomial(50, [0.3] * 3 + [0.1] + [0] * 4, 30)
    other = rng.multinomial(50, [0] * 4 + [0.1] + [0.3] * 3, 30)
    X = np.vstack([np.hstack([title[0], body]), np.hstack([title[1], other])])
    names = [*"abc", *"stuvwxyz"]
    counts = dcomp.Counts.from_matrix(X, feature_names=names, blocks=["title"] * 3 + ["body"] * 8)
    return dcomp.LDA(2, alpha=0.1, verbose=0, random_state=0).fit(counts).fit_


def test_names_have_their_blocks_and_blocks_can_be_asked_for(blocked: dcomp.Fit) -> None:
    assert all(name.startswith("title=") for name in blocked.top_features(1).names[0])
    bodies = blocked.top_features(2, "body", by="frex")
    assert {name[:5] for row in bodies.names for name in row} == {"body="}
    assert bodies.by == "frex"
    assert bodies.values is not None
    assert (np.diff(bodies.values, axis=1) <= 0).all()


def test_as_a_frame(blocked: dcomp.Fit) -> None:
    pytest.importorskip("pandas")
    frame = blocked.top_features(3, by="lift").to_frame()
    assert list(frame.columns) == ["component", "rank", "feature", "probability", "lift"]
    assert len(frame) == 6
    assert frame["lift"].max() <= 1 / 0.4


def test_words_that_all_share_are_first_by_probability_only() -> None:
    X = np.array([[30, 9, 0], [28, 11, 0], [33, 0, 8], [31, 0, 10]])
    model = dcomp.LDA(2, alpha=0.1, verbose=0).fit(dcomp.Counts.from_matrix(X))
    assert {row[0] for row in model.top_features(1).names} == {"feature 0"}
    for by in ("lift", "relevance", "frex"):
        weight = {"relevance": 0.1, "frex": 0.9}.get(by)
        found = {row[0] for row in model.top_features(1, by=by, weight=weight).names}
        assert found == {"feature 1", "feature 2"}, by


def test_what_cannot_be_asked_is_told(blocked: dcomp.Fit) -> None:
    with pytest.raises(
        InvalidParameter, match="ranked by probability, lift, relevance or frex; got 'loft'"
    ):
        blocked.top_features(by="loft")
    with pytest.raises(InvalidParameter, match="weight has no effect on lift"):
        blocked.top_features(by="lift", weight=0.5)
    with pytest.raises(InvalidParameter, match="from 0 to 1; got 3"):
        blocked.top_features(by="relevance", weight=3)
    squared = dcomp.NMF(2, loss="squared", verbose=0).fit([[3, 1], [0, 4], [2, 2]])
    with pytest.raises(UnsupportedCombination, match="least squares has none"):
        squared.top_features(1, by="lift")
    assert len(squared.top_features(1)) == 2
