"""How often intervals of ancestry shares hold the truth: maximum likelihood, loci resampled.

    python benchmarks/ancestry_intervals.py [--tables 2] [--people 90]

Balding-Nichols tables of independent SNPs, 5 % of calls missing: people of one ancestry each,
people mixed by Dirichlet(0.5), or half of each. Of 90 % intervals; a share of 0 or 1 is held by an
interval that comes within 0.01 of it. The table goes to results/ancestry_intervals.md.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path

import numpy as np
from corpora import machine
from scipy.optimize import linear_sum_assignment

import dcomp

RESULTS = Path(__file__).parent / "results"
KINDS = {"unmixed": 1.0, "mixed": 0.0, "half of each": 0.5}
HEAD = (
    "| people | K | F_ST | SNPs | all | shares of 0 or 1 | 0.05 to 0.95 | width there | error "
    "| quotable |"
)


def simulated(n, S, K, f_st, unmixed, seed):
    """Counts and the shares that made them."""
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.full(K, 0.5), n)
    q[: round(unmixed * n)] = np.eye(K)[np.arange(round(unmixed * n)) % K]
    ancestral, strength = rng.uniform(0.05, 0.95, S), (1 - f_st) / f_st
    P = rng.beta(ancestral * strength, (1 - ancestral) * strength, (K, S))
    first = rng.binomial(2, q @ P)
    X = np.stack([first, 2 - first], axis=2)
    X[rng.random(first.shape) < 0.05] = 0
    blocks = np.repeat(np.arange(S), 2)
    return dcomp.Counts.from_matrix(X.reshape(n, -1), blocks=blocks), q


def one_table(how, seed):
    """Of each share: truth, whether it is held, the width, the error, and whether to quote it."""
    counts, q = simulated(*how, seed)
    found = dcomp.use.admixture(counts, q.shape[1], with_intervals=True)
    cost = ((found.Q[:, :, None] - q[:, None, :]) ** 2).sum(axis=0)
    q = q[:, linear_sum_assignment(cost)[1]]
    low, high = found.intervals.low, found.intervals.high
    inside = (low <= q) & (q <= high)
    held = np.where(q == 0, low <= 0.01, np.where(q == 1, high >= 0.99, inside))
    return np.stack([q, held, high - low, found.Q - q, found.intervals.quotable]).reshape(5, -1)


def main() -> None:
    """All tables, and the page of results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=2)
    parser.add_argument("--people", type=int, default=90)
    told = parser.parse_args()
    title = f"{told.tables} tables of {told.people} people each; {machine()}"
    lines = ["# Intervals of ancestry shares: how often they hold the truth", "", title, ""]
    lines += [HEAD, "|---" * 10 + "|"]
    for S, f_st, K, (kind, unmixed) in product((300, 1500), (0.1, 0.05), (2, 3), KINDS.items()):
        how = (told.people, S, K, f_st, unmixed)
        tables = [one_table(how, seed) for seed in range(told.tables)]
        q, held, width, error, quotable = np.concatenate(tables, axis=1)
        ends, middle = (q == 0) | (q == 1), (q > 0.05) & (q < 0.95)
        cells = [
            f"{held.mean():.0%}",
            *(f"{held[x].mean():.0%}" if x.any() else "" for x in (ends, middle)),
        ]
        cells += [
            f"{width[middle].mean():.2f}" if middle.any() else "",
            f"{np.sqrt((error**2).mean()):.3f}",
        ]
        cells.append(f"{quotable.mean():.0%}")
        lines.append(f"| {kind} | {K} | {f_st} | {S:,} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
        (RESULTS / "ancestry_intervals.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
