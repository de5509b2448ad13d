"""Calibration: parameters drawn from the prior look like any other draw of the posterior.

*Ranks of chains.* Exact in the sense of Gandy and Scott 2020 (`dcomp.reference.sampler_tests`): a
chain through the truth, part of it backward, so that ranks are uniform for any length and mixing.
No burn-in is involved, and labels keep their meaning since chains start from the truth.
*Ranks of `Fit.sample_scores`.* Its chains begin at the mode, so that uniform ranks also need the
burn-in to be enough and the draws to be far apart: short documents, 100 sweeps of burn-in and 10
sweeps between draws. Not exact, but far within what the test can see.
*Recorded means.* By the tower property E[truth · g(w)] = E[posterior mean · g(w)] for any g; with a
chain that starts from the truth it holds exactly for the average over any number of sweeps.

False alarms: 1e-4 per test under a Bonferroni bound over its functions, with fixed seeds; there are
fewer than 35 tests that a sampler has to pass. The broken ones must fail by the same measure, from
as many ranks; they do so below 1e-6. Longer runs are in `verification/calibration.py`.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import dcomp
from dcomp import registry
from dcomp.executors import LocalExecutor
from dcomp.inference import CollapsedGibbs, Gibbs
from dcomp.models import MODELS
from dcomp.reference.sampler_tests import (
    NativeChain,
    native,
    ranks,
    small_setting,
    together,
    uniformity,
)
from dcomp.reference.simulate import Simulated, draw_scores, draw_words

SAMPLED = [key for key, names in registry.supported().items() if "gibbs" in names]
ALARM = 1e-4
OTHERS = 19
SAMPLERS = {
    "direct": Gibbs(burn_in=10**6),
    "collapsed": CollapsedGibbs(burn_in=10**6, sparse=False),
    "sparse": CollapsedGibbs(burn_in=10**6, sparse=True),
}
CELLS = [
    (key, layout, name)
    for key in SAMPLED
    for layout in ("plain", "blocks")
    for name in SAMPLERS
    if not (layout == "blocks" and name == "sparse" and key not in ("DM", "TM"))
]


def sampler(name):
    return native(SAMPLERS[name], LocalExecutor(1))


def p_of_ranks(setting, start, n_stacks=12):
    rng = np.random.default_rng(2)
    ranked = ranks(setting, start, rng, n_replicates=60, n_stacks=n_stacks, n_others=OTHERS)
    return together(uniformity(ranked, OTHERS))


@pytest.mark.parametrize(("key", "layout", "name"), CELLS)
def test_ranks_of_the_truth_are_uniform(key, layout, name):
    assert p_of_ranks(small_setting(key, layout), sampler(name)) > ALARM


def test_a_mirrored_corpus_is_swept_backward():
    """What the exactness of the ranks rests on, for the token sampler."""
    setting, algorithm = small_setting("GP", "blocks"), SAMPLERS["collapsed"]
    draw = setting.draw(1, np.random.default_rng(0))
    turned = setting.mirrored()
    mirror = Simulated(turned.features, turned.size, draw.scores, draw.Theta, draw.v[:, ::-1, ::-1])

    def order(model, draw):
        observed = draw.observed(model)
        entry = algorithm.sampler(model, observed).entries()
        matrix = observed.counts.to_scipy().tocoo()
        return matrix.row[entry], matrix.col[entry]

    documents, features = order(setting.model, draw)
    back_documents, back_features = order(turned.model, mirror)
    n_docs, n_features = draw.W.shape[1:]
    assert len(documents) > 5
    np.testing.assert_array_equal(documents, n_docs - 1 - back_documents[::-1])
    np.testing.assert_array_equal(features, n_features - 1 - back_features[::-1])


@pytest.mark.parametrize("name", ["direct", "collapsed"])
@pytest.mark.parametrize(
    ("key", "parameter", "factor"),
    [("DM", "alpha", 1.3), ("GP", "beta", 1.5), ("CGP", "rho", 0.7), ("TM", "a2", 2.5)],
)
def test_ranks_of_a_broken_sampler_are_not(key, parameter, factor, name):
    setting = small_setting(key, "plain")
    off = getattr(setting.model.scores, parameter).copy()
    off[1] *= factor

    def wrong(model, draw, rng):
        return sampler(name)(model.with_scores(**{parameter: off}), draw, rng)

    assert p_of_ranks(setting, wrong) < ALARM


def fitted(key):
    """A fit of two blocks whose Θ is then taken as given."""
    options = {"alpha": [0.4, 1.2, 0.7], "gamma": 0.5}
    if key == "TM":
        options = {"a1": 0.7, "a2": [1.5, 1, 1], "b": [1, 0.4, 0.9]}
    options |= {"beta": [0.1, 0.6, 0.3]} if MODELS[key].has_exposure else {}
    options |= {"rho": [0.3, 0.6, 0.2]} if key == "CGP" else {}
    W = np.random.default_rng(5).poisson(1.5, (40, 6))
    counts = dcomp.Counts.from_matrix(W, blocks=[0, 0, 0, 1, 1, 1])
    exposure = np.ones((40, 2)) if MODELS[key].has_exposure else None
    algorithm = CollapsedGibbs(burn_in=5)
    return dcomp.fit(
        counts, MODELS[key].build(3, **options), algorithm, exposure=exposure, max_iter=25
    )


def new_documents(fit, rng, n_docs, model):
    """Scores from the prior and words given the fit's Θ; exposure varies and is once 0."""
    features = fit.features
    if fit.model.has_exposure:
        sizes = np.resize([[1.0, 1.0], [0.3, 2.0], [0.0, 0.6]], (n_docs, 2))
    else:
        sizes = np.resize([[4.0, 6.0], [1.0, 0.0], [0.0, 0.0]], (n_docs, 2))
    nothing = np.zeros((n_docs, 3), dtype=int)
    scores = draw_scores(model, nothing, np.zeros(n_docs), rng)
    Theta = np.asarray(fit.Theta, dtype=float)
    Theta /= np.add.reduceat(Theta, [0, 3])[features.blocks]  # float32 is not quite normalised
    v = draw_words(model, features, sizes, scores, Theta, rng)
    return Simulated(features, sizes, scores, Theta, v)


