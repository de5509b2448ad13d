"""Inverted lists with upper bounds: which documents have a word, and how much it can matter there.

Documents stand in blocks of 64. For each word and block there is an entry with the largest count,
the largest share of a document and the shortest length; the native core finds the best documents
from them without looking into most blocks (`cpp/include/dcomp/retrieve.hpp`). Where documents have
components, those with the same main component stand together, so that a block's bound is tight.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dcomp import _core
from dcomp.data import Counts, FeatureSpace, TextOptions
from dcomp.errors import InvalidFile
from dcomp.inference.base import FloatingArray
from dcomp.models.arrays import FloatArray

BLOCK = 64
Arrays = Mapping[str, npt.NDArray[Any]]
# Every array of an index: its type, and its shape in the letters of `InvertedIndex`.
LAYOUT: dict[str, tuple[str, str]] = {
    "order": ("int32", "I"),
    "list_start": ("int64", "J+1"),
    "entry_block": ("int32", "E"),
    "entry_start": ("int64", "E+1"),
    "entry_count": ("float32", "E"),
    "entry_ratio": ("float32", "E"),
    "entry_length": ("float32", "E"),
    "document": ("int32", "P"),
    "count": ("float32", "P"),
    "length": ("float32", "I"),
    "norm": ("float32", "I"),
    "feature_total": ("float64", "J"),
    "shares": ("float32", "I,K"),
    "envelope": ("float32", "G,K"),
    "Theta": ("float32", "J,K"),
    "lsa_documents": ("float32", "I,R"),
    "lsa_features": ("float32", "J,R"),
    "beginnings": ("uint8", "I,B"),
}
_OF_LISTS = ("list_start", "entry_block", "entry_start", "entry_count", "entry_ratio",
             "entry_length", "document", "count", "length", "norm")  # fmt: skip


@dataclass(frozen=True, eq=False)
class InvertedIndex:
    """Lists of I documents in J features: E entries, P postings, G blocks; with K components where
    a fit came along, R dimensions of LSA where these were asked for, and the first B bytes of each
    document's text where there are texts.

    >>> from dcomp.data import Counts
    >>> index = InvertedIndex.build(Counts.from_matrix([[2, 0, 1], [0, 0, 3]]))
    >>> index.n_docs, index.document_frequency.tolist()
    (2, [1, 0, 2])
    """

    features: FeatureSpace
    text: TextOptions | None
    doc_ids: tuple[str, ...] | None
    arrays: Arrays  # by the names of LAYOUT
    fit: str | None = None  # the fingerprint of the one whose components these are

    @classmethod
    def build(
        cls,
        counts: Counts,
        shares: FloatingArray | None = None,
        Theta: FloatingArray | None = None,
        more: Arrays | None = None,
        *,
        fit: str | None = None,
    ) -> InvertedIndex:
        """Of counts; with shares (I, K) and loadings (J, K) of a fit. more: other arrays of the
        layout, those of documents in the counts' order. fit: its fingerprint."""
        own = None if shares is None else np.asarray(shares, np.float32)
        order = _order(own, counts.n_docs)
        table = sparse.csr_array(counts.to_scipy())[order].tocsc()
        table.sort_indices()
        length = np.asarray(counts.doc_totals, np.float64)[order]
        arrays = {"order": order, **_lists(table, length)}
        arrays["feature_total"] = np.asarray(counts.feature_totals, np.float64)
        if own is not None and Theta is not None:
            arrays |= _components(own[order], Theta, counts)
        for name, array in (more or {}).items():
            arrays[name] = array[order] if LAYOUT[name][1].startswith("I") else array
        whole = {name: np.ascontiguousarray(a, LAYOUT[name][0]) for name, a in arrays.items()}
        return cls(counts.features, counts.text, counts.doc_ids, whole, fit)

    @property
    def n_docs(self) -> int:
        """I."""
        return len(self.arrays["length"])

    @property
    def has_components(self) -> bool:
        """Whether the documents' shares of components are there."""
        return "shares" in self.arrays

    @cached_property
    def lists(self) -> _core.PostingLists:
        """As the native core takes them."""
        given = {name: self.arrays[name] for name in _OF_LISTS}
        if self.has_components:
            given |= {name: self.arrays[name] for name in ("shares", "envelope")}
        return _core.PostingLists(BLOCK, **given)

    @cached_property
    def document_frequency(self) -> npt.NDArray[np.int64]:
        """In how many documents each feature is, (J)."""
        return np.asarray(np.diff(self._list_postings))

    @cached_property
    def _list_postings(self) -> npt.NDArray[np.int64]:
        """Where the postings of each feature begin, and the last end, (J + 1)."""
        lists, entries = (np.asarray(self.arrays[name]) for name in ("list_start", "entry_start"))
        if not ((lists >= 0) & (lists < len(entries))).all():  # of a file that is damaged
            raise InvalidFile("the lists of an index must lie in its entries")
        starts = entries[lists]
        if (np.diff(starts) < 0).any() or starts[0] != 0 or starts[-1] != len(self.arrays["count"]):
            raise InvalidFile("the entries of an index must lie in its postings")
        return np.asarray(starts)

    @cached_property
    def idf(self) -> FloatArray:
        """log(1 + I / df) of tf-idf, (J): above 0 for words of all documents, too."""
        return _idf(self.document_frequency, self.n_docs)

    @cached_property
    def average_length(self) -> float:
        """Of a document, in words."""
        return float(max(np.asarray(self.arrays["length"], np.float64).mean(), 1e-9))

    @cached_property
    def background(self) -> FloatArray:
        """p3: the share of each feature in all words, (J)."""
        total = np.asarray(self.arrays["feature_total"])
        return np.asarray(total / max(total.sum(), 1e-300))

    @cached_property
    def place(self) -> npt.NDArray[np.int64]:
        """Where each document stands in the lists, (I): the inverse of `order`."""
        out = np.empty(self.n_docs, np.int64)
        out[np.asarray(self.arrays["order"])] = np.arange(self.n_docs)
        return out

    def counts(self, documents: npt.NDArray[Any] | None = None) -> Counts:
        """Some documents' counts, or all, put together again from the lists."""
        shape = (self.n_docs, self.features.n_features)
        parts = (self.arrays["count"], self.arrays["document"], self._list_postings)
        rows = sparse.csc_array(parts, shape=shape).tocsr()[self.place]
        chosen = rows if documents is None else rows[documents]
        data = np.asarray(chosen.data, np.float64)
        is_whole = bool((data == np.floor(data)).all())
        found = Counts.from_matrix(chosen.astype(np.int64 if is_whole else np.float64),
                                   fractional=not is_whole)  # fmt: skip
        return Counts(found.indptr, found.indices, found.data, self.features)


