"""Scores by sampling with Θ fixed: against enumeration, and where mean field is overconfident."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dcomp
from dcomp import registry
from dcomp.data import Counts
from dcomp.executors import LocalExecutor
from dcomp.inference import MeanField
from dcomp.inference.mean_field import Weights
from dcomp.inference.rest import fold_in
from dcomp.inference.sampled_scores import sample_scores
from dcomp.models import MODELS, Observations

SAMPLED = [key for key, names in registry.supported().items() if "gibbs" in names]
OPTIONS = {
    "DM": {"alpha": [0.4, 0.9]},
    "GP": {"alpha": [0.4, 0.9], "beta": [0.5, 1.5]},
    "CGP": {"alpha": [0.4, 0.9], "beta": [0.5, 1.5], "rho": [0.3, 0.7]},
    "TM": {"a1": 0.7, "a2": 1.6},
}
Theta = np.array([[0.6, 0.1], [0.3, 0.2], [0.1, 0.7]])


def exact_mean(model, W, exposure):
    """E[scores | w] by summing over every allocation of the document's tokens."""
    words = np.repeat(np.arange(3), W)
    weights, means = [], []
    for z in itertools.product(range(2), repeat=len(words)):
        c = np.bincount(z, minlength=2)[None]
        log_p = model.scores.log_moment(c, exposure)[0] + np.log(Theta[words, list(z)]).sum()
        weights.append(np.exp(log_p))
        means.append(model.scores.posterior_mean(c, exposure)[0])
    return np.average(means, axis=0, weights=weights)


@pytest.mark.parametrize("key", SAMPLED)
def test_the_mean_is_the_exact_one(key):
    model = MODELS[key].build(2, **OPTIONS[key])
    W = np.array([[2, 1, 2], [0, 0, 3], [1, 0, 0], [0, 0, 0]])
    exposure = None if not MODELS[key].has_exposure else [0.5, 2.0, 1.0, 3.0]
    observed = Observations.build(Counts.from_matrix(W), exposure)
    sampled = sample_scores(
        model,
        observed,
        Weights.of_loadings(Theta),
        LocalExecutor(2),
        n_draws=20_000,
        burn_in=50,
        keep_draws=True,
    )
    for i in range(4):
        expected = exact_mean(model, W[i], observed.total_exposure[i : i + 1])
        np.testing.assert_allclose(sampled.mean[i], expected, rtol=0.05)
        np.testing.assert_allclose(sampled.draws[:, i].mean(axis=0), expected, rtol=0.08)
    np.testing.assert_allclose(sampled.sd, sampled.draws.std(axis=0, ddof=1), rtol=1e-3)
    if key == "CGP":
        assert (sampled.zero[3] > 0.3).all()
        assert (sampled.zero.sum(axis=1)[:3] < 2).all()
    else:
        assert (sampled.zero == 0).all()


def test_mean_field_is_overconfident():
    """BJ04 3.5: the spread of the draws exceeds that of mean field's Dirichlet."""
    model = MODELS["DM"].build(2, alpha=1.0)
    nearly = np.array([[0.35, 0.3], [0.33, 0.33], [0.32, 0.37]])
    observed = Observations.build(Counts.from_matrix([[40, 40, 40]]))
    weights = Weights.of_loadings(nearly)
    a = 1.0 + fold_in(model, observed, weights, LocalExecutor(1)).c[0].astype(float)
    mean_field_sd = np.sqrt(a[0] * a[1] / a.sum() ** 2 / (a.sum() + 1))
    sampled = sample_scores(model, observed, weights, LocalExecutor(1), n_draws=4000, burn_in=200)
    assert sampled.sd[0, 0] > 4 * mean_field_sd


def test_same_for_any_number_of_threads(planted):
    fitted = dcomp.DCA(3, model="CGP", max_iter=20, verbose=0).fit(planted[0]).fit_
    one = fitted.sample_scores(planted[0], n_jobs=1)
    seven = fitted.sample_scores(planted[0], n_jobs=7)
    assert np.array_equal(one.mean, seven.mean)
    assert np.array_equal(one.sd, seven.sd)
    assert not np.array_equal(one.mean, fitted.sample_scores(planted[0], seed=1).mean)


def test_bad_numbers(planted):
    fitted = dcomp.LDA(2, verbose=0).fit(planted[0]).fit_
    with pytest.raises(dcomp.InvalidParameter, match="n_draws must be at least 1"):
        fitted.sample_scores(planted[0], n_draws=0)
    with pytest.raises(dcomp.InvalidParameter, match="method must be"):
        fitted.transform(planted[0], method="guess")


