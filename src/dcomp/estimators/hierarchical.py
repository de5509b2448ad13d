"""TreeDCA: components as the nodes of a tree, from general words at its root to narrow topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from dcomp import registry
from dcomp.estimators.dca import DCA
from dcomp.evaluate import EdgeStability, Hierarchy, edge_stability
from dcomp.inference import ALGORITHMS, Algorithm
from dcomp.inference.keep import DRAW_BUDGET
from dcomp.inference.run import Callback
from dcomp.models import Tree
from dcomp.result.checkpoints import CheckpointLike


class TreeDCA(DCA):
    """Trees of components: a word stops at node k with probability q_k, or goes on to a child;
    BJ04 3.4.

    q_k ~ Beta(a1_k, a2_k) at internal nodes, the branches to their children ~ Dirichlet(b), both
    for each document; m_k = q_k · Π branches · Π (1 − q) on the way, and w ~ Multinomial(L, Θm) as
    in LDA. Every node is a component: what many documents share gathers above what sets them apart.

    Parameters
    ----------
    branching, depth : children of each internal node, and levels; 7 and 3 unless given, which are
        1 + 7 + 49 = 57 components. Node 0 is the root.
    tree : any other tree: a `dcomp.models.Tree`, the parent of each node (−1 for node 0), or names
        within names, {"sport": ["soccer", "cricket"], "politics": []}.
    grow_to, grow_at : after `grow_at` sweeps (50 unless given) the leaves with the most words get
        `branching` children each, while there are at most `grow_to` components (BJ04 §5).
    algorithm : "collapsed-gibbs", "gibbs", "mean-field", "auto" (the last), or an Algorithm object.
    a1, a2 : prior of stopping at internal nodes; None for the paper's (1, 10) at the root and
        (10, 60) below, a number for all of them, or one per node.
    b : prior of each child's branch; None for 1/B with B children, a number, or one per node.
    anneal : samplers: first sweeps with priors that begin stronger, four fifths of burn_in unless
        given: without them most chains find the topics but not their places. Several chains
        (n_chains) help as much, since only some find the best tree.
    fractional : as in DCA; of the algorithms "mean-field" takes such counts.
    gamma, loadings, blocks, max_iter, tol, burn_in, start, n_tries, n_draws, draws_of,
    draw_budget, trace_words, n_chains, n_jobs, random_state, warm_start, callbacks, checkpoint,
    verbose : as in DCA.

    Attributes
    ----------
    tree_ : the tree of the fit, grown if it grew: `tree_.parents`, `tree_.names`.
    components_, fit_, history_, ... : as in DCA; component k is node k.

    >>> X = [[4, 3, 0, 0, 2], [5, 2, 0, 1, 3], [0, 0, 6, 3, 2], [0, 1, 4, 4, 1]]
    >>> model = TreeDCA(branching=2, depth=2, max_iter=20, verbose=0).fit(X)
    >>> model.tree_.names, model.components_.shape
    (('root', '1', '2'), (3, 5))
    """

    _fixed: ClassVar[Mapping[str, Any]] = {"model": "TM"}

    def __init__(
        self,
        branching: int | None = None,
        depth: int | None = None,
        *,
        tree: Any = None,
        grow_to: int | None = None,
        grow_at: int | None = None,
        algorithm: str | Algorithm = "collapsed-gibbs",
        a1: Any = None,
        a2: Any = None,
        b: Any = None,
        gamma: Any = 0.05,
        seed_words: Any = None,
        seed_strength: float | None = None,
        fixed: Any = None,
        loadings: str | None = None,
        blocks: Any = None,
        fractional: bool = False,
        max_iter: int | None = None,
        tol: float = 0.05,
        burn_in: int | None = None,
        start: str | None = None,
        n_tries: int | str | None = None,
        anneal: int | None = None,
        n_draws: int = 0,
        draws_of: Sequence[str] = ("scores", "loadings"),
        draw_budget: int | str | None = DRAW_BUDGET,
        trace_words: str | None = None,
        n_chains: int = 1,
        n_jobs: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        callbacks: Sequence[Callback] = (),
        checkpoint: CheckpointLike = None,
        verbose: int = 1,
    ) -> None:
        super().__init__(
            model="TM",
            algorithm=algorithm,
            gamma=gamma,
            seed_words=seed_words,
            seed_strength=seed_strength,
            fixed=fixed,
            loadings=loadings,
            blocks=blocks,
            fractional=fractional,
            max_iter=max_iter,
            tol=tol,
            burn_in=burn_in,
            start=start,
            n_tries=n_tries,
            anneal=anneal,
            n_draws=n_draws,
            draws_of=draws_of,
            draw_budget=draw_budget,
            trace_words=trace_words,
            n_chains=n_chains,
            n_jobs=n_jobs,
            random_state=random_state,
            warm_start=warm_start,
            callbacks=callbacks,
            checkpoint=checkpoint,
            verbose=verbose,
        )
        self.branching = branching
        self.depth = depth
        self.tree = tree
        self.grow_to = grow_to
        self.grow_at = grow_at
        self.a1 = a1
        self.a2 = a2
        self.b = b

    @property
    def tree_(self) -> Tree:
        """The tree of the fit."""
        check_is_fitted(self, "fit_")
        model: Any = self.fit_.model
        tree: Tree = model.tree
        return tree

    def hierarchy(self, X: Any = None, n: int = 8) -> Hierarchy:
        """The fit as a tree to read: shares and top features of every node, and with the counts X
        how well children go with their parents (`dcomp.evaluate.Hierarchy`)."""
        check_is_fitted(self, "fit_")
        counts = None if X is None else self._counts(X)
        return Hierarchy.from_fit(self.fit_, counts, n=n)

    def stability(self, n_top: int = 3) -> EdgeStability:
        """Which edges of the tree the other chains found too (`dcomp.evaluate.edge_stability`): a
        fit with n_chains of at least 2 has them, 4 are better. n_top: features in the labels."""
        check_is_fitted(self, "fit_")
        return edge_stability(self.fit_, n_top=n_top)

    def _given(self) -> dict[str, Any]:
        given = super()._given()
        if self.anneal is None and isinstance(self.algorithm, str):
            name = registry.algorithm_name(self._fixed["model"], self.algorithm)
            given["anneal"] = "auto" if ALGORITHMS[name].samples else None
        return given
