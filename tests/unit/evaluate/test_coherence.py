"""Coherence: gensim's numbers, the definition written out, and cases worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dcomp
from dcomp.evaluate import coherence, exclusivity
from dcomp.evaluate.cooccurrence import in_documents, in_windows
from dcomp.reference import coherence as reference

WORDS = ["sun", "moon", "star", "sky", "night", "comet", "bread", "milk", "egg", "flour", "yeast"]
WORDS += ["salt", "vote", "law", "party", "bill", "seat", "poll"]
TOPICS = [["sun", "moon", "star", "sky"], ["bread", "milk", "egg", "vote"]]
TOPICS.append(["law", "the", "salt", "night"])
MEASURES = {"umass": "u_mass", "uci": "c_uci", "npmi": "c_npmi", "c_v": "c_v"}

# gensim 4.4.0, of `texts()` below, whose words come from whole-number arithmetic alone:
#   dictionary = Dictionary(texts())
#   CoherenceModel(topics=TOPICS, texts=texts(), dictionary=dictionary, coherence=name,
#                  corpus=[dictionary.doc2bow(t) for t in texts()]).get_coherence_per_topic()
GENSIM = {
    "u_mass": [-0.318257084, -13.22618306, -0.687210442],
    "c_uci": [0.373569499, -11.80532158, -0.544958553],
    "c_npmi": [0.16756154, -0.26830237, -0.129742267],
    "c_v": [0.820733264, 0.465802934, 0.452095735],
}


def texts():
    """Thirteen texts, shorter and longer than any window, one of them empty."""
    state, out = 7, []
    for length in (3, 7, 11, 15, 30, 60, 111, 130, 9, 10, 25, 40, 0):
        text = []
        for _ in range(length):
            state = (1103515245 * state + 12345) % 2**31
            kind = (state >> 8) % 10
            state = (1103515245 * state + 12345) % 2**31
            theme = len(out) % 3 if kind < 8 else kind
            text.append("the" if kind < 2 else WORDS[(6 * theme + (state >> 8) % 6) % 18])
        out.append(text)
    return out


@pytest.mark.parametrize("measure", MEASURES)
def test_numbers_of_gensim(measure):
    found = coherence(TOPICS, texts(), measure)
    np.testing.assert_allclose(found.values, GENSIM[MEASURES[measure]], atol=1e-8)
    assert found.mean == pytest.approx(np.mean(GENSIM[MEASURES[measure]]), abs=1e-8)
    assert found.window == {"umass": None, "c_v": 110}.get(measure, 10)
    again = coherence(TOPICS, texts(), MEASURES[measure])  # gensim's name for it
    assert np.array_equal(again.values, found.values)


@pytest.mark.parametrize("measure", MEASURES)
def test_gensim_itself(measure):
    pytest.importorskip("gensim")
    from gensim.corpora import Dictionary
    from gensim.models import CoherenceModel

    rng = np.random.default_rng(3)
    odds = rng.dirichlet([0.4] * 18)
    documents = [list(rng.choice(WORDS, n, p=odds)) for n in (0, 2, 9, 10, 11, 109, 110, 111, 300)]
    documents.append(WORDS)
    topics = [list(rng.permutation(WORDS)[:7]) for _ in range(5)]
    dictionary = Dictionary(documents)
    theirs = CoherenceModel(
        topics=topics,
        texts=documents,
        corpus=[dictionary.doc2bow(text) for text in documents],
        dictionary=dictionary,
        coherence=MEASURES[measure],
        processes=1,
    )
    found = coherence(topics, documents, measure)
    np.testing.assert_allclose(found.values, theirs.get_coherence_per_topic(), atol=1e-6)
    assert found.mean == pytest.approx(theirs.get_coherence(), abs=1e-6)


documents_of_numbers = st.lists(st.lists(st.integers(-1, 5), max_size=14), min_size=1, max_size=6)


@settings(max_examples=150, deadline=None)
@given(documents_of_numbers, st.integers(1, 9), st.booleans())
def test_windows_are_the_definition(documents, size, exact):
    counts = dcomp.Counts.from_ids(documents, n_features=6)
    topic = np.array([4, 0, 2, 5])
    found = in_windows(counts.sequences, [topic, topic[:2]], size, exact=exact)
    seen = (reference.windows if exact else reference.gensim_windows)(documents, size)
    assert found.n_windows == len(seen)
    by_hand = [[sum({a, b} <= window for window in seen) for b in topic] for a in topic]
    assert found.together[0].tolist() == by_hand
    assert found.together[1].tolist() == [row[:2] for row in by_hand[:2]]


@pytest.mark.parametrize("exact", [True, False])
def test_more_features_than_bits(exact):
    rng = np.random.default_rng(0)
    documents = [rng.integers(-1, 80, n).tolist() for n in (300, 5, 40)]
    counts = dcomp.Counts.from_ids(documents, n_features=80)
    topic = rng.permutation(80)
    found = in_windows(counts.sequences, [topic], 10, exact=exact).together[0]
    seen = (reference.windows if exact else reference.gensim_windows)(documents, 10)
    by_hand = [[sum({a, b} <= window for window in seen) for b in topic] for a in topic]
    assert found.tolist() == by_hand


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("exact", [True, False])
def test_the_definition(measure, exact):
    counts = dcomp.Counts.from_tokens(texts())
    documents = [counts.sequence(i).tolist() for i in range(counts.n_docs)]
    topic = [counts.features.names.index(word) for word in TOPICS[2]]
    size = {"umass": None, "c_v": 110}.get(measure, 10)
    slide = reference.windows if exact or size is None else reference.gensim_windows
    expected = reference.coherence(topic, slide(documents, size), measure)
    found = coherence([topic], counts, measure, exact_windows=exact)
    assert found.values[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("measure", ["uci", "npmi", "c_v"])
def test_without_an_order_documents_are_windows(measure):
    counts = dcomp.Counts.from_tokens(texts())
    bare = coherence(TOPICS, counts.without_order(), measure)
    assert (bare.window, bare.n_windows) == (None, counts.n_docs)
    by_name = coherence(TOPICS, counts, measure, window="document")
    wide = coherence(TOPICS, counts, measure, window=1000)
    assert np.array_equal(bare.values, by_name.values)
    np.testing.assert_allclose(bare.values, wide.values, rtol=1e-12)
    assert "over 13 documents" in str(bare)
    assert "windows of 1000 positions" in str(wide)


def test_words_that_are_no_feature_keep_their_places():
    """Stop words between two words keep them apart."""
    near = dcomp.Counts.from_tokens([["a", "b"]] * 3 + [["c"]])
    far = [["a", *["of"] * 20, "b"]] * 3 + [["c"]]
    apart = dcomp.Counts.from_tokens(far, vocabulary=["a", "b", "c"])
    assert coherence([["a", "b"]], near).values[0] == pytest.approx(1, abs=1e-9)
    assert coherence([["a", "b"]], apart).values[0] < -0.8


def test_counting_documents_by_hand():
    counts = dcomp.Counts.from_matrix([[1, 5, 0], [2, 0, 1], [0, 0, 1], [0, 1, 0]])
    assert in_documents(counts, [np.array([0, 1])]).together[0].tolist() == [[2, 1], [1, 2]]
    found = coherence([[0, 1]], counts, "umass")
    assert found.values[0] == pytest.approx(np.log(1 / 2))
    # p(0) p(1) = 1/2 · 1/2 = p(0, 1): neither together nor apart more than by chance.
    assert coherence([[0, 1]], counts, "uci").values[0] == pytest.approx(0, abs=1e-9)
    assert found.features == (("feature 0", "feature 1"),)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_feature_that_never_appears(measure):
    counts = dcomp.Counts.from_tokens(texts(), vocabulary=[*WORDS, "the", "ghost", "spirit"])
    found = coherence([["sun", "moon", "ghost"], ["ghost", "spirit"]], counts, measure)
    assert np.isfinite(found.values).all()
    assert found.n_absent == (1, 2)
    assert found.values[1] == 0


def test_a_fit_is_judged_by_its_top_features(planted):
    counts, _ = planted
    fitted = dcomp.LDA(3, verbose=0).fit(counts).fit_
    found = coherence(fitted, counts, "npmi", n_top=6)
    assert found.features == fitted.top_features(6).names
    assert len(found) == 3
    mixed = [[j, 10 + j, 20 + j] for j in range(3)]
    assert found.values.min() > coherence(mixed, counts, "npmi").values.max()
    of_numbers = coherence([[int(w.split()[1]) for w in row] for row in found.features], counts)
    np.testing.assert_allclose(of_numbers.values, found.values)


def test_a_block_alone():
    X = np.random.default_rng(0).poisson(1.0, (40, 6))
    counts = dcomp.Counts.from_matrix(X, blocks=[0, 0, 0, 0, 1, 1])
    fitted = dcomp.LDA(2, verbose=0).fit(counts).fit_
    found = coherence(fitted, counts, "umass", 2, block=1)
    assert {word for row in found.features for word in row} == {"1=feature 4", "1=feature 5"}
    share = (fitted.Theta / fitted.Theta.sum(axis=1, keepdims=True))[4:].mean(axis=0)
    np.testing.assert_allclose(exclusivity(fitted, 2, block=1), share, rtol=1e-5)
    assert coherence(fitted, counts, "umass", 2, block="1").features == found.features
    np.testing.assert_array_equal(
        exclusivity(fitted, 2, block="1"), exclusivity(fitted, 2, block=1)
    )


def test_exclusivity_by_hand(planted):
    counts, _ = planted
    fitted = dcomp.LDA(3, verbose=0).fit(counts).fit_
    Theta = fitted.Theta.astype(float)
    top = np.argsort(-Theta[:, 1])[:4]
    expected = np.mean(Theta[top, 1] / Theta[top].sum(axis=1))
    assert exclusivity(fitted, 4)[1] == pytest.approx(expected, rel=1e-6)
    alone = dcomp.LDA(1, verbose=0).fit(counts).fit_
    assert exclusivity(alone).tolist() == [1.0]


@pytest.mark.parametrize(
    ("topics", "options", "message"),
    [
        ([["a", "b"]], {"measure": "pmi"}, "measure must be one of umass, uci, npmi, c_v"),
        ([["a"]], {}, "component 0 must have 2 features; it has 1"),
        ([["a", "b"]], {"n_top": 1}, "component 0 must have 2 features"),
        ([["a", "b"]], {"n_top": 0}, "n_top must be at least 1"),
        ([["a", "x"]], {}, "'x' of component 0 is not"),
        ([[0, 7]], {}, "7 of component 0 is not"),
        ([], {}, "lists of features, one list per component"),
        ([["a", "b"]], {"window": 0}, "number of positions from 1; got 0"),
        ([["a", "b"]], {"window": "page"}, "'auto', 'document' or a number"),
    ],
)
def test_what_is_refused(topics, options, message):
    with pytest.raises(dcomp.InvalidParameter, match=message):
        coherence(topics, [["a", "b"], ["b"]], **options)


def test_a_window_needs_an_order():
    with pytest.raises(dcomp.InvalidCounts, match="needs the reading order"):
        coherence([[0, 1]], [[1, 2], [3, 4]], window=5)
