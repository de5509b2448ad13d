"""One document's words by component, and the probability of chosen words in documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dcomp.data import Counts, FeatureSpace
from dcomp.errors import InvalidParameter
from dcomp.inference.base import FloatingArray
from dcomp.inference.mean_field import Weights
from dcomp.models.arrays import FloatArray
from dcomp.printable import columns, padded, shortened

_WIDEST = 40  # columns for a word; longer ones are cut


def document_number(counts: Counts, document: int | str) -> int:
    """The number of a document that is named by its id, or counted from either end.

    >>> document_number(Counts.from_matrix([[1], [2]]), -1)
    1
    """
    if isinstance(document, str):
        if counts.doc_ids is None or document not in counts.doc_ids:
            raise InvalidParameter(f"document must be one of the document ids; got {document!r}")
        return counts.doc_ids.index(document)
    if not -counts.n_docs <= document < counts.n_docs:
        raise InvalidParameter(f"document must lie in [0, {counts.n_docs}); got {document}")
    return int(document) % counts.n_docs


@dataclass(frozen=True)
class WordTable:
    """E[v] of one document: rows are its words, columns the components (BJ06 figure 4)."""

    words: tuple[str, ...]
    table: FloatArray  # (words, K): rows sum to the words' counts
    total: FloatArray  # (K): the document's words per component

    @classmethod
    def build(cls, counts: Counts, e_log: FloatArray, weights: Weights) -> WordTable:
        """From the only document of `counts`: n_jk ∝ θ_jk exp E[log score_k], BJ06 (13), (17)."""
        theta = weights.Theta[counts.indices, : len(e_log)].astype(np.float64)
        share = theta * np.exp(e_log - e_log.max())
        share /= share.sum(axis=1, keepdims=True)
        table = counts.data[:, None] * share
        words = tuple(counts.features.name(int(j)) for j in counts.indices)
        return cls(words, table, np.asarray(table.sum(axis=0)))

    def __str__(self) -> str:
        used: npt.NDArray[np.intp] = np.flatnonzero(self.total >= 0.05)
        used = used[np.argsort(-self.total[used], kind="stable")]
        shown = [shortened(word, _WIDEST) for word in self.words]
        width = max([len("total"), *map(columns, shown)])
        head = " " * width + "".join(f"{f'#{k}':>8}" for k in used)
        rows = [
            padded(word, width) + "".join(f"{value:8.1f}" for value in row[used])
            for word, row in zip(shown, self.table, strict=True)
        ]
        total = f"{'total':<{width}}" + "".join(f"{value:8.1f}" for value in self.total[used])
        return "\n".join([head, *rows, total])


def feature_numbers(features: FeatureSpace, words: Sequence[int | str]) -> npt.NDArray[np.int64]:
    """The numbers of features that are named, or counted from 0.

    >>> feature_numbers(FeatureSpace.build(3, names=["a", "b", "c"]), ["c", 0])
    array([2, 0])
    >>> feature_numbers(FeatureSpace.build(2, ["nay", "nay"], ["RC5", "RC6"]), ["RC6=nay"])
    array([1])
    """
    if isinstance(words, str):
        raise InvalidParameter(f"words must be a list of names or numbers; got the text {words!r}")
    known = features.numbers_by_name()
    out = []
    for word in words:
        if isinstance(word, bool) or not isinstance(word, str | int | np.integer):
            raise InvalidParameter(f"words must be names or numbers of features; got {word!r}")
        if isinstance(word, str):
            if word not in known:
                how = "; with blocks they are called block=feature" * (features.n_blocks > 1)
                raise InvalidParameter(
                    f"words must be features of the fit; there is no {word!r}{how}"
                )
            out.append(known[word])
        elif not 0 <= word < features.n_features:
            raise InvalidParameter(
                f"a feature's number must lie in [0, {features.n_features}); got {word}"
            )
        else:
            out.append(int(word))
    return np.array(out, dtype=np.int64)


def word_probability(
    scores: FloatingArray, Theta: FloatingArray, chosen: npt.NDArray[np.int64]
) -> FloatArray:
    """p(word | document) within the word's block, (I, words): Σ_k m_k θ_jk with shares m."""
    shares = np.asarray(scores, dtype=np.float64)
    total = shares.sum(axis=1, keepdims=True)
    # Scores of a document that are all 0 say nothing: its words come evenly from all components.
    shares = np.where(total > 0, shares / np.maximum(total, 1e-300), 1 / shares.shape[1])
    return np.asarray(shares @ Theta[chosen].T.astype(np.float64))
