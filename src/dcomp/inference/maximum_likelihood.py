"""Maximum likelihood without priors: non-negative factorisation under the Kullback-Leibler loss.

The GP model with α = 1, β = 0, γ = 1 at its mode is the maximum of p(W | L, Θ), Poisson, and so the
factorisation W ≈ L Θᵀ of least Kullback-Leibler divergence (BJ06 Lemma 2; MODELS §8 says why not
α = β = 0). One sweep solves for all documents with Θ given, then for all features with the scores
given, by the multiplicative updates of Lee and Seung or by coordinate descent; both in
`reference.kl_nmf`. Everything is in words: c holds e_i l_ik, n holds θ_jk Σ_i c_ik.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dcomp import _core
from dcomp.errors import InvalidParameter, NumericalFailure, UnsupportedCombination
from dcomp.executors import Executor
from dcomp.inference.base import FloatingArray, Info, State
from dcomp.inference.start import seeded_state
from dcomp.models import Model, Observations
from dcomp.models.arrays import read_only

SOLVERS = ("coordinate-descent", "multiplicative")
# How far to carry a step on: at first, at most, and what a success or a failure makes of it (after
# Ang and Gillis 2019). What is carried on keeps a tenth of its size, so that no zero is made.
_FIRST, _MOST, _GROWTH, _CUT, _KEPT = 0.5, 0.99, 1.05, 0.5, 0.1


@dataclass(frozen=True)
class MaximumLikelihood:
    """The maximum of p(W | L, Θ); no sweep lowers it.

    solver: "coordinate-descent", each step carried on where that helps (extrapolation), or
    "multiplicative" (Lee and Seung).
    max_rounds, round_tol: rounds of coordinate descent per document or feature and sweep, at most
    and until Σ|Δ| ≤ tol·(its words).

    >>> MaximumLikelihood().name
    'ml'
    """

    solver: str = "coordinate-descent"
    max_rounds: int = 2
    round_tol: float = 1e-3
    dtype: str = "float32"

    name: ClassVar[str] = "ml"
    objective_name: ClassVar[str] = "log likelihood"
    samples: ClassVar[bool] = False
    mode: ClassVar[str] = "maximise"  # of a new document, too
    loadings: ClassVar[str] = "map"  # θ ∝ n

    def __post_init__(self) -> None:
        if self.solver not in SOLVERS:
            raise InvalidParameter(
                f"solver must be one of {', '.join(SOLVERS)}; got {self.solver!r}"
            )
        if self.dtype not in ("float32", "float64"):
            raise InvalidParameter(f"dtype must be float32 or float64; got {self.dtype!r}")
        if self.max_rounds < 1 or not self.round_tol >= 0:
            raise InvalidParameter(
                "max_rounds must be at least 1 and round_tol at least 0; got "
                f"{self.max_rounds} and {self.round_tol}"
            )

    @property
    def min_sweeps(self) -> int:
        """Sweeps before the stopping rule is asked."""
        return 10

    def init(
        self, model: Model, observed: Observations, seed: int, executor: Executor | None = None
    ) -> State:
        """Even scores, loadings seeded by documents."""
        model.loadings.per_feature(observed.counts.n_features)
        check_flat(model)
        if observed.counts.features.n_blocks > 1:
            raise UnsupportedCombination(
                "ml takes one block of features, because loadings that sum to 1 in each of several "
                "are no free factor; use map with alpha=1 and gamma=1"
            )
        return seeded_state(model, observed.counts, seed, self.dtype)

    def step(self, observed: Observations, state: State, executor: Executor) -> tuple[State, Info]:
        """One sweep: documents, then features; a step that lowers the likelihood is taken back."""
        now = _Momentum.of(state, self._first_weight)
        threads = executor.n_threads
        c, half = self._solve(observed.corpus, now.n, state.c, threads)
        ahead = carried_on(c, now.c, now.weight)
        start = now.n * _ratio(ahead.sum(axis=0, dtype=np.float64), now.n)
        n, whole = self._solve(observed.by_feature, ahead, start, threads)
        total = float(n.sum(dtype=np.float64))
        objective = (whole.after if self.solver == SOLVERS[0] else whole.before) - total
        if not np.isfinite(objective):
            raise NumericalFailure(
                f"the log likelihood must be finite; it is {objective} in sweep {state.sweep + 1}"
            )
        residual, sweep = max(half.residual, whole.residual), state.sweep + 1
        rounds = (half.rounds + whole.rounds) / 2
        if objective < now.objective:
            back = _Momentum(state.c, state.n, now.weight * _CUT, now.objective)
            info = Info(sweep, now.objective, now.objective, rounds, residual=residual)
            return replace(state, sweep=sweep, extra=back.extra), info
        weight = min(now.weight * _GROWTH, _MOST)
        following = _Momentum(c, carried_on(n, start, weight), weight, objective)
        info = Info(sweep, objective, objective, rounds, residual=residual)
        new = replace(state, c=read_only(ahead), n=read_only(n), sweep=sweep)
        return (replace(new, extra=following.extra) if self._first_weight else new), info

    def finish(self, observed: Observations, state: State) -> State:
        """Nothing is left over."""
        return state

    @property
    def _first_weight(self) -> float:
        return _FIRST if self.solver == SOLVERS[0] else 0.0

    def _solve(
        self, corpus: _core.Corpus, other: FloatingArray, x: FloatingArray, n_threads: int
    ) -> tuple[FloatingArray, _Sums]:
        """All rows of one side, with the other side given."""
        out = np.empty_like(x)
        update = "coordinates" if self.solver == SOLVERS[0] else "multiplicative"
        sums = _core.factor(
            corpus,
            normalised_columns(other),
            np.ascontiguousarray(x),
            out,
            update,
            self.max_rounds,
            self.round_tol,
            n_threads,
        )
        return out, _Sums(*sums)


@dataclass(frozen=True)
class _Momentum:
    """What a step that is carried on leaves to the next."""

    c: FloatingArray  # (I, K): of the last step, before it was carried on
    n: FloatingArray  # (J, K): where the next step begins
    weight: float  # how much of a step it is carried on
    objective: float  # at the state's own c and n

    @classmethod
    def of(cls, state: State, first_weight: float) -> _Momentum:
        """Of a state; at the beginning there is none yet."""
        extra = state.extra
        if not extra:
            return cls(state.c, state.n, first_weight, -np.inf)
        return cls(extra["c"], extra["n"], float(extra["weight"]), float(extra["objective"]))

    @property
    def extra(self) -> dict[str, FloatingArray]:
        """As a State keeps it."""
        numbers = {"weight": np.array(self.weight), "objective": np.array(self.objective)}
        return {"c": read_only(self.c), "n": read_only(self.n), **numbers}


@dataclass(frozen=True)
class _Sums:
    before: float  # Σ w log y when the rows were taken up
    after: float  # and when they were left, by coordinate descent
    residual: float
    rounds: float  # per row


def normalised_columns(values: FloatingArray) -> FloatingArray:
    """Columns that sum to 1, padded to whole vectors; a column of zeros stays one."""
    lanes = _core.lanes() * 4 // values.dtype.itemsize
    K = values.shape[1]
    out = np.zeros((len(values), (K + lanes - 1) // lanes * lanes), dtype=values.dtype)
    totals = values.sum(axis=0, dtype=np.float64)
    np.multiply(values, _reciprocal(totals).astype(values.dtype), out=out[:, :K])
    return out


def carried_on(new: FloatingArray, old: FloatingArray, weight: float) -> FloatingArray:
    """new + weight·(new − old), but never below a tenth of the new."""
    if weight == 0:
        return new
    ahead = new - old
    ahead *= new.dtype.type(weight)
    ahead += new
    return read_only(np.maximum(ahead, new * new.dtype.type(_KEPT), out=ahead))


def _ratio(totals: Any, values: FloatingArray) -> FloatingArray:
    """What brings the columns of `values` to `totals`."""
    ratio: FloatingArray = totals * _reciprocal(values.sum(axis=0, dtype=np.float64))
    return ratio.astype(values.dtype)


def _reciprocal(totals: Any) -> Any:
    return np.divide(1.0, totals, where=totals > 0, out=np.zeros_like(totals))


def check_flat(model: Model) -> None:
    """An error unless the model has no priors, which maximum likelihood has no use for."""
    scores: Any = model.scores
    given = {"alpha": scores.alpha, "beta": scores.beta, "gamma": model.loadings.gamma}
    for (name, value), flat in zip(given.items(), (1, 0, 1), strict=True):
        if np.any(value != flat):
            raise InvalidParameter(
                "ml is maximum likelihood and has no priors: give alpha=1, beta=0 and gamma=1, or "
                f"use map; got {name} = {np.ravel(value)[0]:g}"
            )
    if model.loadings.learned:
        raise UnsupportedCombination("gamma='auto' is learned by gibbs and collapsed-gibbs, not ml")
