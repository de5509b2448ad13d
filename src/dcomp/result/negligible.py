"""How many scores are negligible: GP and DM carry them along, CGP can set them to 0 (BJ06 IV.B)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import betainc

from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.inference import State
from dcomp.models.arrays import FloatArray, read_only
from dcomp.models.conditional_gamma_poisson import ConditionalGammaScores
from dcomp.models.dirichlet_multinomial import DirichletScores
from dcomp.models.logistic_normal import LogisticNormalScores
from dcomp.models.structured import StructuredScores
from dcomp.models.tree import TreeScores

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
        if unit == "normalised" and isinstance(state.model.scores, LogisticNormalScores):
            raise UnsupportedCombination(
                "a logistic normal score has no such probability in closed form; unit 'words' "
                "counts by expected words"
            )
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
        if not isinstance(state.model.scores, ConditionalGammaScores):
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
    """P(score_k < limit · Σ scores | c), (I, K).

    Scores given c are gamma, those of DM with one rate and then normalised. The sum of the others
    is taken to be gamma with its own mean and variance, and the share of score_k is then beta.
    That is exact for DM, and for GP where all components have one rate (BJ06 Lemma 1).
    """
    scores: Any = state.model.scores
    if isinstance(scores, TreeScores | StructuredScores):
        raise UnsupportedCombination(
            "unit='normalised' needs scores that are independent but for their sum; those of a "
            "hierarchy are not: use unit='words'"
        )
    a = scores.alpha + state.c[rows].astype(np.float64)
    if scores.n_components == 1:
        return np.zeros_like(a)
    rate, absent = np.ones_like(a), np.zeros_like(a)
    if not isinstance(scores, DirichletScores):
        rate = np.asarray(scores.beta + exposure[:, None])
    if isinstance(scores, ConditionalGammaScores):
        absent = np.where(state.c[rows] > 0, 0.0, scores.zero_probability(exposure))
    mean = (1 - absent) * a / rate
    variance = (1 - absent) * a * (a + 1) / rate**2 - mean**2
    mean, variance = _of_others(mean), _of_others(variance)
    odds = limit / (1 - limit) * rate * variance / mean
    return absent + (1 - absent) * betainc(a, mean**2 / variance, odds / (1 + odds))


def _of_others(values: FloatArray) -> FloatArray:
    # Where the others are all but absent, rounding must not bring a zero or a negative number.
    return np.asarray(np.maximum(values.sum(axis=1, keepdims=True) - values, 1e-100))


def _zero_probability(state: State, rows: slice, exposure: FloatArray) -> FloatArray:
    """P(l_k = 0), (I, K): q0 in the share of recorded sweeps that have c = 0 (MODELS §3)."""
    scores, recorded = state.model.scores, state.recorded
    if not isinstance(scores, ConditionalGammaScores):
        return np.zeros((1, scores.n_components))
    silent: Any = state.c[rows] == 0
    if recorded is not None and recorded.count and recorded.zeros is not None:
        silent = recorded.zeros[rows] / recorded.count
    return np.asarray(silent * scores.zero_probability(exposure))
