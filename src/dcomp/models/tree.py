"""TM, the tree-multinomial model: components are the nodes of a tree, w ~ Multinomial(L, Θm).

BJ04 3.4; MODELS §3. A word stops at node k with probability q_k or goes on to a child l with
probability n_l, so that the score of a child can be large only where its ancestors' are not small:

    m_k = q_k · Π_{l on the path to k} n_l · Π_{l above k} (1 − q_l),      q_leaf = 1
    q_k ~ Beta(a1_k, a2_k) for internal k,      (n_l of the children of k) ~ Dirichlet(b_l)

With the subtree totals S_k = c_k + Σ_below c and D_k = S_k − c_k,
Π m^c = Π_k q_k^c_k (1 − q_k)^D_k · Π_l n_l^S_l: all of it is conjugate given c.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, gammaln

from dcomp import _core
from dcomp.errors import FlatTreeWarning, InvalidParameter, UnsupportedCombination
from dcomp.models.arrays import (
    FloatArray,
    equal_fields,
    in_range,
    positive_array,
    read_only,
    stored_vector,
)
from dcomp.models.hierarchy import BRANCHES, Tree, check_one_size, typed_tree
from dcomp.models.loadings import DirichletLoadings
from dcomp.models.multinomial import MultinomialModel
from dcomp.models.options import BRANCHING, DEPTH, TREE, Option, Request, Wishes, whole_number
from dcomp.models.prior import Capabilities, Nodes, Parameter, Slots

# BJ04 3.4: (a1, a2) at the root, "a weak preference for 10 % stop words", and below it.
ROOT_STOP, STOP = (1.0, 10.0), (10.0, 60.0)
_CAPABILITIES = Capabilities(
    fixed_point="mean-field",
    sampling="direct",
    tokens="tree",
    grows=True,
    evidence=True,
    left_to_right=True,
    why={
        "normalised": "unit='normalised' needs scores that are independent but for their sum; "
        "those of a hierarchy are not: use unit='words'",
    },
)


@dataclass(frozen=True, eq=False)
class TreeScores:
    """q_k ~ Beta(a1_k, a2_k), branches ~ Dirichlet(b): BJ04 3.4.

    a1, a2 mean nothing at leaves and b nothing at the root; they are 1 there.

    >>> scores = TreeScores.build(Tree.regular(2, 2))
    >>> scores.a1, scores.a2, scores.b
    (array([1., 1., 1.]), array([10.,  1.,  1.]), array([1. , 0.5, 0.5]))
    """

    tree: Tree
    a1: FloatArray
    a2: FloatArray
    b: FloatArray

    __eq__ = equal_fields

    @classmethod
    def build(
        cls,
        tree: Tree,
        a1: npt.ArrayLike | None = None,
        a2: npt.ArrayLike | None = None,
        b: npt.ArrayLike | None = None,
    ) -> TreeScores:
        """None is the paper's choice: (a1, a2) = (1, 10) at the root and (10, 60) below,
        b = 1/B for each of B children. A number is for all nodes, an array for one each. Warns
        where the tree makes no difference: then it is one Dirichlet over all nodes."""
        inner, K = ~tree.is_leaf, tree.n_nodes
        paper = np.full((2, K), 1.0)
        for row, (root, below) in enumerate(zip(ROOT_STOP, STOP, strict=True)):
            paper[row, 1:], paper[row, 0] = below, root
        even = 1.0 / np.maximum(tree.branching[tree.parent_index], 1)
        branch = _node_vector("b", even if b is None else b, K).copy()
        branch[0] = 1.0
        built = cls(
            tree,
            read_only(np.where(inner, _node_vector("a1", paper[0] if a1 is None else a1, K), 1.0)),
            read_only(np.where(inner, _node_vector("a2", paper[1] if a2 is None else a2, K), 1.0)),
            read_only(branch),
        )
        if built.is_dirichlet:
            warnings.warn(
                "these parameters flatten the tree: with sums of b equal to a2 and b equal to "
                "a1 + a2 of every internal child it is one Dirichlet over all nodes, and LDA "
                "fits that faster",
                FlatTreeWarning,
                stacklevel=2,
            )
        return built

    @property
    def n_components(self) -> int:
        """K."""
        return self.tree.n_nodes

    @property
    def capabilities(self) -> Capabilities:
        """Conjugate given c, but its tokens need the whole tree."""
        return _CAPABILITIES

    @property
    def slots(self) -> Slots:
        """Scores are products of means: no mean of c gives theirs."""
        return Slots(scores=True)

    @property
    def nodes(self) -> Nodes:
        """The tree, child by child: every node but the root has an edge to its parent."""
        edges = tuple(enumerate(self.tree.parents))[1:]
        return Nodes(self.tree.names, edges, self.tree.is_leaf, self.tree.parents)

    def parameters(self) -> tuple[Parameter, ...]:
        """a1, a2 and b, none of them learned: BJ04 sets them, because learning would flatten the
        tree."""
        return tuple(Parameter(name, getattr(self, name)) for name in ("a1", "a2", "b"))

    @property
    def learned(self) -> tuple[str, ...]:
        """None."""
        return ()

    def with_values(self, **changes: Any) -> TreeScores:
        """With other hyper-parameters."""
        return replace(self, **changes)

    def without_zeros(self) -> TreeScores:
        """No score is exactly 0: itself."""
        return self

    def stored(self) -> dict[str, Any]:
        """What a file says beside the parameters; `restored` is the way back."""
        return {"tree": json.loads(self.tree.to_json())}

    @classmethod
    def restored(cls, entry: Mapping[str, Any], arrays: Mapping[str, Any]) -> TreeScores:
        """From a file."""
        tree = Tree.from_parents(entry["tree"]["parents"], entry["tree"]["names"])
        stored = {name: stored_vector(name, arrays) for name in ("a1", "a2", "b")}
        return cls(
            tree, **{name: _node_vector(name, a, tree.n_nodes) for name, a in stored.items()}
        )

    def moments_seen(self, c: npt.NDArray[Any], n_threads: int) -> None:
        """Nothing that `learn_from_moments` needs beside moments."""

    def learn_from_moments(
        self,
        log_scores: FloatArray,
        mean_scores: FloatArray,
        n_docs: int,
        seen: None = None,
    ) -> tuple[TreeScores, tuple[str, ...]]:
        """Nothing is learned, see `parameters`."""
        return self, ()

    def restrained(self, learned: TreeScores) -> TreeScores:
        """Nothing is learned, so that there is nothing to restrain."""
        return learned

    def counts_seen(self, c: npt.NDArray[Any], exposure: FloatArray) -> None:
        """Nothing that `learn_from_counts` needs."""

    def learn_from_counts(self, seen: None) -> tuple[TreeScores, tuple[str, ...]]:
        """Nothing is learned, see `parameters`."""
        return self, ()

    @cached_property
    def b_total(self) -> FloatArray:
        """Σ of b over the children of each node, (K)."""
        parents = self.tree.parent_index[1:]
        sums = np.bincount(parents, weights=self.b[1:], minlength=self.n_components)
        return read_only(sums.astype(np.float64))

    @property
    def is_dirichlet(self) -> bool:
        """Whether the prior is one Dirichlet: Σ_l b_l = a2_k at every internal node k, and
        b_l = a1_l + a2_l for every internal child l (MODELS §3; BJ04 has only the first).

        >>> TreeScores(Tree.regular(2, 2), *np.ones((2, 3)), np.array([1.0, 0.5, 0.5])).is_dirichlet
        True
        """
        inner = ~self.tree.is_leaf
        totals = np.isclose(self.b_total, self.a2, atol=0)[inner].all()
        steps = np.isclose(self.b, self.a1 + self.a2, atol=0)[1:][inner[1:]].all()
        return bool(inner.any() and totals and steps)

    def grown(
        self, new_leaves: Mapping[int, int], a1: float, a2: float, b: float | None = None
    ) -> TreeScores:
        """With so many new leaves below these nodes (`Tree.grown`), which had none: they become
        internal with a1 and a2, and their children have b each, or 1/B."""
        tree = self.tree.grown(new_leaves)
        fresh = np.ones(tree.n_nodes - self.n_components)
        rows = [np.concatenate([row, fresh]) for row in (self.a1, self.a2, self.b)]
        for node, n_new in new_leaves.items():
            rows[0][node], rows[1][node] = a1, a2
            rows[2][list(tree.children[node])] = 1 / n_new if b is None else b
        return TreeScores(tree, *map(read_only, rows))

    def native(
        self, exposure: FloatArray | None = None, *, mode: str = "expect", power: float = 1.0
    ) -> _core.ScorePrior:
        """The prior as the kernels take it (`_core.ScorePrior`); mode "expect" or "maximise", and
        then with a power of the scores below 1 where EM is tempered."""
        parents = np.array(self.tree.parents, dtype=np.int32)
        numbers = {"a1": self.a1, "a2": self.a2, "b": self.b}
        return _core.ScorePrior("TM", numbers, tree=parents, mode=mode, power=power)

    def subtree_totals(self, c: npt.NDArray[Any]) -> FloatArray:
        """S (..., K): what a node and all below it hold."""
        return np.asarray(np.asarray(c, dtype=np.float64) @ self.tree.on_path)

    def along_paths(self, stop: FloatArray, go: FloatArray, branch: FloatArray) -> FloatArray:
        """log m_k from log q, log(1 − q) and log n, all (..., K); entries without meaning are not
        looked at."""
        step = branch + go[..., self.tree.parent_index]
        step[..., 0] = 0
        return np.asarray(step @ self.tree.on_path.T + np.where(self.tree.is_leaf, 0.0, stop))

    def _posterior(self, c: npt.NDArray[Any]) -> tuple[FloatArray, ...]:
        """Beta parameters a1 + c and a2 + D, Dirichlet b + S, and its sum, all (..., K)."""
        S = self.subtree_totals(c)
        D = S - c
        total = np.where(self.tree.is_leaf, 1.0, self.b_total) + D
        return self.a1 + c, self.a2 + D, self.b + S, total

    def _expected(self, c: npt.NDArray[Any], log: Any) -> FloatArray:
        """log m with `log` (or digamma) for the logarithm of each posterior's parameters."""
        stop, go, branch, total = self._posterior(c)
        both, above = log(stop + go), log(total[..., self.tree.parent_index])
        return self.along_paths(log(stop) - both, log(go) - both, log(branch) - above)

    def posterior_mean(self, c: npt.NDArray[Any], exposure: FloatArray) -> FloatArray:
        """E[m | c] (..., K): independent factors, so the product of their means. It is also the
        collapsed predictive g(c + 1_k)/g(c).

        >>> TreeScores.build(Tree.regular(2, 2)).posterior_mean(np.zeros((1, 3)), None).round(4)
        array([[0.0909, 0.4545, 0.4545]])
        """
        return np.exp(self._expected(c, np.log))

    def posterior_sd(self, c: npt.NDArray[Any], exposure: FloatArray) -> FloatArray:
        """Standard deviation of m given c (..., K): E[m²] is the product of the factors' own, which
        are x (x + 1) over the same of the sum for Beta and Dirichlet alike."""
        square = np.exp(self._expected(c, lambda x: np.log(x * (x + 1))))
        return np.asarray(np.sqrt(np.maximum(square - np.exp(2 * self._expected(c, np.log)), 0.0)))

    def rough_scores(self, c: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Scores for a sampler's start: their means."""
        return self.posterior_mean(c, np.ones(len(c))).astype(np.float32)

    def expected_log(self, c: npt.NDArray[Any], exposure: FloatArray) -> FloatArray:
        """E[log m] (..., K): digamma differences along the path."""
        return self._expected(c, digamma)

    def log_moment(self, c: npt.NDArray[Any], exposure: FloatArray) -> FloatArray:
        """log E[Π m_k^c_k] per document: Beta and Dirichlet ratios over the internal nodes."""
        stop, go, branch, total = self._posterior(np.asarray(c))
        inner = ~self.tree.is_leaf

        def rise(after: FloatArray, before: FloatArray) -> FloatArray:
            return np.asarray(gammaln(after) - gammaln(before))

        beta = rise(stop, self.a1) + rise(go, self.a2) - rise(stop + go, self.a1 + self.a2)
        whole = np.where(self.tree.is_leaf, 1.0, self.b_total)
        nodes = np.where(inner, beta - rise(total, whole), 0.0).sum(axis=-1)
        return np.asarray(nodes + rise(branch, self.b)[..., 1:].sum(axis=-1))

    def log_density(self, m: FloatArray) -> FloatArray:
        """log p(m) per document, on the simplex of m.

        A node that B children and itself share divides its subtree's mass r into q r and
        n_l (1 − q) r: the volume of that map is r^B (1 − q)^(B−1).
        """
        r = self.subtree_totals(m)
        inner, B = ~self.tree.is_leaf, self.tree.branching
        go = np.where(inner, (r - m) / r, 0.5)  # 1 − q
        branch = np.log(r) - np.log((r - m)[..., self.tree.parent_index])
        q = np.where(inner, m / r, 0.5)
        beta = gammaln(self.a1 + self.a2) - gammaln(self.a1) - gammaln(self.a2)
        beta = beta + (self.a1 - 1) * np.log(q) + (self.a2 - 1) * np.log(go)
        node = gammaln(np.where(inner, self.b_total, 1.0)) - B * np.log(r) - (B - 1) * np.log(go)
        child = (self.b - 1) * branch - gammaln(self.b)
        return np.asarray(
            np.where(inner, beta + node, 0).sum(axis=-1) + child[..., 1:].sum(axis=-1)
        )

    def draw(
        self, c: npt.NDArray[Any], exposure: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """m (..., K) given c: a Beta per internal node and a Dirichlet over its children. In logs,
        because 1/B is a small shape."""
        stop, go, branch, _ = self._posterior(np.asarray(c))
        log_stop, log_go, log_branch = (_log_gamma_draw(x, rng) for x in (stop, go, branch))
        both = np.logaddexp(log_stop, log_go)
        total = np.zeros_like(log_branch)
        for below in map(list, filter(None, self.tree.children)):
            part = np.logaddexp.reduce(log_branch[..., below], axis=-1)
            total[..., below] = part[..., None]
        m = np.exp(self.along_paths(log_stop - both, log_go - both, log_branch - total))
        return np.asarray(m / m.sum(axis=-1, keepdims=True))

    def draw_prior(self, n_docs: int, rng: np.random.Generator) -> FloatArray:
        """m (I, K) from the prior."""
        return self.draw(np.zeros((n_docs, self.n_components)), np.zeros(n_docs), rng)


def _log_gamma_draw(shape: FloatArray, rng: np.random.Generator) -> FloatArray:
    return np.asarray(
        np.log(rng.standard_gamma(shape + 1)) + np.log1p(-rng.random(shape.shape)) / shape
    )


def _node_vector(name: str, value: npt.ArrayLike, n_nodes: int) -> FloatArray:
    array = in_range(name, positive_array(name, value))
    if array.ndim > 1 or (array.ndim == 1 and len(array) != n_nodes):
        raise InvalidParameter(
            f"{name} must be a number or hold one number per node ({n_nodes}); "
            f"got shape {array.shape}"
        )
    return np.broadcast_to(array, (n_nodes,)).astype(np.float64)


GROW_AT = 50  # sweeps, BJ04 §5
GROWTH = (
    Option(
        "grow_to",
        "whole",
        "the leaves with the most words grow children, to at most N nodes.",
        least=2,
        panel="Hierarchies",
    ),
    Option(
        "grow_at",
        "whole",
        "sweeps before it grows, in the burn-in.",
        least=1,
        shown=str(GROW_AT),
        panel="Hierarchies",
    ),
)
STOPS = (
    Option("a1", "prior", "of stopping at internal nodes.", shown="1 at the root, 10 below"),
    Option("a2", "prior", "of going on from them.", shown="10 at the root, 60 below"),
    Option("b", "prior", "of the branch to each child.", shown="1/B of B children"),
)


@dataclass(frozen=True)
class TreeMultinomial(MultinomialModel):
    """m from a tree of components, w ~ Multinomial(L, Θm), θ_k ~ Dirichlet(γ): BJ04 3.4.

    >>> model = TreeMultinomial.build(Tree.regular(branching=7, depth=3))
    >>> model.n_components, model.key
    (57, 'TM')
    """

    scores: TreeScores
    loadings: DirichletLoadings = field(default_factory=DirichletLoadings)

    key: ClassVar[str] = "TM"
    long_name: ClassVar[str] = "tree"
    scores_type: ClassVar[type[TreeScores]] = TreeScores
    options: ClassVar[tuple[Option, ...]] = (TREE, BRANCHING, DEPTH, *GROWTH, *STOPS)

    @classmethod
    def build(
        cls,
        tree: Tree | int,
        *,
        a1: npt.ArrayLike | None = None,
        a2: npt.ArrayLike | None = None,
        b: npt.ArrayLike | None = None,
        gamma: npt.ArrayLike = 0.5,
    ) -> TreeMultinomial:
        """The model from a tree (or a number of nodes, `Tree.complete`) and plain numbers; None for
        the paper's."""
        tree = tree if isinstance(tree, Tree) else Tree.complete(tree)
        return cls(TreeScores.build(tree, a1, a2, b), DirichletLoadings(gamma))

    @classmethod
    def resolve(cls, request: Request) -> TreeMultinomial:
        """The model from what was typed: a tree of 7 branches and 3 levels unless it is given, by
        its branches and levels, or by a number of nodes."""
        check_one_size(request, "n_components", "depth")
        check_one_size(request, "n_components", "tree")
        tree, branching = request.get("tree"), request.get("branching")
        if tree is not None and branching is not None and request.get("grow_to") is None:
            raise UnsupportedCombination(
                "branching= beside tree= is for a tree that grows: give grow_to=, or leave it out"
            )
        if request.get("n_components") is None:
            nodes = typed_tree(tree, branching, request.get("depth"))
        else:
            nodes = Tree.complete(request.components(), branching or BRANCHES)
        stops = (request.get(option.name) for option in STOPS)
        scores = TreeScores.build(nodes, *stops)
        return cls(scores, request.loadings(nodes.n_nodes, nodes.names))

    def wishes(self, request: Request) -> Wishes:
        """Growth, where it was asked for. New nodes have the a1, a2 and b that were given as
        numbers, or the paper's."""
        to, at = request.get("grow_to"), request.get("grow_at")
        if to is None:
            if at is not None:
                raise InvalidParameter(f"grow_at = {at} has no effect without grow_to")
            return Wishes()
        if self.loadings.is_own:
            raise UnsupportedCombination(
                "grow_to= adds nodes of which nothing is known: it does not go with seed_words=, "
                "fixed= or a gamma of two axes"
            )
        if to < self.n_components + 2:
            raise InvalidParameter(
                f"grow_to must exceed the {self.n_components} nodes of the tree by two or more; "
                f"got {to}"
            )
        stops = {option.name: request.get(option.name) for option in STOPS}
        given = {name: float(x) for name, x in stops.items() if x is not None and np.ndim(x) == 0}
        n_new = whole_number("branching", request.get("branching", BRANCHES), 2)
        return Wishes({"at": at or GROW_AT, "to": to, "branching": n_new, **given})

    @property
    def tree(self) -> Tree:
        """The tree whose nodes are the components."""
        return self.scores.tree

    def grown(self, new_leaves: Mapping[int, int], **priors: Any) -> TreeMultinomial:
        """With so many new leaves below these nodes: `TreeScores.grown`."""
        return replace(self, scores=self.scores.grown(new_leaves, **priors))
