"""BJ06 VIII.A's bits by K beside the evidence under the paper's own priors, in nats and in bits.

    python verification/papers/senate_evidence.py

α = 0.1 and Jeffreys' prior of every roll call, as the paper has them; annealing up and down gives
an interval that holds log p(votes | K). Senators as documents and roll calls as documents. Writes
`results/papers-senate-evidence.md`.
"""

from __future__ import annotations

import warnings

import numpy as np
from senate import PAPER, PRIOR, as_counts, read_votes
from shared import head, row, write

import dcomp

KS = (2, 3, *PAPER)


def main() -> None:
    names, _, votes = read_votes()
    calls = [f"call {c}" for c in range(votes.shape[1])]
    readings = {
        "Senators as documents": as_counts(votes, names),
        "Roll calls as documents": as_counts(votes.T, calls),
    }
    lines = [
        "# The evidence of K blocs (BJ06 VIII.A)",
        "",
        "−log p(votes given K) under the paper's priors, α = 0.1 for each bloc and 0.5 for each "
        "vote, by annealing up and down. The paper calls its figures bits.",
        "",
    ]
    for name, counts in readings.items():
        columns = ("K", "BJ06", "in nats", "at least", "at most", "paper's over it", "in bits")
        lines += [f"**{name}**", "", *head(*columns, "chains settled")]
        for K in KS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = dcomp.evaluate.evidence(counts, K, random_state=0, **PRIOR)
            nats, paper = -found.log_evidence, PAPER.get(K)
            over = "" if paper is None else f"{100 * (paper / nats - 1):+.1f} %"
            limits = (f"{-found.upper:,.0f}", f"{-found.lower:,.0f}")
            shown = [f"{nats:,.1f}", *limits, over, f"{nats / np.log(2):,.0f}"]
            lines.append(row(K, paper or "–", *shown, "yes" if found.is_sound else "no"))
        lines.append("")
    write("papers-senate-evidence", lines)


if __name__ == "__main__":
    main()
