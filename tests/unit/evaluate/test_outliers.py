"""Unusual documents: the strange one is found, and length alone makes none."""

from __future__ import annotations

import numpy as np
import pytest

import dcomp
from dcomp.data import halves
from dcomp.evaluate import outliers
from dcomp.evaluate.outliers import _against_like_lengths


@pytest.fixture(scope="module")
def fitted(planted):
    return dcomp.LDA(3, alpha=0.3, verbose=0).fit(planted[0]).fit_


def test_every_token_is_predicted_once_by_the_other_half(planted, fitted):
    counts, _ = planted
    found = outliers(fitted, counts, n_splits=1, seed=4)
    parts = halves(counts, 0.5, seed=4)
    expected = np.zeros(counts.n_docs)
    for seen, rest in (parts, parts[::-1]):
        p = fitted.transform(seen).astype(float) @ fitted.Theta.T.astype(float)
        expected += (rest.to_scipy().toarray() * np.log(p)).sum(axis=1)
    np.testing.assert_allclose(found.log_likelihood, expected, rtol=1e-4, atol=1e-3)
    tokens = np.maximum(counts.doc_totals, 1)
    np.testing.assert_allclose(found.per_token, expected / tokens, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("key", ["DM", "GP", "CGP"])
def test_strange_documents_come_first(planted, key):
    """Two documents of words that the others hardly have, in a fit that has not seen them."""
    W = np.pad(planted[0].to_scipy().toarray(), ((0, 0), (0, 2)))
    W[:12, 30:] = 1
    model = dcomp.DCA(3, model=key, verbose=0).fit(W)
    W[5], W[6] = 0, W[40]
    W[5, 30:] = 30
    W[6, 30] = 60
    counts = dcomp.Counts.from_matrix(W, doc_ids=[f"d{i}" for i in range(300)])
    found = outliers(model.fit_, counts)
    assert found.top(2).doc_ids == ("d5", "d6")
    assert found.z[[5, 6]].max() < -3
    assert found.rank[17] == 300  # the empty document has nothing unlikely
    assert (found.log_likelihood[17], found.z[17], found.tokens[17]) == (0, 0, 0)


def test_length_makes_no_outlier(fitted):
    """Documents of the model itself, of 4 to 400 words: neither ranks nor z go with the length.
    The limit is 4 standard deviations of a rank correlation over 600 documents."""
    from scipy.stats import spearmanr

    rng = np.random.default_rng(1)
    lengths = np.repeat([4, 20, 100, 400], 150)
    Theta = fitted.Theta.astype(float)
    m = rng.dirichlet([0.3] * 3, size=600)
    W = [rng.multinomial(n, p / p.sum()) for n, p in zip(lengths, m @ Theta.T, strict=True)]
    found = outliers(fitted, np.array(W), neighbours=100)
    assert abs(spearmanr(found.z, lengths).statistic) < 4 / np.sqrt(600)
    assert sorted(found.rank) == list(range(1, 601))
    sums = spearmanr(found.log_likelihood, lengths).statistic
    assert sums < -0.9  # as the plain sum would have it


def test_z_by_hand():
    values = np.array([1.0, 2.0, 3.0, 4.0, 10.0])
    lengths = np.array([5, 1, 9, 4, 7])  # order of the values by length: 2, 4, 1, 10, 3
    found = _against_like_lengths(values, lengths, 2)
    # Three at a time: (2 4 1), (2 4 1), (4 1 10), (1 10 3), (1 10 3); median and MAD by hand.
    expected = [(1 - 4) / 3, (2 - 2) / 1, (3 - 3) / 2, (4 - 2) / 1, (10 - 3) / 2]
    np.testing.assert_allclose(found, np.array(expected) / 1.4826)
    assert _against_like_lengths(np.ones(6), np.arange(6), 3).tolist() == [0] * 6
    mostly = _against_like_lengths(np.array([1.0, 1, 1, 1, 0]), np.arange(5), 9)
    assert mostly[4] < -1  # the deviation is 0, the standard deviation is not
    assert np.isfinite(mostly).all()


def test_one_word_and_one_document(fitted):
    word = np.zeros((1, 30), int)
    word[0, 3] = 1
    found = outliers(fitted, word)
    assert np.isfinite(found.per_token).all()
    assert found.z.tolist() == [0]
    with pytest.raises(dcomp.InvalidCounts, match="these have none"):
        outliers(fitted, 0 * word)
    with pytest.raises(dcomp.InvalidParameter, match="n_splits must be at least 1"):
        outliers(fitted, word, n_splits=0)


def test_the_same_for_any_number_of_threads(planted, fitted):
    one, seven = (outliers(fitted, planted[0], seed=2, n_jobs=n) for n in (1, 7))
    assert np.array_equal(one.z, seven.z)
    assert not np.array_equal(one.z, outliers(fitted, planted[0], seed=3).z)


def test_as_a_table(planted, fitted):
    pytest.importorskip("pandas")
    found = outliers(fitted, planted[0])
    frame = found.top(5).to_frame()
    assert list(frame.columns) == ["tokens", "log_likelihood", "per_token", "z", "rank"]
    assert frame["rank"].tolist() == [1, 2, 3, 4, 5]
    assert frame.index.tolist() == found.top(5).document.tolist()
    assert len(str(found.top(3)).splitlines()) == 4


def test_a_table_without_pandas(planted, fitted, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(dcomp.MissingDependency, match=r"dcomp\[frames\]"):
        outliers(fitted, planted[0]).to_frame()
