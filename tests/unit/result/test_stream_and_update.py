"""Documents that come later: partial_fit and update."""

from __future__ import annotations

import numpy as np
import pytest

import dcomp
from dcomp.evaluate import completion
from dcomp.executors import LocalExecutor
from dcomp.inference import MeanField, StochasticMeanField
from dcomp.inference.stochastic_mean_field import steps_of
from dcomp.models import DirichletMultinomial, Observations
from dcomp.result.stream import enlarged
from dcomp.result.update import stacked, update


def lda(**options):
    return dcomp.LDA(4, verbose=0, **options)


def batches(counts, n):
    return [counts.rows(slice(i, None, n)) for i in range(n)]


def test_a_stream_learns(planted):
    train, test = dcomp.data.train_test(planted[0], 0.3, seed=1)
    model, seen = lda(), []
    for _ in range(8):
        for batch in batches(train, 3):
            seen.append(model.partial_fit(batch).perplexity(test))
    assert seen[-1] < 0.85 * seen[0]
    assert seen[-1] < 1.1 * lda().fit(train).perplexity(test)
    assert model.n_iter_ == len(seen) == len(model.history_)
    assert steps_of(model.fit_.state.shared).n_docs == 8 * train.n_docs


def test_a_stream_is_one_answer_and_goes_on_from_a_file(planted, tmp_path):
    first, second = batches(planted[0], 2)
    one = lda(n_jobs=1).partial_fit(first).partial_fit(second).fit_
    seven = lda(n_jobs=7).partial_fit(first).partial_fit(second).fit_
    dcomp.save(lda().partial_fit(first).fit_, tmp_path / "stream.dcomp")
    later = dcomp.result.stream.next_batch(dcomp.load(tmp_path / "stream.dcomp"), second)
    for other in (seven, later):
        assert np.array_equal(one.Theta, other.Theta)
        assert np.array_equal(one.scores, other.scores)
    assert np.array_equal(one.scores, one.transform(second))


@pytest.mark.parametrize("key", ["DM", "GP"])
def test_a_stream_goes_on_from_mean_field(key, planted):
    train, test = dcomp.data.train_test(planted[0], 0.3, seed=1)
    model = dcomp.DCA(3, model=key, gamma=0.1, verbose=0).fit(train.rows(slice(0, 100)))
    before, alpha = model.perplexity(test), model.fit_.model.scores.alpha
    model.partial_fit(train.rows(slice(100, None)))
    assert model.perplexity(test) < 1.02 * before
    np.testing.assert_allclose(model.fit_.model.scores.alpha, alpha, rtol=0.5)


def test_the_vocabulary_may_grow():
    early = [["cat", "dog", "cat", "dog"], ["sun", "moon", "sun"]] * 10
    late = [["cow", "cat", "dog"], ["star", "moon", "sun"]] * 10
    model = dcomp.LDA(2, verbose=0, alpha=0.1).partial_fit(early)
    for _ in range(20):
        model.partial_fit(late).partial_fit(early)
    names = model.fit_.features.names
    assert sorted(names) == ["cat", "cow", "dog", "moon", "star", "sun"]
    assert list(model.feature_names_in_) == list(names)
    tops = [set(row) for row in model.top_features(3).names]
    assert {"cat", "dog", "cow"} in tops
    assert {"sun", "moon", "star"} in tops
    assert model.transform([["cow"]]).max() > 0.7


def test_what_a_stream_refuses(planted):
    counts = planted[0]
    sampled = lda(algorithm="gibbs", max_iter=3).fit(counts).fit_
    with pytest.raises(dcomp.UnsupportedCombination, match="`update` adds documents to any fit"):
        dcomp.result.stream.next_batch(sampled, counts)
    assert not hasattr(lda(algorithm="gibbs"), "partial_fit")
    assert not hasattr(dcomp.CTM(3), "partial_fit")
    with pytest.raises(dcomp.InvalidParameter, match=r"held_out = 0\.1 is of a whole corpus"):
        lda(algorithm=StochasticMeanField(held_out=0.1)).partial_fit(counts)
    own = dcomp.LDA(2, verbose=0, gamma=[0.1, 0.2]).partial_fit([["a", "b"]])
    with pytest.raises(dcomp.UnsupportedCombination, match="1 features are new"):
        own.partial_fit([["a", "c"]])
    with pytest.raises(ValueError, match="features"):
        lda().partial_fit(np.ones((3, 4), int)).partial_fit(np.ones((3, 5), int))