def test_a_fit_in_double_precision(planted):
    """Its weights are padded otherwise than those of the sampler."""
    fits = [
        dcomp.DCA(3, algorithm=MeanField(dtype=name), verbose=0).fit(planted[0]).fit_
        for name in ("float32", "float64")
    ]
    # The numbering may differ: the expected words do not.
    single, double = (
        fit.sample_scores(planted[0], n_draws=200).mean @ fit.components for fit in fits
    )
    np.testing.assert_allclose(single, double, atol=0.01)


ALIKE = np.array([[0.335, 0.333, 0.01], [0.333, 0.333, 0.01], [0.332, 0.334, 0.98]])
MODEL = MODELS["DM"].build(3, alpha=0.3)


def sampled_of(W, Theta=ALIKE, model=MODEL, ids=None, n_jobs=1, **how):
    observed = Observations.build(Counts.from_matrix(W, doc_ids=ids))
    return sample_scores(model, observed, Weights.of_loadings(Theta), LocalExecutor(n_jobs), **how)


def test_a_document_begins_at_its_fixed_point():
    """A first draw without any burn-in is near; from nowhere it would take ten sweeps."""
    rng = np.random.default_rng(3)
    Theta = rng.dirichlet(np.full(60, 0.3), size=8).T
    W = np.array([rng.multinomial(400, Theta @ m) for m in rng.dirichlet(np.full(8, 0.3), 40)])
    model = MODELS["DM"].build(8, alpha=0.3)
    observed = Observations.build(Counts.from_matrix(W))
    weights = Weights.of_loadings(Theta)
    fixed = fold_in(model, observed, weights, LocalExecutor(1)).scores
    first = sample_scores(model, observed, weights, LocalExecutor(1), n_draws=1, burn_in=0)
    assert np.abs(first.mean - fixed).sum(axis=1).mean() < 0.12
    assert np.isnan(first.ess).all()


def test_only_what_has_not_mixed_is_carried_on():
    """Two components that 2,000 words hardly tell apart, beside a document that is clear."""
    W = [[660, 670, 670], [0, 1, 60], [20, 20, 20]]
    found = sampled_of(W)
    assert found.sweeps[1] == 50
    assert found.sweeps[0] > 50
    assert found.ess[[0, 1]].min() >= found.enough == 10
    once = sampled_of(W, max_sweeps=50, min_ess=0)
    assert (once.sweeps == 50).all()
    assert once.ess[0] < 10
    np.testing.assert_array_equal(found.mean[1], once.mean[1])


def test_the_limit_names_documents():
    ids = [f"a rather long name of document {i}" for i in range(7)]
    how = {"min_ess": 50, "max_sweeps": 50}
    with pytest.warns(dcomp.ConvergenceWarning) as caught:
        found = sampled_of([[660, 670, 670]] * 7, ids=ids, **how)
    assert len(caught) == 1
    lines = str(caught[0].message).splitlines()
    said = " ".join(lines)
    assert "scores of 7 of 7 documents" in said
    assert ids[4] in said
    assert ids[5] not in said
    assert "and 2 more" in said
    assert max(map(len, lines)) <= 80
    assert found.not_mixed.tolist() == list(range(7))


def test_neighbours_cuts_and_threads_change_nothing():
    """Short, heavy and stubborn documents, some carried on: each is on its own."""
    rng = np.random.default_rng(0)
    sizes = [40, 500_000, 3_000, 2_400_000, 0, 700, 60_000, 12]
    W = np.array([rng.multinomial(n, ALIKE @ rng.dirichlet([0.5, 0.5, 0.5])) for n in sizes])
    whole = sampled_of(W, keep_draws=True)
    assert len(set(whole.sweeps.tolist())) > 1
    cut = Observations.build(Counts.from_matrix(W).in_parts(4))
    parts = sample_scores(MODEL, cut, Weights.of_loadings(ALIKE), LocalExecutor(3), keep_draws=True)
    others = W[:, ::-1] * 3 + 1
    others[[3, 5]] = W[[3, 5]]
    company = sampled_of(others, keep_draws=True, n_jobs=2)
    for name in ("mean", "sd", "c", "ess", "sweeps"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
        ours, theirs = getattr(whole, name)[[3, 5]], getattr(company, name)[[3, 5]]
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(parts.draws, whole.draws)
    assert not np.array_equal(company.mean, whole.mean)


def test_what_cannot_be_asked():
    for how, said in (
        ({"min_ess": 51}, "min_ess must lie between 0 and n_draws = 50; got 51"),
        ({"max_sweeps": 49}, "max_sweeps must be at least n_draws = 50; got 49"),
    ):
        with pytest.raises(dcomp.InvalidParameter, match=said):
            sampled_of([[1, 2, 3]], **how)
