"""AnnData and its files, .h5ad, by the package anndata: cells are documents, genes features."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from dcomp.atomic import temporary_folder
from dcomp.data.counts import Counts
from dcomp.errors import InvalidFile, InvalidParameter, MissingDependency
from dcomp.io.files import StrPath
from dcomp.io.h5ad import ABOUT, MATRIX, taken_apart
from dcomp.io.limits import Limits
from dcomp.io.npz import read_npz
from dcomp.printable import printable


def read_h5ad(
    path: StrPath,
    *,
    layer: str | None = None,
    fractional: bool = False,
    limits: Limits | None = None,
) -> Counts:
    """Read the counts of an .h5ad file: X, or those of a layer; obs become attributes. Needs
    `dcomp[cells]`.

    >>> read_h5ad("absent.h5ad")
    Traceback (most recent call last):
    FileNotFoundError: no such file: absent.h5ad
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"no such file: {printable(path)}")
    if importlib.util.find_spec("anndata") is None:
        raise MissingDependency(
            '.h5ad files need anndata, which is not installed: pip install "dcomp[cells]"'
        )
    with temporary_folder() as folder:
        taken_apart(path, layer, limits, folder)
        return collected(path, folder, fractional)


def collected(path: Path, folder: Path, fractional: bool) -> Counts:
    """The counts that a process has left in a folder; they are checked like anybody's."""
    about = json.loads((folder / ABOUT).read_bytes())
    room = Limits(memory=1 << 62)  # what is there was made within the limits of the file
    try:
        found = read_npz(
            folder / MATRIX, vocab=about["features"], fractional=fractional, limits=room
        )
    except InvalidFile as error:
        raise InvalidFile(str(error).replace(str(folder / MATRIX), str(path))) from None
    ids = tuple(about["cells"])
    return replace(found, doc_ids=ids).with_attributes(about["columns"])


def from_anndata(data: Any, *, layer: str | None = None, fractional: bool = False) -> Counts:
    """The counts of an AnnData object: X, or those of a layer; its obs become attributes.

    >>> from types import SimpleNamespace
    >>> data = SimpleNamespace(X=[[4, 0]], obs={}, obs_names=["AAC-1"], var_names=["CD4", "CD8A"])
    >>> from_anndata(data).features.names
    ('CD4', 'CD8A')
    """
    if layer is not None and layer not in data.layers:
        raise InvalidParameter(f"there is no layer {layer!r}; there are {sorted(data.layers)}")
    X = data.X if layer is None else data.layers[layer]
    if X is None:
        raise InvalidParameter("this AnnData has no X: say which layer has the counts (layer=)")
    counts = Counts.from_matrix(
        X,
        feature_names=list(map(str, data.var_names)),
        doc_ids=list(map(str, data.obs_names)),
        fractional=fractional,
    )
    return counts.with_attributes({str(name): list(data.obs[name]) for name in data.obs})
