"""Fields' own data by the fields' own figures: HapMap3, thrushes and the Senate of 2003.

    python verification/fields.py

Writes results/fields.md. HapMap3 is compared with ADMIXTURE's answer, which lies beside it (.3.Q
and .3.P): the error of Q, and the log-likelihood of both by one formula. Birds are compared with
the sites where they were caught. Of the Senate there are the blocs' votes, the calls that divide
neighbouring blocs and the classification rate. A person judges what is printed.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

import dcomp
from dcomp.io.ancestry import read_ancestry
from dcomp.use.admixture import log_likelihood, validate

FOLDER = Path(os.environ.get("DCOMP_DATA", Path(__file__).parents[2] / "shared" / "data"))
RESULTS = Path(__file__).parent / "results" / "fields.md"


def hapmap() -> list[str]:
    """Error of Q and P, and the log-likelihood of both answers."""
    place = FOLDER / "genotypes" / "hapmap3"
    counts = dcomp.read(place / "hapmap3.bed")
    start = time.perf_counter()
    found = dcomp.use.admixture(counts, 3, with_intervals=False)
    seconds = time.perf_counter() - start
    Q, P = (read_ancestry(place / f"hapmap3.3.{kind}") for kind in "QP")
    cost = ((found.Q[:, :, None] - Q[:, None, :]) ** 2).sum(axis=0)
    rows, columns = linear_sum_assignment(cost)
    ours = found.Q[:, rows[np.argsort(columns)]]
    freq = found.P[:, rows[np.argsort(columns)]]
    # Their .P has the second allele, as ours; alleles of a SNP sum to 1.
    theirs = log_likelihood(counts, Q, np.stack([1 - P, P], axis=1).reshape(-1, 3))
    judged = validate(counts, [1, 2, 3, 4])
    return [
        "## HapMap3, K = 3",
        "",
        "| | dcomp | ADMIXTURE |",
        "|---|---|---|",
        f"| log-likelihood | {found.log_likelihood:,.1f} | {theirs:,.1f} |",
        "",
        f"Q: root mean square difference {np.sqrt(np.mean((ours - Q) ** 2)):.4f}, largest "
        f"{np.abs(ours - Q).max():.3f}; P: {np.sqrt(np.mean((freq - P) ** 2)):.4f} and "
        f"{np.abs(freq - P).max():.3f}. {found.fit.n_sweeps} sweeps, {found.fit.reason}, "
        f"{seconds:.0f} s.",
        "",
        "```",
        str(found.by_population),
        "",
        str(judged),
        "```",
        "",
    ]


def thrushes() -> list[str]:
    """How many birds are told by site: by STRUCTURE's model, and by maximum likelihood."""
    counts = dcomp.read(FOLDER / "genotypes" / "thrush" / "thrush-data.str")
    site = counts.attributes["population"]
    lines = ["## Thrushes, K = 3", ""]
    ways = {
        "sampled, one learned alpha (STRUCTURE's model), best of 10 chains": {
            "algorithm": "collapsed-gibbs", "alpha": "shared", "n_chains": 10, "max_iter": 1000,
        },
        "mean field": {"algorithm": "mean-field", "n_tries": 20},
        "maximum likelihood": {"n_tries": 20},
    }  # fmt: skip
    for name, options in ways.items():
        found = dcomp.use.admixture(counts, 3, with_intervals=False, **options)
        main = found.Q.argmax(axis=1)
        table = np.array([[np.sum(main[site == s] == k) for k in range(3)] for s in "1234"])
        rows, columns = linear_sum_assignment(-table[:3])
        lines += [
            f"{name}: {table[rows, columns].sum()} of {table[:3].sum()} birds of sites 1 to 3 are "
            f"in their site's cluster; log-likelihood {found.log_likelihood:,.1f}",
            "",
            "```",
            str(found.by_population),
            "```",
            "",
        ]
    return lines


def senate() -> list[str]:
    """Blocs of 2003, as BJ06 VIII.A."""
    path = FOLDER / "senate2003" / "votes.csv"
    found = dcomp.use.rollcall(path, 5)
    split = ((found.bloc_votes > 0.05) & (found.bloc_votes < 0.95)).mean(axis=0)
    return [
        "## The Senate of 2003, K = 5",
        "",
        "```",
        *found.lines(voters=None, n=5),
        "",
        "share of calls at which a bloc is split (5 to 95 % yea): "
        + "  ".join(f"#{k} {100 * split[k]:.0f} %" for k in found.bloc_order),
        "```",
        "",
    ]


def main() -> None:
    if not FOLDER.is_dir():
        sys.exit("real data are needed: ../shared/data or DCOMP_DATA")
    warnings.simplefilter("ignore")  # chains that have not settled are shown as such
    lines = ["# Fields' own data", "", "`python verification/fields.py`", ""]
    for part in (hapmap, thrushes, senate):
        lines += part()
        print("\n".join(lines[-40:]), flush=True)
    RESULTS.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
