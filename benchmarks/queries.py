"""p(query | document): error against a very long run, and microseconds per pair, by method.

    python benchmarks/queries.py [--k 20 50] [--docs 10] [--queries 4] [--long 2000]

On the Associated Press (ap.dat): LDA by mean field, queries of 2 to 20 words drawn from other
documents. The long run is plain Monte Carlo; its own largest standard error stands in the last
line, and errors below it are not told apart: give --long more draws where there is time.
`sampling (draws kept)` has drawn the documents before: what a further query costs. One thread.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from corpora import data_folder, machine

import dcomp
from dcomp.use import QueryLikelihood

RESULTS = Path(__file__).parent / "results"


def drawn_queries(counts: dcomp.Counts, n: int, seed: int) -> dcomp.Counts:
    """Some words of each of n documents: 2, 5, 10 or 20 of them."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((n, counts.n_features), np.int64)
    for q in range(n):
        own = slice(counts.indptr[q], counts.indptr[q + 1])
        words = np.repeat(counts.indices[own], counts.data[own])
        size = min((2, 5, 10, 20)[q % 4], len(words))
        np.add.at(rows[q], rng.choice(words, size, replace=False), 1)
    names = counts.features.names
    return dcomp.Counts.from_matrix(rows, feature_names=names)


def measure(fit: object, documents: object, queries: dcomp.Counts, exact: object) -> list[str]:
    lines = []
    pairs = queries.n_docs * documents.n_docs
    cases = [
        ("plug-in", {}),
        *((m, {"n_draws": s}) for m in ("sampling", "harmonic") for s in (50, 200)),
    ]
    cases += [("importance", {"n_draws": 200})]
    for method, options in cases:
        likelihood = QueryLikelihood(fit, method, seed=1, n_jobs=1, **options)
        start = time.process_time()
        found = likelihood.score(queries, documents)
        took = time.process_time() - start
        lines.append(line(method, options, found - exact, took / pairs))
        if method == "sampling":
            draws = likelihood.draw(documents)
            start = time.process_time()
            likelihood.score(queries, draws)
            took = time.process_time() - start
            lines.append(line("sampling (draws kept)", options, found - exact, took / pairs))
    return lines


def line(method: str, options: dict[str, int], away: np.ndarray, each: float) -> str:
    rms, bias = np.sqrt((away**2).mean()), away.mean()
    draws = options.get("n_draws", "")
    figures = f"{rms:.3f} | {bias:+.3f} | {np.abs(away).max():.2f} | {1e6 * each:.1f}"
    return f"| {method} | {draws} | {figures} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--k", type=int, nargs="+", default=[20, 50])
    parser.add_argument("--docs", type=int, default=10)
    parser.add_argument("--queries", type=int, default=4)
    parser.add_argument("--long", type=int, default=2000)
    parser.add_argument("--fitted", type=int, default=600, help="documents of the fit")
    asked = parser.parse_args()
    counts = dcomp.read(data_folder() / "ap" / "ap.dat")
    fitted, rest = counts.rows(slice(200, 200 + asked.fitted)), counts.rows(slice(0, 200))
    queries = drawn_queries(rest.rows(slice(100, None)), asked.queries, seed=1)
    documents = rest.rows(slice(0, asked.docs))
    report = [
        "# p(query | document) by method",
        "",
        f"{machine()}; processor time of one thread.",
        "",
    ]
    for K in asked.k:
        fit = dcomp.LDA(K, max_iter=30, tol=5.0, verbose=0, n_jobs=2).fit(fitted).fit_
        long = QueryLikelihood(fit, n_draws=asked.long, seed=99)
        exact = long.estimate(queries, documents)
        report += [
            f"## AP, DM, K = {K}, {queries.n_docs} queries × {documents.n_docs} documents",
            "",
        ]
        report += ["| method | draws | rms error of log p | mean | largest | µs per pair |"]
        report += ["|---|---|---|---|---|---|"]
        report += measure(fit, documents, queries, exact.log_probability)
        worst = exact.standard_error.max()
        report += [f"| long run | {asked.long} | standard error | at most | {worst:.3f} | |", ""]
        print("\n".join(report[-12:]), flush=True)
        RESULTS.mkdir(exist_ok=True)  # after each K, so that an end is no loss
        (RESULTS / "queries.md").write_text("\n".join([*report, *closing(asked)]))


def closing(asked: argparse.Namespace) -> list[str]:
    """What a reader should know of the figures, and how to have them again."""
    sizes = " ".join(map(str, asked.k))
    return [
        "Queries are of other documents than those they are asked of, which is the hard case: "
        "their words are",
        "improbable under most draws. Errors below the long run's own are not told apart.",
        f"Made by `python benchmarks/queries.py --k {sizes} --docs {asked.docs} "
        f"--queries {asked.queries} --long {asked.long}`.",
        "",
    ]


if __name__ == "__main__":
    main()
