"""log p(w | V, Θ) in the history of samplers, as BJ06 figure 7 has it recorded."""

from __future__ import annotations

import numpy as np
import pytest

import dcomp
from dcomp.data import Counts
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.inference import CollapsedGibbs, Gibbs, Keep
from dcomp.models import (
    ConditionalGammaPoisson,
    DirichletMultinomial,
    GammaPoisson,
    Tree,
    TreeMultinomial,
)

SAMPLERS = [Gibbs, CollapsedGibbs]
MODELS = {
    "DM": DirichletMultinomial.build(3, alpha=0.3, gamma=0.4),
    "GP": GammaPoisson.build(3, alpha=0.3, beta=0.1, gamma=0.4),
    "CGP": ConditionalGammaPoisson.build(3, alpha=0.3, beta=0.1, rho=0.3, gamma=0.4),
    "TM": TreeMultinomial.build(Tree.regular(2, 2), gamma=0.4),
}
COUNTS = Counts.from_matrix(
    np.random.default_rng(0).poisson(1.5, (30, 9)), blocks=[0] * 4 + [1] * 5
)


def plain_mean(n, gamma, blocks):
    """Term by term: Σ n log (n + γ) / Σ over the block (n + γ)."""
    total = 0.0
    for k in range(n.shape[1]):
        for g in set(blocks.tolist()):
            column = n[blocks == g, k].astype(float)
            theta = (column + gamma) / (column + gamma).sum()
            total += float((column * np.log(theta)).sum())
    return total


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("key", MODELS)
def test_both_are_what_the_last_sweep_has(sampler, key):
    """The state has n of the last sweep, and a draw of that sweep its Θ."""
    keep = Keep(n=1, every=1, kinds=("loadings",))
    algorithm = sampler(burn_in=6, keep=keep, trace_words="both", learn_every=1000)
    fitted = dcomp.fit(COUNTS, MODELS[key], algorithm, max_iter=10)
    n, history = fitted.state.n, fitted.history
    assert history["words_mean"][-1] == pytest.approx(
        plain_mean(n, 0.4, COUNTS.features.blocks), rel=1e-10
    )
    Theta = fitted.draws.Theta[0, -1].astype(float)
    theta = np.where(n > 0, Theta, 1.0)
    assert history["words_drawn"][-1] == pytest.approx((n * np.log(theta)).sum(), rel=1e-5)
    assert np.isfinite(history["words_mean"]).all()


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_chain_does_not_know_that_it_is_traced(sampler):
    one, other = (
        dcomp.fit(COUNTS, MODELS["DM"], sampler(burn_in=5, trace_words=trace), max_iter=12)
        for trace in ("both", None)
    )
    np.testing.assert_array_equal(one.Theta, other.Theta)
    np.testing.assert_array_equal(one.history["objective"], other.history["objective"])
    assert "words_mean" not in other.history.columns


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("trace", ["mean", "drawn"])
def test_one_of_them_alone(sampler, trace):
    history = dcomp.fit(
        COUNTS, MODELS["DM"], sampler(burn_in=2, trace_words=trace), max_iter=4
    ).history
    other = {"mean": "drawn", "drawn": "mean"}[trace]
    assert np.isfinite(history[f"words_{trace}"]).all()
    assert np.isnan(history[f"words_{other}"]).all()


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_parts_resume_and_files(sampler, tmp_path):
    algorithm = sampler(burn_in=3, trace_words="both")
    cut = COUNTS.in_parts(3)
    whole = dcomp.fit(cut, MODELS["DM"], algorithm, max_iter=8)
    first = dcomp.fit(cut, MODELS["DM"], algorithm, max_iter=5)
    dcomp.save(first, tmp_path / "x.dcomp")
    again = dcomp.fit(cut, MODELS["DM"], max_iter=8, resume=dcomp.load(tmp_path / "x.dcomp"))
    for name in ("words_mean", "words_drawn"):
        np.testing.assert_array_equal(again.history[name], whole.history[name])
    if sampler is Gibbs:  # which does not depend on the cut
        one = dcomp.fit(COUNTS, MODELS["DM"], algorithm, max_iter=8)
        np.testing.assert_allclose(one.history["words_drawn"], whole.history["words_drawn"])
    assert whole.history["words_mean"][-1] == pytest.approx(
        plain_mean(whole.state.n, 0.4, COUNTS.features.blocks), rel=1e-10
    )


def test_estimators_and_what_cannot_be(planted):
    model = dcomp.LDA(2, algorithm="gibbs", trace_words="mean", max_iter=6, verbose=0)
    assert "words_mean" in model.fit(COUNTS).history_.columns
    with pytest.raises(InvalidParameter, match="trace_words must be None or one of mean, drawn"):
        Gibbs(trace_words="median")
    with pytest.raises(UnsupportedCombination, match="option of the samplers, not mean-field"):
        dcomp.LDA(2, trace_words="mean", verbose=0).fit(COUNTS)
    structured = dcomp.StructuredDCA(
        tree=[-1, 0, 0], algorithm=CollapsedGibbs(burn_in=2, trace_words="mean"), n_chains=1
    )
    with pytest.raises(UnsupportedCombination, match="trace_words= is for flat components"):
        structured.set_params(max_iter=4, verbose=0).fit(COUNTS)
