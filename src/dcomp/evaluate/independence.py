"""Whether components come independently of each other: BJ04 §5 and the box plots of its figure 1.

DCA assumes scores that are independent (GP, CGP) or independent but for their sum (DM). How far the
fitted ones are so is seen in the correlations over documents between the components' expected words
c_ik = E[Σ_j v_ijk]. BJ04 takes L_i E[m_ik], which differs by the prior's share of a document.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcomp.errors import InvalidCounts, InvalidParameter
from dcomp.inference.base import FloatingArray
from dcomp.models.arrays import FloatArray, read_only
from dcomp.printable import printable
from dcomp.result import Fit
from dcomp.result.of_estimator import as_fit

_CHUNK = 1 << 14  # documents at a time, to bound the float64 temporaries


@dataclass(frozen=True, eq=False)
class BoxSummary:
    """What a box plot shows of n values.

    The box goes from the lower to the upper quartile (linear between order statistics); whiskers
    reach to the furthest value within 1.5 of its height; `outside` are the values beyond them.

    >>> box = BoxSummary.from_values("all", np.array([1.0, 2.0, 3.0, 4.0, 50.0]))
    >>> box.median, box.upper_whisker, box.outside
    (3.0, 4.0, array([50.]))
    """

    label: str
    n: int
    minimum: float
    lower_quartile: float
    median: float
    upper_quartile: float
    maximum: float
    lower_whisker: float
    upper_whisker: float
    outside: FloatArray

    @classmethod
    def from_values(cls, label: str, values: FloatArray) -> BoxSummary:
        """Of at least one value."""
        low, quarter, middle, third, high = np.quantile(values, [0, 0.25, 0.5, 0.75, 1]).tolist()
        reach = 1.5 * (third - quarter)
        inside = (values >= quarter - reach) & (values <= third + reach)
        whiskers = float(values[inside].min()), float(values[inside].max())
        outside = read_only(np.sort(values[~inside]))
        return cls(
            label, values.size, low, quarter, middle, third, high, whiskers[0], whiskers[1], outside
        )

    def __str__(self) -> str:
        if self.n == 1:
            return f"{printable(self.label)}: one correlation, {self.median:.3f}"
        return (
            f"{printable(self.label)}: {self.n:,} correlations from {self.minimum:.3f} "
            f"to {self.maximum:.3f}, "
            f"half of them from {self.lower_quartile:.3f} to {self.upper_quartile:.3f}, "
            f"median {self.median:.3f}"
        )


@dataclass(frozen=True, eq=False)
class Independence:
    """Pearson's correlations over documents between components' expected words.

    A component with as many words in every document has none: its row is 0 (1 on the diagonal), it
    is in `constant`, and no box counts it.
    """

    correlation: FloatArray  # (K, K), symmetric
    pairs: tuple[tuple[int, int], ...]  # k < k', without those of constant components
    values: FloatArray  # the correlation of each pair
    boxes: tuple[BoxSummary, ...]  # one, or one per pair of groups
    constant: tuple[int, ...]

    @property
    def root_mean_square(self) -> float:
        """The square root of the mean squared correlation: 0 for components without any."""
        return float(np.sqrt((self.values**2).mean()))

    def strongest(self, n: int = 5) -> list[tuple[int, int, float]]:
        """The n pairs of largest absolute correlation."""
        order = np.argsort(-np.abs(self.values), kind="stable")[:n]
        return [(*self.pairs[i], float(self.values[i])) for i in order.tolist()]

    def plot(self, axes: Any = None) -> Any:
        """The box plots (BJ04 figure 1) on matplotlib axes, new ones unless given."""
        from dcomp.plot import correlation_boxes

        return correlation_boxes(self, ax=axes)

    def __str__(self) -> str:
        return "\n".join(str(box) for box in self.boxes)


def independence(fit: Fit, *, groups: Sequence[object] | None = None) -> Independence:
    """Correlations between the components' expected words over the training documents: BJ04 §5.

    groups: a label per component gives one box per pair of groups in place of a single one, as
    BJ04 has them for the inner nodes and the leaves of a hierarchy.

    Words are counted, not shares: two components are correlated, too, where both have more words in
    longer documents.

    >>> import dcomp
    >>> X = np.random.default_rng(0).poisson([[4, 4, 0, 0]] * 20 + [[0, 0, 4, 4]] * 20)
    >>> found = independence(dcomp.LDA(2, verbose=0).fit(X).fit_)
    >>> found.correlation.shape, bool(found.values[0] < -0.5)
    ((2, 2), True)
    """
    fit = as_fit(fit)
    K = fit.n_components
    if K < 2:
        raise InvalidParameter("correlations are between components: there must be 2; got 1")
    if groups is not None and len(groups) != K:
        raise InvalidParameter(f"groups must be one per component, {K}; got {len(groups)}")
    correlation, constant = _correlation(fit.expected_counts)
    varies = np.setdiff1d(np.arange(K), constant)
    first, second = np.triu_indices(varies.size, 1)
    if not first.size:
        raise InvalidCounts(
            "correlations need two components whose words vary over documents; there is "
            f"{varies.size}"
        )
    first, second = varies[first], varies[second]
    values = correlation[first, second]
    pairs = tuple(zip(first.tolist(), second.tolist(), strict=True))
    labels = np.array([_label(groups, k, other) for k, other in pairs])
    boxes = tuple(
        BoxSummary.from_values(str(label), values[labels == label])
        for label in dict.fromkeys(labels)
    )
    return Independence(
        read_only(correlation), pairs, read_only(values), boxes, tuple(constant.tolist())
    )


def _label(groups: Sequence[object] | None, k: int, other: int) -> str:
    if groups is None:
        return "all pairs"
    return " – ".join(sorted((str(groups[k]), str(groups[other]))))


def _correlation(words: FloatingArray) -> tuple[FloatArray, Any]:
    """(K, K) in double precision, and the columns without variance."""
    mean = words.mean(axis=0, dtype=np.float64)
    moment = np.zeros((words.shape[1], words.shape[1]))
    for start in range(0, len(words), _CHUNK):
        part = words[start : start + _CHUNK] - mean
        moment += part.T @ part
    scale = np.sqrt(np.diag(moment) / len(words))
    # Sums of float32 words cannot tell a smaller spread from none.
    constant = np.flatnonzero(scale <= 1e-6 * np.maximum(np.abs(mean), 1e-6))
    scale[constant] = 1.0
    correlation = moment / len(words) / np.outer(scale, scale)
    correlation[constant] = 0.0
    correlation[:, constant] = 0.0
    np.fill_diagonal(correlation, 1.0)
    return np.clip(correlation, -1.0, 1.0), constant
