"""Pictures of the fields: what is drawn is what was found."""

import numpy as np
import pytest

import dcomp

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def heights(axes):
    """The area of each component in a picture of bars, in bars of height 1."""
    out = []
    for part in axes.collections:
        x, y = part.get_paths()[0].vertices.T
        out.append(abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))) / 2)
    return np.array(out)


def test_ancestries_as_bars_by_population():
    table = dcomp.datasets.genotypes(30, 80, f_st=(0.3, 0.3), seed=1)
    labels = np.array(["b", "a"], object)[table.memberships.argmax(axis=1)].tolist()
    found = dcomp.use.admixture(
        table.counts.with_attributes(population=labels), 2, with_intervals=False
    )
    axes = found.plot()
    np.testing.assert_allclose(heights(axes), found.Q.sum(axis=0), rtol=1e-4)
    assert [text.get_text() for text in axes.get_xticklabels()] == ["a", "b"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["#0", "#1"]


def test_memberships_in_grey():
    table = dcomp.datasets.votes(20, 30, seed=1)
    found = dcomp.use.rollcall(table.counts, 2, max_iter=40, n_draws=10, n_chains=2)
    axes = found.plot()
    drawn = axes.images[0].get_array()
    np.testing.assert_allclose(drawn, found.memberships[found.order][:, found.bloc_order])
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == [found.voters[i] for i in found.order]


def test_signatures_exposures_and_stability():
    table = dcomp.datasets.mutations(30, n_signatures=2, largest=1e4, seed=2)
    found = dcomp.use.signatures(table.counts, [2, 3], n_replicates=2, tol=5.0)
    figure = found.plot()
    bars = [patch.get_height() for patch in figure.axes[0].patches]
    assert sorted(bars) == pytest.approx(sorted(found.loadings[0].tolist()))
    axes = found.plot_exposures()
    shares = found.exposures / found.exposures.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(heights(axes), shares.sum(axis=0), rtol=1e-4)
    lines = found.stability.plot().lines
    assert lines[0].get_ydata()[0] == pytest.approx(found.stability.of(2).mean)
