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
from dcomp.inference.base import Carried, Climber, FloatingArray, Info, State
from dcomp.inference.map_em import check_flat
from dcomp.inference.options import SOLVER
from dcomp.inference.start import seeded_state
from dcomp.models import Model, Observations
from dcomp.models.arrays import read_only
from dcomp.models.options import Option

SOLVERS = ("coordinate-descent", "multiplicative")
# How far to carry a step on: at first, at most, and what a success or a failure makes of it (after
# Ang and Gillis 2019). What is carried on keeps a tenth of its size, so that no zero is made.
_FIRST, _MOST, _GROWTH, _CUT, _KEPT = 0.5, 0.99, 1.05, 0.5, 0.1


@dataclass(frozen=True)
class MaximumLikelihood(Climber):
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
    mode: ClassVar[str] = "maximise"  # of a new document, too
    estimates: ClassVar[str] = "likelihood"
    options: ClassVar[tuple[Option, ...]] = (SOLVER,)
    must_carry: ClassVar[bool] = False  # multiplicative updates carry nothing on

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
        check_flat(model, self.name)
        if model.loadings.learned:
            raise UnsupportedCombination(
                "gamma='auto' is learned by gibbs and collapsed-gibbs, not ml"
            )
        if observed.counts.features.n_blocks > 1:
            raise UnsupportedCombination(
                "ml takes one block of features, because loadings that sum to 1 in each of several "
                "are no free factor; use map with alpha=1 and gamma=1"
            )
        return seeded_state(model, observed.counts, seed, self.dtype)

    def step(self, observed: Observations, state: State, executor: Executor) -> tuple[State, Info]:
        """One sweep: documents, then features; a step that lowers the likelihood is taken back."""
        now = self._momentum(state)
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
            back = Momentum(state.c, state.n, now.weight * _CUT, now.objective)
            info = FactorInfo(sweep, now.objective, now.objective, rounds, residual=residual)
            return replace(state, sweep=sweep, carried=back), info
        weight = min(now.weight * _GROWTH, _MOST)
        following = Momentum(c, carried_on(n, start, weight), weight, objective)
        info = FactorInfo(sweep, objective, objective, rounds, residual=residual)
        new = replace(state, c=read_only(ahead), n=read_only(n), sweep=sweep)
        return (replace(new, carried=following) if self._first_weight else new), info

    @property
    def treatment(self) -> str:
        """θ ∝ n."""
        return "map"

    def info_type(self, model: Model) -> type[Info]:
        """With the residual."""
        return FactorInfo

    def carried_type(self, model: Model) -> type[Carried]:
        """How a step is carried on; nothing for the multiplicative updates."""
        return Momentum

    def _momentum(self, state: State) -> Momentum:
        """Of a state; at the beginning there is none yet."""
        if isinstance(state.carried, Momentum):
            return state.carried
        return Momentum(state.c, state.n, self._first_weight, -np.inf)

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


@dataclass(frozen=True, eq=False)
class Momentum(Carried):
    """What a step that is carried on leaves to the next."""

    c: FloatingArray  # (I, K): of the last step, before it was carried on
    n: FloatingArray  # (J, K): where the next step begins
    weight: float  # how much of a step it is carried on
    objective: float  # at the state's own c and n


@dataclass(frozen=True, kw_only=True)
class FactorInfo(Info):
    """A row of maximum likelihood, with the largest breach of the conditions of a maximum
    (Karush, Kuhn, Tucker)."""

    residual: float


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
