"""How many components: planted numbers, and what a selection says of them.

    python verification/how_many.py --tokens 10000 --seeds 1 --seconds 600

Components with loadings from Dirichlet(0.05) over 500 features and shares with α = 0.1 are planted,
K = 1, 3, 5, 12, 25 in 10,000 and 100,000 tokens, under DM and GP. `select_components` has priors
of scores to learn, and numbers around the planted one to choose from. Beside it stands a chain that
begins at the truth: where its evidence is not the highest, the data do not tell K.

What is done is kept in results/how_many.json and the same command goes on from there, for at most
--seconds; results/how_many.md says what all runs add up to, and results/how_many.png has the
evidence and the held-out score of the largest. --page writes both anew and runs nothing.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import asdict
from pathlib import Path

import numpy as np
from common import plotting, save

from dcomp.data import Counts
from dcomp.evaluate import select_components
from dcomp.evaluate.evidence import Budget, at_fit
from dcomp.evaluate.ladder import Ladder
from dcomp.evaluate.neighbours import Words
from dcomp.evaluate.select import decided
from dcomp.evaluate.select_evidence import (
    AGAIN_RUNS,
    BUDGET,
    CLEAR,
    FIRST_RUNS,
    FIRST_SWEEPS,
    NEAR,
    NEAR_SWEEPS,
)
from dcomp.evaluate.selection import Candidate
from dcomp.executors import LocalExecutor
from dcomp.models import MODELS, Observations
from dcomp.recipe import Recipe
from dcomp.validation import usual_exposure

RESULTS = Path(__file__).parent / "results"
KEPT = RESULTS / "how_many.json"
PLANTED = (1, 3, 5, 12, 25)
J, GAMMA, ALPHA, LENGTH = 500, 0.05, 0.1, 100
GRIDS = {1: [1, 2, 3], 3: [2, 3, 4, 5], 5: [4, 5, 6, 7], 12: [10, 11, 12, 13, 14]}
GRIDS[25] = [22, 24, 25, 26, 30]
SETTINGS = {"n_chains": 2, "n_starts": 1, "n_jobs": 1}


def planted(model, K, n_tokens, seed):
    """Counts, and the words of each component: c (I, K) and n (J, K), expected under the truth."""
    rng = np.random.default_rng((seed, K, n_tokens))
    features = Counts.from_matrix(np.ones((1, J), int)).features
    n_docs = n_tokens // LENGTH
    priors = {"alpha": ALPHA, "gamma": GAMMA}
    if model == "GP":
        truth = MODELS["GP"].build(K, **priors, beta=ALPHA * K / LENGTH)
        counts, scores, Theta = truth.simulate(features, np.ones(n_docs), rng)[:3]
    else:
        truth = MODELS["DM"].build(K, **priors)
        counts, scores, Theta = truth.simulate(features, np.full(n_docs, LENGTH), rng)[:3]
    W = counts
    row = np.repeat(np.arange(W.n_docs), np.diff(W.indptr))
    p = np.asarray(scores)[row] * np.asarray(Theta)[W.indices]
    p = W.data[:, None] * p / np.maximum(p.sum(axis=1, keepdims=True), 1e-300)
    c, n = np.zeros((W.n_docs, K)), np.zeros((J, K))
    np.add.at(c, row, p)
    np.add.at(n, W.indices, p)
    return counts, Words(c, n)


def at_truth(model, counts, words, seed):
    """The evidence where a chain arrives that begins at the truth."""

    def model_of(K):
        return Recipe.from_options(model=model, n_components=K, gamma=GAMMA).resolve(counts).model

    K, workers = words.n_components, LocalExecutor(1)
    exposure = usual_exposure(counts, model_of(K))
    ladder = Ladder(counts, model_of, NEAR, exposure, max_iter=NEAR_SWEEPS, seed=seed)
    observed = Observations.build(counts, exposure)
    return at_fit(ladder.fitted(words, workers), observed, budget_of(counts, K), seed, workers)


def budget_of(counts, K):
    """More sweeps where components are many and few words part them, as rivals have in a
    selection."""
    n_sweeps = int(np.clip(40 * K, FIRST_SWEEPS, BUDGET / (counts.n_tokens * K * AGAIN_RUNS)))
    return Budget(n_sweeps, AGAIN_RUNS) if n_sweeps > FIRST_SWEEPS else Budget(n_sweeps, FIRST_RUNS)


def one(model, K, n_tokens, seed):
    """A selection and the chain begun at the truth."""
    counts, words = planted(model, K, n_tokens, seed)
    started, own = time.process_time(), time.perf_counter()
    found = select_components(counts, GRIDS[K], model=model, gamma=GAMMA, **SETTINGS)
    seconds = time.process_time() - started
    true = at_truth(model, counts, words, seed)
    return {
        "model": model,
        "planted": K,
        "tokens": n_tokens,
        "seed": seed,
        "candidates": [asdict(c) for c in found.candidates],
        "truth": [true.lower, true.log_evidence, true.upper],
        "seconds": seconds,
        "wall": time.perf_counter() - own,
    }


def with_decision(row):
    """A row with what the rule of now says of its candidates."""
    candidates = [Candidate(**c) for c in row["candidates"]]
    near, clear, by = decided(candidates)
    best = min(candidates, key=lambda c: c.behind).n_components
    said = {"recommended": near[0], "clear": clear, "decided_by": by, "heldout_best": best}
    of = {c.n_components: c for c in candidates}
    return row | said | {"of": of, "chosen": of[near[0]]}


def tells(row):
    """Whether the data tell K: the truth is ahead of fewer components by 20 to 1, and of more,
    which may be empty and cost nothing, not behind by as much."""
    K, value = row["planted"], row["truth"][1]
    fewer = all(value > c.evidence + CLEAR for k, c in row["of"].items() if k < K)
    return fewer and all(value > c.evidence - CLEAR for k, c in row["of"].items() if k > K)


def is_highest(row):
    """Whether the truth is ahead of all others by itself, however little."""
    return all(row["truth"][1] > c.evidence for k, c in row["of"].items() if k != row["planted"])


def reaches(row):
    """Whether the recommended K's evidence is not below that of the chain begun at the truth."""
    return row["chosen"].evidence_upper >= row["truth"][0]


