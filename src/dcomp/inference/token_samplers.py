"""The native samplers of single tokens as the collapsed sampler sees them, one class per family.

Each works on one part of the corpus. Alone it holds all counts itself; among several parts the
counts of features, and those of a Υ that the corpus shares, are lent to it for a sweep (`load`),
and what it moved is told apart from what it was lent.

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
from dcomp.data import FeatureSpace
from dcomp.inference import gibbs
from dcomp.inference.base import Info
from dcomp.inference.gibbs import counts_seen, learn_from_counts
from dcomp.inference.mean_field import Weights
from dcomp.inference.pairs import PairCounts, PairInfo
from dcomp.inference.start import token_uniform
from dcomp.inference.state import Carried, RecordedDocuments, RecordedLoadings
from dcomp.models import Model, Observations, Structured
from dcomp.models.arrays import read_only
from dcomp.models.base import moment_scores
from dcomp.models.prior import learned_values

_NODE = 4  # use of a document's random numbers
_SHARED = ("shared", "phi")  # kinds of rows whose counts the corpus shares

Assignment = npt.NDArray[np.uint16]
Table = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Pooled:
    """Counts of the corpus that sweeps share; they add."""

    n: Table  # (J, K)
    rows: Table | None = None  # of a Υ that the corpus shares

    def __add__(self, other: Pooled) -> Pooled:
        rows = None if self.rows is None or other.rows is None else self.rows + other.rows
        return Pooled(self.n + other.n, rows)

    def __sub__(self, other: Pooled) -> Pooled:
        rows = None if self.rows is None or other.rows is None else self.rows - other.rows
        return Pooled(self.n - other.n, rows)


@dataclass(frozen=True)
class Grid:
    """How the tokens of a part are walked."""

    n_parts: int  # of documents and of features: `tokens.hpp`
    sparse: bool
    feature_totals: npt.NDArray[np.int64] | None  # of the corpus, where there are several parts


class Tokens(ABC):
    """What they have in common: tokens in an order of their own, and counts that follow z."""

    info_type: ClassVar[type[Info]] = Info
    carried_type: ClassVar[type[Carried] | None] = None
    switches: ClassVar[bool] = False  # whether it can `draw_anew`

    native: Any
    observed: Observations

    @abstractmethod
    def __init__(self, model: Any, observed: Observations, grid: Grid) -> None:
        """Tokens in their order, and their counts once an assignment is taken up."""

    def components(self, model: Any, z: Assignment) -> Assignment:
        """The component of each token, where z has more than that."""
        return z

    @abstractmethod
    def start_from(
        self,
        model: Any,
        c: npt.NDArray[np.float32],
        weights: Weights,
        seed: int,
        z: Assignment,
        n_threads: int,
    ) -> None:
        """z by the scores and loadings of a mean-field fit of `flat_model`."""

    @staticmethod
    def flat_model(model: Any) -> Model:
        """What a mean-field start is fitted with."""
        flat: Model = model
        return flat

    @staticmethod
    def with_start(model: Any, learned: Model) -> Model:
        """The model with the priors that its mean-field start has learned."""
        return learned

    @abstractmethod
    def sweep(self, model: Any, z: Assignment, seed: int, sweep: int, n_threads: int) -> float:
        """All tokens once: z and the counts change; Σ log p(word | all the rest)."""

    def draw_anew(
        self, model: Any, pooled: Pooled, z: Assignment, seed: int, sweep: int, n_threads: int
    ) -> None:
        """All tokens of every long document at once, given loadings drawn by the corpus's counts:
        where scores can be exactly 0, its components are switched off and on (MODELS §12). The
        counts of features are this part's own afterwards."""
        raise NotImplementedError

    @abstractmethod
    def load(self, pooled: Pooled) -> None:
        """Counts of the corpus in place of this part's own, which are in them."""

    def unload(self) -> None:
        """Give back the memory of what `load` put here, until the next `load` or `count`.

        What belongs to documents stays, and can still be asked for; the rest is an error.
        """
        self.native.unload()

    @abstractmethod
    def pooled(self, model: Any) -> Pooled:
        """What `load` put here and sweeps have changed; without it this part's own."""

    def moved(self, model: Any, lent: Pooled) -> Pooled:
        """What sweeps have changed in what `load` put here."""
        return self.pooled(model) - lent

    def beside(self, model: Any, pooled: Pooled | None) -> dict[str, npt.NDArray[Any]]:
        """What scores are drawn from beside c."""
        return {}

    @abstractmethod
    def log_moments(self, model: Any, n_threads: int) -> float:
        """log p(z, words) with scores and loadings integrated out, but for constants: alone."""

    @abstractmethod
    def log_score_moments(self, model: Any, n_threads: int) -> float:
        """The documents' part of `log_moments`."""

    @staticmethod
    def log_row_moments(model: Any, pooled: Pooled) -> float:
        """What a Υ that the corpus shares adds to it."""
        return 0.0

    @abstractmethod
    def documents(self, model: Any) -> tuple[Table, dict[str, npt.NDArray[Any]]]:
        """c of the assignment, and what else documents have beside it."""

    @abstractmethod
    def record(
        self,
        recorded: RecordedDocuments,
        loadings: RecordedLoadings | None,
        model: Any,
        pooled: Pooled | None,
        n_threads: int,
    ) -> tuple[RecordedDocuments, Any]:
        """The documents' sums with this assignment's added; and those of the loadings where this
        part is alone, else what `record_pooled` needs."""

    @staticmethod
    def record_pooled(recorded: RecordedLoadings, model: Any, words: Any) -> RecordedLoadings:
        """What else belongs to the corpus, given what `record` gave of all parts."""
        return recorded

    @abstractmethod
    def seen(self, model: Any) -> Any:
        """What the score prior learns from in this part; it adds."""

    @staticmethod
    def learn(
        model: Any, seen: Any, n: Table, features: FeatureSpace
    ) -> tuple[Model, tuple[str, ...]]:
        """The model with what its priors learn, and what is at a limit."""
        return learn_from_counts(model, seen, n, features)

    @property
    def n_tokens(self) -> int:
        """T."""
        return int(self.native.n_tokens)

    def entries(self) -> npt.NDArray[np.int64]:
        """The entry of the counts, in their order, that each token belongs to."""
        out = np.empty(self.n_tokens, dtype=np.int64)
        self.native.entries(out)
        return out

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
        """γ of every feature, and component where they have their own."""
        n_features = self.observed.counts.n_features
        return model.loadings.columns(n_features, model.n_components)


