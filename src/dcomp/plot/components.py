"""Components: their first features, and where they lie among documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dcomp.errors import InvalidParameter
from dcomp.evaluate.feature_intervals import feature_intervals
from dcomp.evaluate.principal import principal_plane
from dcomp.plot.axes import axes_or_new, colour, names_of, open_frame
from dcomp.result.editing import component_number
from dcomp.result.of_estimator import as_fit


def top_features(
    fit: Any,
    component: int | str = 0,
    n: int = 10,
    *,
    by: str = "probability",
    level: float = 0.9,
    ax: Any = None,
) -> Any:
    """The first features of a component as bars of their probability, with intervals where draws of
    the loadings of several chains were kept (`n_draws=`, `n_chains=`) and all of these features
    have settled (R-hat at most 1.05).

    by: what features are ranked by, as in `fit.top_features`.

    >>> import dcomp
    >>> from matplotlib.figure import Figure
    >>> fit = dcomp.LDA(2, verbose=0).fit([[4, 3, 0], [0, 1, 6], [5, 2, 1]]).fit_
    >>> ax = top_features(fit, 0, 2, ax=Figure().subplots())
    >>> len(ax.patches), ax.get_xlabel()
    (2, 'probability')
    """
    fit = as_fit(fit)
    k = component_number(fit, component)
    n = min(n, fit.features.n_features)
    top = fit.top_features(n, by=by)
    heights = np.asarray(top.weights[k], np.float64)
    axes = open_frame(axes_or_new(ax, size=(4.5, 0.9 + 0.24 * n)))
    y = np.arange(n)
    axes.barh(y, heights, color=colour(k), height=0.75)
    found = feature_intervals(fit, k, top.numbers[k].tolist(), level)
    label = "probability"
    if found is not None and all(found.settled):  # one that has not speaks against its component
        ends = np.maximum([heights - found.low, found.high - heights], 0.0)
        axes.errorbar(heights, y, xerr=ends, fmt="none", ecolor="0.2", capsize=2)
        label += f", {100 * level:g} % intervals"
    axes.set_yticks(y, names_of(top[k]), fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel(label)
    axes.set_title(f"component {names_of([fit.component_labels[k]])[0]}", fontsize=9)
    return axes


def biplot(
    fit: Any,
    *,
    n_features: int = 10,
    groups: Sequence[Any] | None = None,
    ax: Any = None,
) -> Any:
    """Documents as points and features as arrows in the plane of the two principal axes of what the
    fit expects of documents: B18 figure 4.1. A document lies in the direction of the features that
    it has more of than others.

    n_features: arrows, the longest. groups: a label per document, for colours.

    >>> import dcomp
    >>> from matplotlib.figure import Figure
    >>> X = np.random.default_rng(0).poisson([[4, 4, 0, 0]] * 9 + [[0, 0, 4, 4]] * 9)
    >>> fit = dcomp.LDA(3, max_iter=20, tol=0, verbose=0).fit(X).fit_
    >>> ax = biplot(fit, n_features=2, ax=Figure().subplots())
    >>> len(ax.collections[0].get_offsets()), len(ax.texts)
    (18, 4)
    """
    fit = as_fit(fit)
    if fit.n_components < 2:
        raise InvalidParameter("a plane needs at least two components; the fit has one")
    plane = principal_plane(fit)
    axes = open_frame(axes_or_new(ax, size=(5.5, 5)))
    labels = [""] * len(plane.points) if groups is None else [str(g) for g in groups]
    if len(labels) != len(plane.points):
        raise InvalidParameter(f"groups must be {len(plane.points)} labels; got {len(labels)}")
    own = np.asarray(labels, object)
    for number, label in enumerate(sorted(set(labels))):
        x, y = plane.points[own == label].T
        axes.scatter(x, y, s=10, color=colour(number), alpha=0.6, lw=0, label=label or None)
    lengths = np.hypot(*plane.arrows.T)
    reach = float(np.abs(plane.points).max()) / max(float(lengths.max()), 1e-300)
    names = names_of(fit.features.name(j) for j in range(fit.features.n_features))
    longest = np.argsort(-lengths, kind="stable")[:n_features]
    axes.update_datalim(plane.arrows[longest] * reach)  # which arrows alone do not do
    for j in longest:
        tip = plane.arrows[j] * reach
        axes.annotate("", tip, (0, 0), arrowprops={"arrowstyle": "->", "color": "0.35", "lw": 0.8})
        side = "left" if tip[0] >= 0 else "right"
        axes.text(*(1.04 * tip), names[j], fontsize=8, ha=side, va="center", color="0.15")
    axes.axhline(0, color="0.8", lw=0.6, zorder=0)
    axes.axvline(0, color="0.8", lw=0.6, zorder=0)
    axes.margins(0.2)
    axes.autoscale_view()
    parts = [f"axis {i + 1} ({100 * part:.0f} %)" for i, part in enumerate(plane.explained)]
    axes.set(xlabel=parts[0], ylabel=parts[1])
    if groups is not None:
        axes.legend(fontsize=8, frameon=False)
    return axes
