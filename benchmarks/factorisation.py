"""Factorisation without priors and with them, against scikit-learn's NMF and hpfrec, in one run.

    pip install ".[benchmark]" hpfrec && python benchmarks/factorisation.py

KL-NMF on 20 Newsgroups: seconds per iteration, and what it takes to reach the divergence at which
scikit-learn ends. Gamma-Poisson by mean field against hpfrec, where it is installed: seconds per
iteration, held-out perplexity by one neutral scorer. GaP by EM on Cranfield, K = 40 (C04: 30 s).
Repeated, median and spread; writes results/factorisation.md.
"""

from __future__ import annotations

import argparse
import re
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from corpora import data_folder, machine, newsgroups
from neutral import perplexity

import dcomp
from dcomp.data import halves, train_test
from dcomp.executors import LocalExecutor
from dcomp.inference import Algorithm, MaximumLikelihood
from dcomp.models import GammaPoisson, Observations

THREADS = 2
RESULTS = Path(__file__).parent / "results"


def spread(values: list[float]) -> str:
    return f"{np.median(values):.3g} ({min(values):.3g} to {max(values):.3g})"


def sklearn_nmf(X, K: int, max_iter: int, tol: float = 0.0, init: str | None = "random"):
    from sklearn.decomposition import NMF

    model = NMF(
        K,
        beta_loss="kullback-leibler",
        solver="mu",
        init=init,
        max_iter=max_iter,
        tol=tol,
        random_state=0,
    )
    started = time.perf_counter()
    model.fit(X)
    return model, time.perf_counter() - started


def seconds_per_iteration(fit: Callable[[int], float], few: int, many: int) -> float:
    """From runs of two lengths, so that what is done once does not count."""
    return (fit(many) - fit(few)) / (many - few)


def own_steps(counts: dcomp.Counts, K: int, algorithm: Algorithm, n_threads: int, n: int):
    """Seconds of each sweep after the first, and the log-likelihoods."""
    model = GammaPoisson.build(K, alpha=1.0, beta=0.0, gamma=1.0)
    observed, executor = Observations.build(counts), LocalExecutor(n_threads)
    state, seconds = algorithm.init(model, observed, seed=0), []
    for _ in range(n):
        started = time.perf_counter()
        state, _ = algorithm.step(observed, state, executor)
        seconds.append(time.perf_counter() - started)
    return seconds[1:]


def compare_iterations(counts: dcomp.Counts, K: int, repeats: int) -> list[str]:
    X = counts.to_scipy()
    tables = {"as given": X, "float32": X.astype(np.float32)}  # integers become float64 inside
    few, many = (2, 6) if K <= 50 else (1, 3)
    times: dict[str, list[float]] = {}
    for _ in range(repeats):
        for name, table in tables.items():
            one = seconds_per_iteration(lambda n, t=table: sklearn_nmf(t, K, n)[1], few, many)
            times.setdefault(f"scikit-learn mu, {name}", []).append(one)
        for solver in ("multiplicative", "coordinate-descent"):
            for n_threads in (1, THREADS):
                steps = own_steps(counts, K, MaximumLikelihood(solver), n_threads, 8)
                name = f"dcomp {solver}, {n_threads} thread{'s' * (n_threads > 1)}"
                times.setdefault(name, []).append(float(np.median(steps)))
    base = times["scikit-learn mu, as given"]
    rows = [
        f"| {K} | {name} | {spread(values)} | "
        f"{spread([b / v for b, v in zip(base, values, strict=True)])} |"
        for name, values in times.items()
    ]
    print("\n".join(rows), flush=True)
    return rows


def compare_descent(counts: dcomp.Counts, K: int, iterations: int) -> str:
    """scikit-learn's defaults to their end; ours until the same divergence."""
    table = counts.to_scipy().astype(np.float32)  # its faster way
    theirs, seconds = sklearn_nmf(table, K, iterations, tol=1e-4, init=None)
    target = theirs.reconstruction_err_**2 / 2
    data = counts.data.astype(float)
    constant = float((data * np.log(data) - data).sum())
    ends = [f"| {K} | scikit-learn mu | {theirs.n_iter_} | {seconds:.1f} | {target:,.0f} |"]
    for solver in ("multiplicative", "coordinate-descent"):
        reached: list[float] = []
        started = time.perf_counter()

        def stop(info, reached=reached, started=started) -> bool:
            reached[:] = [info.sweep, time.perf_counter() - started, constant - info.objective]
            return constant - info.objective <= target

        model = dcomp.NMF(
            K, solver=solver, max_iter=600, tol=0, n_jobs=THREADS, verbose=0, callbacks=[stop]
        )
        model.fit(counts)
        sweeps, clock, loss = reached
        ends.append(f"| {K} | dcomp {solver} | {sweeps:.0f} | {clock:.1f} | {loss:,.0f} |")
    print("\n".join(ends), flush=True)
    return "\n".join(ends)


