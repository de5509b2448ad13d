"""Two workers of a Dask cluster against one: seconds per sweep of simulated counts, one run.

    python benchmarks/dask_workers.py

One thread per worker, the same parts on both clusters and on one thread here; rounds of some sweeps
take turns, so that all meet the same neighbours. Beside the clock, which neighbours on the machine
slow down, there is the processor time that the busier worker and the client took.
"""

from __future__ import annotations

import argparse
import os
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from corpora import machine
from distributed import Client, LocalCluster

from dcomp import Counts
from dcomp.executors import DaskExecutor, LocalExecutor
from dcomp.inference import Gibbs, MeanField
from dcomp.models import DirichletMultinomial, Observations

RESULTS = Path(__file__).parent / "results"


def simulated(n_docs: int, n_words: int, length: int) -> Counts:
    """Words by Zipf's law, with no components: a sweep takes as long."""
    rng = np.random.default_rng(1)
    share = 1 / np.arange(10, n_words + 10)
    words = rng.choice(n_words, size=n_docs * length, p=share / share.sum())
    documents = np.repeat(np.arange(n_docs), length)
    ones = np.ones(words.size, np.int32)
    return Counts.from_matrix(sp.coo_array((ones, (documents, words)), (n_docs, n_words)).tocsr())


def processor_seconds() -> float:
    """Of this process, on a worker too."""
    taken = os.times()
    return taken.user + taken.system


class Chain:
    """A fit under way on an executor."""

    def __init__(self, algorithm: object, model: object, counts: Counts, executor: object) -> None:
        self.algorithm, self.executor = algorithm, executor
        self.observed = Observations(counts)
        self.state = algorithm.init(model, self.observed, 0, executor)
        self.client = getattr(getattr(executor, "_cluster", None), "client", None)
        self.rounds: list[tuple[float, float, float]] = []  # seconds; workers' processors; client's

    def sweep(self, n: int) -> None:
        before, mine, started = self._workers(), processor_seconds(), time.perf_counter()
        for _ in range(n):
            self.state, self.info = self.algorithm.step(self.observed, self.state, self.executor)
        seconds = time.perf_counter() - started
        busiest = max((now - b for now, b in zip(self._workers(), before, strict=True)), default=0)
        self.rounds.append((seconds / n, busiest / n, (processor_seconds() - mine) / n))

    def _workers(self) -> list[float]:
        if self.client is None:
            return []
        return [value for _, value in sorted(self.client.run(processor_seconds).items())]


def measure(name: str, algorithm: object, given: argparse.Namespace, counts: Counts) -> list[str]:
    model = DirichletMultinomial.build(given.K, alpha=1 / given.K, gamma=0.05)
    with ExitStack() as stack:
        chains = {"one thread here": Chain(algorithm, model, counts, LocalExecutor(1))}
        for n in (1, 2):
            how = {"n_workers": n, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
            cluster = stack.enter_context(LocalCluster(**how))
            client = stack.enter_context(Client(cluster, set_as_default=False))
            executor = stack.enter_context(DaskExecutor(client))
            chains[f"{n} worker{'s' * (n > 1)}"] = Chain(algorithm, model, counts, executor)
        for _ in range(given.rounds + 1):
            for chain in chains.values():
                chain.sweep(given.sweeps)
        assert len({chain.info.objective for chain in chains.values()}) == 1
        rounds = {where: np.array(chain.rounds[1:]) for where, chain in chains.items()}
    one = rounds["1 worker"]
    rows = []
    for where, found in rounds.items():
        clock = one[:, 0] / found[:, 0]
        busy = np.median(one[:, 1:].sum(axis=1)) / np.median(found[:, 1:].sum(axis=1))
        seconds, worker, client = np.median(found, axis=0)
        rows.append(
            f"| {name} | {where} | {seconds:.3f} | {np.median(clock):.2f} ({clock.min():.2f} … "
            f"{clock.max():.2f}) | {worker:.3f} | {client:.3f} | {busy:.2f} |"
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in {"docs": 60_000, "words": 5_000, "length": 100, "K": 50}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    for name, value in {"parts": 8, "sweeps": 3, "rounds": 5}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args()
    counts = simulated(given.docs, given.words, given.length).in_parts(given.parts)
    ways = {"mean-field": MeanField(n_tries=1), "gibbs": Gibbs(burn_in=10**6, start="random")}
    lines = [
        "| algorithm | where | s per sweep | speed of one worker (least … most) | busiest worker's "
        "processor s | client's | ratio of processor time |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, algorithm in ways.items():
        lines += measure(name, algorithm, given, counts)
    load = os.getloadavg()[0]
    text = (
        f"# Workers of a Dask cluster\n\n`python benchmarks/dask_workers.py --docs {given.docs} "
        f"--rounds {given.rounds} --sweeps {given.sweeps}`: {counts!r}, "
        f"K = {given.K}, {given.rounds} rounds of {given.sweeps} sweeps; {machine()}; load "
        f"{load:.1f} at the end, of which two belong to this. Objectives are equal to the last "
        "bit. The ratio of processor time counts the busiest worker and the client, one after the "
        "other: about what a machine without neighbours would gain.\n\n" + "\n".join(lines) + "\n"
    )
    print(text)
    (RESULTS / "dask_workers.md").write_text(text)


if __name__ == "__main__":
    main()
