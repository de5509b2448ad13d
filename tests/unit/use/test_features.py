"""Components as features: the numbers by hand, and scikit-learn's ways with them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import dcomp
from dcomp.use import ComponentFeatures


@pytest.fixture(scope="module")
def words(planted):
    return planted[0].rows(slice(0, 80))


@pytest.fixture(scope="module")
def fitted(words):
    return dcomp.LDA(3, verbose=0).fit(words).fit_


def by_hand(fit, counts, least, idf):
    """BJ06 IX with loops: a row per document, words and then components."""
    c = fit.fold_in(counts).c
    raw = [
        [*row, *(value if value >= least else 0.0 for value in own)]
        for row, own in zip(counts.to_scipy().toarray(), c.astype(float), strict=True)
    ]
    n_docs, J = len(raw), len(raw[0])
    df = [sum(row[j] > 0 for row in raw) for j in range(J)]
    weight = {
        "smooth": [1 + np.log((1 + n_docs) / (1 + n)) for n in df],
        "plain": [np.log(n_docs / max(n, 1)) for n in df],
        None: [1.0] * J,
    }[idf]
    out = []
    for row in raw:
        value = [x * w for x, w in zip(row, weight, strict=True)]
        length = np.sqrt(sum(x * x for x in value))
        out.append([x / length if length else 0.0 for x in value])
    return np.array(out)


@pytest.mark.parametrize(("least", "idf"), [(0.01, "smooth"), (0.01, "plain"), (3.0, None)])
def test_features_are_those_by_hand(words, fitted, least, idf):
    features = ComponentFeatures(fitted, least=least, idf=idf, norm="l2")
    found = features.fit_transform(words)
    np.testing.assert_allclose(found.toarray(), by_hand(fitted, words, least, idf), atol=1e-12)
    assert found.nnz < found.shape[0] * found.shape[1]
    assert features.fit_ is fitted


def test_words_and_components_may_have_lengths_of_their_own(words, fitted):
    found = ComponentFeatures(fitted, balance=0.7).fit_transform(words).toarray()
    raw = ComponentFeatures(fitted, norm=None).fit_transform(words).toarray()
    for row, value in zip(raw, found, strict=True):
        own = [part / max(np.linalg.norm(part), 1e-300) for part in (row[:30], row[30:])]
        own = np.concatenate([own[0], 0.7 * own[1]])
        np.testing.assert_allclose(value, own / max(np.linalg.norm(own), 1e-300), atol=1e-12)


def test_words_alone_are_tf_idf_as_scikit_learn_has_it(words):
    expected = TfidfTransformer().fit_transform(words.to_scipy()).toarray()
    features = ComponentFeatures(use="words").fit(words)
    np.testing.assert_allclose(features.transform(words).toarray(), expected, atol=1e-12)
    assert not hasattr(features, "fit_")


def test_plain_idf_leaves_components_without_weight():
    """A component with a little of every document is all but lost with it: the reason for the
    default."""
    X = np.random.default_rng(0).poisson(5.0, (40, 6))
    plain = ComponentFeatures(2, use="components", idf="plain").fit(X)
    assert plain.idf_.tolist() == [0.0, 0.0]
    assert plain.transform(X).nnz == 0 or not plain.transform(X).toarray().any()
    assert (ComponentFeatures(2, use="components").fit(X).idf_ >= 1).all()


def test_components_come_from_numbers_estimators_and_fits(words):
    by_number = ComponentFeatures(2).fit_transform(words)
    by_estimator = ComponentFeatures(dcomp.LDA(2, verbose=0)).fit_transform(words)
    np.testing.assert_array_equal(by_number.toarray(), by_estimator.toarray())
    gap = ComponentFeatures(dcomp.GaP(2, exposure="total", verbose=0)).fit(words)
    assert gap.fit_.model.key == "GP"
    sampled = dcomp.DCA(2, model="CGP", max_iter=10, verbose=0)
    found = ComponentFeatures(sampled, use="components", idf=None, norm=None)
    totals = found.fit_transform(words).sum(axis=1)
    np.testing.assert_allclose(totals, words.doc_totals, atol=0.1)


def test_counts_for_an_index_are_whole_and_named():
    texts = ["football fans", "german football fans", "tax law", "tax congress law"]
    vector = CountVectorizer()
    X = vector.fit_transform(texts * 4)
    X = X.multiply(10).tocsr()
    features = ComponentFeatures(dcomp.LDA(2, alpha=0.1, verbose=0)).fit(X)
    index = features.index_counts(X)
    assert isinstance(index, dcomp.Counts)
    assert index.features.names == (*(f"x{j}" for j in range(6)), "component0", "component1")
    own = index.to_scipy().toarray()[:, 6:]
    np.testing.assert_array_equal(own.sum(axis=1), X.sum(axis=1).A1)
    np.testing.assert_array_equal(own, np.rint(features.fit_.fold_in(X).c))


def test_names_of_words_go_along():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"cat": [3, 0, 2], "dog": [0, 4, 1]})
    features = ComponentFeatures(2).fit(frame)
    assert features.get_feature_names_out().tolist() == ["cat", "dog", "component0", "component1"]
    alone = ComponentFeatures(2, use="components").fit(frame)
    assert alone.get_feature_names_out().tolist() == ["component0", "component1"]


def test_a_search_reaches_the_components():
    texts = ["football fans in Germany", "german football", "tax law in congress", "congress tax"]
    pipeline = make_pipeline(
        CountVectorizer(), ComponentFeatures(dcomp.LDA(2, max_iter=5, verbose=0)), LinearSVC()
    )
    grid = {
        "componentfeatures__components__n_components": [1, 2],
        "componentfeatures__use": ["words", "both"],
    }
    with pytest.warns(dcomp.ConvergenceWarning):
        search = GridSearchCV(clone(pipeline), grid, cv=2).fit(texts * 4, [0, 0, 1, 1] * 4)
    assert search.best_score_ == 1.0


def test_least_squares_has_no_expected_words(words):
    with pytest.raises(dcomp.UnsupportedCombination, match="squared loss is no likelihood"):
        ComponentFeatures(dcomp.NMF(2, loss="squared", verbose=0)).fit(words)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"components": 0}, "components must be"),
        ({"components": "fifty"}, "components must be a number, an estimator of dcomp"),
        ({"components": LinearSVC()}, "components must be a number, an estimator of dcomp"),
        ({"use": "topics"}, "use must be 'both', 'components', 'words'; got 'topics'"),
        ({"least": -1}, "least must be a number of words from 0 on; got -1"),
        ({"idf": "log"}, "idf must be 'smooth', 'plain', None; got 'log'"),
        ({"balance": 0}, "balance must be a positive number; got 0"),
        ({"balance": 2, "norm": "l2"}, "balance= has no effect with norm='l2'"),
        ({"norm": "max"}, "norm must be 'each', 'l2', None; got 'max'"),
    ],
)
def test_what_has_no_meaning_is_said(options, message):
    with pytest.raises(dcomp.InvalidParameter, match=message):
        ComponentFeatures(**options).fit([[1, 2], [3, 4]])
