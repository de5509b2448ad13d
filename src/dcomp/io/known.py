"""Components from files: a table with a row for each, published signatures, or ADMIXTURE's allele
frequencies."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dcomp.data.components import Components
from dcomp.errors import InvalidFile
from dcomp.io.ancestry import read_ancestry
from dcomp.io.files import StrPath
from dcomp.io.limits import Limits
from dcomp.io.mutation_types import read_types


def read_components(path: StrPath, *, limits: Limits | None = None) -> Components:
    """Components × features from a wide table (CSV, TSV, parquet), its first column the names of
    components; from a catalogue of signatures, a line per mutation type, which one column or two
    name; or from a .P file, a line of frequencies per SNP, whose loadings are those of its two
    alleles one after the other.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "known.csv")
    ...     _ = file.write_text("component,tax,war\\ntaxes,0.9,0.1\\n")
    ...     read_components(file).features
    ('tax', 'war')
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    if path.suffix == ".P":
        frequency = read_ancestry(path, limits=limits).T  # (K, SNPs), of the second allele
        both = np.stack([1 - frequency, frequency], axis=2)
        return Components(both.reshape(len(frequency), -1), of_snps=True)
    if path.suffix == ".dcomp":
        raise InvalidFile(f"{path}: a fit is opened by dcomp.load, and what it gives taken instead")
    if path.suffix == ".parquet":
        from dcomp.io.read import read

        table = read(path, fractional=True, limits=limits)
    else:
        table = read_types(path, format="table", fractional=True, limits=limits)
    return Components(table.to_scipy().toarray(), table.doc_ids, table.features.names)
