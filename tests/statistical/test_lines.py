"""Scores along lines are calibrated: the truth's rank among draws is uniform (Cook et al. 2006).

Documents of thousands of words on few features, drawn from the model with given Θ whose components
are alike, so that words leave the split open and the prior has its say. Chains begin at the mode
and mix within a few sweeps, so that draws ten sweeps apart are as good as independent. False
alarms: 1e-4 per test under a Bonferroni bound over components; a wrong prior must fail by the same
measure.
"""

from __future__ import annotations

import numpy as np
import pytest

from dcomp.data import Counts, FeatureSpace
from dcomp.inference.line_scores import along_lines
from dcomp.inference.mean_field import Weights
from dcomp.inference.sampled_scores import in_single_precision
from dcomp.models import MODELS, Observations
from dcomp.reference.sampler_tests import together, uniformity

OTHERS, ALARM, N_DOCS = 19, 1e-4, 600
Theta = np.array([[0.40, 0.38, 0.1], [0.33, 0.33, 0.2], [0.22, 0.24, 0.3], [0.05, 0.05, 0.4]])
PRIORS = {
    "DM": {"alpha": [0.3, 0.6, 1.5]},
    "GP": {"alpha": [0.3, 0.6, 1.5], "beta": [0.002, 0.001, 0.003]},
    "CGP": {"alpha": [0.8, 0.6, 1.5], "beta": [0.002, 0.001, 0.003], "rho": [0.4, 0.3, 0.2]},
}
WRONG = {"DM": ("alpha", 1.6), "GP": ("alpha", 1.6), "CGP": ("rho", 0.4)}


def p_value(key, model):
    """Of uniform ranks, documents drawn from the true model and sampled under `model`."""
    rng = np.random.default_rng(11)
    true = MODELS[key].build(3, **PRIORS[key])
    size = np.full((N_DOCS, 1), 3000) if key == "DM" else np.ones((N_DOCS, 1))
    counts, scores, _ = true.simulate(FeatureSpace.build(4), size, rng, Theta)
    observed = Observations.build(Counts.from_matrix(counts.to_scipy().toarray()))
    weights = in_single_precision(Weights.of_loadings(Theta).Theta, 3)
    _, drawn = along_lines(
        model, observed, np.arange(N_DOCS), weights, None,
        shape=(OTHERS, 10, 30), seed=4, sweep=0, n_threads=1,
    )  # fmt: skip
    truth = scores.astype(np.float32)
    rank = (drawn < truth).sum(axis=0) + rng.integers((drawn == truth).sum(axis=0) + 1)
    return together(uniformity({f"score {k}": rank[:, k] for k in range(3)}, OTHERS))


@pytest.mark.parametrize("key", PRIORS)
def test_ranks_are_uniform(key):
    assert p_value(key, MODELS[key].build(3, **PRIORS[key])) > ALARM


@pytest.mark.parametrize("key", PRIORS)
def test_a_wrong_prior_is_found_out(key):
    name, factor = WRONG[key]
    wrong = PRIORS[key] | {name: np.array(PRIORS[key][name]) * factor}
    assert p_value(key, MODELS[key].build(3, **wrong)) < ALARM
