"""Counts whose sums pass 2^31: samplers refuse them before they begin, all else carries them."""

from __future__ import annotations

import numpy as np
import pytest

import dcomp
from dcomp import evaluate
from dcomp.data import Counts
from dcomp.errors import InvalidCounts
from dcomp.inference import CollapsedGibbs, Gibbs, MeanField
from dcomp.inference.room import require_document_room, require_room
from dcomp.models import Observations

LIMIT = 2**31 - 1
LONG = np.full((3, 4), 2**30)  # documents of 2^32 words
MANY = np.array([[LIMIT - 1, 1]] * 5)  # documents that fit, and features that do not
SMALL = np.random.default_rng(0).poisson(3.0, (20, 4))
KINDS = {
    "DM": dcomp.models.DirichletMultinomial.build(2, alpha=0.5),
    "GP": dcomp.models.GammaPoisson.build(2, alpha=0.5, beta=1.0),
    "CGP": dcomp.models.ConditionalGammaPoisson.build(2, alpha=0.5, beta=1.0, rho=0.5),
}


def observed(X, **names):
    return Observations.build(Counts.from_matrix(X, **names))


def test_what_just_fits_is_taken():
    require_room(observed([[LIMIT]]), "gibbs")
    require_room(observed([[LIMIT - 1, 0], [0, 1]]), "gibbs")
    # Blocks have totals of their own: 2^32 - 2 words in all.
    require_room(observed([[LIMIT, 0], [0, LIMIT]], blocks=["a", "b"]), "gibbs")


@pytest.mark.parametrize(
    ("X", "blocks", "pairs", "message"),
    [
        ([[1, 0], [LIMIT, 1]], None, False, "a document must .* found 2147483648 at document 'd1'"),
        ([[LIMIT, 1], [1, 0]], ["a", "b"], False, "a document must .* found 2147483648"),
        ([[LIMIT, 0], [0, 1]], None, False, "a block .* found 2147483648 in the only block"),
        ([[LIMIT, 1], [1, 9]], ["a", "b"], False, "a document must"),
        ([[LIMIT, 0], [1, 9]], ["a", "b"], False, "a block .* found 2147483648 in block 'a'"),
        ([[LIMIT, 0], [0, 1]], ["a", "b"], True, "all documents must .* found 2147483648 in these"),
    ],
)
def test_one_word_more_is_refused(X, blocks, pairs, message):
    seen = observed(X, blocks=blocks, doc_ids=["d0", "d1"])
    with pytest.raises(InvalidCounts, match=f"gibbs counts in 32 bits: the words of {message}"):
        require_room(seen, "gibbs", pairs=pairs)


def test_only_documents_matter_to_what_looks_at_one_at_a_time():
    require_document_room(observed(MANY), "sampling")
    with pytest.raises(InvalidCounts, match="the words of a document"):
        require_document_room(observed(LONG), "sampling")


@pytest.mark.parametrize("kind", [Gibbs, CollapsedGibbs])
@pytest.mark.parametrize("X", [LONG, MANY], ids=["long", "many"])
@pytest.mark.parametrize("start", ["random", "mean-field"])
@pytest.mark.parametrize("key", KINDS)
def test_samplers_refuse_before_they_begin(key, X, kind, start):
    algorithm = kind(burn_in=1, start=start)
    with pytest.raises(InvalidCounts, match=f"{algorithm.name} counts in 32 bits.*mean-field"):
        dcomp.fit(Counts.from_matrix(X), KINDS[key], algorithm, max_iter=3)


def test_structured_components_and_their_scores_refuse():
    fit = dcomp.StructuredDCA(tree=[2, 2, -1], max_iter=6, verbose=0).fit(SMALL).fit_
    with pytest.raises(InvalidCounts, match="collapsed-gibbs counts in 32 bits"):
        dcomp.StructuredDCA(tree=[2, 2, -1], max_iter=6, verbose=0).fit(LONG)
    for X in (LONG, np.array([[LIMIT - 1, 1, 0, 0]] * 2)):
        with pytest.raises(InvalidCounts, match="sampling counts in 32 bits"):
            fit.sample_scores(X)


