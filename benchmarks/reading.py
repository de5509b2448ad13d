"""How long text takes to become counts: dcomp.read beside scikit-learn's CountVectorizer.

    python benchmarks/reading.py [--runs 5]

The corpus is 20 Newsgroups. Both are given the texts, already decompressed and parsed, and make a
sparse table of all words that are no stop words; CountVectorizer is told dcomp's rule of a word,
and the script says whether the tables are equal. Beside it the whole of dcomp.read from the
compressed file, and what of that is decompression and JSON, by Python's own libraries. Processor
time and clock, medians of runs in turn.
"""

from __future__ import annotations

import argparse
import json
import lzma
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from corpora import data_folder, machine
from sklearn.feature_extraction.text import CountVectorizer

import dcomp
from dcomp.data.words import PATTERNS, plain

PATH = "newsgroups20.jsonl.xz"


def by_sklearn(texts: list[str]) -> Any:
    """With dcomp's words."""
    pattern = PATTERNS["none"].pattern
    stop_words = list(dcomp.data.english_stop_words())
    rule = CountVectorizer(token_pattern=pattern, stop_words=stop_words)
    return rule.fit_transform(texts), rule


def same(texts: list[str]) -> bool:
    """Whether both make the same table; words of one letter are kept here, as scikit-learn does."""
    counts = dcomp.Counts.from_texts(texts, min_length=1)
    table, rule = by_sklearn([plain(text) for text in texts])  # in Unicode's composed form
    names = tuple(rule.get_feature_names_out())
    return names == counts.features.names and (table != counts.to_scipy()).nnz == 0


def main() -> None:
    """Time in turns and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    path = data_folder() / PATH
    lines = lzma.decompress(path.read_bytes()).splitlines()
    texts = [json.loads(line)["text"] for line in lines]
    print(f"{machine()}; {len(texts):,} texts, {sum(map(len, texts)) / 1e6:.0f} million characters")
    print("the same words and counts:", same(texts))
    tasks: dict[str, Callable[[], Any]] = {
        "CountVectorizer, texts in memory": lambda: by_sklearn(texts),
        "Counts.from_texts, texts in memory": lambda: dcomp.Counts.from_texts(texts),
        "dcomp.read, from .jsonl.xz": lambda: dcomp.read(path),
        "of that, xz": lambda: lzma.decompress(path.read_bytes()),
        "of that, JSON": lambda: [json.loads(line) for line in lines],
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in tasks}
    for _ in range(runs):
        for name, task in tasks.items():
            begin = time.process_time(), time.perf_counter()
            task()
            end = time.process_time(), time.perf_counter()
            taken[name].append((end[0] - begin[0], end[1] - begin[1]))
    medians = {
        name: [median(column) for column in zip(*found, strict=True)]
        for name, found in taken.items()
    }
    first, _ = medians["CountVectorizer, texts in memory"]
    print(f"{'':36}{'processor':>11}{'clock':>9}   CountVectorizer takes")
    for name, (processor, clock) in medians.items():
        print(f"{name:36}{processor:9.2f} s{clock:7.2f} s   {first / processor:.1f} times as long")


if __name__ == "__main__":
    main()
