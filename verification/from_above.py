"""From above (`prune=`): planted components that are left of more, by table and algorithm.

    python verification/from_above.py [--seeds 3]

Twelve components to begin with, sixteen where eight are planted; two chains; priors of scores are
learned and γ is the usual one. Writes results/from_above.md.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import dcomp
from dcomp.data import Counts
from dcomp.evaluate import select_components

RESULTS = Path(__file__).parent / "results"
ALGORITHMS = (("DM", "mean-field"), ("DM", "collapsed-gibbs"), ("GP", "mean-field"))


def planted(rng, n_docs, n_features, length, K, alpha, gamma) -> Counts:
    Theta = rng.dirichlet(np.full(n_features, gamma), K)
    shares = rng.dirichlet(np.full(K, alpha), n_docs)
    return Counts.from_matrix(np.array([rng.multinomial(length, m @ Theta) for m in shares]))


def tables(seed: int) -> Iterator[tuple[str, int, Counts]]:
    rng = np.random.default_rng(100 + seed)
    yield "nothing to be found", 1, planted(rng, 100, 50, 100, 1, 1, 0.3)
    yield "150 × 60, 60 words", 3, planted(rng, 150, 60, 60, 3, 0.2, 0.1)
    yield "200 × 40, 200 words, mixed", 3, planted(rng, 200, 40, 200, 3, 0.5, 0.3)
    yield "300 × 200, 100 words", 5, planted(rng, 300, 200, 100, 5, 0.1, 0.05)
    yield "500 × 300, 100 words", 8, planted(rng, 500, 300, 100, 8, 0.1, 0.05)
    yield "votes", 2, dcomp.datasets.votes(seed=seed).counts
    yield "genotypes", 3, dcomp.datasets.genotypes(seed=seed).counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(parser.parse_args().seeds)
    warnings.simplefilter("ignore")
    rows: dict[tuple[str, int], list[str]] = {}
    right = dict.fromkeys(ALGORITHMS, 0)
    for seed in seeds:
        for name, K, counts in tables(seed):
            for model, algorithm in ALGORITHMS:
                begun = time.process_time()
                how = {"model": model, "algorithm": algorithm, "random_state": seed}
                most = 12 if K < 8 else 16
                way = select_components(
                    counts, [1, 2], with_evidence=False, n_chains=2, prune=most, **how
                ).pruned
                right[model, algorithm] += way[-1] == K
                rows.setdefault((name, K), []).append(str(way[-1]))
                print(name, K, model, algorithm, way, f"{time.process_time() - begun:.1f} s")
    write(rows, right, len(seeds))


def write(rows, right, n_seeds: int) -> None:
    n = len(ALGORITHMS)
    head = " | ".join(f"{model}, {algorithm}" for model, algorithm in ALGORITHMS)
    said = (
        f"`python verification/from_above.py --seeds {n_seeds}`: how many components are left, one "
        "number a seed.\nTwelve to begin with, sixteen where eight are planted; two chains; priors "
        "of scores are learned."
    )
    lines = ["# From above", "", said, ""]
    lines += [f"| table | planted | {head} |", "|---|---|" + "---|" * n]
    for (name, K), left in rows.items():
        cells = " | ".join(", ".join(left[a::n]) for a in range(n))
        lines.append(f"| {name} | {K} | {cells} |")
    of = len(rows) * n_seeds
    lines.append("| right | | " + " | ".join(f"{count} of {of}" for count in right.values()) + " |")
    (RESULTS / "from_above.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