def p_of_scores(fit, model, n_docs=3000):
    """Uniformity of the ranks of true scores, made by `model`, among the draws of `fit`."""
    rng, thin = np.random.default_rng(8), 10
    truth = new_documents(fit, rng, n_docs, model)
    exposure = truth.size if model.has_exposure else None
    sampled = fit.sample_scores(
        truth.counts(), exposure=exposure, n_draws=OTHERS * thin, burn_in=100, seed=3,
        keep_draws=True, min_ess=0, n_jobs=1,
    )  # fmt: skip
    draws = sampled.draws[thin - 1 :: thin]  # (S, I, K)
    scores = truth.scores.astype(np.float32)  # as the draws: a tie is a tie
    equal = (draws == scores).sum(axis=0)
    rank = (draws < scores).sum(axis=0) + rng.integers(equal + 1)
    return together(uniformity({f"score {k}": rank[:, k] for k in range(3)}, OTHERS))


@pytest.mark.parametrize("key", SAMPLED)
def test_sample_scores_is_calibrated(key):
    fit = fitted(key)
    assert p_of_scores(fit, fit.model) > ALARM


@pytest.mark.parametrize(
    ("key", "parameter", "factor"),
    [("DM", "alpha", 1.3), ("GP", "beta", 1.3), ("CGP", "rho", 0.8), ("TM", "a1", 1.4)],
)
def test_sample_scores_with_a_wrong_prior_is_not(key, parameter, factor):
    fit = fitted(key)
    right = getattr(fit.model.scores, parameter)
    wrong = fit.model.with_scores(**{parameter: right * factor})
    assert p_of_scores(fit, wrong) < ALARM


def differences(setting, name, rng, broken, n_sweeps=5):
    """(truth − recorded mean) · g for scores and Θ, one row per replicate."""
    algorithm = {"direct": Gibbs, "collapsed": CollapsedGibbs}[name](burn_in=0)
    draw = setting.draw(80, rng)
    chain = NativeChain(algorithm, LocalExecutor(1), setting.model, draw, rng)
    for _ in range(n_sweeps):
        chain.sweep()
    recorded, R, K = chain.state.recorded, 80, setting.model.n_components
    Theta = (recorded.Theta / recorded.count).reshape(R, -1, K)
    scores = setting.model.scores
    zeros = recorded.zeros
    if broken and zeros is not None:
        zeros = np.zeros_like(zeros)
    if recorded.scores is not None:
        mean = recorded.scores / recorded.count
    else:
        mean = scores.recorded_mean(
            recorded.c, zeros, recorded.count, chain.observed.total_exposure
        )
    mean = mean.reshape(R, -1, K)
    if broken and zeros is None:
        Theta = (Theta + 0.2) / 2  # more smoothing than γ asks for
    length = draw.W.sum(axis=2, keepdims=True)
    first = (draw.W[..., :1] > 0).any(axis=1)[..., None]
    return np.concatenate(
        [
            (draw.scores - mean).sum(axis=1),
            ((draw.scores - mean) * (length > 2)).sum(axis=1),
            ((draw.Theta - Theta) * np.linspace(-1, 1, 5)[:, None]).sum(axis=1),
            ((draw.Theta - Theta) * first)[:, 0],
        ],
        axis=1,
    )


def p_of_means(setting, name, broken=False):
    rng = np.random.default_rng(4)
    rows = np.concatenate([differences(setting, name, rng, broken) for _ in range(25)])
    z = rows.mean(axis=0) / (rows.std(axis=0, ddof=1) / np.sqrt(len(rows)))
    return together({str(i): float(2 * norm.sf(abs(value))) for i, value in enumerate(z)})


@pytest.mark.parametrize("name", ["direct", "collapsed"])
@pytest.mark.parametrize("layout", ["plain", "blocks"])
@pytest.mark.parametrize("key", SAMPLED)
def test_recorded_means_are_posterior_means(key, layout, name):
    assert p_of_means(small_setting(key, layout), name) > ALARM


@pytest.mark.parametrize("key", ["DM", "CGP"])
def test_wrong_recorded_means_are_not(key):
    """Θ smoothed too much; zeros of CGP not counted."""
    assert p_of_means(small_setting(key, "plain"), "collapsed", broken=True) < ALARM
