"""The cousins of DCA under the names that users know: point estimates without priors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from dcomp import validation
from dcomp.data import Counts, FeatureSpace
from dcomp.errors import (
    ConvergenceWarning,
    InvalidCounts,
    InvalidParameter,
    UnsupportedCombination,
    warn,
)
from dcomp.estimators.dca import DCA
from dcomp.evaluate import HeldOut
from dcomp.inference.base import Climber, Info
from dcomp.inference.least_squares import (
    Factors,
    factorise,
    scores_given,
    signed_scores_given,
)
from dcomp.inference.losses import half_squares, kullback_leibler
from dcomp.inference.run import LIMIT, Callback
from dcomp.inference.stopping import recent_gain
from dcomp.models import Observations
from dcomp.models.arrays import component_count
from dcomp.models.memory import require_memory
from dcomp.recipe import Recipe
from dcomp.result import TopFeatures, Trace
from dcomp.result.checkpoints import CheckpointLike
from dcomp.result.fitting import chain_seeds
from dcomp.result.progress import progress


class PLSA(DCA):
    """Probabilistic latent semantic analysis: w ~ Multinomial(L, Θm), no priors; B18 (5.5)–(5.8).

    The maximum of the likelihood by EM: DCA with model "DM", α = γ = 1 and both at their modes,
    which is also non-negative matrix factorisation under the Kullback-Leibler loss, rescaled (BJ06
    Lemma 2). With `held_out` EM is tempered (Hofmann's annealed EM, BJ06 VII.D) and overfits less;
    `temper_` says how much. New documents are folded in by the same EM with Θ given. Nothing keeps
    Θ from zeros: a new document with a word that no component has seen is all but impossible. `LDA`
    is the same model with priors.

    Parameters
    ----------
    n_components : K, the number of components.
    blocks : block id per feature, for multivariate data; loadings sum to 1 within each.
    fractional : as in DCA.
    held_out : the share of every document's tokens that tempered EM holds out, such as 0.1, to say
        when to stop; 0 for plain EM, which fits the training documents as well as it can.
    max_inner : updates of a document's scores per sweep.
    max_iter, tol : sweeps at most; it ends when less than tol nats per document are left to gain.
    n_tries, n_chains, n_jobs, random_state, warm_start, callbacks, checkpoint, verbose : as in DCA.

    >>> model = PLSA(2, verbose=0).fit([[4, 3, 0], [0, 1, 6], [5, 2, 1]])
    >>> model.components_.sum(axis=1).round(5)
    array([1., 1.], dtype=float32)
    """

    _fixed: ClassVar[Mapping[str, Any]] = {"model": "DM", "alpha": 1.0, "gamma": 1.0}

    def __init__(
        self,
        n_components: int = 10,
        *,
        blocks: Any = None,
        held_out: float = 0.0,
        max_inner: int = 3,
        fractional: bool = False,
        max_iter: int | None = None,
        tol: float = 0.05,
        n_tries: int | str | None = None,
        n_chains: int = 1,
        n_jobs: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        callbacks: Sequence[Callback] = (),
        checkpoint: CheckpointLike = None,
        verbose: int = 1,
    ) -> None:
        super().__init__(
            n_components,
            alpha=1.0,
            gamma=1.0,
            blocks=blocks,
            fractional=fractional,
            max_iter=max_iter,
            tol=tol,
            n_tries=n_tries,
            n_chains=n_chains,
            n_jobs=n_jobs,
            random_state=random_state,
            warm_start=warm_start,
            callbacks=callbacks,
            checkpoint=checkpoint,
            verbose=verbose,
        )
        self.held_out = held_out
        self.max_inner = max_inner

    @property
    def temper_(self) -> float:
        """β of the tempered EM that was chosen; 1 for plain EM."""
        return self.fit_.temper

    def _given(self) -> dict[str, Any]:
        given = super()._given()
        if self.held_out:
            return given | {"algorithm": "tempered-em"}
        del given["held_out"]
        return given | {"algorithm": "map", "loadings": "map"}


LOSSES = ("kullback-leibler", "squared")
_SOLVERS = {
    "kullback-leibler": ("coordinate-descent", "multiplicative"),
    "squared": ("coordinate-descent", "projected", "signed"),
}


def _has_likelihood(model: NMF) -> bool:
    if model._is_squared:
        raise AttributeError(
            "the squared loss is no likelihood and has no held-out score; use "
            "loss='kullback-leibler'"
        )
    return True


_Method = TypeVar("_Method", bound=Callable[..., Any])
_of_a_likelihood: Callable[[_Method], _Method] = available_if(_has_likelihood)


def _warn_of_limit(max_iter: int, tol: float, history: Sequence[Info]) -> None:
    """That the sweeps of least squares were not enough."""
    warn(
        f"least squares reached max_iter = {max_iter} before it came to rest within tol = {tol:g} "
        "nats per document (the last {} sweeps gained {:.2g}); raise max_iter or tol".format(
            *recent_gain(history)
        ),
        ConvergenceWarning,
        stacklevel=3,
    )


class NMF(DCA):
    """Non-negative matrix factorisation: X ≈ L Θᵀ, nothing negative; B18 (2.9), BJ06 Lemma 2.

    loss "kullback-leibler": Σ x log(x/y) − x + y, y = L Θᵀ, which is the likelihood of Poisson
    counts: DCA with model "GP" without priors (α = 1, β = 0, γ = 1), with everything that a Fit
    offers. X must hold counts, or with `fractional` any numbers of at least 0. loss "squared":
    ½ Σ (x − y)², for any numbers of at least 0, such as weighted counts; it is no likelihood, so
    there is no `fit_` and no held-out score.

    `fit_transform` and `transform` give L with `L @ components_` ≈ X; rows of `components_` sum to
    1, and `dcomp.models.equivalence.probabilities` makes shares of L (B18 (2.10)). With
    `exposure="total"` L is divided by each document's length: `L @ components_` ≈ shares of
    features, the no-prior normalised fit of C04 3.1. With `solver="signed"` numbers may be
    negative, and nothing is normalised: B18 A.1.

    Parameters
    ----------
    n_components : K, the number of components.
    loss : "kullback-leibler" or "squared".
    solver : "auto" or "coordinate-descent", which is fast and never raises the loss;
        "multiplicative" (Lee and Seung, for Kullback-Leibler), "projected" (alternating solves with
        negative numbers set to 0, B18 A.2, for squared; the best sweep is kept), "signed" (the
        same solves as they are, (2.3) and (2.4) of B18 A.1, for tables of any sign; least squares
        whatever `loss` says). Its minimum is that of `LSA`, up to a turn of the components.
    exposure : of the Kullback-Leibler loss: None, "total", or an array (I,), all positive.
    fractional : whether counts need not be whole; the squared loss takes any numbers.
    max_iter, tol : sweeps at most; it ends when less than tol nats per document are left to gain.
        Of the squared loss these are nats of the Gaussian likelihood with the residual's own
        variance: with J features, the loss will fall by less than 2 tol / J of itself.
    n_tries : of the Kullback-Leibler loss, as in DCA.
    n_chains : runs from different starts; the best is kept.
    n_jobs : threads, of the Kullback-Leibler loss; None for all cores. The answer does not depend
        on it. The squared loss runs on NumPy's own.
    random_state, callbacks, verbose : as in DCA. checkpoint : the same, of the Kullback-Leibler
        loss.
    warm_start : go on from the previous fit of the same data.

    Attributes
    ----------
    components_ : (K, J), rows sum to 1; of "signed" B as it is.
    loss_ : the loss of `components_` with the scores that `fit_transform` gives.
    history_ : one row per sweep; `residual` is the largest breach of the conditions of a minimum
        (Karush, Kuhn, Tucker), zero at one.
    fit_ : the Fit, of the Kullback-Leibler loss.
    n_iter_, n_features_in_, feature_names_in_ : as in scikit-learn.

    >>> X = np.array([[4, 6, 0, 2], [0, 0, 4, 8], [6, 9, 1, 5], [2, 3, 3, 7]])
    >>> model = NMF(2, verbose=0)
    >>> L = model.fit_transform(X)
    >>> bool(np.abs(L @ model.components_ - X).max() < 0.1)
    True
    """

    _fixed: ClassVar[Mapping[str, Any]] = {
        "model": "GP",
        "algorithm": "ml",
        "alpha": 1.0,
        "beta": 0.0,
        "gamma": 1.0,
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        loss: str = "kullback-leibler",
        solver: str = "auto",
        exposure: Any = None,
        fractional: bool = False,
        max_iter: int | None = None,
        tol: float = 0.05,
        n_tries: int | str | None = None,
        n_chains: int = 1,
        n_jobs: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        callbacks: Sequence[Callback] = (),
        checkpoint: CheckpointLike = None,
        verbose: int = 1,
    ) -> None:
        super().__init__(
            n_components,
            model="GP",
            alpha=1.0,
            beta=0.0,
            gamma=1.0,
            exposure=exposure,
            fractional=fractional,
            max_iter=max_iter,
            tol=tol,
            n_tries=n_tries,
            n_chains=n_chains,
            n_jobs=n_jobs,
            random_state=random_state,
            warm_start=warm_start,
            callbacks=callbacks,
            checkpoint=checkpoint,
            verbose=verbose,
        )
        self.loss = loss
        self.solver = solver

    def fit(self, X: Any, y: Any = None, *, feature_names: Any = None) -> Self:
        """Factorise a table, dense or sparse; counts, for the Kullback-Leibler loss, and then with
        `feature_names` of an array."""
        solver = self._solver()
        if self._is_squared:
            if feature_names is not None:
                raise InvalidParameter(
                    "feature_names= are of counts; give the loss 'squared' a frame"
                )
            return self._fit_squared(X, solver)
        return super().fit(X, feature_names=feature_names)

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> npt.NDArray[Any]:
        """Fit, then L (I, K) of the same documents, whose loss is `loss_`: `fit_.scores`, however
        the fit ended; of the squared loss what `transform` gives."""
        if self._is_squared or params:
            return self.fit(X, y).transform(X, **params)
        return self.fit(X, y).fit_.scores.copy()

    def transform(self, X: Any, exposure: Any = None, method: str = "auto") -> npt.NDArray[Any]:
        """L (I, K) of least loss for documents with the components given."""
        if not self._is_squared:
            return super().transform(X, exposure, method)
        check_is_fitted(self, "_factors")
        if exposure is not None or method != "auto":
            raise UnsupportedCombination("exposure= and method= are for loss='kullback-leibler'")
        return self._least_squares(self._table(X))

    def _least_squares(self, table: Any) -> npt.NDArray[Any]:
        B = self._factors.B
        if self._is_signed:
            return signed_scores_given(table, B).astype(np.float32)
        return np.asarray(scores_given(table, B) * B.sum(axis=1), dtype=np.float32)

    @_of_a_likelihood
    def completion(self, X: Any, exposure: Any = None, seed: int = 0) -> HeldOut:
        """Document completion on held-out documents, with its standard error."""
        return super().completion(X, exposure, seed)

    @_of_a_likelihood
    def score(self, X: Any, y: Any = None) -> float:
        """Held-out log-likelihood per token by document completion; higher is better."""
        return super().score(X, y)

    @_of_a_likelihood
    def perplexity(self, X: Any) -> float:
        """exp(−score); lower is better."""
        return super().perplexity(X)

    def top_features(
        self,
        n: int = 10,
        block: int | str | None = None,
        *,
        by: str = "probability",
        weight: float | None = None,
    ) -> TopFeatures:
        """The first n features of each component; with the loss "squared" by their loadings alone,
        which are no probabilities."""
        if not self._is_squared:
            return super().top_features(n, block, by=by, weight=weight)
        check_is_fitted(self, "_factors")
        if by != "probability" or weight is not None:
            raise UnsupportedCombination(
                f"{by} is of probabilities, and least squares has none: leave out by=, or fit with "
                "loss='kullback-leibler'"
            )
        names = getattr(self, "feature_names_in_", None)
        features = FeatureSpace.build(self.n_features_in_, names)
        return TopFeatures.build(self.components_.T, features, n, block)

    @property
    def loss_(self) -> float:
        """Σ x log(x/y) − x + y, or ½ Σ (x − y)², with y of `components_` and of the scores of the
        documents that were fitted."""
        return self._loss

    @property
    def components_(self) -> npt.NDArray[Any]:
        """Loadings (K, J)."""
        if not self._is_squared:
            return super().components_
        B = self._factors.B
        if self._is_signed:
            return B.astype(np.float32)
        return np.asarray(B / np.maximum(B.sum(axis=1, keepdims=True), 1e-300), dtype=np.float32)

    @property
    def history_(self) -> Trace:
        """One row per sweep."""
        return Trace(self._factors.history) if self._is_squared else super().history_

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    @property
    def _is_squared(self) -> bool:
        if self.loss not in LOSSES:
            raise InvalidParameter(f"loss must be one of {', '.join(LOSSES)}; got {self.loss!r}")
        return self.loss == "squared" or self._is_signed

    @property
    def _is_signed(self) -> bool:
        return self.solver == "signed"

    def _solver(self) -> str:
        solvers = _SOLVERS["squared" if self._is_squared else self.loss]
        if self.solver not in ("auto", *solvers):
            raise InvalidParameter(
                f"solver must be auto, {' or '.join(solvers)} for loss={self.loss!r}; got "
                f"{self.solver!r}"
            )
        return solvers[0] if self.solver == "auto" else self.solver

    @property
    def recipe(self) -> Recipe:
        """What the parameters say, as options of a fit; least squares is none."""
        if self._is_squared:
            raise UnsupportedCombination(
                "the squared loss is no likelihood and has no Fit; use loss='kullback-leibler'"
            )
        return super().recipe

    def _given(self) -> dict[str, Any]:
        return super()._given() | {"solver": self._solver()}

    def _look_back(self, counts: Counts) -> None:
        fitted = self.fit_
        observed = Observations(counts, fitted.exposure)
        self._loss = kullback_leibler(observed, fitted.scores, fitted.Theta)

    def _fit_squared(self, X: Any, solver: str) -> Self:
        if self.exposure is not None:
            raise UnsupportedCombination(
                "exposure= is for loss='kullback-leibler', the likelihood of Poisson counts"
            )
        if self.n_tries is not None:
            raise UnsupportedCombination(
                f"n_tries= is for loss='kullback-leibler'; got {self.n_tries!r} for least squares, "
                "of which n_chains= runs several from different starts"
            )
        if self.checkpoint is not None:
            raise UnsupportedCombination(
                "checkpoint= is for loss='kullback-leibler'; least squares keeps none"
            )
        table = self._table(X, reset=True)
        K = component_count(validation.whole_number("n_components", self.n_components, 1))
        n_docs, n_features = table.shape
        require_memory(n_docs, n_features, K)
        n_chains = validation.whole_number("n_chains", self.n_chains, 1)
        earlier = getattr(self, "_factors", None) if self.warm_start else None
        start = None if earlier is None else earlier.Z
        seeds = chain_seeds(validation.resolve_seed(self.random_state), n_chains)
        given = Climber.usual_sweeps if self.max_iter is None else self.max_iter
        max_iter = validation.whole_number("max_iter", given, 1)
        with progress(self.verbose, max_iter, f"NMF squared K={K}") as bars:
            found: list[Factors] = [
                factorise(
                    table,
                    K,
                    solver,
                    start=start,
                    max_iter=max_iter,
                    tol=self.tol,
                    seed=seed,
                    callbacks=[*bars, *self.callbacks],
                )
                for seed in seeds
            ]
        self._factors = min(found, key=lambda factors: factors.loss)
        self._loss = half_squares(table, self._least_squares(table), self.components_)
        self.n_iter_ = len(self._factors.history)
        if self._factors.reason == LIMIT and self.tol > 0:
            _warn_of_limit(max_iter, self.tol, self._factors.history)
        return self

    def _table(self, X: Any, reset: bool = False) -> Any:
        """Any table of numbers, none below 0 unless the solver is "signed"."""
        table = X.to_scipy() if isinstance(X, Counts) else X
        table = validate_data(
            self, table, accept_sparse=("csr", "csc"), dtype=np.float64, reset=reset
        )
        stored: Any = table
        values = np.asarray(stored.data if sparse.issparse(table) else table)
        if not self._is_signed and values.size and values.min() < 0:
            raise InvalidCounts(
                f"Negative values in data passed to NMF: numbers must be at least 0; found "
                f"{values.min():g}"
            )
        if isinstance(X, Counts) and reset and X.features.names is not None:
            self.feature_names_in_ = np.array(X.features.labels, dtype=object)
        return table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = not self._is_signed
        return tags
