"""Structured components in plain NumPy: B09 (7), (8), (9) and 5.3, one token at a time.

The state is a pair (leaf, node) for every token, numbered as in `Structure`. Slow and short: each
conditional is written as B09 prints it, with the corrections of MODELS §5.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from dcomp.data import Counts, FeatureSpace
from dcomp.models import Observations, Structured
from dcomp.models.arrays import FloatArray
from dcomp.reference.gibbs import IntArray, Tokens, score_ratio
from dcomp.reference.simulate import draw_loadings, draw_scores


@dataclass
class Counted:
    """All counts of an assignment of tokens to pairs."""

    D: IntArray  # (I, P): of documents by pair
    n: IntArray  # (J, H): of features by node

    @classmethod
    def from_assignment(
        cls, model: Structured, tokens: Tokens, z: IntArray, counts: Counts
    ) -> Counted:
        """From the pairs of the tokens."""
        D = np.zeros((counts.n_docs, model.structure.n_pairs), dtype=np.int64)
        n = np.zeros((counts.n_features, model.n_components), dtype=np.int64)
        np.add.at(D, (tokens.document, z), 1)
        np.add.at(n, (tokens.feature, model.structure.node[z]), 1)
        return cls(D, n)

    def move(self, model: Structured, i: int, j: int, pair: int, by: int) -> None:
        """Put a token in, or take it out."""
        self.D[i, pair] += by
        self.n[j, model.structure.node[pair]] += by

    def leaves(self, model: Structured) -> IntArray:
        """C (I, K)."""
        return np.asarray(np.add.reduceat(self.D, model.structure.start[:-1], axis=1))

    def rows(self, model: Structured) -> IntArray:
        """S of the prior of Υ: of the corpus or of documents, by pair or by node."""
        prior = model.scores.rows
        S = self.D if prior.per_document else self.D.sum(axis=0, keepdims=True)
        return np.asarray(S @ model.structure.to_nodes).astype(np.int64) if prior.by_node else S


def row_ratio(model: Structured, S: IntArray) -> FloatArray:
    """p(node | leaf) of every pair given the other tokens, from one row of S: the last factors of
    B09 (7), (8) and (9)."""
    structure, rows = model.structure, model.scores.rows
    out = np.empty(structure.n_pairs)
    for p, (c, h) in enumerate(zip(structure.leaf, structure.node, strict=True)):
        if rows.kind == "fixed":
            out[p] = rows.upsilon[p]  # type: ignore[union-attr]
        elif not rows.by_node:
            own = structure.leaf == c
            psi = rows.psi  # type: ignore[union-attr]
            out[p] = (psi[p] + S[p]) / (psi[own] + S[own]).sum()
        else:
            out[p] = _stick(model, S, int(h))
    return out


def _stick(model: Structured, N: IntArray, h: int) -> float:
    """B09 (8): stopping at h, and at none of the nodes above it."""
    parents, psi = model.structure.parents, model.scores.psi
    assert parents is not None

    def descends(node: int, top: int) -> bool:
        while parents[node] >= 0:
            node = parents[node]
            if node == top:
                return True
        return False

    def share(node: int, side: int) -> float:
        M = sum(int(N[other]) for other in range(len(N)) if descends(other, node))
        counts = (psi[node, 0] + N[node], psi[node, 1] + M)
        return float(counts[side] / sum(counts))

    value = 1.0 if h < model.scores.n_leaves else share(h, 0)
    while parents[h] >= 0:
        h = parents[h]
        value *= share(h, 1)
    return value


def pair_weights(
    model: Structured, observed: Observations, counted: Counted, i: int, j: int
) -> FloatArray:
    """Of every pair for one more token of feature j in document i: B09 (7), (8), (9), 5.3."""
    structure, blocks = model.structure, observed.counts.features.blocks
    gamma = model.loadings.per_feature(len(counted.n))
    block = blocks == blocks[j]
    word = (gamma[j] + counted.n[j]) / (gamma[block].sum() + counted.n[block].sum(axis=0))
    C = counted.leaves(model)[i]
    score = score_ratio(model.leaf_model, C, float(observed.total_exposure[i]))
    S = counted.rows(model)
    row = row_ratio(model, S[i if model.scores.rows.per_document else 0])
    return np.asarray(score[structure.leaf] * row * word[structure.node])


def collapsed_sweep(
    model: Structured, observed: Observations, z: IntArray, rng: np.random.Generator
) -> IntArray:
    """One token after the other, given all the rest."""
    tokens, z = Tokens.from_counts(observed.counts), z.copy()
    counted = Counted.from_assignment(model, tokens, z, observed.counts)
    for t, (i, j) in enumerate(zip(tokens.document, tokens.feature, strict=True)):
        counted.move(model, i, j, z[t], -1)
        p = pair_weights(model, observed, counted, i, j)
        z[t] = rng.choice(len(p), p=p / p.sum())
        counted.move(model, i, j, z[t], 1)
    return z


def log_joint(model: Structured, observed: Observations, counted: Counted) -> float:
    """log p(words, pairs) up to terms of the words alone: B09 (2) to (5), Z_J for words."""
    gamma = model.loadings.per_feature(len(counted.n))
    value = model.scores.log_moment(
        counted.leaves(model), counted.rows(model), observed.total_exposure
    )
    value += float((gammaln(gamma[:, None] + counted.n) - gammaln(gamma)[:, None]).sum())
    for g in range(observed.counts.features.n_blocks):
        members = observed.counts.features.blocks == g
        total = gamma[members].sum()
        value += float((gammaln(total) - gammaln(total + counted.n[members].sum(axis=0))).sum())
    return value


class Posterior:
    """p(pairs | words) for every assignment, by listing all P^tokens of them.

    >>> from dcomp.models import Structure
    >>> model = Structured.build(Structure.from_parents([2, 2, -1]), alpha=1.0)
    >>> observed = Observations.build(Counts.from_matrix([[1]]))
    >>> Posterior(model, observed).p
    array([0.25, 0.25, 0.25, 0.25])
    """

    def __init__(self, model: Structured, observed: Observations) -> None:
        tokens = Tokens.from_counts(observed.counts)
        pairs, size = range(model.structure.n_pairs), len(tokens.document)
        self.model = model
        self.assignments: IntArray = np.array(
            list(itertools.product(pairs, repeat=size)), dtype=np.int64
        )
        self.counted = [
            Counted.from_assignment(model, tokens, z, observed.counts) for z in self.assignments
        ]
        self.log_joint: FloatArray = np.array(
            [log_joint(model, observed, counted) for counted in self.counted]
        )
        weights = np.exp(self.log_joint - self.log_joint.max())
        self.p: FloatArray = weights / weights.sum()

    @staticmethod
    def key(C: npt.NDArray[np.int_], S: npt.NDArray[np.int_], n: npt.NDArray[np.int_]) -> bytes:
        """A table as something that can be looked up."""
        return np.concatenate([np.ravel(C), np.ravel(S), np.ravel(n)]).astype(np.int64).tobytes()

    def by_table(self) -> dict[bytes, float]:
        """p(C, S, n | words)."""
        out: dict[bytes, float] = {}
        for counted, p in zip(self.counted, self.p, strict=True):
            key = self.key(counted.leaves(self.model), counted.rows(self.model), counted.n)
            out[key] = out.get(key, 0.0) + float(p)
        return out


@dataclass(frozen=True)
class Drawn:
    """Everything that the model speaks of."""

    leaf_scores: FloatArray  # (I, K)
    upsilon: FloatArray  # (1 or I, P)
    Theta: FloatArray  # (J, H)
    v: IntArray  # (I, J, P): words by pair

    def counted(self, model: Structured) -> Counted:
        """The counts of its words."""
        by_pair = self.v.sum(axis=0)  # (J, P)
        n = np.asarray(by_pair @ model.structure.to_nodes).astype(np.int64)
        return Counted(self.v.sum(axis=1), n)


def draw_parameters(
    model: Structured,
    features: FeatureSpace,
    counted: Counted,
    exposure: FloatArray,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Leaf scores, Υ and Θ given the counts; with none, from their priors."""
    leaf_scores = draw_scores(model.leaf_model, counted.leaves(model), exposure, rng)
    upsilon = model.scores.rows.draw(counted.rows(model), rng)
    return leaf_scores, upsilon, draw_loadings(model, features, counted.n, rng)


