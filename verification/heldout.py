"""Held-out scores of LDA on the Associated Press corpus: completion and left to right side by side.

    python verification/heldout.py [--docs 1000] [--particles 20]

Both have to rank K = 10, 20, 50, 100 in the same order, and neither may only rise with K. Beside
it, what particles and Gibbs moves buy: on documents whose likelihood is known exactly, and on AP.

Writes `results/heldout.md`. Needs ../shared/data or DCOMP_DATA.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np
from common import row, write

import dcomp
from dcomp.data import Counts, train_test
from dcomp.evaluate import completion, left_to_right
from dcomp.evaluate.heldout import mean_loadings
from dcomp.evaluate.left_to_right import estimates
from dcomp.inference.mean_field import Weights
from dcomp.models import MODELS, Observations
from dcomp.reference.left_to_right import exact_log_likelihood

KS = (10, 20, 50, 100)


def corpus() -> Counts:
    """ap.dat, or a message that says where it was looked for."""
    folder = Path(os.environ.get("DCOMP_DATA", Path(__file__).parents[2] / "shared" / "data"))
    path = folder / "ap" / "ap.dat"
    if not path.exists():
        sys.exit(f"{path} is not there; DCOMP_DATA can point to the data sets")
    return dcomp.read(path)


def by_components(train: Counts, test: Counts, particles: int) -> tuple[list[str], dcomp.Fit]:
    """The table over K, and the fit with the most components."""
    lines = [
        row("K", "completion", "left to right", "Monte Carlo error", "bias", "seconds"),
        row(*["---"] * 6),
    ]
    halves, wholes = [], []
    for K in KS:
        fitted = dcomp.LDA(K, algorithm="collapsed-gibbs", verbose=0).fit(train).fit_
        half = completion(fitted, test)
        started = time.perf_counter()
        whole = left_to_right(fitted, test, particles=particles)
        seconds = time.perf_counter() - started
        halves.append(half.perplexity)
        wholes.append(whole.perplexity)
        shown = [
            f"{score.perplexity:.0f} ± {score.perplexity_error:.0f}" for score in (half, whole)
        ]
        noise = f"± {whole.monte_carlo_error:.4f}"
        lines.append(row(K, *shown, noise, f"{whole.bias:.4f}", f"{seconds:.0f}"))
        print(lines[-1], flush=True)
    same = np.argsort(halves).tolist() == np.argsort(wholes).tolist()
    rising = [bool(np.all(np.diff(values) > 0)) for values in (halves, wholes)]
    lines += ["", f"Same order of K: {'yes' if same else 'NO'}. Only rises with K: {rising}."]
    return lines, fitted


def against_exact() -> list[str]:
    """Particles × moves on 40 documents of 50 tokens whose likelihood is known."""
    rng = np.random.default_rng(1)
    Theta = rng.dirichlet(np.full(60, 1.0), size=4).T
    m = rng.dirichlet(np.full(4, 0.3), size=40)
    W = np.array([rng.multinomial(50, Theta @ share) for share in m])
    model, observed = MODELS["DM"].build(4, alpha=0.3), Observations.build(Counts.from_matrix(W))
    exact = exact_log_likelihood(model, observed, Theta)
    weights = Weights.of_loadings(Theta)
    lines = [row("particles", "moves", "bias", "spread", "seconds"), row(*["---"] * 5)]
    for particles in (10, 20, 50):
        for moves in (0, 1, 4, 50):
            started = time.perf_counter()
            found = estimates(
                model, observed, weights.Theta, weights.log_scale,
                particles=particles, seed=1, n_threads=2, runs=100, moves=moves,
            )  # fmt: skip
            seconds = time.perf_counter() - started
            error = found - exact
            spread = np.sqrt(error.var(axis=0).mean())
            lines.append(
                row(particles, moves, f"{error.mean():.3f}", f"{spread:.3f}", f"{seconds:.2f}")
            )
    return lines


def on_real_text(fitted: dcomp.Fit, test: Counts) -> list[str]:
    """The same where nothing is known but that higher is nearer."""
    weights, observed = mean_loadings(fitted, 2), fitted.observe(test)
    Theta = np.ascontiguousarray(weights.Theta, dtype=np.float32)
    lines = [row("particles", "moves", "per token", "spread", "seconds"), row(*["---"] * 5)]
    for particles, moves in ((20, 0), (20, 10), (20, 100), (20, 10_000), (100, 10)):
        started = time.perf_counter()
        runs = estimates(
            fitted.model, observed, Theta, weights.log_scale,
            particles=particles, seed=1, n_threads=2, runs=2, moves=moves,
        )  # fmt: skip
        seconds = time.perf_counter() - started
        spread = np.sqrt(((runs[0] - runs[1]) ** 2).mean() / 2)
        value = runs.mean(axis=0).sum() / test.n_tokens
        shown = "all" if moves == 10_000 else moves
        lines.append(row(particles, shown, f"{value:.4f}", f"{spread:.2f}", f"{seconds:.0f}"))
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", type=int, default=1000, help="test documents")
    parser.add_argument("--particles", type=int, default=20)
    options = parser.parse_args()
    counts = corpus()
    train, test = train_test(counts, options.docs / counts.n_docs, seed=0)
    table, largest = by_components(train, test, options.particles)
    lines = [
        "# Held-out scores of LDA on AP",
        "",
        f"{train.n_docs:,} documents fitted by collapsed Gibbs (200 sweeps, γ = 0.05, α learned), "
        f"{test.n_docs:,} held out with {test.n_tokens:,} tokens. Perplexities with their standard "
        f"error over documents; left to right with {options.particles} particles in each of two "
        "runs, its errors in nats per token, its seconds on the cores of a machine that others use "
        "too.",
        "",
        *table,
        "",
        "## Particles and moves",
        "",
        "Where the likelihood is known (K = 4, 50 tokens): bias and spread of the log of one run, "
        "in nats per document; seconds for 4,000 estimates.",
        "",
        *against_exact(),
        "",
        "On 200 of the AP documents, K = 100: mean log of one run per token (higher is nearer), "
        "spread in nats per document, seconds of two runs.",
        "",
        *on_real_text(largest, test.rows(np.arange(200))),
        "",
    ]
    write("heldout", lines)


if __name__ == "__main__":
    main()
