"""Scores of documents: how one is distributed, two against each other, and how sure they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.evaluate.intervals import intervals
from dcomp.evaluate.rivals import score_rivals
from dcomp.evaluate.score_posterior import score_posterior
from dcomp.models.arrays import FloatArray
from dcomp.plot.axes import axes_or_new, colour, names_of, open_frame
from dcomp.result.editing import component_number
from dcomp.result.of_estimator import as_fit

_STYLES = {"gamma": "-", "lognormal": "--", "zipf": ":"}


def score_distribution(
    fit: Any,
    component: int | str = 0,
    *,
    rivals: Sequence[str] = ("gamma",),
    threshold: float = 0.5,
    bins: int = 30,
    ax: Any = None,
) -> Any:
    """The density of a component's scores on a logarithmic scale, with the gamma of most
    likelihood: C04 figure 2. Straight over most of the range with a spike at 0 is what a gamma
    looks like.

    rivals: which of "gamma", "lognormal", "zipf" to draw; the legend has the log-likelihood of
    each, in nats per document. threshold: documents with more expected words than that.

    >>> import dcomp
    >>> from matplotlib.figure import Figure
    >>> X = np.random.default_rng(0).poisson(3.0, (40, 6))
    >>> fit = dcomp.GaP(2, max_iter=20, tol=0, verbose=0).fit(X).fit_
    >>> ax = score_distribution(fit, 1, rivals=["gamma", "zipf"], ax=Figure().subplots())
    >>> len(ax.lines), ax.get_yscale()
    (2, 'log')
    """
    fit = as_fit(fit)
    found = score_rivals(fit, component_number(fit, component), threshold)
    axes = open_frame(axes_or_new(ax, size=(5.5, 3.8)))
    height, edges = np.histogram(found.scores, bins=bins, density=True)
    axes.stairs(height, edges, fill=True, color="0.85", label=f"{len(found.scores):,} documents")
    x = np.geomspace(found.scores.min(), found.scores.max(), 400)
    for number, name in enumerate(rivals):
        rival = found[name]
        label = f"{name}, {rival.log_likelihood:.3f} nats"
        axes.plot(x, rival.density(x), _STYLES[name], color=colour(number), label=label)
    least = height[height > 0].min()
    axes.set_yscale("log")
    axes.set_ylim(least / 3, None)
    title = names_of([fit.component_labels[found.component]])[0]
    axes.set(xlabel=f"score of component {title}", ylabel="density")
    axes.legend(fontsize=8, frameon=False)
    return axes


def score_scatter(
    fit: Any,
    first: int | str = 0,
    second: int | str = 1,
    *,
    X: Any = None,
    groups: Sequence[Any] | None = None,
    names: bool | None = None,
    ax: Any = None,
) -> Any:
    """Two scores of each document against each other: B18 figures A.1 and A.2.

    X: other documents than those that were fitted. groups: a label per document, for colours.
    names: whether to write the ids of documents; unless said, of up to 30.

    >>> import dcomp
    >>> from matplotlib.figure import Figure
    >>> fit = dcomp.NMF(2, verbose=0).fit([[4, 3, 0], [0, 1, 6], [5, 2, 1]]).fit_
    >>> ax = score_scatter(fit, groups=["a", "b", "a"], ax=Figure().subplots())
    >>> [len(part.get_offsets()) for part in ax.collections], len(ax.texts)
    ([2, 1], 3)
    """
    fit = as_fit(fit)
    j, k = (component_number(fit, c) for c in (first, second))
    scores = np.asarray(fit.scores if X is None else fit.transform(X), np.float64)
    ids = fit.doc_ids if X is None else getattr(X, "doc_ids", None)
    axes = open_frame(axes_or_new(ax, size=(5, 4.5)))
    labels = [""] * len(scores) if groups is None else [str(g) for g in groups]
    if len(labels) != len(scores):
        raise InvalidParameter(f"groups must be {len(scores)} labels; got {len(labels)}")
    own = np.asarray(labels, object)
    for number, label in enumerate(sorted(set(labels))):
        at, title = own == label, names_of([label])[0] or None
        axes.scatter(scores[at, j], scores[at, k], s=14, color=colour(number), label=title, lw=0)
    if names or (names is None and len(scores) <= 30):
        texts = names_of(ids if ids is not None else range(len(scores)))
        for (x, y), text in zip(scores[:, [j, k]], texts, strict=True):
            where: Any = {"xytext": (3, 3), "textcoords": "offset points", "fontsize": 7}
            axes.annotate(text, (x, y), **where)
    axes.set_xlabel(_axis_name(fit, j), fontsize=8)
    axes.set_ylabel(_axis_name(fit, k), fontsize=8)
    if groups is not None:
        axes.legend(fontsize=8, frameon=False)
    return axes


def _axis_name(fit: Any, k: int) -> str:
    """A component by number, with its first words."""
    top = names_of(fit.top_features(min(3, fit.features.n_features))[k], 14)
    return f"component {names_of([fit.component_labels[k]])[0]} ({', '.join(top)})"


def prior_and_posterior(
    fit: Any,
    X: Any,
    document: int = 0,
    component: int | str = 0,
    *,
    seed: int = 0,
    ax: Any = None,
) -> Any:
    """Prior and posterior density of one score of one document: C04 figure 3. Vertical lines are at
    the posterior's mean and at its mode.

    The posterior is the gamma (GP), or the beta of a Dirichlet (DM), with the moments of draws by
    Gibbs sampling given the loadings; mean field's own, which is too narrow (BJ04 3.5), is dashed.

    >>> import dcomp
    >>> from matplotlib.figure import Figure
    >>> X = np.random.default_rng(0).poisson([[4, 4, 0, 0]] * 9 + [[0, 0, 4, 4]] * 9)
    >>> fit = dcomp.GaP(2, max_iter=20, tol=0, verbose=0).fit(X).fit_
    >>> ax = prior_and_posterior(fit, X, 3, ax=Figure().subplots())
    >>> [line.get_label() for line in ax.lines][:3]
    ['prior', 'posterior', 'mean field']
    """
    fit = as_fit(fit)
    k = component_number(fit, component)
    observed = fit.observe(X, None)
    found = score_posterior(fit, observed, seed=seed)
    if not 0 <= document < len(found.mean):
        raise InvalidParameter(f"document must be from 0 to {len(found.mean) - 1}; got {document}")
    curves = [("posterior", found.a, found.b)]
    if found.mean_field is not None:
        curves.append(("mean field", found.mean_field.a, found.mean_field.b))
    mean, sd = found.mean[document, k], found.sd[document, k]
    top = 1.0 if found.b is None else float(mean + 6 * sd)
    x = np.linspace(0, min(top, mean + 8 * sd), 600)[1:]
    axes = open_frame(axes_or_new(ax, size=(5.5, 3.6)))
    axes.plot(x, _prior_density(fit, k, x), color="0.5", label="prior")
    drawn = [_density(x, a[document], None if b is None else b[document], k) for _, a, b in curves]
    for (label, _, _), y, style in zip(curves, drawn, ("-", "--"), strict=False):
        axes.plot(x, y, style, color=colour(0), label=label)
    peak = drawn[0]
    axes.axvline(mean, color=colour(5), lw=0.9, label="mean")
    axes.axvline(float(x[int(np.argmax(peak))]), color=colour(2), lw=0.9, ls="-.", label="mode")
    axes.set_ylim(0, 1.15 * min(max(float(y.max()) for y in drawn), 3 * float(peak.max())))
    what = "share" if found.b is None else "score"
    axes.set(xlabel=f"{what} of {_axis_name(fit, k)}", ylabel="density")
    axes.legend(fontsize=8, frameon=False)
    return axes


def _prior_density(fit: Any, k: int, x: FloatArray) -> FloatArray:
    priors = {p.name: np.asarray(p.value, np.float64) for p in fit.model.scores.parameters()}
    if "alpha" not in priors:
        raise UnsupportedCombination(
            f"model {fit.model.key} has no gamma or Dirichlet prior of scores to draw"
        )
    beta = priors.get("beta")
    density = _density(x, priors["alpha"], beta, k)
    return density * (1 - float(priors["rho"][k])) if "rho" in priors else density


def _density(x: FloatArray, a: FloatArray, b: FloatArray | None, k: int) -> FloatArray:
    """Of Gamma(a_k, b_k), or of share k of Dirichlet(a)."""
    from scipy.special import betaln, gammaln

    if b is not None:
        log = a[k] * np.log(b[k]) - gammaln(a[k]) + (a[k] - 1) * np.log(x) - b[k] * x
        return np.asarray(np.exp(log))
    rest = max(float(a.sum() - a[k]), 1e-12)
    inside = np.clip(x, 1e-12, 1 - 1e-12)
    log = (a[k] - 1) * np.log(inside) + (rest - 1) * np.log1p(-inside) - betaln(a[k], rest)
    return np.asarray(np.exp(log))


def score_intervals(
    found: Any,
    X: Any = None,
    *,
    component: int | str = 0,
    documents: Sequence[int | str] | None = None,
    level: float = 0.9,
    ax: Any = None,
) -> Any:
    """The score of one component in documents with its interval, the largest first. Grey where
    chains do not agree (R-hat above 1.05): such an interval is not to be quoted.

    found: a fit, with the documents as X (`evaluate.intervals`, `level`), or intervals that are at
    hand. documents: which, by number or id; the first 30 by score unless given.

    >>> import dcomp
    >>> from matplotlib.figure import Figure
    >>> X = np.random.default_rng(0).poisson([[4, 4, 0, 0]] * 5 + [[0, 0, 4, 4]] * 5)
    >>> fit = dcomp.LDA(2, algorithm="gibbs", n_chains=2, max_iter=60, n_draws=20, verbose=0)
    >>> ax = score_intervals(fit.fit(X), X, documents=[0, 7], ax=Figure().subplots())
    >>> len(ax.get_yticklabels())
    2
    """
    if X is not None:
        found = intervals(found, X, level=level, shares=True)
    if not hasattr(found, "rhat"):
        raise InvalidParameter("give the documents too, as X, or what evaluate.intervals found")
    k = _column(component, found.mean.shape[1])
    rows = np.argsort(-found.mean[:, k], kind="stable")[:30]
    if documents is not None:
        rows = np.array([found.row(name) for name in documents], int)
        rows = rows[np.argsort(-found.mean[rows, k], kind="stable")]
    axes = open_frame(axes_or_new(ax, size=(5.5, 1 + 0.2 * len(rows))))
    y = np.arange(len(rows))
    low, mean, high = (np.asarray(v)[rows, k] for v in (found.low, found.mean, found.high))
    settled = np.asarray(found.quotable)[rows, k]
    for at, own in ((settled, colour(0)), (~settled, "0.65")):
        ends = np.maximum([mean[at] - low[at], high[at] - mean[at]], 0.0)
        axes.errorbar(mean[at], y[at], xerr=ends, fmt="o", ms=4, capsize=2, color=own)
    axes.set_yticks(y, names_of(found.names[i] for i in rows), fontsize=7)
    axes.invert_yaxis()
    what = "share" if found.shares else "score"
    axes.set_xlabel(f"{what} of component {component}, {100 * found.level:g} % intervals")
    if found.shares:
        axes.set_xlim(0, 1)
    return axes


def _column(component: int | str, K: int) -> int:
    if not isinstance(component, int | np.integer) or not 0 <= component < K:
        raise InvalidParameter(f"component must be a number from 0 to {K - 1}; got {component!r}")
    return int(component)
