"""How many scores are negligible: GP and DM carry them along, CGP can set them to 0 (BJ06 IV.B)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dcomp.errors import InvalidParameter
from dcomp.inference import State
from dcomp.models.arrays import FloatArray, read_only

# With fewer words a component is absent in BJ06 IX; a smaller share is negligible in BJ06 IV.B.
USUAL = {"words": 0.01, "normalised": 1e-8}
_CHUNK = 1 << 18  # (document, component) pairs at a time, to bound the temporaries


@dataclass(frozen=True, eq=False)
class NegligibleScores:
    """The share of (document, component) pairs whose score is negligible: BJ06 IV.B.

    By "words" a pair either is negligible or is not; by "normalised" it is so with a probability,
    and shares are means of those.

    >>> found = NegligibleScores(0.01, "words", 0.25, np.array([0, 0.5]), np.array([0.5, 0]))
    >>> print(found)
    25 % of scores are negligible (under 0.01 expected words)
    """

    threshold: float
    unit: str  # "words" or "normalised"
    share: float  # over all pairs
    of_component: FloatArray  # (K): over documents
    of_document: FloatArray  # (I): over components
    zero: float | None = None  # CGP: the probability of an exact zero, over all pairs
    zero_of_component: FloatArray | None = None  # (K)

    @classmethod
    def build(
        cls, state: State, exposure: FloatArray, threshold: float | None, unit: str
    ) -> NegligibleScores:
        """From the counts c of a state and the exposure (I) of its documents."""
        limit = _limit(threshold, unit)
        can = state.model.scores.capabilities
        if unit == "normalised":
            can.require("normalised", state.model.key)
        measure = _has_few_words if unit == "words" else _small_probability
        n_docs, K = state.c.shape
        of_document, total, zeros = np.empty(n_docs), np.zeros(K), np.zeros(K)
        step = max(_CHUNK // K, 1)
        for start in range(0, n_docs, step):
            rows = slice(start, start + step)
            part = measure(state, rows, exposure[rows], limit)
            of_document[rows] = part.mean(axis=1)
            total += part.sum(axis=0)
            zeros += _zero_probability(state, rows, exposure[rows]).sum(axis=0)
        total /= n_docs
        found = cls(limit, unit, float(total.mean()), read_only(total), read_only(of_document))
        if not can.exact_zeros:
            return found
        zeros /= n_docs
        return replace(found, zero=float(zeros.mean()), zero_of_component=read_only(zeros))

    def __str__(self) -> str:
        rule = "expected words" if self.unit == "words" else "once normalised"
        zero = "" if self.zero is None else f"; {_percent(self.zero)} are zero by the posterior"
        share = f"{_percent(self.share)} of scores are negligible"
        return f"{share} (under {self.threshold:g} {rule}){zero}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _limit(threshold: float | None, unit: str) -> float:
    if unit not in USUAL:
        raise InvalidParameter(f"unit must be 'words' or 'normalised'; got {unit!r}")
    limit = USUAL[unit] if threshold is None else float(threshold)
    if not 0 < limit < (np.inf if unit == "words" else 1):
        rule = "a positive number of words" if unit == "words" else "between 0 and 1"
        raise InvalidParameter(f"threshold must be {rule}; got {threshold!r}")
    return limit


def _has_few_words(state: State, rows: slice, exposure: FloatArray, limit: float) -> Any:
    recorded = state.recorded
    if recorded is not None and recorded.count:
        return recorded.c[rows] < limit * recorded.count
    return state.c[rows] < limit


def _small_probability(state: State, rows: slice, exposure: FloatArray, limit: float) -> Any:
    """P(score_k < limit · Σ scores | c), (I, K)."""
    scores: Any = state.model.scores
    return scores.share_below(state.c[rows], exposure, limit)


def _zero_probability(state: State, rows: slice, exposure: FloatArray) -> FloatArray:
    """P(l_k = 0), (I, K): q0 in the share of recorded sweeps that have c = 0 (MODELS §3)."""
    scores: Any = state.model.scores
    recorded = state.recorded
    if not scores.capabilities.exact_zeros:
        return np.zeros((1, scores.n_components))
    silent: Any = state.c[rows] == 0
    if recorded is not None and recorded.count and recorded.zeros is not None:
        silent = recorded.zeros[rows] / recorded.count
    return np.asarray(silent * scores.zero_probability(exposure))
