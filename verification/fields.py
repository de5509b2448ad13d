"""Fields' own data by the fields' own figures: HapMap3, thrushes, the Senate of 2003, exomes.

    python verification/fields.py
    python verification/fields.py --only exomes lines

Writes results/fields.md, or with --only those parts of it anew. HapMap3 is compared with
ADMIXTURE's answer, which lies beside it (.3.Q
and .3.P): the error of Q, and the log-likelihood of both by one formula. Birds are compared with
the sites where they were caught. Of the Senate there are the blocs' votes, the calls that divide
neighbouring blocs and the classification rate. Of exomes there are the published signatures that
are found, beside those of scikit-learn's NMF in the same run, with weights for giants, and how
stable signatures are. "lines" runs one line of the shell for each kind of file. A person judges
what is printed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

import dcomp
from dcomp.evaluate.align import Alignment
from dcomp.io.ancestry import read_ancestry
from dcomp.printable import columns
from dcomp.use.admixture import log_likelihood, validate
from dcomp.use.catalogue import Aligned, Catalogue
from dcomp.use.cosine import cosines
from dcomp.use.signatures import read_tumours

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


def exomes() -> list[str]:
    """Published signatures among 20 of all exomes, by dcomp and by scikit-learn's NMF."""
    from sklearn.decomposition import NMF

    place = FOLDER / "signatures"
    counts = read_tumours(place / "tcga_exomes.96.csv.xz")
    known = Catalogue.of(place / "sbs_exome_signatures.csv").aligned_to(counts.features.names)
    out = [
        f"## {counts.n_docs:,} exomes, K = 20, one seed",
        "",
        "| | cosine 0.9 | cosine 0.95 | seconds of processor time | how it ended |",
        "|---|---|---|---|---|",
    ]
    ways = {
        "GP by mean field, the default": {},
        "the same, tumours count for 2,000 mutations at most": {"max_mutations": 2000},
        "DM by ml (KL-NMF)": {"model": "DM", "algorithm": "ml"},
    }
    for name, options in ways.items():
        start = time.process_time()
        found = dcomp.use.signatures(counts, 20, **options)
        seconds = time.process_time() - start
        ended = f"{found.fit.n_sweeps} sweeps, {found.fit.reason}"
        out.append(_row(name, found.loadings, known, seconds, ended))
    start = time.process_time()
    nmf = NMF(20, solver="mu", beta_loss="kullback-leibler", init="nndsvda", max_iter=500)
    nmf.fit(counts.to_scipy().astype(float).toarray())
    theirs = nmf.components_ / nmf.components_.sum(axis=1, keepdims=True)
    ended = f"{nmf.n_iter_} iterations, {'limit' if nmf.n_iter_ >= 500 else 'its tol'}"
    out.append(_row("scikit-learn's KL-NMF", theirs, known, time.process_time() - start, ended))
    return [*out, "", *_stability(counts), ""]


def _row(name: str, loadings: np.ndarray, known: Aligned, seconds: float, ended: str) -> str:
    best = Alignment.from_similarity(cosines(loadings, known.loadings)).similarity
    found = " | ".join(str(int((best >= level).sum())) for level in (0.9, 0.95))
    return f"| {name} | {found} | {seconds:.0f} | {ended} |"


def _stability(counts: dcomp.Counts) -> list[str]:
    """Of every eighth tumour, so that it takes a minute."""
    some = counts.rows(range(0, counts.n_docs, 8))
    found = dcomp.use.signatures(some, [4, 8, 12, 16], n_replicates=5)
    title = f"Stability over resampled fits of {some.n_docs:,} of them:"
    return [title, "", "```", str(found.stability), "```"]