class FlatTokens(Tokens):
    """Components side by side, whose chances are linear in c: DM, GP and CGP."""

    switches = True

    def __init__(self, model: Model, observed: Observations, grid: Grid) -> None:
        self.observed = observed
        features = observed.counts.features
        self.native = _core.CollapsedSampler(
            observed.corpus,
            features.blocks,
            features.n_blocks,
            self._prior(model),
            grid.n_parts,
            grid.sparse,
            grid.feature_totals,
        )

    def _prior(self, model: Model) -> _core.ScorePrior:
        return self.observed.native(moment_scores(model))

    def start_from(
        self,
        model: Model,
        c: npt.NDArray[np.float32],
        weights: Weights,
        seed: int,
        z: Assignment,
        n_threads: int,
    ) -> None:
        """A draw by scores and loadings."""
        prior: Any = model.scores
        Theta = np.ascontiguousarray(weights.Theta, dtype=np.float32)
        scores = prior.rough_scores(c)
        if self.observed.allowed is not None:
            scores = np.where(self.observed.allowed.mask, scores, np.float32(0))
        self.native.start_from(seed, np.ascontiguousarray(scores), Theta, z, n_threads)

    def sweep(self, model: Model, z: Assignment, seed: int, sweep: int, n_threads: int) -> float:
        """All tokens once: z and the counts change; Σ log p(word | all the rest)."""
        prior = self._prior(model)
        return float(self.native.sweep(z, self.gamma(model), prior, seed, sweep, n_threads))

    def draw_anew(
        self, model: Model, pooled: Pooled, z: Assignment, seed: int, sweep: int, n_threads: int
    ) -> None:
        """All tokens of every long document at once."""
        features, log_scale = self.observed.counts.features, np.empty(len(pooled.n))
        where = (features.blocks, features.n_blocks, seed, sweep, log_scale, n_threads)
        Theta = _core.draw_loadings(pooled.n, self.gamma(model), *where)
        how = (seed, sweep, gibbs.SWITCH_FROM, n_threads)
        self.native.draw_anew(z, Theta, log_scale, self._prior(model), *how)

    def load(self, pooled: Pooled) -> None:
        """Counts of the corpus in place of this part's own."""
        self.native.load(pooled.n)

    def pooled(self, model: Model) -> Pooled:
        """The counts of features."""
        shape = (self.observed.counts.n_features, model.n_components)
        n = np.empty(shape, dtype=np.int32)
        self.native.read(None, n)
        return Pooled(read_only(n))

    def log_moments(self, model: Model, n_threads: int) -> float:
        """log p(z, words) with scores and loadings integrated out, but for constants."""
        return float(self.native.log_moments(self.gamma(model), self._prior(model), n_threads))

    def log_score_moments(self, model: Model, n_threads: int) -> float:
        """log p(z) but for constants."""
        return float(self.native.log_score_moments(self._prior(model), n_threads))

    def documents(self, model: Model) -> tuple[Table, dict[str, npt.NDArray[Any]]]:
        """c of the assignment."""
        c = np.empty((self.observed.counts.n_docs, model.n_components), dtype=np.int32)
        self.native.read(c, None)
        return read_only(c), {}

    def record(
        self,
        recorded: RecordedDocuments,
        loadings: RecordedLoadings | None,
        model: Model,
        pooled: Pooled | None,
        n_threads: int,
    ) -> tuple[RecordedDocuments, Any]:
        """The sums with this assignment's added."""
        Theta, c = None if loadings is None else loadings.Theta.copy(), recorded.c.copy()
        zeros = None if recorded.zeros is None else recorded.zeros.copy()
        self.native.record(self.gamma(model), Theta, c, zeros, n_threads)
        after = replace(recorded, c=read_only(c), zeros=None if zeros is None else read_only(zeros))
        if loadings is None or Theta is None:
            return after, None
        return after, replace(loadings, Theta=read_only(Theta), count=loadings.count + 1)

    def seen(self, model: Model) -> Any:
        """What the score prior learns from in this part."""
        if not model.scores.learned:
            return None
        prior: Any = model.scores
        return counts_seen(prior, self.observed, self.documents(model)[0])


