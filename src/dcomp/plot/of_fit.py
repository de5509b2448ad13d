"""`fit.plot.…`: the pictures that need a fit, asked of the fit."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dcomp.plot.components import biplot, top_features
from dcomp.plot.correlations import correlation_boxes, correlation_graph
from dcomp.plot.course import rhats, traces
from dcomp.plot.scores import (
    prior_and_posterior,
    score_distribution,
    score_intervals,
    score_scatter,
)
from dcomp.plot.shares import ancestry_bars
from dcomp.plot.trees import tree

OF_FIT: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        ancestry_bars, biplot, correlation_boxes, correlation_graph, prior_and_posterior, rhats,
        score_distribution, score_intervals, score_scatter, top_features, traces, tree,
    )
}  # fmt: skip


class FitPlots:
    """The functions of `dcomp.plot` that take a fit first, with this one given.

    >>> import dcomp
    >>> from matplotlib.figure import Figure
    >>> fit = dcomp.LDA(2, verbose=0).fit([[4, 3, 0], [0, 1, 6], [5, 2, 1]]).fit_
    >>> len(fit.plot.top_features(0, 3, ax=Figure().subplots()).patches)
    3
    >>> "biplot" in dir(fit.plot)
    True
    """

    def __init__(self, fit: Any) -> None:
        self._fit = fit

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in OF_FIT:
            known = ", ".join(OF_FIT)
            raise AttributeError(f"a fit has no picture {name!r}; there are {known}")
        function = OF_FIT[name]

        @functools.wraps(function)
        def drawn(*arguments: Any, **options: Any) -> Any:
            return function(self._fit, *arguments, **options)

        return drawn

    def __dir__(self) -> list[str]:
        return sorted(OF_FIT)

    def __repr__(self) -> str:
        return f"pictures of a fit: {', '.join(OF_FIT)}"
