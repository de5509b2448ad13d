"""The tree of components against the flat sampler: what a token costs at the same K, in one run.

    python benchmarks/tree.py [--rounds 12]

20 Newsgroups, collapsed Gibbs, sweeps of the two in turn after some that settle them both; K = 57
(branching 7, depth 3), and 200 as BJ04 section 5 has it: the same tree with leaves grown below its
most populous nodes. Both have γ = 0.05; the flat model has a total α of 1, as BJ04. Time is that of
the processor, all threads together, so that other work on the machine counts less.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import median

from corpora import machine, newsgroups

import dcomp
from dcomp.executors import LocalExecutor
from dcomp.inference import CollapsedGibbs, Growth
from dcomp.models import DirichletMultinomial, Observations, Tree, TreeMultinomial

RESULTS = Path(__file__).parent / "results"
NEVER = 10**9
GAMMA = 0.05


class Chain:
    """A chain, a sweep at a time; only the native sweeps and what belongs to them are timed."""

    def __init__(self, counts: dcomp.Counts, model, threads: int, grow: Growth | None = None):
        self.observed, self.executor = Observations.build(counts), LocalExecutor(threads)
        self.algorithm = CollapsedGibbs(burn_in=NEVER, grow=grow)
        self.state = self.algorithm.init(model, self.observed, 0, self.executor)
        self.n_tokens, self.nanoseconds = counts.n_tokens, []

    def sweep(self, times: int = 1, timed: bool = True) -> None:
        for _ in range(times):
            began = time.process_time()
            self.state, _ = self.algorithm.step(self.observed, self.state, self.executor)
            if timed:
                self.nanoseconds.append((time.process_time() - began) * 1e9 / self.n_tokens)


def compare(counts: dcomp.Counts, K: int, threads: int, warm: int, rounds: int) -> str:
    grow = Growth(at=10, to=K) if K > 57 else None
    tree = Chain(counts, TreeMultinomial.build(Tree.regular(7, 3), gamma=GAMMA), threads, grow)
    flat = Chain(counts, DirichletMultinomial.build(K, alpha=1 / K, gamma=GAMMA), threads)
    for chain in (tree, flat):
        chain.sweep(warm, timed=False)
    for _ in range(rounds):
        tree.sweep()
        flat.sweep()
    ratios = [a / b for a, b in zip(tree.nanoseconds, flat.nanoseconds, strict=True)]
    nodes = tree.state.model.n_components
    return (
        f"| {nodes} | {threads} | {median(tree.nanoseconds):.0f} | {median(flat.nanoseconds):.0f} "
        f"| {median(ratios):.2f} | {min(ratios):.2f} to {max(ratios):.2f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--warm", type=int, default=40)
    options = parser.parse_args()
    counts = newsgroups()
    lines = [
        "# The tree of components against the flat sampler",
        "",
        f"20 Newsgroups, {counts.n_docs:,} documents, {counts.n_features:,} words, "
        f"{counts.n_tokens:,} tokens; collapsed Gibbs, processor nanoseconds per token, sweeps of "
        f"the two in turn, medians of {options.rounds} after {options.warm} sweeps. {machine()}.",
        "",
        "| K | threads | tree | flat | ratio | its range |",
        "|---|---|---|---|---|---|",
    ]
    for K in (57, 200):
        for threads in (1, 2):
            lines.append(compare(counts, K, threads, options.warm, options.rounds))
            print(lines[-1], flush=True)
    command = f"python benchmarks/tree.py --rounds {options.rounds} --warm {options.warm}"
    lines += ["", f"Reproduce: `{command}`.", ""]
    (RESULTS / "tree.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
