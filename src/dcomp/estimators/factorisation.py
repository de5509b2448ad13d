"""The cousins of DCA under the names that users know: point estimates without priors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dcomp.estimators.dca import DCA
from dcomp.inference import MapEM
from dcomp.inference.run import Callback


class PLSA(DCA):
    """Probabilistic latent semantic analysis: w ~ Multinomial(L, Θm), no priors; B18 (5.5)–(5.8).

    The maximum of the likelihood by EM: DCA with model "DM", α = γ = 1 and both at their modes,
    which is also non-negative matrix factorisation under the Kullback-Leibler loss, rescaled (BJ06
    Lemma 2). New documents are folded in by the same EM with Θ given. Nothing keeps Θ from zeros: a
    new document with a word that no component has seen is all but impossible. `LDA` is the same
    model with priors.

    Parameters
    ----------
    n_components : K, the number of components.
    blocks : block id per feature, for multivariate data; loadings sum to 1 within each.
    max_inner : updates of a document's scores per sweep.
    max_iter, tol : sweeps at most; EM stops when the log-likelihood's relative change falls below
        tol.
    n_chains, n_jobs, random_state, warm_start, callbacks, verbose : as in DCA.

    >>> model = PLSA(2, verbose=0).fit([[4, 3, 0], [0, 1, 6], [5, 2, 1]])
    >>> model.components_.sum(axis=1).round(5)
    array([1., 1.], dtype=float32)
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        blocks: Any = None,
        max_inner: int = 3,
        max_iter: int = 200,
        tol: float = 1e-4,
        n_chains: int = 1,
        n_jobs: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        callbacks: Sequence[Callback] = (),
        verbose: int = 1,
    ) -> None:
        super().__init__(
            n_components,
            alpha=1.0,
            gamma=1.0,
            blocks=blocks,
            max_iter=max_iter,
            tol=tol,
            n_chains=n_chains,
            n_jobs=n_jobs,
            random_state=random_state,
            warm_start=warm_start,
            callbacks=callbacks,
            verbose=verbose,
        )
        self.max_inner = max_inner

    def _algorithm(self) -> MapEM:
        return MapEM(loadings="map", max_inner=self.max_inner)
