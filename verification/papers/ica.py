"""Discrete components beside ICA on tf-idf: BJ06 II.C, BJ04 3.2, C04 3.6.

    python verification/papers/ica.py [--k 50]

ICA is applied to text as the papers say it is done: words are turned into tf-idf, PCA keeps K
dimensions, and FastICA rotates them. Beside it DM and GP with as many components, on the same posts
of 20 Newsgroups. Measured: how independent scores of different components are, how well they tell
the groups, how well their words go together, and time. Writes `results/papers-ica.md`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats
from shared import Done, head, newsgroup_texts, row, write
from sklearn.decomposition import FastICA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import normalized_mutual_info_score
from sklearn.model_selection import cross_val_score
from svm import SWEEPS, features, words_of

import dcomp
from dcomp.evaluate import coherence

BINS = 4
PAIRS = 300  # of components, of which the dependence is measured


def by_ica(counts: dcomp.Counts, K: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores and the words' weights: tf-idf, K singular vectors, FastICA."""
    X, _ = features(None, counts, counts.rows(slice(0, 1)))
    lsa = dcomp.LSA(K, center=True)
    made = FastICA(K, whiten="unit-variance", max_iter=500, tol=1e-3, random_state=0)
    scores = made.fit_transform(lsa.fit_transform(X))
    loadings = made.mixing_.T @ lsa.components_
    # A component's sign is free: the longer tail is where its words are.
    sign = np.sign(stats.skew(scores, axis=0))
    return scores * sign, loadings * sign[:, None]


def by_model(name: str) -> Callable[[dcomp.Counts, int], tuple[np.ndarray, np.ndarray]]:
    def made(counts: dcomp.Counts, K: int) -> tuple[np.ndarray, np.ndarray]:
        how: Any = {"gamma": 0.05, "max_iter": SWEEPS, "random_state": 0, "verbose": 0}
        model = dcomp.DCA(K, model=name, **how)
        fit = model.fit(counts).fit_
        return np.asarray(fit.expected_counts, float), np.asarray(fit.Theta.T, float)

    return made


WAYS: dict[str, Any] = {"DM": by_model("DM"), "GP": by_model("GP"), "FastICA on tf-idf": by_ica}


def dependence(scores: np.ndarray, by: np.ndarray) -> float:
    """Median mutual information of two components in bits, over random pairs, both cut at the
    quartiles of their documents' ranks; less that of shuffled documents, which is chance."""
    rng = np.random.default_rng(0)
    ranks = np.argsort(np.argsort(scores / by[:, None], axis=0), axis=0)
    cut = ranks * BINS // len(scores)
    gains = []
    for _ in range(PAIRS):
        a, b = rng.choice(scores.shape[1], 2, replace=False)
        shuffled = rng.permutation(cut[:, b])
        gains.append(shared_bits(cut[:, a], cut[:, b]) - shared_bits(cut[:, a], shuffled))
    return float(np.median(gains))


def shared_bits(a: np.ndarray, b: np.ndarray) -> float:
    """Mutual information of two labels."""
    p = np.zeros((BINS, BINS))
    np.add.at(p, (a, b), 1 / len(a))
    outer = p.sum(axis=1, keepdims=True) * p.sum(axis=0)
    return float((p[p > 0] * np.log2(p[p > 0] / outer[p > 0])).sum())


def measured(name: str, counts: dcomp.Counts, groups: np.ndarray, K: int) -> dict[str, float]:
    """One column of the table."""
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores, loadings = WAYS[name](counts, K)
    seconds = time.process_time() - started
    R = np.abs(np.corrcoef(scores.T)[np.triu_indices(K, 1)])
    length = np.maximum(counts.doc_totals.astype(float), 1.0)
    own = length if scores.min() >= 0 else np.ones(len(length))
    shares = scores / own[:, None]
    rows = np.random.default_rng(0).permutation(len(groups))[:6000]
    scaled = shares / np.maximum(shares.std(axis=0), 1e-12)
    linear = LogisticRegression(max_iter=300)
    accuracy = cross_val_score(linear, scaled[rows], groups[rows], cv=3).mean()
    top = [np.argsort(-w)[:10].tolist() for w in loadings]
    return {
        "median correlation of scores, without sign": float(np.median(R)),
        "largest": float(R.max()),
        "shared by two components' shares, bits (median of pairs)": dependence(scores, own),
        "kurtosis of scores, median": float(np.median(stats.kurtosis(shares, axis=0))),
        "negative scores, %": 100 * float((scores < 0).mean()),
        "negative weights of words, %": 100 * float((loadings < 0).mean()),
        "groups told by logistic regression on scores, %": 100 * float(accuracy),
        "NMI of the largest component with the group": float(
            normalized_mutual_info_score(groups, shares.argmax(axis=1))
        ),
        "NPMI of the first 10 words": npmi(counts, top),
        "seconds of all cores": seconds,
    }


def npmi(counts: dcomp.Counts, top: list[list[int]]) -> float:
    """Mean over components, of words that share documents."""
    return float(coherence(top, counts, window="document").values.mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--k", type=int, default=50)
    K = parser.parse_args().k
    texts, groups = newsgroup_texts()
    counts = words_of(texts)
    long = np.flatnonzero(counts.doc_totals > 0)
    counts, labels = counts.rows(long), np.array(groups)[long]
    done = Done("papers-ica", {"k": K})
    found = {
        name: done.part(name, lambda: measured(name, counts, labels, K))  # noqa: B023
        for name in WAYS
    }
    lines = [
        "# Discrete components beside ICA on tf-idf (BJ06 II.C, BJ04 3.2, C04 3.6)",
        "",
        f"20 Newsgroups without headers, {counts.n_docs:,} posts, {counts.n_features:,} stems; {K} "
        f"components: DM and GP by mean field ({SWEEPS} sweeps), expected words as scores; FastICA "
        "after PCA of tf-idf. The papers say why counts want another model, and measure nothing.",
        "",
        *head("", *WAYS),
    ]
    for what in found["DM"]:
        lines.append(row(what, *(f"{found[name][what]:.3g}" for name in WAYS)))
    write("papers-ica", [*lines, ""])


if __name__ == "__main__":
    main()
