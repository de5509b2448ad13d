"""The native samplers of single tokens as the collapsed sampler sees them, one class per family.

Flat components and a tree's nodes are numbered in z; structured components have a pair of leaf and
node there, and more to read than c and n.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp import _core
from dcomp.executors import Executor
from dcomp.inference.base import Recorded
from dcomp.inference.hyper import learn_from_counts, learn_rows
from dcomp.inference.sampler_start import MeanFieldStart
from dcomp.inference.start import generator
from dcomp.models import Model, Observations, Structured, TreeScores
from dcomp.models.arrays import read_only
from dcomp.models.base import moment_scores
from dcomp.models.structure_rows import FixedRows

Assignment = npt.NDArray[np.uint16]


@dataclass(frozen=True)
class Read:
    """The counts of an assignment."""

    c: npt.NDArray[np.int32]  # (I, K)
    n: npt.NDArray[np.int32]  # (J, K)
    extra: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)  # for `State.extra`


def token_sampler(model: Model, observed: Observations, n_parts: int, sparse: bool) -> Any:
    """Tokens in their order, with room for the counts."""
    if isinstance(model, Structured):
        return StructuredTokens(model, observed, n_parts)
    kind = TreeTokens if isinstance(model.scores, TreeScores) else FlatTokens
    return kind(model, observed, n_parts, sparse)


class Tokens:
    """What they have in common: tokens in an order of their own, and counts that follow z."""

    native: Any
    observed: Observations

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
    """DM, GP and CGP."""

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
        begin = MeanFieldStart.of(model, self.observed, seed, executor)
        scores = self._rough_scores(begin.model, begin.c)
        Theta = np.ascontiguousarray(begin.weights.Theta, dtype=np.float32)
        threads = 1 if executor is None else executor.n_threads
        self.native.start_from(seed, scores, Theta, z, threads)
        return begin.model

    def _rough_scores(self, model: Model, c: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Scores for a start, up to a factor per document."""
        scores: Any = model.scores
        return np.asarray(c + scores.alpha.astype(np.float32))

    def sweep(self, model: Model, z: Assignment, seed: int, sweep: int, n_threads: int) -> float:
        """All tokens once: z and the counts change; Σ log p(word | all the rest)."""
        prior = self._prior(model)
        return float(self.native.sweep(z, self.gamma(model), prior, seed, sweep, n_threads))

    def log_moments(self, model: Model, n_threads: int) -> float:
        """log p(z, words) with scores and loadings integrated out, but for constants."""
        return float(self.native.log_moments(self.gamma(model), self._prior(model), n_threads))

    def read(self, model: Model) -> Read:
        """c and n of the assignment."""
        counts, K = self.observed.counts, model.n_components
        c = np.empty((counts.n_docs, K), dtype=np.int32)
        n = np.empty((counts.n_features, K), dtype=np.int32)
        self.native.read(c, n)
        return Read(read_only(c), read_only(n))

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

    def learn(self, model: Model, counts: Read) -> tuple[Model, tuple[str, ...]]:
        """The model with its learned priors of the scores updated."""
        return learn_from_counts(model, counts.c, self.observed)


class TreeTokens(FlatTokens):
    """TM."""

    def _rough_scores(self, model: Model, c: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        assert isinstance(model.scores, TreeScores)
        return model.scores.posterior_mean(c, np.ones(len(c))).astype(np.float32)

    def record(self, recorded: Recorded, model: Model, n_threads: int) -> Recorded:
        """No mean of c gives the mean of scores: theirs is recorded beside it."""
        assert recorded.scores is not None
        scores = recorded.scores.copy()
        self.native.add_means(self._prior(model), scores, n_threads)
        return replace(super().record(recorded, model, n_threads), scores=read_only(scores))


class StructuredTokens(Tokens):
    """ST: B09 (7), (8), (9) and 5.3."""

    def __init__(self, model: Structured, observed: Observations, n_parts: int) -> None:
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
        scores: Any = learned.scores
        return model.with_scores(**{name: getattr(scores, name) for name in scores.learned})

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
        rows: Any = model.scores.rows
        leaves = model.scores.leaves.native(self.observed.native_exposure)
        pair = stop = go = None
        if rows.by_node:
            stop, go = (np.ascontiguousarray(rows.psi[:, side]) for side in (0, 1))
        else:
            pair = np.ascontiguousarray(rows.upsilon if rows.kind == "fixed" else rows.psi)
        return float(
            self.native.sweep(
                z, self.gamma(model), leaves, pair, stop, go, seed, sweep, n_threads, Theta
            )
        )

    def log_moments(self, model: Structured, n_threads: int) -> float:
        """log p(leaves, nodes, words): B09 (2) to (5) and 4.1.3, but for constants."""
        leaves = model.scores.leaves.native(self.observed.native_exposure)
        words = float(self.native.log_moments(self.gamma(model), leaves, n_threads))
        _, S = self.documents(model)
        return words + float(model.scores.rows.log_moment(S).sum())

    def documents(self, model: Structured) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Words of documents by leaf, and what the rows of Υ know."""
        C, S = self._room(model)
        self.native.read_documents(C, S)
        return C, S

    def _room(self, model: Structured) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        rows, n_docs = model.scores.rows, self.observed.counts.n_docs
        shape = (n_docs if rows.per_document else 1, rows.width)
        return np.empty((n_docs, model.scores.n_leaves), np.int32), np.empty(shape, np.int32)

    def read(self, model: Structured) -> Read:
        """c and n of the nodes; words by leaf and what the rows know beside them."""
        counts, H = self.observed.counts, model.n_components
        C, S = self._room(model)
        n = np.empty((counts.n_features, H), dtype=np.int32)
        self.native.read(C, n, S)
        nodes = np.zeros((counts.n_docs, H), dtype=np.float32)
        self.native.add_nodes(nodes)
        extra = {"leaf_counts": read_only(C), "structure_counts": read_only(S)}
        return Read(read_only(nodes.astype(np.int32)), read_only(n), extra)

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
        more = {"leaf_scores": of_leaves, "upsilon": upsilon}
        return replace(
            recorded,
            Theta=read_only(Theta),
            c=read_only(c),
            count=recorded.count + 1,
            scores=read_only(recorded.scores + of_nodes),
            extra={name: read_only(recorded.extra[name] + more[name]) for name in more},
        )

    def learn(self, model: Structured, counts: Read) -> tuple[Structured, tuple[str, ...]]:
        """Priors of the leaves (B09 5.5), and of the documents' own Υ (5.6)."""
        leaves, capped = learn_from_counts(
            model.leaf_model, counts.extra["leaf_counts"], self.observed
        )
        scores: Any = leaves.scores
        changes = {name: getattr(scores, name) for name in scores.learned}
        model = model.with_scores(**changes) if changes else model
        rows = model.scores.rows
        if isinstance(rows, FixedRows) or not rows.learn_psi:
            return model, capped
        psi, more = learn_rows(rows, counts.extra["structure_counts"])
        return model.with_scores(psi=psi), (*capped, "psi") if more else capped
