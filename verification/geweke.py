"""Geweke's joint-distribution test at length: every sampler × model × layout, with P-P plots.

    python verification/geweke.py [--chains 8000]

The test is that of `tests/statistical/test_geweke.py` with many more chains and a larger setting.
Three samplers that are wrong in a small way come last: they show what failing looks like.

Writes `results/geweke.md` and a plot per sampler: for every function the difference of the two
distribution functions against their mean, with the pointwise 99.9 % band. Lines of a right sampler
stay within the band but for one point in a thousand.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from common import cells, plotting, row, sampler, save, setting, write

from dcomp.reference.sampler_tests import (
    Values,
    compare,
    marginal_conditional,
    successive_conditional,
    together,
)

ALARM = 1e-4
WRONG = {"DM": ("alpha", 1.1), "GP": ("beta", 1.1), "CGP": ("rho", 0.9)}


def both(key: str, layout: str, start: Any, n_chains: int) -> tuple[Values, Values]:
    """Ends of chains, and four times as many draws of the model."""
    rng, chosen = np.random.default_rng(2004), setting(key, layout)
    drawn = marginal_conditional(chosen, rng, 400, 4 * n_chains // 400)
    return successive_conditional(chosen, start, rng, 80, n_chains // 80), drawn


def wrong(key: str) -> Any:
    """The collapsed sampler with one hyper-parameter of one component off by a tenth."""
    name, factor = WRONG[key]

    def start(model: Any, draw: Any, rng: Any) -> Any:
        off = getattr(model.scores, name) * [1.0, factor, 1.0]
        return sampler("collapsed")(model.with_scores(**{name: off}), draw, rng)

    return start


def draw_panel(axis: Any, ends: Values, drawn: Values, title: str) -> None:
    """F of the ends minus F of the draws, for every function."""
    for name, values in drawn.items():
        if np.ptp(values) < 1e-9:
            continue
        at = np.quantile(values, np.linspace(0.01, 0.99, 50))
        first, second = (
            np.searchsorted(np.sort(x), at, side="right") / len(x) for x in (ends[name], values)
        )
        axis.plot((first + second) / 2, first - second, color="tab:blue", alpha=0.4)
    n, m = len(ends["words"]), len(drawn["words"])
    p = np.linspace(0, 1, 101)
    band = 3.29 * np.sqrt(p * (1 - p) * (1 / n + 1 / m))
    axis.plot(p, band, "k--", p, -band, "k--")
    axis.set_ylim(-0.03, 0.03)
    axis.set_title(title)


def check(name: str, todo: list[tuple[str, str, Any]], n_chains: int) -> list[str]:
    """One plot with a panel per cell, and a row of the table for each."""
    plt = plotting()
    columns = 5 if len(todo) > 3 else 3
    rows = -(-len(todo) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(1.9 * columns, 1.6 * rows), squeeze=False)
    lines = []
    for axis in axes.ravel()[len(todo) :]:
        axis.set_axis_off()
    for axis, (key, layout, start) in zip(axes.ravel(), todo, strict=False):
        ends, drawn = both(key, layout, start, n_chains)
        p_values = compare(ends, drawn)
        p = together(p_values)
        lowest = min(p_values, key=lambda which: p_values[which])
        lines.append(row(name, key, layout, len(p_values), f"{p:.2g}", lowest))
        print(lines[-1], flush=True)
        draw_panel(axis, ends, drawn, f"{key}, {layout}: p = {p:.2g}")
    figure.tight_layout()
    save(figure, f"geweke-{name}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chains", type=int, default=8_000)
    n_chains = parser.parse_args().chains
    started = time.process_time()
    lines = [
        "# Geweke's joint-distribution test",
        "",
        f"{n_chains} chains per cell, each of two rounds of eight sweeps, against {4 * n_chains} "
        "draws. p is Bonferroni's over all tests of a cell; a right sampler falls below "
        f"{ALARM:g} in one cell of ten thousand. `wrong` is off by a tenth in one hyper-parameter "
        "of one component and has to fall below it.",
        "",
        row("sampler", "model", "layout", "tests", "p", "lowest"),
        row(*["---"] * 6),
    ]
    for name in ("direct", "collapsed", "sparse"):
        lines += check(name, [(*cell, sampler(name)) for cell in cells(name)], n_chains)
    lines += check("wrong", [(key, "plain", wrong(key)) for key in WRONG], n_chains)
    lines += ["", f"Took {time.process_time() - started:.0f} s of one core."]
    write("geweke", lines)


if __name__ == "__main__":
    main()
