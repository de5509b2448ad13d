"""Recipes: what was typed, refused where it has no meaning, and what it comes to."""

import json
import pickle

import numpy as np
import pytest

import dcomp
from dcomp.inference import CollapsedGibbs, Growth, MapEM, StructureSearch
from dcomp.models import DirichletMultinomial
from dcomp.recipe import Recipe

X = dcomp.Counts.from_matrix(np.random.default_rng(0).poisson(1.5, (30, 8)))


def resolved(**given):
    return Recipe(**given).resolve(X)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"komponents": 3}, "there is no option 'komponents'; a recipe takes n_components, model"),
        ({"model": "GP", "rho": 0.1}, "rho has no meaning for model GP; it is for CGP and ST"),
        ({"shrinkage": 0.5}, "shrinkage has no meaning for model DM; it is for LN"),
        ({"depth": 2}, "depth= is an option of model TM and ST, not DM"),
        ({"model": "ST", "grow_to": 9}, "grow_to= is an option of model TM, not ST"),
        ({"burn_in": 5}, "burn_in= is an option of the samplers, not mean-field"),
        ({"anneal": 3}, "anneal= is an option of the samplers, not mean-field"),
        (
            {"algorithm": "gibbs", "loadings": "vb"},
            "loadings= is an option of mean-field, stochastic-mean-field, map and laplace, not",
        ),
        ({"solver": "multiplicative"}, "solver= is an option of ml, not mean-field"),
        ({"n_draws": 3}, "mean-field makes none: fit by gibbs or collapsed-gibbs"),
        ({"model": "LN", "n_draws": 3}, "laplace makes none: model LN has no sampler"),
        ({"algorithm": "gibbs", "draws_of": "scores"}, "draws_of= has no effect without n_draws="),
        ({"model": "plsa", "alpha": 0.3}, "plsa has no priors: leave out alpha="),
        ({"model": 3}, "model must be a name or a Model; got 3"),
        ({"algorithm": 3}, "algorithm must be a name or an Algorithm; got 3"),
    ],
)
def test_refused_before_any_counts_are_seen(given, message):
    with pytest.raises((dcomp.InvalidParameter, dcomp.UnsupportedCombination), match=message):
        Recipe(**given)


def test_a_default_that_has_no_meaning_says_nothing():
    given = {"alpha": "auto", "n_draws": 0, "draws_of": ["scores", "loadings"], "burn_in": None}
    assert resolved(model="LN", n_components=2, **given).model.key == "LN"


@pytest.mark.parametrize(
    ("algorithm", "alpha", "beta", "gamma", "learned"),
    [
        ("mean-field", 0.5, 1 / X.doc_totals.mean(), 0.05, ("alpha", "beta")),
        ("map", 1.1, 2.2 / X.doc_totals.mean(), 0.05, ()),
        ("ml", 1.0, 0.0, 1.0, ()),
    ],
)
def test_what_auto_is_depends_on_what_is_estimated(algorithm, alpha, beta, gamma, learned):
    model = resolved(model="GP", n_components=2, algorithm=algorithm).model
    np.testing.assert_allclose(model.scores.alpha, alpha)
    np.testing.assert_allclose(model.scores.beta, beta)
    assert float(model.loadings.gamma) == gamma
    assert model.scores.learned == learned


def test_words_of_the_priors():
    total = resolved(n_components=4, alpha="total-one", gamma="auto", algorithm="gibbs").model
    assert (total.scores.alpha == 0.25).all()
    assert not total.scores.learn_alpha
    assert total.loadings.learned
    empirical = resolved(gamma="empirical").model.loadings.gamma
    np.testing.assert_allclose(empirical, (X.feature_totals + 1) / (X.n_tokens + 8))
    blocks = X.with_blocks([0, 0, 0, 0, 1, 1, 1, 1])
    assert float(Recipe().resolve(blocks).model.loadings.gamma) == 0.5


def test_samplers_burn_in_for_half_of_the_sweeps_unless_they_are_objects():
    assert resolved(algorithm="gibbs", max_iter=50).algorithm.burn_in == 25
    assert resolved(algorithm="gibbs", max_iter=50, burn_in=7).algorithm.burn_in == 7
    sampler = CollapsedGibbs(burn_in=3)
    assert resolved(algorithm=sampler, max_iter=50).algorithm == sampler
    assert resolved(algorithm=sampler, max_iter=50, anneal=2).algorithm.anneal == 2
    kept = resolved(algorithm="gibbs", max_iter=50, n_draws=5, draws_of="loadings").algorithm.keep
    assert (kept.n, kept.every, kept.kinds) == (5, 25, ("loadings",))


