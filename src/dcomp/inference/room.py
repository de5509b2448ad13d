"""Whether what a sampler counts is whole, and fits into the 32 bits that it counts with.

c has the words of a document by component, n those of a feature over all documents, and its totals
those of a block. Climbers carry the same in floating point: fractions, and numbers of any size.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from dcomp.data import Counts
from dcomp.data.canonical import LIMIT
from dcomp.errors import InvalidCounts
from dcomp.models import Observations

_INSTEAD = "mean-field, map and ml, where a model has them, take counts of any size"
_FRACTIONS = "mean-field, map, ml and laplace, where a model has them, take fractional counts"


def require_whole(counts: Counts, what: str, instead: str = _FRACTIONS) -> None:
    """An error where counts are fractional: a sampler draws for one token at a time.

    >>> require_whole(Counts.from_matrix([[1, 0.5]], fractional=True), "gibbs")
    Traceback (most recent call last):
    dcomp.errors.InvalidCounts: gibbs draws for single tokens, so that counts must be whole \
numbers; found 0.5 at document 0, feature 1. mean-field, map, ml and laplace, where a model has \
them, take fractional counts
    """
    if not counts.is_fractional:
        return
    parted = np.flatnonzero(counts.data != np.floor(counts.data))
    found = "all of them are whole, but were made with fractional=True: make them without it"
    if parted.size:
        place = int(parted[0])
        i = int(np.searchsorted(counts.indptr, place, side="right")) - 1
        document = f"document {i}" if counts.doc_ids is None else f"document {counts.doc_ids[i]!r}"
        feature = counts.features.name(int(counts.indices[place]))
        feature = feature if counts.features.names is None else f"feature {feature!r}"
        found = f"found {counts.data[place]:.15g} at {document}, {feature}. {instead}"
    raise InvalidCounts(
        f"{what} draws for single tokens, so that counts must be whole numbers; {found}"
    )


def require_document_room(observed: Observations, what: str, instead: str = _INSTEAD) -> None:
    """An error unless c has room for the words of every document.

    >>> from dcomp.data import Counts
    >>> require_document_room(Observations.build(Counts.from_matrix([[2**31 - 1]])), "gibbs")
    """
    require_whole(observed.counts, what)
    totals = observed.counts.doc_totals
    longest = int(totals.argmax())
    if totals[longest] > LIMIT:
        name = observed.counts.doc_name(longest)
        _refuse(what, "a document", int(totals[longest]), f"at document {name!r}", instead)


def require_room(
    observed: Observations, what: str, *, pairs: bool = False, instead: str = _INSTEAD
) -> None:
    """An error unless c, n and its totals have room: for the words of every document and for those
    of every block. `pairs`: a sampler that counts the words of the whole corpus by leaf and node.

    >>> from dcomp.data import Counts
    >>> require_room(Observations.build(Counts.from_matrix([[2**31 - 1], [1]])), "gibbs")
    Traceback (most recent call last):
    dcomp.errors.InvalidCounts: gibbs counts in 32 bits: the words of a block over all documents \
must be at most 2147483647; found 2147483648 in the only block. mean-field, map and ml, where a \
model has them, take counts of any size
    """
    counts = observed.counts
    require_whole(counts, what)
    if counts.n_tokens <= LIMIT:
        return
    require_document_room(observed, what, instead)
    features = counts.features
    totals = np.zeros(features.n_blocks, np.int64)
    np.add.at(totals, features.blocks, observed.feature_totals)
    most = int(totals.argmax())
    if totals[most] > LIMIT:
        alone = features.n_blocks == 1
        where = "in the only block" if alone else f"in block {features.block_name(most)!r}"
        whose = "a block over all documents"
        _refuse(what, whose, int(totals[most]), where, instead)
    if pairs:
        _refuse(what, "all documents", counts.n_tokens, "in these counts", instead)


def _refuse(what: str, whose: str, found: int, where: str, instead: str) -> NoReturn:
    raise InvalidCounts(
        f"{what} counts in 32 bits: the words of {whose} must be at most {LIMIT}; "
        f"found {found} {where}. {instead}"
    )
