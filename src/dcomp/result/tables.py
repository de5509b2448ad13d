"""Small tables for people: top features of components, and the component of every token."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.data import Counts, FeatureSpace, Sequences
from dcomp.errors import InvalidCounts, InvalidParameter, MissingDependency
from dcomp.inference.base import FloatingArray
from dcomp.models.arrays import FloatArray, read_only
from dcomp.printable import printable


def top_numbers(
    Theta: FloatingArray, features: FeatureSpace, n: int, block: int | str | None = None
) -> npt.NDArray[np.int64]:
    """The numbers of the n features of largest θ (or another measure) in each component (K, n),
    within one block if given, by name or number; of equals the first.

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
    """The features of each component that come first by a measure."""

    names: tuple[tuple[str, ...], ...]  # per component
    weights: FloatArray  # (K, n): θ
    by: str = "probability"
    values: FloatArray | None = None  # (K, n): the measure, where it is another
    components: tuple[str, ...] | None = None  # their names, where they have some
    numbers: npt.NDArray[np.int64] = field(  # (K, n): of the features
        default_factory=lambda: np.empty((0, 0), np.int64)
    )

    @classmethod
    def build(
        cls,
        Theta: FloatingArray,
        features: FeatureSpace,
        n: int,
        block: int | str | None,
        by: str = "probability",
        measure: FloatArray | None = None,
        components: tuple[str, ...] | None = None,
    ) -> TopFeatures:
        """From loadings (J, K), within one block if given, by a measure of the same shape."""
        order = top_numbers(Theta if measure is None else measure, features, n, block)
        names = tuple(tuple(features.name(int(j)) for j in row) for row in order)
        weights = np.take_along_axis(Theta.T, order, axis=1).astype(np.float64)
        values = None if measure is None else np.take_along_axis(measure.T, order, axis=1)
        return cls(names, weights, by, values, components, order.astype(np.int64))

    def to_frame(self) -> Any:
        """As a pandas DataFrame, a row per component and feature (`dcomp[frames]`)."""
        try:
            import pandas
        except ImportError:
            raise MissingDependency(
                'a frame needs pandas, which is not installed: pip install "dcomp[frames]"'
            ) from None
        shape = self.weights.shape
        columns: dict[str, Any] = {
            "component": np.repeat(np.arange(shape[0]), shape[1]),
            "rank": np.tile(np.arange(1, shape[1] + 1), shape[0]),
            "feature": [name for row in self.names for name in row],
            "probability": self.weights.ravel(),
        }
        if self.values is not None and self.by != "probability":
            columns[self.by] = self.values.ravel()
        return pandas.DataFrame(columns)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, component: int | str) -> tuple[str, ...]:
        if isinstance(component, str):
            known = self.components or tuple(map(str, range(len(self.names))))
            if component not in known:
                raise InvalidParameter(
                    f"there is no component {component!r}; there are {', '.join(known)}"
                )
            component = known.index(component)
        return self.names[component]

    def __str__(self) -> str:
        labels = self.components or tuple(map(str, range(len(self.names))))
        width = max([3, *(len(printable(label)) for label in labels)])
        return "\n".join(
            f"{printable(label):>{width}}  {' '.join(map(printable, row))}"
            for label, row in zip(labels, self.names, strict=True)
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
