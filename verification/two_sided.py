"""The evidence between two fences: how often the stated interval holds, and what it decides.

    python verification/two_sided.py --problems 1000 --trials --keep ../two_sided.jsonl

Writes results/two_sided.md: small problems whose evidence is known by enumeration, over models,
priors given or learned, and layouts; then planted components in 20,000 and 100,000 tokens, each K
with its seconds of processor time (two cores take about half). What is done is kept line by line,
and the same command goes on from there. With --drawn sums over labels are drawn from as those of
more than 14 components that are alike, in every problem; that is results/two_sided-drawn.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.special import gammaln, logsumexp

from dcomp.data import Counts
from dcomp.evaluate import evidence, labels
from dcomp.models import DirichletMultinomial, Observations

RESULTS = Path(__file__).parent / "results"


def small_problem(seed):
    """Counts and options of a problem with at most some thousand assignments."""
    rng = np.random.default_rng(seed)
    model = str(rng.choice(["DM", "GP", "CGP", "TM"]))
    K = 3 if model == "TM" else int(rng.integers(2, 4))
    tokens = int(rng.integers(4, 13 if K == 2 else 9))
    n_docs, J = int(rng.integers(1, 5)), int(rng.integers(2, 6))
    X = np.zeros((n_docs, J), dtype=int)
    skew = rng.dirichlet(np.full(J, rng.choice([0.3, 3.0])), size=n_docs)
    for i in rng.integers(n_docs, size=tokens):
        X[i, rng.choice(J, p=skew[i])] += 1
    options = {"model": model, "gamma": float(rng.choice([0.05, 0.3, 1.0]))}
    if model == "TM":
        options |= {"branching": 2, "depth": 2}
    else:
        one = rng.random() < 0.5
        options["alpha"] = 0.3 if one else rng.uniform(0.05, 1.5, K)
        options["n_components"] = K
    if model in ("GP", "CGP"):
        options["beta"] = float(rng.uniform(0.2, 2.0))
    if model == "CGP":
        options["rho"] = float(rng.uniform(0.1, 0.7))
    if rng.random() < 0.3 and J > 2:
        options["blocks"] = [0] * (J - 2) + [1, 1]
    if model in ("GP", "CGP") and rng.random() < 0.5:
        options["exposure"] = rng.uniform(0.3, 3.0, n_docs)
    if rng.random() < 0.15:  # learned, which is then what the evidence is of
        for name in ("alpha", "beta", "rho"):
            options.pop(name, None)
        options["gamma"] = "auto"
    return X, options


def exact(X, options, model):
    """log p(w) over all assignments at once."""
    counts = Counts.from_matrix(X, blocks=options.get("blocks"))
    observed = Observations.build(counts, options.get("exposure"))
    K, (n_docs, J) = model.n_components, X.shape
    tokens = [(i, j) for i in range(n_docs) for j in range(J) for _ in range(X[i, j])]
    z = np.array(list(itertools.product(range(K), repeat=len(tokens))))
    c, n = np.zeros((len(z), n_docs, K)), np.zeros((len(z), J, K))
    every = np.arange(len(z))
    for t, (i, j) in enumerate(tokens):
        c[every, i, z[:, t]] += 1
        n[every, j, z[:, t]] += 1
    e = np.tile(observed.total_exposure, len(z))
    value = model.scores.log_moment(c.reshape(-1, K), e).reshape(len(z), n_docs).sum(axis=1)
    gamma = model.loadings.per_feature(J)
    value = value + (gammaln(gamma[:, None] + n) - gammaln(gamma)[:, None]).sum(axis=(1, 2))
    for g in range(counts.features.n_blocks):
        members = counts.features.blocks == g
        total = gamma[members].sum()
        value += (gammaln(total) - gammaln(total + n[:, members].sum(axis=1))).sum(axis=1)
    return float(logsumexp(value)) + float(model.log_constant(observed, combinatoric=False).sum())


def calibration(seeds, kept):
    """A row for each problem; those that are kept need not be run again."""
    rows = {row["seed"]: row for row in kept.rows if "seed" in row}
    for seed in seeds:
        if seed not in rows:
            rows[seed] = one_problem(seed)
            kept.add(rows[seed])
        if len(rows) % 50 == 0:
            held = np.mean([row["above"] and row["below"] for row in rows.values()])
            print(f"{len(rows)} problems, {held:.3f} in the interval", flush=True)
    return [rows[seed] for seed in seeds]


def one_problem(seed):
    X, options = small_problem(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # learning from a dozen words says that it does not rest
        found = evidence(X, random_state=seed, n_jobs=1, **with_components(options))
    truth = exact(X, options, found.model)
    slack = 1e-6 * (1 + abs(truth))  # one component in use has no spread at all
    return {
        "seed": seed,
        "model": options["model"],
        "learned": any("learned" in note for note in found.warnings),
        "above": bool(truth >= found.lower - slack),
        "below": bool(truth <= found.upper + slack),
        "sound": found.is_sound,
        "width": found.upper - found.lower,
        "error": found.log_evidence - truth,
    }


class Kept:
    """Lines of what has been done."""

    def __init__(self, path):
        self.path = path
        text = path.read_text() if path is not None and path.exists() else ""
        self.rows = [json.loads(line) for line in text.splitlines()]

    def add(self, row):
        self.rows.append(row)
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(row) + "\n")


def with_components(options):
    return (
        {"n_components": 3, **options}
        if options["model"] != "TM"
        else {"n_components": None, **options}
    )


def planted(K, n_tokens, n_features, seed):
    truth = DirichletMultinomial.build(K, alpha=0.1, gamma=0.05)
    features = Counts.from_matrix(np.ones((1, n_features))).features
    lengths = np.full(n_tokens // 100, 100)
    return truth.simulate(features, lengths, np.random.default_rng(seed))[0]


def trial(K_true, n_tokens, n_features, ks, kept, seed=0):
    """The evidence of each K."""
    rows = {(row["K"], row["tokens"]): row for row in kept.rows if "K" in row}
    counts = planted(K_true, n_tokens, n_features, seed)
    for K in ks:
        if (K, n_tokens) not in rows:
            begin = time.process_time()
            found = evidence(counts, K, alpha=0.1, gamma=0.05)
            seconds = time.process_time() - begin
            numbers = {"value": found.log_evidence, "lower": found.lower, "upper": found.upper}
            row = {"K": K, "tokens": n_tokens, **numbers, "sound": found.is_sound}
            rows[K, n_tokens] = {**row, "seconds": seconds}
            kept.add(rows[K, n_tokens])
        yield rows[K, n_tokens]


HEADS = (
    "problems, number, in the interval, above lower, below upper, sound, in the interval if sound, "
    "median width, median error"
)


def table_of_calibration(rows):
    yield f"{len(rows)} small problems, evidence known by enumeration; stated probability 0.95."
    yield ""
    yield f"| {' | '.join(HEADS.split(', '))} |"
    yield "|---" * 9 + "|"
    kinds = {key: [row for row in rows if row["model"] == key] for key in ("DM", "GP", "CGP", "TM")}
    kinds |= {"priors learned": [row for row in rows if row["learned"]], "all": rows}
    for kind, some in kinds.items():
        if not some:
            continue
        low, high, sound, width, error = (
            np.array([row[name] for row in some])
            for name in ("above", "below", "sound", "width", "error")
        )
        both = low & high
        yield (
            f"| {kind} | {len(some)} | {both.mean():.3f} | {low.mean():.3f} | {high.mean():.3f} "
            f"| {sound.mean():.3f} | {both[sound].mean():.3f} | {np.median(width):.3f} "
            f"| {np.median(abs(error)):.4f} |"
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first of their seeds")
    parser.add_argument("--trials", action="store_true", help="planted components too")
    parser.add_argument("--keep", type=Path, help="a file of what is done, to go on from")
    parser.add_argument("--drawn", action="store_true", help="labels as of many components")
    given = parser.parse_args()
    if given.drawn:
        labels.MOST = 1
    kept = Kept(given.keep)
    lines = ["# The evidence between two fences" + ", labels drawn" * given.drawn, ""]
    seeds = range(given.first, given.first + given.problems)
    lines += list(table_of_calibration(calibration(seeds, kept)))
    print("\n".join(lines), flush=True)
    plans = [(5, 20_000, 300, range(2, 9)), (12, 100_000, 1000, (8, 10, 11, 12, 13, 14, 16))]
    for K_true, n_tokens, J, ks in plans if given.trials else ():
        lines += ["", f"{n_tokens:,} tokens, {K_true} planted components, DM:", ""]
        lines += [
            "| K | log evidence | lower | upper | sound | seconds |",
            "|---|---|---|---|---|---|",
        ]
        for row in trial(K_true, n_tokens, J, ks, kept):
            lines.append(
                f"| {row['K']} | {row['value']:,.1f} | {row['lower']:,.1f} | {row['upper']:,.1f} "
                f"| {row['sound']} | {row['seconds']:.1f} |"
            )
            print(lines[-1], flush=True)
    name = "two_sided-drawn" if given.drawn else "two_sided"
    (RESULTS / f"{name}.md").write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
