"""LSA and PCA against each other, against B18's printed numbers, and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA, TruncatedSVD

import dcomp
from dcomp.errors import InvalidParameter

# B18 table 1. (Its factored display shows 4 in place of the last document's 2: another matrix.)
W = np.array(
    [
        [4, 6, 0, 2, 2],
        [0, 0, 4, 8, 12],
        [6, 9, 1, 5, 6],
        [2, 3, 3, 7, 10],
        [0, 0, 3, 6, 9],
        [2, 6, 1, 4, 5],
    ]
)
TABLE_2 = np.array(
    [[-6.580, 2.580, 0.637], [7.350, -0.511, 0.017], [-5.370, -3.530, 0.243],
     [3.110, -1.520, 0.093], [4.630, 2.040, 0.252], [-3.150, 0.929, -1.240]]
)  # fmt: skip
TABLE_3 = np.array(
    [[-0.350, -0.582, 0.264, 0.334, 0.598], [-0.449, -0.570, -0.115, -0.419, -0.534],
     [0.822, -0.560, 0.050, -0.087, -0.037]]
)  # fmt: skip


def up_to_sign(found, printed):
    """`found` with the printed signs: those of a singular vector are free."""
    return found * np.sign((found * printed).sum(axis=0))


def test_tables_of_b18():
    lsa = dcomp.LSA(3, center=True)
    scores = lsa.fit_transform(W)
    np.testing.assert_allclose(up_to_sign(scores, TABLE_2), TABLE_2, atol=6e-3)
    np.testing.assert_allclose(up_to_sign(lsa.components_.T, TABLE_3.T), TABLE_3.T, atol=6e-4)
    np.testing.assert_allclose(lsa.singular_values_, [12.9, 5.17, 1.44], rtol=5e-3)
    # princomp divides by n, section 3 of the paper by n - 1.
    np.testing.assert_allclose(np.sqrt(lsa.explained_variance_), [5.782, 2.313, 0.645], atol=1e-3)
    by_n = np.sqrt(lsa.explained_variance_ * 5 / 6)
    np.testing.assert_allclose(by_n, [5.28, 2.11, 0.588], atol=5e-3)
    # The printed 92.6 % is a ratio of deviations; of the variance it is 98.9 %.
    assert by_n[:2].sum() / by_n.sum() == pytest.approx(0.926, abs=1e-3)
    assert lsa.explained_variance_ratio_[:2].sum() == pytest.approx(0.989, abs=1e-3)


@pytest.mark.parametrize("shape", [(30, 12), (12, 30), (480, 420)])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_pca_is_lsa_of_the_centred_table(shape, kind):
    X = np.random.default_rng(0).poisson(1.0, shape).astype(float)
    X[:, :3] *= np.array([9.0, 6.0, 4.0])  # components that can be told apart
    lsa, pca = dcomp.LSA(3, center=True), PCA(3, svd_solver="full").fit(X)
    scores = lsa.fit_transform(kind(X))
    by_pca = pca.transform(X)
    np.testing.assert_allclose(up_to_sign(by_pca, scores), scores, atol=1e-6)
    np.testing.assert_allclose(lsa.explained_variance_, pca.explained_variance_, rtol=1e-8)
    np.testing.assert_allclose(
        lsa.explained_variance_ratio_, pca.explained_variance_ratio_, rtol=1e-8
    )
    by_hand = dcomp.LSA(3).fit_transform(X - X.mean(axis=0))
    np.testing.assert_allclose(by_hand, scores, atol=1e-6)
    np.testing.assert_allclose(lsa.transform(kind(X)), scores, atol=1e-6)


def test_uncentred_is_truncated_svd():
    X = np.random.default_rng(1).poisson(1.0, (50, 20)).astype(float)
    lsa, svd = dcomp.LSA(4), TruncatedSVD(4, algorithm="arpack").fit(X)
    lsa.fit(X)
    np.testing.assert_allclose(lsa.singular_values_, svd.singular_values_, rtol=1e-8)
    np.testing.assert_allclose(
        lsa.explained_variance_ratio_, svd.explained_variance_ratio_, rtol=1e-8
    )


def test_signs_names_and_one_answer():
    rng = np.random.default_rng(3)
    X = sparse.csr_array(rng.random((800, 600)) * (rng.random((800, 600)) < 0.02))
    first, second = (dcomp.LSA(5).fit(X) for _ in range(2))
    np.testing.assert_array_equal(first.components_, second.components_)
    largest = np.abs(first.components_).argmax(axis=1)
    assert (first.components_[np.arange(5), largest] > 0).all()
    counts = dcomp.as_counts([["tax", "law"], ["cat", "dog", "cat"], ["law", "dog"]])
    named = dcomp.LSA(2).fit(counts)
    assert named.feature_names_in_.tolist() == ["cat", "dog", "law", "tax"]
    assert named.get_feature_names_out().tolist() == ["lsa0", "lsa1"]


def test_there_and_back_and_the_biplot():
    lsa = dcomp.LSA(3, center=True)
    scores = lsa.fit_transform(W)
    np.testing.assert_allclose(lsa.inverse_transform(scores), W, atol=1e-8)  # of rank 3
    for balance in (0.0, 0.5, 1.0):
        plot = lsa.biplot(balance)
        np.testing.assert_allclose(plot.documents @ plot.features.T, W - W.mean(axis=0), atol=1e-8)


def test_wrong_numbers():
    with pytest.raises(InvalidParameter, match="at most the smaller side of the table, 5; got 6"):
        dcomp.LSA(6).fit(W)
    with pytest.raises(InvalidParameter, match="at least 1; got 0"):
        dcomp.LSA(0).fit(W)
    with pytest.raises(InvalidParameter, match="between 0 and 1; got 2"):
        dcomp.LSA(2).fit(W).biplot(2)
    constant = dcomp.LSA(2, center=True).fit(np.ones((4, 3)))
    assert np.isfinite(constant.explained_variance_ratio_).all()
