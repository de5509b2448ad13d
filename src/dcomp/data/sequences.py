"""The reading order of the tokens that a bag was counted from (BJ06 III.A).

A model sees only the bag, so that nothing here changes a fit. The order is kept for reading: it
says which component each word of a text was given, position by position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcomp import _core
from dcomp.data.features import frozen_array
from dcomp.errors import InvalidCounts, InvalidParameter

_CHUNK = 1 << 18  # tokens that are looked at together, which bounds temporaries


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sequences:
    """Documents as sequences of feature numbers x, in reading order; immutable.

    A token that is no feature (a stop word, a rare or an unknown word) keeps its place, as -1: the
    positions are those of the tokens that were given. It takes 4 bytes per position.

    >>> words = Sequences(np.array([0, 3, 3]), np.array([1, -1, 0]))
    >>> words.n_docs, words.of_document(0)
    (2, array([ 1, -1,  0], dtype=int32))
    """

    starts: NDArray[np.int64]  # (I + 1): document i holds positions starts[i] to starts[i + 1]
    tokens: NDArray[np.int32]  # (P)

    def __post_init__(self) -> None:
        object.__setattr__(self, "starts", frozen_array(self.starts, np.int64))
        object.__setattr__(self, "tokens", frozen_array(self.tokens, np.int32))
        starts, tokens = self.starts, self.tokens
        if not (
            starts.ndim == tokens.ndim == 1
            and starts.size
            and starts[0] == 0
            and starts[-1] == tokens.size
            and (np.diff(starts) >= 0).all()
            and (not tokens.size or tokens.min() >= -1)
        ):
            raise InvalidCounts(
                "starts must ascend from 0 to the number of tokens, and tokens be feature numbers "
                "or -1"
            )

    @property
    def n_docs(self) -> int:
        """The number of documents, I.

        >>> Sequences(np.array([0, 1]), np.array([7])).n_docs
        1
        """
        return int(self.starts.size) - 1

    def of_document(self, i: int) -> NDArray[np.int32]:
        """The feature numbers of document `i` in reading order, -1 for what is no feature.

        >>> Sequences(np.array([0, 1, 3]), np.array([7, 2, 2])).of_document(-1)
        array([2, 2], dtype=int32)
        """
        if not -self.n_docs <= i < self.n_docs:
            raise InvalidParameter(f"document must lie in [0, {self.n_docs}); got {i}")
        i = int(i) % self.n_docs
        return self.tokens[self.starts[i] : self.starts[i + 1]]

    def rows(self, chosen: NDArray[np.integer[Any]]) -> Sequences:
        """The documents at these positions.

        >>> Sequences(np.array([0, 1, 3]), np.array([7, 2, 5])).rows(np.array([1, 0])).tokens
        array([2, 5, 7], dtype=int32)
        """
        lengths = np.diff(self.starts)[chosen]
        starts = np.zeros(chosen.size + 1, np.int64)
        np.cumsum(lengths, out=starts[1:])
        where = np.arange(int(starts[-1]))
        where += np.repeat(self.starts[chosen] - starts[:-1], lengths)
        return Sequences(starts, self.tokens[where])

    def moved(self, position: NDArray[np.int32]) -> Sequences:
        """Feature j renamed position[j]; where that is -1, its places are kept as no feature.

        >>> Sequences(np.array([0, 3]), np.array([1, -1, 0])).moved(np.array([-1, 4])).tokens
        array([ 4, -1, -1], dtype=int32)
        """
        # The last one is found by -1, and so stays -1.
        position = np.append(position, np.int32(-1))
        tokens = np.empty(self.tokens.size, np.int32)
        for start in range(0, tokens.size, _CHUNK):
            part = slice(start, start + _CHUNK)
            tokens[part] = position[self.tokens[part]]
        return Sequences(self.starts, tokens)

    def bag(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """What is counted: starts, and the features without the positions that hold none.

        >>> Sequences(np.array([0, 2, 3]), np.array([1, -1, 0])).bag()
        (array([0, 1, 2]), array([1, 0], dtype=int32))
        """
        known = self.tokens >= 0
        if known.all():
            return self.starts, self.tokens
        before = np.zeros(known.size + 1, np.int64)
        np.cumsum(known, out=before[1:])
        return before[self.starts], self.tokens[known]

    def positions(self) -> NDArray[np.int64]:
        """The place of each token in the order of the bag's entries: by document, then by feature.

        Of the copies of a word in a document, the first to be read is the first.

        >>> Sequences(np.array([0, 4]), np.array([2, 0, -1, 2])).positions()
        array([1, 0, 3])
        """
        starts, features = self.bag()
        where = np.flatnonzero(self.tokens >= 0)
        shape = (self.n_docs, int(features.max(initial=0)) + 1)
        table = sparse.csr_array((where, features, starts), shape=shape)
        # Twice transposed, each row is sorted by counting: fast, and copies stay in their order.
        return np.asarray(table.tocsc().tocsr().data, np.int64)

    def is_of(
        self, indptr: NDArray[np.int64], indices: NDArray[np.int32], data: NDArray[np.int32]
    ) -> bool:
        """Whether these documents, counted, are the bags in these canonical rows.

        >>> words = Sequences(np.array([0, 3]), np.array([1, 0, 1]))
        >>> words.is_of(np.array([0, 2]), np.array([0, 1]), np.array([1, 2]))
        True
        """
        if indptr.size != self.starts.size:
            return False
        whole = np.ascontiguousarray(data, np.int32)
        if whole is not data and not np.array_equal(whole, data):  # fractional ones are no tokens
            return False
        starts, columns = np.ascontiguousarray(indptr, np.int64), np.ascontiguousarray(indices)
        columns = columns.astype(np.int32, copy=False)
        return _core.tokens_are(self.starts, self.tokens, starts, columns, whole, 1)

    def in_order(self, values: NDArray[Any], missing: int = -1) -> NDArray[np.int32]:
        """Put values of tokens (..., T), given in the bag's order, into reading order (..., P).

        Positions without a feature get `missing`. Copies of a word in a document are exchangeable;
        they are paired by the rule of `positions`.

        >>> Sequences(np.array([0, 4]), np.array([2, 0, -1, 2])).in_order(np.array([7, 8, 9]))
        array([ 8,  7, -1,  9], dtype=int32)
        """
        out = np.full((*values.shape[:-1], self.tokens.size), missing, np.int32)
        out[..., self.positions()] = values
        return out

    def __reduce__(self) -> tuple[type[Sequences], tuple[Any, ...]]:
        # A restored array is writeable again unless the constructor freezes it.
        return Sequences, (self.starts, self.tokens)

    def __repr__(self) -> str:
        known = int((self.tokens >= 0).sum())
        return (
            f"Sequences({self.n_docs:,} documents, {self.tokens.size:,} positions, "
            f"{known:,} of them features)"
        )
