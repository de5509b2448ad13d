"""The correlated topic model on AP: held-out perplexity beside LDA, time beside tomotopy's CTModel.

    pip install ".[benchmark]" && python benchmarks/ctm.py

Perplexity by document completion on a tenth of the documents, three splits, each with its own seed:
the same documents, halves, K and γ for all. Differences to LDA are paired by document. Seconds per
pass: passes of both in turn, on the training documents of the first split.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from corpora import data_folder, machine

import dcomp
from dcomp.data import train_test
from dcomp.evaluate import HeldOut
from dcomp.executors import LocalExecutor
from dcomp.inference import Laplace
from dcomp.models import LogisticNormal, Observations

RESULTS = Path(__file__).parent / "results"
SPLITS = (0, 1, 2)
GAMMA = 0.05


@dataclass(frozen=True)
class Fitted:
    """One fit of one split."""

    score: HeldOut
    sweeps: int
    seconds: float
    converged: bool


def estimators(K: int, seed: int) -> dict[str, dcomp.DCA]:
    """What is compared; the first is the reference."""
    usual = {"n_components": K, "random_state": seed, "verbose": 0, "n_jobs": 2}
    sampled = {**usual, "algorithm": "collapsed-gibbs", "max_iter": 400}
    return {
        "LDA, mean field": dcomp.LDA(**usual),
        "LDA, collapsed Gibbs, 400 sweeps": dcomp.LDA(**sampled),
        "CTM": dcomp.CTM(**usual),
        "CTM, shrinkage auto": dcomp.CTM(shrinkage="auto", **usual),
        "CTM, loadings mean": dcomp.CTM(loadings="mean", **usual),
        "CTM, start mean field": dcomp.CTM(start="mean-field", **usual),
        "CTM, start seeded": dcomp.CTM(start="seeded", **usual),
        "CTM, Θ of the start held": dcomp.CTM(loadings="mean", learn_loadings=False, **usual),
    }


def compare(counts: dcomp.Counts, K: int) -> dict[str, list[Fitted]]:
    found: dict[str, list[Fitted]] = {}
    for seed in SPLITS:
        train, test = train_test(counts, 0.1, seed=seed)
        for name, estimator in estimators(K, seed).items():
            started = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fit = estimator.fit(train).fit_
            seconds = time.perf_counter() - started
            score = estimator.completion(test, seed=seed)
            found.setdefault(name, []).append(
                Fitted(score, fit.n_sweeps, seconds, fit.converged or fit.algorithm.samples)
            )
            print(f"split {seed}, {name}: {score} after {fit.n_sweeps} sweeps", flush=True)
    return found


def paired(fits: list[Fitted], reference: list[Fitted]) -> tuple[float, float]:
    """Gain in log-likelihood per token over the reference and its standard error, documents of all
    splits together: both predict the same words."""
    gain = np.concatenate(
        [a.score.per_document - b.score.per_document for a, b in zip(fits, reference, strict=True)]
    )
    tokens = np.concatenate([a.score.tokens for a in fits])
    mean = gain.sum() / tokens.sum()
    residual = gain - mean * tokens
    return float(mean), float(np.sqrt((residual**2).sum()) / tokens.sum())


def quality_table(found: dict[str, list[Fitted]]) -> list[str]:
    names = list(found)
    lines = [
        "| | perplexity of each split (± s.e.) | mean | gain over mean-field LDA, nats a token | "
        "over collapsed LDA | sweeps | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, fits in found.items():
        scores = [f.score for f in fits]
        cells = ", ".join(f"{s.perplexity:.0f} ± {s.perplexity_error:.0f}" for s in scores)
        mean = np.mean([s.perplexity for s in scores])
        gains = [paired(fits, found[other]) for other in names[:2]]
        text = " | ".join(f"{gain:+.4f} ± {error:.4f}" for gain, error in gains)
        sweeps = "/".join(str(f.sweeps) for f in fits)
        ended = "" if all(f.converged for f in fits) else " (limit)"
        seconds = np.median([f.seconds for f in fits])
        row = [name, cells, f"{mean:.0f}", text, f"{sweeps}{ended}", f"{seconds:.1f}"]
        lines.append(f"| {' | '.join(row)} |")
    return lines


def tomotopy_model(counts: dcomp.Counts, K: int):
    import tomotopy

    model = tomotopy.CTModel(k=K, seed=0)
    for i in range(counts.n_docs):
        own = slice(counts.indptr[i], counts.indptr[i + 1])
        words = np.repeat(counts.indices[own], counts.data[own])
        if len(words):
            model.add_doc([str(j) for j in words.tolist()])
    model.train(0)
    return model


def time_passes(counts: dcomp.Counts, K: int, threads: int, n: int) -> tuple[list, list, list]:
    """Seconds per pass, in turn: dcomp at one and at two Newton steps, tomotopy over pairs of its
    iterations, since it samples its logistic normal in every other one."""
    observed, executor = Observations.build(counts), LocalExecutor(threads)
    model = LogisticNormal.build(K, gamma=GAMMA, learn_mu0=True, learn_Sigma0=True)
    algorithms = [Laplace(start="mean-field", max_inner=steps) for steps in (1, 2)]
    states = [a.init(model, observed, 0, executor) for a in algorithms]
    peer = tomotopy_model(counts, K)
    times: tuple[list, list, list] = ([], [], [])
    for _ in range(n):
        for a, algorithm in enumerate(algorithms):
            started = time.perf_counter()
            states[a], _ = algorithm.step(observed, states[a], executor)
            times[a].append(time.perf_counter() - started)
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            peer.train(2, workers=threads)
        times[2].append((time.perf_counter() - started) / 2)
    return times


def speed_table(counts: dcomp.Counts, K: int, n: int) -> list[str]:
    lines = [
        "| threads | dcomp, 1 Newton step | dcomp, 2 | tomotopy CTModel | ratio |",
        "|---|---|---|---|---|",
    ]
    for threads in (1, 2):
        times = [np.array(t) for t in time_passes(counts, K, threads, n)]
        cells = " | ".join(f"{np.median(t):.3f} s ({t.min():.3f}–{t.max():.3f})" for t in times)
        ratio = np.median(times[2] / times[0])
        lines.append(f"| {threads} | {cells} | {ratio:.1f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", type=int, default=50)
    parser.add_argument("--passes", type=int, default=15)
    args = parser.parse_args()
    counts = dcomp.read(data_folder() / "ap" / "ap.dat")
    lines = [f"# The correlated topic model on AP, K = {args.k}", "", machine(), ""]
    lines += [f"{counts!r}; a tenth held out. `python benchmarks/ctm.py`", ""]
    lines += ["## Seconds per pass over the training documents, median (min–max)", ""]
    train, _ = train_test(counts, 0.1, seed=0)
    lines += speed_table(train, args.k, args.passes)
    print("\n".join(lines), flush=True)
    lines += ["", "## Held-out perplexity, document completion", ""]
    lines += quality_table(compare(counts, args.k))
    text = "\n".join(lines) + "\n"
    (RESULTS / "ctm.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