def shell_lines(folder: Path) -> dict[str, str]:
    """One line for each kind of file; {data} is the folder of real data."""
    _small_cells(folder / "cells.h5ad")
    _small_reviews(folder / "reviews.csv")
    return {
        "roll calls": "rollcall {data}/senate2003/S108_votes.csv.xz -k 3 --max-iter 200",
        "genotypes": "admixture {data}/genotypes/hapmap3/hapmap3.bed -k 3",
        "birds": "admixture {data}/genotypes/thrush/thrush-data.str -k 3",
        "news": "fit {data}/reuters21578.jsonl.xz -k 10 --text-field title,body --text-blocks "
        "--where lewissplit=TRAIN,topics_attr=YES --label-field topics -o news.dcomp",
        "exomes": "signatures {data}/signatures/tcga_exomes.96.csv.xz -k 10 --max-iter 300 "
        "--no-intervals --reference {data}/signatures/sbs_exome_signatures.csv",
        "survey": "fit {data}/survey/election2000.csv --format categories -k 3 "
        "--keep-attributes -o survey.dcomp",
        "baskets": "fit {data}/baskets/groceries.basket.csv -k 8 -o baskets.dcomp",
        "speeches": "fit {data}/inaugural/inaugural.jsonl.xz -k 6 --label-field party "
        "--keep-attributes -o speeches.dcomp",
        "cells": "fit cells.h5ad -k 3 -o cells.dcomp",
        "a column of text": "fit reviews.csv --text-field review -k 2 -o reviews.dcomp",
    }


def lines() -> list[str]:
    """What each line prints in 80 columns, and how long it takes."""
    out = ["## One line of the shell for each file", ""]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what, line in shell_lines(folder).items():
            words = line.format(data=FOLDER).split()
            command = [sys.executable, "-c", "from dcomp.cli.main import main; main()", *words]
            start = time.perf_counter()
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, check=False,
                env={**os.environ, "COLUMNS": "80"},
            )  # fmt: skip
            seconds = time.perf_counter() - start
            shown = line.replace("{data}/", "")
            told = (done.stderr + done.stdout).rstrip().splitlines()
            wide = max(map(columns, done.stdout.splitlines() or [""]))
            out += [
                f"### {what}: exit {done.returncode}, {seconds:.0f} s, {wide} columns",
                "",
                "```",
                f"dcomp {re.sub(' +', ' ', shown)}",
                *(row.rstrip() for row in told[:48]),
                "```",
                "",
            ]
    return out


def _small_cells(path: Path) -> None:
    import anndata

    table = dcomp.datasets.cells(200, 300, seed=1)
    names = [f"GENE{j}" for j in range(table.counts.n_features)]
    data = anndata.AnnData(table.counts.to_scipy().astype(np.float32))
    data.var_names = names
    data.obs_names = [f"cell{i}" for i in range(table.counts.n_docs)]
    data.write_h5ad(path)


def _small_reviews(path: Path) -> None:
    food = ("great soup and bread", "the soup was cold but the bread was fresh", "fresh bread")
    rooms = (
        "a clean room with a large bed",
        "the bed was hard, the room quiet",
        "quiet clean room",
    )
    rows = [f'{i},"{text}"' for i, text in enumerate((food + rooms) * 8)]
    path.write_text("\n".join(["id,review", *rows]), encoding="utf-8")


def main() -> None:
    parts = {part.__name__: part for part in (hapmap, thrushes, senate, exomes, lines)}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    wanted = parser.parse_args().only
    if not FOLDER.is_dir():
        sys.exit("real data are needed: ../shared/data or DCOMP_DATA")
    warnings.simplefilter("ignore")  # chains that have not settled are shown as such
    kept = _kept()
    for name in wanted:
        kept[name] = parts[name]()
        print("\n".join(kept[name][-40:]), flush=True)
        head = ["# Fields' own data", "", "`python verification/fields.py`", ""]
        body = [line for part in parts for line in kept.get(part, [])]
        RESULTS.write_text("\n".join([*head, *body]), encoding="utf-8")


def _kept() -> dict[str, list[str]]:
    """The parts of the last run, by the beginnings of their titles."""
    begins = {
        "HapMap3": "hapmap",
        "Thrush": "thrushes",
        "The Senate": "senate",
        "One line": "lines",
    }
    found: dict[str, list[str]] = {}
    name = ""
    for line in RESULTS.read_text(encoding="utf-8").split("\n") if RESULTS.exists() else []:
        if line.startswith("## "):
            title = line.removeprefix("## ")
            name = next((p for start, p in begins.items() if title.startswith(start)), "exomes")
        if name:
            found.setdefault(name, []).append(line)
    return found


if __name__ == "__main__":
    main()
