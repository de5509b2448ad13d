"""partial_fit and update: estimators that go on with documents they have not seen."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dcomp import registry
from dcomp.data import Counts
from dcomp.errors import DcompError, InvalidParameter
from dcomp.inference import StochasticMeanField
from dcomp.recipe import Recipe
from dcomp.result import Fit
from dcomp.result.stream import as_stream, enlarged, first_batch, next_batch
from dcomp.result.update import update

_STEPS = StochasticMeanField.name


def _takes_batches(estimator: Any) -> bool:
    """Whether its model has the algorithm, and it was told no other."""
    given = estimator._given()
    algorithm, model = given.get("algorithm"), given.get("model")
    name = algorithm if isinstance(algorithm, str) else getattr(algorithm, "name", None)
    key = model if isinstance(model, str) else getattr(model, "key", None)
    if name not in ("auto", _STEPS) or not isinstance(key, str):
        return False
    try:
        named = registry.named_model(key)
    except DcompError:
        return False
    return not named.algorithms and _STEPS in registry.supported()[named.key]


class StreamingMixin:
    """What an estimator does with documents that come later."""

    fit_: Fit

    @available_if(_takes_batches)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None, *, exposure: Any = None) -> Self:
        """Go on with a batch of documents, by steps of stochastic mean field; y is ignored.

        The first batch seeds the components: let it be a few hundred documents at least. Batches
        may be of any size; large ones are cut into steps (`batch_size` of the algorithm). Features
        with names are matched by these, and new ones join the vocabulary. `fit_` is of the last
        batch's documents, its loadings and priors of all so far. `fit` begins anew; after it, steps
        go on from what it found. A stream forgets: every step moves the loadings towards its batch
        by (delay + t)^−forgetting, however few documents that has. A few new documents are better
        given to `update`.

        >>> import dcomp
        >>> model = dcomp.LDA(2, verbose=0).partial_fit([["cat", "dog", "cat"], ["sun", "moon"]])
        >>> model.partial_fit([["dog", "cat"], ["moon", "star"]]).fit_.features.names
        ('cat', 'dog', 'moon', 'sun', 'star')
        """
        own: Any = self
        earlier: Fit | None = getattr(self, "fit_", None)
        counts = self._batch(X, earlier)
        if earlier is None:
            given = own._given() | {"algorithm": self._steps()}
            recipe = Recipe.from_options(**given).resolve(counts)
            told = recipe.settings
            rule = told.exposure if exposure is None else exposure
            how: Any = {"exposure": rule, "seed": told.seed, "n_jobs": own.n_jobs}
            self.fit_ = first_batch(counts, recipe.model, recipe.algorithm, **how)
        else:
            before = as_stream(earlier)
            self.fit_ = next_batch(before, counts, exposure=exposure, n_jobs=own.n_jobs)
        self._remember(self.fit_)
        return self

    def update(self, X: Any, y: Any = None, *, counts: Any = None, exposure: Any = None) -> Self:
        """Add documents to the fit, whatever algorithm of DM, GP or CGP it is by; y is ignored.

        Given X alone, what was learned is the prior of a fit of X: `fit_` is of the documents X,
        its loadings of all. It takes the time of X. With `counts`, what was fitted before, all
        documents are swept from where they are, a sampler's anew, and `fit_` is of them all
        (docs/algorithms/stochastic-mean-field.md). Features are matched by name, and new ones join.

        >>> import dcomp
        >>> old, new = [[4, 3, 0], [0, 1, 6]], [[3, 2, 0]]
        >>> dcomp.LDA(2, verbose=0).fit(old).update(new).fit_.scores.shape
        (1, 2)
        >>> dcomp.LDA(2, verbose=0).fit(old).update(new, counts=old).fit_.scores.shape
        (3, 2)
        """
        own: Any = self
        check_is_fitted(own, "fit_")
        batch = self._batch(X, self.fit_)
        told = own.recipe.settings()
        how: Any = {"max_iter": told.max_iter, "tol": told.tol, "n_jobs": own.n_jobs}
        if counts is not None:
            counts = own._counts(counts)
        self.fit_ = update(self.fit_, batch, counts=counts, exposure=exposure, **how)
        self._remember(self.fit_)
        return self

    def _steps(self) -> Any:
        own: Any = self
        return own.algorithm if not isinstance(own.algorithm, str) else _STEPS

    def _batch(self, X: Any, earlier: Fit | None) -> Counts:
        """The counts of a batch; of one that names its features, with those that are new."""
        own: Any = self
        if own.allowed is not None:
            raise InvalidParameter(
                "allowed= is of the documents of one fit; partial_fit and update take documents "
                "that may use all components"
            )
        counts: Counts
        known = (getattr(self, "n_features_in_", None), getattr(self, "feature_names_in_", None))
        if earlier is None or known[1] is None:
            counts = own._counts(X, reset=earlier is None)
            return counts
        del own.feature_names_in_  # new ones may be among them
        try:
            counts = own._counts(X, reset=True)
        finally:
            own.n_features_in_, own.feature_names_in_ = known
        enlarged(earlier.features, counts.features)  # an error where that cannot be
        return counts

    def _remember(self, fit: Fit) -> None:
        """What scikit-learn asks of an estimator that was fitted."""
        own: Any = self
        own.n_iter_, own.n_features_in_ = fit.n_sweeps, fit.features.n_features
        if fit.features.names is not None and hasattr(own, "feature_names_in_"):
            own.feature_names_in_ = np.array(fit.features.names, dtype=object)
