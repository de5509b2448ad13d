"""Small tables for people: top features of components, and the component of every token."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dcomp.data import Counts, FeatureSpace, Sequences
from dcomp.errors import InvalidCounts, InvalidParameter
from dcomp.inference.base import FloatingArray
from dcomp.models.arrays import FloatArray, read_only
from dcomp.printable import printable


def top_numbers(
    Theta: FloatingArray, features: FeatureSpace, n: int, block: int | str | None = None
) -> npt.NDArray[np.int64]:
    """The numbers of the n features of largest θ in each component (K, n), within one block if
    given, by name or number; of equals the first.

    >>> top_numbers(np.array([[0.1, 0.6], [0.7, 0.2], [0.2, 0.2]]), FeatureSpace.build(3), 2)
    array([[1, 2],
           [0, 1]])
    """
    if n < 1:
        raise InvalidParameter(f"n must be at least 1; got {n}")
    members = np.arange(len(Theta))
    if block is not None:
        members = np.flatnonzero(features.blocks == features.block_number(block))
    order = np.argsort(-Theta[members].T, axis=1, kind="stable")[:, :n]
    return np.asarray(members[order])


@dataclass(frozen=True)
class TopFeatures:
    """The heaviest features of each component, heaviest first."""

    names: tuple[tuple[str, ...], ...]  # per component
    weights: FloatArray  # (K, n)

    @classmethod
    def build(
        cls, Theta: FloatingArray, features: FeatureSpace, n: int, block: int | str | None
    ) -> TopFeatures:
        """From loadings (J, K), within one block if given."""
        order = top_numbers(Theta, features, n, block)
        names = tuple(tuple(features.name(int(j)) for j in row) for row in order)
        return cls(names, np.take_along_axis(Theta.T, order, axis=1).astype(np.float64))

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, component: int) -> tuple[str, ...]:
        return self.names[component]

    def __str__(self) -> str:
        return "\n".join(
            f"{k:>3}  {' '.join(map(printable, row))}" for k, row in enumerate(self.names)
        )


@dataclass(frozen=True, eq=False)
class Assignments:
    """Every token with its component: by document, then by feature, one row per occurrence.

    >>> counts = Counts.from_tokens([["cat", "dog", "cat"], ["dog"]])
    >>> tokens = Assignments.build(counts, np.array([0, 1, 1, 0], np.uint16))
    >>> tokens.of_document(0)
    (array([0, 0, 1], dtype=int32), array([0, 1, 1], dtype=uint16))
    >>> tokens.in_order(0)
    (array([0, 1, 0], dtype=int32), array([0, 1, 1], dtype=int32))
    """

    document: npt.NDArray[np.int32]  # (T)
    feature: npt.NDArray[np.int32]  # (T)
    component: npt.NDArray[np.uint16]  # (T), or (C, S, T) of kept draws
    sequences: Sequences | None = None  # the reading order, where the counts have one
    leaf: npt.NDArray[np.uint16] | None = None  # (T): of ST, where `component` is the node

    @classmethod
    def build(cls, counts: Counts, z: npt.NDArray[np.uint16]) -> Assignments:
        """From components in the order of the counts' entries, each repeated by its count."""
        document = np.repeat(np.arange(counts.n_docs, dtype=np.int32), counts.doc_totals)
        feature = np.repeat(counts.indices, counts.data)
        return cls(read_only(document), read_only(feature), z, counts.sequences)

    def __len__(self) -> int:
        return len(self.feature)

    def of_document(self, i: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint16]]:
        """Features and components of the tokens of document number i."""
        own = slice(*np.searchsorted(self.document, [i, i + 1]).tolist())
        return self.feature[own], self.component[..., own]

    def in_order(self, i: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Features and components of document number i, position by position as it is read.

        Both are -1 at tokens that are no feature of the fit (stop words, unknown words). The
        sampler counts the copies of a word in a document without telling them apart, and they are
        exchangeable: its first copy is paired with the first position, which is as good a draw
        as any other pairing. For all documents at once see `all_in_order`.

        >>> counts = Counts.from_tokens([["a", "of", "b", "a"]], vocabulary=["a", "b"])
        >>> Assignments.build(counts, np.array([5, 6, 7], np.uint16)).in_order(0)[1]
        array([ 5, -1,  7,  6], dtype=int32)
        """
        features = self._order.of_document(i)
        i = int(i) % self._order.n_docs
        own = Sequences(np.array([0, features.size]), features)
        return features, own.in_order(self.of_document(i)[1])

    def all_in_order(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """The same of all documents, one after the other as `sequences.starts` has them.

        >>> counts = Counts.from_tokens([["b", "a"], ["a"]])
        >>> Assignments.build(counts, np.array([5, 6, 7], np.uint16)).all_in_order()[1]
        array([6, 5, 7], dtype=int32)
        """
        return self._order.tokens, self._order.in_order(self.component)

    @property
    def _order(self) -> Sequences:
        if self.sequences is None:
            raise InvalidCounts(
                "these counts have no reading order: give the tokens or the text that they are of"
            )
        return self.sequences
