"""The tree's score prior node by node: BJ04 3.4 as one would explain it, and what it is fitted by.

`dcomp.models.tree` has the same quantities by matrices; here every step follows a branch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, digamma, gammaln

from dcomp.models import TreeScores
from dcomp.models.arrays import FloatArray
from dcomp.reference.mean_field import Document, allocate


def totals(scores: TreeScores, c: npt.NDArray[Any], node: int) -> float:
    """S of a node: its own words and those of all nodes below it.

    >>> from dcomp.models import Tree
    >>> scores = TreeScores.build(Tree.regular(2, 2))
    >>> totals(scores, np.array([1, 2, 4]), 0)
    7.0
    """
    below = scores.tree.children[node]
    return float(c[node]) + sum(totals(scores, c, child) for child in below)


def walk(
    scores: TreeScores,
    c: npt.NDArray[Any],
    stop: Callable[[float, float], tuple[float, float]],
    branch: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """log m_k of every node, from the root down.

    stop(x, y): log q and log(1 − q) where q ~ Beta(x, y); branch(x): logs of the branches where
    they are Dirichlet(x).
    """
    log_m = np.empty(len(c))

    def visit(node: int, log_reach: float) -> None:
        below = list(scores.tree.children[node])
        if not below:
            log_m[node] = log_reach  # a leaf stops for sure
            return
        S = np.array([totals(scores, c, child) for child in below])
        stays, goes = stop(scores.a1[node] + c[node], scores.a2[node] + S.sum())
        log_m[node] = log_reach + stays
        for child, log_n in zip(below, branch(scores.b[below] + S), strict=True):
            visit(child, log_reach + goes + float(log_n))

    visit(0, 0.0)
    return log_m


def predictive(scores: TreeScores, c: npt.NDArray[Any]) -> FloatArray:
    """p(next word belongs to k | c): the path's ratios multiplied."""
    return np.exp(
        walk(
            scores,
            c,
            lambda x, y: (float(np.log(x / (x + y))), float(np.log(y / (x + y)))),
            lambda x: np.asarray(np.log(x / x.sum())),
        )
    )


def subtree_weights(scores: TreeScores, phi: FloatArray) -> FloatArray:
    """b_k p(word | a token reaches k), where no token of the document lies at k or below: W of the
    sampler by lists. No document changes it.

    >>> from dcomp.models import Tree
    >>> scores = TreeScores.build(Tree.regular(2, 2), a1=1, a2=3, b=0.5)
    >>> subtree_weights(scores, np.array([0.2, 0.4, 0.8]))
    array([0.5, 0.2, 0.4])
    """
    W = np.empty(len(phi))

    def visit(node: int) -> None:
        below = list(scores.tree.children[node])
        for child in below:
            visit(child)
        reached = phi[node]
        if below:
            a1, a2 = scores.a1[node], scores.a2[node]
            among = W[below].sum() / scores.b[below].sum()
            reached = (a1 * phi[node] + a2 * among) / (a1 + a2)
        W[node] = reached if node == 0 else scores.b[node] * reached

    visit(0)
    return W


def word_by_lists(scores: TreeScores, c: npt.NDArray[Any], phi: FloatArray) -> tuple[float, float]:
    """p(word | c) = Σ_k F_k (a_k + c_k) φ_k as the sampler by lists adds it up: the nodes that the
    document has tokens at, and all nodes by their prior's a_k.

    Only nodes with a token at or below them are visited. What lies below their other children is in
    `subtree_weights`.
    """
    W, own, rest = subtree_weights(scores, phi), 0.0, 0.0

    def visit(node: int, reach: float) -> None:
        nonlocal own, rest
        below = list(scores.tree.children[node])
        S = np.array([totals(scores, c, child) for child in below])
        D, a12 = S.sum(), scores.a1[node] + scores.a2[node]
        F = reach / (a12 + c[node] + D)
        G = F * (scores.a2[node] + D) / (scores.b[below].sum() + D)
        own += F * c[node] * phi[node]
        rest += F * scores.a1[node] * phi[node]
        for child, tokens in zip(below, S, strict=True):
            if tokens > 0 and scores.tree.children[child]:
                visit(child, G * (scores.b[child] + tokens))
            else:
                own += G * tokens * phi[child]
                rest += G * W[child]

    if not scores.tree.children[0]:
        return float(phi[0]), 0.0
    visit(0, 1.0)
    return float(own), float(rest)


def expected_log(scores: TreeScores, c: npt.NDArray[Any]) -> FloatArray:
    """E[log m_k] under the Betas and Dirichlets of the posterior given c."""
    return walk(
        scores,
        c,
        lambda x, y: (
            float(digamma(x) - digamma(x + y)),
            float(digamma(y) - digamma(x + y)),
        ),
        lambda x: np.asarray(digamma(x) - digamma(x.sum())),
    )


def draw(scores: TreeScores, c: npt.NDArray[Any], rng: np.random.Generator) -> FloatArray:
    """m given c."""

    def stop(x: float, y: float) -> tuple[float, float]:
        q = rng.beta(x, y)
        return float(np.log(q)), float(np.log1p(-q))

    with np.errstate(divide="ignore"):  # a share of a small Dirichlet parameter may vanish
        return np.exp(walk(scores, c, stop, lambda x: np.asarray(np.log(rng.dirichlet(x)))))


def document_tree(
    w: FloatArray, c: FloatArray, log_weight: FloatArray, scores: TreeScores
) -> Document:
    """One mean-field update: q(q_k) Betas and q(n) Dirichlets of the counts c, as BJ06 (17)-(19)
    for the flat Dirichlet."""
    e_log = expected_log(scores, c)
    log_Z, N = allocate(log_weight, e_log)
    bound = float(w @ log_Z)
    for node, below in enumerate(map(list, scores.tree.children)):
        if not below:
            continue
        S = np.array([totals(scores, c, child) for child in below])
        x, y = scores.a1[node] + c[node], scores.a2[node] + S.sum()
        q_log, go_log = digamma(x) - digamma(x + y), digamma(y) - digamma(x + y)
        bound += betaln(x, y) - betaln(scores.a1[node], scores.a2[node])
        bound -= c[node] * q_log + S.sum() * go_log
        prior, after = scores.b[below], scores.b[below] + S
        bound += (gammaln(after) - gammaln(prior)).sum()
        bound += gammaln(prior.sum()) - gammaln(after.sum())
        bound -= float(S @ (digamma(after) - digamma(after.sum())))
    return Document(w @ N, w[:, None] * N, float(bound), e_log, predictive(scores, c))
