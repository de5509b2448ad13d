"""The native samplers of single tokens as the collapsed sampler sees them, one class per family.

Flat components and a tree's nodes are numbered in z; structured components have a pair of leaf and
node there, and more to read than c and n.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dcomp import _core
from dcomp.executors import Executor
from dcomp.inference.base import Carried, Info, Recorded
from dcomp.inference.gibbs import learn_from_counts
from dcomp.inference.pairs import PairCounts, PairInfo
from dcomp.inference.sampler_start import MeanFieldStart
from dcomp.inference.start import generator
from dcomp.models import Model, Observations, Structured
from dcomp.models.arrays import read_only
from dcomp.models.base import moment_scores
from dcomp.models.prior import learned_values

Assignment = npt.NDArray[np.uint16]


@dataclass(frozen=True)
class TokenCounts:
    """The counts of an assignment."""

    c: npt.NDArray[np.int32]  # (I, K)
    n: npt.NDArray[np.int32]  # (J, K)
    carried: Carried | None = None  # what they leave out


class Tokens(ABC):
    """What they have in common: tokens in an order of their own, and counts that follow z."""

    info_type: ClassVar[type[Info]] = Info
    carried_type: ClassVar[type[Carried] | None] = None

    native: Any
    observed: Observations

    @abstractmethod
    def __init__(self, model: Any, observed: Observations, n_parts: int, sparse: bool) -> None:
        """Tokens in their order, and their counts once an assignment is taken up."""

    def components(self, model: Any, z: Assignment) -> Assignment:
        """The component of each token, where z has more than that."""
        return z

    @abstractmethod
    def start_from_mean_field(
        self, model: Any, seed: int, executor: Executor | None, z: Assignment
    ) -> Model:
        """z by a short mean-field fit; the model with the priors that it has learned."""

    @abstractmethod
    def sweep(self, model: Any, z: Assignment, seed: int, sweep: int, n_threads: int) -> float:
        """All tokens once: z and the counts change; Σ log p(word | all the rest)."""

    @abstractmethod
    def log_moments(self, model: Any, n_threads: int) -> float:
        """log p(z, words) with scores and loadings integrated out, but for constants."""

    @abstractmethod
    def counts(self, model: Any) -> TokenCounts:
        """The counts of the assignment."""

    @abstractmethod
    def record(self, recorded: Recorded, model: Any, n_threads: int) -> Recorded:
        """The sums with this assignment's added."""

    @abstractmethod
    def learn(self, model: Any) -> tuple[Model, tuple[str, ...]]:
        """The model with what its priors learn from the counts, and what is at a limit."""

    @property
    def n_tokens(self) -> int:
        """T."""
        return int(self.native.n_tokens)

    def entries(self, out: npt.NDArray[np.int64]) -> None:
        """The entry of the counts, in their order, that each token belongs to."""
        self.native.entries(out)

    def in_entry_order(self, z: Assignment, out: Assignment) -> None:
        """z by document and, within one, by entry of the counts."""
        self.native.in_entry_order(z, out)

    def count(self, z: Assignment) -> None:
        """Take up this assignment."""
        self.native.count(z)

    def start(self, seed: int, z: Assignment) -> None:
        """An even draw for every token."""
        self.native.start(seed, z)

    def gamma(self, model: Model) -> npt.NDArray[np.float64]:
        """γ of every feature."""
        return model.loadings.per_feature(self.observed.counts.n_features)


