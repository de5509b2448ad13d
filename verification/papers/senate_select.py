"""How many blocs the 2003 US Senate has, as BJ06 VIII.A asks: `dcomp select` for three seeds.

    python verification/papers/senate_select.py

Senators are the documents, every roll call is a block of two features. Writes
results/papers-senate-select.md, the paper's figures beside ours; they could not be reproduced
under any reading of "the model's likelihood", and are a reference rather than a target.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy import sparse
from senate import PAPER, as_counts, read_votes
from shared import RESULTS

KS = "2,3,4,5,6,7,10"
TARGET = RESULTS / "papers-senate-select.md"


def run_select(folder: Path, seed: int) -> dict:
    command = [sys.executable, "-m", "dcomp.cli.main", "select", str(folder / "votes.npz")]
    command += ["-k", KS, "--blocks", str(folder / "blocks.txt"), "--seed", str(seed), "--json"]
    command += ["--evidence", "yes", "--plot", str(folder / f"{seed}.png")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def as_lines(found: dict, seed: int) -> list[str]:
    lines = [
        f"## Seed {seed}",
        "",
        found["summary"],
        "",
        "| K | held-out per token | behind the best | log evidence: between | in bits | BJ06 "
        "| stability |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in found["candidates"]:
        K, evidence = row["n_components"], row["evidence"]
        between = f"{row['evidence_lower']:,.0f} and {row['evidence_upper']:,.0f}"
        sign = "" if row["evidence_is_sound"] else " (not sound)"
        lines.append(
            f"| {K} | {row['log_likelihood']:.4f} ± {row['standard_error']:.4f} "
            f"| {row['behind']:.4f} ± {row['behind_error']:.4f} "
            f"| {between}{sign} | {-evidence / np.log(2):,.0f} "
            f"| {PAPER.get(K, '–')} | {row['stability']:.2f} |"
        )
    return [*lines, ""]


def main() -> None:
    names, _, votes = read_votes()
    counts = as_counts(votes, names)
    lines = [
        "# How many blocs?",
        "",
        f"`python verification/papers/senate_select.py`: `dcomp select -k {KS}` on the 2003 "
        f"Senate, {counts.n_docs} documents (the outcome is the 101st senator), "
        f"{counts.features.n_blocks} roll calls, {counts.n_tokens:,} votes. Five chains of each "
        "K, each scored on a fifth of "
        "the senators: half of a senator's votes are given, the rest predicted.",
        "",
        "BJ06's bits (VIII.A) could not be reproduced, as nats they are near "
        "(papers-senate-evidence.md); beside "
        "them stands the evidence by annealing up and down, with the interval that holds it.",
        "",
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sparse.save_npz(folder / "votes.npz", sparse.csr_matrix(counts.to_scipy()))
        (folder / "blocks.txt").write_text("\n".join(map(str, counts.features.blocks)))
        for seed in range(3):
            started = time.perf_counter()
            found = run_select(folder, seed)
            print(seed, f"{time.perf_counter() - started:.0f} s", found["summary"], flush=True)
            lines += as_lines(found, seed)
    TARGET.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
