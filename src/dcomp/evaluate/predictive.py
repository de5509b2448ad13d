"""Predictive checks: do corpora drawn from a fit look like the one at hand?

Documents are simulated with the fit's loadings and new scores from its prior, as many and as long
(DM) or as exposed (GP, CGP) as the observed ones, and a few plain numbers of both are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.data import FeatureSpace
from dcomp.errors import InvalidCounts, UnsupportedCombination
from dcomp.inference.room import require_whole
from dcomp.models import MODELS, Model, Observations
from dcomp.models.arrays import FloatArray
from dcomp.result import Fit
from dcomp.result.of_estimator import as_fit
from dcomp.validation import whole_number

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Statistic:
    """One number of the observed counts beside those of the simulated ones."""

    name: str
    observed: float
    low: float  # 2.5 % quantile of the simulations
    median: float
    high: float  # 97.5 % quantile
    tail: float  # two-sided: how rarely the model gives a number as far out as the observed one

    @property
    def is_outside(self) -> bool:
        """Whether the observed number lies outside the middle 95 % of the simulated ones."""
        return not self.low <= self.observed <= self.high


@dataclass(frozen=True)
class PredictiveCheck:
    """The statistics of a predictive check; print it for a table."""

    statistics: tuple[Statistic, ...]
    n_simulations: int

    def __getitem__(self, name: str) -> Statistic:
        return next(row for row in self.statistics if row.name == name)

    def __str__(self) -> str:
        lines = [f"{'':<28}{'observed':>10}{'2.5 %':>10}{'median':>10}{'97.5 %':>10}{'tail':>7}"]
        for row in self.statistics:
            numbers = (row.observed, row.low, row.median, row.high)
            cells = "".join(f"{value:>10.4g}" for value in numbers)
            mark = "  outside" if row.is_outside else ""
            lines.append(f"{row.name:<28}{cells}{row.tail:>7.2f}{mark}")
        return "\n".join(lines)


def predictive_check(
    fit: Fit,
    X: Any,
    *,
    n_simulations: int = 100,
    exposure: Any = None,
    seed: int = 0,
) -> PredictiveCheck:
    """Compare counts with corpora simulated from a fit: BJ06 (2)–(4) with Θ and priors as fitted.

    Lengths (mean, standard deviation, share of empty documents; GP and CGP only, because DM takes
    them as given), sparsity (share of zeros, distinct features per document and their spread), and
    counts of features (mean of variance / mean over features, largest count of any). `tail` is
    2 min(P(simulated ≤ observed), P(simulated ≥ observed)), at most 1, the observed one counted
    among them: it can not be below 2 / (n_simulations + 1). Θ is taken as known: with few
    documents the simulations vary a little less than the model would have it. On documents that
    were fitted a check finds what no choice of parameters could mend.

    >>> import dcomp
    >>> X = np.random.default_rng(0).poisson(2.0, (30, 8))
    >>> check = predictive_check(dcomp.GaP(2, verbose=0).fit(X).fit_, X, n_simulations=20)
    >>> check["mean length"].is_outside
    False
    """
    fit = as_fit(fit)
    if fit.model.key not in MODELS:
        raise UnsupportedCombination(
            f"model {fit.model.key} cannot be simulated here; what works: {', '.join(MODELS)}"
        )
    n_simulations = whole_number("n_simulations", n_simulations, 1)
    observed = fit.observe(X, exposure)
    require_whole(observed.counts, "predictive_check", "completion takes fractional counts")
    if observed.counts.n_tokens == 0:
        raise InvalidCounts("a predictive check needs documents with tokens; these have none")
    counts = observed.counts
    rows = np.repeat(np.arange(counts.n_docs), np.diff(counts.indptr))
    found = _statistics(fit.model, counts.shape, rows, counts.indices, counts.data)
    simulator = _Simulator(fit, observed)
    rng = np.random.default_rng(whole_number("seed", seed, 0))
    drawn = [simulator.draw(rng) for _ in range(n_simulations)]
    statistics = (
        _compare(name, value, np.array([one[name] for one in drawn]))
        for name, value in found.items()
    )
    return PredictiveCheck(tuple(statistics), n_simulations)


def _compare(name: str, observed: float, simulated: FloatArray) -> Statistic:
    n = len(simulated) + 1
    below, above = (1 + (simulated <= observed).sum()) / n, (1 + (simulated >= observed).sum()) / n
    low, median, high = np.quantile(simulated, [0.025, 0.5, 0.975])
    tail = min(2 * min(float(below), float(above)), 1.0)
    return Statistic(name, observed, float(low), float(median), float(high), tail)


def _statistics(
    model: Model,
    shape: tuple[int, int],
    rows: npt.NDArray[Any],
    columns: npt.NDArray[Any],
    data: npt.NDArray[Any],
) -> dict[str, float]:
    """From the non-zero counts alone."""
    n_docs, n_features = shape
    out: dict[str, float] = {}
    if model.has_exposure:
        length = np.bincount(rows, weights=data, minlength=n_docs)
        out["mean length"] = float(length.mean())
        out["spread of length"] = float(length.std())
        out["share of empty documents"] = float((length == 0).mean())
    distinct = np.bincount(rows, minlength=n_docs)
    out["share of zeros"] = 1 - len(data) / (n_docs * n_features)
    out["distinct features"] = float(distinct.mean())
    out["spread of distinct features"] = float(distinct.std())
    mean = np.bincount(columns, weights=data, minlength=n_features) / n_docs
    square = np.bincount(columns, weights=data.astype(np.float64) ** 2, minlength=n_features)
    used = mean > 0
    dispersion = (square[used] / n_docs - mean[used] ** 2) / mean[used]
    out["variance / mean of features"] = float(dispersion.mean()) if used.any() else 0.0
    out["largest count"] = float(data.max(initial=0))
    return out


class _Simulator:
    """Corpora of the size of the observed one; never a dense table."""

    def __init__(self, fit: Fit, observed: Observations) -> None:
        self.model, self.features, self.observed = fit.given_model, fit.features, observed
        Theta = np.asarray(fit.Theta, dtype=np.float64)
        self.tables = [
            _Choice.from_loadings(Theta, self.features, g) for g in range(self.features.n_blocks)
        ]

    def draw(self, rng: np.random.Generator) -> dict[str, float]:
        """The statistics of one simulated corpus."""
        counts = self.observed.counts
        scores = self._scores(counts.n_docs, rng)
        sizes: npt.NDArray[Any] = self.observed.block_totals
        if self.model.has_exposure:
            e = self.observed.exposure
            sizes = np.ones(sizes.shape) if e is None else e
        cells = [
            table.tokens(self._by_component(scores, sizes[:, g], rng), counts.n_features, rng)
            for g, table in enumerate(self.tables)
        ]
        cell, data = np.unique(np.concatenate(cells), return_counts=True)
        rows, columns = np.divmod(cell, counts.n_features)
        return _statistics(self.model, counts.shape, rows, columns, data)

    def _scores(self, n_docs: int, rng: np.random.Generator) -> FloatArray:
        """Scores (I, K) from their prior; Υ of ST as fitted where the corpus shares it."""
        scores: Any = self.model.scores
        if not scores.capabilities.moments:
            return np.asarray(scores.draw_prior(n_docs, rng))
        nothing = np.zeros((n_docs, scores.n_components))
        return np.asarray(scores.draw(nothing, np.zeros(n_docs), rng))

    def _by_component(
        self, scores: FloatArray, size: npt.NDArray[Any], rng: np.random.Generator
    ) -> IntArray:
        """Words of each document and component in one block, (I, K)."""
        if self.model.has_exposure:
            return np.asarray(rng.poisson(size[:, None] * scores))
        return np.asarray(rng.multinomial(size, scores))


@dataclass(frozen=True)
class _Choice:
    """Draws of features from each component's loadings in one block."""

    members: IntArray
    up_to: FloatArray  # (K, features of the block): running sums, shifted by the component

    @classmethod
    def from_loadings(cls, Theta: FloatArray, features: FeatureSpace, block: int) -> _Choice:
        members = np.flatnonzero(features.blocks == block)
        up_to = np.cumsum(Theta[members].T, axis=1)
        up_to /= up_to[:, -1:]
        # Component k occupies (k, k + 1], so that one search serves all of them.
        return cls(members, up_to + np.arange(len(up_to))[:, None])

    def tokens(self, c: IntArray, n_features: int, rng: np.random.Generator) -> IntArray:
        """document · J + feature of every token."""
        document, component = np.divmod(np.repeat(np.arange(c.size), c.ravel()), c.shape[1])
        u = component + rng.random(len(component))
        place = np.searchsorted(self.up_to.ravel(), u, side="left") - component * len(self.members)
        chosen = self.members[np.clip(place, 0, len(self.members) - 1)]
        return np.asarray(document * n_features + chosen)