def test_blocks_grow_by_name():
    first = dcomp.Counts.from_tokens([[("noun", "watch"), ("verb", "run")]]).features
    second = dcomp.Counts.from_tokens([[("noun", "run"), ("verb", "run")]]).features
    assert enlarged(first, second).labels == ("noun=watch", "verb=run", "noun=run")


CELLS = [
    ("DM", "mean-field"),
    ("DM", "stochastic-mean-field"),
    ("DM", "gibbs"),
    ("DM", "collapsed-gibbs"),
    ("GP", "mean-field"),
    ("CGP", "collapsed-gibbs"),
]


@pytest.mark.parametrize(("key", "algorithm"), CELLS)
def test_an_update_is_worth_its_documents(key, algorithm, planted, tmp_path):
    """A fit of few documents is the better for more of them, whether those of before are there or
    not, and it can be kept and updated again."""
    train, test = dcomp.data.train_test(planted[0], 0.4, seed=1)
    few, more = train.rows(slice(0, 25)), train.rows(slice(25, None))
    how = {
        "model": key,
        "algorithm": algorithm,
        "gamma": 0.1,
        "max_iter": 40,
        "tol": 0,
        "verbose": 0,
    }
    before = dcomp.DCA(4, **how).fit(few).fit_
    alone = update(before, more, max_iter=40, tol=0)
    together = update(before, more, counts=few, max_iter=40, tol=0)
    assert completion(alone, test).perplexity < completion(before, test).perplexity
    assert completion(together, test).perplexity < completion(before, test).perplexity
    assert len(alone.scores) == more.n_docs
    assert len(together.scores) == train.n_docs
    for fitted in (alone, together):
        dcomp.save(fitted, tmp_path / "fit.dcomp", overwrite=True)
        assert np.array_equal(dcomp.load(tmp_path / "fit.dcomp").Theta, fitted.Theta)
    again = update(alone, few, max_iter=3, tol=0)
    assert again.Theta.shape == before.Theta.shape


def test_an_update_is_mean_field_of_all_with_the_documents_of_before_held(planted):
    """The fixed point of new documents with n = n_old + n_new in the loadings, by hand."""
    few, more = planted[0].rows(slice(0, 60)), planted[0].rows(slice(60, None))
    model = DirichletMultinomial.build(4, alpha=0.3, gamma=0.2)
    algorithm = MeanField(dtype="float64", n_tries=1)
    before = dcomp.fit(few, model, algorithm, max_iter=30, tol=0)
    after = update(before, more, max_iter=300, tol=0)
    observed, both = Observations(more), before.state.n + after.state.n
    theta = (both + 0.2) / (both + 0.2).sum(axis=0)
    np.testing.assert_allclose(after.Theta, theta, rtol=1e-8)
    stepped, _ = algorithm.step(observed, after.state, LocalExecutor(1))
    np.testing.assert_allclose(stepped.n, after.state.n, atol=0.05)


def test_an_estimator_is_updated_in_place(planted):
    few, more = planted[0].rows(slice(0, 60)), planted[0].rows(slice(60, None))
    model = lda(max_iter=20, tol=0).fit(few)
    assert model.update(more) is model
    assert len(model.fit_.scores) == more.n_docs
    whole = lda(max_iter=20, tol=0).fit(few).update(more, counts=few)
    assert len(whole.fit_.scores) == planted[0].n_docs


def test_what_an_update_refuses(planted):
    counts = planted[0]
    with pytest.raises(dcomp.UnsupportedCombination, match="this one is of LN"):
        dcomp.CTM(3, max_iter=3, tol=0, start="seeded", verbose=0).fit(counts).update(counts)
    with pytest.raises(dcomp.UnsupportedCombination, match="ml has no prior"):
        dcomp.DCA(3, algorithm="ml", max_iter=3, tol=0, verbose=0).fit(counts).update(counts)
    fitted = lda(max_iter=3, tol=0).fit(counts)
    with pytest.raises(dcomp.InvalidCounts, match="only on the counts that it was fitted to"):
        fitted.update(counts, counts=counts.rows(slice(0, 9)))


def test_documents_are_stacked(planted):
    counts = planted[0]
    both = stacked(counts.rows(slice(0, 50)), counts.rows(slice(50, None)))
    assert (both.to_scipy() != counts.to_scipy()).nnz == 0
