"""ADMIXTURE's answers: .Q has a line of shares per person, .P one of allele frequencies per SNP."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dcomp.errors import InvalidFile
from dcomp.io.files import StrPath, chunks_of_lines, opened
from dcomp.io.limits import Budget, Limits
from dcomp.io.numbers import parse_real_lines

_NUMBER = 40  # bytes that a number takes while it is read


def read_ancestry(path: StrPath, *, limits: Limits | None = None) -> NDArray[np.float64]:
    """Read a .Q or .P file: a line per person or SNP, a column per ancestry, all from 0 to 1.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "x.2.Q")
    ...     _ = file.write_text("0.25 0.75\\n1 0\\n")
    ...     read_ancestry(file).tolist()
    [[0.25, 0.75], [1.0, 0.0]]
    """
    path = Path(path)
    width, parts = 0, []
    with opened(path, Budget(path, limits)) as stream:
        for number, chunk in chunks_of_lines(stream):
            parsed = parse_real_lines(chunk)
            if parsed is None:
                raise InvalidFile(f"{path}:{number}: expected numbers with blanks between")
            values, per_line = parsed
            stream.budget.charge(_NUMBER * values.size, "its numbers")
            width = width or int(per_line[0]) if per_line.size else width
            odd = np.flatnonzero(per_line != width)
            if odd.size:
                raise InvalidFile(
                    f"{path}:{number + int(odd[0])}: expected {width} numbers as in the first "
                    f"line, found {int(per_line[odd[0]])}"
                )
            parts.append(values)
    if not width:
        raise InvalidFile(f"{path}: there must be at least one line of numbers")
    table = np.concatenate(parts).reshape(-1, width)
    if not ((table >= 0) & (table <= 1)).all():
        raise InvalidFile(f"{path}: shares and frequencies must lie between 0 and 1")
    return table
