"""Ctrl-C comes through within a second in evaluations, in reading, and in writing, too.

Each piece of work would take many seconds. These tests press the key of their own process, and so
run in one of their own.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from support.interrupt import apart, outside, run_apart, seconds_to_stop

import dcomp
from dcomp.evaluate import (
    coherence,
    completion,
    diagnostics,
    edge_stability,
    independence,
    intervals,
    outliers,
    predictive_check,
    score_posterior,
)
from dcomp.inference.climb import climb

SLACK = 2.0  # seconds; one, and some for Python to come to it
J = 3000


def table(n_docs: int, length: int, n_features: int = J) -> dcomp.Counts:
    rng = np.random.default_rng(n_docs)
    row = np.repeat(np.arange(n_docs), length)
    column = (n_features * rng.random(row.size) ** 2).astype(int)
    ones = np.ones(row.size, int)
    return dcomp.Counts.from_matrix(sparse.csr_array((ones, (row, column)), (n_docs, n_features)))


@pytest.fixture(scope="module")
def many():
    return table(40_000, 50)


def begun(K: int, n_features: int = J, estimator=dcomp.LDA, **options) -> dcomp.Fit:
    """A fit of one sweep on a few documents: as large as one of many."""
    made = estimator(K, max_iter=1, tol=0, verbose=0, random_state=0, **options)
    return made.fit(table(20, 50, n_features)).fit_


def of_chains(many):
    made = dcomp.LDA(20, algorithm="collapsed-gibbs", max_iter=60, burn_in=20, n_chains=2,
                     n_draws=40, verbose=0, random_state=0)  # fmt: skip
    fit = made.fit(table(100, 50)).fit_
    return lambda: [diagnostics(fit) for _ in range(10_000)]


def more_sweeps(many):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = dcomp.LDA(50, max_iter=1, n_tries=1, verbose=0, random_state=0).fit(many).fit_
    return lambda: intervals(fit, many, burn_in=10**6)


def windows(many):
    rng = np.random.default_rng(0)
    texts = [[str(j) for j in rng.integers(0, 300, 200)] for _ in range(1000)]
    topics = [[str(j) for j in rng.permutation(300)[:20]] for _ in range(20_000)]
    counts = dcomp.Counts.from_tokens(texts)
    return lambda: coherence(topics, counts, window=10)


def hierarchies(many):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = dcomp.TreeDCA(3, 6, max_iter=2, n_chains=2, verbose=0, random_state=0)
        endings = made.fit(table(50, 50)).fit_.endings
    return lambda: edge_stability([*endings] * 5000)


def leaves(many):
    n = np.random.default_rng(0).poisson(1.0, (J, 200))
    return lambda: climb(n, 0.05)


def of_fit(K, work, **options):
    """Work on a fit of K components and many documents."""

    def make(many):
        fit = begun(K, **options)
        return lambda: work(fit, many)

    return make


WORK = {
    "completion": of_fit(400, completion),
    "outliers": of_fit(400, outliers),
    "intervals": more_sweeps,
    "score posterior": of_fit(400, score_posterior),
    "transform": of_fit(400, lambda fit, many: fit.transform(many)),
    "transform by sampling": of_fit(
        400, lambda fit, many: fit.transform(many, method="sampling")
    ),
    "predictive check": of_fit(
        20, lambda fit, many: predictive_check(fit, many, n_simulations=10**6)
    ),
    "independence": of_fit(3000, lambda fit, many: independence(fit), n_features=100),
    "coherence in documents": of_fit(
        3000, lambda fit, many: coherence(fit, many, window="document")
    ),
    "coherence in windows": windows,
    "stability": hierarchies,
    "structure search": leaves,
    "diagnostics": of_chains,
    "a spectral start": lambda many: lambda: dcomp.LDA(200, start="spectral", verbose=0).fit(many),
    "singular values": lambda many: lambda: dcomp.LSA(200).fit(many),
}  # fmt: skip


@apart
@pytest.mark.parametrize("name", WORK)
def test_an_evaluation_ends_soon(many, name):
    assert seconds_to_stop(WORK[name](many)) < SLACK


def docword() -> bytes:
    n, rng = 1_000_000, np.random.default_rng(0)
    head = b"100000\n3000\n%d\n" % n
    words = 1 + rng.integers(0, 300, n) + 300 * (np.arange(n) % 10)
    return head + b"".join(b"%d %d 1\n" % (i // 10 + 1, j) for i, j in enumerate(words.tolist()))


def sentences() -> list[str]:
    words = np.array([f"word{j}" for j in range(2000)])
    return [" ".join(row) for row in np.random.default_rng(0).choice(words, (60_000, 20)).tolist()]


def jsonl() -> bytes:
    return "\n".join(json.dumps({"text": line}) for line in sentences()).encode()


def csv() -> bytes:
    rows = (f"d{i // 10},w{i * 7919 % 5003},1\n" for i in range(1_000_000))
    return b"doc,word,count\n" + "".join(rows).encode()


def market() -> bytes:
    n = 1_000_000
    rows = b"".join(b"%d %d 1\n" % (i // 10 + 1, i * 7919 % 3000 + 1) for i in range(n))
    return b"%%%%MatrixMarket matrix coordinate integer general\n100000 3000 %d\n" % n + rows


FILES = {
    "docword": docword,
    "text": lambda: "\n".join(sentences()).encode(),
    "jsonl": jsonl,
    "table": csv,
    "matrix-market": market,
}


@apart
@pytest.mark.parametrize("name", FILES)
def test_reading_ends_soon(tmp_path, name):
    if name in ("text", "jsonl"):  # imports at first use are no part of it
        dcomp.data.bag(["a text"])
    path = tmp_path / "file"
    path.write_bytes(FILES[name]())
    limits = dcomp.Limits(memory="4 GB")
    read = lambda: [dcomp.read(path, format=name, limits=limits) for _ in range(100)]  # noqa: E731
    assert seconds_to_stop(read) < SLACK


@apart
@pytest.mark.parametrize("work", ["save", "load"])
def test_files_of_fits_end_soon_and_stay_whole(tmp_path, work):
    fit = begun(400, 10_000)
    path = tmp_path / "fit.dcomp"
    dcomp.save(fit, path)

    def again():
        while True:
            if work == "save":
                dcomp.save(fit, path, overwrite=True)
            else:
                dcomp.load(path)

    assert seconds_to_stop(again) < SLACK
    assert [p.name for p in tmp_path.iterdir()] == ["fit.dcomp"]
    assert (dcomp.load(path).Theta == fit.Theta).all()


@outside
def test_all_in_their_own_process():
    run_apart(__file__, Path(__file__).parents[1] / "result" / "test_chains.py")