class FlatTokens(Tokens):
    """Components side by side, whose chances are linear in c: DM, GP and CGP."""

    def __init__(self, model: Model, observed: Observations, n_parts: int, sparse: bool) -> None:
        self.observed = observed
        features = observed.counts.features
        self.native = _core.CollapsedSampler(
            observed.corpus, features.blocks, features.n_blocks, self._prior(model), n_parts, sparse
        )

    def _prior(self, model: Model) -> _core.ScorePrior:
        return moment_scores(model).native(self.observed.native_exposure)

    def start_from_mean_field(
        self, model: Model, seed: int, executor: Executor | None, z: Assignment
    ) -> Model:
        """A draw by scores and loadings of a short mean-field fit, which has learned priors too."""
        begin = MeanFieldStart.fitted(model, self.observed, seed, executor)
        prior: Any = begin.model.scores
        scores = prior.rough_scores(begin.c)
        Theta = np.ascontiguousarray(begin.weights.Theta, dtype=np.float32)
        threads = 1 if executor is None else executor.n_threads
        self.native.start_from(seed, scores, Theta, z, threads)
        return begin.model

    def sweep(self, model: Model, z: Assignment, seed: int, sweep: int, n_threads: int) -> float:
        """All tokens once: z and the counts change; Σ log p(word | all the rest)."""
        prior = self._prior(model)
        return float(self.native.sweep(z, self.gamma(model), prior, seed, sweep, n_threads))

    def log_moments(self, model: Model, n_threads: int) -> float:
        """log p(z, words) with scores and loadings integrated out, but for constants."""
        return float(self.native.log_moments(self.gamma(model), self._prior(model), n_threads))

    def counts(self, model: Model) -> TokenCounts:
        """c and n of the assignment."""
        counts, K = self.observed.counts, model.n_components
        c = np.empty((counts.n_docs, K), dtype=np.int32)
        n = np.empty((counts.n_features, K), dtype=np.int32)
        self.native.read(c, n)
        return TokenCounts(read_only(c), read_only(n))

    def record(self, recorded: Recorded, model: Model, n_threads: int) -> Recorded:
        """The sums with this assignment's added."""
        Theta, c = recorded.Theta.copy(), recorded.c.copy()
        zeros = None if recorded.zeros is None else recorded.zeros.copy()
        self.native.record(self.gamma(model), Theta, c, zeros, n_threads)
        return replace(
            recorded,
            Theta=read_only(Theta),
            c=read_only(c),
            zeros=None if zeros is None else read_only(zeros),
            count=recorded.count + 1,
        )

    def learn(self, model: Model) -> tuple[Model, tuple[str, ...]]:
        """The model with what its priors learn from the counts, and what is at a limit."""
        counts = self.counts(model)
        return learn_from_counts(model, counts.c, counts.n, self.observed)


class TreeTokens(FlatTokens):
    """The nodes of a tree: TM."""

    def record(self, recorded: Recorded, model: Model, n_threads: int) -> Recorded:
        """No mean of c gives the mean of scores: theirs is recorded beside it."""
        assert recorded.scores is not None
        scores = recorded.scores.copy()
        self.native.add_means(self._prior(model), scores, n_threads)
        return replace(super().record(recorded, model, n_threads), scores=read_only(scores))


