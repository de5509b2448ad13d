"""What is asked of new documents: one object answers it, and says in one way what it cannot."""

from __future__ import annotations

import numpy as np
import pytest

import dcomp
from dcomp.models.arrays import FloatArray


@pytest.fixture(scope="module")
def split(planted):
    return dcomp.data.train_test(planted[0], 0.2, seed=0)


MODELS = {
    "DM": lambda: dcomp.LDA(3, verbose=0),
    "GP": lambda: dcomp.GaP(3, verbose=0),
    "CGP": lambda: dcomp.DCA(3, model="CGP", max_iter=20, verbose=0),
    "LN": lambda: dcomp.CTM(3, start="seeded", max_iter=20, tol=0, verbose=0),
    "TM": lambda: dcomp.TreeDCA(2, 2, max_iter=20, verbose=0),
    "ST shared": lambda: dcomp.StructuredDCA(tree=[2, 2, -1], max_iter=20, n_chains=1, verbose=0),
    "ST document": lambda: dcomp.StructuredDCA(
        tree=[2, 2, -1], structure="document", max_iter=20, n_chains=1, verbose=0
    ),
    "ST CGP": lambda: dcomp.StructuredDCA(
        tree=[2, 2, -1], leaves="CGP", max_iter=20, n_chains=1, verbose=0
    ),
}
# Who has a fixed point, a sampler, a bound, leaves that are a flat model.
CAN = {
    "DM": (True, True, True, False),
    "GP": (True, True, True, False),
    "CGP": (False, True, False, False),
    "LN": (True, False, False, False),
    "TM": (True, True, True, False),
    "ST shared": (True, True, False, True),
    "ST document": (False, True, False, False),
    "ST CGP": (False, True, False, True),
}


@pytest.fixture(scope="module")
def fits(split):
    return {key: make().fit(split[0]).fit_ for key, make in MODELS.items()}


@pytest.mark.parametrize("key", MODELS)
def test_it_does_what_it_says_and_refuses_the_rest(fits, split, key):
    predictor, new = fits[key].predictor, split[1].rows(slice(0, 5))
    questions = (
        lambda: predictor.fold_in(new).scores,
        lambda: predictor.sample_scores(new, n_draws=3).mean,
        lambda: predictor.bound(new),
        lambda: predictor.leaves.Theta,
    )
    for can, ask in zip(CAN[key], questions, strict=True):
        if can:
            assert np.isfinite(ask()).all()
            continue
        with pytest.raises(dcomp.UnsupportedCombination, match=rf"^model {key[:2]}\w*: \w"):
            ask()
    assert predictor.has_fixed_point == CAN[key][0]
    assert predictor.has_bound == CAN[key][2]


@pytest.mark.parametrize("key", MODELS)
def test_the_fit_hands_every_question_on(fits, split, key):
    fit, new = fits[key], split[1].rows(slice(0, 5))
    assert np.array_equal(fit.transform(new), fit.predictor.transform(new))
    assert fit.predictor is fit.predictor
    if CAN[key][0]:
        assert np.array_equal(fit.fold_in(new).c, fit.predictor.fold_in(new).c)


@pytest.mark.parametrize("key", MODELS)
def test_it_needs_no_fit(fits, split, key):
    """What it holds is enough: nothing of the record is asked for."""
    import pickle

    predictor, new = fits[key].predictor, split[1].rows(slice(0, 5))
    again = pickle.loads(pickle.dumps(predictor))
    assert np.array_equal(again.transform(new), predictor.transform(new))


def shares(scores: FloatArray) -> FloatArray:
    return scores / scores.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("key", MODELS)
def test_word_probability_is_the_mixture_of_the_loadings(fits, split, key):
    fit, new = fits[key], split[1].rows(slice(0, 5))
    whole = fit.predictor.word_probability(new, range(30))
    np.testing.assert_allclose(whole.sum(axis=1), 1, rtol=1e-5)
    scores = fit.transform(new).astype(float)
    np.testing.assert_allclose(whole, shares(scores) @ fit.Theta.T, rtol=1e-5)
    assert np.array_equal(fit.predictor.word_probability(new, [7, 2]), whole[:, [7, 2]])


