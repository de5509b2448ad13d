"""Classes by components: the posterior by quadrature, labels that are missing, topics."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import dcomp
from dcomp.use import ComponentClassifier
from dcomp.use.labels import Labels


@pytest.fixture(scope="module")
def corpus():
    """240 documents of three classes, whose words differ a little."""
    rng = np.random.default_rng(3)
    Theta = rng.dirichlet(np.full(40, 0.3), size=3)
    y = rng.integers(0, 3, 240)
    m = np.stack([rng.dirichlet(np.where(np.arange(3) == c, 4.0, 0.4)) for c in y])
    X = np.array([rng.multinomial(40, row @ Theta) for row in m])
    return X, np.array(["ape", "bee", "cat"])[y]


def test_probabilities_are_the_posterior(corpus):
    """With the loadings given, p(class | words) is an integral over the share of one component."""
    X, y = corpus
    X, y = X[y != "cat"], y[y != "cat"]
    model = ComponentClassifier(dcomp.LDA(2, alpha=0.7, verbose=0), method="sampling").fit(X, y)
    new = X[:4] // 8  # of few words the posterior is wide
    found = model.predict_proba(np.repeat(new, 60, axis=0)).reshape(4, 60, 2).mean(axis=1)
    theta = np.asarray(model.fit_.Theta[:40], np.float64)
    m = (np.arange(20_000) + 0.5) / 20_000
    share = np.stack([m, 1 - m])
    prior = stats.beta.logpdf(m, 0.7, 0.7)
    for row, p in zip(new, found, strict=True):
        log_p = prior + row @ np.log(theta @ share)
        weight = np.exp(log_p - log_p.max())
        mean = (share * weight).sum(axis=1) / weight.sum()
        np.testing.assert_allclose(p, mean @ model.class_loadings_, atol=0.01)


def test_only_words_speak_of_a_new_document(corpus):
    """Its class block is empty, and so has no say in its scores."""
    X, y = corpus
    model = ComponentClassifier(4).fit(X, y)
    fitted = model.fit_
    assert fitted.features.block_names == ("words", "class")
    alone = np.hstack([X[:5], np.zeros((5, 3), int)])
    expected = fitted.transform(alone) @ model.class_loadings_
    np.testing.assert_allclose(model.predict_proba(X[:5]), expected, rtol=1e-5)
    np.testing.assert_allclose(model.class_loadings_.sum(axis=1), 1, rtol=1e-5)
    assert model.score(X, y) > 0.9


def test_labels_that_are_missing_do_not_matter_how(corpus):
    X, y = corpus
    number = np.unique(y, return_inverse=True)[1]
    hidden = np.arange(len(y)) % 3 == 0
    as_number = ComponentClassifier(3).fit(X, np.where(hidden, -1, number))
    as_none = ComponentClassifier(3).fit(X, [None if h else c for h, c in zip(hidden, y)])  # noqa: B905
    as_nan = ComponentClassifier(3).fit(X, np.where(hidden, np.nan, number))
    assert as_number.classes_.tolist() == [0, 1, 2]
    assert as_none.classes_.tolist() == ["ape", "bee", "cat"]
    expected = as_number.predict_proba(X)
    for other in (as_none, as_nan):
        np.testing.assert_array_equal(other.predict_proba(X), expected)


def test_documents_without_a_label_help(corpus):
    y = corpus[1]
    X = np.random.default_rng(0).binomial(corpus[0], 0.4)  # of which single documents say less
    few = np.concatenate([np.flatnonzero(y == c)[:2] for c in np.unique(y)])
    partly = np.full(len(y), None)
    partly[few] = y[few]
    rest = np.setdiff1d(np.arange(len(y)), few)
    with_all = ComponentClassifier(3).fit(X, partly).score(X[rest], y[rest])
    alone = ComponentClassifier(3).fit(X[few], y[few]).score(X[rest], y[rest])
    assert with_all > 0.9
    assert with_all > alone + 0.05


def test_a_weight_makes_components_follow_the_class():
    """Words have more to say of something else; two components can show one of the two only."""
    rng = np.random.default_rng(5)
    other, y = rng.integers(0, 2, 200), rng.integers(0, 2, 200)
    rates = np.full((200, 12), 1.0)
    rates[:, :4] += 6.0 * other[:, None]
    rates[:, 4:8] += 6.0 * (1 - other[:, None])
    rates[:, 8:10] += 1.5 * y[:, None]
    rates[:, 10:] += 1.5 * (1 - y[:, None])
    X = rng.poisson(rates)
    light = ComponentClassifier(2, weight=1).fit(X[:150], y[:150])
    heavy = ComponentClassifier(2, weight=200).fit(X[:150], y[:150])
    assert np.ptp(light.class_loadings_[:, 0]) < 0.5 < np.ptp(heavy.class_loadings_[:, 0])
    assert heavy.score(X[150:], y[150:]) > light.score(X[150:], y[150:]) + 0.1


def test_topics_by_name_or_as_a_table(corpus):
    X, y = corpus
    lists = [[c] if i % 2 else [c, "odd"] for i, c in enumerate(y)]
    lists[3], lists[4] = None, []
    by_name = ComponentClassifier(4).fit(X, lists)
    assert by_name.classes_.tolist() == ["ape", "bee", "cat", "odd"]
    table = Labels.read(lists).codes
    assert table[3].tolist() == [-1] * 4
    assert table[4].tolist() == [0] * 4
    as_table = ComponentClassifier(4).fit(X, table)
    p = by_name.predict_proba(X)
    np.testing.assert_array_equal(as_table.predict_proba(X), p)
    np.testing.assert_array_equal(by_name.predict(X), (p >= 1 / 3).astype(int))
    assert (
        by_name.predict(X)[:, :3].argmax(axis=1) == np.unique(y, return_inverse=True)[1]
    ).mean() > 0.9
    assert by_name.score(X, lists) == as_table.score(X, table)


def test_topics_share_the_weight_of_a_document():
    labels = Labels.read([["a", "b"], [], None, ["b"]])
    block = labels.as_counts(50, None, fractional=False)
    assert block.features.names == ("a", "b", "(no topic)")
    assert block.to_scipy().toarray().tolist() == [[25, 25, 0], [0, 0, 50], [0, 0, 0], [0, 50, 0]]
    partly = Labels.read(np.array([[1, -1], [0, -1]]))  # of the second nothing is known to be there
    assert partly.as_counts(50, None, fractional=False).doc_totals.tolist() == [50, 0]


def test_models_of_lengths_watch_the_label_as_long_as_it_is(corpus):
    X, y = corpus
    model = ComponentClassifier(dcomp.GaP(4, verbose=0)).fit(X, np.where(y == "cat", None, y))
    exposure = model.fit_.exposure
    assert exposure[:, 0].tolist() == X.sum(axis=1).tolist()
    assert set(exposure[y == "cat", 1]) == {0.0}
    known = y != "cat"
    assert model.score(X[known], y[known]) > 0.9


def test_a_search_scores_the_known_only(corpus):
    X, y = corpus
    number = np.unique(y, return_inverse=True)[1]
    partly = np.where(np.arange(len(y)) % 4 == 0, -1, number)
    base = ComponentClassifier(dcomp.LDA(2, tol=1.0, verbose=0))
    search = GridSearchCV(clone(base), {"weight": [1, 50], "components__n_components": [3]}, cv=2)
    search.fit(X, partly)
    assert search.best_score_ > 0.8
    assert base.components.n_components == 2


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([1, 1], {}, "two classes or more; it has one class, 1"),
        ([-1, 1], {}, "-1 stands for unknown: where it is a class, unknown=None"),
        ([None, None], {}, "two classes or more; all 2 are unknown"),
        ([0, 1], {"weight": 0}, "weight must be a positive number of words; got 0"),
        ([0, 1], {"weight": 1.5}, "weight must be whole where counts are"),
        ([0, 1], {"method": "guess"}, "method must be one of 'auto', 'fixed-point', 'sampling'"),
        ([0, 1], {"components": None}, "components must be a number"),
        ([["a"], "b"], {}, "topics must be a list for each document"),
        ([[0, 2], [1, 0]], {}, "must hold 0 and 1.*found 2 at document 0, topic 1"),
        (None, {}, "requires y to be passed"),
    ],
)
def test_what_has_no_meaning_is_said(y, options, message):
    with pytest.raises(dcomp.InvalidParameter, match=message):
        ComponentClassifier(**options).fit([[1, 2], [3, 4]], y)


def test_labels_must_be_as_many_as_documents():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ComponentClassifier(2).fit([[1, 2], [3, 4]], [0, 1, 1])
    with pytest.raises(ValueError, match="Unknown label type"):
        ComponentClassifier(2).fit([[1, 2], [3, 4]], [0.3, 1.7])
