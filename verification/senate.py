"""The blocs of the 2003 US Senate, as BJ06 VIII.A: ten chains of K = 5 on 459 roll calls.

    python verification/senate.py

Senators are the documents, every roll call is a block of two features (Yea, Nay), the outcome is
the 101st senator. A person judges the output: do the chains agree on the two parties, and do the
senators in between turn out to be the moderates of each side (BJ06 figures 8 and 9)? With
`--by-rollcall` roll calls are the documents and senators the blocks. `--algorithm gibbs` is the
paper's sampler; its chains need many more sweeps to join two components that share a bloc.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from pathlib import Path

import numpy as np

import dcomp

FOLDER = Path(os.environ.get("DCOMP_DATA", Path(__file__).parents[2] / "shared" / "data"))


def read_votes() -> tuple[list[str], list[str], np.ndarray]:
    """Names, parties and votes (senators × roll calls): 1 yea, 0 nay, -1 neither."""
    if not (FOLDER / "senate2003").is_dir():
        sys.exit("the Senate votes are needed: ../shared/data/senate2003 or DCOMP_DATA")
    with open(FOLDER / "senate2003" / "votes.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    columns = [name for name in rows[0] if name[0] == "v" and name[1:].isdigit()]
    code = {"Y": 1, "N": 0}
    votes = np.array([[code.get(row[name], -1) for name in columns] for row in rows])
    with open(FOLDER / "senate2003" / "rollcalls.csv", newline="") as stream:
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


def party_line(fit: dcomp.Fit, parties: list[str]) -> np.ndarray:
    """Each senator's mean membership in components, weighted by how Republican a component is."""
    is_r = np.array([p == "R" for p in parties])
    is_d = np.array([p == "D" for p in parties])
    m = fit.scores / fit.scores.sum(axis=1, keepdims=True)
    lean = m[is_r].mean(axis=0) / (m[is_r].mean(axis=0) + m[is_d].mean(axis=0))
    return m @ lean


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chains", type=int, default=10)
    parser.add_argument("--sweeps", type=int, default=600)
    parser.add_argument("--algorithm", default="collapsed-gibbs")
    parser.add_argument("--by-rollcall", action="store_true")
    args = parser.parse_args()
    names, parties, votes = read_votes()
    if args.by_rollcall:
        by_rollcall(names, parties, votes, args)
        return
    counts = as_counts(votes, names)
    lines = []
    for seed in range(args.chains):
        model = dcomp.DCA(
            5, alpha=0.1, gamma=0.5, algorithm=args.algorithm, max_iter=args.sweeps,
            random_state=seed, verbose=0,
        )  # fmt: skip
        fitted = model.fit(counts).fit_
        line = party_line(fitted, parties)
        lines.append(line)
        sides = (line > 0.5) == np.array([p == "R" for p in parties])
        known = np.array([p in "RD" for p in parties])
        print(
            f"chain {seed}: log joint {fitted.objective:9.1f}, {np.mean(sides[known]):.0%} of the "
            f"senators on their party's side"
        )
    lean = np.mean(lines, axis=0)
    spread = np.std(lines, axis=0)
    print(
        f"\ncorrelation of leanings between chains: {np.corrcoef(lines).min():.3f} at the least\n"
    )
    for i in np.argsort(lean):
        bar = "#" * round(40 * lean[i])
        print(f"{names[i]:<24} {lean[i]:.2f} ± {spread[i]:.2f} {bar}")


def by_rollcall(names: list[str], parties: list[str], votes: np.ndarray, args) -> None:
    """The other way round: a component is a bloc's way of voting, one loading per senator."""
    counts = as_counts(votes.T, [f"roll call {i + 1}" for i in range(votes.shape[1])])
    fitted = (
        dcomp.DCA(
            5, alpha=0.1, gamma=0.5, algorithm=args.algorithm, max_iter=args.sweeps,
            n_chains=args.chains, verbose=0,
        )
        .fit(counts)
        .fit_
    )  # fmt: skip
    yea = fitted.Theta[0::2]  # (senators, K): probability of a yea
    for party in "RD":
        members = [p == party for p in parties]
        print(party, "mean P(yea) per component:", yea[members].mean(axis=0).round(2))
    ends = [chain["objective"][-20:].mean() for chain in fitted.chains]
    print("levels of the chains:", np.round(sorted(ends), 1))
    print("outcome's P(passed) per component:", yea[names.index("OUTCOME")].round(2))


if __name__ == "__main__":
    main()
