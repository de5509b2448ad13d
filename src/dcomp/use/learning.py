"""Weights of a sum of scores, learned on queries whose relevant documents are known.

Scores are given as tables (queries, documents), several candidates to a part: BM25 with other
constants, smoothing by fits of other K. The best candidate of all by mean average precision is
where the sum begins; of each other part the candidate and the weight are taken that gain most, one
part after the other, until none of them gains. Only training queries are looked at;
`cross_validate` scores every query by what others taught.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp import validation
from dcomp.errors import InvalidParameter
from dcomp.models.arrays import FloatArray

ROUGHLY = (0.25, 0.7, 2.0)
WEIGHTS = (0.0, 0.1, 0.2, 0.35, 0.5, 0.85, 1.2, 1.5, 3.0, 5.0)
IntArray = npt.NDArray[np.int64]
_ROUNDS = 3
Candidates = Mapping[str, Mapping[str, FloatArray]]  # part → name → scores (Q, I)
Relevant = Sequence[Any]  # of each query, the numbers of its relevant documents


def average_precision(scores: FloatArray, relevant: Relevant) -> FloatArray:
    """Of each query, (Q): precision at each relevant document, averaged over all of them. Equal
    scores rank by number; a query without relevant documents has none, and is an error.

    >>> average_precision(np.array([[3.0, 2.0, 1.0]]), [[0, 2]]).round(4)
    array([0.8333])
    """
    table = np.asarray(scores, np.float64)
    return _precisions(table, _checked(relevant, *table.shape))


def _checked(relevant: Relevant, n_queries: int, n_docs: int) -> list[IntArray]:
    """Numbers of relevant documents, ascending; an error where there are none."""
    if n_queries != len(relevant):
        raise InvalidParameter(
            f"relevant must have an entry for each of {n_queries} queries; got {len(relevant)}"
        )
    found = [np.unique(np.asarray(wanted, np.int64)) for wanted in relevant]
    for q, good in enumerate(found):
        if not good.size or good[0] < 0 or good[-1] >= n_docs:
            raise InvalidParameter(
                f"query {q} must have relevant documents, numbered below {n_docs}; got "
                f"{good.tolist()}"
            )
    return found


def _precisions(table: FloatArray, relevant: Sequence[IntArray]) -> FloatArray:
    out = np.empty(len(table))
    for q, (row, good) in enumerate(zip(table, relevant, strict=True)):
        own = row[good][:, None]
        above = np.count_nonzero(row > own, axis=1)
        level = row >= own
        # Of equal scores those with smaller numbers stand above; nearly always there are none.
        if np.count_nonzero(level) != above.sum() + len(good):
            same = level & (row <= own)
            above += np.count_nonzero(same & (np.arange(len(row)) < good[:, None]), axis=1)
        rank = np.sort(above) + 1
        out[q] = (np.arange(1, len(rank) + 1) / rank).mean()
    return out


@dataclass(frozen=True)
class Learned:
    """Which candidate of each part, and with what weight: of scores as they are."""

    parts: Mapping[str, tuple[str, float]]
    training: float  # mean average precision on the queries it was learned from

    def scores(self, candidates: Candidates) -> FloatArray:
        """The sum, (Q, I)."""
        return np.asarray(
            sum(weight * candidates[part][name] for part, (name, weight) in self.parts.items())
        )

    def __str__(self) -> str:
        return " + ".join(f"{w:.3g} * {name}" for name, w in self.parts.values() if w > 0)


def learn(candidates: Candidates, relevant: Relevant, queries: Any = None) -> Learned:
    """Choose candidates and weights by the mean average precision of some queries (all unless
    given).

    >>> good, bad = np.array([[3.0, 1.0, 2.0]]), np.array([[1.0, 2.0, 3.0]])
    >>> print(learn({"words": {"bad": bad, "good": good}}, [[0]]))
    1 * good
    """
    if not candidates or not all(candidates.values()):
        raise InvalidParameter("candidates must have parts, each with one candidate at least")
    chosen = np.arange(len(relevant)) if queries is None else np.asarray(queries)
    climb = _Climb(candidates, relevant, chosen)
    for _ in range(_ROUNDS):
        gained = [climb.improve(part) for part in climb.others]
        if not any(gained):
            break
    raw = {part: (name, weight / climb.spread[part, name]) for part, (name, weight) in climb.sum}
    largest = max(weight for _, weight in raw.values())
    return Learned({part: (name, w / largest) for part, (name, w) in raw.items()}, climb.best)


class _Climb:
    """A sum that is improved part by part; weights are in units of a candidate's spread."""

    def __init__(self, candidates: Candidates, relevant: Relevant, chosen: IntArray) -> None:
        units, self.spread = {}, {}
        for part, tables in candidates.items():
            for name, table in tables.items():
                own = np.asarray(table, np.float64)[chosen]
                self.spread[part, name] = float(np.median(own.std(axis=1))) or 1.0
                units[part, name] = own / self.spread[part, name]
        shape = next(iter(units.values())).shape
        self.units = units
        self.wanted = _checked([relevant[int(q)] for q in chosen], *shape)
        alone = {key: self._value(table) for key, table in units.items()}
        part, name = max(alone, key=lambda key: alone[key])
        self.best = alone[part, name]
        self.taken = {part: (name, 1.0)}
        best_of = {p: max(alone[p, n] for n in tables) for p, tables in candidates.items()}
        self.others = sorted((p for p in candidates if p != part), key=lambda p: -best_of[p])

    @property
    def sum(self) -> list[tuple[str, tuple[str, float]]]:
        """What is taken of each part, with what weight."""
        return list(self.taken.items())

    def _value(self, table: FloatArray) -> float:
        return float(_precisions(table, self.wanted).mean())

    def improve(self, part: str) -> bool:
        """Take the candidate and the weight that gain most, roughly and then finely."""
        rest: Any = sum(
            weight * self.units[other, name]
            for other, (name, weight) in self.taken.items()
            if other != part
        )
        before = self.best
        for key, unit in self.units.items():
            if key[0] == part:
                self._try(part, key[1], rest, unit, ROUGHLY)
        if part in self.taken:
            name = self.taken[part][0]
            self._try(part, name, rest, self.units[part, name], WEIGHTS)
        return self.best > before

    def _try(
        self, part: str, name: str, rest: FloatArray, unit: FloatArray, weights: Sequence[float]
    ) -> None:
        for weight in weights:
            value = self._value(rest + weight * unit)
            if value > self.best + 1e-9:
                self.best, self.taken[part] = value, (name, weight)


