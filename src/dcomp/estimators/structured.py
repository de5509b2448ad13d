"""StructuredDCA: leaf components that share nodes above them, given or found by hill climbing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from dcomp.estimators.dca import DCA
from dcomp.evaluate import EdgeStability, Hierarchy, edge_stability
from dcomp.inference import Algorithm, Move
from dcomp.inference.keep import DRAW_BUDGET
from dcomp.inference.pairs import PairCounts
from dcomp.inference.run import Callback
from dcomp.inference.structure_search import as_moves
from dcomp.models import Structure
from dcomp.result.checkpoints import CheckpointLike


class StructuredDCA(DCA):
    """Structured components: a word takes a leaf c by its document's scores, a node h with
    probability υ_ch, and a feature from θ_h; B09.

    The scores of the K leaves are those of DM, GP or CGP. Υ is one for the corpus or one for each
    document, with a Dirichlet for every leaf's nodes (B09 (3), (5)) or a probability of stopping at
    every node of a tree (B09 (1), (4)). Fitted by collapsed Gibbs sampling, B09 (7), (8), (9), 5.3.

    Parameters
    ----------
    n_components : K, the number of leaves; 10 unless a structure says it.
    structure : "shared" or "document": rows of Υ from a Dirichlet, of the corpus or of each
        document; "phi" or "document-phi": υ_ch = φ_h Π (1 − φ) above h, in a strict tree.
    leaves : the scores of leaves, "DM", "GP" or "CGP".
    tree : a `dcomp.models.Tree` or `Structure`, the parent of each node (−1 at the top, of which
        there may be several), or names within names. Its leaves come first in `structure_`.
    mask : in place of a tree, a table of leaves × nodes, dense or sparse, not zero where a leaf may
        use a node: any pattern, the first K nodes being the leaves' own.
    upsilon : Υ itself as such a table, rows of which sum to 1; it is then not learned.
        Without tree, mask and upsilon a structure is searched for: flat components first, then
        nodes above them by hill climbing (B09 5.4), then sampling with those.
    search_at, max_nodes, search_score : of that search: after how many sweeps (half of burn_in), to
        at most how many nodes (2K − 1), and by which score: "variational", or "paper" for B09 (6),
        which finds nothing (MODELS §5).
    psi : prior of Υ: a number, one per node or a table of leaves × nodes; for φ a number, a pair
        (stop, go on), or a pair per node. "auto" is learned (B09 5.6): one for all nodes where the
        corpus shares Υ, from a start of 1; for documents' own Υ one for each, from 5, or (5, 10),
        which makes them alike.
    alpha, beta, rho : priors of the leaves' scores as in DCA; "auto" is learned (B09 5.5).
    anneal : first sweeps with priors that begin stronger; unless given, four fifths of those before
        a search, and of burn_in where the structure is given.
    n_chains : 4: hierarchies are hard to identify (B09 §6), so that one chain says little. The one
        that predicts each word best from all others is kept; `stability()` says which edges the
        others have found too.
    algorithm, gamma, blocks, exposure, max_iter, tol, burn_in, start, n_draws, draws_of,
    draw_budget, n_jobs, random_state, warm_start, callbacks, checkpoint, verbose : as in DCA.

    Attributes
    ----------
    structure_ : leaves, nodes and their pairs; `structure_.parents` where it is a tree.
    components_ : (H, J), loadings of the nodes, leaves first; `transform` gives scores of nodes.
    upsilon_ : (K, H), rows sum to 1. leaf_components_ : (K, J), the effective loadings ΥΘ.
    moves_ : the moves of a search with their gains, in nats.

    >>> X = [[4, 3, 0, 0, 2], [5, 2, 0, 1, 3], [0, 0, 6, 3, 2], [0, 1, 4, 4, 1]]
    >>> model = StructuredDCA(tree=[-1, 0, 0], max_iter=20, n_chains=2, verbose=0).fit(X)
    >>> model.structure_.parents, model.components_.shape, model.leaf_components_.shape
    ((2, 2, -1), (3, 5), (2, 5))
    >>> model.transform(X).shape, model.transform_leaves(X).shape
    ((4, 3), (4, 2))
    """

    _fixed: ClassVar[Mapping[str, Any]] = {"model": "ST"}

    def __init__(
        self,
        n_components: int | None = None,
        *,
        structure: str = "shared",
        leaves: str = "DM",
        tree: Any = None,
        mask: Any = None,
        upsilon: Any = None,
        search_at: int | None = None,
        max_nodes: int | None = None,
        search_score: str | None = None,
        psi: Any = "auto",
        algorithm: str | Algorithm = "collapsed-gibbs",
        alpha: Any = "auto",
        beta: Any = "auto",
        rho: Any = "auto",
        gamma: Any = 0.05,
        blocks: Any = None,
        exposure: Any = None,
        max_iter: int | None = None,
        tol: float = 0.05,
        burn_in: int | None = None,
        start: str | None = None,
        anneal: int | None = None,
        n_draws: int = 0,
        draws_of: Sequence[str] = ("scores", "loadings"),
        draw_budget: int | str | None = DRAW_BUDGET,
        n_chains: int = 4,
        n_jobs: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        callbacks: Sequence[Callback] = (),
        checkpoint: CheckpointLike = None,
        verbose: int = 1,
    ) -> None:
        super().__init__(
            n_components=n_components,  # type: ignore[arg-type]
            model="ST",
            algorithm=algorithm,
            alpha=alpha,
            beta=beta,
            rho=rho,
            gamma=gamma,
            blocks=blocks,
            exposure=exposure,
            max_iter=max_iter,
            tol=tol,
            burn_in=burn_in,
            start=start,
            anneal=anneal,
            n_draws=n_draws,
            draws_of=draws_of,
            draw_budget=draw_budget,
            n_chains=n_chains,
            n_jobs=n_jobs,
            random_state=random_state,
            warm_start=warm_start,
            callbacks=callbacks,
            checkpoint=checkpoint,
            verbose=verbose,
        )
        self.structure = structure
        self.leaves = leaves
        self.tree = tree
        self.mask = mask
        self.upsilon = upsilon
        self.search_at = search_at
        self.max_nodes = max_nodes
        self.search_score = search_score
        self.psi = psi

    @property
    def structure_(self) -> Structure:
        """The structure of the fit."""
        check_is_fitted(self, "fit_")
        model: Any = self.fit_.model
        structure: Structure = model.structure
        return structure

    @property
    def upsilon_(self) -> npt.NDArray[Any]:
        """Υ (K, H): where the words of a leaf come from."""
        check_is_fitted(self, "fit_")
        return self.fit_.upsilon

    @property
    def leaf_components_(self) -> npt.NDArray[Any]:
        """Effective loadings of the leaves, (K, J): ΥΘ, rows sum to 1 within each block."""
        check_is_fitted(self, "fit_")
        return self.fit_.leaf_Theta.T

    @property
    def moves_(self) -> tuple[Move, ...]:
        """The accepted moves of the search, in their order; none where the structure was given."""
        check_is_fitted(self, "fit_")
        carried = self.fit_.state.carried
        rows = carried.moves if isinstance(carried, PairCounts) else None
        return () if rows is None else as_moves(rows)

    def transform_leaves(self, X: Any, exposure: Any = None) -> npt.NDArray[Any]:
        """Scores of leaves of documents, (I, K); `transform` gives those of nodes."""
        check_is_fitted(self, "fit_")
        return self.fit_.transform_leaves(self._counts(X), exposure=exposure, n_jobs=self.n_jobs)

    def hierarchy(self, X: Any = None, n: int = 8) -> Hierarchy:
        """The fit as a tree to read (`dcomp.evaluate.Hierarchy`); an error where it is none."""
        check_is_fitted(self, "fit_")
        return Hierarchy.from_fit(self.fit_, None if X is None else self._counts(X), n=n)

    def stability(self) -> EdgeStability:
        """Which edges the other chains have found too (`dcomp.evaluate.edge_stability`)."""
        check_is_fitted(self, "fit_")
        return edge_stability(self.fit_)
