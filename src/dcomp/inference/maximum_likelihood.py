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
from dcomp.executors import Executor, LocalExecutor
from dcomp.inference.base import Climber, FloatingArray, Info
from dcomp.inference.map_em import check_flat
from dcomp.inference.options import SOLVER, START
from dcomp.inference.spectral import check_climb_start, climb_state
from dcomp.inference.state import Carried, Global, Local, State
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray, read_only
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
    start: "seeded", "spectral" or "auto", as in MeanField.

    >>> MaximumLikelihood().name
    'ml'
    """

    solver: str = "coordinate-descent"
    max_rounds: int = 2
    round_tol: float = 1e-3
    dtype: str = "float32"
    start: str = "auto"

    name: ClassVar[str] = "ml"
    objective_name: ClassVar[str] = "log likelihood"
    mode: ClassVar[str] = "maximise"  # of a new document, too
    estimates: ClassVar[str] = "likelihood"
    options: ClassVar[tuple[Option, ...]] = (SOLVER, START)
    must_carry: ClassVar[bool] = False  # multiplicative updates carry nothing on

    def __post_init__(self) -> None:
        check_climb_start(self.start)
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
        if len(observed.parts) > 1 and self.solver == SOLVERS[0]:
            raise UnsupportedCombination(
                "coordinate descent solves for a feature with all documents at hand, and these "
                f"counts are in {len(observed.parts)} parts: give solver='multiplicative', whose "
                "sums add over parts, or one part"
            )
        executor = executor or LocalExecutor(1)
        return climb_state(self.start, model, observed, seed, self.dtype, executor)

    def step(self, observed: Observations, state: State, executor: Executor) -> tuple[State, Info]:
        """One sweep: documents, then features; a step that lowers the likelihood is taken back."""
        now, parts = self._momentum(state.shared), observed.parts
        of_documents = _Half(self, normalised_columns(now.n), now.weight)
        half, first = executor.map_reduce(_solve_documents, parts, state.locals, of_documents)
        start = now.n * _ratio(first.totals, now.n)
        of_features = _Half(self, start, now.weight, first.totals)
        after, second = executor.map_reduce(_solve_features, parts, half, of_features)
        n = second.n
        if len(parts) > 1:  # a part knows its own share of a gradient only
            second = replace(second, sums=replace(second.sums, residual=_breach(start, n)))
        total = float(n.sum(dtype=np.float64))
        whole = second.sums
        objective = (whole.after if self.solver == SOLVERS[0] else whole.before) - total
        if not np.isfinite(objective):
            raise NumericalFailure(
                f"the log likelihood must be finite; it is {objective} in sweep {state.sweep + 1}"
            )
        residual, sweep = max(first.sums.residual, whole.residual), state.sweep + 1
        rounds = (first.sums.rounds + whole.rounds) / 2
        if objective < now.objective:
            back = Momentum(None, state.n, now.weight * _CUT, now.objective)
            info = FactorInfo(sweep, now.objective, now.objective, rounds, residual=residual)
            shared = replace(state.shared, sweep=sweep, carried=back)
            restarted, _ = executor.map_reduce(_stand_still, parts, state.locals, None)
            return replace(state, shared=shared, locals=restarted), info
        weight = min(now.weight * _GROWTH, _MOST)
        info = FactorInfo(sweep, objective, objective, rounds, residual=residual)
        shared = replace(state.shared, n=read_only(n), sweep=sweep)
        if self._first_weight:
            following = Momentum(None, carried_on(n, start, weight), weight, objective)
            shared = replace(shared, carried=following)
        return replace(state, shared=shared, locals=after), info

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

    def _momentum(self, shared: Global) -> Momentum:
        """Of a state; at the beginning there is none yet."""
        if isinstance(shared.carried, Momentum):
            return shared.carried
        return Momentum(None, shared.n, self._first_weight, -np.inf)

    @property
    def _first_weight(self) -> float:
        return _FIRST if self.solver == SOLVERS[0] else 0.0

    def solve(
        self, corpus: _core.Corpus, other: FloatingArray, x: FloatingArray, n_threads: int
    ) -> tuple[FloatingArray, _Sums]:
        """All rows of one side, with the other side given as columns that sum to 1."""
        out = np.empty_like(x)
        update = "coordinates" if self.solver == SOLVERS[0] else "multiplicative"
        sums = _core.factor(
            corpus,
            other,
            np.ascontiguousarray(x),
            out,
            update,
            self.max_rounds,
            self.round_tol,
            n_threads,
        )
        return out, _Sums(*sums, len(x))


@dataclass(frozen=True, eq=False)
class Momentum(Carried):
    """What a step that is carried on leaves to the next."""

    c: FloatingArray | None  # (I, K): of the last step, before it was carried on
    n: FloatingArray  # (J, K): where the next step begins
    weight: float  # how much of a step it is carried on
    objective: float  # at the state's own c and n

    @classmethod
    def of_documents(cls, model: Model) -> tuple[str, ...]:
        """c."""
        return ("c",)


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
    n_rows: int

    def __add__(self, other: _Sums) -> _Sums:
        n_rows = self.n_rows + other.n_rows
        return _Sums(
            self.before + other.before,
            self.after + other.after,
            max(self.residual, other.residual),
            (self.rounds * self.n_rows + other.rounds * other.n_rows) / n_rows,
            n_rows,
        )


@dataclass(frozen=True)
class _Half:
    """What every part is told of half a sweep."""

    algorithm: MaximumLikelihood
    given: FloatingArray  # loadings for the documents' half, n to begin with for the features'
    weight: float
    totals: FloatArray | None = None  # (K): words of all documents


@dataclass(frozen=True)
class _Documents:
    """What the documents' half adds up to."""

    totals: FloatArray  # (K): of what was carried on
    sums: _Sums

    def __add__(self, other: _Documents) -> _Documents:
        return _Documents(self.totals + other.totals, self.sums + other.sums)