@dataclass(frozen=True)
class Validated:
    """Average precision of every query by what was learned from queries of other folds."""

    average_precision: FloatArray  # (Q)
    folds: tuple[Learned, ...]

    @property
    def mean(self) -> float:
        """Over all queries."""
        return float(self.average_precision.mean())


def cross_validate(
    candidates: Candidates, relevant: Relevant, *, folds: int = 5, seed: int = 0
) -> Validated:
    """Learn from all folds of queries but one, and score that one; so with each.

    >>> rng = np.random.default_rng(0)
    >>> tables = {"a": {"noise": rng.normal(size=(10, 30))}}
    >>> cross_validate(tables, [[0, 1]] * 10).average_precision.shape
    (10,)
    """
    n = len(relevant)
    n_folds = validation.whole_number("folds", folds, 2)
    if n_folds > n:
        raise InvalidParameter(f"folds must be at most the number of queries, {n}; got {folds}")
    fold = np.random.default_rng(seed).permutation(n) % n_folds
    out, found = np.empty(n), []
    for f in range(n_folds):
        learned = learn(candidates, relevant, np.flatnonzero(fold != f))
        own = np.flatnonzero(fold == f)
        scores = learned.scores(
            {p: {k: t[own] for k, t in tables.items()} for p, tables in candidates.items()}
        )
        out[own] = average_precision(scores, [relevant[int(q)] for q in own])
        found.append(learned)
    return Validated(out, tuple(found))
