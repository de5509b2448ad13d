"""Peak memory of fits, against another tree's: each fit in a process of its own.

    python benchmarks/memory.py --save before.json      in one tree
    python benchmarks/memory.py --against before.json   in the other

What a fit takes at most beside its corpus, the lowest of three processes: 6,000 documents of
20 Newsgroups, two threads.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from corpora import machine, newsgroups, reset_peak

import dcomp
from dcomp.inference import CollapsedGibbs, Gibbs, Laplace, MapEM, MeanField
from dcomp.models import DirichletMultinomial, GammaPoisson, LogisticNormal

RESULTS = Path(__file__).parent / "results"


def fits(K: int = 50) -> dict[str, tuple[object, object]]:
    """Model and algorithm by name."""
    learned = DirichletMultinomial.build(K, alpha=1 / K, gamma=0.05, learn_alpha=True)
    gamma_poisson = GammaPoisson.build(K, gamma=0.05)
    many = DirichletMultinomial.build(600, alpha=0.02, gamma=0.05)
    return {
        "DM mean-field": (learned, MeanField()),
        "GP mean-field": (gamma_poisson, MeanField()),
        "DM map": (DirichletMultinomial.build(K, alpha=1.1, gamma=0.05), MapEM()),
        "DM gibbs": (learned, Gibbs(burn_in=2)),
        "DM collapsed-gibbs": (learned, CollapsedGibbs(burn_in=2)),
        "DM collapsed-gibbs K=600": (many, CollapsedGibbs(burn_in=2)),
        "LN laplace": (LogisticNormal.build(K, gamma=0.05), Laplace(start="seeded")),
    }


def measured(name: str) -> float:
    """MB, the lowest of three."""
    command = [sys.executable, __file__, "--one", name]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(3)]
    return min(float(run.stdout.split()[-1]) for run in runs)


def print_one(name: str) -> None:
    counts = newsgroups().rows(slice(0, 6000))
    model, algorithm = fits()[name]
    taken = reset_peak()
    dcomp.fit(counts, model, algorithm, max_iter=6, tol=0, n_jobs=2)
    print(taken() / 2**20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        return print_one(given.one)
    found = {name: measured(name) for name in fits()}
    if given.save is not None:
        given.save.write_text(json.dumps(found, indent=1) + "\n")
    before = {} if given.against is None else json.loads(given.against.read_text())
    rows = ["| fit | MB before | MB | ratio |", "|---|---|---|---|"]
    for name, now in found.items():
        was = before.get(name, now)
        rows.append(f"| {name} | {was:.1f} | {now:.1f} | {now / was:.3f} |")
    print("\n".join(rows))
    if given.against is not None:
        head = (
            f"# Peak memory of fits, before and after\n\n{machine()}; see `benchmarks/memory.py`."
        )
        (RESULTS / "memory.md").write_text("\n".join([head, "", *rows, ""]))
    return None


if __name__ == "__main__":
    main()
