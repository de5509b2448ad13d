"""Which sampler gets CGP's zeros of a table right in less time: direct or collapsed Gibbs.

    python verification/zeros.py [--part planted priors cost ap] [--tables "10^2 words"] [--seeds 2]

planted: tables drawn from CGP (TABLES), in which a few of the components of each document are not
zero, fitted by default but for the sampler. Processor seconds of one thread; the mean log joint of
the last quarter of the sweeps; held-out words of 40 more documents; how many planted components are
found (Bhattacharyya coefficient above 0.8); precision and recall of zeros, which a score is said to
be where its component has no words in most recorded sweeps; the mean of the learned ρ.

priors: some of these tables, with priors learned in every fifth sweep and as they are by default.
All other parts learn in every fifth, as all did when the sampler was chosen.

cost: seconds of a sweep once a chain is under way, by words of a count that is not 0 and K.

ap: the AP texts (DCOMP_DATA), K = 20, a tenth of the documents held out.

What was run is kept in results/zeros.json, and results/zeros.md is written from it.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from common import RESULTS, data_file, row
from scipy.optimize import linear_sum_assignment

import dcomp
from dcomp.data import FeatureSpace, train_test
from dcomp.evaluate import completion
from dcomp.models import ConditionalGammaPoisson
from dcomp.recipe import Recipe

# Documents, features, words of each, components, of which a document has, γ, α; sweeps of direct
# and of collapsed Gibbs.
TABLES: dict[str, tuple[Any, ...]] = {
    "20 words": (10000, 500, 20, 20, 2, 0.05, 1.0, (50, 200), (50, 200, 600)),
    "30 words, wide": (5000, 5000, 30, 20, 2, 0.05, 1.0, (50, 200), (50, 200)),
    "50 words, wide": (5000, 3000, 50, 20, 3, 0.05, 1.0, (200,), (200, 500)),
    "100 words, wide": (2500, 3000, 100, 20, 3, 0.05, 1.0, (200,), (200, 500)),
    "200 words, wide": (2000, 5000, 200, 20, 4, 0.05, 1.0, (50, 200), (50, 200, 600)),
    "400 words, wide": (700, 3000, 400, 20, 4, 0.05, 1.0, (200,), (200, 500)),
    "2,000 words, wide": (300, 5000, 2000, 20, 4, 0.05, 1.0, (50, 200), (50, 200)),
    "tiny": (80, 12, 60, 4, 2, 0.5, 3.0, (50, 200), (50, 200)),
    "300 words, few features": (300, 50, 300, 8, 3, 0.3, 1.0, (50, 200), (50, 200)),
    "1,000 words, few features": (5000, 96, 1000, 10, 4, 0.2, 1.0, (50, 200), (50, 200)),
    "10^2 words": (600, 500, 1e2, 20, 4, 0.05, 1.0, (50, 200), (50, 200)),
    "10^3 words": (300, 500, 1e3, 20, 4, 0.05, 1.0, (50, 200), (50, 200)),
    "10^4 words": (300, 500, 1e4, 20, 4, 0.05, 1.0, (50, 200), (50, 200)),
    "10^5 words": (30, 500, 1e5, 20, 4, 0.05, 1.0, (40, 200), (40,)),
    "10^6 words": (30, 500, 1e6, 20, 4, 0.05, 1.0, (50, 200, 600), (40,)),
}
PRIORS = ("20 words", "10^2 words", "10^3 words", "10^4 words")
SAMPLERS = ("gibbs", "collapsed-gibbs")
HELD = 40  # documents
COST_K, COST_WORDS = (5, 20, 50), (4, 8, 16, 32, 64)


def fitted(
    train: dcomp.Counts, seed: int, every: int | None = 5, **options: Any
) -> tuple[Any, float]:
    """A fit by default but for what is said, and its processor seconds."""
    told = Recipe(model="CGP", random_state=seed, **options).resolve(train)
    algorithm: Any = replace(told.algorithm, learn_every=every)
    begun = time.process_time()
    how = {**vars(told.settings), "n_jobs": 1, "warn": False}
    return dcomp.fit(train, told.model, algorithm, **how), time.process_time() - begun


def level(fit: Any) -> float:
    """The mean log joint of the last quarter."""
    values = fit.history["objective"]
    return float(values[-max(len(values) // 4, 1) :].mean())


def truth(fit: Any, scores: np.ndarray, Theta: np.ndarray) -> dict[str, float]:
    """How much of what was planted is found."""
    near = np.sqrt(np.maximum(fit.Theta, 0)).T @ np.sqrt(Theta)
    own, planted = linear_sum_assignment(-near)
    silent = fit.state.recorded.zeros / fit.state.recorded.count > 0.5
    said, zero = np.zeros(scores.shape, bool), scores == 0
    said[:, planted] = silent[:, own]
    right = (said & zero).sum()
    return {
        "found": int((near[own, planted] > 0.8).sum()),
        "precision": float(right / max(said.sum(), 1)),
        "recall": float(right / zero.sum()),
        "rho": float(fit.model.scores.rho.mean()),
        "alpha": float(fit.model.scores.alpha.mean()),
    }


def priors(name: str) -> list[dict[str, Any]]:
    """One table by both samplers, 200 sweeps, with priors learned in both ways."""
    return [record for every in (5, None) for record in planted(name, 0, (200,), every)]


def planted(
    name: str, seed: int, only: tuple[int, ...] | None = None, every: int | None = 5
) -> list[dict[str, Any]]:
    """One table by both samplers."""
    n_docs, J, words, K, present, gamma, alpha, *sweeps = TABLES[name]
    prior = {"alpha": alpha, "beta": present * alpha / words, "rho": 1 - present / K}
    model = ConditionalGammaPoisson.build(K, gamma=gamma, **prior)
    rng = np.random.default_rng(seed)
    counts, scores, Theta = model.simulate(FeatureSpace.build(J), np.ones(n_docs + HELD), rng)
    train, test = counts.rows(slice(0, n_docs)), counts.rows(slice(n_docs, None))
    rows = []
    for algorithm, numbers in zip(SAMPLERS, sweeps, strict=True):
        for n in only or numbers:
            options = {"algorithm": algorithm, "n_components": K, "gamma": gamma, "max_iter": n}
            fit, seconds = fitted(train, seed, every, **options)
            record = {"table": name, "seed": seed, "algorithm": algorithm, "sweeps": n}
            record |= {
                "every": every,
                "seconds": seconds,
                "tokens": train.n_tokens,
                "nnz": int(train.nnz),
            }
            record |= {"joint": level(fit), "heldout": completion(fit, test).log_likelihood}
            rows.append(record | truth(fit, scores[:n_docs], Theta))
    return rows


def cost(K: int, words: int) -> dict[str, Any]:
    """Seconds of a sweep by each sampler, after 20."""
    J, present = 200, max(2, K // 5)
    prior = {"alpha": 1.0, "beta": present / (0.6 * words * J), "rho": 1 - present / K}
    model = ConditionalGammaPoisson.build(K, gamma=0.2, **prior)
    rng = np.random.default_rng(0)
    counts, *_ = model.simulate(FeatureSpace.build(J), np.ones(400), rng)
    record: dict[str, Any] = {"K": K, "tokens": counts.n_tokens, "nnz": int(counts.nnz)}
    for algorithm in SAMPLERS:
        first, _ = fitted(counts, 0, algorithm=algorithm, n_components=K, max_iter=20)
        begun = time.process_time()
        how = {"max_iter": 30, "n_jobs": 1, "warn": False}
        dcomp.fit(counts, first.model, resume=first, **how)
        record[algorithm] = (time.process_time() - begun) / 10
    return record


def ap(seed: int) -> list[dict[str, Any]]:
    """Texts by both samplers."""
    counts = dcomp.read(data_file("ap", "ap.dat"))
    train, test = train_test(counts, 0.1, seed=0)
    rows = []
    for algorithm, n in (("gibbs", 200), ("collapsed-gibbs", 200), ("collapsed-gibbs", 400)):
        fit, seconds = fitted(train, seed, algorithm=algorithm, n_components=20, max_iter=n)
        score = completion(fit, test)
        record = {"seed": seed, "algorithm": algorithm, "sweeps": n, "seconds": seconds}
        record |= {"joint": level(fit), "heldout": score.log_likelihood}
        rows.append(record | {"error": score.standard_error, "rho": fit.model.scores.rho.mean()})
    return rows


def page(kept: dict[str, list[dict[str, Any]]]) -> str:
    """The page of results."""
    lines = [
        "# CGP's zeros: direct or collapsed Gibbs",
        "",
        "Processor seconds of one thread; `verification/zeros.py` says what the columns are.",
        "The log joint is beside that of direct Gibbs with the most sweeps on the same table.",
    ]
    if kept["planted"]:
        lines += ["", "## Planted", ""]
        names = "table | words a count | seed | sampler | sweeps | s | log joint | held-out | found"
        lines += [f"| {names} | precision | recall | rho |", "|---" * 12 + "|"]
        for r in sorted(kept["planted"], key=_order):
            same = [x for x in kept["planted"] if all(x[n] == r[n] for n in ("table", "seed"))]
            direct = max((x for x in same if x["algorithm"] == "gibbs"), key=lambda x: x["sweeps"])
            cells = (r["table"], f"{r['tokens'] / r['nnz']:.1f}", r["seed"], r["algorithm"])
            cells += (r["sweeps"], f"{r['seconds']:.2f}", f"{r['joint'] - direct['joint']:+,.0f}")
            cells += (f"{r['heldout']:.4f}", f"{r['found']} of {TABLES[r['table']][3]}")
            cells += tuple(f"{r[name]:.2f}" for name in ("precision", "recall", "rho"))
            lines.append(row(*cells))
    if kept["priors"]:
        lines += ["", "## Priors, 200 sweeps, planted ρ and α beside", ""]
        lines += [
            "| table | sampler | learned in | s | log joint | held-out | recall | rho | alpha |"
        ]
        lines.append("|---" * 9 + "|")
        for r in kept["priors"]:
            *_, K, present, _, alpha, _, _ = TABLES[r["table"]]
            cells = (r["table"], r["algorithm"], "every 5th" if r["every"] else "by default")
            cells += (f"{r['seconds']:.2f}", f"{r['joint']:,.0f}", f"{r['heldout']:.4f}")
            cells += (f"{r['recall']:.2f}", f"{r['rho']:.2f} for {1 - present / K:.2f}")
            lines.append(row(*cells, f"{r['alpha']:.2f} for {alpha:g}"))
    if kept["cost"]:
        lines += ["", "## A sweep", ""]
        lines += ["| K | words a count | direct, ms | collapsed, ms | ratio |", "|---" * 5 + "|"]
        for r in kept["cost"]:
            direct, collapsed = (1000 * r[name] for name in SAMPLERS)
            cells = (r["K"], f"{r['tokens'] / r['nnz']:.1f}", f"{direct:.1f}", f"{collapsed:.1f}")
            lines.append(row(*cells, f"{collapsed / direct:.2f}"))
    if kept["ap"]:
        lines += ["", "## AP, K = 20, 1.4 words a count", ""]
        lines += ["| seed | sampler | sweeps | s | log joint | held-out | rho |", "|---" * 7 + "|"]
        for r in kept["ap"]:
            cells = (r["seed"], r["algorithm"], r["sweeps"], f"{r['seconds']:.1f}")
            cells += (f"{r['joint']:,.0f}", f"{r['heldout']:.4f} ± {r['error']:.4f}")
            lines.append(row(*cells, f"{r['rho']:.2f}"))
    return "\n".join(lines) + "\n"


def _order(record: dict[str, Any]) -> tuple[Any, ...]:
    return (
        list(TABLES).index(record["table"]),
        record["seed"],
        SAMPLERS.index(record["algorithm"]),
        record["sweeps"],
    )


def main() -> None:
    """Runs what is asked for, and writes it beside what there is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parts = ("planted", "priors", "cost", "ap")
    parser.add_argument("--part", nargs="+", choices=parts, default=parts)
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--seeds", type=int, default=1)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    where = RESULTS / "zeros.json"
    kept = {part: [] for part in parts}
    kept |= json.loads(where.read_text()) if where.exists() else {}

    def keep(part: str, rows: list[dict[str, Any]], *same: str) -> None:
        new = {tuple(r[name] for name in same) for r in rows}
        old = [r for r in kept[part] if tuple(r[name] for name in same) not in new]
        kept[part] = old + rows
        where.write_text(json.dumps(kept, indent=1) + "\n")
        (RESULTS / "zeros.md").write_text(page(kept))

    if "cost" in asked.part:
        keep("cost", [cost(K, words) for K in COST_K for words in COST_WORDS], "K")
    if "priors" in asked.part:
        for name in PRIORS:
            keep("priors", priors(name), "table")
    for seed in range(asked.seeds):
        if "planted" in asked.part:
            for name in asked.tables:
                keep("planted", planted(name, seed), "table", "seed")
        if "ap" in asked.part:
            keep("ap", ap(seed), "seed")


if __name__ == "__main__":
    main()
