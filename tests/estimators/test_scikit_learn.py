"""scikit-learn's own checks.

Its checks feed fractional numbers. Estimators with `fractional=True` pass all of them. Without it
dcomp refuses such numbers by design (an error names the cell), so that the checks run twice more:
on the estimators as they are, with that refusal as the one explained failure, and on subclasses
that round their input first, where everything else that the contract asks must pass.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator
from sklearn.utils.validation import check_array

import dcomp

pytestmark = pytest.mark.usefixtures("short_tries")
FRACTIONS = "the check feeds fractional numbers, which are not counts"


class _Rounding:
    """Rounds what a check feeds to whole numbers; everything else is the estimator's own."""

    def fit(self, X, y=None):
        return super().fit(whole(X), y)

    def transform(self, X, exposure=None):
        return super().transform(whole(X), exposure)

    def predict(self, X, exposure=None):
        return super().predict(whole(X), exposure)

    def score(self, X, y=None):
        return super().score(whole(X), y)

    def _batch(self, X, earlier):  # of partial_fit and update
        return super()._batch(whole(X), earlier)


def whole(X):
    if sparse.issparse(X):
        return X.tocsr().astype(float).rint()
    try:
        numbers = check_array(
            X,
            dtype="numeric",
            ensure_all_finite=False,
            ensure_2d=False,
            allow_nd=True,
            ensure_min_samples=0,
            ensure_min_features=0,
        )
    except (TypeError, ValueError):
        return X
    if numbers.dtype.kind != "f":
        return X
    rounded = np.rint(numbers)
    if hasattr(X, "columns"):
        import pandas as pd

        return pd.DataFrame(rounded, columns=X.columns, index=X.index)
    return rounded


class RoundedLDA(_Rounding, dcomp.LDA):
    pass


class RoundedGaP(_Rounding, dcomp.GaP):
    pass


class RoundedCTM(_Rounding, dcomp.CTM):
    pass


class RoundedPLSA(_Rounding, dcomp.PLSA):
    pass


class RoundedNMF(_Rounding, dcomp.NMF):
    pass


class RoundedTreeDCA(_Rounding, dcomp.TreeDCA):
    pass


class RoundedStructuredDCA(_Rounding, dcomp.StructuredDCA):
    pass


CONFORMING = [  # those that are not rounded take any numbers
    RoundedLDA(2, verbose=0),
    RoundedGaP(2, verbose=0, tol=1e-2),
    RoundedPLSA(2, verbose=0, tol=1e-2),
    RoundedNMF(2, verbose=0, tol=1e-2),
    dcomp.NMF(2, loss="squared", verbose=0, tol=1e-2),
    dcomp.LSA(1),
    dcomp.LSA(1, center=True),
    RoundedCTM(2, start="mean-field", verbose=0, max_iter=30, tol=0),
    RoundedTreeDCA(2, 2, verbose=0, max_iter=10),
    RoundedStructuredDCA(2, verbose=0, max_iter=10, n_chains=2),
]


FRACTIONAL = [
    dcomp.DCA(2, fractional=True, verbose=0, max_iter=15),
    dcomp.DCA(2, algorithm="map", fractional=True, verbose=0, max_iter=15),
    dcomp.LDA(2, fractional=True, verbose=0, max_iter=15),
    dcomp.GaP(2, fractional=True, verbose=0, max_iter=15),
    dcomp.PLSA(2, fractional=True, verbose=0, max_iter=15),
    dcomp.PLSA(2, held_out=0.2, fractional=True, verbose=0),
    dcomp.NMF(2, fractional=True, verbose=0, max_iter=40),
    dcomp.CTM(2, fractional=True, verbose=0, max_iter=15),
    dcomp.TreeDCA(2, 2, algorithm="mean-field", fractional=True, verbose=0, max_iter=10),
]


def named(thing):
    """An estimator by its class, a check by its function, for the tests' names."""
    return getattr(getattr(thing, "func", thing), "__name__", type(thing).__name__)