class PairTokens(Tokens):
    """Pairs of leaf and node, ST: B09 (7), (8), (9) and 5.3."""

    info_type = PairInfo
    carried_type = PairCounts

    def __init__(
        self, model: Structured, observed: Observations, n_parts: int, sparse: bool = False
    ) -> None:
        self.observed, self.n_parts = observed, n_parts
        features, structure = observed.counts.features, model.structure
        parents = structure.parents
        self.native = _core.StructuredSampler(
            observed.corpus,
            features.blocks,
            features.n_blocks,
            model.scores.rows.kind,
            structure.leaf,
            structure.node,
            structure.n_leaves,
            structure.n_nodes,
            None if parents is None else np.array(parents, dtype=np.int32),
            n_parts,
        )

    def start_from_mean_field(
        self, model: Structured, seed: int, executor: Executor | None, z: Assignment
    ) -> Structured:
        """Leaves from a mean-field fit of flat components, nodes evenly among those of a leaf."""
        structure = model.structure
        flat = FlatTokens(model.leaf_model, self.observed, self.n_parts, sparse=False)
        leaf = np.empty_like(z)
        learned = flat.start_from_mean_field(model.leaf_model, seed, executor, leaf)
        first, size = structure.start[:-1][leaf], np.diff(structure.start)[leaf]
        u = generator(seed, purpose=4).random(len(z))
        z[:] = first + np.minimum((u * size).astype(np.int64), size - 1)
        return model.with_scores(**learned_values(learned.scores))

    def sweep(
        self, model: Structured, z: Assignment, seed: int, sweep: int, n_threads: int
    ) -> float:
        """All tokens once."""
        return self._sweep(model, z, seed, sweep, n_threads, None)

    def sweep_given(
        self, model: Structured, Theta: Any, z: Assignment, seed: int, sweep: int, n_threads: int
    ) -> None:
        """All tokens once with given loadings, (J, padded nodes): every document on its own."""
        self._sweep(model, z, seed, sweep, n_threads, Theta)

    def _sweep(
        self, model: Structured, z: Assignment, seed: int, sweep: int, n_threads: int, Theta: Any
    ) -> float:
        leaves = model.scores.leaves.native(self.observed.native_exposure)
        rows = model.scores.rows.native()
        return float(
            self.native.sweep(z, self.gamma(model), leaves, *rows, seed, sweep, n_threads, Theta)
        )

    def log_moments(self, model: Structured, n_threads: int) -> float:
        """log p(leaves, nodes, words): B09 (2) to (5) and 4.1.3, but for constants."""
        leaves = model.scores.leaves.native(self.observed.native_exposure)
        words = float(self.native.log_moments(self.gamma(model), leaves, n_threads))
        _, S = self.documents(model)
        return words + float(model.scores.rows.log_moment(S).sum())

    def documents(self, model: Structured) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Words of documents by leaf, and what the rows of Υ know."""
        C, S = self._tables(model)
        self.native.read_documents(C, S)
        return C, S

    def _tables(self, model: Structured) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        rows, n_docs = model.scores.rows, self.observed.counts.n_docs
        shape = (n_docs if rows.per_document else 1, rows.width)
        return np.empty((n_docs, model.scores.n_leaves), np.int32), np.empty(shape, np.int32)

    def components(self, model: Structured, z: Assignment) -> Assignment:
        """The node of each token."""
        return read_only(model.structure.node[z].astype(np.uint16))

    def counts(self, model: Structured) -> TokenCounts:
        """c and n of the nodes; words by leaf and what the rows know beside them."""
        counts, H = self.observed.counts, model.n_components
        C, S = self._tables(model)
        n = np.empty((counts.n_features, H), dtype=np.int32)
        self.native.read(C, n, S)
        nodes = np.zeros((counts.n_docs, H), dtype=np.float32)
        self.native.add_nodes(nodes)
        beside = PairCounts(read_only(C), read_only(S))
        return TokenCounts(read_only(nodes.astype(np.int32)), read_only(n), beside)

    def record(self, recorded: Recorded, model: Structured, n_threads: int) -> Recorded:
        """Sums of E[Θ], of node counts, and of E[scores] of nodes and leaves and E[Υ]."""
        assert recorded.scores is not None
        Theta, c = recorded.Theta.copy(), recorded.c.copy()
        self.native.add_loadings(self.gamma(model), Theta, n_threads)
        self.native.add_nodes(c)
        C, S = self.documents(model)
        means = model.scores.posterior_means(C, S, self.observed.total_exposure)
        of_leaves, of_nodes = (mean.astype(np.float32) for mean in means)
        upsilon = model.scores.pooled_upsilon(S).astype(np.float32)
        own = {"leaf_scores": of_leaves, "upsilon": upsilon}
        return replace(
            recorded,
            Theta=read_only(Theta),
            c=read_only(c),
            count=recorded.count + 1,
            scores=read_only(recorded.scores + of_nodes),
            own={name: read_only(recorded.own[name] + own[name]) for name in own},
        )

    def learn(self, model: Structured) -> tuple[Structured, tuple[str, ...]]:
        """Priors of the leaves (B09 5.5), of the documents' own Υ (5.6), and of the loadings."""
        counts = self.counts(model)
        assert isinstance(counts.carried, PairCounts)
        C, S = counts.carried.leaf_counts, counts.carried.structure_counts
        scores, capped = model.scores.learn_from_pairs(C, S, self.observed.total_exposure)
        blocks = self.observed.counts.features.blocks
        loadings, at_limit = model.loadings.learn(counts.n, blocks)
        return replace(model, scores=scores, loadings=loadings), capped + at_limit


_FAMILIES: dict[str | None, type[Tokens]] = {
    "linear": FlatTokens,
    "tree": TreeTokens,
    "pairs": PairTokens,
}


def token_family(model: Model) -> type[Tokens]:
    """The sampler of tokens that suits the model's score prior.

    >>> from dcomp.models import GammaPoisson
    >>> token_family(GammaPoisson.build(2)).__name__
    'FlatTokens'
    """
    return _FAMILIES[model.scores.capabilities.tokens]
