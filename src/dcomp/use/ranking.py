"""Ranking: documents that were found for one query, and how they begin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dcomp.models.arrays import FloatArray
from dcomp.printable import columns, padded, printable, shortened

BEGIN = 160  # bytes of a document's beginning that an index keeps
_NAME, _LINE = 40, 80


@dataclass(frozen=True, eq=False)
class Ranking:
    """Documents for one query, best first; equal scores in the order of the index."""

    documents: npt.NDArray[np.int64]  # their numbers in the corpus
    scores: FloatArray
    ids: tuple[str, ...]  # their names, or their numbers as text
    n_evaluated: int  # documents whose score was computed
    beginnings: tuple[str, ...] | None = None  # of their texts, where the index has them

    def __len__(self) -> int:
        return len(self.documents)

    def __str__(self) -> str:
        return "\n".join(self.lines()) or "no document"

    def lines(self, width: int = _LINE) -> list[str]:
        """A document each: its name, its score, and how it begins as far as a line has room."""
        names = [shortened(name, _NAME) for name in self.ids]
        scores = [f"{score:.4f}" for score in self.scores]
        name_width = max(map(columns, names), default=0)
        widest = max(map(len, scores), default=0)
        begins = [""] * len(names) if self.beginnings is None else map(printable, self.beginnings)
        return [
            shortened(f"{padded(name, name_width)}  {score:>{widest}}  {begin}".rstrip(), width)
            for name, score, begin in zip(names, scores, begins, strict=True)
        ]


def packed(texts: Iterable[str]) -> npt.NDArray[np.uint8]:
    """The beginnings of texts as rows of UTF-8, zeros behind the shorter ones.

    >>> unpacked(packed(["A cat\\nsat.", ""]))
    ('A cat sat.', '')
    """
    rows = [" ".join(text[: 8 * BEGIN].split()).encode()[:BEGIN] for text in texts]
    wide = np.array(rows, dtype=f"S{max(map(len, rows), default=0) or 1}")
    return wide.view(np.uint8).reshape(len(rows), -1)


def unpacked(rows: npt.NDArray[np.uint8] | Sequence[bytes]) -> tuple[str, ...]:
    """The same as text; a letter that was cut is left out."""
    return tuple(bytes(row).rstrip(b"\0").decode(errors="ignore") for row in rows)
