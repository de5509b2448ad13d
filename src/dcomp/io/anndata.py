"""AnnData and its files, .h5ad, by the package anndata: cells are documents, genes features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dcomp.data.counts import Counts
from dcomp.errors import DcompError, InvalidFile, InvalidParameter, MissingDependency
from dcomp.io.files import StrPath
from dcomp.io.limits import Budget, Limits

_TIMES = 3  # what is read is there as it was, as it is made, and as counts
_OF_TEXT = 120  # bytes of a cell of text in memory


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
        raise FileNotFoundError(f"no such file: {path}")
    try:
        import anndata
        import h5py
    except ImportError:
        raise MissingDependency(
            '.h5ad files need anndata, which is not installed: pip install "dcomp[cells]"'
        ) from None
    try:
        _charge(path, h5py, Budget(path, limits))
        data = anndata.read_h5ad(path)
    except (DcompError, MemoryError):
        raise
    except Exception as error:  # of h5py and anndata, which have many
        raise InvalidFile(f"{path}: not an .h5ad file: {error}"[:300]) from None
    return from_anndata(data, layer=layer, fractional=fractional)


def _charge(path: Path, h5py: Any, budget: Budget) -> None:
    """What the file declares is charged before any of it is made."""
    sizes: list[int] = []

    def add(_: str, thing: Any) -> None:
        if isinstance(thing, h5py.Dataset):
            is_text = thing.dtype.kind in "OSU"
            sizes.append(int(thing.size) * (_OF_TEXT if is_text else thing.dtype.itemsize))

    with h5py.File(path, "r") as file:
        file.visititems(add)
    budget.decompressed(sum(sizes), path.stat().st_size)
    budget.charge(_TIMES * sum(sizes), "what it holds")


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