@pytest.mark.parametrize("start", ["random", "mean-field"])
@pytest.mark.parametrize("K", [1, 2])
def test_the_largest_document_that_fits_is_sampled_whole(K, start):
    X = np.array([[LIMIT - 1, 1]])
    model = dcomp.models.DirichletMultinomial.build(K, alpha=0.5)
    with np.errstate(invalid="raise"):  # what 32 bits cannot hold is no whole number
        fit = dcomp.fit(Counts.from_matrix(X), model, Gibbs(burn_in=1, start=start), max_iter=4)
    assert fit.state.c.sum(dtype=np.int64) == LIMIT
    assert fit.state.n.min() >= 0
    assert fit.state.n.sum(axis=1, dtype=np.int64).tolist() == X[0].tolist()


def test_a_start_by_sampling_says_which_start_will_do():
    with pytest.raises(InvalidCounts, match=r"start='collapsed-gibbs' counts.*start='mean-field'"):
        dcomp.CTM(2, max_iter=3, verbose=0).fit(LONG)


@pytest.mark.parametrize("X", [LONG, MANY], ids=["long", "many"])
@pytest.mark.filterwarnings("ignore::dcomp.errors.ConvergenceWarning")
@pytest.mark.parametrize(
    "estimator",
    [
        dcomp.LDA(2, max_iter=5, verbose=0),
        dcomp.LDA(2, algorithm="map", max_iter=5, verbose=0),
        dcomp.GaP(2, max_iter=5, verbose=0),
        dcomp.PLSA(2, max_iter=5, verbose=0),
        dcomp.PLSA(2, max_iter=5, held_out=0.1, verbose=0),
        dcomp.NMF(2, max_iter=5, verbose=0),
        dcomp.NMF(2, solver="multiplicative", max_iter=5, verbose=0),
        dcomp.CTM(2, start="mean-field", max_iter=5, verbose=0),
    ],
    ids=["lda", "map", "gap", "plsa", "tempered", "nmf", "multiplicative", "ctm"],
)
def test_climbers_lose_no_count(estimator, X):
    fit = estimator.fit(X).fit_
    assert np.isfinite(fit.objective)
    np.testing.assert_allclose(fit.state.n.sum(axis=1, dtype=np.float64), X.sum(axis=0), rtol=1e-5)


def test_evaluation_of_long_documents():
    fit = dcomp.LDA(2, alpha=0.5, max_iter=20, tol=0, verbose=0).fit(SMALL).fit_
    wide = np.full((3, 4), 2**30)
    assert np.isfinite(evaluate.completion(fit, wide).log_likelihood)
    np.testing.assert_allclose(fit.transform(wide).sum(axis=1), 1, rtol=1e-5)
    assert np.isfinite(fit.bound(wide)).all()
    with pytest.raises(InvalidCounts, match="left_to_right goes token by token: with 20 particles"):
        evaluate.left_to_right(fit, [[1, 2, 3, 2**27]])
    for ask in (fit.sample_scores, lambda X: fit.transform(X, method="sampling")):
        with pytest.raises(InvalidCounts, match=r"sampling counts in 32 bits.*'fixed-point'"):
            ask(wide)
    with pytest.raises(InvalidCounts, match="sampling counts in 32 bits"):
        evaluate.score_posterior(fit, wide)
    for alpha in (0.5, "auto"):
        with pytest.raises(InvalidCounts, match=r"evidence counts in 32 bits.*completion"):
            evaluate.evidence(wide, 2, alpha=alpha, n_sweeps=4)


def test_exposure_by_total_of_long_documents():
    counts, how = Counts.from_matrix(LONG), {"exposure": "total", "max_iter": 5, "tol": 0}
    fit = dcomp.fit(counts, KINDS["GP"], MeanField(), **how)
    assert fit.exposure.tolist() == [[2.0**32]] * 3
    assert np.isfinite(fit.objective)
