"""One example of every picture of `dcomp.plot`: what the kept images show, drawn anew.

`python tests/support/pictures.py` keeps all of them; `... traces tree` those alone. Look at them
before they are committed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import dcomp
from dcomp import plot
from dcomp.evaluate import Candidate, Selection

KEPT = Path(__file__).parents[1] / "unit" / "plot" / "images"
SIZE, DPI = (4.6, 3.2), 80  # inches; of the kept images
MARGINS = {"left": 0.2, "right": 0.86, "bottom": 0.2, "top": 0.9, "hspace": 0.6, "wspace": 0.5}
X = np.random.default_rng(0).poisson([[4, 4, 0, 1]] * 9 + [[0, 1, 4, 4]] * 9)
WORDS = ("tax", "budget", "war", "peace")


@cache
def climbed() -> dcomp.Fit:
    """Three components of eighteen documents, by mean field."""
    counts = dcomp.Counts.from_matrix(X, feature_names=WORDS)
    return dcomp.GaP(3, max_iter=40, tol=0, verbose=0).fit(counts).fit_


@cache
def sampled() -> dcomp.Fit:
    """The same by two chains, with draws."""
    model = dcomp.LDA(2, algorithm="gibbs", n_chains=2, max_iter=80, n_draws=20, verbose=0)
    return model.fit(dcomp.Counts.from_matrix(X, feature_names=WORDS)).fit_


@cache
def long() -> dcomp.Fit:
    """Two components of many documents, for distributions of scores."""
    rng = np.random.default_rng(1)
    scores = rng.gamma(0.6, 10.0, (300, 2))
    counts = rng.poisson(scores @ np.array([[0.7, 0.2, 0.1, 0.0], [0.0, 0.1, 0.3, 0.6]]))
    return dcomp.GaP(2, max_iter=40, tol=0, verbose=0).fit(counts).fit_


@cache
def tree() -> dcomp.Fit:
    """Seven nodes."""
    rng = np.random.default_rng(2)
    words = [f"word{j}" for j in range(12)]
    part = rng.dirichlet(np.full(12, 0.2), 4)[rng.integers(0, 4, 60)]
    counts = dcomp.Counts.from_matrix(rng.poisson(20 * part), feature_names=words)
    return dcomp.TreeDCA(2, 3, max_iter=20, tol=0, verbose=0).fit(counts).fit_


@cache
def blocs() -> Any:
    """Three blocs of 24 voters."""
    table = dcomp.datasets.votes(24, 60, seed=1)
    return dcomp.use.rollcall(table.counts, 3, max_iter=60, n_chains=1)


def shares(K: int) -> np.ndarray:
    """Of thirty people in three populations, from K ancestries: those of a smaller K are sums."""
    rng = np.random.default_rng(3)
    own = np.repeat(np.eye(4), [10, 8, 7, 5], axis=0) * 6 + 0.4
    finest = np.stack([rng.dirichlet(row) for row in own])
    return np.column_stack([finest[:, : K - 1], finest[:, K - 1 :].sum(axis=1)])[:, ::-1]


POPULATIONS = ["north"] * 10 + ["east"] * 8 + ["south"] * 12


def selection() -> Selection:
    """Four candidates, of which the third is recommended."""
    at = {2: -7.2, 4: -6.9, 8: -6.7, 16: -6.72}
    rows = [
        Candidate(k, v, 0.03, 0.0, 0.0, 1000 * v, 20.0, True, 0.2 + 0.01 * k, 1 - k / 40, 0.5, 1.0)
        for k, v in at.items()
    ]
    return Selection(tuple(rows), 8, (8, 16), "npmi", ("So.",))


def _labels() -> tuple[list[str], list[str], list[str]]:
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 3, 120)
    ours = np.where(rng.random(120) < 0.85, truth, rng.integers(0, 3, 120))
    theirs = np.where(rng.random(120) < 0.6, truth, rng.integers(0, 3, 120))
    return tuple([("sport", "money", "war")[i] for i in one] for one in (truth, ours, theirs))  # type: ignore[return-value]


def _ranked() -> tuple[dict[str, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(5)
    relevant = rng.random(80) < 0.25
    return {"ours": relevant + rng.normal(0, 0.6, 80), "chance": rng.normal(size=80)}, relevant


def _confusions(ax: Any) -> Any:
    return plot.confusion_differences(*_labels(), names=("ours", "theirs"), ax=ax)


# Drawn on axes that are given: the name of the function, and beyond a dash what is special.
ON_AXES: dict[str, Callable[[Any], Any]] = {
    "ancestry_bars": lambda ax: plot.ancestry_bars(shares(3), groups=POPULATIONS, ax=ax),
    "binomial_approximations": lambda ax: plot.binomial_approximations(100, 0.03, ax=ax),
    "biplot": lambda ax: plot.biplot(climbed(), groups=["left"] * 9 + ["right"] * 9, ax=ax),
    "bloc_grid": lambda ax: plot.bloc_grid(blocs(), ax=ax),
    "confusion_differences": _confusions,
    "correlation_boxes": lambda ax: plot.correlation_boxes(tree(), groups=list("TTTBBBB"), ax=ax),
    "correlation_graph": lambda ax: plot.correlation_graph(tree(), least=0.1, ax=ax),
    "gamma_shapes": lambda ax: plot.gamma_shapes([0.5, 1, 2, 5], ax=ax),
    "grey_grid": lambda ax: plot.grey_grid(shares(4)[:12], [f"v{i}" for i in range(12)],
                                           list("abcd"), ax),
    "precision_recall": lambda ax: plot.precision_recall(*_ranked(), ax=ax),
    "prior_and_posterior": lambda ax: plot.prior_and_posterior(climbed(), X, 3, 0, ax=ax),
    "rhats": lambda ax: plot.rhats(sampled(), ax=ax),
    "score_distribution": lambda ax: plot.score_distribution(long(), 0, ax=ax),
    "score_distribution-rivals": lambda ax: plot.score_distribution(
        long(), 1, rivals=("gamma", "lognormal", "zipf"), ax=ax),
    "score_intervals": lambda ax: plot.score_intervals(sampled(), X, ax=ax),
    "score_scatter": lambda ax: plot.score_scatter(climbed(), 0, 1, ax=ax),
    "stacked_bars": lambda ax: plot.stacked_bars(shares(4), POPULATIONS, list("abcd"), ax),
    "top_features": lambda ax: plot.top_features(sampled(), 0, 4, ax=ax),
    "traces": lambda ax: plot.traces(sampled(), ax=ax),
    "traces-climb": lambda ax: plot.traces(climbed(), ax=ax),
}  # fmt: skip


def figure_of(name: str) -> Any:
    """The example's figure, in matplotlib's own style and font, whatever the machine has set."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({**matplotlib.rcParamsDefault, "font.family": "DejaVu Sans"}):
        figure = Figure(figsize=SIZE, dpi=DPI)
        if name in ON_AXES:
            ON_AXES[name](figure.subplots())
        elif name == "ancestry_bars-aligned":
            plot.ancestry_bars([shares(2), shares(3), shares(4)], groups=POPULATIONS,
                               ax=figure.subplots(3, 1))  # fmt: skip
        elif name == "selection":
            figure.set_size_inches(6.4, 4.2)
            plot.selection(selection(), ax=figure.subplots(2, 2))
        elif name == "tree":
            plot.tree(tree(), ax=figure.add_subplot(projection="polar"))
        elif name == "profiles":
            _profiles(figure.subplots(3, 1))
        else:
            raise KeyError(name)
        # Fixed: a layout by the sizes of letters would move all that is drawn with them.
        figure.subplots_adjust(**MARGINS)
        return figure


