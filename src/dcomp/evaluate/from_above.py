"""From many components to few: the weak are deleted, and the rest goes on (BJ06 VII.E).

What a fit of K components is worth is told by its words, with scores and loadings integrated out:

    Σ_i log g(c_i) + Σ_k L(n_k) + H(z),

g of the score prior and L of the loadings' (`neighbours`), H the entropy of who has which word. It
is the bound of a mean field of the words alone, with expected counts where it has expectations:
near enough for steps of whole components, and the same for climbs and samplers. A component more
has to pay for itself in it, and where two are one, one of them does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from dcomp.data import Counts
from dcomp.evaluate.ladder import Ladder, words_of
from dcomp.evaluate.neighbours import Neighbours, Words
from dcomp.evaluate.select_chains import in_use
from dcomp.executors import Executor
from dcomp.models import Observations
from dcomp.models.arrays import FloatArray
from dcomp.result import Fit

TRIED = 0.5  # of the best number so far: down to there, fewer components may be worth more again
PER_PIECE = 1 << 22  # words by components of which shares are held at a time


def from_above(ladder: Ladder, first: Fit, executor: Executor) -> tuple[int, ...]:
    """The numbers of components that have words on the way down, to where these are worth most."""
    near = ladder.neighbours()
    step = Step.of(first, near)
    steps, best = [step], step
    while step.words.n_components > max(1, TRIED * best.words.n_components):
        tried = [ladder.fitted(words, executor) for words in with_less(step.words, near)]
        step = max((Step.of(fitted, near) for fitted in tried), key=lambda step: step.worth)
        steps.append(step)
        best = max(best, step, key=lambda step: step.worth)
    way = [step.words.n_components for step in steps[: steps.index(best) + 1]]
    most = words_of(first).n_components
    return tuple(dict.fromkeys([most, *way]))


@dataclass(frozen=True, eq=False)
class Step:
    """A fit on the way, and what it is worth."""

    words: Words  # of the components that have any
    worth: float

    @classmethod
    def of(cls, fitted: Fit, near: Neighbours) -> Step:
        """As it ended."""
        words = words_of(fitted)
        return cls(words.of(in_use(words.n)), worth_of(fitted, near))


def with_less(words: Words, near: Neighbours) -> Iterator[Words]:
    """Beginnings with fewer components: all joined that are as good as one; where none are, the two
    that lose least, and others without the smallest."""
    joined = near.pruned(words)
    if joined is not None:
        yield joined
        return
    yield near.joined(words)
    if words.n_components > 2:
        yield words.of(np.arange(words.n_components) != int(np.argmin(words.n.sum(axis=0))))


def worth_of(fitted: Fit, near: Neighbours) -> float:
    """In nats; of one component the evidence."""
    words, prior = words_of(fitted), fitted.model.scores
    observed = Observations.build(near.counts, fitted.exposure)
    of_documents = float(observed.ask(prior, "log_moment", words.c).sum())
    scores = observed.ask(prior, "posterior_mean", words.c)
    doubt = entropy(near.counts, scores, near.loadings(words))
    constant = fitted.model.log_constant(observed, combinatoric=False).sum()
    return of_documents + float(near.log_words(words.n).sum()) + doubt + float(constant)


def entropy(counts: Counts, scores: FloatArray, Theta: FloatArray) -> float:
    """Of the component of every word, given scores (I, K) and loadings (J, K).

    >>> even = np.ones((1, 2))
    >>> round(entropy(Counts.from_matrix([[3]]), even, even), 3)  # three words, ln 2 each
    2.079
    """
    row = np.repeat(np.arange(counts.n_docs), np.diff(counts.indptr))
    total, step = 0.0, max(PER_PIECE // scores.shape[1], 1)
    for first in range(0, counts.nnz, step):
        at = slice(first, first + step)
        share = scores[row[at]] * Theta[counts.indices[at]]
        share /= np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
        total -= float(counts.data[at] @ xlogy(share, share).sum(axis=1))
    return total
