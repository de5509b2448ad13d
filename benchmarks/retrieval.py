"""A query against many documents: milliseconds by score, beside bm25s where it is installed.

    python benchmarks/retrieval.py [--docs 100000] [--k 50] [--queries 200]

Documents are drawn from 50 topics over 30,000 words whose frequencies follow Zipf's law, some 120
words each; queries are 3 or 8 words of one document, which are not the most frequent. One thread:
median and 95th percentile of single queries by processor time, the share of documents looked at,
and whether the best 10 are those of scoring every document. The index is opened from its file,
mapped.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from corpora import machine
from scipy import sparse

import dcomp
from dcomp.use import BM25, LSA, Components, Dirichlet, Retriever, TfIdf

RESULTS = Path(__file__).parent / "results"
WORDS, TOPICS = 30_000, 50


def simulated(n_docs: int, seed: int = 0) -> dcomp.Counts:
    """Words of a topic are Zipf's in an order of its own, half of them as in all others."""
    rng = np.random.default_rng(seed)
    zipf = 1 / np.arange(1, WORDS + 1)
    cumulated = np.cumsum(zipf / zipf.sum())
    orders = [rng.permutation(WORDS) for _ in range(TOPICS)]
    lengths = rng.poisson(rng.gamma(4.0, 30.0, n_docs)) + 5
    shares = rng.dirichlet(np.full(TOPICS, 0.05), n_docs)
    document = np.repeat(np.arange(n_docs), lengths)
    rank = np.searchsorted(cumulated, rng.random(len(document)))
    edges = np.cumsum(shares, axis=1)
    topic = (rng.random(len(document))[:, None] > edges[document]).sum(axis=1).clip(0, TOPICS - 1)
    word = np.stack(orders)[topic, rank]
    common = rng.random(len(document)) < 0.5
    word[common] = rank[common]
    ones = np.ones(len(word), np.int32)
    table = sparse.csr_array((ones, (document, word)), shape=(n_docs, WORDS))
    return dcomp.Counts.from_matrix(table, feature_names=[f"w{j}" for j in range(WORDS)])


def asked_words(counts: dcomp.Counts, n: int, size: int, seed: int) -> list[list[str]]:
    """Words of one document each, of those that fewer than a twentieth of the documents have."""
    rng = np.random.default_rng(seed)
    df = np.bincount(counts.indices, minlength=counts.n_features)
    out: list[list[str]] = []
    while len(out) < n:
        i = int(rng.integers(counts.n_docs))
        own = counts.indices[counts.indptr[i] : counts.indptr[i + 1]]
        rare = own[df[own] < counts.n_docs / 20]
        if len(rare) >= size:
            out.append([f"w{j}" for j in rng.choice(rare, size, replace=False)])
    return out


def timed(call: Callable[[list[str]], object], queries: list[list[str]]) -> np.ndarray:
    call(queries[0])
    out = []
    for query in queries:
        start = time.process_time()
        call(query)
        out.append(1e3 * (time.process_time() - start))
    return np.array(out)


def of_ours(retriever: Retriever, queries: list[list[str]]) -> list[str]:
    scorers = {
        "BM25": BM25(),
        "tf-idf": TfIdf(),
        "Dirichlet": Dirichlet(100),
        "components": Components(),
        "BM25 + components": BM25() + Components(),
    }
    if "lsa_documents" in retriever.index.arrays:
        scorers["LSA"] = LSA()
    lines = []
    for name, scorer in scorers.items():
        took = timed(lambda q, s=scorer: retriever.search([q], 10, by=s), queries)
        some = [retriever.search([q], 10, by=scorer) for q in queries[:20]]
        seen = np.mean([ranking.n_evaluated for ranking in some]) / retriever.n_docs
        every = retriever.score(queries[:20], scorer)
        same = all(
            np.allclose(r.scores, np.sort(row)[::-1][: len(r)], rtol=1e-12, atol=1e-9)
            for r, row in zip(some, every, strict=True)
        )
        lines.append(line(f"dcomp, {name}", took, f"{100 * seen:.1f} %", "yes" if same else "NO"))
        print(lines[-1], flush=True)
    return lines


def line(name: str, took: np.ndarray, seen: str, same: str) -> str:
    return f"| {name} | {np.median(took):.2f} | {np.percentile(took, 95):.2f} | {seen} | {same} |"


def of_bm25s(counts: dcomp.Counts, queries: list[list[str]]) -> str | None:
    try:
        import bm25s
    except ImportError:
        return None
    names = counts.features.names
    rows = np.split(np.repeat(counts.indices, counts.data), np.cumsum(counts.doc_totals)[:-1])
    index = bm25s.BM25(k1=1.2, b=0.75)
    index.index([[names[j] for j in row] for row in rows], show_progress=False)

    def ask(query: list[str]) -> object:
        return index.retrieve([query], k=10, show_progress=False, n_threads=0)

    return line("bm25s", timed(ask, queries), "", "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--docs", type=int, default=100_000)
    parser.add_argument("--k", type=int, default=50)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--lsa", type=int, help="dimensions of LSA; none unless given")
    asked = parser.parse_args()
    counts = simulated(asked.docs)
    print(counts, flush=True)
    some = counts.rows(slice(0, min(2000, asked.docs)))
    fit = dcomp.LDA(asked.k, alpha=0.1, max_iter=15, tol=50.0, verbose=0).fit(some).fit_
    start = time.perf_counter()
    retriever = Retriever(fit, counts, lsa=asked.lsa)
    built = time.perf_counter() - start
    report = ["# A query against many documents", "", f"{machine()}; one thread.", ""]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.dindex"
        retriever.save(path)
        mapped = Retriever.open(path, fit)
        size = path.stat().st_size / 1e6
        report += [f"{counts}; K = {asked.k}; index {size:.0f} MB, made in {built:.0f} s.", ""]
        for n_words in (3, 8):
            queries = asked_words(counts, asked.queries, n_words, seed=n_words)
            report += [f"## {len(queries)} queries of {n_words} words, best 10", ""]
            report += ["| score | median ms | 95 % ms | documents looked at | as of all |"]
            report += ["|---|---|---|---|---|", *of_ours(mapped, queries)]
            other = of_bm25s(counts, queries)
            report += [*([other] if other else []), ""]
            print(other, flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "retrieval.md").write_text("\n".join(report))


if __name__ == "__main__":
    main()
