"""CTM, the correlated topic model: which components come together in documents, and which apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from dcomp.errors import InvalidParameter
from dcomp.estimators.dca import DCA
from dcomp.inference.run import Callback
from dcomp.result.checkpoints import CheckpointLike


class CorrelationEdge(NamedTuple):
    """Two components, the lower number first, and their correlation."""

    first: int
    second: int
    correlation: float


class CTM(DCA):
    """Correlated topic model: η ~ N(μ0, Σ0), m = softmax(η), words from Θm; B18 §7, MODELS §3.

    DCA with model "LN", which learns μ0 and Σ0 by Laplace mean field, and text's own prior for the
    loadings, γ = 0.05. Scores are softmax(η) at the mode of η; `fit_.fold_in` has η and its
    variances, `covariance` each document's whole Σ_d. Laplace's method gives no lower bound: the
    history's objective need not rise in every sweep.

    Parameters
    ----------
    n_components : K, the number of components.
    shrinkage : how far Σ0 is drawn to independent components with the same variances, from 0 to 1;
        "auto" for the share that Σ0's own sampling error suggests.
    mu0, Sigma0 : mean and covariance of η: "auto" is learned; a μ0 (a number or one per component)
        or a Σ0 (a variance, one per component, or a matrix) is centred and held.
    gamma : prior of the loadings: a number, J numbers, or "empirical".
    loadings : treatment of Θ: "mean", "map" or "vb"; None for the default, "vb".
    learn_loadings : whether Θ is learned along; False holds it as it is at the start.
    start : where the components begin: "collapsed-gibbs" (the default) or "mean-field" (that of
        fractional counts), in a short fit of LDA by these; "seeded", in single documents.
    blocks, fractional, max_iter, tol, n_chains, n_jobs, random_state, warm_start, callbacks,
    checkpoint, verbose : as in DCA.

    Attributes
    ----------
    correlation_ : (K, K), correlations between components; see `correlation_graph` for the list.
    components_, fit_, history_, n_iter_ : as in DCA.

    >>> X = [[4, 3, 0, 0], [5, 2, 0, 1], [0, 0, 6, 3], [0, 1, 4, 4]]
    >>> model = CTM(2, verbose=0).fit(X)
    >>> model.transform(X).sum(axis=1).round(5)
    array([1., 1., 1., 1.], dtype=float32)
    """

    _fixed: ClassVar[Mapping[str, Any]] = {"model": "LN", "algorithm": "laplace"}

    def __init__(
        self,
        n_components: int = 10,
        *,
        shrinkage: Any = 0.0,
        mu0: Any = "auto",
        Sigma0: Any = "auto",
        gamma: Any = 0.05,
        seed_words: Any = None,
        seed_strength: float | None = None,
        fixed: Any = None,
        loadings: str | None = None,
        learn_loadings: bool = True,
        start: str | None = None,
        blocks: Any = None,
        fractional: bool = False,
        max_iter: int | None = None,
        tol: float = 0.05,
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
            model="LN",
            gamma=gamma,
            seed_words=seed_words,
            seed_strength=seed_strength,
            fixed=fixed,
            loadings=loadings,
            start=start,
            blocks=blocks,
            fractional=fractional,
            max_iter=max_iter,
            tol=tol,
            n_chains=n_chains,
            n_jobs=n_jobs,
            random_state=random_state,
            warm_start=warm_start,
            callbacks=callbacks,
            checkpoint=checkpoint,
            verbose=verbose,
        )
        self.shrinkage = shrinkage
        self.mu0 = mu0
        self.Sigma0 = Sigma0
        self.learn_loadings = learn_loadings

    @property
    def correlation_(self) -> npt.NDArray[np.float64]:
        """Correlations (K, K) of the components over documents, on the scale of the centred η: log
        shares less their mean. Independent components have about −1/(K − 1) for that centring."""
        check_is_fitted(self, "fit_")
        scores: Any = self.fit_.model.scores
        value: npt.NDArray[np.float64] = scores.correlation()
        return value

    def covariance(self, X: Any) -> npt.NDArray[np.float64]:
        """Σ_d of each document, (I, K, K): how sure its centred η is, and which components it could
        trade for one another (B18 (7.9)). Rows sum to 0; the diagonal is that of `fit_.fold_in`.

        >>> X = [[4, 3, 0, 0], [5, 2, 0, 1], [0, 0, 6, 3], [0, 1, 4, 4]]
        >>> model = CTM(3, verbose=0).fit(X)
        >>> model.covariance(X).shape, bool(np.allclose(model.covariance(X).sum(axis=1), 0))
        ((4, 3, 3), True)
        """
        check_is_fitted(self, "fit_")
        counts = self._counts(X)
        scores: Any = self.fit_.model.scores
        folded: Any = self.fit_.fold_in(counts, n_jobs=self.n_jobs)
        value: npt.NDArray[np.float64] = scores.covariances(folded.eta, counts.doc_totals)
        return value

    def correlation_graph(self, threshold: float = 0.1) -> list[CorrelationEdge]:
        """Pairs of components whose correlation is at least `threshold` in size, strongest first.

        >>> rng = np.random.default_rng(0)
        >>> model = CTM(3, verbose=0).fit(rng.poisson(2.0, (40, 9)))
        >>> [edge.first < edge.second for edge in model.correlation_graph(threshold=0.0)]
        [True, True, True]
        """
        if not 0 <= threshold <= 1:
            raise InvalidParameter(f"threshold must lie in [0, 1]; got {threshold!r}")
        value = self.correlation_
        first, second = np.triu_indices(len(value), k=1)
        size = np.abs(value[first, second])
        order = np.argsort(-size, kind="stable")
        return [
            CorrelationEdge(int(first[p]), int(second[p]), float(value[first[p], second[p]]))
            for p in order
            if size[p] >= threshold
        ]
