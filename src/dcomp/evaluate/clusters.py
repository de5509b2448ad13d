"""Clusters of documents against what is known of them: purity, mutual information, Rand index.

A cluster is the documents with the most of one component (C04 2, 6.1; `fit.predict`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.errors import InvalidParameter
from dcomp.models.arrays import FloatArray
from dcomp.predict.clusters import largest
from dcomp.printable import padded, shortened
from dcomp.result.of_estimator import as_fit

SHUFFLES = 20  # for the purity of clusters that have nothing to do with labels


@dataclass(frozen=True, eq=False)
class Clusters:
    """How far clusters are the groups that labels name; labels that are unknown are left out.

    Purity is the share of documents with the commonest label of their cluster. It rises with the
    number of clusters, so that `chance` stands beside it: the same of shuffled labels. NMI (by the
    arithmetic mean of entropies) is 0 to 1; the adjusted Rand index is 1 for the same groups and
    about 0 by chance.

    >>> print(clusters([[3, 1], [2, 0], [0, 4], [1, 3]], ["cat", "cat", "dog", None]))
    2 clusters against 2 labels of 3 documents (1 without a label):
    purity 100.0 % (by chance 73.3 %), NMI 1.000, adjusted Rand index 1.000
    """

    names: tuple[str, ...]  # of the labels, (C)
    table: npt.NDArray[np.int64]  # (K, C): documents by cluster and label
    purity: float
    chance: float
    nmi: float
    adjusted_rand: float
    n_unknown: int

    @property
    def n_docs(self) -> int:
        """The documents with a label."""
        return int(self.table.sum())

    @property
    def majority(self) -> tuple[str | None, ...]:
        """The commonest label of each cluster; None for one without documents."""
        best = self.table.argmax(axis=1)
        sizes = self.table.sum(axis=1)
        return tuple(self.names[c] if n else None for c, n in zip(best, sizes, strict=True))

    def lines(self) -> list[str]:
        """A line per cluster that has documents, largest first."""
        sizes = self.table.sum(axis=1)
        out = []
        for k in np.argsort(-sizes, kind="stable").tolist():
            if sizes[k]:
                share = self.table[k].max() / sizes[k]
                name = padded(shortened(str(self.majority[k]), 30), 30)
                out.append(f"#{k:<5} {sizes[k]:>8,} documents  {name} {100 * share:>4.0f} %")
        return out

    def as_record(self) -> dict[str, Any]:
        """For programs: plain numbers, text and lists."""
        return {
            "labels": list(self.names),
            "table": self.table.tolist(),
            "purity": self.purity,
            "purity_by_chance": self.chance,
            "nmi": self.nmi,
            "adjusted_rand": self.adjusted_rand,
            "documents": self.n_docs,
            "unknown": self.n_unknown,
        }

    def __str__(self) -> str:
        used = int((self.table.sum(axis=1) > 0).sum())
        without = f" ({self.n_unknown:,} without a label)" if self.n_unknown else ""
        return (
            f"{used} clusters against {len(self.names)} labels of {self.n_docs:,} documents"
            f"{without}:\npurity {100 * self.purity:.1f} % (by chance {100 * self.chance:.1f} %), "
            f"NMI {self.nmi:.3f}, adjusted Rand index {self.adjusted_rand:.3f}"
        )


def clusters(
    fit: Any, labels: str | Sequence[Any] | npt.NDArray[Any], X: Any = None, *, exposure: Any = None
) -> Clusters:
    """The clusters of a fit against labels, one per document, or the name of an attribute.

    fit: a Fit or a fitted estimator, whose training documents are meant unless X has others; or a
    table of scores, a row per document. Documents without a label (None, NaN) are left out.
    """
    about: Mapping[str, Any] = {}
    if isinstance(fit, list | np.ndarray):
        found = largest(_table(fit))
        n_clusters = np.asarray(fit).shape[1]
    else:
        fitted = as_fit(fit)
        n_clusters = fitted.n_components
        found = fitted.clusters if X is None else fitted.predict(X, exposure=exposure)
        about = fitted.attributes if X is None else getattr(X, "attributes", {})
    if isinstance(labels, str):
        if labels not in about:
            raise InvalidParameter(
                f"labels must be one per document or the name of an attribute; there is no "
                f"attribute {labels!r} (a fit keeps its own with with_attributes)"
            )
        labels = about[labels]
    return against_labels(found, labels, n_clusters)


def against_labels(
    found: npt.NDArray[np.intp], labels: Sequence[Any] | npt.NDArray[Any], n_clusters: int
) -> Clusters:
    """Numbers of clusters against labels."""
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    column = labels if isinstance(labels, np.ndarray) else np.array(labels, object)
    if len(column) != len(found):
        raise InvalidParameter(
            f"labels must be one per document: {len(found)} documents, {len(column)} labels"
        )
    known = np.array([value is not None and value == value for value in column.tolist()], bool)
    if not known.any():
        raise InvalidParameter(f"labels must be known for a document; all {known.size} are unknown")
    names, place = np.unique([str(v) for v in column[known].tolist()], return_inverse=True)
    own = found[known]
    rng = np.random.default_rng(0)
    by_chance = [
        _purity(_crossed(own, rng.permutation(place), n_clusters, len(names)))
        for _ in range(SHUFFLES)
    ]
    table = _crossed(own, place, n_clusters, len(names))
    return Clusters(
        tuple(names.tolist()),
        table,
        _purity(table),
        float(np.mean(by_chance)),
        float(normalized_mutual_info_score(place, own)),
        float(adjusted_rand_score(place, own)),
        int((~known).sum()),
    )


def _table(scores: Any) -> FloatArray:
    table = np.asarray(scores, np.float64)
    if table.ndim != 2 or not table.shape[1]:
        raise InvalidParameter(f"scores must have a row per document; found shape {table.shape}")
    return table


def _crossed(
    own: npt.NDArray[np.intp], place: npt.NDArray[np.intp], K: int, C: int
) -> npt.NDArray[np.int64]:
    """How many documents have both, (K, C)."""
    return np.bincount(own * C + place, minlength=K * C).reshape(K, C)


def _purity(table: npt.NDArray[np.int64]) -> float:
    return float(table.max(axis=1).sum() / table.sum())
