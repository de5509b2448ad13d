"""Textbook pictures: what a gamma looks like, and what stands in for a binomial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dcomp.errors import InvalidParameter
from dcomp.plot.axes import axes_or_new, colour, open_frame


def gamma_shapes(
    shapes: Sequence[float] = (0.5, 1.0, 2.0, 5.0),
    *,
    rate: float | None = None,
    ax: Any = None,
) -> Any:
    """Gamma densities of several shapes α: BJ06 figure 3. Below 1 most scores are next to 0, at 1
    the density is that of an exponential, above 1 it has a hump.

    rate: β of all; unless given each has mean 1, so that α alone differs.

    >>> from matplotlib.figure import Figure
    >>> ax = gamma_shapes([0.5, 2], ax=Figure().subplots())
    >>> [line.get_label() for line in ax.lines]
    ['α = 0.5', 'α = 2']
    """
    from scipy.special import gammaln

    if not len(shapes) or not all(a > 0 for a in shapes) or not (rate is None or rate > 0):
        raise InvalidParameter("shapes and rate must be positive numbers")
    axes = open_frame(axes_or_new(ax, size=(5.5, 3.6)))
    top = 3.0 if rate is None else max(shapes) / rate + 3 * max(shapes) ** 0.5 / rate
    x = np.linspace(0, top, 500)[1:]
    for number, a in enumerate(shapes):
        b = float(a) if rate is None else float(rate)
        y = np.exp(a * np.log(b) - gammaln(a) + (a - 1) * np.log(x) - b * x)
        axes.plot(x, y, color=colour(number), label=f"α = {a:g}")
    axes.set(xlabel="score", ylabel="density", xlim=(0, top))
    axes.set_ylim(0, min(float(axes.get_ylim()[1]), 2.0 / (top / 3)))
    axes.legend(fontsize=8, frameon=False)
    return axes


def binomial_approximations(n: int = 100, p: float = 0.03, *, ax: Any = None) -> Any:
    """Probabilities of a binomial with the Gaussian and the Poisson that stand in for it, on a
    logarithmic scale: BJ06 figure 1. For small p the Gaussian has next to nothing where rare counts
    are.

    >>> from matplotlib.figure import Figure
    >>> ax = binomial_approximations(100, 0.1, ax=Figure().subplots())
    >>> [line.get_label() for line in ax.lines]
    ['binomial', 'Gaussian', 'Poisson']
    """
    from scipy.special import gammaln, xlogy

    if not (isinstance(n, int | np.integer) and n >= 1 and 0 < p < 1):
        raise InvalidParameter(
            f"n must be a whole number from 1 and p between 0 and 1; got {n}, {p}"
        )
    mean, variance = n * p, n * p * (1 - p)
    last = min(n, int(np.ceil(mean + 6 * variance**0.5)) + 4)
    k = np.arange(max(0, int(mean - 6 * variance**0.5) - 4), last + 1)
    choose = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    log = {
        "binomial": choose + xlogy(k, p) + xlogy(n - k, 1 - p),
        "Gaussian": -0.5 * (k - mean) ** 2 / variance - 0.5 * np.log(2 * np.pi * variance),
        "Poisson": xlogy(k, mean) - mean - gammaln(k + 1),
    }
    axes = open_frame(axes_or_new(ax, size=(5, 3.6)))
    marks = {"binomial": "ok", "Gaussian": "--", "Poisson": ":"}
    for number, (name, values) in enumerate(log.items()):
        own = {"ms": 3} if name == "binomial" else {"color": colour(number - 1)}
        axes.plot(k, np.exp(values), marks[name], label=name, **own)
    axes.set_yscale("log")
    axes.set_ylim(max(float(np.exp(log["binomial"].min())) / 30, 1e-12), 2)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set(xlabel="count", ylabel="probability", title=f"N = {n}, p = {p:g}")
    axes.legend(fontsize=8, frameon=False)
    return axes
