"""Stochastic mean field against batch mean field, and against the online LDA of gensim and
scikit-learn: held-out perplexity on 20 Newsgroups by one document completion for all.

    python benchmarks/stochastic.py [K ...]        (20 unless given; --epochs N, 3 unless given)

All have the same training documents, in ten parts for dcomp, and γ = 0.05 (gensim also as it
comes). Loadings of the others are judged as `dcomp.project` judges any, with their own α. dcomp's
batch fit runs until it has converged.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from corpora import machine, newsgroups

import dcomp
from dcomp.data import train_test
from dcomp.evaluate import completion

OUT = Path(__file__).parent / "results" / "stochastic.md"


def ours(train: dcomp.Counts, K: int, **options: Any) -> tuple[Any, float]:
    model = dcomp.LDA(K, verbose=0, **options).fit(train)
    return model.fit_, model.n_iter_


def of_gensim(
    train: dcomp.Counts, K: int, epochs: int, *, plain: bool = False
) -> tuple[Any, float]:
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel

    words = dict(enumerate(map(str, range(train.n_features))))
    corpus = Sparse2Corpus(train.to_scipy().astype(float), documents_columns=False)
    how: Any = {"passes": epochs, "random_state": 0, "eval_every": None}
    how |= {} if plain else {"alpha": "auto", "eta": 0.05, "chunksize": 256}
    model = LdaModel(corpus, K, words, dtype=np.float64, **how)
    return judged(train, model.get_topics(), model.alpha), epochs


def of_sklearn(train: dcomp.Counts, K: int, epochs: int) -> tuple[Any, float]:
    from sklearn.decomposition import LatentDirichletAllocation

    how: Any = {"learning_method": "online", "max_iter": epochs, "random_state": 0}
    how |= {"topic_word_prior": 0.05, "batch_size": 256, "n_jobs": None}
    model = LatentDirichletAllocation(K, **how).fit(train.to_scipy())
    return judged(train, model.components_, np.full(K, 1 / K)), epochs


def judged(train: dcomp.Counts, topics: Any, alpha: Any) -> Any:
    """A fit with these components, and nothing else to learn."""
    topics = topics / topics.sum(axis=1, keepdims=True)
    few = train.rows(slice(0, 50))
    return dcomp.project(few, topics, model="DM", alpha=np.asarray(alpha, float))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("K", nargs="*", type=int, default=[20])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--only", default="", help="names of contestants, with commas")
    told = parser.parse_args()
    warnings.simplefilter("ignore")
    train, test = train_test(newsgroups().without_order(), 0.1, seed=0)
    cut, epochs = train.in_parts(10), told.epochs
    steps = {"algorithm": "stochastic-mean-field", "max_iter": epochs}
    contestants: dict[str, Callable[[int], tuple[Any, float]]] = {
        "stochastic": lambda K: ours(cut, K, **steps),
        "batch": lambda K: ours(cut, K),
        "batch, as many passes": lambda K: ours(cut, K, max_iter=epochs),
        "gensim": lambda K: of_gensim(train, K, epochs),
        "gensim as it comes": lambda K: of_gensim(train, K, epochs, plain=True),
        "scikit-learn": lambda K: of_sklearn(train, K, epochs),
    }
    wanted = [name for name in told.only.split(",") if name] or list(contestants)
    lines = [f"{machine()}; {train}", "", "| K | by | passes | perplexity | seconds |"]
    lines.append("|---|---|---|---|---|")
    print("\n".join(lines), flush=True)
    for K in told.K:
        for name in wanted:
            begun = time.perf_counter()
            fitted, passes = contestants[name](K)
            seconds = time.perf_counter() - begun
            found = completion(fitted, test)
            error = found.perplexity_error
            judged_by = f"{found.perplexity:.1f} ± {error:.1f}"
            lines.append(f"| {K} | {name} | {passes} | {judged_by} | {seconds:.1f} |")
            print(lines[-1], flush=True)
            OUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
