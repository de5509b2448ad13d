"""Reading a fit: what its tables say must add up."""

from __future__ import annotations

import numpy as np
import pytest

import dcomp


@pytest.fixture(scope="module", params=["DM", "GP"])
def fitted(request, planted):
    return dcomp.DCA(3, model=request.param, gamma=0.1, verbose=0).fit(planted[0]).fit_


def test_loadings_and_scores(fitted, planted):
    assert fitted.Theta.shape == (30, 3)
    np.testing.assert_allclose(fitted.Theta.sum(axis=0), 1, rtol=1e-5)
    assert np.array_equal(fitted.components, fitted.Theta.T)
    totals = fitted.scores.sum(axis=1)
    if fitted.model.key == "DM":
        np.testing.assert_allclose(totals, 1, rtol=1e-5)
    else:
        np.testing.assert_allclose(totals[0], planted[0].doc_totals[0], rtol=0.1)


def test_expected_counts_sum_to_the_words(fitted, planted):
    np.testing.assert_allclose(fitted.expected_counts.sum(axis=1), planted[0].doc_totals, rtol=1e-4)


def test_word_table_adds_up(fitted, planted):
    table = fitted.word_table(planted[0], 5)
    row = planted[0].rows([5])
    np.testing.assert_allclose(table.table.sum(axis=1), row.data, rtol=1e-9)
    np.testing.assert_allclose(table.table.sum(axis=0), table.total)
    np.testing.assert_allclose(table.total, fitted.fold_in(row).c[0], rtol=0.01, atol=0.02)
    assert len(str(table).splitlines()) == row.nnz + 2


def test_word_table_by_name_and_bad_names(fitted, planted):
    named = dcomp.Counts.from_matrix(planted[0].to_scipy(), doc_ids=[f"d{i}" for i in range(300)])
    assert fitted.word_table(named, "d5").words == fitted.word_table(planted[0], 5).words
    with pytest.raises(dcomp.InvalidParameter, match="document must be one of the document ids"):
        fitted.word_table(named, "d999")
    with pytest.raises(dcomp.InvalidParameter, match=r"document must lie in \[0, 300\)"):
        fitted.word_table(named, 300)


def test_transform_agrees_with_the_training_scores(fitted, planted):
    new = fitted.transform(planted[0])
    close = np.abs(new - fitted.scores).max(axis=1) < 0.05 * np.maximum(1, fitted.scores.max(1))
    assert close.mean() > 0.95


def test_bound_of_documents_sums_to_the_objective(fitted, planted):
    total = fitted.bound(planted[0]).sum()
    assert total == pytest.approx(fitted.history.rows[-1].documents, rel=1e-3)
    bag = fitted.bound(planted[0], combinatoric=True)
    np.testing.assert_allclose(
        bag - fitted.bound(planted[0]), planted[0].log_combinatoric(), rtol=1e-6, atol=1e-6
    )


def test_unusual_documents_have_low_bounds(fitted):
    usual, odd = np.zeros(30, int), np.zeros(30, int)
    usual[:10], odd[::3] = 3, 3
    per_word = fitted.bound(np.array([usual, odd])) / 30
    assert per_word[0] > per_word[1] + 0.3


def test_top_features_are_sorted_and_in_their_block(planted):
    names = [f"w{j}" for j in range(30)]
    blocks = ["a"] * 15 + ["b"] * 15
    counts = dcomp.Counts.from_matrix(planted[0].to_scipy(), feature_names=names, blocks=blocks)
    fitted = dcomp.LDA(3, verbose=0).fit(counts).fit_
    top = fitted.top_features(5, block=1)
    assert all(int(name.removeprefix("b=w")) >= 15 for row in top.names for name in row)
    assert (np.diff(top.weights, axis=1) <= 0).all()
    np.testing.assert_allclose(fitted.Theta[:15].sum(axis=0), 1, rtol=1e-5)
    np.testing.assert_allclose(fitted.Theta[15:].sum(axis=0), 1, rtol=1e-5)
    assert fitted.top_features(5, block="b").names == top.names
    assert fitted.top_features(5, block=np.int64(1)).names == top.names
    for absent in (2, -1, "c", True):
        with pytest.raises(dcomp.InvalidParameter, match=r"in \[0, 2\) or a name.*'a', 'b'"):
            fitted.top_features(5, block=absent)
    with pytest.raises(dcomp.InvalidParameter, match="n must be at least 1"):
        fitted.top_features(0)


def test_features_in_blocks_are_shown_with_their_blocks():
    W = [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 0, 1]]
    names, blocks = ["yea", "nay", "yea", "nay"], ["RC5", "RC5", "RC6", "RC6"]
    counts = dcomp.Counts.from_matrix(W, feature_names=names, blocks=blocks)
    fitted = dcomp.DCA(1, verbose=0).fit(counts).fit_
    assert str(fitted.top_features(4)).split()[1:] == ["RC5=yea", "RC6=nay", "RC5=nay", "RC6=yea"]
    assert fitted.word_table(counts, 2).words == ("RC5=nay", "RC6=nay")
    found = dcomp.evaluate.coherence(fitted, counts, n_top=2)
    assert found.features == (("RC5=yea", "RC6=nay"),)
    same = dcomp.evaluate.coherence(found.features, counts)
    assert same.values.tolist() == found.values.tolist()
    chosen = fitted.predictor.word_probability(counts, ["RC6=nay"])
    np.testing.assert_allclose(chosen[:, 0], fitted.Theta[3, 0], rtol=1e-5)
    with pytest.raises(dcomp.InvalidParameter, match="no 'nay'; with blocks they are called"):
        fitted.predictor.word_probability(counts, ["nay"])
    with pytest.raises(dcomp.InvalidCounts, match="feature 'RC6=nay'"):
        dcomp.Counts.from_matrix([[0, 0, 0, -1]], feature_names=names, blocks=blocks)
    with pytest.raises(dcomp.InvalidCounts, match="feature 'RC6=nay'"):
        dcomp.Counts.from_table(["d"], ["nay"], [-1], blocks=["RC6"])
    squared = dcomp.NMF(1, loss="squared", verbose=0).fit(counts)
    assert set(squared.top_features(2)[0]) == {"RC5=yea", "RC6=nay"}


def test_new_documents_are_matched_by_name(planted):
    names = [f"w{j}" for j in range(30)]
    counts = dcomp.Counts.from_matrix(planted[0].to_scipy(), feature_names=names)
    fitted = dcomp.LDA(3, verbose=0).fit(counts).fit_
    reversed_ = counts.columns(np.arange(30)[::-1])
    np.testing.assert_allclose(fitted.transform(reversed_), fitted.transform(counts), atol=1e-5)


def test_repr_says_what_it_is(fitted):
    assert repr(fitted).startswith(f"Fit({fitted.model.key}, K = 3, mean-field, ")


def test_history_by_column_and_row(fitted):
    assert fitted.history["sweep"][-1] == fitted.n_sweeps == fitted.history[-1]["sweep"]
    with pytest.raises(KeyError, match="history has the columns"):
        fitted.history["loss"]