HEAD = """# How many: planted numbers of components

`python verification/how_many.py` plants K components (500 features, Dirichlet(0.05); documents of
100 words, α = 0.1) and asks `select_components`, with two chains of one start each and priors of
scores to be learned. Beside it a chain begins at the truth. The data tell K where that chain's
evidence is 20 to 1 above all fewer components, and not as much below more, which may be empty and
cost nothing; the planted number of others stands with a star.

Of 60 selections (K = 1, 3, 5, 12, 25, 10,000 and 100,000 tokens, three seeds, DM and GP) **{n} have
been run**; the table has all of them.

- The data tell K in {told} of {n}. Of these K is recovered exactly in {exact}.
- The chain begun at the truth is ahead of all other K, however little, in {highest}; of these K is
  recovered in {highest_exact}.
- The upper fence of the recommended K is below the lower one of the chain begun at the truth in
  {below} of {n}; by the estimates themselves its evidence is lower by more than 20 to 1 in {lower}.
- "Clearly" was said {clear} times, and of another K than the planted one {wrong} times.
- Told or not, the planted K is recommended in {alone} of {n}. It has the highest held-out score in
  {words} of {n}.

Nats: how far the evidence is ahead of the best of fewer components, how far the fences of the
recommended K are apart, and what the chain begun at the truth has more. Seconds are of processor
time, of all that a selection does for a K, on a busy machine.

"""
COLUMNS = ("model", "tokens", "planted", "seed", "tried", "recommended", "clearly")
COLUMNS += ("best held-out", "ahead of fewer", "fences", "truth has more", "seconds per K")


