"""Coherence of 100 components on 20 Newsgroups against gensim: the same numbers, how much sooner.

    python benchmarks/coherence.py > benchmarks/results/coherence.md

gensim counts in one process, as it does by default on two cores; both get tokens in memory.
"""

from __future__ import annotations

import json
import lzma
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from corpora import data_folder, machine
from gensim.corpora import Dictionary
from gensim.models import CoherenceModel

import dcomp
from dcomp.data.text import bag, tokenize
from dcomp.evaluate import coherence

NAMES = {"umass": "u_mass", "uci": "c_uci", "npmi": "c_npmi", "c_v": "c_v"}


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What it gives, and the seconds it takes."""
    start = time.perf_counter()
    found = work()
    return found, time.perf_counter() - start


def main() -> None:
    """The table."""
    with lzma.open(data_folder() / "newsgroups20.jsonl.xz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    counts = bag(texts, min_count=4, min_docs=3)
    fit = dcomp.LDA(100, max_iter=100, tol=0, verbose=0).fit(counts).fit_
    tokens = [tokenize(text) for text in texts]
    dictionary = Dictionary(tokens)
    corpus = [dictionary.doc2bow(text) for text in tokens]
    topics = [list(names) for names in fit.top_features(10).names]

    def gensims(name: str) -> Any:
        theirs = CoherenceModel(
            topics=topics,
            texts=tokens,
            corpus=corpus,
            dictionary=dictionary,
            coherence=name,
            topn=10,
            processes=1,
        )
        return np.array(theirs.get_coherence_per_topic())

    print("# Coherence on 20 Newsgroups, 100 components of 10 words\n")
    print(f"{machine()}\n")
    print(f"{counts.n_docs:,} documents, {counts.sequences.tokens.size:,} positions.\n")
    print("| measure | mean | largest difference | gensim | dcomp | ratio | mean, exact windows |")
    print("|---|---|---|---|---|---|---|")
    for measure, name in NAMES.items():
        ours, seconds = timed(lambda measure=measure: coherence(fit, counts, measure))
        theirs, slow = timed(lambda name=name: gensims(name))
        exact = coherence(fit, counts, measure, exact_windows=True)
        difference = np.abs(ours.values - theirs).max()
        print(
            f"| {measure} | {ours.mean:.4f} | {difference:.1e} | {slow:.1f} s | {seconds:.2f} s | "
            f"**{slow / seconds:.1f}** | {exact.mean:.4f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