def test_chains_that_settle_slowly():
    """Four fifths of the burn-in, or of the sweeps before a search."""
    options = {"algorithm": "collapsed-gibbs", "max_iter": 100}
    assert resolved(model="TM", depth=2, **options).algorithm.anneal == 0
    assert resolved(model="TM", depth=2, anneal="auto", **options).algorithm.anneal == 40
    searched = resolved(model="ST", n_components=3, psi=2.0, max_nodes=4, **options).algorithm
    assert searched.grow == StructureSearch(25, "variational", 4, 2.0)
    assert searched.anneal == 20
    assert resolved(model="ST", tree=[-1, 0, 0], **options).algorithm.anneal == 40
    own = resolved(model="ST", tree=[-1, 0, 0], structure="document", **options).algorithm
    assert own.anneal == 40
    given = CollapsedGibbs(burn_in=50)
    assert resolved(model="ST", n_components=3, algorithm=given).algorithm.anneal == 0


def test_a_tree_that_grows():
    options = {"model": "TM", "branching": 2, "depth": 2, "a1": 3.0, "max_iter": 200}
    for algorithm in ("mean-field", "gibbs", "collapsed-gibbs"):
        found = resolved(**options, algorithm=algorithm, grow_to=9).algorithm
        assert found.grow == Growth(50, 9, 2, a1=3.0)
    with pytest.raises(dcomp.InvalidParameter, match="grow_at = 5 has no effect without grow_to"):
        resolved(**options, grow_at=5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": "TM", "n_components": 5, "depth": 2}, "n_components= and depth= both say how"),
        ({"model": "TM", "n_components": 2, "tree": [-1, 0]}, "n_components= and tree= both say"),
        ({"model": "TM", "depth": 2, "tree": [-1, 0]}, "give tree= or depth=, not both"),
        ({"model": "TM", "tree": [-1, 0], "branching": 2}, "is for a tree that grows"),
        ({"model": "ST", "n_components": 5, "depth": 2}, "n_components= and depth= both say how"),
        ({"model": "ST", "leaves": "DM", "rho": 0.1}, "rho has no meaning for model DM"),
        ({"model": "ST", "tree": [-1, 0], "search_score": "paper"}, "search_score is of a search"),
    ],
)
def test_what_contradicts_itself(given, message):
    with pytest.raises((dcomp.InvalidParameter, dcomp.UnsupportedCombination), match=message):
        resolved(**given)


def test_leaves_and_models_by_any_of_their_names():
    assert resolved(model="hpam", leaves="gap", n_components=2).model.leaf_model.key == "GP"
    found = resolved(model="plsa", n_components=2)
    assert found.algorithm == MapEM(loadings="map", max_inner=3)
    assert (found.model.scores.alpha == 1).all()
    assert resolved(model="plsa", n_components=2, max_inner=7).algorithm.max_inner == 7


def test_a_tree_from_a_file(tmp_path):
    path = tmp_path / "tree.json"
    path.write_text(json.dumps({"all": ["x", "y"]}))
    assert resolved(model="TM", tree=path).model.tree.names == ("all", "x", "y")
    path.write_text("{")
    with pytest.raises(dcomp.InvalidFile, match=r"tree\.json: a tree is JSON"):
        resolved(model="TM", tree=path)


def test_a_model_that_is_given_stays_as_it_is():
    model = DirichletMultinomial.build(3, alpha=0.7)
    found = resolved(model=model, alpha=0.1, algorithm="gibbs")
    assert found.model is model
    with pytest.raises(dcomp.UnsupportedCombination, match="has no algorithm 'laplace'"):
        Recipe(model=model, algorithm="laplace")


def test_a_recipe_cannot_be_changed():
    recipe = Recipe(n_components=3)
    with pytest.raises(AttributeError):
        recipe.given = {}
    with pytest.raises(TypeError):
        recipe.given["n_components"] = 4


def test_a_recipe_can_be_sent_and_shown():
    recipe = Recipe(model="GP", alpha=0.5)
    assert pickle.loads(pickle.dumps(recipe)).given == recipe.given
    assert repr(recipe) == "Recipe(model='GP', alpha=0.5)"


LARGE = dcomp.Counts.from_matrix(np.full((6, 4), 30))


def test_assignments_need_the_sampler_of_single_words_whatever_the_table():
    plain, tokens = Recipe(model="CGP"), Recipe(model="CGP", n_draws=2, draws_of="assignments")
    assert plain.resolve(LARGE).algorithm.name == "gibbs"
    assert tokens.resolve(LARGE).algorithm.name == "collapsed-gibbs"
    assert plain.told_by_the_table(LARGE).startswith("algorithm: gibbs, because ")
    assert tokens.told_by_the_table(LARGE) is None
    assert Recipe(model="CGP", algorithm="gibbs").told_by_the_table(LARGE) is None
    assert Recipe(model="GP").told_by_the_table(LARGE) is None


def test_a_config_file_leaves_it_to_the_table(tmp_path):
    Recipe(model="CGP", n_components=2).write(tmp_path / "run.toml")
    again = Recipe.read(tmp_path / "run.toml")
    assert again.resolve(LARGE).algorithm.name == "gibbs"
    assert again.resolve(X).algorithm.name == "collapsed-gibbs"