# scikit-learn's own `parametrize_with_checks` hands pytest a generator before 1.9, which pytest
# deprecates.
@pytest.mark.parametrize(
    ("estimator", "check"),
    [pair for one in CONFORMING for pair in estimator_checks_generator(one, mark="xfail")],
    ids=named,
)
@pytest.mark.filterwarnings("ignore::dcomp.FlatTreeWarning")  # of tables without a structure
@pytest.mark.filterwarnings("ignore:least squares reached max_iter")  # of noise
def test_contract_on_whole_numbers(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", FRACTIONAL, ids=named)
@pytest.mark.filterwarnings("ignore::dcomp.ConvergenceWarning")
def test_contract_on_fractional_numbers(estimator):
    """No exception is made."""
    results = check_estimator(estimator, on_skip=None)
    assert {result["status"] for result in results} <= {"passed", "skipped"}
    assert sum(result["status"] == "passed" for result in results) >= 40


@pytest.mark.parametrize(
    "estimator", [dcomp.DCA, dcomp.LDA, dcomp.GaP, dcomp.PLSA, dcomp.NMF, dcomp.CTM]
)
def test_contract_as_is(estimator):
    results = check_estimator(estimator(2, verbose=0, tol=1e-2), on_fail=None, on_skip=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    for name, error in failed.items():
        assert "must be non-negative whole numbers" in chain(error), (name, FRACTIONS, error)
    passed = [r for r in results if r["status"] == "passed"]
    assert len(passed) >= 12  # those that feed no fractions


def chain(error: BaseException | None) -> str:
    texts = []
    while error is not None:
        texts.append(str(error))
        error = error.__cause__ or error.__context__
    return " <- ".join(texts)


@pytest.mark.parametrize("cls", [dcomp.DCA, dcomp.LDA, dcomp.GaP, dcomp.PLSA, dcomp.NMF, dcomp.CTM])
def test_clone_pipeline_and_names(cls):
    from sklearn.feature_extraction.text import CountVectorizer

    texts = ["football fans in Germany", "german football", "tax law in congress", "congress tax"]
    pipeline = make_pipeline(CountVectorizer(), cls(2, verbose=0))
    pipeline[-1].set_output(transform="pandas")
    scores = clone(pipeline).fit_transform(texts * 5)
    prefix = cls.__name__.lower()
    assert list(scores.columns) == [f"{prefix}0", f"{prefix}1"]
    assert scores.shape == (20, 2)


def test_grid_search_uses_the_heldout_score(planted):
    from sklearn.model_selection import GridSearchCV

    X = planted[0].to_scipy()
    search = GridSearchCV(dcomp.LDA(verbose=0), {"n_components": [1, 3]}, cv=3).fit(X)
    assert search.best_params_ == {"n_components": 3}


def test_frames_keep_names():
    import pandas as pd

    frame = pd.DataFrame({"cat": [1, 0, 4], "dog": [2, 5, 0]}, index=["d1", "d2", "d3"])
    model = dcomp.LDA(2, verbose=0).fit(frame)
    assert model.feature_names_in_.tolist() == ["cat", "dog"]
    assert model.fit_.doc_ids == ("d1", "d2", "d3")
    assert set(model.top_features(1)[0]) <= {"cat", "dog"}
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[["dog", "cat"]])


def test_token_lists():
    docs = [["cat", "cat", "dog"], ["tax", "law"], ["dog", "cat"], ["law", "tax", "tax"]]
    model = dcomp.LDA(2, verbose=0).fit(docs)
    assert model.feature_names_in_.tolist() == ["cat", "dog", "law", "tax"]
    new = model.transform([["law", "unheard"], ["cat"]])
    assert new.shape == (2, 2)
    assert new[0].argmax() != new[1].argmax()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "LSA"}, "no model 'LSA', the nearest name is 'plsa'; this version fits DM by"),
        ({"algorithm": "mcmc"}, "model DM has no algorithm 'mcmc'; this version fits"),
        ({"model": "CGP", "algorithm": "mean-field"}, "model CGP has no algorithm 'mean-field'"),
        ({"rho": 0.5}, "rho has no meaning for model DM"),
        ({"burn_in": 10}, "burn_in= is an option of the samplers"),
        ({"algorithm": "gibbs", "loadings": "vb"}, "loadings= is an option of mean-field"),
        ({"beta": 1.0}, "beta has no meaning for model DM"),
        ({"exposure": "total"}, "exposure has no meaning for model DM"),
        ({"model": "LN", "alpha": 0.1}, "alpha has no meaning for model LN"),
        ({"model": "LN", "alpha": "total-one"}, "alpha has no meaning for model LN"),
        ({"model": "LN", "rho": 0.1}, "rho has no meaning for model LN"),
        ({"model": "LN", "exposure": "total"}, "exposure has no meaning for model LN"),
        ({"model": "LN", "algorithm": "gibbs"}, "model LN has no algorithm 'gibbs'"),
        ({"model": "LN", "burn_in": 3}, "burn_in= is an option of the samplers, not laplace"),
        ({"model": "LN", "anneal": 3}, "anneal= is an option of the samplers, not laplace"),
        ({"model": "LN", "n_draws": 3}, "laplace makes none: model LN has no sampler"),
        ({"model": "LN", "gamma": "auto"}, "gamma='auto' is learned by gibbs"),
    ],
)
def test_what_does_not_exist_says_what_does(options, message):
    with pytest.raises(dcomp.UnsupportedCombination, match=message):
        dcomp.DCA(2, verbose=0, **options).fit([[1, 2], [3, 4]])


