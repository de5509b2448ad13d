"""Structured components against the flat sampler and against the nearest peer, in one run.

    python benchmarks/structured.py [--rounds 8]

20 Newsgroups, one thread, sweeps in turn after some that settle them; nanoseconds of the processor
per token. The structures are a tree of 1 + 7 + 49 nodes with 49 leaves, the flat model has 49
components. The peer is tomotopy's `HPAModel`, hierarchical Pachinko allocation, of which B09 3.3
calls its models a variation: with k1 = 7 and k2 = 49 it has 1 + 7 + 49 topics too, but joins every
one of the 7 with every one of the 49, so that a token weighs more pairs than in a tree.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import median

import numpy as np
from corpora import machine, newsgroups

import dcomp
from dcomp.executors import LocalExecutor
from dcomp.inference import CollapsedGibbs
from dcomp.models import DirichletMultinomial, Observations, Structure, Structured, Tree

RESULTS = Path(__file__).parent / "results"
NEVER = 10**9
GAMMA, K = 0.05, 49


class Chain:
    """A chain of dcomp, a sweep at a time."""

    def __init__(self, counts: dcomp.Counts, model):
        self.observed, self.executor = Observations.build(counts), LocalExecutor(1)
        self.algorithm = CollapsedGibbs(burn_in=NEVER)
        self.state = self.algorithm.init(model, self.observed, 0, self.executor)

    def sweep(self) -> None:
        self.state, _ = self.algorithm.step(self.observed, self.state, self.executor)


class Peer:
    """A chain of tomotopy's."""

    def __init__(self, counts: dcomp.Counts):
        import tomotopy

        self.model = tomotopy.HPAModel(k1=7, k2=K, eta=GAMMA, seed=1)
        names = [f"{j}" for j in range(counts.n_features)]
        for first, last in zip(counts.indptr[:-1], counts.indptr[1:], strict=True):
            words = np.repeat(counts.indices[first:last], counts.data[first:last])
            if len(words):
                self.model.add_doc([names[j] for j in words])
        self.model.train(0, workers=1)

    def sweep(self) -> None:
        self.model.train(1, workers=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--warm", type=int, default=5)
    arguments = parser.parse_args()
    counts = newsgroups()
    tree = Structure.from_tree(Tree.regular(7, 3))
    chains = {
        "HPAModel of tomotopy": Peer(counts),
        "flat, DM": Chain(counts, DirichletMultinomial.build(K, alpha=1 / K, gamma=GAMMA)),
        **{
            f"{kind}, DM": Chain(counts, Structured.build(tree, kind, alpha=1 / K, gamma=GAMMA))
            for kind in ("shared", "phi", "document", "document-phi")
        },
        "shared, CGP": Chain(
            counts,
            Structured.build(
                tree, "shared", leaves="CGP", alpha=1 / K, beta=0.01, rho=0.3, gamma=GAMMA
            ),
        ),
    }
    times: dict[str, list[float]] = {name: [] for name in chains}
    for number in range(arguments.warm + arguments.rounds):
        for name, chain in chains.items():
            began = time.process_time()
            chain.sweep()
            spent = (time.process_time() - began) * 1e9 / counts.n_tokens
            if number >= arguments.warm:
                times[name].append(spent)
    peer = times["HPAModel of tomotopy"]
    lines = [
        "# Structured components: a sweep of a token",
        "",
        f"`python benchmarks/structured.py --rounds {arguments.rounds}`, {machine()}; {counts}.",
        "",
        "| model | ns per token, median | spread | times faster than the peer, median | spread |",
        "|---|---|---|---|---|",
    ]
    for name, own in times.items():
        ratios = [theirs / ours for theirs, ours in zip(peer, own, strict=True)]
        lines.append(
            f"| {name} | {median(own):.0f} | {min(own):.0f} to {max(own):.0f} "
            f"| {median(ratios):.2f} | {min(ratios):.2f} to {max(ratios):.2f} |"
        )
    (RESULTS / "structured.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
