"""C04 figure 4: perplexity of Cranfield by dimension, GaP beside LDA.

    python verification/papers/perplexity.py [--splits 3]

1,300 abstracts are fitted and 100 scored, for several random splits. C04 does not say what its
p(d) is, so that there are three readings: words of half a document given the other half, whole
documents given their lengths, and documents given scores that were fitted to themselves, which is
no held-out score. Writes `results/papers-perplexity.md`.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from shared import Done, data_file, head, row, write
from smart import cranfield

import dcomp
from dcomp.data import train_test
from dcomp.evaluate import completion, left_to_right

GAMMA = 0.05  # as dcomp.LDA has it
KS = (2, 5, 10, 20, 40, 80)
MODELS = {
    "GP, mean field": ("GP", "mean-field"),
    "GP, C04's EM": ("GP", "map"),
    "DM, mean field": ("DM", "mean-field"),
    "GP, sampled": ("GP", "collapsed-gibbs"),
    "DM, sampled": ("DM", "collapsed-gibbs"),
}
READINGS = ("half of the words, given the others", "whole documents", "scores fitted to them")


def given_scores(fit: dcomp.Fit, test: dcomp.Counts) -> float:
    """Perplexity under Θ and the scores that the test documents themselves are given."""
    scores = np.asarray(fit.transform(test), np.float64)
    m = scores / scores.sum(axis=1, keepdims=True)
    document = np.repeat(np.arange(test.n_docs), np.diff(test.indptr))
    p = np.einsum("ek,ek->e", m[document], fit.Theta[test.indices].astype(np.float64))
    return float(np.exp(-(test.data @ np.log(np.maximum(p, 1e-300))) / test.n_tokens))


def scored(train: dcomp.Counts, test: dcomp.Counts, name: str, K: int) -> list[float]:
    """Perplexities under the three readings."""
    key, algorithm = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dcomp.ConvergenceWarning)
        model = dcomp.DCA(K, model=key, algorithm=algorithm, gamma=GAMMA, max_iter=300, verbose=0)
        fit = model.fit(train).fit_
    return [
        completion(fit, test).perplexity,
        left_to_right(fit, test).perplexity,
        given_scores(fit, test),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=3)
    splits = parser.parse_args().splits
    counts = cranfield(data_file("cranfield"), titles=False, min_count=2)
    done = Done("papers-perplexity", {"gamma": GAMMA})
    found = {}
    for split in range(splits):
        train, test = train_test(counts, 100 / counts.n_docs, seed=split)
        for name in MODELS:
            for K in KS:
                part = f"{name}, K = {K}, split {split}"
                key = (name, K, split)
                found[key] = done.part(part, lambda: scored(train, test, name, K))  # noqa: B023
    write("papers-perplexity", page(found, counts, splits))


def page(found: dict[Any, list[float]], counts: dcomp.Counts, splits: int) -> list[str]:
    lines = [
        "# Cranfield's perplexity by dimension (C04 figure 4)",
        "",
        f"{counts.n_docs:,} abstracts, {counts.n_features:,} stems that occur twice (C04: 1,400 "
        f"and 3,763), {counts.n_tokens:,} words. 1,300 fitted, 100 scored; means of "
        f"{splits} random splits with their standard errors; γ = {GAMMA}. The paper's figure "
        "has GaP below LDA at every dimension, most at low ones, without numbers, and does not "
        "define p(d).",
        "",
    ]
    for r, reading in enumerate(READINGS):
        lines += [f"**{reading}**", "", *head("K", *MODELS, "GP − DM, mean field", "sampled")]
        for K in KS:
            values = {
                name: np.array([found[name, K, s][r] for s in range(splits)]) for name in MODELS
            }
            gaps = [
                values[f"GP, {how}"] - values[f"DM, {how}"] for how in ("mean field", "sampled")
            ]
            cells = [*map(spread, values.values()), *(spread(gap, "+") for gap in gaps)]
            lines.append(row(K, *cells))
        lines.append("")
    return lines


def spread(values: np.ndarray, sign: str = "") -> str:
    """The mean with its standard error."""
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{values.mean():{sign}.0f} ± {error:.0f}"


if __name__ == "__main__":
    main()
