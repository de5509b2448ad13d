"""Maximum likelihood without priors: non-negative factorisation under the Kullback-Leibler loss.

The GP model with α = 1, β = 0, γ = 1 at its mode is the maximum of p(W | L, Θ), Poisson, and so the
factorisation W ≈ L Θᵀ of least Kullback-Leibler divergence (BJ06 Lemma 2; MODELS §8 says why not
α = β = 0). One sweep solves for all documents with Θ given, then for all features with the scores
given, by the multiplicative updates of Lee and Seung or by coordinate descent; both in
`reference.kl_nmf`. Everything is in words: c holds e_i l_ik, n holds θ_jk Σ_i c_ik.

Of DM, and where features come in several blocks, the maximum is found by EM (`likelihood_em`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from dcomp import _core
from dcomp.errors import InvalidParameter, NumericalFailure, UnsupportedCombination
from dcomp.executors import Executor, LocalExecutor
from dcomp.inference.base import Climber, FloatingArray, Info, share_change
from dcomp.inference.likelihood_em import em_sweep, is_by_em
from dcomp.inference.map_em import check_flat
from dcomp.inference.options import N_TRIES, SOLVER, START
from dcomp.inference.path import Path
from dcomp.inference.spectral import check_climb_start, check_tries, climb_state
from dcomp.inference.state import Carried, Local, State
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray, read_only
from dcomp.models.options import Option

SOLVERS = ("coordinate-descent", "multiplicative")
_SETTLING = 20  # rounds that let documents come to rest


@dataclass(frozen=True)
class MaximumLikelihood(Climber):
    """The maximum of p(W | L, Θ); no sweep lowers it.

    solver: "coordinate-descent", or "multiplicative" (Lee and Seung); of GP with one block of
    features. All else is solved by EM, whose updates are multiplicative whatever this says.
    max_rounds, round_tol: rounds of coordinate descent per document or feature and sweep, at most
    and until Σ|Δ| ≤ tol·(its words).
    start, n_tries: as in MeanField.

    >>> MaximumLikelihood().name
    'ml'
    """

    solver: str = "coordinate-descent"
    max_rounds: int = 2
    round_tol: float = 1e-3
    dtype: str = "float32"
    start: str = "auto"
    n_tries: int | str = "auto"

    name: ClassVar[str] = "ml"
    objective_name: ClassVar[str] = "log likelihood"
    mode: ClassVar[str] = "maximise"  # of a new document, too
    estimates: ClassVar[str] = "likelihood"
    options: ClassVar[tuple[Option, ...]] = (SOLVER, START, N_TRIES)
    is_plain: ClassVar[bool] = True
    divides_words: ClassVar[bool] = False  # factors meet the totals at the maximum only
    must_carry: ClassVar[bool] = False  # a fit of few sweeps carries nothing yet

    def __post_init__(self) -> None:
        check_climb_start(self.start)
        check_tries(self.n_tries)
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
        model.loadings.check(observed.counts.n_features, model.n_components)
        check_flat(model, self.name)
        if model.loadings.learned:
            raise UnsupportedCombination(
                "gamma='auto' is learned by gibbs and collapsed-gibbs, not ml"
            )
        by_em = is_by_em(model, observed.counts.features)
        if not by_em and (model.loadings.is_own or observed.allowed is not None):
            raise UnsupportedCombination(
                f"ml factorises the whole table of model {model.key}: what is known beforehand "
                "(gamma of two axes, seed_words=, fixed=, allowed=) needs map, mean-field or a "
                "sampler, or model DM with blocks"
            )
        if len(observed.parts) > 1 and self.solver == SOLVERS[0] and not by_em:
            raise UnsupportedCombination(
                "coordinate descent solves for a feature with all documents at hand, and these "
                f"counts are in {len(observed.parts)} parts: give solver='multiplicative', whose "
                "sums add over parts, or one part"
            )
        executor = executor or LocalExecutor(1)
        return climb_state(self.start, model, observed, seed, self.dtype, executor)

    def step(self, observed: Observations, state: State, executor: Executor) -> tuple[State, Info]:
        """One sweep: documents, then features."""
        if is_by_em(state.model, observed.counts.features):
            return self._em_step(observed, state, executor)
        parts, sweep = observed.parts, state.sweep + 1
        of_documents = _Half(self, normalised_columns(state.n))
        half, first = executor.map_reduce(_solve_documents, parts, state.locals, of_documents)
        start = state.n * _ratio(first.totals, state.n)
        of_features = _Half(self, start, first.totals)
        after, second = executor.map_reduce(_solve_features, parts, half, of_features)
        n = second.n
        if len(parts) > 1:  # a part knows its own share of a gradient only
            second = replace(second, sums=replace(second.sums, residual=_breach(start, n)))
        total, whole = float(n.sum(dtype=np.float64)), second.sums
        objective = (whole.after if self.solver == SOLVERS[0] else whole.before) - total
        if not np.isfinite(objective):
            raise NumericalFailure(
                f"the log likelihood must be finite; it is {objective} in sweep {sweep}"
            )
        info = FactorInfo(
            sweep,
            objective,
            objective,
            (first.sums.rounds + whole.rounds) / 2,
            shares=first.shares,
            residual=max(first.sums.residual, whole.residual),
        )
        shared = replace(state.shared, n=read_only(n), sweep=sweep)
        return replace(state, shared=shared, locals=after), info

    def _em_step(
        self, observed: Observations, state: State, executor: Executor
    ) -> tuple[State, Info]:
        swept = em_sweep(observed, state, executor, settles=self.max_rounds >= _SETTLING)
        info = FactorInfo(
            swept.state.sweep,
            swept.objective,
            swept.objective,
            swept.updates,
            shares=swept.shares,
            residual=swept.residual,
        )
        return swept.state, info

    @property
    def treatment(self) -> str:
        """θ ∝ n."""
        return "map"

    def info_type(self, model: Model) -> type[Info]:
        """With the residual."""
        return FactorInfo

    def settling(self) -> Self:
        """Itself with documents that come to rest in every sweep."""
        return replace(self, max_rounds=max(self.max_rounds, _SETTLING), round_tol=1e-5)

    def judging(self) -> Self:
        """Itself by multiplicative updates, whose objective is of the loadings that a sweep begins
        with; that of coordinate descent is of the new ones."""
        return replace(self, solver=SOLVERS[1], max_rounds=1)

    def carried_type(self, model: Model) -> type[Carried]:
        """Where its climb stands."""
        return Path

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


@dataclass(frozen=True, kw_only=True)
class FactorInfo(Info):
    """A row of maximum likelihood, with the largest breach of the conditions of a maximum (Karush,
    Kuhn, Tucker) over scores and loadings: |min(x, 1 − g)| of x words with the slope g of the
    likelihood per word. 0.01 says that no number that holds a word or more would change by more
    than a hundredth of itself in a step of EM, and that no smaller one would gain."""

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
    totals: FloatArray | None = None  # (K): words of all documents


@dataclass(frozen=True)
class _Documents:
    """What the documents' half adds up to."""

    totals: FloatArray  # (K): words of all documents
    sums: _Sums
    shares: float  # the largest change of a document's share

    def __add__(self, other: _Documents) -> _Documents:
        shares = max(self.shares, other.shares)
        return _Documents(self.totals + other.totals, self.sums + other.sums, shares)


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
    """The documents of a part with Θ given."""
    c, sums = how.algorithm.solve(part.corpus, how.given, local.c, n_threads)
    shares = share_change(local.c, c, part.doc_totals)
    after = replace(local, c=read_only(c))
    return after, _Documents(c.sum(axis=0, dtype=np.float64), sums, shares)


def _solve_features(
    part: Observations, local: Local, how: _Half, n_threads: int
) -> tuple[Local, _Features]:
    """All features with a part's scores given."""
    given = normalised_columns(local.c, how.totals)
    n, sums = how.algorithm.solve(part.by_feature, given, how.given, n_threads)
    return local, _Features(n, sums)


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


def _ratio(totals: Any, values: FloatingArray) -> FloatingArray:
    """What brings the columns of `values` to `totals`."""
    ratio: FloatingArray = totals * _reciprocal(values.sum(axis=0, dtype=np.float64))
    return ratio.astype(values.dtype)


def _reciprocal(totals: Any) -> Any:
    return np.divide(1.0, totals, where=totals > 0, out=np.zeros_like(totals))
