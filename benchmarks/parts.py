"""What it costs to cut a corpus: sweeps of 20 Newsgroups in 1, 10 and 100 parts, one run.

    python benchmarks/parts.py

Per algorithm: seconds per sweep, the cuts in turn so that all meet the same neighbours, median and
spread over rounds, and as a ratio to one part; how the fit ends; and the peak memory of a fit in a
process of its own. Two threads.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from corpora import machine, newsgroups, reset_peak

from dcomp.executors import LocalExecutor
from dcomp.inference import CollapsedGibbs, Gibbs, MapEM, MeanField
from dcomp.models import DirichletMultinomial, Observations

CUTS = (1, 10, 100)
THREADS = LocalExecutor(2)
RESULTS = Path(__file__).parent / "results"


def problems(K: int) -> dict[str, tuple[object, object]]:
    """Algorithm and model by name."""
    learned = DirichletMultinomial.build(K, alpha=1 / K, gamma=0.05, learn_alpha=True)
    modes = DirichletMultinomial.build(K, alpha=1.1, gamma=0.05)
    return {
        "mean-field": (MeanField(), learned),
        "map": (MapEM(), modes),
        "gibbs": (Gibbs(burn_in=10**6), learned),
        "collapsed-gibbs": (CollapsedGibbs(burn_in=10**6), learned),
    }


class Chain:
    """A fit under way in so many parts."""

    def __init__(self, name: str, K: int, n_parts: int, counts: object) -> None:
        self.algorithm, model = problems(K)[name]
        self.observed = Observations(counts.in_parts(n_parts))
        self.state = self.algorithm.init(model, self.observed, 0, THREADS)
        self.seconds: list[float] = []

    def sweep(self, n: int) -> None:
        for _ in range(n):
            started = time.perf_counter()
            self.state, self.info = self.algorithm.step(self.observed, self.state, THREADS)
            self.seconds.append(time.perf_counter() - started)


def measure(name: str, K: int, n_sweeps: int, counts: object) -> list[dict[str, object]]:
    chains = {n: Chain(name, K, n, counts) for n in CUTS}
    for _ in range(n_sweeps // 5):
        for chain in chains.values():
            chain.sweep(5)
    settled = {n: np.array(chain.seconds[5:]) for n, chain in chains.items()}
    return [
        {
            "algorithm": name,
            "parts": n,
            "seconds": np.median(settled[n]),
            "low": np.quantile(settled[n], 0.1),
            "high": np.quantile(settled[n], 0.9),
            "ratio": np.median(settled[n]) / np.median(settled[1]),
            "objective": chain.info.objective / counts.n_tokens,
            "peak": peak(name, K, n),
        }
        for n, chain in chains.items()
    ]


def peak(name: str, K: int, n_parts: int) -> float:
    """MB that a fit of a few sweeps takes at most, in a process of its own."""
    command = [sys.executable, __file__, "--K", str(K), "--peak", name, str(n_parts)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def print_peak(name: str, K: int, n_parts: int) -> None:
    counts = newsgroups()
    taken = reset_peak()
    Chain(name, K, n_parts, counts).sweep(3)
    print(taken() / 2**20)


def table(rows: list[dict[str, object]]) -> str:
    lines = [
        "| algorithm | parts | s per sweep (10 % … 90 %) | of one part | objective | MB |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['algorithm']} | {row['parts']} | {row['seconds']:.3f} ({row['low']:.3f} … "
        f"{row['high']:.3f}) | {row['ratio']:.2f} | {row['objective']:.4f} | {row['peak']:.0f} |"
        for row in rows
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--K", type=int, default=50)
    parser.add_argument("--sweeps", type=int, default=30)
    parser.add_argument("--peak", nargs=2, metavar=("ALGORITHM", "PARTS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.peak:
        return print_peak(given.peak[0], given.K, int(given.peak[1]))
    counts = newsgroups()
    rows = [row for name in problems(2) for row in measure(name, given.K, given.sweeps, counts)]
    text = (
        f"# A corpus in parts\n\n`python benchmarks/parts.py --K {given.K} --sweeps "
        f"{given.sweeps}`: 20 Newsgroups, {counts!r}, two threads; {machine()}. The objective is "
        "per token. Memory is the most that a fit takes beside the corpus.\n\n"
    )
    print(text + table(rows))
    (RESULTS / "parts.md").write_text(text + table(rows) + "\n")
    return None


if __name__ == "__main__":
    main()