def _idf(frequency: npt.NDArray[np.int64], n_docs: int) -> FloatArray:
    return np.asarray(np.log1p(n_docs / np.maximum(frequency, 1)))


def _order(shares: npt.NDArray[np.float32] | None, n_docs: int) -> npt.NDArray[np.int32]:
    """Documents by main component, those that are most of it first; as given without components."""
    if shares is None:
        return np.arange(n_docs, dtype=np.int32)
    return np.lexsort((-shares.max(axis=1), shares.argmax(axis=1))).astype(np.int32)


def _lists(table: Any, length: FloatArray) -> dict[str, npt.NDArray[Any]]:
    """Postings and entries of a table by columns whose rows stand in the order of the lists."""
    n_docs, n_features = table.shape
    document, count = table.indices.astype(np.int64), table.data.astype(np.float64)
    term = np.repeat(np.arange(n_features), np.diff(table.indptr))
    block = document // BLOCK
    new = np.ones(len(document), np.bool_)
    new[1:] = (term[1:] != term[:-1]) | (block[1:] != block[:-1])
    starts = np.flatnonzero(new)
    before = np.r_[0, np.cumsum(new)]
    ratio = count / np.maximum(length[document], 1e-300)
    # A bound must not be rounded down.
    upward = np.nextafter(ratio.astype(np.float32), np.float32(np.inf))
    idf = _idf(np.diff(table.indptr), n_docs)
    square = np.bincount(document, ((1 + np.log(count)) * idf[term]) ** 2, minlength=n_docs)
    if not len(starts):
        none = np.zeros(0)
        extremes = {"entry_count": none, "entry_ratio": none, "entry_length": none}
    else:
        extremes = {
            "entry_count": np.maximum.reduceat(count, starts),
            "entry_ratio": np.maximum.reduceat(upward, starts),
            "entry_length": np.minimum.reduceat(length[document], starts),
        }
    return {
        "list_start": before[table.indptr],
        "entry_block": block[starts],
        "entry_start": np.r_[starts, len(document)],
        "document": document,
        "count": count,
        "length": length,
        "norm": np.sqrt(square),
        **extremes,
    }


def _components(
    shares: npt.NDArray[np.float32], Theta: FloatingArray, counts: Counts
) -> dict[str, npt.NDArray[Any]]:
    """Shares, their largest per block, and loadings as probabilities over all features together:
    those of a block have its share of all words."""
    starts = np.arange(0, len(shares), BLOCK)
    totals = np.asarray(counts.feature_totals, np.float64)
    blocks = counts.features.blocks
    per_block = np.bincount(blocks, totals, minlength=counts.features.n_blocks)
    weight = (per_block / max(totals.sum(), 1e-300))[blocks]
    loadings = np.asarray(Theta, np.float64) * weight[:, None]
    return {
        "shares": shares,
        "envelope": np.maximum.reduceat(shares, starts, axis=0),
        "Theta": loadings,
    }
