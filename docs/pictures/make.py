"""The pictures of the tour, each for light and for dark pages: `python docs/pictures/make.py`.

They are kept beside this script, so that the site is built without a fit. Run it again when what
they show has changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib import pyplot

import dcomp
from dcomp.models import DirichletMultinomial
from dcomp.plot import stacked_bars

HERE = Path(__file__).resolve().parent
INK = {"light": "#333333", "dark": "#d0d0d0"}
BLUE = {"light": "#1b5e7b", "dark": "#8fcbe3"}


def look(theme: str) -> dict[str, Any]:
    """Matplotlib's settings for a page: no paper of its own, ink that is seen on it."""
    ink = dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"),
        INK[theme],
    )
    return {
        **ink,
        "figure.facecolor": "none",
        "axes.facecolor": "none",
        "savefig.transparent": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "font.size": 9,
        "svg.fonttype": "none",  # letters stay letters
        "font.family": "sans-serif",
        "svg.hashsalt": "dcomp",
    }


def components(theme: str, model: Any) -> Any:
    """The most probable words of the four largest components."""
    top, words = model.top_features(8), model.fit_.expected_counts.sum(axis=0)
    figure, panels = pyplot.subplots(1, 4, figsize=(8.4, 2.4), layout="constrained")
    for axes, k in zip(panels, np.argsort(-words)[:4], strict=True):
        axes.barh(top.names[k][::-1], top.weights[k][::-1], color=BLUE[theme], height=0.6)
        axes.set_title(f"{k}: {words[k] / words.sum():.0%} of the words", fontsize=9, loc="left")
        axes.tick_params(left=False)
        axes.set_xticks([])
        axes.spines[["left", "bottom"]].set_visible(False)
    return figure


def packages(theme: str, model: Any, counts: Any, labels: list[str]) -> Any:
    """Expected words by component and package."""
    words = model.fit_.fold_in(counts).c
    names = sorted(set(labels))
    share = np.array([words[np.array(labels) == name].sum(axis=0) for name in names])
    share = share / share.sum(axis=1, keepdims=True)
    figure, axes = pyplot.subplots(figsize=(8.4, 2.4), layout="constrained")
    colours = {"numpy": "#0072b2", "scipy": "#e69f00", "sklearn": "#009e73"}
    for row, name in enumerate(names):
        place = np.arange(share.shape[1]) + 0.27 * (row - 1)
        axes.bar(place, share[row], width=0.24, color=colours[name], label=name)
    axes.set_xticks(range(share.shape[1]), [row[0] for row in model.top_features(1).names])
    axes.tick_params(axis="x", rotation=30, length=0)
    axes.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1, decimals=0))
    axes.set_ylabel("of the package's words")
    axes.legend(frameon=False)
    return figure


def select(theme: str, selection: Any) -> Any:
    """The held-out score by K."""
    found = selection.candidates
    figure, axes = pyplot.subplots(figsize=(5.2, 2.4), layout="constrained")
    axes.errorbar(
        [one.n_components for one in found],
        [one.log_likelihood for one in found],
        [one.standard_error for one in found],
        color=BLUE[theme],
        marker="o",
        ms=4,
        capsize=2,
        lw=1,
    )
    axes.set_xlabel("components")
    axes.set_ylabel("held-out log-likelihood\nper token")
    return figure


def bars(theme: str, shares: Any, order: Any, names: list[str], label: str) -> Any:
    """People side by side, their shares one above the other."""
    figure, axes = pyplot.subplots(figsize=(8.4, 1.6), layout="constrained")
    stacked_bars(np.asarray(shares, float), None, names, axes, order=order)
    axes.set_ylabel(label)
    axes.set_yticks([0, 1])
    axes.spines[:].set_visible(False)
    return figure


def by_largest(shares: Any) -> Any:
    """Rows by their largest share, and within it by how large that is."""
    return np.lexsort((-shares.max(axis=1), shares.argmax(axis=1)))


def main() -> None:
    counts, labels = dcomp.data.docstrings()
    train, _ = dcomp.data.train_test(counts, test_fraction=0.1, seed=0)
    model = dcomp.LDA(n_components=12, random_state=0, verbose=0).fit(train)
    truth = DirichletMultinomial.build(5, alpha=0.1, gamma=0.05)
    features = dcomp.Counts.from_matrix(np.ones((1, 200), int)).features
    planted, *_ = truth.simulate(features, np.full(200, 80), np.random.default_rng(1))
    selection = dcomp.evaluate.select_components(
        planted, [2, 3, 4, 5, 6, 8], gamma=0.05, with_evidence=False
    )
    votes = dcomp.datasets.votes(60, 200, seed=1)
    blocs = dcomp.DCA(2, verbose=0).fit(votes.counts).transform(votes.counts)
    people = dcomp.datasets.genotypes(80, 1000, f_st=(0.1, 0.2, 0.3), seed=1)
    ancestry = dcomp.DCA(3, algorithm="ml", verbose=0).fit(people.counts).fit_.scores
    left = np.argsort(votes.ideal_points)
    for theme in INK:
        with pyplot.rc_context(look(theme)):
            pictures = {
                "components": components(theme, model),
                "packages": packages(theme, model, counts, labels),
                "select": select(theme, selection),
                "votes": bars(theme, blocs, left, ["bloc 0", "bloc 1"], "shares"),
                "ancestry": bars(
                    theme,
                    ancestry,
                    by_largest(ancestry),
                    ["ancestry 0", "ancestry 1", "ancestry 2"],
                    "shares",
                ),
            }
            for name, figure in pictures.items():
                path = HERE / f"{name}-{theme}.svg"
                figure.savefig(path, metadata={"Date": None})
                pyplot.close(figure)
                print(path.name, f"{path.stat().st_size:,} bytes")


if __name__ == "__main__":
    matplotlib.use("svg")
    main()
