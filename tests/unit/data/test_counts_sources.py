"""Counts from frames, long tables and token lists, and the dispatch between them."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dcomp.data import Counts, as_counts
from dcomp.errors import InvalidCounts, InvalidParameter


def dense(counts):
    return counts.to_scipy().toarray().tolist()


def test_pandas_frames():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"cat": [1, 0], "dog": [2.0, 5.0]}, index=["d1", "d2"])
    counts = Counts.from_frame(frame)
    assert dense(counts) == [[1, 2], [0, 5]]
    assert counts.features.names == ("cat", "dog")
    assert counts.doc_ids == ("d1", "d2")
    assert Counts.from_frame(frame.reset_index(drop=True)).doc_ids is None
    assert Counts.from_frame(frame.reset_index(drop=True).iloc[1:]).doc_ids == ("1",)
    assert Counts.from_frame(pd.DataFrame([[1, 2]])).features.names is None
    mixed = pd.DataFrame({"a": [True, False], "b": [2, 3], "c": pd.array([1, 4], "Int64")})
    assert dense(Counts.from_frame(mixed)) == [[1, 2, 1], [0, 3, 4]]
    missing = pd.DataFrame({"a": pd.array([1, None], "Int64")}, index=["p", "q"])
    with pytest.raises(InvalidCounts, match="found nan at document 'q', feature 'a'"):
        Counts.from_frame(missing)
    text = pd.DataFrame({"city": ["Bern"], "n": [1]})
    with pytest.raises(InvalidCounts, match=r"column 'city' holds .*set_index"):
        Counts.from_frame(text)


def test_pandas_sparse_frames_stay_sparse():
    pd = pytest.importorskip("pandas")
    size = 200_000
    matrix = sparse.coo_array(([2, 3], ([0, size - 1], [1, 900])), shape=(size, 1000))
    # Dense, this frame would need 1.6 GB.
    frame = pd.DataFrame.sparse.from_spmatrix(sparse.csc_matrix(matrix))
    counts = Counts.from_frame(frame)
    assert counts.n_tokens == 5
    assert counts.rows([size - 1]).indices.tolist() == [900]
    filled = pd.DataFrame({"a": pd.arrays.SparseArray([1, 1, 0], fill_value=1)})
    with pytest.raises(InvalidCounts, match="fill value 0"):
        Counts.from_frame(filled)


def test_polars_frames():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"cat": [1, 0], "dog": [2.0, 5.0], "on": [True, False]})
    counts = as_counts(frame, doc_ids=["x", "y"], blocks=[0, 0, 1])
    assert dense(counts) == [[1, 2, 1], [0, 5, 0]]
    assert counts.features.names == ("cat", "dog", "on")
    assert counts.doc_ids == ("x", "y")
    assert dense(Counts.from_frame(pl.DataFrame({"a": [1, 2], "b": [0, 7]}))) == [[1, 0], [2, 7]]
    with pytest.raises(InvalidCounts, match="found nan at document 1, feature 'a'"):
        Counts.from_frame(pl.DataFrame({"a": [1, None]}))
    with pytest.raises(InvalidCounts, match="column 'id' holds words such as 'x'"):
        Counts.from_frame(pl.DataFrame({"id": ["x"], "a": [1]}))


def test_frame_libraries_are_not_needed():
    code = (
        "import sys; sys.modules.update(pandas=None, polars=None, pyarrow=None);"
        "import dcomp.io, dcomp.data; dcomp.data.as_counts([[1]])"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_not_a_frame():
    with pytest.raises(InvalidCounts, match="DataFrame is expected; found list"):
        Counts.from_frame([[1]])


rows_of_table = st.lists(
    st.tuples(st.sampled_from("xyz"), st.sampled_from("abcd"), st.integers(0, 9)),
    min_size=1,
    max_size=30,
)


@given(rows_of_table)
@settings(max_examples=100, deadline=None)
def test_from_table_sums_pairs(rows):
    documents, features, values = (list(column) for column in zip(*rows, strict=True))
    counts = Counts.from_table(documents, features, values)
    assert counts.doc_ids == tuple(dict.fromkeys(documents))
    assert counts.features.names == tuple(sorted(set(features)))
    expected = np.zeros(counts.shape, int)
    for document, feature, value in rows:
        expected[counts.doc_ids.index(document), counts.features.names.index(feature)] += value
    assert dense(counts) == expected.tolist()
    once = Counts.from_table(np.array(documents), np.array(features))
    assert once.n_tokens == len(rows)


def test_from_table_orders_numbers_by_appearance():
    counts = Counts.from_table([7, 3], [20, 10], [1, 2])
    assert counts.features.names == ("20", "10")
    assert counts.doc_ids == ("7", "3")


def test_from_table_with_blocks():
    counts = Counts.from_table(
        ["d", "d", "e", "d"], ["b", "a", "b", "b"], [1, 2, 3, 4], blocks=["t", "u", "u", "t"]
    )
    assert counts.features.names == ("b", "a", "b")
    assert counts.features.block_names == ("t", "u")
    assert counts.features.blocks.tolist() == [0, 1, 1]
    assert dense(counts) == [[5, 2, 0], [0, 0, 3]]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_from_table_of_a_frame(library):
    frames = pytest.importorskip(library)
    columns = {"doc": ["x", "y", "x"], "word": ["b", "a", "b"], "n": [1, 2, 3]}
    counts = Counts.from_table(frames.DataFrame(columns))
    assert dense(counts) == [[0, 4], [2, 0]]
    del columns["n"]
    assert dense(Counts.from_table(frames.DataFrame(columns))) == [[0, 2], [1, 0]]
    with pytest.raises(InvalidCounts, match=r"2 or 3 columns .*; found 1"):
        Counts.from_table(frames.DataFrame({"doc": [1]}))
    with pytest.raises(InvalidParameter, match="given alone"):
        Counts.from_table(frames.DataFrame(columns), ["a"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["d"], ["a"], [-1]), r"found -1 at row 0 \(document 'd', feature 'a'\)"),
        ((["d", "d"], ["a", "b"], [1, 0.5]), r"found 0.5 at row 1 \(document 'd', feature 'b'\)"),
        ((["d", "d"], ["a", "a"], [3, -1]), "found -1 at row 1"),
        ((["d"], ["a", "b"], [1]), "one length; found lengths 1, 2"),
        ((["d"], ["a"], [1, 2]), "one length; found lengths 1, 1, 2"),
        ((["d", None], ["a", "b"]), "every row must have a document; found None at row 1"),
        ((["d", "e"], ["a", float("nan")]), "every row must have a feature; found nan at row 1"),
        ((["d"] * 2, ["a"] * 2, [2**31 - 1, 1]), "at most 2147483647; found 2147483648"),
        (("d", ["a"]), "must be a sequence"),
        (([], []), "at least one document"),
        ((["d"], ["a"], ["3"]), "<U1"),
    ],
)
def test_from_table_refuses(arguments, message):
    with pytest.raises(InvalidCounts, match=message):
        Counts.from_table(*arguments)


@given(st.lists(st.lists(st.sampled_from(["ab", "cd", "ef", "é"]), max_size=8), min_size=1))
@settings(max_examples=100, deadline=None)
def test_from_tokens(docs):
    if not any(docs):
        with pytest.raises(InvalidCounts, match="0 distinct tokens"):
            Counts.from_tokens(docs)
        return
    counts = Counts.from_tokens(iter(docs))
    words = sorted({token for doc in docs for token in doc})
    assert counts.features.names == tuple(words)
    assert dense(counts) == [[doc.count(word) for word in words] for doc in docs]
    fixed = Counts.from_tokens(docs, vocabulary=["zz", "cd", "ab"])
    assert dense(fixed) == [[0, doc.count("cd"), doc.count("ab")] for doc in docs]


@pytest.mark.parametrize("docs", ["raw text", ["raw text"], [["fine"], "raw"]])
def test_raw_text_is_refused_with_advice(docs):
    with pytest.raises(InvalidCounts, match=r"dcomp\.data\.tokenize"):
        Counts.from_tokens(docs)
    if docs != [["fine"], "raw"]:
        with pytest.raises(InvalidCounts, match=r"dcomp\.Counts\.from_texts"):
            as_counts(docs)


def test_from_tokens_refuses():
    with pytest.raises(InvalidCounts, match="tokens must be strings; found 3"):
        Counts.from_tokens([["a", 3]])
    with pytest.raises(InvalidCounts, match="document 1: unhashable"):
        Counts.from_tokens([["a"], [["b"]]])
    with pytest.raises(InvalidCounts, match="document 'q' is of type int"):
        Counts.from_tokens([["a"], 3], doc_ids=["p", "q"])
    with pytest.raises(InvalidParameter, match="'a' appears twice"):
        Counts.from_tokens([["a"]], vocabulary=["a", "b", "a"])
    with pytest.raises(InvalidParameter, match="found dict"):
        Counts.from_tokens([["a"]], vocabulary={"a": 0})
    with pytest.raises(InvalidParameter, match="doc_ids must be one per document"):
        Counts.from_tokens([["a"]], doc_ids=["p", "q"])


def test_as_counts_dispatches():
    counts = as_counts([[1, 2]], feature_names=["a", "b"])
    assert as_counts(counts) is counts
    with pytest.raises(InvalidParameter, match="no effect on Counts"):
        as_counts(counts, doc_ids=["x"])
    assert as_counts(sparse.csr_array(np.eye(2))).n_tokens == 2
    assert dense(as_counts([[], ["a", "a"]], doc_ids=["x", "y"])) == [[0], [2]]
    with pytest.raises(InvalidParameter, match="vocabulary"):
        as_counts([["a"]], feature_names=["a"])
