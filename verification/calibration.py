"""Simulation-based calibration at length: ranks of the truth among draws of the posterior.

    python verification/calibration.py [--replicates 4800]

As `tests/statistical/test_calibration.py`, with more replicates, longer chains and a larger
setting. Chains pass through the truth, so that ranks are exactly uniform for a right sampler (Gandy
and Scott 2020). Samplers that are wrong in a small way come last.

Writes `results/calibration.md` and a plot per sampler: histograms of ranks of four functions with
the pointwise 99.9 % band.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from common import SAMPLED, plotting, row, sampler, save, setting, write
from geweke import ALARM, WRONG, wrong
from scipy.stats import binom

from dcomp.reference.sampler_tests import ranks, together, uniformity

OTHERS, THIN = 19, 2
SHOWN = ("score 1", "slope of θ 0", "Σ score²", "Σ θ²")


def draw_row(axes: Any, ranked: Any, title: str) -> None:
    """Histograms of the functions that are shown."""
    for axis, name in zip(axes, SHOWN, strict=True):
        n = len(ranked[name])
        low, high = (binom.ppf(q, n, 1 / (OTHERS + 1)) / n for q in (0.0005, 0.9995))
        axis.bar(np.arange(OTHERS + 1), np.bincount(ranked[name], minlength=OTHERS + 1) / n)
        axis.axhspan(low, high, color="tab:orange", alpha=0.4)
        axis.set_ylim(0.6 / (OTHERS + 1), 1.4 / (OTHERS + 1))
        axis.set_yticks([])
        axis.set_title(f"{title}: {name}")


def check(name: str, todo: list[tuple[str, str, Any]], n_replicates: int) -> list[str]:
    """One plot with a row per cell, and a row of the table for each."""
    plt = plotting()
    figure, axes = plt.subplots(len(todo), 4, figsize=(8.5, 1.1 * len(todo) + 0.2), squeeze=False)
    lines = []
    for line, (key, layout, start) in zip(axes, todo, strict=True):
        rng = np.random.default_rng(2020)
        ranked = ranks(setting(key, layout), start, rng, 60, n_replicates // 60, OTHERS, THIN)
        p_values = uniformity(ranked, OTHERS)
        p = together(p_values)
        lowest = min(p_values, key=lambda which: p_values[which])
        lines.append(row(name, key, layout, len(p_values), f"{p:.2g}", lowest))
        print(lines[-1], flush=True)
        draw_row(line, ranked, f"{key}, {layout}")
    figure.tight_layout()
    save(figure, f"calibration-{name}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=4_800)
    n_replicates = parser.parse_args().replicates
    started = time.process_time()
    lines = [
        "# Calibration by ranks",
        "",
        f"{n_replicates} replicates per cell, the truth among {OTHERS} other states {THIN} sweeps "
        "apart. p is Bonferroni's over all tests of a cell; a right sampler falls below "
        f"{ALARM:g} in one cell of ten thousand. `wrong` is off by a tenth in one hyper-parameter "
        "of one component and has to fall below it.",
        "",
        row("sampler", "model", "layout", "tests", "p", "lowest"),
        row(*["---"] * 6),
    ]
    layouts = ("plain", "blocks", "larger")
    for name in ("direct", "collapsed"):
        todo = [(key, layout, sampler(name)) for key in SAMPLED for layout in layouts]
        lines += check(name, todo, n_replicates)
    flat = [(key, "plain", sampler("sparse")) for key in SAMPLED if key != "TM"]
    lines += check("sparse", flat, n_replicates)
    lines += check("wrong", [(key, "plain", wrong(key)) for key in WRONG], n_replicates)
    lines += ["", f"Took {time.process_time() - started:.0f} s of one core."]
    write("calibration", lines)


if __name__ == "__main__":
    main()
