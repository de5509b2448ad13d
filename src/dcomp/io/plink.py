"""PLINK's binary genotypes: x.bed with the SNPs in x.bim and the people in x.fam beside it.

Three bytes (6C 1B and the order), then two bits per genotype, four to a byte from the lowest bits
up: 00 twice the first allele of the .bim file, 01 no call, 10 one of each, 11 twice the second.
Rows are SNPs (order 1) or people (order 0), and each begins a new byte.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcomp.data.attributes import Attributes
from dcomp.data.counts import Counts
from dcomp.data.features import FeatureSpace
from dcomp.errors import InvalidFile
from dcomp.io.beside import required
from dcomp.io.files import OF_NAME, StrPath, opened, text_lines
from dcomp.io.limits import Budget, Limits
from dcomp.io.loci import locus_names, population_labels

_MAGIC = b"\x6c\x1b"
_FIRST = np.array([2, 0, 1, 0], np.int32)  # copies of the first allele, by code
_SECOND = np.array([0, 0, 1, 2], np.int32)
_VOUCHES = 8  # a byte is four genotypes, as 8 of text would be
_AT_ONCE = 1 << 18  # genotypes that are made counts at a time
_TAKEN = 1024  # lines that are charged at a time
_SEX = {"1": "male", "2": "female"}
_UNKNOWN = ("0", "-9", "NA")


def read_plink(
    path: StrPath, *, populations: StrPath | None = None, limits: Limits | None = None
) -> Counts:
    """Read genotypes: one block per SNP with the copies of its two alleles; no call is no count.

    The .fam file gives ids and the attributes family, sex and phenotype. `populations` has a line
    per person, or is found beside the file as x.pop or x.pops (ADMIXTURE's name): the attribute
    population; "-" where it is not known.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     content = b"\\x6c\\x1b\\x01" + bytes([0b11_10_00, 0b01_11_10])
    ...     _ = Path(folder, "x.bed").write_bytes(content)
    ...     _ = Path(folder, "x.bim").write_text("1 rs1 0 10 A G\\n1 rs2 0 20 C T\\n")
    ...     _ = Path(folder, "x.fam").write_text("f ann 0 0 2 1\\nf bob 0 0 1 1\\nf cyd 0 0 0 1\\n")
    ...     counts = read_plink(Path(folder, "x.bed"))
    >>> counts.features.labels, counts.to_scipy().toarray().tolist()
    (('rs1=A', 'rs1=G', 'rs2=C', 'rs2=T'), [[2, 0, 1, 1], [1, 1, 0, 2], [0, 2, 0, 0]])
    >>> counts.doc_ids, counts.attributes["sex"].tolist()
    (('ann', 'bob', 'cyd'), ['female', 'male', None])
    """
    path = Path(path)
    budget = Budget(path, limits)
    fam = required(path, ".bed", ".fam", "the people")
    bim = required(path, ".bed", ".bim", "the SNPs")
    people = _fields(fam, "family, id, father, mother, sex, phenotype", budget)
    snps = _fields(bim, "chromosome, id, distance, position, allele 1, allele 2", budget)
    packed = _packed(path, len(people), len(snps), budget)
    ids, about = _people(people)
    about |= population_labels(path, ".bed", populations, len(people), budget)
    features = _features(snps)
    indptr, indices, data = _entries(packed, len(people), len(snps), budget)
    return Counts(
        indptr,
        indices,
        data,
        features,
        tuple(ids),
        attributes=Attributes(len(people), about),
        empty_is_missing=True,
    )


def _fields(path: Path, columns: str, budget: Budget) -> list[list[str]]:
    """The six fields of every line."""
    budget.trust(path.stat().st_size)  # twice: a name takes more than its letters
    rows: list[list[str]] = []
    for number, line in text_lines(path, budget=budget):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 6:
            raise InvalidFile(
                f"{path}:{number}: expected 6 fields ({columns}), found {len(fields)}: "
                f"{line.strip()[:40]!r}"
            )
        rows.append(fields)
        if len(rows) % _TAKEN == 1:
            budget.charge(_TAKEN * 3 * OF_NAME, f"{len(rows):,} lines of {path.name}")
    if not rows:
        raise InvalidFile(f"{path}: there must be at least one line")
    return rows


def _packed(path: Path, n_people: int, n_snps: int, budget: Budget) -> NDArray[np.uint8]:
    """The bytes of the genotypes, a row per SNP or per person; the second where its length is that
    of people."""
    with opened(path, budget) as stream:
        head = stream.read(3)
        if head[:2] != _MAGIC or head[2:] not in (b"\0", b"\1"):
            raise InvalidFile(
                f"{path}: a .bed file of PLINK begins with the bytes 6c 1b and 00 or 01; found "
                f"{head.hex(' ') or 'nothing'}"
            )
        by_snp = head[2] == 1
        rows, each = (n_snps, n_people) if by_snp else (n_people, n_snps)
        size = rows * -(-each // 4)
        budget.charge(size, f"{n_people:,} people and {n_snps:,} SNPs")
        content = bytearray()
        while len(content) <= size and (part := stream.read(min(1 << 20, size + 1 - len(content)))):
            content += part
    if len(content) != size:
        is_plain = path.suffix.lower() == ".bed"  # of a packed one what is left is not unpacked
        whole = f"{path.stat().st_size:,}" if is_plain else "more"
        found = whole if len(content) > size else f"{len(content) + 3:,}"
        raise InvalidFile(
            f"{path}: {n_people:,} people in the .fam file and {n_snps:,} SNPs in the .bim file "
            f"make {size + 3:,} bytes; found {found}"
        )
    budget.trust(_VOUCHES * size)
    table = np.frombuffer(bytes(content), np.uint8).reshape(rows, -1)
    return table if by_snp else _turned(table, n_snps)


def _turned(table: NDArray[np.uint8], n_snps: int) -> NDArray[np.uint8]:
    """A table with a row per person as one with a row per SNP."""
    codes = _codes(table)[:, :n_snps].T
    padded = np.zeros((n_snps, -(-codes.shape[1] // 4) * 4), np.uint8)
    padded[:, : codes.shape[1]] = codes
    four = padded.reshape(n_snps, -1, 4)
    return np.asarray(four @ np.array([1, 4, 16, 64], np.uint8), np.uint8)


def _codes(table: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The codes of genotypes, four for each byte of a row."""
    shifts = np.array([0, 2, 4, 6], np.uint8)
    codes = (table[:, :, None] >> shifts) & np.uint8(3)
    return np.asarray(codes.reshape(len(table), -1), np.uint8)


def _entries(
    packed: NDArray[np.uint8], n_people: int, n_snps: int, budget: Budget
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Compressed rows: per person, the copies of each allele that are not 0."""
    step = max(4, _AT_ONCE // n_snps // 4 * 4)  # people, in whole bytes
    starts = range(0, n_people, step)
    lengths = np.zeros(n_people + 1, np.int64)
    for first in starts:
        codes = _people_codes(packed, first, step, n_people)
        entries = (codes != 1) + (codes == 2).astype(np.int64)
        lengths[first + 1 : first + 1 + len(codes)] = entries.sum(axis=1)
    indptr = np.cumsum(lengths)
    total = int(indptr[-1])
    budget.charge(8 * total + 64 * _AT_ONCE, f"a table of {total:,} entries")
    indices, data = np.empty(total, np.int32), np.empty(total, np.int32)
    for first in starts:
        codes = _people_codes(packed, first, step, n_people)
        copies = np.stack([_FIRST[codes], _SECOND[codes]], axis=2).reshape(len(codes), -1)
        row, column = np.nonzero(copies)
        here = slice(indptr[first], indptr[first + len(codes)])
        indices[here], data[here] = column, copies[row, column]
    return indptr, indices, data


def _people_codes(
    packed: NDArray[np.uint8], first: int, step: int, n_people: int
) -> NDArray[np.uint8]:
    """The codes of some people, a row each."""
    last = min(first + step, n_people)
    part = packed[:, first // 4 : -(-last // 4)]
    return np.ascontiguousarray(_codes(part)[:, : last - first].T)


def _people(rows: Sequence[Sequence[str]]) -> tuple[list[str], dict[str, list[Any]]]:
    ids = [row[1] for row in rows]
    often = Counter(ids)
    if len(often) < len(ids):  # ids are unique within a family only
        ids = [row[1] if often[row[1]] == 1 else f"{row[0]}:{row[1]}" for row in rows]
    about: dict[str, list[Any]] = {
        "family": [row[0] for row in rows],
        "sex": [_SEX.get(row[4]) for row in rows],
    }
    known = [None if row[5] in _UNKNOWN else row[5] for row in rows]
    if any(value is not None for value in known):
        about["phenotype"] = known
    return ids, about


def _features(rows: Sequence[Sequence[str]]) -> FeatureSpace:
    """Two alleles per SNP."""
    ids = locus_names([(row[1], f"{row[0]}:{row[3]}") for row in rows])
    names: list[str] = []
    for row in rows:
        names += row[4:6] if row[4] != row[5] else ("A1", "A2")
    blocks = np.repeat(np.arange(len(rows), dtype=np.int32), 2)
    return FeatureSpace(tuple(names), blocks, tuple(ids))