def _profiles(ax: Any) -> Any:
    types = [f"{a}[{c}]{b}" for c in ("C>A", "C>T") for a in "ACGT" for b in "ACGT"]
    theta = np.random.default_rng(6).dirichlet(np.full(32, 0.2), 3)
    return plot.profiles(theta, types, ["one", "two", "three"], ax=ax)


NAMES = (*ON_AXES, "ancestry_bars-aligned", "profiles", "selection", "tree")


def drawn(figure: Any) -> np.ndarray:
    """Red, green and blue of every pixel, (height, width, 3)."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with matplotlib.rc_context({**matplotlib.rcParamsDefault, "font.family": "DejaVu Sans"}):
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[:, :, :3].copy()


def apart(one: np.ndarray, other: np.ndarray, n: int = 4) -> float:
    """How far two images are apart where they are most: means over squares of n pixels, from 0 to
    255."""
    if one.shape != other.shape:
        return 255.0
    difference = np.abs(one.astype(float) - other.astype(float)).max(axis=2)
    h, w = (side // n * n for side in difference.shape)
    return float(difference[:h, :w].reshape(h // n, n, w // n, n).mean(axis=(1, 3)).max())


def keep(names: tuple[str, ...]) -> None:
    """Draw these anew, and keep them with the version of matplotlib that drew them."""
    import matplotlib
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    KEPT.mkdir(exist_ok=True)
    made = PngInfo()
    made.add_text("matplotlib", matplotlib.__version__)
    for name in names:
        image = Image.fromarray(drawn(figure_of(name)))
        image.save(KEPT / f"{name}.png", optimize=True, pnginfo=made)


if __name__ == "__main__":
    keep(tuple(sys.argv[1:]) or NAMES)
