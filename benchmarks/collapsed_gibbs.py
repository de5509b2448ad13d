"""Collapsed Gibbs against tomotopy's LDAModel, side by side, one run: same K, priors and threads.

    pip install ".[benchmark]" && python benchmarks/collapsed_gibbs.py

Sweeps per second; the time to reach the training log joint that tomotopy ends with (computed by one
formula from both assignments); held-out perplexity by the neutral scorer; peak memory.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from corpora import machine, newsgroups
from neutral import perplexity

import dcomp
from dcomp import _core
from dcomp.data import halves, train_test
from dcomp.executors import LocalExecutor
from dcomp.inference import CollapsedGibbs
from dcomp.models import DirichletMultinomial, Observations

ALPHA, ETA = 0.1, 0.01
RESULTS = Path(__file__).parent / "results"


def tomotopy_model(train: dcomp.Counts, K: int):
    import tomotopy

    model = tomotopy.LDAModel(k=K, alpha=ALPHA, eta=ETA, seed=1)
    model.optim_interval = 0
    names = [str(j) for j in range(train.n_features)]
    for i in range(train.n_docs):
        own = slice(train.indptr[i], train.indptr[i + 1])
        tokens = np.repeat(train.indices[own], train.data[own])
        if len(tokens):
            model.add_doc([names[j] for j in tokens])
    return model


def neutral_joint(train: dcomp.Counts, c: np.ndarray, n: np.ndarray) -> float:
    """log p(words, z) per token with scores and loadings integrated out."""
    gamma, blocks = np.full(train.n_features, ETA), np.zeros(train.n_features, np.int32)
    alpha = np.full(n.shape[1], ALPHA)
    value = _core.log_loading_moments(np.ascontiguousarray(n, np.int32), gamma, blocks, 1, 2)
    value += _core.log_score_moments(np.ascontiguousarray(c, np.int32), alpha, None, None, None, 2)
    return value / train.n_tokens


def tomotopy_tables(model, train: dcomp.Counts, K: int) -> tuple[np.ndarray, np.ndarray]:
    words = np.array([int(word) for word in model.used_vocabs])
    c, n = np.zeros((len(model.docs), K), np.int32), np.zeros((train.n_features, K), np.int32)
    for i, doc in enumerate(model.docs):
        topics = np.asarray(doc.topics)
        c[i] = np.bincount(topics, minlength=K)
        np.add.at(n, (words[np.asarray(doc.words)], topics), 1)
    return c, n


def run_tomotopy(train, K, threads, sweeps):
    model = tomotopy_model(train, K)
    model.train(0, workers=threads)
    seconds = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(sweeps // 5):
            started = time.perf_counter()
            model.train(5, workers=threads)
            seconds += [(time.perf_counter() - started) / 5] * 5
    c, n = tomotopy_tables(model, train, K)
    return seconds, neutral_joint(train, c, n), n


def run_dcomp(train, K, threads, sweeps):
    model = DirichletMultinomial.build(K, alpha=ALPHA, gamma=ETA)
    observed, executor = Observations.build(train), LocalExecutor(threads)
    algorithm = CollapsedGibbs(burn_in=10**9)
    state, seconds, joints = algorithm.init(model, observed, 0), [], []
    for _ in range(sweeps):
        started = time.perf_counter()
        state, info = algorithm.step(observed, state, executor)
        seconds.append(time.perf_counter() - started)
        joints.append(info.objective / train.n_tokens)
    return seconds, np.array(joints), algorithm.finish(observed, state).n


MEMORY = """
import sys; sys.path.insert(0, {here!r})
import collapsed_gibbs as b
from corpora import reset_peak
train, _ = b.problem()
peak_since = reset_peak()
getattr(b, {which!r})(train, {K}, 2, 5)
print(peak_since())
"""


def peak_memory(which: str, K: int) -> float:
    """MiB above what the corpus alone needs, in a process of its own."""
    code = MEMORY.format(here=str(Path(__file__).parent), which=which, K=K)
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(out.stdout.split()[-1]) / 2**20


def problem() -> tuple[dcomp.Counts, tuple]:
    train, test = train_test(newsgroups(), 0.1, seed=0)
    first, second = halves(test.rows(slice(0, 500)), 0.5, seed=0)
    return train, (first.to_scipy(), second.to_scipy())


def compare(train, test, K: int, threads: int, sweeps: int) -> list[str]:
    theirs, goal, their_n = run_tomotopy(train, K, threads, sweeps)
    ours, joints, our_n = run_dcomp(train, K, threads, 2 * sweeps)
    reached = np.flatnonzero(joints >= goal)
    when = f"{np.cumsum(ours)[reached[0]]:.1f} s" if len(reached) else "not reached"
    their_p = perplexity((their_n + ETA).T, np.full(K, ALPHA), *test)
    our_p = perplexity((our_n + ETA).T, np.full(K, ALPHA), *test)
    a, b = np.median(theirs[sweeps // 2 :]), np.median(ours[sweeps // 2 : sweeps])
    return [
        f"| {K} | {threads} | {a:.3f} | {b:.3f} | {a / b:.2f} | {np.sum(theirs):.1f} s | {when} "
        f"| {their_p:.0f} | {our_p:.0f} |"
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", type=int, nargs="+", default=[20, 150, 1000])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--sweeps", type=int, default=200)
    args = parser.parse_args()
    train, test = problem()
    lines = [
        "# Collapsed Gibbs on 20 Newsgroups against tomotopy",
        "",
        machine(),
        "",
        f"alpha = {ALPHA}, eta = {ETA}, both fixed; {args.sweeps} sweeps of tomotopy, twice as "
        "many of dcomp. Medians over the second half of the first; perplexities at the ends.",
        "",
        "| K | threads | tomotopy s/sweep | dcomp s/sweep | ratio | tomotopy's whole run "
        "| dcomp at tomotopy's joint | perplexity tomotopy | perplexity dcomp |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for K in args.k:
        for threads in args.threads:
            lines += compare(train, test, K, threads, args.sweeps)
            print(lines[-1], flush=True)
    for K in args.k:
        theirs, ours = peak_memory("run_tomotopy", K), peak_memory("run_dcomp", K)
        lines.append(
            f"\nK = {K}: memory above the corpus, tomotopy {theirs:.0f} MiB, dcomp {ours:.0f}."
        )
        print(lines[-1], flush=True)
    (RESULTS / "collapsed_gibbs.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