def test_total_one_and_empirical_priors(planted):
    counts, _ = planted
    fitted = dcomp.LDA(4, alpha="total-one", gamma="empirical", verbose=0).fit(counts).fit_
    assert fitted.model.scores.alpha.tolist() == [0.25] * 4
    gamma = fitted.model.loadings.gamma
    assert gamma.sum() == pytest.approx(1)
    expected = (counts.feature_totals + 1) / (counts.feature_totals + 1).sum()
    np.testing.assert_allclose(gamma, expected)


def test_auto_priors_are_learned_and_fixed_ones_are_not(planted):
    counts, _ = planted
    learned = dcomp.GaP(3, verbose=0).fit(counts).fit_.model.scores
    assert len(set(learned.alpha.tolist())) == 3
    fixed = dcomp.GaP(3, alpha=0.3, beta=0.2, verbose=0).fit(counts).fit_.model.scores
    assert fixed.alpha.tolist() == [0.3] * 3
    assert fixed.beta.tolist() == [0.2] * 3


def test_exposure_total_scales_scores(planted):
    counts = planted[0].rows(np.flatnonzero(planted[0].doc_totals > 20))
    model = dcomp.GaP(3, exposure="total", verbose=0).fit(counts)
    totals = model.transform(counts).sum(axis=1)
    np.testing.assert_allclose(totals, 1, atol=0.2)
    with pytest.raises(dcomp.InvalidParameter, match="give exposure= for these too"):
        dcomp.GaP(2, exposure=np.ones(counts.n_docs), verbose=0).fit(counts).transform(counts)


def test_an_unobserved_block_is_not_evidence():
    """Exposure 0 says "not looked at": the scores must be those without that block."""
    rng = np.random.default_rng(0)
    W = rng.poisson(3.0, (60, 8))
    blocks = [0] * 4 + [1] * 4
    seen = np.ones((60, 2))
    W[:5, 4:], seen[:5, 1] = 0, 0
    model = dcomp.GaP(2, alpha=0.5, beta=0.5, blocks=blocks, exposure=seen, verbose=0).fit(W)
    scores = model.transform(W, exposure=seen)
    blind = model.transform(W, exposure=np.ones((60, 2)))
    assert (scores[:5].sum(axis=1) > 1.5 * blind[:5].sum(axis=1)).all()
    np.testing.assert_allclose(scores[5:], blind[5:])
    bad = seen.copy()
    bad[7, 0] = 0
    with pytest.raises(dcomp.InvalidCounts, match=r"exposure 0 .* must hold no counts"):
        dcomp.GaP(2, blocks=blocks, exposure=bad, verbose=0).fit(W)


@pytest.mark.parametrize("blocks", [["x", "x", "y", "y"], [101, 101, 205, 205]])
def test_new_rows_of_a_frame_with_blocks(blocks):
    pd = pytest.importorskip("pandas")
    W = np.random.default_rng(0).poisson(3.0, (8, 4))
    frame = pd.DataFrame(W, columns=["a", "b", "c", "d"])
    model = dcomp.DCA(2, alpha=0.5, blocks=blocks, verbose=0).fit(frame)
    assert model.fit_.features.block_names == tuple(map(str, dict.fromkeys(blocks)))
    plain = dcomp.DCA(2, alpha=0.5, blocks=blocks, verbose=0).fit(W)
    np.testing.assert_array_equal(model.transform(frame), plain.transform(W))