def test_words_by_name_and_within_their_block(split):
    names = [f"w{j}" for j in range(15)] * 2
    counts = dcomp.Counts.from_matrix(
        split[0].to_scipy(), feature_names=names, blocks=["title"] * 15 + ["body"] * 15
    )
    predictor = dcomp.LDA(3, verbose=0).fit(counts).fit_.predictor
    new = counts.rows(slice(0, 4))
    found = predictor.word_probability(new, ["title=w3", "body=w3"])
    assert np.array_equal(found, predictor.word_probability(new, [3, 18]))
    by_block = predictor.word_probability(new, range(15))
    np.testing.assert_allclose(by_block.sum(axis=1), 1, rtol=1e-5)
    with pytest.raises(dcomp.InvalidParameter, match="'w99'"):
        predictor.word_probability(new, ["w99"])
    with pytest.raises(dcomp.InvalidParameter, match=r"\[0, 30\); got 30"):
        predictor.word_probability(new, [30])
    with pytest.raises(dcomp.InvalidParameter, match="a list of names or numbers; got the text"):
        predictor.word_probability(new, "title=w3")
    with pytest.raises(dcomp.InvalidParameter, match="names or numbers of features; got"):
        predictor.word_probability(new, [("title", "w3")])


def test_a_document_without_words_has_even_words_under_zero_scores():
    from dcomp.predict.words import word_probability

    Theta = np.array([[0.5, 0.1], [0.5, 0.9]])
    found = word_probability(np.array([[0.0, 0.0], [2.0, 0.0]]), Theta, np.array([0, 1]))
    np.testing.assert_allclose(found, [[0.3, 0.7], [0.5, 0.5]])


def test_a_table_without_blocks_is_matched_by_the_names_of_its_columns():
    """As a file has them: with the block in front, or plain where that is enough."""
    X = np.random.default_rng(0).integers(0, 2, (12, 4))
    spaces = {
        "alike": (["yea", "nay"] * 2, ["RC5", "RC5", "RC6", "RC6"]),
        "apart": (["yes5", "no5", "yes6", "no6"], ["RC5", "RC5", "RC6", "RC6"]),
    }
    for names, blocks in spaces.values():
        counts = dcomp.Counts.from_matrix(X, feature_names=names, blocks=blocks)
        fit = dcomp.DCA(2, verbose=0).fit(counts).fit_
        expected = fit.transform(counts)
        labels = [counts.features.name(j) for j in range(4)]
        plain = dcomp.Counts.from_matrix(X[:, ::-1], feature_names=labels[::-1])
        np.testing.assert_array_equal(fit.transform(plain), expected)
        if len(set(names)) == 4:
            plain = dcomp.Counts.from_matrix(X[:, ::-1], feature_names=names[::-1])
            np.testing.assert_array_equal(fit.transform(plain), expected)


def test_new_documents_of_a_tempered_fit_are_tempered():
    """At rest m_k ∝ Σ_j w_j (m_k θ_jk)^β / Σ_k (m_k θ_jk)^β, with the fit's own β."""
    truth = dcomp.models.DirichletMultinomial.build(4, alpha=0.5, gamma=0.5)
    space = dcomp.data.FeatureSpace.build(80)
    counts, *_ = truth.simulate(space, np.full(150, 40), np.random.default_rng(14))
    fits = [
        dcomp.PLSA(8, held_out=0.1, max_iter=500, random_state=seed, verbose=0)
        .fit(counts.rows(slice(0, 100)))
        .fit_
        for seed in range(3)
    ]
    fit = min(fits, key=lambda fit: fit.temper)
    beta = fit.predictor.temper
    assert beta == fit.temper < 1
    W = counts.rows(slice(100, None)).to_scipy().toarray()
    m = fit.predictor.fold_in(W, max_inner=5000, tol=1e-7).scores.astype(float)

    def update(power):
        part = (m[:, None, :] * fit.Theta.astype(float)) ** power  # (I, J, K)
        part /= np.maximum(part.sum(axis=2, keepdims=True), 1e-300)
        return np.einsum("ij,ijk->ik", W, part) / W.sum(axis=1, keepdims=True)

    seen = np.isclose(W @ (fit.Theta.sum(axis=1) == 0), 0)  # no word that the fit never saw
    np.testing.assert_allclose(update(beta)[seen], m[seen], atol=2e-3)
    assert np.abs(update(1.0)[seen] - m[seen]).max() > 0.05
