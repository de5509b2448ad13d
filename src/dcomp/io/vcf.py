"""VCF: the genotypes (GT) of variants, a line each, as the field exchanges them.

Behind the lines that begin with ## one names the columns: CHROM POS ID REF ALT QUAL FILTER INFO
FORMAT and then the people. A genotype has the numbers of its alleles, 0 for REF and 1, 2, ... for
those of ALT, between / or | (phased); a dot is no call. All else of a record is passed over, the
FILTER too: what is not to count is filtered before.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dcomp.data.attributes import Attributes
from dcomp.data.counts import Counts
from dcomp.data.features import FeatureSpace
from dcomp.errors import DataWarning, InvalidFile, warn
from dcomp.io.files import OF_NAME, StrPath, text_lines
from dcomp.io.limits import Budget, Limits
from dcomp.io.loci import locus_names, population_labels

COLUMNS = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT"]
PLOIDY = 16  # alleles of a genotype at most
_KINDS = 1 << 16  # different genotypes, as numbers of two bytes
_AT_ONCE = 1 << 18  # genotypes that are made counts at a time
_OF_FIELDS = 16  # bytes that a byte of a line takes while it is in fields


def read_vcf(
    path: StrPath, *, populations: StrPath | None = None, limits: Limits | None = None
) -> Counts:
    """Read genotypes: one block per variant with the copies of each of its alleles; no call is no
    count, and of half a call (./1) the known half is counted.

    Phase is not looked at; a haploid call is one copy. Variants without an ALT allele say nothing
    of ancestry and are left out, which is said. `populations` has a line per person, or is found
    beside the file as x.pop or x.pops: the attribute population; "-" where it is not known.

    >>> import tempfile
    >>> head = "##fileformat=VCFv4.2\\n" + "\\t".join([*COLUMNS, "ann", "bob", "cyd"])
    >>> first = "1\\t10\\trs1\\tA\\tG\\t.\\tPASS\\t.\\tGT\\t0/0\\t0|1\\t./."
    >>> second = "1\\t20\\t.\\tC\\tT,TA\\t.\\tPASS\\t.\\tGT:DP\\t1/2:9\\t0/0:7\\t2:4"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "x.vcf").write_text("\\n".join([head, first, second]))
    ...     counts = read_vcf(Path(folder, "x.vcf"))
    >>> counts.features.labels
    ('rs1=A', 'rs1=G', '1:20=C', '1:20=T', '1:20=TA')
    >>> counts.to_scipy().toarray().tolist()
    [[2, 0, 0, 1, 1], [1, 1, 2, 0, 0], [0, 0, 0, 0, 1]]
    """
    path = Path(path)
    budget = Budget(path, limits)
    lines = text_lines(path, budget=budget)
    people = _people(path, lines, budget)
    table = _Table(path, len(people), budget)
    for number, line in lines:
        if line:
            table.add(number, line)
    table.check()
    about = population_labels(path, ".vcf", populations, len(people), budget)
    indptr, indices, data = table.entries()
    return Counts(
        indptr,
        indices,
        data,
        table.features(),
        tuple(people),
        attributes=Attributes(len(people), about),
        empty_is_missing=True,
    )


def _people(path: Path, lines: Iterator[tuple[int, str]], budget: Budget) -> list[str]:
    """The names in the line of columns, which ends the header."""
    for number, line in lines:
        if line.startswith("##"):
            continue
        fields = line.split("\t")
        if fields[: len(COLUMNS)] != COLUMNS or len(fields) == len(COLUMNS):
            raise InvalidFile(
                f"{path}:{number}: expected the columns {' '.join(COLUMNS)} and a name for each "
                f"person, with tabs between; found {line[:60]!r}"
            )
        people = fields[len(COLUMNS) :]
        budget.charge(OF_NAME * len(people), f"{len(people):,} people")
        if len(set(people)) < len(people) or "" in people:
            often = Counter(people)
            odd = next(name for name in people if not name or often[name] > 1)
            raise InvalidFile(
                f"{path}:{number}: every person must have a name of their own; {odd!r} is "
                f"{'there twice' if odd else 'none'}"
            )
        return people
    raise InvalidFile(f"{path}: expected a line of columns that begins with #CHROM; there is none")


class _Table:
    """The variants read so far: genotypes by number, and what each number stands for."""

    def __init__(self, path: Path, n_people: int, budget: Budget) -> None:
        self.path, self.n_people, self.budget = path, n_people, budget
        self._codes = array("H")  # variant after variant
        self._numbers: dict[str, int] = {}  # of a genotype as it is written
        self._kinds: dict[tuple[int, ...], int] = {}  # of its alleles, sorted
        self._highest: list[int] = []  # allele of each kind
        self._loci: list[tuple[str, str]] = []
        self._alleles: list[list[str]] = []
        self._n_fixed = 0

    def add(self, number: int, line: str) -> None:
        """Another variant, from its line."""
        self.budget.charge(_OF_FIELDS * len(line), f"line {number:,} in fields")
        self._add(number, line.split("\t"))
        self.budget.free(_OF_FIELDS * len(line))

    def _add(self, number: int, fields: list[str]) -> None:
        n_fields = len(COLUMNS) + self.n_people
        if len(fields) != n_fields:
            raise InvalidFile(
                f"{self.path}:{number}: expected {n_fields} fields ({len(COLUMNS)} and one for "
                f"each person) with tabs between; found {len(fields)}"
            )
        keys, alt = fields[8].split(":"), fields[4]
        if "GT" not in keys:
            raise InvalidFile(
                f"{self.path}:{number}: FORMAT must name GT, the genotypes; found "
                f"{fields[8][:40]!r}"
            )
        if alt == ".":
            self._n_fixed += 1
            return
        alleles = [fields[3], *alt.split(",")]
        if len(set(alleles)) < len(alleles) or "" in alleles:
            raise InvalidFile(
                f"{self.path}:{number}: alleles must differ and not be empty; found "
                f"{','.join(alleles)[:40]!r}"
            )
        cost = 2 * self.n_people + OF_NAME * (len(alleles) + 1)
        self.budget.charge(cost, f"{len(self._loci) + 1:,} variants of {self.n_people:,} people")
        genotypes = fields[len(COLUMNS) :]
        if len(keys) > 1:
            genotypes = _parts(genotypes, keys.index("GT"))
        self._codes.extend(self._coded(number, genotypes, len(alleles)))
        self._loci.append((fields[2], f"{fields[0]}:{fields[1]}"))
        self._alleles.append(alleles)

    def _coded(self, number: int, genotypes: list[str], n_alleles: int) -> list[int]:
        known = self._numbers
        try:
            codes = [known[genotype] for genotype in genotypes]
        except KeyError:
            codes = [self._number(number, genotype) for genotype in genotypes]
        for code in set(codes):
            if self._highest[code] >= n_alleles:
                person = codes.index(code)
                raise InvalidFile(
                    f"{self.path}:{number}: alleles must be numbers below {n_alleles}, as REF and "
                    f"ALT have; person {person + 1} has {genotypes[person][:40]!r}"
                )
        return codes

    def _number(self, number: int, genotype: str) -> int:
        """The number of a genotype, which may be a new one."""
        if genotype in self._numbers:
            return self._numbers[genotype]
        words = genotype.removeprefix("/").removeprefix("|").replace("|", "/").split("/")
        right = all(word == "." or _is_number(word) for word in words)
        if not right or len(words) > PLOIDY:
            raise InvalidFile(
                f"{self.path}:{number}: a genotype must be numbers of alleles or dots between / or "
                f"|, {PLOIDY} at most; found {genotype[:40]!r}"
            )
        kind = tuple(sorted(int(word) for word in words if word != "."))
        self.budget.charge(2 * OF_NAME, f"{len(self._numbers) + 1:,} different genotypes")
        code = self._kinds.setdefault(kind, len(self._kinds))
        if code == _KINDS:
            raise InvalidFile(
                f"{self.path}:{number}: there may be {_KINDS:,} different genotypes; here is one "
                "more"
            )
        if code == len(self._highest):
            self._highest.append(max(kind, default=-1))
        self._numbers[genotype] = code
        return code

    def check(self) -> None:
        """There must be a variant; those that do not vary are spoken of."""
        if not self._loci:
            also = f" with an ALT allele; {self._n_fixed:,} have none" if self._n_fixed else ""
            raise InvalidFile(f"{self.path}: there must be at least one variant{also}")
        if self._n_fixed:
            warn(
                f"{self._n_fixed:,} of {self._n_fixed + len(self._loci):,} variants have no ALT "
                "allele and are left out",
                DataWarning,
                4,
            )

    def features(self) -> FeatureSpace:
        """The alleles, a block for each variant."""
        sizes = [len(alleles) for alleles in self._alleles]
        blocks = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        names = tuple(name for alleles in self._alleles for name in alleles)
        return FeatureSpace(names, blocks, tuple(locus_names(self._loci)))

    def entries(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """Compressed rows: per person, the copies of each allele that are not 0."""
        codes = np.frombuffer(self._codes, np.uint16).reshape(-1, self.n_people)
        allele, copies = self._copies()
        n_entries = (copies > 0).sum(axis=1)
        indptr = np.zeros(self.n_people + 1, np.int64)
        for column in range(self.n_people):
            indptr[column + 1] = n_entries[codes[:, column]].sum()
        indptr = np.cumsum(indptr)
        total = int(indptr[-1])
        # A genotype takes two places of 4 and 8 bytes for each allele it can have while it is cut.
        scratch = 24 * copies.shape[1] * max(_AT_ONCE, len(codes))
        scratch = min(scratch, 24 * copies.shape[1] * codes.size)
        self.budget.charge(8 * total + scratch, f"a table of {total:,} entries")
        first_of = np.cumsum([0, *(len(alleles) for alleles in self._alleles[:-1])])
        indices, data = np.empty(total, np.int32), np.empty(total, np.int32)
        step = max(1, _AT_ONCE // len(codes))
        for first in range(0, self.n_people, step):
            part = codes[:, first : first + step].T
            there = copies[part] > 0
            here = slice(indptr[first], indptr[first + len(part)])
            indices[here] = (allele[part] + first_of[np.newaxis, :, np.newaxis])[there]
            data[here] = copies[part][there]
        return indptr, indices, data

    def _copies(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The different alleles of each kind of genotype and their copies, (kind, most)."""
        most = max(1, *(len(set(kind)) for kind in self._kinds))
        allele = np.zeros((len(self._kinds), most), np.int32)
        copies = np.zeros_like(allele)
        for kind, code in self._kinds.items():
            for place, value in enumerate(sorted(set(kind))):
                allele[code, place], copies[code, place] = value, kind.count(value)
        return allele, copies


def _parts(fields: list[str], place: int) -> list[str]:
    """The part of each field that has the genotype; a field that ends before has none."""
    if place == 0:
        return [field.partition(":")[0] for field in fields]
    parts = (field.split(":", place + 1) for field in fields)
    return [part[place] if len(part) > place else "." for part in parts]


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 6