def page(rows):
    """What all runs add up to."""

    def right(some, name="recommended"):
        return sum(r[name] == r["planted"] for r in some)

    told, highest, clear = (
        [r for r in rows if which(r)] for which in (tells, is_highest, lambda r: r["clear"])
    )
    text = HEAD.format(
        n=len(rows),
        told=len(told),
        exact=right(told),
        highest=len(highest),
        highest_exact=right(highest),
        below=sum(not reaches(r) for r in rows),
        lower=sum(r["truth"][1] - r["chosen"].evidence > CLEAR for r in rows),
        clear=len(clear),
        wrong=len(clear) - right(clear),
        alone=right(rows),
        words=right(rows, "heldout_best"),
    )
    order = sorted(rows, key=lambda r: (r["tokens"], r["model"], r["planted"], r["seed"]))
    lines = [COLUMNS, ["---"] * len(COLUMNS), *map(cells, order)]
    return text + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def cells(row):
    """A line of the table."""
    chosen, of = row["chosen"], row["of"]
    fewer = [c.evidence for k, c in of.items() if k < chosen.n_components]
    return [
        row["model"],
        f"{row['tokens']:,}",
        f"{row['planted']}{'' if tells(row) else '*'}",
        str(row["seed"]),
        ", ".join(map(str, of)),
        str(chosen.n_components),
        "yes" if row["clear"] else "no",
        str(row["heldout_best"]),
        f"{chosen.evidence - max(fewer):,.0f}" if fewer else "–",
        f"{chosen.evidence_upper - chosen.evidence_lower:.1f}",
        f"{row['truth'][1] - chosen.evidence:+.1f}",
        f"{row['seconds'] / len(of):.1f}",
    ]


def picture(rows):
    """Evidence and held-out score side by side, of the run with most tokens and components."""
    row = max(rows, key=lambda r: (r["tokens"], r["planted"]))
    figure, axes = plotting().subplots(1, 2, figsize=(6, 2.4), layout="constrained")
    for axis, name in zip(axes, ("evidence", "log_likelihood"), strict=True):
        values = [getattr(c, name) for c in row["of"].values()]
        axis.plot(list(row["of"]), values, marker="o", markersize=3)
        axis.axvline(row["planted"], color="grey", linestyle=":")
        axis.set(title=name.replace("_", "-"), xlabel="components")
    figure.suptitle(f"{row['planted']} planted, {row['tokens']:,} tokens, {row['model']}")
    save(figure, "how_many")


def write(rows):
    """The page and the picture."""
    rows = [with_decision(row) for row in rows]
    (RESULTS / "how_many.md").write_text(page(rows))
    picture(rows)


def read():
    """What is done."""
    return json.loads(KEPT.read_text()) if KEPT.exists() else []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--models", nargs="*", default=["DM", "GP"])
    parser.add_argument("--planted", type=int, nargs="*", default=list(PLANTED))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    if options.page:
        write(read())
        return
    warnings.simplefilter("ignore")
    began, rows = time.monotonic(), read()
    done = {(r["model"], r["planted"], r["tokens"], r["seed"]) for r in rows}
    for seed in range(options.seeds):
        for n_tokens in options.tokens:
            for K in options.planted:
                for model in options.models:
                    if (model, K, n_tokens, seed) in done:
                        continue
                    if time.monotonic() - began > options.seconds:
                        return
                    row = one(model, K, n_tokens, seed)
                    rows = [*read(), json.loads(json.dumps(row))]
                    KEPT.write_text(json.dumps(rows, indent=1) + "\n")
                    write(rows)
                    row = with_decision(row)
                    said = "clearly" if row["clear"] else ""
                    print(model, K, n_tokens, seed, "->", row["recommended"], said, flush=True)


if __name__ == "__main__":
    main()
