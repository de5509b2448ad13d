"""What every score prior says of itself: one suite over all of them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dcomp
from dcomp.models import MODELS, Structure, Tree
from dcomp.models.prior import Parameter, learned_values, share_below

TREE = Tree.from_parents([-1, 0, 0, 1, 1])
SHAPE = Structure.from_parents([2, 2, -1])


def structured(kind, leaves="DM", **options):
    return MODELS["ST"].build(SHAPE, kind, leaves=leaves, **options)


PRIORS = {
    "DM": MODELS["DM"].build(3, alpha=[0.2, 1.0, 3.0], learn_alpha=True),
    "GP": MODELS["GP"].build(3, alpha=[0.2, 1.0, 3.0], beta=[0.5, 1.0, 2.0], learn_beta=True),
    "CGP": MODELS["CGP"].build(3, alpha=0.7, beta=2.0, rho=[0.1, 0.5, 0.9], learn_rho=True),
    "DM, one alpha": MODELS["DM"].build(3, alpha=0.2, learn_alpha="shared"),
    "GP, one alpha": MODELS["GP"].build(3, beta=[0.5, 1.0, 2.0], learn_alpha="shared"),
    "CGP, one alpha": MODELS["CGP"].build(3, learn_alpha="shared", learn_beta=True),
    "LN": MODELS["LN"].build(3, mu0=[0.0, 1.0, -1.0], learn_Sigma0=True, shrinkage=None),
    "TM": MODELS["TM"].build(TREE, a1=2.0),
    "ST shared": structured("shared", alpha=0.3, learn_alpha=True),
    "ST phi": structured("phi", "GP", psi=(2.0, 3.0)),
    "ST document": structured("document", "CGP", learn_psi=True),
    "ST given": structured("shared", upsilon=[[0.7, 0.0, 0.3], [0.0, 0.5, 0.5]]),
}
WITH_MOMENTS = [key for key, model in PRIORS.items() if model.scores.capabilities.moments]


@pytest.mark.parametrize("key", PRIORS)
def test_a_file_gives_back_the_same_prior(key):
    scores = PRIORS[key].scores
    arrays = {p.name: np.array(p.value) for p in scores.parameters()}
    entry = json.loads(json.dumps(scores.stored()))
    assert type(scores).restored(entry, arrays) == scores
    for name in arrays:
        with pytest.raises((ValueError, KeyError)):
            type(scores).restored(entry, {k: a for k, a in arrays.items() if k != name})
        with pytest.raises((ValueError, KeyError)):
            type(scores).restored(entry, arrays | {name: np.zeros((2, 2, 2))})


@pytest.mark.parametrize("key", PRIORS)
def test_parameters_describe_themselves(key):
    model = PRIORS[key]
    parameters = model.scores.parameters()
    assert len({p.name for p in parameters}) == len(parameters)
    assert all(p.is_in_range(p.value) for p in parameters)
    assert model.scores.learned == tuple(p.name for p in parameters if p.learned)
    # With its own values it is the same, with others another.
    assert model.with_scores(**{p.name: p.value for p in parameters}) == model
    for p in parameters:
        changed = model.with_scores(**{p.name: p.value * 0.8 + 0.01})
        assert changed != model
        assert learned_values(changed.scores).keys() == learned_values(model.scores).keys()


@pytest.mark.parametrize("key", PRIORS)
def test_what_it_cannot_do_it_says_in_words(key):
    can = PRIORS[key].scores.capabilities
    for name in ("fixed_point", "sampling", "bound", "normalised", "left_to_right", "evidence"):
        if getattr(can, name):
            can.require(name, key)
        else:
            with pytest.raises(dcomp.UnsupportedCombination, match=f"^model {key}: "):
                can.require(name, key)


@pytest.mark.parametrize("key", WITH_MOMENTS)
def test_moments_are_those_of_the_draws(key):
    scores = PRIORS[key].scores
    c = np.zeros((1, scores.n_components))
    c[0, :2] = 4, 1
    n, exposure = 200_000, np.array([1.7])
    draws = scores.draw(np.repeat(c, n, axis=0), np.repeat(exposure, n), np.random.default_rng(1))
    mean, sd = scores.posterior_mean(c, exposure)[0], scores.posterior_sd(c, exposure)[0]
    error = draws.std(axis=0) / np.sqrt(n)
    assert (np.abs(draws.mean(axis=0) - mean) < 5 * error).all()
    np.testing.assert_allclose(draws.std(axis=0), sd, rtol=0.02)


@pytest.mark.parametrize("key", [key for key in WITH_MOMENTS if key != "TM"])
def test_small_shares_are_as_probable_as_in_draws(key):
    """Exact for DM; the gammas of other rates are matched by their first two moments."""
    scores = PRIORS[key].scores
    c, exposure, n = np.array([[3, 0, 1]]), np.array([1.0]), 100_000
    draws = scores.draw(np.repeat(c, n, axis=0), np.ones(n), np.random.default_rng(2))
    total = draws.sum(axis=1, keepdims=True)
    found = scores.share_below(c, exposure, 0.1)[0]
    np.testing.assert_allclose(found, (draws < 0.1 * total).mean(axis=0), atol=0.02)


def test_shares_of_one_component_are_never_small():
    assert share_below(np.ones((2, 1)), np.ones((2, 1)), 0.5).tolist() == [[0.0], [0.0]]


def test_ranges_of_parameters():
    rho = Parameter("rho", np.array([0.5]), upper=1.0)
    assert rho.is_in_range(np.array([0.0, 0.999]))
    assert not rho.is_in_range(np.array([1.0]))
    assert not rho.is_in_range(np.array([-0.1]))
    assert Parameter("mu0", np.array([0.0]), lower=-np.inf).is_in_range(np.array([-5.0]))
