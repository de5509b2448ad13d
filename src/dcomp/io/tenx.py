"""Folders of 10x Genomics: matrix.mtx with features.tsv (or genes.tsv) and barcodes.tsv beside it.

Rows of the matrix are genes, columns are cells; here cells are the documents.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from dcomp.data.counts import Counts
from dcomp.data.features import FeatureSpace
from dcomp.errors import DcompError, InvalidFile
from dcomp.io.files import OF_NAME, StrPath, text_lines
from dcomp.io.limits import Budget, Limits
from dcomp.io.matrix_market import read_matrix_market

_PACKED = ("", ".gz", ".bz2", ".xz")
MATRIX, FEATURES, CELLS = "matrix.mtx", ("features.tsv", "genes.tsv"), "barcodes.tsv"


def is_10x(path: Path) -> bool:
    """Whether a folder holds such a matrix.

    >>> is_10x(Path("absent"))
    False
    """
    return _found(path, MATRIX) is not None


def read_10x(path: StrPath, *, fractional: bool = False, limits: Limits | None = None) -> Counts:
    """Read cells by genes. A gene is called by its symbol, and by its id as well where several have
    that symbol. Where there are several kinds of features (genes, antibodies), each is a block.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     head = "%%MatrixMarket matrix coordinate integer general\\n"
    ...     _ = Path(folder, "matrix.mtx").write_text(head + "2 3 2\\n1 1 4\\n2 3 1\\n")
    ...     _ = Path(folder, "features.tsv").write_text("E1\\tCD4\\nE2\\tCD8A\\n")
    ...     _ = Path(folder, "barcodes.tsv").write_text("AAC-1\\nAAG-1\\nAAT-1\\n")
    ...     counts = read_10x(folder)
    >>> counts.features.names, counts.doc_ids, counts.to_scipy().toarray().tolist()
    (('CD4', 'CD8A'), ('AAC-1', 'AAG-1', 'AAT-1'), [[4, 0], [0, 0], [0, 1]])
    """
    path = Path(path)
    matrix = _required(path, MATRIX)
    of_genes, of_cells = _required(path, *FEATURES), _required(path, CELLS)
    genes, cells = _lines(of_genes, limits), _lines(of_cells, limits)
    counts = read_matrix_market(matrix, fractional=fractional, limits=limits)
    for n, lines, file, what in (
        (counts.n_docs, genes, of_genes, "rows"),
        (counts.n_features, cells, of_cells, "columns"),
    ):
        if n != len(lines):
            raise InvalidFile(
                f"{file}: it must have a line for each of the {n:,} {what} of {matrix.name}; it "
                f"has {len(lines):,}"
            )
    kinds = [line[2] if len(line) > 2 else "" for line in genes]
    try:
        blocks = kinds if len(set(kinds)) > 1 else None
        space = FeatureSpace.build(len(genes), _gene_names(genes), blocks)
    except DcompError as error:
        raise InvalidFile(f"{of_genes}: {error}") from None
    return _turned(counts, space, tuple(line[0] for line in cells))


def _turned(counts: Counts, space: FeatureSpace, ids: tuple[str, ...]) -> Counts:
    turned: Any = counts.to_scipy().tocsc()
    turned.sort_indices()
    pointers, genes = np.asarray(turned.indptr, np.int64), np.asarray(turned.indices, np.int32)
    return Counts(pointers, genes, turned.data, space, ids)


def _gene_names(genes: list[list[str]]) -> list[str]:
    symbols = [line[1] if len(line) > 1 and line[1] else line[0] for line in genes]
    kinds = [line[2] if len(line) > 2 else "" for line in genes]
    often = Counter(zip(kinds, symbols, strict=True))  # a gene and its antibody are told apart
    return [
        symbol if often[kind, symbol] == 1 else f"{symbol} ({line[0]})"
        for kind, symbol, line in zip(kinds, symbols, genes, strict=True)
    ]


def _lines(path: Path, limits: Limits | None) -> list[list[str]]:
    budget, found = Budget(path, limits), []
    for number, line in text_lines(path, budget=budget):
        fields = line.split("\t")
        budget.charge(OF_NAME * len(fields) + 2 * len(line), f"line {number:,}")
        found.append(fields)
    return found


def _found(path: Path, *names: str) -> Path | None:
    places = (path / (name + suffix) for name in names for suffix in _PACKED)
    return next((place for place in places if place.is_file()), None)


def _required(path: Path, *names: str) -> Path:
    found = _found(path, *names)
    if found is None:
        raise InvalidFile(
            f"{path}: a 10x folder must hold {' or '.join(names)}, packed or not; it is not there"
        )
    return found
