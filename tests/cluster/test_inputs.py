"""Counts that lie on the cluster: Dask arrays and frames, and files that workers open."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from support.cells import same

import dcomp
from dcomp import Counts
from dcomp.data.canonical import Rows
from dcomp.executors import DaskExecutor, LocalExecutor, dask_worker, from_dask
from dcomp.inference import CollapsedGibbs, Gibbs, MeanField
from dcomp.io.dcounts import SharedRows
from dcomp.models import DirichletMultinomial

dask = pytest.importorskip("dask", reason='needs pip install "dcomp[dask]"')
dask_array = pytest.importorskip("dask.array")
HERE = LocalExecutor(1)
CHUNKS = (50, 41, 50)


MODEL = DirichletMultinomial.build(4, alpha=0.3, gamma=0.1)
WAYS = {
    "mean-field": MeanField(n_tries=1),
    "gibbs": Gibbs(burn_in=2),
    "collapsed-gibbs": CollapsedGibbs(burn_in=2),
}


def fitted(counts, executor, algorithm="gibbs"):
    return dcomp.fit(counts, MODEL, WAYS[algorithm], max_iter=4, tol=0, executor=executor)


@pytest.fixture(scope="module")
def table(counts):
    return counts.to_scipy().toarray()


def array_of(table, chunks=(CHUNKS, -1), form=sparse.csr_array):
    dense = dask_array.from_array(table, chunks=chunks)
    return dense.map_blocks(form, meta=sparse.csr_array((0, 0), dtype=table.dtype))


@pytest.fixture(scope="module")
def cut(counts):
    """The same documents and parts in memory."""
    return Counts.from_matrix(counts.to_scipy()).cut_at((0, 50, 91))


@pytest.fixture
def sent(monkeypatch):
    """What the client packs with rows and without."""
    seen = {"whole": 0, "without rows": 0}

    def counting(name, function):
        def wrapped(value):
            if isinstance(value, dcomp.models.Observations):
                seen[name] += 1
            return function(value)

        return wrapped

    monkeypatch.setattr(dask_worker, "packed", counting("whole", dask_worker.packed))
    without = counting("without rows", dask_worker.packed_without_rows)
    monkeypatch.setattr(dask_worker, "packed_without_rows", without)
    return seen


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_blocks_of_an_array_are_parts(table, cut, client, form):
    counts = from_dask(array_of(table, form=form), client)
    assert counts == cut
    assert counts.firsts == cut.firsts


@pytest.mark.parametrize("algorithm", WAYS)
def test_they_give_the_bits_of_parts_in_memory(table, cut, client, executor, sent, algorithm):
    counts = from_dask(array_of(table), client)
    there = fitted(counts, executor, algorithm)
    assert sent == {"whole": 0, "without rows": 3}  # each part once, and its rows never
    assert same(fitted(cut, HERE, algorithm), there)
    assert np.array_equal(there.transform(counts, executor=executor), there.transform(cut))
    assert same(fitted(counts, HERE, algorithm), there)  # from the copy that the client has


def test_names_blocks_and_fractions_go_along(table, cut, client, executor):
    names = [f"w{j}" for j in range(table.shape[1])]
    about = {
        "feature_names": names,
        "doc_ids": range(len(table)),
        "blocks": np.arange(len(names)) % 2,
    }
    counts = from_dask(array_of(table / 2), client, fractional=True, **about)
    same_here = Counts.from_matrix(table / 2, fractional=True, **about).cut_at(cut.firsts)
    assert counts == same_here
    ways = (fitted(counts, executor, "mean-field"), fitted(same_here, HERE, "mean-field"))
    assert same(*ways)  # no sampler takes fractions


def test_a_lost_block_is_made_again_from_the_copy(table, cut, client):
    counts = from_dask(array_of(table), client)
    for part in counts.parts:
        client.cancel(part.mapped.elsewhere.future, force=True)
    with DaskExecutor(client) as executor:
        assert same(fitted(counts, executor), fitted(cut, HERE))


def test_partitions_of_a_frame_are_parts(table, client, executor, tmp_path):
    pandas = pytest.importorskip("pandas")
    dataframe = pytest.importorskip("dask.dataframe")
    names = [f"w{j}" for j in range(table.shape[1])]
    for number, rows in enumerate(np.split(table, [50, 91])):
        pandas.DataFrame(rows, columns=names).to_parquet(tmp_path / f"{number}.parquet")
    counts = from_dask(dataframe.read_parquet(tmp_path, split_row_groups=False), client)
    here = Counts.from_matrix(table, feature_names=names).cut_at((0, 50, 91))
    assert counts == here
    assert counts.firsts == here.firsts
    assert same(fitted(counts, executor), fitted(here, HERE))


def test_the_index_of_a_frame_names_documents(client):
    pandas = pytest.importorskip("pandas")
    dataframe = pytest.importorskip("dask.dataframe")
    frame = pandas.DataFrame({"cat": [1, 0, 2], "dog": [0, 3, 1]}, index=["a", "b", "c"])
    counts = from_dask(dataframe.from_pandas(frame, npartitions=2), client)
    assert (counts.doc_ids, counts.features.names) == (("a", "b", "c"), ("cat", "dog"))


def with_negative(table):
    wrong = table.copy()
    wrong[93, 4] = -2
    return array_of(wrong)


def of_two_widths(table):
    """Two blocks of which the second has a column less than it says."""
    made = (dask.delayed(sparse.csr_array)(rows) for rows in (table[:50], table[50:, :-1]))
    shapes = ((50, table.shape[1]), (len(table) - 50, table.shape[1]))
    both = zip(made, shapes, strict=True)
    return dask_array.concatenate([dask_array.from_delayed(x, n, dtype=int) for x, n in both])


WRONG = {
    "columns": (lambda X: array_of(X, (50, 7)), "all features of its documents; the array is cut"),
    "dense": (
        lambda X: dask_array.from_array(X, chunks=(CHUNKS, -1)),
        "block 0 is of type ndarray",
    ),
    "negative": (with_negative, r"found -2 at document 93, feature 4 \(row 2 of block 2\)"),
    "fraction": (lambda X: array_of(X / 2), "non-negative whole numbers; found 0.5 at document"),
    "empty": (lambda X: array_of(X, ((50, 0, 91), -1)), "block 1 has none"),
    "one dimension": (lambda X: dask_array.from_array(X[0]), "two dimensions"),
    "widths": (of_two_widths, r"block 0 has (\d+) columns and block 1 has \d+"),
    "no collection": (lambda X: X, "a Dask array of scipy sparse blocks, or a Dask frame"),
}


@pytest.mark.parametrize("case", WRONG)
def test_errors_say_what_and_where(table, client, case):
    make_wrong, message = WRONG[case]
    with pytest.raises(dcomp.DcompError, match=message):
        from_dask(make_wrong(table), client)


def test_a_client_is_needed(table):
    with pytest.raises(dcomp.InvalidParameter, match=r"needs a distributed.Client"):
        from_dask(array_of(table), "tcp://10.0.0.1:8786")


def test_workers_open_a_shared_file(counts, executor, tmp_path, sent):
    dcomp.write(counts, tmp_path / "shared.dcounts")
    corpus = dcomp.open(tmp_path / "shared.dcounts", shared=True)
    there = fitted(corpus, executor)
    assert sent == {"whole": 0, "without rows": 3}
    assert same(fitted(counts, HERE), there)
    assert np.array_equal(there.transform(corpus, executor=executor), there.transform(counts))
    alone = dcomp.open(tmp_path / "shared.dcounts")
    assert same(fitted(alone, executor), there)
    assert sent["whole"] == 3


def test_a_worker_that_cannot_open_it_says_so(counts, executor, tmp_path):
    dcomp.write(counts, tmp_path / "gone.dcounts")
    corpus = dcomp.open(tmp_path / "gone.dcounts", shared=True)
    (tmp_path / "gone.dcounts").unlink()
    with pytest.raises(dcomp.InvalidFile, match=r"gone.dcounts: every worker must be able to open"):
        fitted(corpus, executor)


def test_another_file_of_that_name_is_an_error(counts, executor, tmp_path):
    dcomp.write(counts, tmp_path / "other.dcounts")
    corpus = dcomp.open(tmp_path / "other.dcounts", shared=True)
    dcomp.write(counts.rows(slice(0, 100)).in_parts(3), tmp_path / "other.dcounts", overwrite=True)
    with pytest.raises(dcomp.InvalidFile, match=r"workers must see the file that the client has"):
        fitted(corpus, executor)


def test_rows_of_a_shared_file_are_those_of_the_part(counts, tmp_path):
    dcomp.write(counts, tmp_path / "a.dcounts")
    part = dcomp.open(tmp_path / "a.dcounts", shared=True).parts[1]
    rows = part.mapped.elsewhere
    assert isinstance(rows, SharedRows)
    for mine, theirs in zip(Rows(part.indptr, part.indices, part.data), rows.rows(), strict=True):
        assert np.array_equal(mine, theirs)
