"""Assignments in reading order: each word of a text with its component."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dcomp
from dcomp.data import Counts, FeatureSpace
from dcomp.inference import CollapsedGibbs, Keep
from dcomp.models import MODELS
from dcomp.result import Assignments

TEXTS = [
    "The cat chased the dog, and the dog chased the cat.",
    "and the",
    "Rates rise; the bank said that rates rise.",
    "",
    "The dog sat at the bank.",
]


def fitted(counts, K=2, n_chains=1, key="DM", **options):
    keep = Keep(n=1, every=2, kinds=("assignments",))
    sampler = CollapsedGibbs(burn_in=4, keep=keep, **options)
    model = MODELS[key].build(K, alpha=0.3, gamma=0.2)
    return dcomp.fit(counts, model, sampler, max_iter=8, n_chains=n_chains, seed=1)


def test_first_copy_goes_to_first_position():
    docs = [["b", "of", "a", "b", "b", "a"], [], ["of"], ["a", "b"]]
    counts = Counts.from_tokens(docs, vocabulary=["a", "b"])
    tokens = Assignments.build(counts, np.arange(10, 17, dtype=np.uint16))  # a a b b b | a b
    features, components = tokens.in_order(0)
    assert features.tolist() == [1, -1, 0, 1, 1, 0]
    assert components.tolist() == [12, -1, 10, 13, 14, 11]
    assert [part.tolist() for part in tokens.in_order(1)] == [[], []]
    assert [part.tolist() for part in tokens.in_order(2)] == [[-1], [-1]]
    assert [part.tolist() for part in tokens.in_order(-1)] == [[0, 1], [15, 16]]
    features, components = tokens.all_in_order()
    assert features.tolist() == [1, -1, 0, 1, 1, 0, -1, 0, 1]
    assert components.tolist() == [12, -1, 10, 13, 14, 11, -1, 15, 16]
    with pytest.raises(dcomp.InvalidParameter, match=r"\[0, 4\); got 4"):
        tokens.in_order(4)


def test_counts_without_an_order_say_so():
    X = [[2, 1], [0, 3]]
    tokens = fitted(X).assignments(X)
    for read in (lambda: tokens.in_order(0), tokens.all_in_order):
        with pytest.raises(dcomp.InvalidCounts, match="no reading order"):
            read()


def test_text_is_read_again_after_a_load(tmp_path):
    counts = dcomp.data.bag(TEXTS)
    fit = fitted(counts)
    dcomp.save(fit, tmp_path / "fit.dcomp")
    loaded = dcomp.load(tmp_path / "fit.dcomp")
    tokens = loaded.assignments(dcomp.data.bag(TEXTS))
    raw = loaded.assignments([dcomp.data.tokenize(text) for text in TEXTS])  # nothing left out
    for i, text in enumerate(TEXTS):
        words = dcomp.data.tokenize(text)
        features, components = tokens.in_order(i)
        names = [counts.features.name(j) for j in features.tolist() if j >= 0]
        assert names == [word for word in words if word in counts.features.names]
        assert len(features) == len(components) == len(words)
        assert np.array_equal(components < 0, features < 0)
        assert np.array_equal(np.bincount(components[components >= 0], minlength=2), fit.state.c[i])
        assert np.array_equal(raw.in_order(i)[0], features)
        assert np.array_equal(raw.in_order(i)[1], components)


def test_the_order_does_not_touch_the_fit():
    counts = dcomp.data.bag(TEXTS)
    with_order, without = fitted(counts), fitted(counts.without_order())
    assert np.array_equal(with_order.state.z, without.state.z)
    # A fit of the bag reads a text of the same words in any order.
    turned = [" ".join(reversed(dcomp.data.tokenize(text))) for text in TEXTS]
    features, components = without.assignments(dcomp.data.bag(turned)).in_order(2)
    assert sorted(components.tolist()) == sorted(with_order.assignments(counts).in_order(2)[1])
    assert features.tolist() == with_order.assignments(counts).in_order(2)[0][::-1].tolist()


def test_kept_draws_in_order():
    counts = dcomp.data.bag(TEXTS)
    fit = fitted(counts, n_chains=2)
    draws = fit.assignments(counts, draws=True)
    assert draws.component.shape == (2, 2, counts.n_tokens)
    assert len(draws) == counts.n_tokens
    features, components = draws.in_order(0)
    assert components.shape == (2, 2, len(features))
    whole = draws.all_in_order()[1]
    starts = draws.sequences.starts
    for chain in range(2):
        for draw in range(2):
            one = Assignments.build(counts, fit.draws.assignments[chain, draw])
            assert np.array_equal(one.in_order(0)[1], components[chain, draw])
            for i in range(counts.n_docs):
                part = whole[chain, draw, starts[i] : starts[i + 1]]
                assert np.array_equal(part, one.in_order(i)[1])
    last = fit.assignments(counts).in_order(0)[1]
    assert np.array_equal(components[fit.draws.best, -1], last)


def test_draws_without_assignments_say_so():
    X = [["a", "b"], ["b"]]
    sampler = CollapsedGibbs(burn_in=2, keep=Keep(n=1, every=1, kinds=("scores",)))
    fit = dcomp.fit(X, MODELS["DM"].build(2), sampler, max_iter=4)
    with pytest.raises(dcomp.InvalidParameter, match="no assignments are among the kept draws"):
        fit.assignments(X, draws=True)
    plain = dcomp.fit(X, MODELS["DM"].build(2), CollapsedGibbs(burn_in=2), max_iter=4)
    with pytest.raises(dcomp.InvalidParameter, match="no draws were kept"):
        plain.assignments(X, draws=True)


@settings(max_examples=25, deadline=None)
@given(
    docs=st.lists(st.lists(st.integers(-1, 5), max_size=12), min_size=1, max_size=6),
    key=st.sampled_from(["DM", "GP", "CGP"]),
    exact=st.booleans(),
)
def test_in_order_it_adds_up_to_c_and_n(docs, key, exact):
    counts = Counts.from_ids([*docs, [0, 5, 0]], n_features=6)
    fit = fitted(counts, K=3, key=key, exact=exact)
    tokens = fit.assignments(counts)
    n = np.zeros((6, 3), int)
    for i in range(counts.n_docs):
        features, components = tokens.in_order(i)
        assert np.array_equal(features, counts.sequence(i))
        known = features >= 0
        assert (components[~known] == -1).all()
        assert np.array_equal(np.bincount(components[known], minlength=3), fit.state.c[i])
        np.add.at(n, (features[known], components[known]), 1)
    assert np.array_equal(n, fit.state.n)


def test_other_feature_spaces_are_matched_by_name():
    docs = [["a", "b", "a"], ["b"]]
    fit = fitted(Counts.from_tokens(docs))
    moved = Counts.from_tokens(docs, vocabulary=["z", "b", "a"])
    assert fit.assignments(moved).in_order(0)[0].tolist() == [0, 1, 0]
    assert fit.features == FeatureSpace.build(2, ["a", "b"])
