"""Scores of documents under ST by sampling with Θ given: every document is on its own."""

from __future__ import annotations

import numpy as np
import pytest

import dcomp

# A chain of ST after ten sweeps has not settled, and some of its documents never mix.
pytestmark = pytest.mark.filterwarnings("ignore::dcomp.errors.ConvergenceWarning")

FITS = {
    "shared DM": {"structure": "shared"},
    "phi CGP": {"structure": "phi", "leaves": "CGP"},
    "document CGP": {"structure": "document", "leaves": "CGP"},
    "document-phi DM": {"structure": "document-phi"},
}


@pytest.fixture(scope="module", params=FITS)
def fitted(request, planted):
    few = {"max_iter": 10, "n_chains": 1, "verbose": 0}
    estimator = dcomp.StructuredDCA(tree=[3, 3, 4, 4, -1], **few, **FITS[request.param])
    return estimator.fit(planted[0]).fit_


@pytest.fixture(scope="module")
def new(planted):
    return planted[0].rows(slice(0, 40))


def scores(fitted, counts, **how):
    """All but the draws of a Υ that every document has its own of: a part draws those at once."""
    sampled = fitted.sample_scores(counts, n_draws=6, burn_in=4, **how)
    own = fitted.model.scores.rows.per_document
    names = ("mean", "leaves", "c") + (() if own else ("sd", "zero"))
    return [getattr(sampled, name) for name in names]


def assert_equal(some, others):
    for one, other in zip(some, others, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_cut_and_the_threads_change_nothing(fitted, new):
    whole = scores(fitted, new, n_jobs=1)
    assert_equal(whole, scores(fitted, new, n_jobs=7))
    for n in (3, new.n_docs):  # in the end every document alone
        assert_equal(whole, scores(fitted, new.in_parts(n), n_jobs=2))


def test_company_changes_nothing(fitted, new):
    """The documents of the same numbers with others before and after them."""
    table = new.to_scipy().toarray()
    others = np.roll(table, 1, axis=1) * 3
    others[5], others[20] = table[5], table[20]
    here, there = scores(fitted, new), scores(fitted, dcomp.Counts.from_matrix(others))
    assert_equal([x[[5, 20]] for x in here], [x[[5, 20]] for x in there])
    assert not np.array_equal(here[0], there[0])
    first = scores(fitted, new.rows(slice(0, 6)))
    assert_equal([x[:6] for x in here], first)


def test_documents_alike_draw_on_their_own(fitted, new):
    twins = scores(fitted, new.rows([5, 5]))
    assert not np.array_equal(twins[2][0], twins[2][1])


def test_transform_by_sampling_does_not_know_the_cut(fitted, new):
    whole = fitted.transform(new, method="sampling")
    np.testing.assert_array_equal(whole, fitted.transform(new.in_parts(3), method="sampling"))


def test_what_has_not_mixed_is_carried_on_alone(fitted, new):
    """Documents that have mixed keep their numbers; the others have more sweeps, and new ones."""
    short = fitted.sample_scores(new)
    longer = fitted.sample_scores(new, max_sweeps=1600)
    left = short.not_mixed
    mixed = np.setdiff1d(np.arange(new.n_docs), left)
    assert (short.sweeps == 50).all()
    assert (longer.sweeps[mixed] == 50).all()
    np.testing.assert_array_equal(longer.mean[mixed], short.mean[mixed])
    assert (longer.sweeps[left] > 50).all()
    assert len(longer.not_mixed) < len(left) or not len(left)
    cut = fitted.sample_scores(new.in_parts(3), max_sweeps=1600)
    np.testing.assert_array_equal(cut.mean, longer.mean)
    np.testing.assert_array_equal(cut.leaves, longer.leaves)
