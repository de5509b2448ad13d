"""Counts.from_matrix: what is accepted, what is refused, and what is shared or copied."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from dcomp.data import Counts, canonical
from dcomp.data import counts as counts_module
from dcomp.errors import InvalidCounts, InvalidParameter

FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]
tables = hnp.arrays(
    np.int64,
    st.tuples(st.integers(1, 6), st.integers(1, 6)),
    elements=st.one_of(st.just(0), st.integers(0, 2**31 - 1), st.integers(0, 3)),
)


def is_canonical(counts):
    matrix = sparse.csr_array((counts.data, counts.indices, counts.indptr), shape=counts.shape)
    return matrix.has_canonical_format and (counts.data > 0).all()


@given(
    tables,
    st.sampled_from(FORMATS),
    st.sampled_from([np.int64, np.uint64, np.float64]),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_round_trip(table, form, dtype, old):
    kind = getattr(sparse, f"{form}_{'matrix' if old else 'array'}")
    for source in (kind(table.astype(dtype)), table.astype(dtype)):
        counts = Counts.from_matrix(source)
        assert is_canonical(counts)
        assert np.array_equal(counts.to_scipy().toarray(), table)
        assert counts.n_tokens == table.sum()
        assert np.array_equal(counts.doc_totals, table.sum(axis=1))
        assert np.array_equal(counts.feature_totals, table.sum(axis=0))
        assert np.array_equal(counts.feature_docs, (table > 0).sum(axis=0))


entries = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 5)), min_size=0, max_size=30
)


@given(entries, st.sampled_from(["coo", "csr", "csc"]), st.sampled_from([np.int8, np.float32]))
@settings(max_examples=150, deadline=None)
def test_repeated_entries_are_summed_and_the_input_is_untouched(triples, form, dtype):
    row, column, value = np.array(triples, np.int64).reshape(-1, 3).T
    expected = np.zeros((4, 5), np.int64)
    np.add.at(expected, (row, column), value)
    value = value.astype(dtype)
    if form == "coo":
        matrix = sparse.coo_array((value, (row, column)), shape=(4, 5))
    else:
        major, minor = (row, column) if form == "csr" else (column, row)
        size = 4 if form == "csr" else 5
        order = np.argsort(major, kind="stable")
        indptr = np.concatenate(([0], np.cumsum(np.bincount(major, minlength=size))))
        kind = getattr(sparse, f"{form}_array")
        matrix = kind((value[order], minor[order], indptr), shape=(4, 5))
    names = ("data", "row", "col") if form == "coo" else ("data", "indices", "indptr")
    arrays = {name: getattr(matrix, name) for name in names}
    before = {name: values.copy() for name, values in arrays.items()}
    counts = Counts.from_matrix(matrix)
    assert is_canonical(counts)
    assert np.array_equal(counts.to_scipy().toarray(), expected)
    for name, values in arrays.items():
        assert getattr(matrix, name) is values
        assert np.array_equal(values, before[name])


def test_canonical_int32_is_shared_not_copied():
    matrix = sparse.csr_array(np.ones((30, 20), np.int32))
    counts = Counts.from_matrix(matrix)
    assert np.shares_memory(counts.indices, matrix.indices)
    assert np.shares_memory(counts.data, matrix.data)
    assert matrix.indices.flags.writeable
    back = counts.to_scipy()
    assert back.dtype == np.int32
    assert np.shares_memory(back.indices, counts.indices)
    assert np.shares_memory(back.data, counts.data)
    assert not back.data.flags.writeable
    assert not back.indptr.flags.writeable
    matrix.indptr = matrix.indptr.astype(np.int64)
    assert np.shares_memory(Counts.from_matrix(matrix).indices, matrix.indices)


def test_int64_indices():
    matrix = sparse.csr_array(np.array([[0, 2], [3, 0]]))
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    counts = Counts.from_matrix(matrix)
    assert counts.indices.dtype == np.int32
    assert counts.indptr.dtype == np.int64
    assert counts.to_scipy().toarray().tolist() == [[0, 2], [3, 0]]


def test_a_huge_table_is_never_dense():
    size = 10**6
    at = np.array([5, 5, 999_999], np.int64)
    for form in ("coo", "csr", "csc", "dok"):
        matrix = sparse.coo_array(([1.0, 2.0, 3.0], (at, at[::-1])), shape=(size, size))
        counts = Counts.from_matrix(matrix.asformat(form))
        assert counts.shape == (size, size)
        assert counts.n_tokens == 6
        assert counts.rows([5]).indices.tolist() == [5, 999_999]
    assert repr(counts) == (
        "Counts(1,000,000 documents \N{MULTIPLICATION SIGN} 1,000,000 features, 6 tokens, "
        "<0.1 % non-zero)"
    )


def dense(table):
    return table.toarray() if sparse.issparse(table) else table


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-1, "non-negative whole numbers; found -1 at"),
        (0.5, "non-negative whole numbers; found 0.5 at"),
        (np.nan, "non-negative whole numbers; found nan at"),
        (np.inf, "non-negative whole numbers; found inf at"),
        (2**31, "at most 2147483647; found 2147483648 at"),
    ],
)
@pytest.mark.parametrize("form", ["dense", *FORMATS])
def test_the_first_bad_cell_is_named(value, message, form):
    table = np.array([[1, 0, 2], [0, 0, value], [value, 1, 0]])
    if form != "dense":
        table = getattr(sparse, f"{form}_array")(table)
    hint = r" \(fractional=True takes corrected counts and dosages; .*\)" if value == 0.5 else ""
    if np.isnan(value):  # how missing is written is said instead
        hint = (
            ": what is missing is left out, not written as NaN: .* an exposure of 0 for GP and CGP"
        )
    with pytest.raises(InvalidCounts, match=message + f" document 1, feature 2{hint}$"):
        Counts.from_matrix(table)
    with pytest.raises(InvalidCounts, match=message + f" document 'd1', feature 'the'{hint}$"):
        Counts.from_matrix(table, feature_names=["a", "b", "the"], doc_ids=["d0", "d1", "d2"])
    if value == 0.5:
        counts = Counts.from_matrix(table, fractional=True)
        np.testing.assert_array_equal(counts.to_scipy().toarray(), np.asarray(dense(table)))
        return
    message = message.replace("whole ", "")
    with pytest.raises(InvalidCounts, match=message + f" document 1, feature 2{hint}$"):
        Counts.from_matrix(table, fractional=True)


def test_first_bad_cell_is_row_major_even_in_unsorted_rows():
    matrix = sparse.csr_array(
        (np.array([-3, -2, 1]), np.array([4, 1, 0]), np.array([0, 2, 3])), shape=(2, 5)
    )
    with pytest.raises(InvalidCounts, match="found -2 at document 0, feature 1"):
        Counts.from_matrix(matrix)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint64, np.float32])
def test_sums_of_repeated_entries_do_not_overflow(dtype):
    top = 100 if dtype == np.int8 else 2**30
    matrix = sparse.coo_array((np.full(4, top, dtype), ([0] * 4, [1] * 4)), shape=(1, 2))
    if dtype == np.int8:
        assert Counts.from_matrix(matrix).data.tolist() == [400]
    else:
        with pytest.raises(InvalidCounts, match="at most 2147483647; found 4294967296 at"):
            Counts.from_matrix(matrix)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[1 + 2j]], "complex128"),
        ([["a"]], "<U1"),
        (np.array([[None]]), "object"),
        ([1, 2], "1 dimension"),
        (np.zeros((2, 2, 2)), "3 dimension"),
        (5, "0 dimension"),
        ([[1], [2, 3]], "rows of one length"),
        (np.zeros((0, 3)), "0 documents and 3 features"),
        (sparse.csr_array((3, 0)), "3 documents and 0 features"),
        (sparse.csr_array(np.array([[1j]])), "complex128"),
        pytest.param(
            (vector := sparse.coo_array(np.array([1, 2]))),
            "1 dimension",
            marks=pytest.mark.skipif(
                len(vector.shape) == 2, reason="before SciPy 1.13 every sparse array is a table"
            ),
        ),
        (np.ma.masked_array([[1, 2]], mask=[[True, False]]), "masked"),
        (sparse.coo_array(([1], ([0], [0])), shape=(1, 2**31)), "2147483648 features"),
    ],
)
def test_not_a_table_of_numbers(table, message):
    with pytest.raises(InvalidCounts, match=message):
        Counts.from_matrix(table)


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize(
    ("indices", "indptr"), [([0, 9], [0, 1, 2]), ([-1, 0], [0, 1, 2]), ([0, 1], [0, 5, 2])]
)
def test_malformed_sparse_matrices_are_refused(form, indices, indptr):
    matrix = getattr(sparse, f"{form}_array")(np.eye(2, dtype=np.int32))
    matrix.indices = np.array(indices, np.int32)
    matrix.indptr = np.array(indptr, np.int32)
    with pytest.raises(InvalidCounts, match="well-formed"):
        Counts.from_matrix(matrix)


def test_bool_small_types_and_stored_zeros():
    assert Counts.from_matrix(np.array([[True, False]])).data.tolist() == [1]
    assert Counts.from_matrix(np.array([[3, 0]], np.float16)).data.tolist() == [3]
    assert Counts.from_matrix(np.array([[3, 0]], ">i2")).data.tolist() == [3]
    zeros = sparse.csr_array(
        (np.array([0, 7, 0]), np.array([0, 1, 0]), np.array([0, 2, 3])), shape=(2, 2)
    )
    counts = Counts.from_matrix(zeros)
    assert counts.nnz == 1
    assert counts.indptr.tolist() == [0, 1, 1]
    assert zeros.nnz == 3


def test_empty_documents_and_features_stay():
    counts = Counts.from_matrix(np.zeros((3, 2)))
    assert counts.shape == (3, 2)
    assert counts.nnz == counts.n_tokens == 0
    assert counts.doc_totals.tolist() == [0, 0, 0]
    assert counts.log_combinatoric().tolist() == [0, 0, 0]


def test_wrong_numbers_of_names():
    with pytest.raises(InvalidParameter, match="doc_ids must be one per document: 1 documents, 2"):
        Counts.from_matrix([[1]], doc_ids=["a", "b"])
    with pytest.raises(InvalidParameter, match="1 features, 2 names"):
        Counts.from_matrix([[1]], feature_names=["a", "b"])


def test_chunked_checks_across_chunk_borders(monkeypatch):
    monkeypatch.setattr(canonical, "_CHUNK", 3)
    monkeypatch.setattr(counts_module, "_CHUNK", 3)
    rng = np.random.default_rng(0)
    table = rng.poisson(0.8, (9, 8)).astype(np.float64)
    made = Counts.from_matrix(table)
    assert np.array_equal(made.to_scipy().toarray(), table)
    assert np.array_equal(made.feature_totals, table.sum(axis=0))
    table[7, 5] = 0.25
    with pytest.raises(InvalidCounts, match=r"found 0.25 at document 7, feature 5"):
        Counts.from_matrix(table)
    shuffled = sparse.csr_array(np.arange(1, 9).reshape(1, 8))
    shuffled.indices = shuffled.indices[[0, 1, 2, 4, 3, 5, 6, 7]]
    shuffled.has_canonical_format = True  # a false claim must not be believed
    assert Counts.from_matrix(shuffled).to_scipy().toarray().tolist() == [[1, 2, 3, 5, 4, 6, 7, 8]]


@pytest.mark.parametrize(("dtype", "megabytes"), [(np.int32, 14), (np.float64, 30)])
def test_memory_stays_small(dtype, megabytes):
    entries, width = 4_000_000, 100
    indptr = np.arange(0, entries + 1, width, dtype=np.int32)
    indices = np.tile(np.arange(width, dtype=np.int32), entries // width)
    data = np.ones(entries, dtype)  # 16 or 32 MB
    matrix = sparse.csr_array((data, indices, indptr), shape=(entries // width, width))
    tracemalloc.start()
    counts = Counts.from_matrix(matrix)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert counts.n_tokens == entries
    assert peak < megabytes * 1e6


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
def test_rows_that_fall_back_to_0_are_refused(form):
    """Of such a matrix scipy believes that it is empty; it then reads beyond the end."""
    matrix = getattr(sparse, f"{form}_array")(np.diag([1, 2, 3]))
    matrix.indptr[:] = [0, 3, 2, 0]
    with pytest.raises(InvalidCounts, match="must ascend from 0"):
        Counts.from_matrix(matrix)
