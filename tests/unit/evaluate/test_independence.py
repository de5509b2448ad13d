"""Correlations between components: NumPy's, and the box plots by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dcomp
from dcomp.evaluate import independence
from dcomp.evaluate import independence as function
from dcomp.evaluate.independence import BoxSummary


def with_words(fit, words):
    return replace(fit, state=fit.state.changed(c=np.asarray(words, dtype=np.float64)))


@pytest.fixture(scope="module")
def fitted(planted):
    return dcomp.LDA(4, verbose=0).fit(planted[0]).fit_


def test_numpy_says_the_same(fitted, monkeypatch):
    found = independence(fitted)
    expected = np.corrcoef(fitted.expected_counts.astype(float).T)
    np.testing.assert_allclose(found.correlation, expected, atol=1e-9)
    assert found.values.tolist() == [found.correlation[k, m] for k, m in found.pairs]
    assert len(found.values) == 6
    assert found.root_mean_square == pytest.approx(np.sqrt(np.mean(found.values**2)))
    assert found.strongest(1)[0][2] == found.values[np.abs(found.values).argmax()]
    import sys

    monkeypatch.setattr(sys.modules[function.__module__], "_CHUNK", 7)
    np.testing.assert_allclose(independence(fitted).correlation, expected, atol=1e-9)


def test_a_sampler_is_judged_by_its_recorded_means(planted):
    sampled = dcomp.GaP(3, algorithm="collapsed-gibbs", max_iter=30, verbose=0).fit(planted[0]).fit_
    expected = np.corrcoef(sampled.expected_counts.astype(float).T)
    np.testing.assert_allclose(independence(sampled).correlation, expected, atol=1e-6)


def test_components_drawn_independently_are_nearly_uncorrelated():
    """r of two independent columns over n = 2000 has a standard deviation of 1/√n; that all of 10
    are within 5 of them fails once in 170,000 runs, and the seed is fixed."""
    rng = np.random.default_rng(0)
    fit = dcomp.GaP(5, max_iter=2, tol=0, verbose=0).fit(rng.poisson(1.0, (2000, 6))).fit_
    found = independence(with_words(fit, rng.gamma(0.5, size=(2000, 5))))
    assert np.abs(found.values).max() < 5 / np.sqrt(2000)


def test_groups_have_their_boxes(fitted):
    found = independence(fitted, groups=["T", "T", "B", "B"])
    sizes = {box.label: box.n for box in found.boxes}
    assert sizes == {"T – T": 1, "B – T": 4, "B – B": 1}
    between = found.correlation[:2, 2:].ravel()
    box = next(box for box in found.boxes if box.label == "B – T")
    assert (box.minimum, box.maximum) == (between.min(), between.max())
    assert box.median == pytest.approx(np.median(between))
    with pytest.raises(dcomp.InvalidParameter, match="one per component, 4; got 2"):
        independence(fitted, groups=["T", "B"])


def test_a_box_by_hand():
    box = BoxSummary.from_values("x", np.array([-9.0, 0, 1, 2, 3, 4, 5, 10, 30]))
    assert (box.minimum, box.lower_quartile, box.median) == (-9.0, 1.0, 3.0)
    assert (box.upper_quartile, box.maximum) == (5.0, 30.0)
    assert (box.lower_whisker, box.upper_whisker) == (0.0, 10.0)  # within 6 of the box
    assert box.outside.tolist() == [-9.0, 30.0]


def test_a_constant_component(fitted):
    words = np.random.default_rng(0).gamma(1.0, size=(300, 4))
    words[:, 1] = 0.7
    found = independence(with_words(fitted, words))
    assert found.constant == (1,)
    assert found.correlation[1].tolist() == [0, 1, 0, 0]
    assert len(found.values) == 3
    words[:, 2:] = 0
    with pytest.raises(dcomp.InvalidCounts, match="two components whose words vary"):
        independence(with_words(fitted, words))


def test_one_component(planted):
    with pytest.raises(dcomp.InvalidParameter, match="there must be 2"):
        independence(dcomp.LDA(1, verbose=0).fit(planted[0]).fit_)


def test_the_plot(fitted):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    axes = independence(fitted, groups=["T", "T", "B", "B"]).plot()
    assert [label.get_text() for label in axes.get_xticklabels()] == ["T – T", "B – T", "B – B"]
    again = independence(fitted).plot(axes)
    assert again is axes
    pyplot.close(axes.figure)


def test_the_plot_without_matplotlib(fitted, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(dcomp.MissingDependency, match=r"dcomp\[plot\]"):
        independence(fitted).plot()
