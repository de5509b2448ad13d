"""Names of models: those that fields know them by mean the same as the estimators of that name."""

from __future__ import annotations

import numpy as np
import pytest

import dcomp
from dcomp import registry
from dcomp.evaluate import evidence, select_components
from dcomp.models import MODELS

X = np.random.default_rng(0).poisson([[4, 4, 1, 0, 1]] * 9 + [[0, 1, 1, 4, 4]] * 9)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("lda", "DM"), ("LDA", "DM"), ("mpca", "DM"), ("Multinomial PCA", "DM"), ("plsi", "DM"),
        ("grade_of_membership", "DM"), ("gap", "GP"), ("GaP", "GP"), ("nmf", "GP"), ("ctm", "LN"),
        ("hpam", "ST"), ("Gamma-Poisson", "GP"), ("cgp", "CGP"), ("tree", "TM"),
    ],
)  # fmt: skip
def test_names_of_models(name, key):
    assert registry.model_key(name) == key


def test_names_are_of_one_model_each():
    names = [name for key in MODELS for name in registry.names_of(key)]
    names += registry.FACTORISATIONS
    assert len(set(names)) == len(names)
    for absent in ("LSA", "lda2", ""):
        with pytest.raises(dcomp.UnsupportedCombination, match="there is no model"):
            registry.model_key(absent)
    with pytest.raises(dcomp.UnsupportedCombination, match="'lad', the nearest name is 'lda';"):
        registry.model_key("lad")


@pytest.mark.parametrize(
    ("named", "cousin"),
    [
        (dcomp.DCA(2, model="plsa", verbose=0), dcomp.PLSA(2, verbose=0)),
        (dcomp.DCA(2, model="PLSI", verbose=0, algorithm="map"), dcomp.PLSA(2, verbose=0)),
        (dcomp.DCA(2, model="nmf", verbose=0), dcomp.NMF(2, verbose=0)),
        (dcomp.DCA(2, model="lda", gamma=0.05, verbose=0), dcomp.LDA(2, verbose=0)),
        (dcomp.DCA(2, model="gap", gamma=0.05, verbose=0), dcomp.GaP(2, verbose=0)),
        (dcomp.DCA(2, model="ctm", gamma=0.05, verbose=0), dcomp.CTM(2, verbose=0)),
    ],
    ids=["plsa", "plsi by map", "nmf", "lda", "gap", "ctm"],
)
def test_a_name_means_what_its_estimator_does(named, cousin):
    ours, theirs = named.fit(X).fit_, cousin.fit(X).fit_
    assert ours.algorithm == theirs.algorithm
    assert type(ours.model) is type(theirs.model)
    np.testing.assert_array_equal(ours.Theta, theirs.Theta)
    np.testing.assert_array_equal(ours.scores, theirs.scores)


def test_tempered_em_is_plsa_too():
    model = dcomp.DCA(2, model="plsa", algorithm="tempered-em", verbose=0).fit(X)
    assert model.fit_.algorithm.name == "tempered-em"
    assert model.fit_.model.scores.alpha.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "plsa", "algorithm": "gibbs"}, "plsa is model DM by map or tempered-em; leave"),
        ({"model": "nmf", "algorithm": "mean-field"}, "nmf is model GP by ml"),
        ({"model": "plsa", "alpha": 0.1}, "plsa has no priors: leave out alpha="),
        ({"model": "plsa", "gamma": [0.1] * 5}, "plsa has no priors: leave out gamma="),
    ],
)
def test_what_contradicts_a_name(options, message):
    with pytest.raises(dcomp.UnsupportedCombination, match=message):
        dcomp.DCA(2, verbose=0, **options).fit(X)


def test_names_elsewhere():
    found = select_components(X, [1, 2], model="plsa", n_chains=2, n_starts=1)
    assert "Without priors there is no evidence." in found.summary
    with pytest.raises(
        dcomp.UnsupportedCombination, match="plsa has no priors, and so no evidence"
    ):
        evidence(X, 2, model="plsa")
    options = {"alpha": 0.5, "n_sweeps": 30, "n_chains": 2}
    lda, plain = (evidence(X, 2, model=name, **options) for name in ("lda", "DM"))
    assert lda.log_evidence == plain.log_evidence
    leaves = {"tree": [-1, 0, 0], "max_iter": 10, "n_chains": 1, "verbose": 0}
    assert dcomp.StructuredDCA(leaves="gap", **leaves).fit(X).fit_.model.leaf_model.key == "GP"


# Of the same shape and with the same entries that are not 0; of the second they hold 10 words.
SMALL = dcomp.Counts.from_matrix(np.where(X > 0, 9, 0))
LARGE = dcomp.Counts.from_matrix(np.where(X > 0, 10, 0))


@pytest.mark.parametrize(("counts", "name"), [(SMALL, "collapsed-gibbs"), (LARGE, "gibbs")])
def test_the_table_chooses_between_two_samplers(counts, name):
    """Everywhere the same: a fit, an estimator, a recipe, a selection."""
    short = {"max_iter": 4, "burn_in": 2}
    assert registry.sampler_for(counts) == name
    assert registry.algorithm_name("CGP", counts=counts) == name
    assert dcomp.fit(counts, MODELS["CGP"].build(2), max_iter=2).algorithm.name == name
    assert dcomp.DCA(2, model="CGP", verbose=0, **short).fit(counts).fit_.algorithm.name == name
    found = select_components(counts, [1, 2], model="CGP", n_chains=2, n_starts=1, max_iter=4)
    assert found.algorithm == name
    assert f"Algorithm: {name}, because counts that are not 0 hold" in found.summary


def test_what_the_table_does_not_choose():
    assert registry.algorithm_name("CGP", "collapsed-gibbs", LARGE) == "collapsed-gibbs"
    for key in MODELS:
        names = registry.usual_algorithms(key)
        assert set(names) <= set(registry.supported()[key])
        if len(names) == 1:
            assert registry.algorithm_name(key, counts=LARGE) == names[0]
    found = select_components(LARGE, [1, 2], n_chains=2, n_starts=1, with_evidence=False)
    assert found.algorithm == "mean-field"
    assert "Algorithm" not in found.summary


def test_a_table_without_words_has_a_sampler():
    empty = dcomp.Counts.from_matrix(np.zeros((2, 3), int))
    assert registry.sampler_for(empty) == "collapsed-gibbs"
    assert "hold 0.0 words" in registry.why_this_sampler(empty)


def test_just_below_the_limit_is_not_rounded_to_it():
    counts = dcomp.Counts.from_matrix(np.array([[10] * 99 + [9]]))
    said = registry.why_this_sampler(counts)
    assert said.startswith("algorithm: collapsed-gibbs, because ")
    assert said.endswith("hold 9.9 words on average (below 10)")


def test_samplers_that_a_table_chooses_from_take_the_same_options():
    """What is checked before the counts are known holds for either."""
    for key in MODELS:
        kinds = [registry.ALGORITHMS[name] for name in registry.usual_algorithms(key)]
        assert len({kind.options for kind in kinds}) == 1
        assert len({(kind.usual_sweeps, kind.estimates) for kind in kinds}) == 1
