"""Precision and recall along a ranking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dcomp.errors import InvalidParameter
from dcomp.models.arrays import FloatArray, read_only


@dataclass(frozen=True, eq=False)
class PrecisionRecall:
    """Precision and recall after each of the distinct scores, best first, and the average
    precision: the mean of the precision over what is relevant."""

    precision: FloatArray
    recall: FloatArray
    average: float
    share: float  # of all that is relevant: what chance would have for a precision


def precision_recall(scores: npt.ArrayLike, relevant: npt.ArrayLike) -> PrecisionRecall:
    """Of things by their scores, higher is better; relevant: whether each is. Equal scores come
    together, so that the order of the input changes nothing.

    >>> found = precision_recall([3, 2, 1, 0], [True, False, True, False])
    >>> found.precision.tolist(), found.recall.tolist()
    ([1.0, 0.5, 0.6666666666666666, 0.5], [0.5, 0.5, 1.0, 1.0])
    >>> round(found.average, 4)
    0.8333
    """
    value, truth = np.asarray(scores, np.float64), np.asarray(relevant)
    if value.ndim != 1 or value.shape != truth.shape or not np.isfinite(value).all():
        raise InvalidParameter("scores must be finite numbers, one for each value of relevant")
    truth = truth.astype(bool)
    if not truth.any():
        raise InvalidParameter("relevant must be true of something: nothing can be recalled")
    order = np.argsort(-value, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(value[order]) != 0, True))
    hits = np.cumsum(truth[order])[ends]
    precision, recall = hits / (ends + 1), hits / truth.sum()
    gained = np.diff(np.concatenate([[0.0], recall]))
    average = float(np.sum(gained * precision))
    return PrecisionRecall(read_only(precision), read_only(recall), average, float(truth.mean()))
