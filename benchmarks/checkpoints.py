"""What checkpoints cost: the share of a fit's time that writing them takes, as often as allowed.

    python benchmarks/checkpoints.py

Per algorithm, a fit of made-up text that keeps a checkpoint whenever 2 % of its time allow one
(`minutes=0`), which is the most that the clock may cost; by default ten minutes are between two.
The share is of one run: time spent in checkpoints, the last one included, over the whole. One that
comes with the end is written however short the fit was, so that the share without it stands beside.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from corpora import machine

import dcomp
from dcomp.inference import CollapsedGibbs, Gibbs, MeanField
from dcomp.models import DirichletMultinomial
from dcomp.result import checkpoints

RESULTS = Path(__file__).parent / "results"
K = 50


def corpus(n_docs: int) -> dcomp.Counts:
    truth = DirichletMultinomial.build(K, alpha=0.05, gamma=0.02)
    features = dcomp.Counts.from_matrix(np.ones((1, 5000))).features
    counts, *_ = truth.simulate(features, np.full(n_docs, 100), np.random.default_rng(0))
    return counts


def measure(name: str, algorithm: object, counts: dcomp.Counts, sweeps: int) -> dict[str, object]:
    model = DirichletMultinomial.build(K, alpha=1 / K, gamma=0.05, learn_alpha=True)
    spent: list[float] = []
    real = checkpoints._Keeper.write

    def timed(self: object, run: object) -> None:
        started = time.perf_counter()
        real(self, run)
        spent.append(time.perf_counter() - started)

    checkpoints._Keeper.write = timed
    with tempfile.TemporaryDirectory() as folder:
        how = {"max_iter": sweeps, "tol": 0, "n_jobs": 2, "warn": False}
        started = time.perf_counter()
        kept = dcomp.Checkpoint(folder, minutes=0)
        dcomp.fit(counts, model, algorithm, **how, checkpoint=kept)
        whole = time.perf_counter() - started
        size = (Path(folder) / "chain-0.dcomp").stat().st_size
    checkpoints._Keeper.write = real
    return {
        "algorithm": name,
        "seconds": f"{whole:.1f}",
        "checkpoints": len(spent),
        "MB each": f"{size / 1e6:.1f}",
        "share": f"{100 * sum(spent) / whole:.2f} %",
        "without the last": f"{100 * sum(spent[:-1]) / whole:.2f} %",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--docs", type=int, default=10_000)
    parser.add_argument("--sweeps", type=int, default=200)
    args = parser.parse_args()
    counts = corpus(args.docs)
    algorithms = {
        "mean field": MeanField(n_tries=1),
        "direct Gibbs": Gibbs(burn_in=args.sweeps // 2),
        "collapsed Gibbs": CollapsedGibbs(burn_in=args.sweeps // 2),
    }
    rows = []
    for name, algorithm in algorithms.items():
        rows.append(measure(name, algorithm, counts, args.sweeps))
        print(rows[-1], flush=True)
    lines = [__doc__.split("\n")[0], "", f"{machine()}; {counts!r}, K = {K}, {args.sweeps} sweeps."]
    lines += ["", f"| {' | '.join(rows[0])} |", "|---" * len(rows[0]) + "|"]
    lines += [f"| {' | '.join(map(str, row.values()))} |" for row in rows]
    (RESULTS / "checkpoints.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
