"""From many components to few: what words are worth, and where the way ends."""

from __future__ import annotations

import numpy as np
import pytest

import dcomp
from dcomp.data import Counts
from dcomp.evaluate import evidence
from dcomp.evaluate.from_above import Step, entropy, from_above, with_less, worth_of
from dcomp.evaluate.ladder import Ladder
from dcomp.evaluate.neighbours import Neighbours, Words
from dcomp.executors import LocalExecutor
from dcomp.inference import CollapsedGibbs, MeanField
from dcomp.models import ConditionalGammaPoisson, DirichletMultinomial, GammaPoisson


def drawn(n_docs, n_features, length, K, alpha, gamma, seed=0):
    rng = np.random.default_rng(seed)
    Theta = rng.dirichlet(np.full(n_features, gamma), K)
    shares = rng.dirichlet(np.full(K, alpha), n_docs)
    return Counts.from_matrix([rng.multinomial(length, m @ Theta) for m in shares])


def ladder_of(counts, family, algorithm, **priors):
    return Ladder(counts, lambda K: family.build(K, gamma=0.5, **priors), algorithm, max_iter=200)


@pytest.mark.parametrize(
    "family",
    [DirichletMultinomial, GammaPoisson, ConditionalGammaPoisson],
    ids=lambda f: f.__name__,
)
def test_words_are_worth_the_evidence_or_less(family):
    """Of one component exactly; of more as much less as a mean field of the words leaves out."""
    counts = drawn(60, 20, 40, 3, 0.3, 0.2)
    ladder = ladder_of(counts, family, CollapsedGibbs(burn_in=100))
    worths = []
    for K in (1, 2, 3):
        fitted = dcomp.fit(counts, ladder.model_of(K), ladder.algorithm, max_iter=200, warn=False)
        found = evidence(counts, model=fitted.model, random_state=0)
        worths.append(worth_of(fitted, ladder.neighbours()))
        least = found.lower - (0.02 * abs(found.lower) if K > 1 else 0.05)
        assert least < worths[-1] < found.upper + 0.05
    assert worths[0] < worths[1] < worths[2]


def test_the_doubt_of_words_is_summed_in_pieces_of_any_size(monkeypatch):
    rng = np.random.default_rng(2)
    counts = drawn(20, 9, 30, 3, 0.5, 0.5)
    scores, Theta = rng.gamma(1.0, size=(20, 3)), rng.dirichlet(np.ones(9), 3).T
    share = scores[:, None, :] * Theta
    share /= share.sum(axis=2, keepdims=True)
    direct = -np.einsum("ij,ijk,ijk->", counts.to_scipy().toarray(), share, np.log(share))
    assert entropy(counts, scores, Theta) == pytest.approx(direct)
    monkeypatch.setattr("dcomp.evaluate.from_above.PER_PIECE", 20)
    assert entropy(counts, scores, Theta) == pytest.approx(direct)


@pytest.mark.parametrize("planted", [1, 3, 5])
@pytest.mark.parametrize(
    "algorithm", [MeanField(), CollapsedGibbs(burn_in=100)], ids=["mean-field", "gibbs"]
)
def test_planted_components_are_left(algorithm, planted):
    """Joining alone left two too many of five by either."""
    counts = drawn(200, 100, 80, planted, 0.1, 0.05, seed=1)
    ladder = ladder_of(counts, DirichletMultinomial, algorithm)
    first = dcomp.fit(counts, ladder.model_of(10), algorithm, max_iter=200, warn=False)
    way = from_above(ladder, first, LocalExecutor(1))
    assert (way[0], way[-1]) == (10, planted)
    assert list(way) == sorted(set(way), reverse=True)


def test_steps_go_by_components_that_have_words():
    counts = drawn(30, 12, 40, 2, 0.1, 0.1)
    near = Neighbours(counts, np.full(12, 0.5), 0)
    fitted = dcomp.fit(counts, DirichletMultinomial.build(2, gamma=0.5), MeanField(), warn=False)
    step = Step.of(fitted, near)
    assert step.words.n_components == 2
    empty = Words(np.c_[step.words.c, np.zeros(30)], np.c_[step.words.n, np.zeros(12)])
    kept = empty.of(np.array([True, True, False]))
    np.testing.assert_array_equal(kept.n, step.words.n)
    np.testing.assert_allclose(kept.c.sum(axis=1), counts.doc_totals, rtol=1e-6)
    # Nobody is as good as another: what is tried is one pair joined, and all but the smallest.
    three = Words(
        np.kron(np.eye(3), np.full((10, 1), 40.0)), np.kron(np.eye(3), np.full((4, 1), [[90.0]]))
    )
    three.n[:, 2] /= 3
    tried = list(with_less(three, near))
    assert [words.n_components for words in tried] == [2, 2]
    np.testing.assert_array_equal(tried[1].n, three.n[:, :2])
