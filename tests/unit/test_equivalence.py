"""One fit under another name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import dcomp
from dcomp.errors import InvalidParameter
from dcomp.evaluate import score_shapes
from dcomp.models.equivalence import Aspects, multinomial_from_poisson, poisson_from_multinomial

tables = hnp.arrays(np.float64, (4, 3), elements=st.floats(0, 1e6, allow_subnormal=False))


@settings(max_examples=50, deadline=None)
@given(L=tables, exposure=st.floats(0.1, 10))
def test_there_and_back(L, exposure):
    m, lengths = multinomial_from_poisson(L, exposure)
    np.testing.assert_allclose(m.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(
        poisson_from_multinomial(m, lengths, exposure), L, rtol=1e-9, atol=1e-290
    )


def test_three_readings_of_one_fit():
    """PLSA's shares, NMF's factors and the symmetric form all predict the same table."""
    rng = np.random.default_rng(0)
    W = rng.poisson(3.0, (20, 12))
    plsa = dcomp.PLSA(3, max_iter=300, verbose=0).fit(W)
    lengths = W.sum(axis=1)
    L = poisson_from_multinomial(plsa.fit_.scores, lengths)
    Theta = plsa.fit_.Theta
    aspects = Aspects.from_factors(L, Theta)
    assert aspects.p_z.sum() == pytest.approx(1)
    np.testing.assert_allclose(aspects.joint * W.sum(), L @ Theta.T, rtol=1e-5)
    np.testing.assert_allclose((L @ Theta.T).sum(axis=1), lengths, rtol=1e-5)


def test_plsa_ends_above_lda_on_its_own_words_and_below_on_others(planted):
    """Without priors the training words fit better, and that is all."""
    counts = planted[0]
    W = counts.to_scipy().toarray()
    plsa, lda = (
        cls(5, verbose=0, max_iter=400, tol=0).fit(counts).fit_ for cls in (dcomp.PLSA, dcomp.LDA)
    )

    def words(fit):
        return (W * np.log(fit.scores @ fit.Theta.T + 1e-300)).sum()

    assert words(plsa) > words(lda)
    assert (np.diff(plsa.history["objective"]) > -1e-5 * abs(plsa.objective)).all()


def test_plsa_is_an_estimator_of_its_own():
    model = dcomp.PLSA(2, max_inner=5, verbose=0)
    assert set(model.get_params()) >= {"n_components", "max_inner", "tol"}
    assert "alpha" not in model.get_params()
    fitted = model.fit([[3, 0, 1], [0, 4, 1], [2, 0, 0]]).fit_
    assert fitted.algorithm.max_inner == 5
    assert fitted.algorithm.loadings == "map"
    new = model.transform([[0, 0, 0], [1, 0, 0]])
    np.testing.assert_allclose(new.sum(axis=1), 1, rtol=1e-5)


def test_what_cannot_be_read_so():
    with pytest.raises(InvalidParameter, match="scores must be a table of finite numbers"):
        multinomial_from_poisson([[1.0, -1.0]])
    with pytest.raises(InvalidParameter, match=r"one finite number per document \(2\)"):
        poisson_from_multinomial([[1.0, 0.0], [0.5, 0.5]], [1.0, 2.0, 3.0])
    with pytest.raises(InvalidParameter, match="same number of components; got 2 and 3"):
        Aspects.from_factors(np.ones((4, 2)), np.ones((5, 3)))


@pytest.mark.parametrize(("shape", "scale"), [(0.7, 200.0), (1.3, 80.0), (4.0, 30.0)])
def test_the_shape_of_scores_comes_back(shape, scale):
    rng = np.random.default_rng(1)
    rates = rng.gamma(shape, scale, 2000)[:, None] * np.array([0.5, 0.3, 0.2])
    # A flat prior: the scores are the documents' lengths, and keep the shape that they have.
    model = dcomp.GaP(1, algorithm="map", alpha=1.0, beta=1e-6, verbose=0).fit(rng.poisson(rates))
    shapes = score_shapes(model.fit_)
    np.testing.assert_allclose(shapes.shape, shape, rtol=0.1)
    np.testing.assert_allclose(shapes.scale, scale, rtol=0.15)
    assert "shape × scale" in str(shapes)


def test_no_shape_where_there_is_none():
    W = np.random.default_rng(2).poisson(3.0, (9, 4))
    with pytest.raises(dcomp.UnsupportedCombination, match="shares for scores"):
        score_shapes(dcomp.LDA(2, verbose=0).fit(W).fit_)
    few = dcomp.GaP(3, algorithm="map", verbose=0).fit([[5, 0], [0, 0]]).fit_
    assert np.isfinite(score_shapes(few).shape).all()
    with pytest.raises(InvalidParameter, match="at least 0 words; got -1"):
        score_shapes(few, threshold=-1)
