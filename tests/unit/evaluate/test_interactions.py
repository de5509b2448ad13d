"""Interactions of components: by the definition with loops, planted ones, and noise."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import log2

import numpy as np
import pytest

import dcomp
from dcomp.evaluate import interactions
from dcomp.evaluate.interactions import APART, BESIDE, FURTHER, UP, measure, of_presence


def entropy(*columns):
    """In bits, of the rows of some columns."""
    rows = Counter(zip(*columns, strict=True))
    n = sum(rows.values())
    return -sum(c / n * log2(c / n) for c in rows.values()), len(rows)


def corrected(*columns):
    plain, cells = entropy(*columns)
    return plain + (cells - 1) / (2 * len(columns[0]) * np.log(2))


def mutual(a, b):
    return corrected(a) + corrected(b) - corrected(a, b)


def of_three(a, b, c):
    """I(A; B | C) − I(A; B), from conditional entropies."""
    given = corrected(a, c) + corrected(b, c) - corrected(a, b, c) - corrected(c)
    return given - mutual(a, b)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(2)
    present = rng.random((60, 5)) < [0.2, 0.5, 0.5, 0.8, 0.4]
    present[:, 1] |= present[:, 0]
    return present, rng.integers(0, 3, 60)


def test_numbers_are_those_of_the_definition(table):
    present, codes = table
    columns = present.T.tolist()
    pairs = of_presence(present)
    for pair, bits in zip(pairs.components.tolist(), pairs.bits, strict=True):
        assert bits == pytest.approx(mutual(*(columns[k] for k in pair)))
    labelled = of_presence(present, codes)
    for pair, bits in zip(labelled.components.tolist(), labelled.bits, strict=True):
        assert bits == pytest.approx(of_three(*(columns[k] for k in pair), codes.tolist()))
    threes = of_presence(present, order=3)
    assert threes.components.tolist() == [list(t) for t in combinations(range(5), 3)]
    for three, bits in zip(threes.components.tolist(), threes.bits, strict=True):
        assert bits == pytest.approx(of_three(*(columns[k] for k in three)))


def test_the_other_definition_agrees(table):
    """I(A, B; C) − I(A; C) − I(B; C), of estimates without the correction of bias."""
    present, codes = table
    a, b, c = present[:, 1].tolist(), present[:, 2].tolist(), codes.tolist()
    H = {name: entropy(*columns)[0] for name, columns in {
        "a": [a], "b": [b], "c": [c], "ab": [a, b], "ac": [a, c], "bc": [b, c], "abc": [a, b, c],
    }.items()}  # fmt: skip
    apart = H["a"] + H["c"] - H["ac"] + H["b"] + H["c"] - H["bc"]
    expected = H["ab"] + H["c"] - H["abc"] - apart
    many = np.zeros((1, 2, 2, 3))
    np.add.at(many[0], (np.array(a, int), np.array(b, int), codes), 1e9)  # has no bias to speak of
    assert measure(many).bits[0] == pytest.approx(expected, abs=1e-6)


def test_synergy_and_redundancy():
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 500)) < 0.5
    found = of_presence(np.stack([a, b], axis=1), (a ^ b).astype(int))
    assert found.bits[0] == pytest.approx(1.0, abs=0.02)
    assert found.is_clear.all()
    same = of_presence(np.stack([a, a], axis=1), a.astype(int))
    assert same.bits[0] == pytest.approx(-1.0, abs=0.02)
    assert same.is_clear.all()


def test_noise_is_no_interaction():
    """Of 40 tables of noise, some with a dependence that is none of three, a few at most have
    anything that is clear."""
    wrong = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        present = rng.random((200, 6)) < rng.uniform(0.05, 0.9, 6)
        wrong += of_presence(present, order=3, seed=seed).is_clear.any()
        codes = np.where(rng.random(200) < 0.8, present[:, 0], rng.integers(0, 2, 200)).astype(int)
        wrong += of_presence(present, codes, seed=seed).is_clear.any()
    assert wrong <= 4


def test_a_tree_says_where_pairs_stand(planted):
    tree = dcomp.TreeDCA(2, 3, max_iter=30, verbose=0).fit(planted[0])
    found = interactions(tree.fit_)
    place = {tuple(pair): name for pair, name in zip(found.components.tolist(), found.relation)}  # noqa: B905
    assert place[0, 1] == place[1, 3] == UP
    assert place[0, 5] == FURTHER
    assert place[3, 4] == place[1, 2] == BESIDE
    assert place[3, 5] == place[2, 3] == APART
    assert sum(n for n, _, _ in found.by_relation().values()) == 21
    assert "parent and child" in str(found)


def test_labels_of_documents(planted):
    counts, _ = planted
    fitted = dcomp.LDA(3, alpha=0.1, verbose=0).fit(counts)
    label = [None if i < 5 else "ab"[int(k > 0)] for i, k in enumerate(fitted.predict(counts))]
    found = interactions(fitted, label)
    assert found.n_docs == 295
    assert found.with_label
    assert found.strongest(1)[0].bits == np.abs(found.bits).max() * np.sign(
        found.strongest(1)[0].bits
    )
    pytest.importorskip("pandas")
    assert list(found.to_frame().columns)[-1] == "clear"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 4}, "order must be 2, or 3 without labels"),
        ({"order": 3, "labels": [0, 1]}, "order must be 2, or 3 without labels"),
        ({"labels": [0]}, "labels must be one per document: 2 documents, 1 labels"),
        ({"labels": [0, None]}, "two values or more; found 1"),
        ({"level": 0}, "level must lie between 0 and 1; got 0"),
        ({"order": 3}, "there must be 3 components; the fit has 2"),
    ],
)
def test_what_has_no_meaning_is_said(options, message):
    fitted = dcomp.LDA(2, verbose=0).fit([[4, 0], [1, 5]]).fit_
    with pytest.raises(dcomp.InvalidParameter, match=message):
        interactions(fitted, **options)
