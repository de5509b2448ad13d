"""Which components come together: box plots of all correlations, and a graph of the strong ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dcomp.errors import InvalidParameter
from dcomp.evaluate.independence import independence
from dcomp.models.arrays import FloatArray
from dcomp.plot.axes import axes_or_new, colour, names_of, open_frame
from dcomp.result.of_estimator import as_fit


def correlation_boxes(found: Any, *, groups: Sequence[object] | None = None, ax: Any = None) -> Any:
    """Box plots of the correlations between components: BJ04 figure 1.

    found: a fit, or what `evaluate.independence` found. groups: a label per component, for a box
    per pair of groups, such as T and B for inner nodes and leaves.

    >>> import dcomp
    >>> from matplotlib.figure import Figure
    >>> X = np.random.default_rng(0).poisson(2.0, (30, 6))
    >>> fit = dcomp.LDA(4, max_iter=20, tol=0, verbose=0).fit(X).fit_
    >>> ax = correlation_boxes(fit, groups=["T", "T", "B", "B"], ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['T – T', 'B – T', 'B – B']
    """
    if not hasattr(found, "boxes"):
        found = independence(found, groups=groups)
    axes = open_frame(axes_or_new(ax))
    boxes = [
        {
            "label": box.label,
            "med": box.median,
            "q1": box.lower_quartile,
            "q3": box.upper_quartile,
            "whislo": box.lower_whisker,
            "whishi": box.upper_whisker,
            "fliers": box.outside,
        }
        for box in found.boxes
    ]
    axes.bxp(boxes, flierprops={"marker": ".", "markersize": 3, "markeredgecolor": "0.4"})
    axes.axhline(0.0, linewidth=0.5, color="grey")
    axes.set_ylabel("correlation between components")
    return axes


def correlation_graph(fit: Any, *, least: float = 0.1, n_words: int = 2, ax: Any = None) -> Any:
    """Components on a circle, each as large as its part of the words, with a line between two whose
    words are correlated by at least `least` either way: blue together, orange dashed apart. Those
    that come together stand beside each other.

    >>> import dcomp
    >>> from matplotlib.figure import Figure
    >>> X = np.random.default_rng(0).poisson([[4, 4, 0, 0]] * 9 + [[0, 0, 4, 4]] * 9)
    >>> fit = dcomp.LDA(3, max_iter=20, tol=0, verbose=0).fit(X).fit_
    >>> ax = correlation_graph(fit, least=0.0, ax=Figure().subplots())
    >>> len(ax.lines), len(ax.texts)
    (3, 3)
    """
    fit = as_fit(fit)
    if not 0 <= least <= 1:
        raise InvalidParameter(f"least must lie between 0 and 1; got {least}")
    correlation = np.asarray(independence(fit).correlation, np.float64)
    K, place = fit.n_components, circle_places(np.nan_to_num(correlation))
    axes = axes_or_new(ax, size=(6, 6))
    for j in range(K):
        for k in range(j + 1, K):
            r = correlation[j, k]
            if np.isfinite(r) and abs(r) >= least:
                own = {"color": colour(0)} if r > 0 else {"color": colour(5), "ls": "--"}
                ends = place[[j, k]].T
                axes.plot(*ends, lw=0.5 + 5 * abs(r), alpha=0.25 + 0.6 * abs(r), zorder=1, **own)
    words = np.asarray(fit.expected_counts).sum(axis=0, dtype=np.float64)
    part = words / max(words.sum(), 1e-300)
    axes.scatter(*place.T, s=60 + 900 * part, color="0.92", edgecolors="0.3", zorder=2)
    top = fit.top_features(min(n_words, fit.features.n_features))
    for k, (x, y) in enumerate(place):
        name = "" if fit.component_names is None else f" {names_of([fit.component_labels[k]])[0]}"
        text = f"#{k}{name}\n" + "\n".join(names_of(top[k], 16))
        side = {"ha": "center" if abs(x) < 0.2 else "left" if x > 0 else "right"}
        level = "center" if abs(y) < 0.8 else "bottom" if y > 0 else "top"
        axes.text(1.16 * x, 1.16 * y, text, fontsize=7, va=level, **side)
    _say_lines(axes)
    axes.set(xlim=(-1.6, 1.6), ylim=(-1.35, 1.35), aspect="equal")
    axes.set_axis_off()
    return axes


def _say_lines(axes: Any) -> None:
    """What the two kinds of lines mean, of those that are there."""
    from matplotlib.lines import Line2D

    kinds = {"-": ("together", colour(0)), "--": ("apart", colour(5))}
    there = {line.get_linestyle() for line in axes.lines}
    shown = [
        Line2D([], [], ls=style, color=own, label=name)
        for style, (name, own) in kinds.items()
        if style in there
    ]
    if shown:
        axes.legend(handles=shown, fontsize=7, frameon=False, loc="upper left", borderaxespad=0)


def circle_places(correlation: FloatArray) -> FloatArray:
    """Points on the unit circle, (K, 2), in the order of the angles that the first two axes of
    classical scaling give, so that what is alike is near.

    >>> R = np.array([[1, 0.9, -0.5, -0.5], [0.9, 1, -0.5, -0.5], [-0.5, -0.5, 1, 0.9],
    ...               [-0.5, -0.5, 0.9, 1]])
    >>> place = circle_places(R)
    >>> bool(np.linalg.norm(place[0] - place[1]) < 1.5), place.shape
    (True, (4, 2))
    """
    K = len(correlation)
    centred = correlation - correlation.mean(axis=0)
    centred = centred - centred.mean(axis=1, keepdims=True)
    _, vectors = np.linalg.eigh(centred)
    plane = vectors[:, -2:] if K > 1 else np.zeros((K, 2))
    signs = np.sign(plane[np.abs(plane).argmax(axis=0), np.arange(plane.shape[1])])
    plane = plane * np.where(signs == 0, 1, signs)
    order = np.argsort(np.arctan2(plane[:, -1], plane[:, 0]), kind="stable")
    angle = np.empty(K)
    angle[order] = np.pi / 2 - 2 * np.pi * np.arange(K) / max(K, 1)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)
