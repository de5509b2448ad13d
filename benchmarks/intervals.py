"""How often intervals of scores hold the truth: with Θ drawn along, and with Θ held fixed.

    python benchmarks/intervals.py [--tables 60]

Tables of 40 documents × 25 features with three components, drawn from DM (60 words each) and GP
(about 60); mean field fits them with the priors that made them. `evaluate.intervals` by default
against the same quantiles of `sample_scores`, at 50, 90 and 95 %. Errors are over tables, whose
documents share one Θ. The table goes to results/intervals.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from corpora import machine

import dcomp
from dcomp import evaluate
from dcomp.data import FeatureSpace
from dcomp.evaluate.align import Alignment, similarity
from dcomp.inference import MeanField
from dcomp.models import MODELS

RESULTS = Path(__file__).parent / "results"
PRIORS = {"DM": {"alpha": 0.6}, "GP": {"alpha": 0.6, "beta": 0.03}}
SIZE = {"DM": 60, "GP": 1.0}
LEVELS = (0.5, 0.9, 0.95)


def one_table(key, seed):
    """Coverage (2, levels) of one table, and the share of R-hats up to 1.05."""
    model = MODELS[key].build(3, gamma=0.3, **PRIORS[key])
    size = np.full((40, 1), SIZE[key])
    rng = np.random.default_rng(seed)
    counts, scores, Theta = model.simulate(FeatureSpace.build(25), size, rng)
    fit = dcomp.fit(counts, model, MeanField(), max_iter=400, tol=1e-6, seed=seed, warn=False)
    like = similarity(fit.Theta.astype(float), Theta, counts.features.blocks)
    truth = scores[:, Alignment.from_similarity(like).permutation]
    drawn = fit.sample_scores(counts, n_draws=400, keep_draws=True, seed=seed).draws
    out = np.empty((2, len(LEVELS)))
    for place, level in enumerate(LEVELS):
        found = evaluate.intervals(fit, counts, level=level, seed=seed)
        low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
        out[0, place] = ((found.low <= truth) & (truth <= found.high)).mean()
        out[1, place] = ((low <= truth) & (truth <= high)).mean()
    return out, found.settled


def main() -> None:
    """All tables, and the page of results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=60)
    n = parser.parse_args().tables
    lines = [
        "# Intervals of scores: how often they hold the truth",
        "",
        f"{n} simulated tables each; {machine()}",
        "",
        "| model | loadings | " + " | ".join(f"{level:.0%}" for level in LEVELS) + " |",
        "|---|---|" + "---|" * len(LEVELS),
    ]
    for key in PRIORS:
        found = [one_table(key, seed) for seed in range(n)]
        values = np.array([coverage for coverage, _ in found])
        mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(n)
        for row, name in enumerate(("drawn", "fixed")):
            cells = (f"{m:.1%} ± {e:.1%}" for m, e in zip(mean[row], error[row], strict=True))
            lines.append(f"| {key} | {name} | " + " | ".join(cells) + " |")
        settled = np.mean([share for _, share in found])
        lines.append(f"| | R-hat ≤ 1.05 | {settled:.1%} | | |")
        print("\n".join(lines[-3:]), flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "intervals.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
