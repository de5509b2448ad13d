"""Sparse matrices saved by scipy.sparse.save_npz."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path

from scipy import sparse

from dcomp.data.counts import Counts
from dcomp.errors import InvalidFile
from dcomp.io.files import StrPath, opened, vocabulary


def read_npz(
    path: StrPath,
    *,
    vocab: StrPath | Sequence[str] | None = None,
    fractional: bool = False,
) -> Counts:
    """Read a saved sparse matrix; `vocab` names the features. Pickled content is refused.
    `fractional`: whether counts need not be whole.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "tiny.npz")
    ...     sparse.save_npz(file, sparse.csr_array([[0, 7]]))
    ...     read_npz(file).to_scipy().toarray().tolist()
    [[0, 7]]
    """
    path = Path(path)
    with opened(path) as stream:
        content = io.BytesIO(stream.read())
    try:
        # scipy opens the archive with allow_pickle=False.
        matrix = sparse.load_npz(content)
    except (ValueError, KeyError, TypeError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise InvalidFile(f"{path}: not a matrix saved by scipy.sparse.save_npz: {error}") from None
    return Counts.from_matrix(matrix, feature_names=vocabulary(vocab)[0], fractional=fractional)
