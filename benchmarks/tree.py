"""The tree of components against the flat sampler: what a token costs at the same K, in one run.

    python benchmarks/tree.py [--rounds 12]

20 Newsgroups, collapsed Gibbs, sweeps of the chains in turn after some that settle them all: a tree
whose tokens weigh all nodes, the same by lists, and flat components as `CollapsedGibbs` has them.
K = 57 (branching 7, depth 3), 200 as BJ04 section 5 has it, the same tree with leaves grown below
its most populous nodes, and 1,111 (branching 10, depth 4) as in BJ04 section 7; --nodes takes
others that regular trees of depth 4 have. All have γ = 0.05; the flat model has a total α of 1, as
BJ04. Time is that of the processor, all threads together, so that other work on the machine counts
less.
"""

from __future__ import annotations

import argparse
import sys
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

    def __init__(self, counts: dcomp.Counts, model, threads: int, **options):
        self.observed, self.executor = Observations.build(counts), LocalExecutor(threads)
        self.algorithm = CollapsedGibbs(burn_in=NEVER, **options)
        self.state = self.algorithm.init(model, self.observed, 0, self.executor)
        self.n_tokens, self.nanoseconds = counts.n_tokens, []

    def sweep(self, times: int = 1, timed: bool = True) -> None:
        for _ in range(times):
            began = time.process_time()
            self.state, _ = self.algorithm.step(self.observed, self.state, self.executor)
            if timed:
                self.nanoseconds.append((time.process_time() - began) * 1e9 / self.n_tokens)


def tree_of(K: int) -> tuple[Tree, Growth | None]:
    """A tree that has K nodes, or grows to them."""
    for branching in range(4, 11):
        if sum(branching**level for level in range(4)) == K:
            return Tree.regular(branching, 4), None
    return Tree.regular(7, 3), Growth(at=10, to=K) if K > 57 else None


def ratio(of: Chain, to: Chain) -> str:
    """Median and range over the rounds, as two cells of a table."""
    both = zip(of.nanoseconds, to.nanoseconds, strict=True)
    ratios = [one / other for one, other in both]
    return f"{median(ratios):.2f} | {min(ratios):.2f} to {max(ratios):.2f}"


def compare(counts: dcomp.Counts, K: int, threads: int, warm: int, rounds: int) -> str:
    tree, grow = tree_of(K)
    model = TreeMultinomial.build(tree, gamma=GAMMA)
    dense, lists = (Chain(counts, model, threads, grow=grow, sparse=way) for way in (False, True))
    flat = Chain(counts, DirichletMultinomial.build(K, alpha=1 / K, gamma=GAMMA), threads)
    chains = (dense, lists, flat)
    for chain in chains:
        chain.sweep(warm, timed=False)
    for _ in range(rounds):
        for chain in chains:
            chain.sweep()
    times = " | ".join(f"{median(chain.nanoseconds):.0f}" for chain in chains)
    nodes = lists.state.model
    taken = lists if CollapsedGibbs().is_sparse(nodes, lists.observed) else dense
    return (
        f"| {nodes.n_components:,} | {threads} | {times} | {ratio(lists, dense)} "
        f"| {ratio(taken, flat)} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--warm", type=int, default=40)
    parser.add_argument("--nodes", type=int, nargs="+", default=[57, 200, 1111])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    counts = newsgroups()
    lines = [
        "# The tree of components against the flat sampler",
        "",
        f"20 Newsgroups, {counts.n_docs:,} documents, {counts.n_features:,} words, "
        f"{counts.n_tokens:,} tokens; collapsed Gibbs, processor nanoseconds per token, sweeps of "
        f"the three in turn, medians of {options.rounds} after {options.warm} sweeps. The tree to "
        f"the flat model is by the sampler that it takes by itself. {machine()}.",
        "",
        "| K | threads | tree, all nodes | tree, lists | flat | lists / all | its range "
        "| tree / flat | its range |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for K in options.nodes:
        for threads in options.threads:
            lines.append(compare(counts, K, threads, options.warm, options.rounds))
            print(lines[-1], flush=True)
    command = f"python {' '.join(['benchmarks/tree.py', *sys.argv[1:]])}"
    lines += ["", f"Reproduce: `{command}`.", ""]
    (RESULTS / "tree.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
