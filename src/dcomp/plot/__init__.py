"""Pictures of fits and of what was found in them, on matplotlib axes (`pip install "dcomp[plot]"`).

Every function returns its axes and draws on `ax=` where it is given. Those that need a fit are
found by `fit.plot.…` too.

>>> import dcomp
>>> from matplotlib.figure import Figure
>>> ax = dcomp.plot.gamma_shapes([0.5, 1, 2], ax=Figure().subplots())
>>> len(ax.lines)
3
"""

from dcomp.plot.choice import selection
from dcomp.plot.components import biplot, top_features
from dcomp.plot.correlations import correlation_boxes, correlation_graph
from dcomp.plot.course import rhats, traces
from dcomp.plot.densities import binomial_approximations, gamma_shapes
from dcomp.plot.judged import confusion_differences, precision_recall
from dcomp.plot.of_fit import FitPlots
from dcomp.plot.profiles import profiles
from dcomp.plot.scores import (
    prior_and_posterior,
    score_distribution,
    score_intervals,
    score_scatter,
)
from dcomp.plot.shares import ancestry_bars, bloc_grid, grey_grid, stacked_bars
from dcomp.plot.trees import tree

__all__ = [
    "FitPlots",
    "ancestry_bars",
    "binomial_approximations",
    "biplot",
    "bloc_grid",
    "confusion_differences",
    "correlation_boxes",
    "correlation_graph",
    "gamma_shapes",
    "grey_grid",
    "precision_recall",
    "prior_and_posterior",
    "profiles",
    "rhats",
    "score_distribution",
    "score_intervals",
    "score_scatter",
    "selection",
    "stacked_bars",
    "top_features",
    "traces",
    "tree",
]
