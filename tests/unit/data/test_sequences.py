"""The reading order of counts: kept where it stays true, left behind where it does not."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dcomp
from dcomp.data import Counts, FeatureSpace, Sequences, as_counts, bag, halves, tokenize, train_test
from dcomp.errors import InvalidCounts, InvalidParameter

DOCS = [["to", "be", "or", "not", "to", "be"], [], ["not", "now"]]


@pytest.fixture
def counts():
    return Counts.from_tokens(DOCS, doc_ids=["x", "y", "z"])


def words(counts, i):
    return [None if j < 0 else counts.features.name(j) for j in counts.sequence(i).tolist()]


def all_words(counts):
    return [words(counts, i) for i in range(counts.n_docs)]


def test_tokens_come_back_as_they_were_read(counts):
    assert all_words(counts) == DOCS
    assert all_words(as_counts(DOCS)) == DOCS
    assert words(counts, -1) == DOCS[2]
    with pytest.raises(ValueError, match="read-only"):
        counts.sequence(0)[0] = 0
    with pytest.raises(InvalidParameter, match=r"\[0, 3\); got 3"):
        counts.sequence(3)


def test_words_outside_the_vocabulary_keep_their_places():
    counts = Counts.from_tokens(DOCS, vocabulary=["to", "be"])
    assert counts.sequence(0).tolist() == [0, 1, -1, -1, 0, 1]
    assert counts.sequence(2).tolist() == [-1, -1]
    assert counts.to_scipy().toarray().tolist() == [[2, 2], [0, 0], [0, 0]]


def test_text_lines_up_with_its_words():
    texts = ["The cat and the dog: the DOG!", "2 + 2", "A dog."]
    counts = bag(texts, min_docs=1)
    kept = set(counts.features.names)
    for i, text in enumerate(texts):
        assert words(counts, i) == [word if word in kept else None for word in tokenize(text)]
    assert words(counts, 0) == [None, "cat", None, None, "dog", None, "dog"]


def test_text_files_keep_the_order(tmp_path):
    (tmp_path / "a.txt").write_text("Dog and cat and dog.\n\nCat!\n")
    assert all_words(dcomp.read(tmp_path / "a.txt")) == [
        ["dog", None, "cat", None, "dog"],
        [],
        ["cat"],
    ]
    (tmp_path / "a.jsonl").write_text('{"id": "d", "text": "dog cat dog"}\n')
    read = dcomp.read(tmp_path / "a.jsonl")
    assert (read.doc_ids, words(read, 0)) == (("d",), ["dog", "cat", "dog"])


def test_feature_numbers():
    docs = [[2, 0, 2, -1], [], np.array([1], np.uint8)]
    counts = Counts.from_ids(docs, feature_names=["a", "b", "c", "d"], blocks=[0, 0, 1, 1])
    assert counts.to_scipy().toarray().tolist() == [[1, 0, 2, 0], [0, 0, 0, 0], [0, 1, 0, 0]]
    assert [counts.sequence(i).tolist() for i in range(3)] == [[2, 0, 2, -1], [], [1]]
    assert counts.features.n_blocks == 2
    assert Counts.from_ids([[1]], n_features=5).shape == (1, 5)


@pytest.mark.parametrize(
    ("docs", "options", "message"),
    [
        ([[0, 3]], {"n_features": 3}, "below the number of features, 3; found 3"),
        ([[0], [-2]], {}, "document 1 is not"),
        ([[0.5]], {}, "document 0 is not"),
        ([[[0, 1]]], {}, "document 0 is not"),
        ([["a"]], {}, "document 0 is not"),
        ([[True]], {}, "document 0 is not"),
        ([[2**31]], {}, "document 0 is not"),
        ([], {}, "0 documents"),
        ([[-1], []], {}, "2 documents and 0 features"),
    ],
)
def test_wrong_feature_numbers_are_refused(docs, options, message):
    with pytest.raises(InvalidCounts, match=message):
        Counts.from_ids(docs, **options)


def test_selected_documents_keep_the_order(counts):
    assert all_words(counts.rows([2, 0, 2])) == [DOCS[2], DOCS[0], DOCS[2]]
    assert all_words(counts.rows([1])) == [[]]
    train, test = train_test(counts, test_fraction=0.4, seed=0)
    found = {name: words(part, i) for part in (train, test) for i, name in enumerate(part.doc_ids)}
    assert found == dict(zip("xyz", DOCS, strict=True))


def test_moved_features_keep_the_order(counts):
    names = list(counts.features.names)
    chosen = [names.index("to"), names.index("be")]
    assert counts.columns(chosen).sequence(0).tolist() == [0, 1, -1, -1, 0, 1]
    frequent = counts.drop_rare(min_count=2, min_docs=2)
    assert all_words(frequent) == [[None] * 3 + ["not", None, None], [], ["not", None]]
    aligned, dropped = counts.aligned_to(FeatureSpace.build(3, ["now", "to", "new"]))
    assert dropped == 5
    assert [aligned.sequence(i).tolist() for i in range(3)] == [[1, -1, -1, -1, 1, -1], [], [-1, 0]]
    # A word lost stays lost, whatever comes later.
    back, _ = aligned.aligned_to(counts.features)
    assert words(back, 0) == ["to", None, None, None, "to", None]


def test_renamed_features_keep_the_order(counts):
    assert words(counts.with_features("abcde"), 2) == ["b", "c"]
    assert np.array_equal(counts.with_blocks([0, 0, 1, 1, 1]).sequence(0), counts.sequence(0))


def test_split_tokens_have_no_order(counts):
    for part in halves(counts, seed=3):
        assert part.sequences is None
        with pytest.raises(InvalidCounts, match="no reading order"):
            part.sequence(0)


def test_counts_of_other_origin_have_none(counts):
    plain = Counts.from_matrix(counts.to_scipy(), feature_names=counts.features.names)
    assert plain.sequences is None
    assert plain.rows([0]).columns([0]).sequences is None
    assert plain.without_order() is plain


def test_equality_is_of_the_bag(counts):
    other = Counts.from_tokens([doc[::-1] for doc in DOCS], doc_ids=["x", "y", "z"])
    assert other.sequence(2).tolist() != counts.sequence(2).tolist()
    assert other == counts
    assert counts.without_order() == counts
    assert other.fingerprint() == counts.fingerprint() == counts.without_order().fingerprint()


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_keep_the_order(counts, again):
    other = again(counts)
    assert other == counts
    assert all_words(other) == DOCS
    assert not other.sequences.tokens.flags.writeable


@pytest.mark.parametrize(
    ("starts", "tokens"),
    [
        ([0, 3], [0, 1, 1]),  # one word for another
        ([0, 2], [0, 1]),  # too few
        ([0, 4], [0, 1, 0, 2]),  # too many
        ([0, 1, 3], [0, 1, 0]),  # two documents
        ([0, 3], [0, 1, -1]),
    ],
)
def test_an_order_of_other_counts_is_refused(starts, tokens):
    counts = Counts.from_tokens([["a", "b", "a"]])
    with pytest.raises(InvalidCounts, match="sequences must hold the tokens of each document"):
        replace(counts, sequences=Sequences(np.array(starts), np.array(tokens)))


def test_an_order_of_shifted_documents_is_refused():
    counts = Counts.from_tokens([["a", "b"], ["a"]])
    with pytest.raises(InvalidCounts, match="sequences must hold"):
        replace(counts, sequences=Sequences(np.array([0, 1, 3]), np.array([0, 1, 0])))


@pytest.mark.parametrize(
    ("starts", "tokens"),
    [([0, 2], [1]), ([1, 1], [1]), ([0, 2, 1], [1]), ([], []), ([0, 1], [-2]), ([[0, 1]], [1])],
)
def test_malformed_sequences_are_refused(starts, tokens):
    with pytest.raises(InvalidCounts, match="starts must ascend"):
        Sequences(np.array(starts, np.int64), np.array(tokens, np.int32))


lists = st.lists(st.lists(st.integers(-1, 4), max_size=8), min_size=1, max_size=5)


@settings(max_examples=60, deadline=None)
@given(docs=lists, picks=st.lists(st.integers(0, 4), min_size=1, max_size=6), data=st.data())
def test_whatever_is_selected_the_order_is_that_of_lists(docs, picks, data):
    counts = Counts.from_ids(docs, n_features=5)
    rows = [i % len(docs) for i in picks]
    columns = data.draw(st.permutations(range(5)))[: data.draw(st.integers(1, 5))]
    place = {j: k for k, j in enumerate(columns)}
    part = counts.rows(rows).columns(columns)
    for k, i in enumerate(rows):
        assert part.sequence(k).tolist() == [place.get(j, -1) for j in docs[i]]
    values = np.arange(counts.n_tokens)
    placed = counts.sequences.in_order(values)
    by_entry = sorted(
        (i, j, position)
        for i, doc in enumerate(docs)
        for position, j in enumerate(doc, start=int(counts.sequences.starts[i]))
        if j >= 0
    )
    assert [int(placed[position]) for _, _, position in by_entry] == values.tolist()
    assert (placed[counts.sequences.tokens < 0] == -1).all()


def test_it_shows_itself():
    assert repr(Sequences(np.array([0, 3]), np.array([1, -1, 0]))) == (
        "Sequences(1 documents, 3 positions, 2 of them features)"
    )
