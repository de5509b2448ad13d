"""Matrix Market files, through scipy.io."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from dcomp.data.counts import Counts
from dcomp.errors import InvalidFile
from dcomp.io.files import StrPath, opened, vocabulary


def read_matrix_market(path: StrPath, *, vocab: StrPath | Sequence[str] | None = None) -> Counts:
    """Read a matrix of documents by features; `vocab` names the features.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "tiny.mtx")
    ...     head = "%%MatrixMarket matrix coordinate integer general"
    ...     _ = file.write_text(head + "\\n1 2 1\\n1 2 7\\n")
    ...     read_matrix_market(file).to_scipy().toarray().tolist()
    [[0, 7]]
    """
    from scipy.io import mmread  # brings the formats of other programs along, which takes time

    path = Path(path)
    with opened(path) as stream:
        try:
            matrix = mmread(stream)
        except (ValueError, OverflowError, NotImplementedError) as error:
            place = re.match(r"Line (\d+): (.*)", str(error), re.DOTALL)
            where, reason = place.groups() if place else ("", str(error))
            raise InvalidFile(f"{path}:{where or 1}: not a Matrix Market file: {reason}") from None
    return Counts.from_matrix(matrix, feature_names=vocabulary(vocab)[0])
