"""Files of the fields for the guides: the real ones where they are, else small ones of the same
names and columns."""

from __future__ import annotations

import csv
import json
import lzma
import os
import re
import shutil
from pathlib import Path

import numpy as np

import dcomp

DATA = Path(os.environ.get("DCOMP_DATA", Path(__file__).parents[3] / "shared" / "data"))


def votes_and_surveys(folder: Path) -> None:
    """S108_votes.csv.xz with members and roll calls, and election2000.csv."""
    senate = DATA / "senate2003"
    if senate.is_dir():
        for name in ("S108_votes.csv.xz", "S108_members.csv", "S108_rollcalls.csv"):
            shutil.copyfile(senate / name, folder / name)
        shutil.copyfile(DATA / "survey" / "election2000.csv", folder / "election2000.csv")
    else:
        small_votes(folder)
        small_survey(folder)


def small_votes(folder: Path) -> None:
    """40 members and 60 calls as Voteview writes them."""
    table = dcomp.datasets.votes(40, 60, seed=5)
    W = table.counts.to_scipy().toarray()
    votes = ["congress,chamber,rollnumber,icpsr,cast_code"]
    for g in range(60):
        for i in range(40):
            code = 1 if W[i, 2 * g] else 6 if W[i, 2 * g + 1] else 9
            votes.append(f"108,Senate,{g + 1},{1000 + i},{code}")
    (folder / "S108_votes.csv.xz").write_bytes(lzma.compress("\n".join(votes).encode()))
    members = ["congress,chamber,icpsr,state_abbrev,party_code,bioname,nominate_dim1"]
    for i, (party, x) in enumerate(zip(table.parties, table.ideal_points, strict=True)):
        code = 100 if party == "left" else 200
        members.append(f'108,Senate,{1000 + i},S{i % 20},{code},"M{i}, A",{x / 3:.3f}')
    (folder / "S108_members.csv").write_text("\n".join(members))
    calls = ["rollnumber,vote_result,vote_desc"]
    calls += [f"{g + 1},{'Bill Passed' if g % 3 else 'Bill Defeated'},On {g}" for g in range(60)]
    (folder / "S108_rollcalls.csv").write_text("\n".join(calls))


def small_survey(folder: Path) -> None:
    """200 answers to four questions."""
    rng = np.random.default_rng(0)
    lines = ["MORALG,CARESG,MORALB,CARESB,VOTE3,AGE,EDUC,GENDER,PARTY"]
    for i in range(200):
        side = i % 2
        chance = [0.7, 0.2, 0.1] if side else [0.1, 0.2, 0.7]
        words = rng.choice(["1 Well", "2 So", "3 Badly"], 2, p=chance).tolist()
        other = rng.choice(["1 Well", "2 So", "3 Badly"], 2, p=chance[::-1]).tolist()
        words += ["" if rng.random() < 0.1 else word for word in other]
        lines.append(
            ",".join([*words, f"{side + 1}.0", f"{20 + i % 60}.0", "3.0", "1.0", f"{side}.0"])
        )
    (folder / "election2000.csv").write_text("\n".join(lines))


def genotypes(folder: Path) -> None:
    """hapmap3.bed with what belongs to it, and thrush-data.str."""
    real = DATA / "genotypes"
    if real.is_dir():
        for name in ("bed", "bim", "fam", "pops"):
            shutil.copyfile(real / "hapmap3" / f"hapmap3.{name}", folder / f"hapmap3.{name}")
        shutil.copyfile(real / "thrush" / "thrush-data.str", folder / "thrush-data.str")
    else:
        small_genotypes(folder)


def small_genotypes(folder: Path) -> None:
    """60 people and 150 SNPs as PLINK writes them; the first seven SNPs as STRUCTURE does."""
    table = dcomp.datasets.genotypes(60, 150, f_st=(0.2, 0.2, 0.2), seed=6)
    W = table.counts.to_scipy().toarray()
    first, second = W[:, 0::2], W[:, 1::2]
    codes = np.where(first + second == 0, 1, np.array([3, 2, 0])[first])
    out = bytearray(b"\x6c\x1b\x01")
    for snp in codes.T:
        for start in range(0, 60, 4):
            out.append(sum(int(code) << (2 * i) for i, code in enumerate(snp[start : start + 4])))
    (folder / "hapmap3.bed").write_bytes(bytes(out))
    (folder / "hapmap3.bim").write_text("".join(f"1 rs{s} 0 {s} A G\n" for s in range(150)))
    (folder / "hapmap3.fam").write_text("".join(f"f p{i} 0 0 0 -9\n" for i in range(60)))
    site = table.memberships.argmax(axis=1)
    (folder / "hapmap3.pops").write_text("".join(f"{'ABC'[s]}\n" for s in site))
    lines = []
    for i in range(60):
        for copy in range(2):
            alleles = np.where(codes[i, :7] == 1, -9, np.where(first[i, :7] > copy, 1, 2))
            lines.append(f"b{i} {site[i] + 1} " + " ".join(map(str, alleles.tolist())))
    (folder / "thrush-data.str").write_text("\n".join(lines))


