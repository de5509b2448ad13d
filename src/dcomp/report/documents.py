"""The table of documents, and the documents that can be opened: a table of all, or of as many as a
page can hold, in columns of numbers; and the words of some, each with its component."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.data import Attributes
from dcomp.report.groups import is_name
from dcomp.report.material import Material
from dcomp.report.packing import name_on_page, packed, packed_shares, smallest

MOST = 100_000  # documents in the table
MAIN = 5  # components of each that the table knows
WHOLE = 3_000_000  # shares up to which it knows all
_ATTRIBUTES = 8
_VALUES = 5_000  # distinct texts of an attribute, beyond which it is left out


def document_table(material: Material) -> dict[str, Any]:
    """The documents with their lengths, main components and attributes."""
    rows = shown_rows(material)
    shares = material.shares[rows]
    K = material.n_components
    m = K if shares.size <= WHOLE else min(MAIN, K)
    order = np.argsort(-shares, axis=1, kind="stable")[:, :m]
    lengths = material.lengths[rows]
    whole = bool((lengths == np.rint(lengths)).all())
    return {
        "n": len(rows),
        "of": material.n_docs,
        "number": packed(rows, "u4"),
        "ids": _ids(material, rows),
        "length": packed(lengths, "u4" if whole else "f4"),
        "main": m,
        "component": packed(order, smallest(K)),
        "share": packed_shares(np.take_along_axis(shares, order, axis=1)),
        "attributes": _columns(material.attributes, rows),
    }


def shown_rows(material: Material) -> npt.NDArray[np.int64]:
    """All documents, or evenly as many as a page can hold."""
    n = material.n_docs
    if n <= MOST:
        return np.arange(n)
    return np.unique(np.linspace(0, n - 1, MOST).astype(np.int64))


def _ids(material: Material, rows: npt.NDArray[np.int64]) -> list[str] | None:
    ids = material.fit.doc_ids if material.counts is None else material.counts.doc_ids
    return None if ids is None else [name_on_page(ids[i], 60) for i in rows.tolist()]


def _columns(about: Attributes, rows: npt.NDArray[np.int64]) -> list[dict[str, Any]]:
    """Those that many share come first: a party says more beside a name than the name again."""
    found: list[dict[str, Any]] = []
    for name in sorted(about, key=lambda name: is_name(about[name]))[:_ATTRIBUTES]:
        column, title = about[name][rows], name_on_page(name, 40)
        if column.dtype.kind in "iuf":
            values = np.asarray(column, np.float64)
            found.append({"name": title, "numbers": packed(values, "f8")})
            continue
        texts = ["" if value is None else name_on_page(value, 60) for value in column.tolist()]
        values_of = sorted(set(texts))
        if len(values_of) > _VALUES:
            continue
        place = {text: code for code, text in enumerate(values_of)}
        codes = packed([place[text] for text in texts], smallest(len(values_of)))
        found.append({"name": title, "texts": values_of, "codes": codes})
    return found


def opened(material: Material, typical: Iterable[int], sample: int) -> list[int]:
    """The documents that can be opened: the typical ones, and a sample that is spread evenly."""
    rows = shown_rows(material)
    spread = rows[np.linspace(0, len(rows) - 1, min(sample, len(rows))).astype(np.int64)]
    return sorted({*typical, *spread.tolist()})


def word_components(
    material: Material, i: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any], npt.NDArray[np.int64]]:
    """The features of a document, how often each is there, and the component that is most probable
    for each given the document's shares: θ_jk m_ik is largest."""
    assert material.counts is not None
    counts = material.counts
    own = slice(*counts.indptr[i : i + 2].tolist())
    features = counts.indices[own]
    theta = material.fit.Theta[features].astype(np.float64)
    return features, counts.data[own], (theta * material.shares[i]).argmax(axis=1)
