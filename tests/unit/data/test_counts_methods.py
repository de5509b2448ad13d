"""Counts: immutability, selection, alignment, summaries."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcomp.data import Counts, FeatureSpace
from dcomp.errors import InvalidCounts, InvalidParameter

TABLE = np.array([[2, 0, 1, 0], [0, 0, 0, 0], [1, 5, 0, 3]])


@pytest.fixture
def counts():
    return Counts.from_matrix(
        TABLE,
        feature_names=["a", "b", "c", "d"],
        doc_ids=["x", "y", "z"],
        blocks=["p", "q", "p", "q"],
    )


def dense(counts):
    return counts.to_scipy().toarray().tolist()


def test_nothing_can_be_changed(counts):
    for name in ("indptr", "indices", "data", "features", "doc_ids"):
        with pytest.raises(AttributeError):
            setattr(counts, name, None)
    for array in (counts.indptr, counts.indices, counts.data):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7


@pytest.mark.parametrize(
    ("indptr", "indices", "data"),
    [
        ([0, 2], [1, 0], [1, 1]),
        ([0, 2], [0, 0], [1, 1]),
        ([0, 1], [0], [0]),
        ([0, 1], [2], [1]),
        ([0, 2], [0], [1]),
        ([1, 1], [0], [1]),
        ([0, 2, 1], [0], [1]),
    ],
)
def test_direct_construction_is_checked(indptr, indices, data):
    with pytest.raises(InvalidCounts, match="canonical"):
        Counts(np.array(indptr), np.array(indices), np.array(data), FeatureSpace.build(2))


def test_totals(counts):
    assert counts.doc_totals.tolist() == [3, 0, 9]
    assert counts.feature_totals.tolist() == [3, 5, 1, 3]
    assert counts.block_totals.tolist() == [[3, 0], [0, 0], [1, 8]]
    assert counts.n_tokens == 12
    assert counts.doc_totals.dtype == counts.block_totals.dtype == np.int64
    assert counts.doc_name(2) == "z"


def test_totals_beyond_int32():
    big = Counts.from_matrix(np.full((3, 2), 2**31 - 1), blocks=[0, 1])
    assert big.doc_totals.tolist() == [2**32 - 2] * 3
    assert big.feature_totals.tolist() == [3 * (2**31 - 1)] * 2
    assert big.block_totals.tolist() == [[2**31 - 1] * 2] * 3


def test_log_combinatoric(counts):
    expected = [math.log(3), 0, math.log(math.comb(8, 3))]
    assert counts.log_combinatoric() == pytest.approx(expected)
    one_block = [math.log(3), 0, math.log(math.factorial(9) / math.factorial(5) / 6)]
    assert counts.with_blocks(None).log_combinatoric() == pytest.approx(one_block)


@pytest.mark.parametrize(
    "selection",
    [slice(1, None), [2, 0], np.array([True, False, True]), slice(None, None, -1), [1, 1], 2],
)
def test_rows(counts, selection):
    chosen = np.atleast_1d(np.arange(3)[selection])
    part = counts.rows(selection)
    assert dense(part) == TABLE[chosen].tolist()
    assert part.doc_ids == tuple("xyz"[i] for i in chosen)
    assert part.features is counts.features


def test_rows_must_be_some(counts):
    with pytest.raises(InvalidCounts, match="at least one of the 3 documents"):
        counts.rows([])
    with pytest.raises(IndexError):
        counts.rows([7])


def test_columns_keep_documents(counts):
    part = counts.columns([3, 0])
    assert dense(part) == TABLE[:, [3, 0]].tolist()
    assert part.features.names == ("d", "a")
    assert part.doc_ids == counts.doc_ids
    with pytest.raises(InvalidCounts, match="at least one"):
        counts.columns(np.zeros(4, bool))


def test_with_features_and_blocks(counts):
    renamed = counts.with_features(["w", "x", "y", "z"])
    assert renamed.features.names == ("w", "x", "y", "z")
    assert renamed.features.block_names == ("p", "q")
    assert np.shares_memory(renamed.data, counts.data)
    space = FeatureSpace.build(4)
    assert counts.with_features(space).features is space
    with pytest.raises(InvalidParameter, match="4 columns, 3 features"):
        counts.with_features(FeatureSpace.build(3))
    assert counts.with_blocks([1, 1, 1, 2]).block_totals.tolist() == [[3, 0], [0, 0], [6, 3]]


spaces = st.lists(
    st.tuples(st.sampled_from("pq"), st.sampled_from("abcdef")), min_size=1, max_size=8, unique=True
)


@given(spaces, spaces, st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_aligned_to_matches_block_and_name(own, other, random):
    table = np.array([[random.randrange(4) for _ in own] for _ in range(3)])
    source = Counts.from_matrix(
        table,
        feature_names=[n for _, n in own],
        blocks=[b for b, _ in own],
        doc_ids=["x", "y", "z"],
    )
    target = FeatureSpace.build(len(other), [n for _, n in other], [b for b, _ in other])
    if source.features.n_blocks == target.n_blocks == 1:
        own, other = [(0, n) for _, n in own], [(0, n) for _, n in other]
    expected = np.zeros((3, len(other)), np.int64)
    for j, key in enumerate(own):
        if key in other:
            expected[:, other.index(key)] = table[:, j]
    aligned, dropped = source.aligned_to(target)
    assert np.array_equal(aligned.to_scipy().toarray(), expected)
    assert dropped == table.sum() - expected.sum()
    assert aligned.features == target
    assert aligned.doc_ids == source.doc_ids


def test_aligned_to_without_names():
    counts = Counts.from_matrix(TABLE)
    named = FeatureSpace.build(4, ["a", "b", "c", "d"], [0, 0, 1, 1])
    aligned, dropped = counts.aligned_to(named)
    assert aligned.features == named
    assert dropped == 0
    assert dense(aligned) == TABLE.tolist()
    with pytest.raises(InvalidCounts, match="found 4 where 5 are expected"):
        counts.aligned_to(FeatureSpace.build(5))
    same, _ = counts.aligned_to(FeatureSpace.build(4))
    assert same is counts
    with pytest.raises(InvalidCounts, match="same blocks"):
        counts.with_blocks([0, 1, 1, 1]).aligned_to(named)


def test_fingerprint_sees_everything_but_document_ids(counts):
    print_of = counts.fingerprint()
    assert print_of == counts.rows(slice(None)).fingerprint()
    assert print_of == pickle.loads(pickle.dumps(counts)).fingerprint()
    changed = TABLE.copy()
    changed[0, 0] = 3
    others = [
        Counts.from_matrix(TABLE),
        counts.with_features(["a", "b", "c", "e"]),
        counts.with_blocks(["p", "q", "p", "r"]),
        counts.with_blocks(None),
        counts.rows([0, 2]),
        Counts.from_matrix(changed),
        Counts.from_matrix(np.hstack([TABLE, np.zeros((3, 1), int)])),
    ]
    assert len({print_of, *(other.fingerprint() for other in others)}) == 8
    unnamed = Counts.from_matrix(TABLE, doc_ids=["1", "2", "3"])
    assert unnamed.fingerprint() == Counts.from_matrix(TABLE).fingerprint()
    assert unnamed != Counts.from_matrix(TABLE)


def test_fingerprint_is_the_same_everywhere():
    counts = Counts.from_matrix([[1, 0], [2, 3]], feature_names=["a", "b"])
    expected = "4573f40f8ea1c5311185df8f157cca84f23528f57a4389e66b6c0f6df97886f1"
    assert counts.fingerprint() == expected


def test_pickle_and_copy_stay_immutable(counts):
    for twin in (pickle.loads(pickle.dumps(counts)), copy.deepcopy(counts)):
        assert twin == counts
        assert not twin.data.flags.writeable
        assert not twin.features.blocks.flags.writeable


def test_repr():
    counts = Counts.from_matrix(np.eye(200, 100, dtype=int))
    times = "\N{MULTIPLICATION SIGN}"
    assert repr(counts) == (
        f"Counts(200 documents {times} 100 features, 100 tokens, 0.5 % non-zero)"
    )


def test_drop_rare():
    table = np.array([[4, 2, 9, 1], [1, 1, 0, 1], [1, 1, 0, 1], [0, 0, 0, 1]])
    counts = Counts.from_matrix(table, feature_names=["keep", "edge", "one", "four"])
    kept = counts.drop_rare()
    assert kept.features.names == ("keep", "edge", "four")
    assert kept.n_docs == 4
    assert counts.drop_rare(min_count=5).features.names == ("keep",)
    assert counts.drop_rare(1, 1) is counts
    with pytest.raises(InvalidCounts, match="100 tokens in 3 documents"):
        counts.drop_rare(100)
