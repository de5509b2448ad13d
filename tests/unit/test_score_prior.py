"""The native score prior: what it must be given, and what it tells when it is not."""

from __future__ import annotations

import numpy as np
import pytest

from dcomp import _core
from dcomp.models import (
    ConditionalGammaScores,
    DirichletScores,
    GammaScores,
    Tree,
    TreeScores,
)

TWO = np.array([0.5, 1.5])
ROOT_AND_LEAF = np.array([-1, 0], np.int32)
COUNTS = np.array([[1, 0], [2, 3], [0, 0]], np.int32)


def make(key, *names, **more):
    numbers = {name: TWO / 2 if name == "rho" else TWO for name in names}  # rho is a probability
    return _core.ScorePrior(key, numbers, **more)


@pytest.mark.parametrize(
    ("scores", "key"),
    [
        (DirichletScores.build(2), "DM"),
        (GammaScores.build(2), "GP"),
        (ConditionalGammaScores.build(2), "CGP"),
        (TreeScores.build(Tree.regular(2, 2)), "TM"),
    ],
)
def test_every_prior_makes_its_own(scores, key):
    native = scores.native()
    assert (native.key, native.n_components) == (key, scores.n_components)
    assert np.isfinite(
        _core.log_score_moments(np.ones((3, scores.n_components), np.int32), native, 1)
    )
    assert scores.without_zeros().native().key == {"CGP": "GP"}.get(key, key)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: make("XX", "alpha"), "must be one of DM, GP, CGP, .*TM; got 'XX'"),
        (lambda: make("GP", "alpha"), "GP must have the parameters alpha, beta; got alpha"),
        (lambda: make("DM", "alpha", "beta"), "DM must have the parameters alpha; got alpha, beta"),
        (
            lambda: make("CGP", "alpha", "beta", "tau"),
            "CGP must have the parameters alpha, beta, rho; got alpha, beta, tau",
        ),
        (
            lambda: _core.ScorePrior("GP", {"alpha": TWO, "beta": np.ones(3)}),
            "must hold a number per component, at least 1; alpha holds 2, beta 3",
        ),
        (
            lambda: _core.ScorePrior("DM", {"alpha": np.ones(0)}),
            "must hold a number per component, at least 1; alpha holds 0",
        ),
        (lambda: make("DM", "alpha", exposure=np.ones(3)), "DM .* must have no exposure"),
        (lambda: make("DM", "alpha", tree=ROOT_AND_LEAF), "DM must have no tree"),
        (lambda: make("TM", "a1", "a2", "b"), "TM must have the parents of a tree"),
        (
            lambda: make("TM", "a1", "a2", "b", tree=ROOT_AND_LEAF[:1]),
            r"the tree must have a parent per component \(2\); got 1",
        ),
        (
            lambda: make("TM", "a1", "a2", "b", tree=np.zeros(2, np.int32)),
            "node 0 must be the root of the tree",
        ),
        (
            lambda: _core.ScorePrior(
                "TM", dict.fromkeys(["a1", "a2", "b"], -TWO), None, ROOT_AND_LEAF
            ),
            "a1 must be 0 or more, and finite; found -0.5",
        ),
        (
            lambda: _core.ScorePrior(
                "TM", dict.fromkeys(["a1", "a2", "b"], 0 * TWO), None, ROOT_AND_LEAF
            ),
            "a tree needs a1 of model TM above 0; found 0 at component 0",
        ),
        (lambda: make("DM", "alpha", mode="guess"), "must be 'expect' or 'maximise'; got 'guess'"),
        (
            lambda: make("DM", "alpha", power=0.5),
            "power must be 1, or lie between 0 and 1 with mode",
        ),
        (
            lambda: make("GP", "alpha", "beta", mode="maximise", power=0.5),
            "must be one to temper; that of model GP can expect, maximise, factorise, sample, coll",
        ),
    ],
)
def test_what_is_no_prior_is_told(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_parameters_go_by_their_names():
    """Not by the order in which they are given."""
    rho = np.array([0.2, 0.4])
    numbers = {"alpha": TWO, "beta": 3 * TWO, "rho": rho}
    there, back = (
        _core.ScorePrior("CGP", dict(items), np.array([0.5, 1.0, 2.0]))
        for items in (numbers.items(), reversed(numbers.items()))
    )
    scores = ConditionalGammaScores.build(2, TWO, 3 * TWO, rho=rho)
    exact = scores.log_moment(COUNTS, np.array([0.5, 1.0, 2.0])).sum()
    for prior in (there, back):
        assert _core.log_score_moments(COUNTS, prior, 1) == pytest.approx(exact)


def test_kernels_say_what_they_cannot_do_with_a_prior():
    out = np.empty(COUNTS.shape, np.float32)
    for call in (
        lambda prior: _core.log_score_moments(COUNTS, prior, 1),
        lambda prior: _core.draw_scores(COUNTS, prior, out, 1, 1, 1),
    ):
        with pytest.raises(ValueError, match="must be of 2 components; it is of 3"):
            call(_core.ScorePrior("DM", {"alpha": np.ones(3)}))
        with pytest.raises(ValueError, match=r"one number per document \(3\); got 2"):
            call(make("GP", "alpha", "beta", exposure=np.ones(2)))
    with pytest.raises(ValueError, match="under model DM it follows from the mean of c"):
        _core.tree_means(COUNTS, make("DM", "alpha"), out, 1)
    tree = make("TM", "a1", "a2", "b", tree=ROOT_AND_LEAF)
    with pytest.raises(ValueError, match=r"must have weights F \(a \+ c\).*; that of model TM has"):
        tree.weights(3)
    corpus = _core.Corpus(
        np.array([0, 1], np.int64), np.zeros(1, np.int32), np.ones(1, np.int32), 1
    )
    c = np.zeros((1, 2), np.float32)
    Theta = np.ones((1, max(_core.lanes(), 2)), np.float32)
    with pytest.raises(ValueError, match="one to expect; that of model CGP can sample, collapse"):
        _core.fold_in(
            corpus, Theta, np.zeros(1), make("CGP", "alpha", "beta", "rho"), c, c.copy(),
            np.empty(1), 1, 0.0, 1,
        )  # fmt: skip
    sampler = _core.CollapsedSampler(corpus, np.zeros(1, np.int32), 1, tree, 1, False)
    sampler.count(np.zeros(sampler.n_tokens, np.uint16))
    with pytest.raises(ValueError, match="must be like the one that the sampler was made for"):
        sampler.log_moments(np.ones(1), make("DM", "alpha"), 1)


def test_weights_are_those_of_the_predictive():
    exposure = np.array([0.5, 1.0, 2.0])
    scores = ConditionalGammaScores.build(2, TWO, 3 * TWO, rho=np.array([0.2, 0.4]))
    a0, a, F = scores.native(exposure).weights(3)
    np.testing.assert_allclose(F * a0, scores.posterior_mean(np.zeros((3, 2)), exposure), rtol=1e-6)
    np.testing.assert_allclose(
        F * (a + 4), scores.posterior_mean(np.full((3, 2), 4), exposure), rtol=1e-6
    )
    for same in (None, np.full(3, 2.0)):
        assert all(rows.shape == (1, 2) for rows in scores.native(same).weights(3))
