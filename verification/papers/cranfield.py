"""C04 figure 6: average precision on Cranfield, components against words alone.

    python verification/papers/cranfield.py [--folds 5]

1,400 abstracts with their titles, 225 queries, stemmed. Everything that is chosen (BM25's and
Dirichlet's constants, K, the smoothing's weights, the weights of a sum) is chosen on four fifths of
the queries and scored on the rest, fold by fold. Both readings of code −1: relevant, and not.
Writes `results/papers-cranfield.md`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from shared import data_file, head, row, write
from smart import cranfield, judgements, records

import dcomp
from dcomp.use import BM25, LSA, Components, ComponentSpace, Dirichlet, Retriever, TfIdf
from dcomp.use.learning import Validated, average_precision, cross_validate

SMOOTHING = [(0.5, 0.5), (1.0, 0.5), (2.0, 1.0), (4.0, 1.0)]  # the first is C04's
FITS = {  # K, and random starts of each
    "DM": ((20, 1), (40, 1), (100, 1), (200, 3), (400, 3)),
    "GP": ((20, 1), (40, 1), (100, 1), (200, 1)),
}
GAMMA = 0.05  # Jeffreys' 0.5 smooths so many components too much: a hundredth less by DM, K = 200
DIMENSIONS = (100, 150, 200, 300)  # of LSA
READ = {  # what words are read of; the last is what is used here
    "text, not stemmed": {"titles": False, "stem": None},
    "text, stop words in": {"titles": False, "stop_words": None},
    "text": {"titles": False},
    "title and text, stop words in": {"titles": True, "stop_words": None},
    "title and text": {"titles": True},
}
ALONE = ("tf-idf", "BM25", "Dirichlet")
Tables = dict[str, np.ndarray]
Judged = list[list[tuple[int, int]]]


def asked_and_judged(folder: Path) -> tuple[list[str], Judged]:
    """Queries, and of each the documents with their grades."""
    queries = [query["W"] for query in records(folder / "cran.qry")]
    judged: Judged = [[] for _ in queries]
    for query, document, grade in judgements(folder / "cranqrel"):
        judged[query - 1].append((document - 1, grade))
    return queries, judged


def word_tables(counts: dcomp.Counts, texts: list[str]) -> dict[str, Tables]:
    plain = Retriever(None, counts)
    queries = plain.queries(texts)
    bm25 = [BM25(k1, b) for k1 in (1.2, 2.0, 3.0) for b in (0.5, 0.75)]
    dirichlet = [Dirichlet(mu) for mu in (50, 100, 200, 400, 800)]
    cases: dict[str, Any] = {"tf-idf": [TfIdf()], "BM25": bm25, "Dirichlet": dirichlet}
    return {
        name: {repr(s): plain.score(queries, s) for s in scorers} for name, scorers in cases.items()
    }


def component_tables(
    counts: dcomp.Counts, queries: Any, model: str, algorithm: str
) -> tuple[Tables, Tables, dict[int, np.ndarray]]:
    """Smoothing by each fit and by the mean of all, the space of their components alike, and
    C04's own smoothing by K."""
    smoothed: dict[tuple[float, float], Tables] = {pair: {} for pair in SMOOTHING}
    space: Tables = {}
    for K, starts in FITS[model]:
        for seed in range(starts):
            retriever = Retriever(fitted(counts, model, algorithm, K, seed), counts)
            name = f"{model} K={K}, {seed}"
            for pair, tables in smoothed.items():
                tables[name] = retriever.score(queries, Components(*pair))
            space[name] = retriever.score(queries, ComponentSpace())
    own = {int(name.split("=")[1].split(",")[0]): t for name, t in smoothed[SMOOTHING[0]].items()}
    flat = {f"{name} {pair}": t for pair, tables in smoothed.items() for name, t in tables.items()}
    for pair, tables in smoothed.items():
        flat[f"{model} all {pair}"] = np.mean(list(tables.values()), axis=0)
    return flat, {f"{model} all": np.mean(list(space.values()), axis=0)}, own


def fitted(counts: dcomp.Counts, model: str, algorithm: str, K: int, seed: int) -> Any:
    how: dict[str, Any] = {"tol": 2.0} if algorithm == "mean-field" else {"max_iter": 300}
    how["gamma"] = GAMMA
    if model == "DM":
        how["alpha"] = 0.1
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dcomp.ConvergenceWarning)
        made = dcomp.DCA(
            K, model=model, algorithm=algorithm, random_state=seed + 1, verbose=0, **how
        ).fit(counts)
    print(f"  {model} {algorithm} K = {K}: {time.perf_counter() - started:.0f} s", flush=True)
    return made


def lsa_tables(counts: dcomp.Counts, queries: Any) -> Tables:
    found = {f"LSA {R}": Retriever(None, counts, lsa=R).score(queries, LSA()) for R in DIMENSIONS}
    return {**found, "LSA all": np.mean(list(found.values()), axis=0)}