@dataclass(frozen=True)
class _Features:
    """What the features' half adds up to: by multiplicative updates, which are sums over
    documents, or of one part."""

    n: FloatingArray  # (J, K)
    sums: _Sums

    def __add__(self, other: _Features) -> _Features:
        return _Features(self.n + other.n, self.sums + other.sums)


def _solve_documents(
    part: Observations, local: Local, how: _Half, n_threads: int
) -> tuple[Local, _Documents]:
    """The documents of a part with Θ given, carried on; c before that is kept for the next."""
    c, sums = how.algorithm.solve(part.corpus, how.given, local.c, n_threads)
    ahead = carried_on(c, local.carried.get("c", local.c), how.weight)
    after = Local(read_only(ahead), carried={"c": c} if how.weight else {})
    return after, _Documents(ahead.sum(axis=0, dtype=np.float64), sums)


def _solve_features(
    part: Observations, local: Local, how: _Half, n_threads: int
) -> tuple[Local, _Features]:
    """All features with a part's scores given."""
    given = normalised_columns(local.c, how.totals)
    n, sums = how.algorithm.solve(part.by_feature, given, how.given, n_threads)
    return local, _Features(n, sums)


def _stand_still(
    part: Observations, local: Local, shared: None, n_threads: int
) -> tuple[Local, None]:
    """The next step begins where this state stands."""
    return replace(local, carried={"c": local.c}), None


def _breach(start: FloatingArray, n: FloatingArray) -> float:
    """The largest breach of the conditions by features, |min(x, 1 − gradient)|: a multiplicative
    update is x times the gradient. One that is 0 stays so, and its gradient is not known."""
    x = start.astype(np.float64)
    gradient = np.divide(n, x, where=x > 0, out=np.ones_like(x))
    return float(np.abs(np.minimum(x, 1 - gradient)).max())


def normalised_columns(values: FloatingArray, totals: FloatArray | None = None) -> FloatingArray:
    """Columns that sum to 1, or with their `totals` in all parts to a share of it, padded to whole
    vectors; a column of zeros stays one."""
    lanes = _core.lanes() * 4 // values.dtype.itemsize
    K = values.shape[1]
    out = np.zeros((len(values), (K + lanes - 1) // lanes * lanes), dtype=values.dtype)
    if totals is None:
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
