"""A corpus cut into parts: where, what goes along, and what does not change."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import dcomp
from dcomp.data import Counts, document_keys, halves
from dcomp.models import Observations


@pytest.fixture(scope="module")
def counts() -> Counts:
    """Documents of very unequal size; the first and the last are copies."""
    rng = np.random.default_rng(3)
    W = rng.poisson(0.5, (40, 200)) * (rng.random((40, 1)) < 0.5)
    W[7] = 9
    W[39] = W[0] = rng.poisson(1.0, 200)
    return Counts.from_matrix(W)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 39, 40])
def test_parts_are_the_documents_in_order(counts, n):
    cut = counts.in_parts(n)
    assert len(cut.parts) == len(cut.firsts) == n
    assert cut == counts
    assert cut.fingerprint() == counts.fingerprint()
    whole = np.concatenate([part.to_scipy().toarray() for part in cut.parts])
    assert np.array_equal(whole, counts.to_scipy().toarray())
    assert min(part.n_docs for part in cut.parts) >= 1


def test_parts_have_about_as_many_entries():
    even = Counts.from_matrix(np.random.default_rng(0).poisson(0.4, (1000, 50)))
    sizes = [part.nnz for part in even.in_parts(8).parts]
    assert max(sizes) < 1.05 * min(sizes)


@pytest.mark.parametrize("n", [0, -1, 41, 2.5, True, "3", None, [3], float("nan"), float("inf")])
def test_a_number_of_parts_must_fit(counts, n):
    with pytest.raises(dcomp.InvalidParameter, match="from 1 to the number of documents, 40; got"):
        counts.in_parts(n)


@pytest.mark.parametrize("firsts", [(), (1,), (0, 5, 5), (0, 40), (0, 9, 3)])
def test_parts_begin_where_they_can(counts, firsts):
    with pytest.raises(dcomp.InvalidParameter, match="firsts must ascend from 0 and stay below 40"):
        counts.cut_at(firsts)


@pytest.mark.parametrize("firsts", [(0, 1.5), (0, 2.0), None, 5, "ab"])
def test_parts_begin_with_documents(counts, firsts):
    with pytest.raises(dcomp.InvalidParameter, match="firsts must be the numbers of documents"):
        counts.cut_at(firsts)


def test_numbers_of_documents_may_be_numpys(counts):
    assert all(type(first) is int for first in counts.cut_at(np.array([0, 7])).firsts)


def test_the_cut_goes_along_where_the_documents_do(counts):
    cut = counts.in_parts(3)
    named = cut.with_features([f"f{j}" for j in range(200)])
    kept = [
        cut.columns(slice(0, 100)),
        cut.with_blocks([0] * 150 + [1] * 50),
        named,
        named.aligned_to(named.columns(slice(0, 100)).features)[0],
        *halves(cut, 0.5, seed=1),
        pickle.loads(pickle.dumps(cut)),
    ]
    assert all(other.firsts == cut.firsts for other in kept)
    assert cut.rows(slice(0, 20)).firsts == (0,)
    assert "in 3 parts" in repr(cut)
    assert "parts" not in repr(counts)


def test_a_part_knows_its_place_and_its_exposure(counts):
    exposure = np.arange(1.0, 41.0)
    observed = Observations.build(counts.in_parts(3), exposure)
    assert [part.first for part in observed.parts] == list(observed.counts.firsts)
    assert np.array_equal(np.concatenate([p.total_exposure for p in observed.parts]), exposure)
    alone = Observations.build(counts)
    assert alone.parts == (alone,)


def test_copies_in_other_parts_are_told_apart(counts):
    """The first and the last document are the same; a split must not be the same for both."""
    keys = document_keys(counts)
    assert len(set(keys.tolist())) == 40
    observed = Observations(counts.in_parts(4))
    assert np.array_equal(np.concatenate([p.document_keys for p in observed.parts]), keys)
    whole, _ = halves(counts, 0.5, seed=2)
    cut = [halves(p.counts, 0.5, 2, p.document_keys)[0] for p in observed.parts]
    assert np.array_equal(np.concatenate([p.data for p in cut]), whole.data)
    first, last = whole.rows([0]), whole.rows([39])
    assert not np.array_equal(first.to_scipy().toarray(), last.to_scipy().toarray())


def test_what_kernels_take_does_not_travel(counts):
    part = Observations(counts.in_parts(2)).parts[1]
    assert part.corpus.first == part.first
    again = pickle.loads(pickle.dumps(part))
    assert "corpus" not in vars(again)
    assert again.first == part.first
    assert again.corpus.first == part.first