def cases_of(counts: dcomp.Counts, texts: list[str]) -> tuple[Any, dict[str, Any]]:
    """Candidates of every score, and C04's smoothing by K."""
    words = word_tables(counts, texts)
    queries = Retriever(None, counts).queries(texts)
    DM, DM_space, DM_by_K = component_tables(counts, queries, "DM", "collapsed-gibbs")
    GP, GP_space, GP_by_K = component_tables(counts, queries, "GP", "mean-field")
    EM = component_tables(counts, queries, "GP", "map")[2]
    lsa = lsa_tables(counts, queries)
    bm25 = {"words": words["BM25"]}
    own = {"components": DM, "space": DM_space}
    cases = {
        **{name: {"words": tables} for name, tables in words.items()},
        "LSA on tf-idf": {"lsa": lsa},
        "Components, GP (C04)": {"components": GP},
        "Components, DM": {"components": DM},
        "BM25 + components, GP": bm25 | {"components": GP},
        "BM25 + components, DM": bm25 | {"components": DM},
        "BM25 + components, GP + component space": bm25 | {"components": GP, "space": GP_space},
        "BM25 + components, DM + component space": bm25 | own,
        "BM25 + LSA": bm25 | {"lsa": lsa},
        "BM25 + LSA + components, DM": bm25 | {"lsa": lsa, "components": DM},
        "BM25 + LSA + components, DM + component space": bm25 | {"lsa": lsa} | own,
    }
    by_K = {"GP, C04's EM": EM, "GP, mean field": GP_by_K, "DM, sampled": DM_by_K}
    return cases, by_K


def relevant_by(judged: Judged, minus_one: bool) -> list[list[int]]:
    return [[d for d, grade in own if minus_one or grade != -1] for own in judged]


def table(found: Mapping[str, tuple[Validated, Validated]]) -> list[str]:
    best = [max(found[name][r].mean for name in ALONE) for r in (0, 1)]
    lines = head("score", "−1 relevant", "over best of words", "−1 not", "over best of words")
    for name, both in found.items():
        cells = [
            (f"{v.mean:.4f}", f"{100 * (v.mean / b - 1):+.1f} %")
            for v, b in zip(both, best, strict=True)
        ]
        lines.append(row(name, *cells[0], *cells[1]))
    return lines


def by_reading(folder: Path, texts: list[str], judged: Judged) -> list[str]:
    """Words alone by what they are read of, the best constants of all queries."""
    relevant = relevant_by(judged, True)
    lines = head("words of", "features", *ALONE)
    for name, how in READ.items():
        counts = cranfield(folder, **how)
        tables = word_tables(counts, texts)
        best = [
            max(average_precision(t, relevant).mean() for t in tables[kind].values())
            for kind in ALONE
        ]
        lines.append(row(name, f"{counts.n_features:,}", *(f"{v:.4f}" for v in best)))
    return lines


def figure_6(by_K: dict[str, Any], dirichlet: float, judged: Judged) -> list[str]:
    """C04's own score by K, beside the paper's figure."""
    relevant = relevant_by(judged, True)
    sizes = sorted({K for tables in by_K.values() for K in tables})
    lines = head("p1 + 0.5 p2 + 0.5 p3", *(f"K = {K}" for K in sizes))
    for name, tables in by_K.items():
        values = [
            f"{average_precision(tables[K], relevant).mean():.4f}" if K in tables else ""
            for K in sizes
        ]
        lines.append(row(name, *values))
    paper = {20: "above words", 40: "0.42", 100: "no better than 40"}
    lines.append(row("C04 figure 6", *(paper.get(K, "") for K in sizes)))
    return [*lines, "", f"(Dirichlet smoothing has {dirichlet:.4f}; C04's has some 0.365.)"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folds", type=int, default=5)
    folds = parser.parse_args().folds
    folder = data_file("cranfield")
    counts = cranfield(folder)
    texts, judged = asked_and_judged(folder)
    warnings.simplefilter("ignore", dcomp.errors.DataWarning)  # words that no document has
    cases, by_K = cases_of(counts, texts)
    found: dict[str, tuple[Validated, Validated]] = {}
    for name, candidates in cases.items():
        first, second = (
            cross_validate(candidates, relevant_by(judged, reading), folds=folds)
            for reading in (True, False)
        )
        found[name] = (first, second)
        print(f"{name}: {first.mean:.4f} {second.mean:.4f}", flush=True)
    lines = [
        "# Cranfield: average precision by what a document is scored",
        "",
        f"{counts.n_docs:,} documents, {counts.n_features:,} stems, {len(texts)} queries; all "
        f"choices on other queries than those scored ({folds} folds). Components are of several "
        "fits, of which the mean score is a candidate, too.",
        "",
        *table(found),
        "",
        "What was chosen, of the last score with −1 relevant, by fold:",
        "",
        *(f"- {learned}" for learned in found[list(found)[-1]][0].folds),
        "",
        "## C04's own smoothing by K",
        "",
        *figure_6(by_K, found["Dirichlet"][0].mean, judged),
        "",
        "## What words are read of",
        "",
        "All judged relevant, constants the best of all queries (no cross-validation). The text of "
        "an abstract begins with its title; where both are read the title counts twice, which is "
        "worth a hundredth.",
        "",
        *by_reading(folder, texts, judged),
        "",
    ]
    write("papers-cranfield", lines)


if __name__ == "__main__":
    main()
