"""Queries as users give them, and what is said of those that cannot be answered."""

import numpy as np
import pytest

import dcomp
from dcomp.data import FeatureSpace
from dcomp.use import QueryLikelihood
from dcomp.use.query_words import as_queries

TEXTS = ["Football fans sing.", "Fans of football sang", "Rain in the hills", "hills and rains"]


@pytest.fixture(scope="module")
def counts():
    return dcomp.Counts.from_texts(TEXTS, stem="english")


@pytest.fixture(scope="module")
def fit(counts):
    return dcomp.LDA(2, alpha=0.3, verbose=0).fit(counts).fit_


def test_a_text_is_read_as_the_texts_of_the_fit(fit):
    asked = as_queries("Raining, on FANS of football!", fit.features, fit.text, quiet=True)
    names = [fit.features.names[j] for j in asked.indices]
    assert names == ["fan", "footbal", "rain"]


def test_texts_tokens_counts_and_tables_are_the_same_query(fit):
    by_text = as_queries(["fans rain", "rain rain"], fit.features, fit.text).to_scipy().toarray()
    tokens = as_queries([["fan", "rain"], ["rain", "rain"]], fit.features).to_scipy().toarray()
    counts = dcomp.Counts.from_tokens([["fan", "rain"], ["rain", "rain"]])
    assert (by_text == tokens).all()
    assert (as_queries(counts, fit.features).to_scipy().toarray() == tokens).all()
    assert (as_queries(tokens, fit.features).to_scipy().toarray() == tokens).all()


def test_a_word_is_asked_of_every_block_or_of_the_one_that_is_named():
    space = FeatureSpace.build(3, ["cat", "cat", "dog"], ["title", "body", "body"])
    assert as_queries("cat", space).to_scipy().toarray().tolist() == [[1, 1, 0]]
    assert as_queries([[("body", "cat")]], space).to_scipy().toarray().tolist() == [[0, 1, 0]]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("  ", "must not be empty"),
        ("of the", "must have a word that the fit knows; 'of the' has none"),
        (["rain", "xyzzy"], "'xyzzy' has none"),
        ([[]], "must not be empty"),
        ([], "one query at least"),
        ([["xyzzy"]], "has none"),
        (np.zeros((1, 3)), "query '0' has none"),
    ],
)
def test_queries_without_words_are_refused(fit, query, said):
    if isinstance(query, np.ndarray):
        query = np.zeros((1, fit.features.n_features))
    with pytest.raises(dcomp.errors.InvalidParameter, match=said):
        as_queries(query, fit.features, fit.text, quiet=True)


@pytest.mark.filterwarnings("default::dcomp.errors.DataWarning")
def test_words_that_are_not_known_are_named(fit):
    with pytest.warns(dcomp.DataWarning, match="'snow'"):
        as_queries("rain and snow", fit.features, fit.text)


@pytest.mark.parametrize("method", ["sampling", "harmonic", "importance", "plug-in"])
def test_one_seed_one_answer_for_any_threads_and_company(fit, counts, method):
    likelihood = QueryLikelihood(fit, method, n_draws=60, seed=4, n_jobs=1)
    both = likelihood.score(["football fans", "rain"], counts)
    again = QueryLikelihood(fit, method, n_draws=60, seed=4, n_jobs=3)
    assert (again.score(["rain"], counts) == both[1:]).all()
    assert both[0, :2].min() > both[0, 2:].max()
    assert both[1, 2:].min() > both[1, :2].max()


@pytest.mark.parametrize("method", ["sampling", "importance"])
def test_draws_serve_all_queries(fit, counts, method):
    likelihood = QueryLikelihood(fit, method, n_draws=40)
    draws = likelihood.draw(counts)
    for query in ("football fans", "rain in hills"):
        assert (likelihood.score(query, draws) == likelihood.score(query, counts)).all()


def test_documents_in_runs_have_the_same_draws(fit, counts, monkeypatch):
    likelihood = QueryLikelihood(fit, n_draws=40)
    whole = likelihood.score("football", counts)
    monkeypatch.setattr("dcomp.use.queries.ROOM", 1)
    assert likelihood.score("football", counts) == pytest.approx(whole, abs=1e-12)


def test_what_cannot_be_done_is_told(fit, counts):
    with pytest.raises(dcomp.errors.InvalidParameter, match="method must be one of 'sampling'"):
        QueryLikelihood(fit, "exact")
    with pytest.raises(dcomp.errors.InvalidParameter, match="no draws that serve every query"):
        QueryLikelihood(fit, "harmonic").draw(counts)
    correlated = dcomp.CTM(2, tol=10.0, verbose=0).fit(counts).fit_
    with pytest.raises(dcomp.errors.UnsupportedCombination):
        QueryLikelihood(correlated)
    assert QueryLikelihood(correlated, "plug-in").score("rain", counts).shape == (1, 4)


def test_a_structure_is_asked_by_its_nodes(counts):
    model = dcomp.StructuredDCA(tree=[-1, 0, 0], max_iter=20, n_chains=1, verbose=0).fit(counts)
    found = QueryLikelihood(model, n_draws=100).score("rain", counts)
    assert np.isfinite(found).all()
    assert (found < 0).all()


def test_words_that_no_component_has_are_impossible_and_no_nan():
    fit = dcomp.PLSA(2, verbose=0).fit([[3, 1, 0], [0, 2, 0]]).fit_
    found = QueryLikelihood(fit, "plug-in").score([[0, 1, 1], [1, 0, 0]], [[3, 1, 0]])
    assert np.isneginf(found[0, 0])
    assert np.isfinite(found[1, 0])