def signatures(folder: Path) -> None:
    """tcga_exomes.96.csv, the first 60 tumours, and sbs_exome_signatures.csv."""
    real = DATA / "signatures"
    if real.is_dir():
        with lzma.open(real / "tcga_exomes.96.csv.xz", "rt") as stream:
            lines = [",".join(line.rstrip("\n").split(",")[:62]) for line in stream]
        (folder / "tcga_exomes.96.csv").write_text("\n".join(lines))
        name = "sbs_exome_signatures.csv"
        shutil.copyfile(real / name, folder / name)
    else:
        small_signatures(folder)


def small_signatures(folder: Path) -> None:
    """60 tumours with four signatures; those are in the reference, types in another order."""
    table = dcomp.datasets.mutations(60, n_signatures=4, largest=1e4, seed=2)
    types = [
        (f"{old}>{new}", f"{left}{old}{right}")
        for old in "CT"
        for new in "ACGT"
        if new != old
        for left in "ACGT"
        for right in "ACGT"
    ]
    order = np.random.default_rng(0).permutation(96)
    W, components = table.counts.to_scipy().toarray().T, table.components.T
    of_tumours = ("tcga_exomes.96.csv", "Mutation type,Trinucleotide", W, range(96), "t")
    published = ("sbs_exome_signatures.csv", "Type,SubType", components, order.tolist(), "SBS")
    for name, labels, values, places, prefix in (of_tumours, published):
        head = ",".join([labels, *(f"{prefix}{n + 1}" for n in range(values.shape[1]))])
        rows = [",".join([*types[j], *(f"{x:.9g}" for x in values[j])]) for j in places]
        (folder / name).write_text("\n".join([head, *rows]))


def small_cells(folder: Path) -> None:
    """150 cells and 200 genes as 10x Genomics writes them; there are no real ones at hand."""
    table = dcomp.datasets.cells(150, 200, n_types=3, depth=400.0, seed=7)
    place = folder / "filtered_feature_bc_matrix"
    place.mkdir()
    W = table.counts.to_scipy().tocoo()
    head = f"%%MatrixMarket matrix coordinate integer general\n200 150 {W.nnz}\n"
    rows = (f"{j + 1} {i + 1} {n}\n" for i, j, n in zip(W.row, W.col, W.data, strict=True))
    (place / "matrix.mtx").write_text(head + "".join(rows))
    (place / "features.tsv").write_text("".join(f"E{j}\tGENE{j}\n" for j in range(200)))
    (place / "barcodes.tsv").write_text("".join(f"CELL{i}-1\n" for i in range(150)))


def activity_log(folder: Path) -> None:
    """log.csv: who posted to which newsgroup, with the subject."""
    real = DATA / "newsgroups20.jsonl.xz"
    if not real.exists():
        small_log(folder)
        return
    rows = []
    with lzma.open(real, "rt", encoding="utf-8") as stream:
        for number, line in enumerate(stream):
            if number % 3 == 0:  # enough for the page
                post = json.loads(line)
                head = dict(re.findall(r"^(From|Subject): *(.*)$", post["text"][:2000], re.M))
                rows.append((head.get("From", "nobody"), post["group"], head.get("Subject", "")))
    _write_log(folder, rows)


def small_log(folder: Path) -> None:
    """40 people, each of whom mostly does one of three things."""
    rng = np.random.default_rng(8)
    words = {"build": "fix test compile", "talk": "meeting plan team", "sell": "price offer order"}
    rows = []
    for i in range(40):
        for _ in range(8):
            did = list(words)[(i + (rng.random() < 0.2)) % 3]
            rows.append((f"p{i}", did, str(rng.choice(words[did].split()))))
    _write_log(folder, rows)


def _write_log(folder: Path, rows: list[tuple[str, str, str]]) -> None:
    with (folder / "log.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerows([("who", "did", "note"), *rows])


FILES = {
    "cells.md": small_cells,
    "activity-logs.md": activity_log,
    "votes-and-surveys.md": votes_and_surveys,
    "genotypes.md": genotypes,
    "signatures.md": signatures,
}
SMALL = {
    "activity-logs.md": small_log,
    "votes-and-surveys.md": lambda folder: (small_votes(folder), small_survey(folder)),
    "genotypes.md": small_genotypes,
    "signatures.md": small_signatures,
}
