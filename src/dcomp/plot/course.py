"""The course of a fit: traces of its chains, and R-hat of what does not depend on numbering."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcomp.errors import InvalidParameter
from dcomp.evaluate.diagnostics import diagnostics
from dcomp.inference.rhat import SETTLED
from dcomp.plot.axes import axes_or_new, colour, open_frame


def traces(found: Any, name: str | None = None, *, ax: Any = None) -> Any:
    """The trace of a quantity by chain, with its R-hat; of mean field and map the objective that
    was climbed.

    found: a fit, or what `evaluate.diagnostics` found. name: of the quantity, the first unless
    given.

    >>> import dcomp
    >>> from matplotlib.figure import Figure
    >>> X = [[4, 3, 0], [0, 1, 6], [5, 2, 1]]
    >>> fit = dcomp.LDA(2, algorithm="gibbs", n_chains=2, max_iter=40, verbose=0).fit(X).fit_
    >>> ax = traces(fit, ax=Figure().subplots())
    >>> len(ax.lines), len(ax.lines[0].get_xdata())
    (2, 20)
    """
    if not hasattr(found, "quantities"):
        found = diagnostics(found)
    axes = open_frame(axes_or_new(ax, size=(6, 3.2)))
    if found.objective is not None:
        axes.plot(np.arange(1, len(found.objective) + 1), found.objective, color=colour(0))
        axes.set(xlabel="sweep", ylabel="objective")
        return axes
    if not found.quantities:
        raise InvalidParameter("the fit has recorded no sweeps to draw a trace of")
    shown = found.quantities[0] if name is None else found.quantity(name)
    for number, chain in enumerate(shown.trace):
        parts = np.asarray(chain).reshape(len(chain), -1)
        for part in parts.T:
            axes.plot(part, linewidth=0.7, color=colour(number))
    axes.set(xlabel="recorded sweep or draw", ylabel=shown.name)
    axes.set_title(f"R-hat {shown.rhat:.3f}, {len(shown.trace)} chains", fontsize=9, loc="left")
    return axes


def rhats(found: Any, *, limit: float = SETTLED, ax: Any = None) -> Any:
    """R-hat of every quantity as a point, and of every component where draws of loadings were kept;
    the line is at `limit`, beyond which chains have not settled.

    >>> import dcomp
    >>> from matplotlib.figure import Figure
    >>> X = [[4, 3, 0], [0, 1, 6], [5, 2, 1]]
    >>> fit = dcomp.LDA(2, algorithm="gibbs", n_chains=2, max_iter=40, verbose=0).fit(X).fit_
    >>> ax = rhats(fit, ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['log joint', 'words']
    """
    if not hasattr(found, "quantities"):
        found = diagnostics(found)
    rows = [(q.name, q.rhat) for q in found.quantities]
    if found.component_rhat is not None:
        rows += [(f"component {k}", float(r)) for k, r in enumerate(found.component_rhat)]
    rows = [(name, value) for name, value in rows if np.isfinite(value)]
    if not rows:
        raise InvalidParameter(
            "there is no R-hat: the fit is not of a sampler with recorded sweeps"
        )
    axes = open_frame(axes_or_new(ax, size=(5, 0.9 + 0.22 * len(rows))))
    names, values = zip(*rows, strict=True)
    far = [value > limit for value in values]
    own = [colour(5) if is_far else colour(0) for is_far in far]
    axes.scatter(values, range(len(rows)), c=own, s=22, zorder=2)
    axes.axvline(limit, color="0.5", lw=0.8, ls="--")
    axes.axvline(1.0, color="0.8", lw=0.8)
    axes.set_yticks(range(len(rows)), names, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel(f"R-hat (line at {limit:g})")
    return axes
