"""What files of genotypes have in common: names of loci, and the populations of people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dcomp.errors import InvalidFile
from dcomp.io.beside import renamed
from dcomp.io.files import StrPath, text_lines
from dcomp.io.limits import Budget

POPULATION = "population"


def locus_names(loci: Sequence[tuple[str, str]]) -> list[str]:
    """A name for every locus from its id and its place: the place where the id is not its own, and
    numbers where that is not enough.

    >>> locus_names([("rs1", "1:10"), (".", "1:20"), (".", "1:30"), (".", "1:30")])
    ['rs1', '1:20', '1:30#3', '1:30#4']
    """
    often = Counter(name for name, _ in loci)
    ids = [name if often[name] == 1 and name != "." else place for name, place in loci]
    often = Counter(ids)
    if len(often) < len(ids):
        ids = [f"{name}#{s + 1}" if often[name] > 1 else name for s, name in enumerate(ids)]
    if len(set(ids)) < len(ids):
        ids = [f"SNP{s + 1}" for s in range(len(ids))]
    return ids


def population_labels(
    path: Path, extension: str, given: StrPath | None, n_people: int, budget: Budget
) -> dict[str, list[str | None]]:
    """The population of each person by the file that is given, or by x.pop or x.pops beside
    (ADMIXTURE's name), a line each; nothing where there is none."""
    beside = renamed(path, extension, ".pop") or renamed(path, extension, ".pops")
    labelled = Path(given) if given else beside
    if labelled is None:
        return {}
    lines = [line.strip() for _, line in text_lines(labelled, budget=budget)]
    while lines and not lines[-1]:
        lines.pop()
    if len(lines) != n_people:
        raise InvalidFile(
            f"{labelled}: expected a label per person, {n_people:,} lines; found {len(lines):,}"
        )
    return {POPULATION: [None if line in ("-", "") else line for line in lines]}
