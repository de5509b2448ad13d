"""Whether a table of two or three columns is long or wide, where nobody said."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Literal

from dcomp.data.mistaken import excerpt
from dcomp.errors import DataWarning, warn
from dcomp.io.cells import BATCH
from dcomp.io.first_column import is_count, is_usual_name
from dcomp.io.limits import Budget

Layout = Literal["long", "wide"]
Numbered = tuple[int, list[str]]
_ROW = 500  # bytes that a row of three fields takes beside its letters
# What the columns of long tables are called beside the first, in small letters and without the s
# of many.
_OF_FEATURES = (
    "feature word term token lemma item product sku specie taxon otu asv gene allele mutation "
    "variant category type variable column question answer movie film song artist book page url "
    "tag link skill ingredient symptom diagnosi drug j w"
)
_OF_COUNTS = (
    "count n freq frequency number value weight tf quantity qty amount time occurrence abundance "
    "read umi rating score star vote total sum play click view visit x"
)
_FEATURES, _COUNTS = set(_OF_FEATURES.split()), set(_OF_COUNTS.split())


def layout_of(
    path: Path, header: list[str], rows: Iterator[Numbered], budget: Budget
) -> tuple[Layout, Iterator[Numbered], bool]:
    """The layout, the rows again, and whether it was told by the numbers in them.

    More than three columns are wide. Of three, numbers in the second are counts where every line
    begins with another name and no column is called as those of long tables are."""
    if len(header) > 3:
        return "wide", rows, False
    if _is_long(header):
        return "long", rows, False
    front: list[Numbered] = []
    charged = 0
    for line, row in islice(rows, BATCH):
        cost = _ROW + 4 * sum(map(len, row))
        budget.charge(cost, f"{line:,} lines")
        charged += cost
        front.append((line, row))
        if not is_count(row[1]):  # the common case: a name
            budget.free(charged)
            return "long", chain(front, rows), False
    is_wide = len(header) == 3 and len({row[0] for _, row in front}) == len(front)
    budget.free(charged)
    layout: Layout = "wide" if is_wide else "long"
    if front:
        _say(path, header, layout)
    return layout, chain(front, rows), bool(front)


def _is_long(header: list[str]) -> bool:
    second, *third = (name.strip().lower().removesuffix("s") for name in header[1:])
    return second in _FEATURES or is_usual_name(header[1]) or bool(_COUNTS & set(third))


def _say(path: Path, header: list[str], layout: Layout) -> None:
    """Warn of a layout that may be the other."""
    first, second, *third = (repr(excerpt(name, 20)) for name in header)
    if layout == "wide":
        text = (
            f"is read as a wide table with the features {second} and {third[0]}; columns called "
            "document,feature,count are a long one, label_columns=1 reads as now without a word"
        )
    else:
        usual = "document,feature,count" if third else "document,feature"
        numbers = f", counts in {third[0]}" if third else ""
        text = (
            f"is read as a long table, documents in {first}, numbers of features in {second}"
            f"{numbers}; label_columns=1 reads a wide one, columns called {usual} as now without "
            "a word"
        )
    warn(f"{path.name} {text}", DataWarning)