def compare_hpfrec(counts: dcomp.Counts, K: int, iterations: int) -> list[str]:
    """Gamma-Poisson by variational inference in both; hpfrec's hierarchy adds two layers."""
    try:
        import pandas as pd
        from hpfrec import HPF
    except ImportError:
        return ["hpfrec is not installed: left out."]
    train, test = train_test(counts, 0.1, seed=0)
    first, second = (part.to_scipy() for part in halves(test.rows(slice(0, 500)), 0.5, seed=0))
    coo = train.to_scipy().tocoo()
    frame = pd.DataFrame({"UserId": coo.row, "ItemId": coo.col, "Count": coo.data})

    def hpf(n: int):
        model = HPF(
            k=K,
            maxiter=n,
            stop_crit="maxiter",
            ncores=THREADS,
            random_seed=1,
            verbose=False,
            reindex=False,
            keep_all_objs=False,
            check_every=10,
        )
        started = time.perf_counter()
        model.fit(frame.copy())
        return model, time.perf_counter() - started

    model, whole = hpf(iterations)
    theirs = (whole - hpf(10)[1]) / (iterations - 10)
    started = time.perf_counter()
    ours = dcomp.GaP(K, max_iter=iterations, n_jobs=THREADS, verbose=0).fit(train)
    own_whole = time.perf_counter() - started
    own = float(np.median(ours.history_["seconds"]))
    scores = (
        perplexity(np.asarray(model.Beta).T, np.full(K, 0.3), first, second),
        perplexity(ours.components_, ours.fit_.model.scores.alpha, first, second),
    )
    rows = [
        "| | seconds per iteration | iterations, seconds | held-out perplexity |",
        "|---|---|---|---|",
        f"| hpfrec, K = {K} | {theirs:.3g} | {iterations}, {whole:.1f} | {scores[0]:.0f} |",
        f"| dcomp.GaP | {own:.3g} | {ours.n_iter_}, {own_whole:.1f} | {scores[1]:.0f} |",
    ]
    print("\n".join(rows), flush=True)
    return rows


def cranfield() -> dcomp.Counts:
    text = (data_folder() / "cranfield" / "cran.all.1400").read_text(errors="replace")
    documents = re.split(r"\.I \d+\n", text)[1:]
    bodies = [re.split(r"\n\.[TABW]\n", document)[-1] for document in documents]
    return dcomp.data.text.bag(bodies, min_count=2, min_docs=2)


def time_cranfield(repeats: int) -> str:
    counts = cranfield()
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        model = dcomp.GaP(40, algorithm="map", n_jobs=1, verbose=0).fit(counts)
        seconds.append(time.perf_counter() - started)
    return (
        f"GaP by EM on Cranfield ({counts.n_docs:,} documents, {counts.n_features:,} words), "
        f"K = 40, one thread: {spread(seconds)} s, {model.n_iter_} sweeps, {model.fit_.reason}. "
        "(C04: 30 s.)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ks", type=int, nargs="+", default=[20, 100])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=200, help="of scikit-learn, at most")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    counts = newsgroups()
    counts = counts.rows(np.flatnonzero(counts.doc_totals))
    print(machine(), counts, sep="\n", flush=True)
    iterations, descents = [], []
    for K in options.ks:
        iterations += compare_iterations(counts, K, options.repeats)
        descents.append(compare_descent(counts, K, options.iterations))
    lines = [
        "# Factorisation",
        "",
        "`python benchmarks/factorisation.py`; medians of "
        f"{options.repeats} repeats, least and largest in brackets. {machine()}.",
        "",
        f"KL-NMF on 20 Newsgroups ({counts.n_docs:,} documents, {counts.n_features:,} words, "
        f"{counts.nnz:,} non-zeros), seconds per iteration:",
        "",
        "| K | | seconds | times faster than scikit-learn as given |",
        "|---|---|---|---|",
        *iterations,
        "",
        "To the divergence at which scikit-learn (float32, its own start and stopping rule) ends:",
        "",
        "| K | | iterations | seconds | divergence |",
        "|---|---|---|---|---|",
        *descents,
        "",
        "Gamma-Poisson by variational inference:",
        "",
        *compare_hpfrec(counts, 20, 30),
        "",
        time_cranfield(max(options.repeats, 3)),
        "",
    ]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "factorisation.md").write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