class TreeTokens(FlatTokens):
    """The nodes of a tree: TM."""

    switches = False

    def record(
        self,
        recorded: RecordedDocuments,
        loadings: RecordedLoadings | None,
        model: Model,
        pooled: Pooled | None,
        n_threads: int,
    ) -> tuple[RecordedDocuments, Any]:
        """No mean of c gives the mean of scores: theirs is recorded beside it."""
        assert recorded.scores is not None
        scores = recorded.scores.copy()
        self.native.add_means(self._prior(model), scores, n_threads)
        after, of_loadings = super().record(recorded, loadings, model, pooled, n_threads)
        return replace(after, scores=read_only(scores)), of_loadings


class PairTokens(Tokens):
    """Pairs of leaf and node, ST: B09 (7), (8), (9) and 5.3."""

    info_type = PairInfo
    carried_type = PairCounts

    def __init__(self, model: Structured, observed: Observations, grid: Grid) -> None:
        self.observed, self.grid = observed, grid
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
            grid.n_parts,
        )

    @staticmethod
    def flat_model(model: Structured) -> Model:
        """Flat components, one per leaf."""
        flat: Model = model.leaf_model
        return flat

    @staticmethod
    def with_start(model: Structured, learned: Model) -> Structured:
        """The priors of leaves."""
        return model.with_scores(**learned_values(learned.scores))

    def start_from(
        self,
        model: Structured,
        c: npt.NDArray[np.float32],
        weights: Weights,
        seed: int,
        z: Assignment,
        n_threads: int,
    ) -> None:
        """Leaves by a fit of flat components, nodes evenly among those of a leaf."""
        structure = model.structure
        flat = FlatTokens(model.leaf_model, self.observed, replace(self.grid, sparse=False))
        leaf = np.empty_like(z)
        flat.start_from(model.leaf_model, c, weights, seed, leaf, n_threads)
        first, size = structure.start[:-1][leaf], np.diff(structure.start)[leaf]
        u = token_uniform(self.observed, self.entries(), seed, _NODE)
        z[:] = first + np.minimum((u * size).astype(np.int64), size - 1)

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

    def load(self, pooled: Pooled) -> None:
        """Counts of the corpus in place of this part's own."""
        self.native.load(pooled.n, pooled.rows)

    def pooled(self, model: Structured) -> Pooled:
        """The counts of features, and of a shared Υ."""
        n = np.empty((self.observed.counts.n_features, model.n_components), dtype=np.int32)
        S = None if model.scores.rows.per_document else self._tables(model)[1]
        self.native.read(None, n, S)
        return Pooled(read_only(n), None if S is None else read_only(S))

    def moved(self, model: Structured, lent: Pooled) -> Pooled:
        """A given Υ is no count: nothing is lent of it, and nothing moves."""
        moved = super().moved(model, lent)
        is_given = model.scores.rows.kind == "fixed" and moved.rows is not None
        return replace(moved, rows=np.zeros_like(moved.rows)) if is_given else moved

    def beside(self, model: Structured, pooled: Pooled | None) -> dict[str, npt.NDArray[Any]]:
        """Words by leaf, and what the rows of Υ know, of the corpus where it shares them."""
        C, S = self.tables(model)
        if pooled is not None and pooled.rows is not None:
            S = pooled.rows
        return {"leaf_counts": C, "structure_counts": S}

    def log_moments(self, model: Structured, n_threads: int) -> float:
        """log p(leaves, nodes, words): B09 (2) to (5) and 4.1.3, but for constants."""
        leaves = model.scores.leaves.native(self.observed.native_exposure)
        words = float(self.native.log_moments(self.gamma(model), leaves, n_threads))
        _, S = self.tables(model)
        return words + float(model.scores.rows.log_moment(S).sum())

    def log_score_moments(self, model: Structured, n_threads: int) -> float:
        """log p(leaves, nodes) of a part's documents, as far as it is their own."""
        leaves = model.scores.leaves.native(self.observed.native_exposure)
        value = float(self.native.log_score_moments(leaves, n_threads))
        if model.scores.rows.kind in _SHARED:
            return value
        return value + float(model.scores.rows.log_moment(self.tables(model)[1]).sum())

    @staticmethod
    def log_row_moments(model: Structured, pooled: Pooled) -> float:
        """Of a shared Υ."""
        if pooled.rows is None or model.scores.rows.kind not in _SHARED:
            return 0.0
        return float(model.scores.rows.log_moment(pooled.rows).sum())

    def tables(self, model: Structured) -> tuple[Table, Table]:
        """Words of documents by leaf, and what the rows of Υ know."""
        C, S = self._tables(model)
        self.native.read_documents(C, S)
        return C, S

    def _tables(self, model: Structured) -> tuple[Table, Table]:
        rows, n_docs = model.scores.rows, self.observed.counts.n_docs
        shape = (n_docs if rows.per_document else 1, rows.width)
        return np.empty((n_docs, model.scores.n_leaves), np.int32), np.empty(shape, np.int32)

    def components(self, model: Structured, z: Assignment) -> Assignment:
        """The node of each token."""
        return read_only(model.structure.node[z].astype(np.uint16))

    def documents(self, model: Structured) -> tuple[Table, dict[str, npt.NDArray[Any]]]:
        """c of the nodes; words by leaf and what the rows know beside them."""
        C, S = self.tables(model)
        nodes = np.zeros((len(C), model.n_components), dtype=np.float32)
        self.native.add_nodes(nodes)
        beside = {"leaf_counts": read_only(C)}
        if model.scores.rows.per_document:
            beside["structure_counts"] = read_only(S)
        return read_only(nodes.astype(np.int32)), beside

    def record(
        self,
        recorded: RecordedDocuments,
        loadings: RecordedLoadings | None,
        model: Structured,
        pooled: Pooled | None,
        n_threads: int,
    ) -> tuple[RecordedDocuments, Any]:
        """Sums of node counts, of E[scores] of nodes and leaves; of E[Θ] and E[Υ] where alone."""
        assert recorded.scores is not None
        c = recorded.c.copy()
        self.native.add_nodes(c)
        C, S = (self.beside(model, pooled)[name] for name in ("leaf_counts", "structure_counts"))
        means = model.scores.posterior_means(C, S, self.observed.total_exposure)
        of_leaves, of_nodes = (mean.astype(np.float32) for mean in means)
        after = replace(
            recorded,
            c=read_only(c),
            scores=read_only(recorded.scores + of_nodes),
            own={"leaf_scores": read_only(recorded.own["leaf_scores"] + of_leaves)},
        )
        words = S.sum(axis=0, keepdims=True)
        if loadings is None:
            return after, words if model.scores.rows.per_document else None
        Theta = loadings.Theta.copy()
        self.native.add_loadings(self.gamma(model), Theta, n_threads)
        alone = replace(loadings, Theta=read_only(Theta), count=loadings.count + 1)
        return after, self.record_pooled(alone, model, words)

    @staticmethod
    def record_pooled(
        recorded: RecordedLoadings, model: Structured, words: Table
    ) -> RecordedLoadings:
        """E[Υ], of all words taken together where documents have their own."""
        upsilon = model.scores.pooled_upsilon(words).astype(np.float32)
        return replace(recorded, own={"upsilon": read_only(recorded.own["upsilon"] + upsilon)})

    def seen(self, model: Structured) -> Any:
        """What the priors of leaves and of rows learn from in this part."""
        if not model.scores.learned:
            return None
        return model.scores.pairs_seen(*self.tables(model), self.observed.total_exposure)

    @staticmethod
    def learn(
        model: Structured, seen: Any, n: Table, features: FeatureSpace
    ) -> tuple[Structured, tuple[str, ...]]:
        """Priors of the leaves (B09 5.5), of the documents' own Υ (5.6), and of the loadings."""
        scores, capped = model.scores, tuple[str, ...]()
        if seen is not None:
            scores, capped = scores.learn_from_pairs(seen)
        loadings, at_limit = model.loadings.learn(n, features.blocks)
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