def draw_words(
    model: Structured,
    features: FeatureSpace,
    size: FloatArray,
    leaf_scores: FloatArray,
    upsilon: FloatArray,
    Theta: FloatArray,
    rng: np.random.Generator,
) -> IntArray:
    """v (I, J, P): a pair for each word by scores and Υ, a feature by its node's θ. `size` (I, G)
    is of tokens (DM) or exposure."""
    structure = model.structure
    pairs = leaf_scores[:, structure.leaf] * upsilon  # (I, P)
    v = np.zeros((len(size), features.n_features, structure.n_pairs), dtype=np.int64)
    for g in range(features.n_blocks):
        members = np.flatnonzero(features.blocks == g)
        if model.has_exposure:
            by_pair = rng.poisson(size[:, g : g + 1] * pairs)
        else:
            shares = pairs / pairs.sum(axis=1, keepdims=True)
            by_pair = rng.multinomial(size[:, g].astype(np.int64), shares)
        theta = Theta[members][:, structure.node].T  # (P, J_g)
        v[:, members] = np.moveaxis(rng.multinomial(by_pair, theta), 2, 1)
    return v


def simulate(
    model: Structured, features: FeatureSpace, size: FloatArray, rng: np.random.Generator
) -> Drawn:
    """Everything from the priors.

    >>> from dcomp.models import Structure
    >>> model = Structured.build(Structure.from_parents([2, 2, -1]), alpha=1.0)
    >>> drawn = simulate(model, FeatureSpace.build(3), np.full((2, 1), 5), np.random.default_rng(0))
    >>> drawn.v.sum(axis=(1, 2))
    array([5, 5])
    """
    H, n_docs = model.n_components, len(size)
    nothing = Counted(
        np.zeros((n_docs, model.structure.n_pairs), dtype=np.int64),
        np.zeros((features.n_features, H), dtype=np.int64),
    )
    drawn = draw_parameters(model, features, nothing, np.zeros(n_docs), rng)
    return Drawn(*drawn, draw_words(model, features, size, *drawn, rng))
