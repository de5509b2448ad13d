"""Random splits."""

import numpy as np
import pytest

from dcomp.data import Counts, halves, train_test
from dcomp.errors import InvalidCounts, InvalidParameter


@pytest.fixture(scope="module")
def counts():
    table = np.random.default_rng(3).poisson(1.0, (400, 50))
    table[7] = 0
    ids = [f"d{i}" for i in range(400)]
    names = [f"w{j}" for j in range(50)]
    return Counts.from_matrix(table, doc_ids=ids, feature_names=names)


def test_halves_add_up_and_keep_everything(counts):
    first, second = halves(counts, 0.3, seed=5)
    total = first.to_scipy() + second.to_scipy()
    assert (total != counts.to_scipy()).nnz == 0
    for part in (first, second):
        assert part.features is counts.features
        assert part.doc_ids == counts.doc_ids
        assert part.shape == counts.shape
    # 20,000 tokens: five standard deviations of a binomial share are 0.017.
    assert first.n_tokens / counts.n_tokens == pytest.approx(0.3, abs=0.017)


def test_poisson_halves_are_independent(counts):
    first, second = halves(counts, 0.5, seed=1)
    left, right = first.to_scipy().toarray().ravel(), second.to_scipy().toarray().ravel()
    # 20,000 cells: the standard error of a correlation is 0.007.
    assert abs(np.corrcoef(left, right)[0, 1]) < 0.035


def test_the_seed_decides(counts):
    assert halves(counts, seed=1)[0] == halves(counts, seed=1)[0]
    assert halves(counts, seed=1)[0] != halves(counts, seed=2)[0]
    assert train_test(counts, seed=1)[1] == train_test(counts, seed=1)[1]
    assert train_test(counts, seed=1)[1] != train_test(counts, seed=2)[1]


@pytest.mark.parametrize("named", [True, False])
def test_a_document_is_split_alike_whatever_comes_with_it(counts, named):
    """By its id, or by its counts where it has none; not by its place."""
    whole = counts if named else Counts.from_matrix(counts.to_scipy())
    first = halves(whole, 0.5, seed=3)[0]
    chosen = [399, 5, 17]
    assert halves(whole.rows(chosen), 0.5, seed=3)[0] == first.rows(chosen)
    alone = [halves(whole.rows([i]), 0.5, seed=3)[0].to_scipy().toarray()[0] for i in chosen]
    assert np.array_equal(alone, first.rows(chosen).to_scipy().toarray())


def test_the_id_names_a_document_before_its_counts_do(counts):
    other = Counts(
        counts.indptr, counts.indices, counts.data, counts.features, counts.doc_ids[::-1]
    )
    plain = Counts.from_matrix(counts.to_scipy())
    table = [halves(c, 0.5, seed=3)[0].to_scipy().toarray() for c in (counts, other, plain)]
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert (table[a] != table[b]).any(axis=1).mean() > 0.9


def test_copies_of_a_document_are_split_apart():
    """Many people answer alike: their splits must not be one split."""
    same = Counts.from_matrix(np.tile([[4, 0, 2]], (500, 1)))
    first = halves(same, 0.5, seed=2)[0].to_scipy().toarray()
    assert len(np.unique(first, axis=0)) == 15
    assert abs(first[:, 0].mean() - 2) < 5 / np.sqrt(500)
    # Others between them change nothing.
    table = np.repeat([[4, 0, 2], [1, 1, 1]], [500, 300], axis=0)
    mixed = np.random.default_rng(0).permutation(800)
    kept = halves(Counts.from_matrix(table[mixed]), 0.5, seed=2)[0].to_scipy().toarray()
    assert np.array_equal(kept[mixed < 500], first)


def test_the_split_of_a_count_is_binomial():
    """Many documents of one large and one small count each, with ids of their own."""
    n = 20_000
    same = Counts.from_matrix(np.tile([900, 3], (n, 1)), doc_ids=range(n))
    first = halves(same, 0.2, seed=8)[0].to_scipy().toarray()
    mean, variance = first.mean(axis=0), first.var(axis=0)
    assert (np.abs(mean - [180, 0.6]) < 5 * np.sqrt(np.array([144, 0.48]) / n)).all()
    np.testing.assert_allclose(variance, [144, 0.48], rtol=0.05)
    assert abs(np.corrcoef(first.T)[0, 1]) < 5 / np.sqrt(n)
    # Neighbouring documents have nothing to do with each other.
    assert abs(np.corrcoef(first[:-1, 0], first[1:, 0])[0, 1]) < 5 / np.sqrt(n)


def test_extreme_fractions(counts):
    everything, nothing = halves(counts, 1.0)
    assert everything == counts
    assert nothing.nnz == 0


def test_train_test_parts_documents(counts):
    train, test = train_test(counts, 0.25, seed=9)
    assert (train.n_docs, test.n_docs) == (300, 100)
    assert set(train.doc_ids) | set(test.doc_ids) == set(counts.doc_ids)
    positions = [int(name[1:]) for name in test.doc_ids]
    assert positions == sorted(positions)
    assert test == counts.rows(positions)
    tiny = counts.rows([0, 1])
    assert train_test(tiny, 0.01)[1].n_docs == 1
    assert train_test(tiny, 0.99)[0].n_docs == 1


def test_bad_arguments(counts):
    with pytest.raises(InvalidParameter, match=r"fraction must be between 0 and 1; found 1\.5"):
        halves(counts, 1.5)
    with pytest.raises(InvalidParameter, match="test_fraction must be"):
        train_test(counts, 0)
    with pytest.raises(InvalidParameter, match=r"seed must be a whole number .*; found -1"):
        halves(counts, seed=-1)
    with pytest.raises(InvalidCounts, match="at least two documents"):
        train_test(counts.rows([0]))
