"""One answer to one question: what a fit shows, what `fit_transform` returns and what `transform`
says of the same documents, and the loss of it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import dcomp
from dcomp import datasets
from dcomp.inference.losses import half_squares, kullback_leibler
from dcomp.inference.mean_field import Allocation
from dcomp.inference.rest import rested, settled
from dcomp.inference.start import even_c
from dcomp.models import Observations

# Answers are missing in tables that GP sees without exposure here: the question is another.
pytestmark = pytest.mark.filterwarnings("ignore:.* answers are missing:dcomp.DataWarning")

TABLES = {
    "genotypes": lambda: datasets.genotypes(80, 200, seed=0).counts,
    "votes": lambda: datasets.votes(seed=0).counts,
    "mutations": lambda: datasets.mutations(120, seed=0).counts,
    "cells": lambda: datasets.cells(100, seed=0).counts,
    "text": lambda: datasets.text(120, seed=0).counts,
    "baskets": lambda: datasets.baskets(200, seed=0).counts,
}


@pytest.fixture(scope="module")
def tables():
    return {name: make() for name, make in TABLES.items()}


CLIMBS = {
    "DM": lambda **o: dcomp.DCA(4, **o),
    "DM small alpha": lambda **o: dcomp.LDA(4, alpha=0.1, **o),
    "GP": lambda **o: dcomp.GaP(4, **o),
    "DM map": lambda **o: dcomp.DCA(4, algorithm="map", **o),
    "GP map": lambda **o: dcomp.GaP(4, algorithm="map", **o),
    "DM ml": lambda **o: dcomp.DCA(4, algorithm="ml", **o),
    "GP ml": lambda **o: dcomp.GaP(4, algorithm="ml", alpha=1.0, beta=0.0, **o),
    "PLSA": lambda **o: dcomp.PLSA(4, **o),
    "PLSA tempered": lambda **o: dcomp.PLSA(4, held_out=0.1, **o),
    "TM": lambda **o: dcomp.TreeDCA(tree=[-1, 0, 0, 1, 1], algorithm="mean-field", **o),
    "NMF": lambda **o: dcomp.NMF(4, **o),
    "NMF multiplicative": lambda **o: dcomp.NMF(4, solver="multiplicative", **o),
}


# Every way to climb on two kinds of tables, every kind of table for four ways.
PAIRS = [
    (name, [*TABLES][(i + step) % len(TABLES)]) for i, name in enumerate(CLIMBS) for step in (0, 3)
]


@pytest.mark.parametrize(("name", "table"), PAIRS)
def test_a_fit_shows_what_transform_says(name, table, tables):
    """Every document that was fitted is where it would be as a new one, to the last bit."""
    counts = tables[table]
    estimator = CLIMBS[name](verbose=0, n_jobs=1)
    returned = estimator.fit_transform(counts)
    assert estimator.fit_.reason in ("converged", "rounding")
    assert np.array_equal(returned, estimator.fit_.scores)
    assert np.array_equal(estimator.transform(counts), returned)


@pytest.mark.parametrize("name", ["DM", "DM small alpha", "GP", "DM map", "GP map", "PLSA"])
def test_the_objective_is_that_of_what_is_shown(name, tables):
    """The last row is the bound of the same documents with the same loadings, with the loadings'
    own part."""
    for counts in tables.values():
        fit = CLIMBS[name](verbose=0, n_jobs=1).fit(counts).fit_
        documents = fit.fold_in(counts).bound.sum()
        size = abs(documents)
        assert fit.history["documents"][-1] == pytest.approx(documents, abs=1e-6 * size)
        prior = fit.weights().log_prior
        assert fit.objective == pytest.approx(documents + prior, abs=1e-6 * size)
        if fit.has_bound and fit.algorithm.mode == "expect":
            assert fit.bound(counts).sum() == documents


def test_the_objective_of_a_factorisation_is_that_of_what_is_shown(tables):
    """Σ x log y − y, from the scores and loadings by NumPy."""
    for counts in tables.values():
        plain = dcomp.Counts.from_matrix(counts.to_scipy())
        for solver in ("coordinate-descent", "multiplicative"):
            model = dcomp.NMF(4, solver=solver, verbose=0, n_jobs=1).fit(plain)
            x = plain.to_scipy().toarray()
            y = model.fit_.scores.astype(float) @ model.components_.astype(float)
            value = (x[x > 0] * np.log(y[x > 0])).sum() - y.sum()
            assert model.fit_.objective == pytest.approx(value, rel=1e-6)


ENDS = {
    "converged": {},
    "limit": {"max_iter": 7, "tol": 0},
    "callback": {"callbacks": [lambda row: row.sweep == 9]},
}
FACTORS = {
    "coordinate descent": {},
    "multiplicative": {"solver": "multiplicative"},
    "with exposure": {"exposure": "total"},
    "squared": {"loss": "squared"},
    "projected": {"loss": "squared", "solver": "projected"},
    "signed": {"solver": "signed"},
}


@pytest.mark.parametrize("how", FACTORS)
@pytest.mark.parametrize(
    ("table", "end"),
    [*((name, "converged") for name in TABLES), ("mutations", "limit"), ("text", "callback")],
)
def test_the_loss_is_that_of_what_is_returned(how, end, table, tables):
    X = tables[table].to_scipy()
    model = dcomp.NMF(4, verbose=0, n_jobs=1, **FACTORS[how], **ENDS[end])
    y = model.fit_transform(X).astype(float) @ model.components_.astype(float)
    x = X.toarray().astype(float)
    if how == "with exposure":
        y *= x.sum(axis=1, keepdims=True)
    if model.loss == "squared" or model.solver == "signed":
        loss = 0.5 * ((x - y) ** 2).sum()
    else:
        loss = (x[x > 0] * np.log(x[x > 0] / y[x > 0])).sum() - x.sum() + y.sum()
        observed = Observations(dcomp.Counts.from_matrix(X), model.fit_.exposure)
        shown = kullback_leibler(observed, model.fit_.scores, model.fit_.Theta)
        assert model.loss_ == pytest.approx(shown, rel=1e-9)
    assert model.loss_ == pytest.approx(loss, rel=1e-6)


def test_an_interrupted_fit_has_the_loss_of_what_it_shows(tables):
    def stop(row):
        if row.sweep == 6:
            raise KeyboardInterrupt

    X = tables["cells"].to_scipy()
    model = dcomp.NMF(4, verbose=0, callbacks=[stop])
    y = model.fit_transform(X).astype(float) @ model.components_.astype(float)
    x = X.toarray()
    assert model.fit_.reason == "interrupted"
    loss = (x[x > 0] * np.log(x[x > 0] / y[x > 0])).sum() - x.sum() + y.sum()
    assert model.loss_ == pytest.approx(loss, rel=1e-6)


def test_the_loss_with_blocks_and_exposures():
    rng = np.random.default_rng(0)
    x = rng.poisson(3.0, (6, 5))
    exposure = rng.uniform(0.5, 2.0, (6, 2))
    counts = dcomp.Counts.from_matrix(x).with_blocks([0, 0, 1, 1, 1])
    scores, Theta = rng.gamma(2.0, 1.0, (6, 3)), rng.gamma(1.0, 1.0, (5, 3))
    y = scores @ Theta.T * exposure[:, counts.features.blocks]
    loss = (x[x > 0] * np.log(x[x > 0] / y[x > 0])).sum() - x.sum() + y.sum()
    found = kullback_leibler(Observations(counts, exposure), scores, Theta)
    assert found == pytest.approx(loss, rel=1e-12)
    squares = 0.5 * ((x - scores @ Theta.T) ** 2).sum()
    for table in (x, sparse.csr_array(x), sparse.csc_array(x)):
        assert half_squares(table, scores, Theta.T) == pytest.approx(squares, rel=1e-12)


def test_fit_transform_needs_no_exposure_of_documents_that_it_has(tables):
    counts = tables["cells"]
    exposure = np.linspace(0.5, 2.0, counts.n_docs)
    model = dcomp.GaP(3, exposure=exposure, verbose=0)
    returned = model.fit_transform(counts)
    assert np.array_equal(returned, model.transform(counts, exposure=exposure))


def test_of_a_sampler_it_is_transform(tables):
    model = dcomp.LDA(3, algorithm="collapsed-gibbs", max_iter=20, verbose=0)
    returned = model.fit_transform(tables["baskets"])
    assert np.array_equal(returned, model.transform(tables["baskets"]))
    assert not np.array_equal(returned, model.fit_.scores)


def test_an_option_of_transform_is_heard(tables):
    model = dcomp.GaP(3, max_iter=8, tol=0, verbose=0)
    returned = model.fit_transform(tables["baskets"], method="sampling")
    assert np.array_equal(returned, model.transform(tables["baskets"], method="sampling"))


def test_a_long_document_comes_to_rest(tables):
    """Of documents of up to millions of words, too, nothing is left to gain by more updates."""
    counts = tables["mutations"]
    assert counts.doc_totals.max() > 1e5
    fit = dcomp.PLSA(4, verbose=0).fit(counts).fit_
    folded = fit.fold_in(counts)
    longer = fit.fold_in(counts, max_inner=20_000, tol=0.0)
    rounding = 3e-7 * counts.doc_totals  # of a bound in single precision
    assert (longer.bound - folded.bound < np.maximum(0.1, rounding)).all()
    assert np.abs(longer.scores - folded.scores).max() < 1e-3


def test_long_documents_jump_ahead_without_columns():
    """Where a document's rows of Θ are too many to be gathered, it comes to rest as fast."""
    rng = np.random.default_rng(0)
    J, K = 4000, 100
    Theta = rng.dirichlet(np.full(J, 0.5), size=K).T + 1.0 / J
    Theta /= Theta.sum(axis=0)
    W = rng.poisson(1.5 * J * (Theta @ rng.dirichlet(np.full(K, 0.3), size=3).T).T)
    observed = Observations.build(dcomp.Counts.from_matrix(W))
    assert (np.diff(observed.counts.indptr) * K > 1 << 18).all()
    model = dcomp.models.DirichletMultinomial.build(K, alpha=1.0, gamma=1.0)
    weights = dcomp.inference.mean_field.Weights.of_loadings(Theta)
    how = Allocation(model, weights, 60, 0.0, "maximise")
    plain = Allocation(model, weights, 31, 0.0, "maximise")
    jumped = rested(observed, how, 1)[1]
    c = even_c(observed.counts, K, np.float32)
    for _ in range(2):
        c, straight = settled(observed, c, plain, 1)
    assert (jumped > straight + 1.0).all()
