"""HapMap3 for the benchmarks: the files, ADMIXTURE's own answer, and other programs' answers."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from corpora import data_folder
from scipy import sparse
from scipy.optimize import linear_sum_assignment

import dcomp

K = 3


def prefix() -> Path:
    return data_folder() / "genotypes" / "hapmap3" / "hapmap3"


def read_bed() -> tuple[np.ndarray, np.ndarray, int]:
    """The packed calls, SNPs by bytes of four people; the SNPs' names; how many people."""
    files = prefix()
    names = [line.split()[1] for line in files.with_suffix(".bim").read_text().splitlines()]
    packed = np.fromfile(files.with_suffix(".bed"), np.uint8)[3:].reshape(len(names), -1)
    return packed, np.array(names), len(files.with_suffix(".fam").read_text().splitlines())


def read_counts(every: int = 1) -> dcomp.Counts:
    """Copies of the two alleles of every so-manieth SNP, one block per SNP; no call is 0 and 0."""
    packed, names, n_people = read_bed()
    packed, names = packed[::every], names[::every]
    pairs = np.stack([(packed >> shift) & 3 for shift in (0, 2, 4, 6)], axis=2)
    codes = pairs.reshape(len(packed), -1)[:, :n_people].T
    # Codes are: two of the first allele, no call, one of each, two of the second.
    copies = np.array([[2, 0], [0, 0], [1, 1], [0, 2]], np.int32)[codes]
    table = sparse.csr_array(copies.reshape(n_people, -1))
    return dcomp.Counts.from_matrix(table, blocks=np.repeat(names, 2))


def admixture_answer() -> tuple[np.ndarray, np.ndarray]:
    """ADMIXTURE's own Q (I, K) and P (J, K)."""
    return np.loadtxt(f"{prefix()}.{K}.Q"), both_alleles(1 - np.loadtxt(f"{prefix()}.{K}.P"))


def both_alleles(P: np.ndarray) -> np.ndarray:
    """Frequencies (J, K), from those of each SNP's first allele, (S, K)."""
    return np.stack([P, 1 - P], axis=1).reshape(2 * len(P), -1)


def log_likelihood(counts: dcomp.Counts, Q: np.ndarray, P: np.ndarray) -> float:
    """Σ w log Σ_k q_ik p_jk in double, P (J, K)."""
    total, P = 0.0, np.asarray(P, np.float64)
    for i, q in enumerate(np.asarray(Q, np.float64)):
        row = slice(counts.indptr[i], counts.indptr[i + 1])
        # Rounded files have frequencies of 1 - 1 = 0; the smallest that ADMIXTURE allows is 1e-5.
        total += counts.data[row] @ np.log(np.maximum(P[counts.indices[row]] @ q, 1e-10))
    return float(total)


def error_in_q(Q: np.ndarray, truth: np.ndarray) -> float:
    """The mean absolute difference, columns in the order that makes it least."""
    distance = np.abs(Q[:, :, None] - truth[:, None, :]).mean(axis=0)
    return float(distance[linear_sum_assignment(distance)].sum() / len(distance))


def without_monomorphic(place: str, counts: dcomp.Counts) -> np.ndarray:
    """Write the files again with the SNPs that vary, which are all that fastmixture takes."""
    totals = counts.feature_totals.reshape(-1, 2)
    varies = (totals > 0).all(axis=1)
    shutil.copy(prefix().with_suffix(".fam"), f"{place}/varies.fam")
    lines = prefix().with_suffix(".bim").read_text().splitlines(keepends=True)
    Path(f"{place}/varies.bim").write_text("".join(np.array(lines, object)[varies]))
    header = bytes([0x6C, 0x1B, 1])
    Path(f"{place}/varies.bed").write_bytes(header + read_bed()[0][varies].tobytes())
    return varies


def run_alone(command: list[str], **how: Any) -> tuple[subprocess.CompletedProcess[bytes], float]:
    """A program of one thread, and its seconds of processor time, which other work on the machine
    hardly changes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, **how)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def peer(
    program: str, folder: str | None, counts: dcomp.Counts
) -> tuple[float, np.ndarray, np.ndarray] | None:
    """Seconds, Q and P of adamixture or fastmixture on one thread; None if it is not there."""
    path = shutil.which(program, path=folder) if folder else shutil.which(program)
    if path is None:
        return None
    with tempfile.TemporaryDirectory() as place:
        varies = without_monomorphic(place, counts)
        options = {
            # All chromosomes: ADMIXTURE's answer is from all 13,928 SNPs.
            "adamixture": f"-k {K} --data_path {prefix()}.bed --save_dir {place} --name run -t 1 "
            "--chrom_mode all",
            "fastmixture": f"-b {place}/varies -k {K} -t 1 -o {place}/run",
        }[program].split()
        one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        # Not this process's PYTHONPATH: the program has its own libraries.
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | one
        _, seconds = run_alone([path, *options], env=environment, check=True)
        Q, P = (np.loadtxt(next(Path(place).rglob(f"*.{kind}"))) for kind in "QP")
    if len(P) < len(varies):
        # Where one allele is all there is, its frequency is 1 and adds nothing.
        whole = np.repeat(counts.feature_totals[::2, None] > 0, K, axis=1).astype(float)
        whole[varies] = P
        P = whole
    return seconds, Q, both_alleles(P)
