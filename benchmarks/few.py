"""What a sweep costs with few components, beside another tree's: genotypes, votes, text; one run.

    python benchmarks/few.py --against <another checkout>/src [--rounds 15]

Both trees work in processes of their own that take turns, so that both meet the same neighbours:
ratios are of rounds, and their median and quartiles are shown. One thread is measured by its own
processor time, which others on the machine cannot take; two threads by the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results"
SWEEPS = 3  # per round
CASES = {
    "HapMap3, K = 3, ml": ("hapmap", "ml", 3),
    "HapMap3, K = 3, map": ("hapmap", "map", 3),
    "HapMap3, K = 3, mean-field": ("hapmap", "mean-field", 3),
    "HapMap3, K = 8, mean-field": ("hapmap", "mean-field", 8),
    "Senate, K = 2, mean-field": ("senate", "mean-field", 2),
    "Senate, K = 4, mean-field": ("senate", "mean-field", 4),
    "Senate, K = 8, mean-field": ("senate", "mean-field", 8),
    "Senate, K = 8, map": ("senate", "map", 8),
    "20 Newsgroups, K = 5, mean-field": ("newsgroups", "mean-field", 5),
    "20 Newsgroups, K = 5, map": ("newsgroups", "map", 5),
    "20 Newsgroups, K = 8, mean-field": ("newsgroups", "mean-field", 8),
    "20 Newsgroups, K = 20, mean-field": ("newsgroups", "mean-field", 20),
}


def counts_of(name: str) -> object:
    if name == "hapmap":
        from hapmap import read_counts

        return read_counts()
    if name == "senate":
        from convergence import senate

        return senate()
    from corpora import newsgroups

    return newsgroups()


def algorithm_of(name: str, K: int) -> tuple[object, object]:
    """In every tree by what the first had: ml is map without priors, one update per document."""
    from dcomp.inference import MapEM, MeanField
    from dcomp.models import DirichletMultinomial as DM

    if name == "ml":
        return MapEM(loadings="map", max_inner=1), DM.build(K, alpha=1.0, gamma=1.0)
    if name == "map":  # all ten updates: what stops a document early is no matter of the kernels
        return MapEM(max_inner=10, inner_tol=0.0), DM.build(K, alpha=1.1, gamma=0.5)
    given = DM.build(K, alpha=1 / K, gamma=0.5)
    return MeanField(max_inner=3, gentle_sweeps=0, inner_tol=0.0), given


def worker() -> None:
    """Sweeps when it is told to: a case and a number of threads per line."""
    from dcomp.executors import LocalExecutor
    from dcomp.models import Observations

    known: dict[str, tuple[object, object]] = {}
    tables: dict[str, object] = {}
    for line in sys.stdin:
        case, n_threads = json.loads(line)
        data, name, K = CASES[case]
        if data not in tables:
            tables.clear()
            known.clear()
            tables[data] = Observations(counts_of(data))
        if case not in known:
            algorithm, model = algorithm_of(name, K)
            known[case] = algorithm, algorithm.init(model, tables[data], 0, LocalExecutor(2))
            step(known, case, tables[data], LocalExecutor(2))
        started, used = time.perf_counter(), time.process_time()
        for _ in range(SWEEPS):
            objective = step(known, case, tables[data], LocalExecutor(n_threads))
        spent = time.process_time() - used, time.perf_counter() - started
        answer = [spent[0 if n_threads == 1 else 1] / SWEEPS, objective]
        print(json.dumps(answer), flush=True)


def step(known: dict, case: str, observed: object, executor: object) -> float:
    algorithm, state = known[case]
    state, info = algorithm.step(observed, state, executor)
    known[case] = algorithm, state
    return info.objective


class Tree:
    """A checkout at work."""

    def __init__(self, source: Path) -> None:
        one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker"],
            env=os.environ | one | {"PYTHONPATH": str(source.resolve())},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, case: str, n_threads: int) -> tuple[float, float]:
        print(json.dumps([case, n_threads]), file=self.process.stdin, flush=True)
        seconds, objective = json.loads(self.process.stdout.readline())
        return seconds, objective


def measure(case: str, trees: tuple[Tree, Tree], rounds: int) -> list[str]:
    """A row: milliseconds of both trees and how many times faster this one is, by threads."""
    cells = [case]
    for n_threads in (1, 2):
        pairs = []
        for _ in range(rounds):
            (before, height_before), (after, height) = (tree.ask(case, n_threads) for tree in trees)
            pairs.append((before, after))
        if not np.isclose(height, height_before, rtol=1e-5):
            raise SystemExit(f"{case}: the trees part, {height_before} and {height}")
        seconds = np.array(pairs)
        low, middle, high = np.quantile(seconds[:, 0] / seconds[:, 1], [0.25, 0.5, 0.75])
        before, after = 1000 * np.median(seconds, axis=0)
        cells += [f"{before:.1f}", f"{after:.1f}", f"{middle:.1f} ({low:.1f} to {high:.1f})"]
    print(" | ".join(cells), flush=True)
    return cells


def write(rows: list[list[str]], rounds: int) -> None:
    from corpora import machine

    head = ["case", "before, 1 thread, ms", "now", "times", "before, 2 threads, ms", "now", "times"]
    table = [head, ["---"] * len(head), *rows]
    lines = [
        "# A sweep with few components, before and now",
        "",
        f"`python benchmarks/few.py`, {rounds} rounds of {SWEEPS} sweeps; {machine()}.",
        "One thread by processor time, two by the clock, on a machine that others use, too;",
        "quartiles of the ratios in brackets. Updates per document: ml 1, mean field 3, map 10.",
        "",
        *("| " + " | ".join(cells) + " |" for cells in table),
    ]
    (RESULTS / "few.md").write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", type=Path, help="the other tree's src folder")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="cases that contain this")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return worker()
    here = Path(__file__).parents[1] / "src"
    trees = Tree(options.against), Tree(here)
    rows = [measure(case, trees, options.rounds) for case in CASES if options.only in case]
    if not options.only:
        write(rows, options.rounds)
    return None


if __name__ == "__main__":
    main()
