"""Geweke's joint-distribution test of both samplers: model × (plain, blocks and exposure, widths).

Words, components, scores and loadings are drawn from the model; native sweeps, new parameters given
their counts, new words given those and sweeps again must leave the joint law as it was. The ends
of the chains are independent draws, compared with fresh ones by two-sample tests of some fifty
functions under one Bonferroni bound (`dcomp.reference.sampler_tests`).

False alarms: 1e-4 for each of the tests below that a sampler has to pass, with fixed seeds; there
are fewer than 40, so that under any seeds all of them pass with probability above 0.996. Samplers
that are broken on purpose must fail by the same measure; from as many chains they do so below 1e-7.
Longer runs are in `verification/geweke.py`.

All chains run at once, as blocks of one corpus with an exposure for each: the special case without
either is in `tests/exact`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dcomp import registry
from dcomp.data import FeatureSpace
from dcomp.executors import LocalExecutor
from dcomp.inference import CollapsedGibbs, Gibbs
from dcomp.models import MODELS
from dcomp.reference import gibbs as reference
from dcomp.reference.sampler_tests import (
    LAYOUTS,
    Setting,
    compare,
    marginal_conditional,
    native,
    small_setting,
    successive_conditional,
    together,
)

SAMPLED = [key for key, names in registry.supported().items() if "gibbs" in names]
ALARM = 1e-4
SAMPLERS = {
    "direct": Gibbs(burn_in=10**6),
    "collapsed": CollapsedGibbs(burn_in=10**6, sparse=False),
    "sparse": CollapsedGibbs(burn_in=10**6, sparse=True),
}
# What has code of its own: an exposure per document is never swept by lists of components, and
# the direct sampler has one path for any width.
CELLS = [
    (key, layout, name)
    for key in SAMPLED
    for layout in LAYOUTS
    for name in SAMPLERS
    if not (layout == "blocks" and name == "sparse" and key not in ("DM", "TM"))
    and not (layout in ("vectors", "many") and name == "direct")
    and not (layout == "vectors" and name == "sparse")
]


def sampler(name):
    return native(SAMPLERS[name], LocalExecutor(1))


def p_value(setting, start, n_chains=1200, n_replicates=80, seed=1):
    """Of the sampler being right."""
    rng = np.random.default_rng(seed)
    drawn = marginal_conditional(setting, rng, n_replicates=400, n_stacks=4 * n_chains // 400)
    ends = successive_conditional(setting, start, rng, n_replicates, n_chains // n_replicates)
    return together(compare(ends, drawn))


@pytest.mark.parametrize(("key", "layout", "name"), CELLS)
def test_the_joint_law_stays(key, layout, name):
    assert p_value(small_setting(key, layout), sampler(name)) > ALARM


@pytest.mark.parametrize("key", ["DM", "CGP"])
def test_the_joint_law_stays_with_large_counts(key):
    """Counts above 16 are split by binomial draws."""
    model = small_setting(key, "plain").model
    model = replace(model, loadings=type(model.loadings)([0.6, 1.4]))
    size = np.array([[70.0], [30.0]]) if key == "DM" else np.array([[9.0], [4.0]])
    setting = Setting(model, FeatureSpace.build(2), size)
    assert p_value(setting, sampler("direct")) > ALARM


class Direct:
    """The direct sampler in NumPy for all replicates; `plug_in` puts E[Θ | n] for a draw of Θ."""

    def __init__(self, model, draw, rng, *, plug_in):
        self.setting, self.W = Setting(model, draw.features, draw.size), draw.W
        self.c, self.n, self.rng, self.plug_in = draw.c, draw.n, rng, plug_in

    def sweep(self):
        scores, Theta = self.setting.parameters(self.c, self.n, self.rng)
        if self.plug_in:
            a = self.n + self.setting.model.loadings.per_feature(self.n.shape[1])[:, None]
            Theta = a / a.sum(axis=1, keepdims=True)
        p = scores[:, :, None] * Theta[:, None]
        p[self.W == 0] = 1  # where there is nothing to divide
        v = self.rng.multinomial(self.W, p / p.sum(axis=-1, keepdims=True))
        self.c, self.n = v.sum(axis=2), v.sum(axis=1)
        return self.c, self.n


class Collapsed:
    """The token sampler in NumPy for all replicates; `keep` leaves the token that is drawn in the
    counts that it is drawn from."""

    def __init__(self, model, draw, rng, *, keep):
        self.model, self.draw, self.rng, self.keep = model, draw, rng, keep
        self.c, self.n = draw.c.copy(), draw.n.copy()
        slot = np.arange(draw.W.max())
        order = rng.random((*draw.W.shape, len(slot))) + 2 * (slot >= draw.W[..., None])
        ordered = (slot[:, None] >= draw.v.cumsum(axis=-1)[..., None, :]).sum(axis=-1)
        self.z = np.take_along_axis(ordered, order.argsort(axis=-1), axis=-1)

    def sweep(self):
        for i, j, t in np.ndindex(self.z.shape[1:]):
            r = np.flatnonzero(self.draw.W[:, i, j] > t)
            if len(r):
                self.token(r, i, j, t)
        return self.c, self.n

    def token(self, r, i, j, t):
        old, blocks = self.z[r, i, j, t], self.draw.features.blocks
        if not self.keep:
            self.add(r, i, j, old, -1)
        members = blocks == blocks[j]
        gamma = self.model.loadings.per_feature(len(blocks))
        phi = (gamma[j] + self.n[r, j]) / (gamma[members].sum() + self.n[r][:, members].sum(axis=1))
        p = phi * reference.score_ratio(self.model, self.c[r, i], self.draw.size[i].sum())
        total = p.cumsum(axis=1)
        new = (self.rng.random((len(r), 1)) * total[:, -1:] >= total).sum(axis=1)
        if self.keep:
            self.add(r, i, j, old, -1)
        self.add(r, i, j, new, 1)
        self.z[r, i, j, t] = new

    def add(self, r, i, j, k, one):
        self.c[r, i, k] += one
        self.n[r, j, k] += one


def numpy_p_value(setting, chain, **options):
    """Of a NumPy chain; here large stacks are the fast ones."""
    return p_value(setting, partial(chain, **options), n_chains=4000, n_replicates=2000)


def few_tokens():
    """For a loop over tokens in Python."""
    setting = small_setting("DM", "plain")
    return replace(setting, size=np.array([[7.0], [6.0]]))


@pytest.mark.parametrize(("key", "layout"), [("CGP", "plain"), ("DM", "blocks")])
def test_numpy_versions_pass(key, layout):
    """So that what makes them fail below is what was broken in them."""
    assert numpy_p_value(small_setting(key, layout), Direct, plug_in=False) > ALARM


def test_numpy_version_of_the_token_sampler_passes():
    assert numpy_p_value(few_tokens(), Collapsed, keep=False) > ALARM


@pytest.mark.parametrize("key", SAMPLED)
def test_a_mean_for_a_draw_fails(key):
    assert numpy_p_value(small_setting(key, "plain"), Direct, plug_in=True) < ALARM


def test_a_token_that_sees_itself_fails():
    assert numpy_p_value(few_tokens(), Collapsed, keep=True) < ALARM


def with_wrong(name, **changes):
    """The native sampler of a model with other hyper-parameters."""
    return lambda model, draw, rng: sampler(name)(model.with_scores(**changes), draw, rng)


@pytest.mark.parametrize("name", ["direct", "collapsed"])
@pytest.mark.parametrize(
    ("key", "parameter", "factor"),
    [
        ("DM", "alpha", 1.2),
        ("GP", "alpha", 0.8),
        ("GP", "beta", 1.25),
        ("CGP", "rho", 0.8),
        ("TM", "a1", 1.5),
        ("TM", "a2", 2.0),
        ("TM", "b", 1.5),
    ],
)
def test_a_wrong_hyper_parameter_fails(key, parameter, factor, name):
    """That of one component alone: a factor common to all of them can cancel."""
    setting = small_setting(key, "plain")
    off = getattr(setting.model.scores, parameter).copy()
    off[1] *= factor
    wrong = with_wrong(name, **{parameter: off})
    assert p_value(setting, wrong) < ALARM


@pytest.mark.parametrize("name", ["direct", "collapsed"])
def test_zeros_drawn_as_in_gp_fail(name):
    setting = small_setting("CGP", "plain")
    scores = setting.model.scores
    gp = MODELS["GP"].build(
        3, alpha=scores.alpha, beta=scores.beta, gamma=setting.model.loadings.gamma
    )
    wrong = lambda model, draw, rng: sampler(name)(gp, draw, rng)  # noqa: E731
    assert p_value(setting, wrong) < ALARM


@pytest.mark.parametrize(
    ("key", "name"), [("DM", "direct"), ("DM", "sparse"), ("GP", "direct"), ("GP", "collapsed")]
)
def test_loadings_normalised_over_all_blocks_fail(key, name):
    """BJ06 table IV as printed, on data with blocks: the total of the component divides."""

    def wrong(model, draw, rng):
        merged = replace(
            draw,
            features=FeatureSpace.build(draw.features.n_features),
            size=draw.size.sum(axis=1, keepdims=True),
        )
        return sampler(name)(model, merged, rng)

    assert p_value(small_setting(key, "blocks"), wrong, n_chains=4000) < ALARM


@pytest.mark.parametrize("name", ["direct", "collapsed"])
def test_a_forgotten_exposure_fails(name):
    setting = small_setting("GP", "blocks")

    def wrong(model, draw, rng):
        return sampler(name)(model, replace(draw, size=np.full_like(draw.size, 3.0)), rng)

    assert p_value(setting, wrong) < ALARM
