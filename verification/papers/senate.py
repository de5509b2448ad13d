"""The 2003 US Senate (BJ06 VIII.A): bits by K under several readings, and the five blocs.

    python verification/papers/senate.py [--chains 4] [--sweeps 600]

459 roll calls, 100 senators and the outcome as the 101st, α = 0.1, Jeffreys' prior. The paper's
text has roll calls for documents, its figures 8 and 9 (memberships of a senator that add to 1)
have senators: bits are of both. Writes `results/papers-senate.md`; `senate_select.py` asks the
same of `dcomp select`, and `../fields.py` has every senator's membership.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from shared import data_file, head, row, write

import dcomp
from dcomp.evaluate.harmonic import harmonic_mean

PAPER = {4: 9448.6, 5: 9245.9, 6: 9283.1, 7: 9277.1, 10: 9346.7}  # bits
PRIOR: Mapping[str, Any] = {"alpha": 0.1, "gamma": 0.5}
DRAWS = 100
TRIED = {"paper's chain (direct Gibbs)": "gibbs", "collapsed Gibbs": "collapsed-gibbs"}


def read_votes() -> tuple[list[str], list[str], np.ndarray]:
    """Names, parties and votes (senators × roll calls): 1 yea, 0 nay, -1 neither."""
    with open(data_file("senate2003", "votes.csv"), newline="") as stream:
        rows = list(csv.DictReader(stream))
    columns = [name for name in rows[0] if name[0] == "v" and name[1:].isdigit()]
    code = {"Y": 1, "N": 0}
    votes = np.array([[code.get(row[name], -1) for name in columns] for row in rows])
    with open(data_file("senate2003", "rollcalls.csv"), newline="") as stream:
        passed = [
            int(row["passed"].lower() in ("1", "true", "yes")) for row in csv.DictReader(stream)
        ]
    names = [f"{row['last_name']} ({row['party']}-{row['state']})" for row in rows]
    parties = [row["party"] for row in rows]
    return [*names, "OUTCOME"], [*parties, "-"], np.vstack([votes, passed])


def as_counts(votes: np.ndarray, names: list[str]) -> dcomp.Counts:
    """One block of two features per column; a vote not cast is a block without counts."""
    yea, nay = (votes == 1).astype(int), (votes == 0).astype(int)
    W = np.stack([yea, nay], axis=2).reshape(len(votes), -1)
    blocks = np.repeat(np.arange(votes.shape[1]), 2)
    return dcomp.Counts.from_matrix(W, doc_ids=names, blocks=blocks)


def sampled(counts: dcomp.Counts, K: int, algorithm: str, kinds: str, asked: Any) -> dcomp.Fit:
    """Chains with the draws that a harmonic mean needs."""
    how: Any = {"algorithm": algorithm, "draws_of": kinds, "n_draws": DRAWS, "verbose": 0, **PRIOR}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dcomp.ConvergenceWarning)
        model = dcomp.DCA(K, max_iter=asked.sweeps, n_chains=asked.chains, random_state=0, **how)
        return model.fit(counts).fit_


def bits(log_probability: float) -> float:
    """−log2 of a probability whose natural logarithm is given."""
    return -log_probability / np.log(2)


def readings(counts: dcomp.Counts, K: int, asked: Any) -> list[float]:
    """What "the model's likelihood" may mean, in bits: by direct Gibbs the mean and the best over
    draws of p(votes | memberships, Θ), that at the mean parameters, and its harmonic mean; by
    collapsed Gibbs the harmonic mean of p(votes | assignments)."""
    fit = sampled(counts, K, "gibbs", "scores,loadings", asked)
    draws, data = fit.draws, counts.to_scipy().tocsr()
    words = [given_parameters(data, m, T) for m, T in each(draws.scores, draws.Theta)]
    at_mean = given_parameters(data, fit.scores, fit.Theta)
    collapsed = sampled(counts, K, "collapsed-gibbs", "assignments", asked)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        means = [harmonic_mean(made, counts).log_evidence for made in (fit, collapsed)]
    return [bits(v) for v in (np.mean(words), max(words), at_mean, *means)]


def each(scores: Any, Theta: Any) -> list[tuple[Any, Any]]:
    """Draws of all chains, one after the other."""
    return [(scores[p], Theta[p]) for p in np.ndindex(*scores.shape[:2])]


def given_parameters(data: Any, scores: Any, Theta: Any) -> float:
    """log p(votes | memberships, probabilities of a yea)."""
    m = scores / scores.sum(axis=1, keepdims=True)
    i, j = data.nonzero()
    return float(np.log(np.einsum("ek,ek->e", m[i], Theta[j])).sum())


def bits_tables(names: list[str], votes: np.ndarray, asked: Any) -> list[str]:
    calls = [f"roll call {i + 1}" for i in range(votes.shape[1])]
    layouts = {
        "Senators as documents": as_counts(votes, names),
        "Roll calls as documents": as_counts(votes.T, calls),
    }
    lines = []
    for title, counts in layouts.items():
        lines += [
            f"**{title}**",
            "",
            *head(
                "K", "BJ06", "draws, mean", "best draw", "mean parameters", "harmonic, parameters",
                "harmonic, assignments",
            ),
        ]  # fmt: skip
        for K, paper in PAPER.items():
            lines.append(row(K, paper, *(f"{v:,.0f}" for v in readings(counts, K, asked))))
            print(title, lines[-1], flush=True)
        lines.append("")
    return lines


def bloc_lines(names: list[str], parties: list[str], votes: np.ndarray, asked: Any) -> list[str]:
    """Mean membership of each party and of the outcome in five blocs, by sampler."""
    counts = as_counts(votes, names)
    lines = []
    for title, algorithm in TRIED.items():
        fit = sampled(counts, 5, algorithm, "scores,loadings", asked)
        m = fit.scores / fit.scores.sum(axis=1, keepdims=True)
        party = np.array(parties)
        order = np.argsort(m[party == "R"].mean(axis=0) - m[party == "D"].mean(axis=0))
        numbers = [f"bloc {k + 1}" for k in range(5)]
        lines += [f"**{title}**, best of {asked.chains} chains", "", *head("", *numbers)]
        for name, mine in (("Democrats", "D"), ("Republicans", "R"), ("outcome", "-")):
            share = m[party == mine].mean(axis=0)[order]
            lines.append(row(name, *(f"{100 * v:.0f} %" for v in share)))
        people = [[names[i] for i in np.argsort(-m[:-1, k])[:3] if m[i, k] > 0.5] for k in order]
        lines += [row("closest", *(", ".join(who) or "nobody" for who in people)), ""]
        ends = sorted(float(chain["objective"][-20:].mean()) for chain in fit.chains)
        low, high = (f"{v:,.0f}" for v in (ends[0], ends[-1]))
        lines += [f"Chains end at a log joint from {low} to {high}.", ""]
    return lines


def real_blocs(names: list[str], votes: np.ndarray) -> list[str]:
    """How many of five blocs have members, chain by chain, after so many sweeps."""
    counts = as_counts(votes, names)
    lines = head("sweeps", "blocs with 1 % of the senators or more, by chain", "log joint")
    for sweeps in (50, 200, 600, 2000):
        sizes, ends = [], []
        for seed in range(4):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", dcomp.ConvergenceWarning)
                model = dcomp.DCA(
                    5, algorithm="gibbs", start="random", max_iter=sweeps, random_state=seed,
                    verbose=0, **PRIOR,
                )  # fmt: skip
                fit = model.fit(counts).fit_
            m = fit.scores[:-1] / fit.scores[:-1].sum(axis=1, keepdims=True)
            sizes.append(int((m.mean(axis=0) >= 0.01).sum()))
            ends.append(float(np.mean(fit.history["objective"][-20:])))
        lines.append(row(sweeps, ", ".join(map(str, sizes)), f"{np.mean(ends):,.0f}"))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--sweeps", type=int, default=600)
    asked = parser.parse_args()
    names, parties, votes = read_votes()
    lines = [
        "# The Senate of 2003 (BJ06 VIII.A)",
        "",
        f"459 roll calls, 101 voters, {int((votes >= 0).sum()):,} votes; {asked.chains} chains of "
        f"{asked.sweeps} sweeps, half of them burn-in, {DRAWS} draws of each.",
        "",
        "## Bits by K",
        "",
        *bits_tables(names, votes, asked),
        "The paper's bits are those of no reading. Nearest are those of roll calls at the mean "
        "parameters, within 5 %, in another order of K. Harmonic means hang on few draws. "
        "As nats the paper's figures are near the evidence of senators "
        "([table](papers-senate-evidence.md)). Held-out votes choose four, and cannot tell 4 from "
        "5 "
        "([by seed](papers-senate-select.md)).",
        "",
        "## Five blocs",
        "",
        "BJ06: 5 is the Democrat majority, the strongest and quite uninfluential; 4 the moderate "
        "Democrats, more influential; 3 a few Republican moderates; 2 the Republican majority, the "
        "most influential; 1 a Republican minority. The outcome's membership is the influence.",
        "",
        *bloc_lines(names, parties, votes, asked),
        "Single chains of direct Gibbs from a random start, as the paper may have had them:",
        "",
        *real_blocs(names, votes),
        "",
        "Five blocs are on the way of a chain, not at its end: components 4 and 3 of the paper may "
        "be what a short chain has not joined yet.",
        "",
    ]
    write("papers-senate", lines)


if __name__ == "__main__":
    main()
