"""Genotypes of admixed people from populations that drifted apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcomp.data import Counts
from dcomp.datasets.draws import (
    Floats,
    categories,
    check_positive,
    check_shares,
    check_sizes,
    frozen,
    generator,
    normalised,
    numbered,
)
from dcomp.errors import InvalidParameter


@dataclass(frozen=True, slots=True, eq=False)
class Genotypes:
    """Copies of the two alleles of each SNP, one block per SNP, and the ancestry behind them."""

    counts: Counts  # (I, 2S), columns 2s and 2s + 1 are the two alleles; both 0: no call
    memberships: Floats  # (I, K), the share of a person's genome that is from each population
    components: Floats  # (K, 2S), allele frequencies; each SNP's two sum to 1
    f_st: tuple[float, ...]  # how far each population drifted
    monomorphic: tuple[int, ...]  # SNPs that were made not to vary


def genotypes(
    n_people: int = 300,
    n_snps: int = 1000,
    *,
    f_st: Sequence[float] = (0.05, 0.1, 0.15),
    unmixed: float = 0.3,
    mixture: float = 0.5,
    tract: float = 5.0,
    missing: float = 0.01,
    monomorphic: float = 0.02,
    seed: int = 0,
) -> Genotypes:
    """People whose genome comes in tracts from several populations.

    Each population has an F_ST of its own: from an ancestral frequency p, uniform from 0.05 to
    0.95, it drifts to Beta(p (1 − F)/F, (1 − p)(1 − F)/F) (Balding and Nichols 1995). A share
    `unmixed` of the people descends from one population, the others from all in shares of
    Dirichlet(`mixture`). Neighbouring SNPs are not independent: each of a person's two copies
    changes its ancestry every `tract` SNPs on average. A call is `missing` with that probability,
    whatever it is; a share `monomorphic` of the SNPs has one allele everywhere.

    >>> table = genotypes(40, 60, f_st=(0.1, 0.2), seed=7)
    >>> table.counts.shape, table.counts.features.n_blocks
    ((40, 120), 60)
    >>> table.counts.features.name(3)
    'snp02=A2'
    """
    check_sizes(n_people=n_people, n_snps=n_snps)
    check_shares(unmixed=unmixed, missing=missing, monomorphic=monomorphic)
    check_positive(mixture=mixture)
    if not f_st or not all(0 < f < 1 for f in f_st):
        raise InvalidParameter(f"f_st must hold numbers above 0 and below 1; got {f_st!r}")
    if not tract >= 1:
        raise InvalidParameter(f"tract must be at least 1 SNP; got {tract!r}")
    rng = generator(seed)
    frequency, fixed = _frequencies(rng, n_snps, np.asarray(f_st, float), monomorphic)
    planned = _mixtures(rng, n_people, len(f_st), unmixed, mixture)
    copies = [_ancestry(rng, planned, n_snps, tract) for _ in range(2)]
    carried = [_alleles(rng, frequency, ancestry) for ancestry in copies]
    counts = _table(carried[0] + carried[1], rng.random((n_people, n_snps)) < missing)
    inherited = np.stack([sum((a == k).sum(1) for a in copies) for k in range(len(f_st))], axis=1)
    both = np.stack([frequency, 1 - frequency], axis=2).reshape(len(f_st), 2 * n_snps)
    return Genotypes(
        counts,
        frozen(normalised(inherited)),
        frozen(both),
        tuple(float(f) for f in f_st),
        tuple(fixed.tolist()),
    )


def _frequencies(
    rng: np.random.Generator, n_snps: int, f_st: Floats, monomorphic: float
) -> tuple[Floats, NDArray[np.intp]]:
    """Frequencies of the first allele (K, S), and the SNPs at which nobody has the second."""
    ancestral = rng.uniform(0.05, 0.95, n_snps)
    strength = ((1 - f_st) / f_st)[:, np.newaxis]
    frequency = rng.beta(ancestral * strength, (1 - ancestral) * strength)
    fixed = np.sort(rng.permutation(n_snps)[: round(monomorphic * n_snps)])
    frequency[:, fixed] = 1.0
    return frequency, fixed


def _mixtures(
    rng: np.random.Generator, n_people: int, K: int, unmixed: float, mixture: float
) -> Floats:
    """The shares (I, K) that each person's tracts are drawn by; the unmixed come first."""
    shares = rng.dirichlet(np.full(K, mixture), n_people)
    n_unmixed = round(unmixed * n_people)
    shares[:n_unmixed] = np.eye(K)[np.arange(n_unmixed) % K]
    return shares


def _ancestry(
    rng: np.random.Generator, shares: Floats, n_snps: int, tract: float
) -> NDArray[np.intp]:
    """The population that one copy of each SNP is from, (I, S): constant over tracts."""
    drawn = categories(rng, shares, n_snps)
    begins = rng.random(drawn.shape) < 1 / tract
    begins[:, 0] = True
    since = np.maximum.accumulate(np.where(begins, np.arange(n_snps), 0), axis=1)
    return np.take_along_axis(drawn, since, axis=1)


def _alleles(
    rng: np.random.Generator, frequency: Floats, ancestry: NDArray[np.intp]
) -> NDArray[np.int64]:
    """1 where a copy is the first allele, (I, S)."""
    chance = frequency[ancestry, np.arange(ancestry.shape[1])]
    return (rng.random(ancestry.shape) < chance).astype(np.int64)


def _table(first: NDArray[np.int64], unknown: NDArray[np.bool_]) -> Counts:
    n_people, n_snps = first.shape
    copies = np.stack([first, 2 - first], axis=2)
    copies[unknown] = 0
    return Counts.from_matrix(
        copies.reshape(n_people, 2 * n_snps),
        feature_names=["A1", "A2"] * n_snps,
        blocks=np.repeat(numbered("snp", n_snps), 2),
        doc_ids=numbered("person", n_people),
    )
