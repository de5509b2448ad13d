"""Features that tell components apart: errors by closed forms, and only where chains settled."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import digamma, polygamma
from scipy.stats import beta

import dcomp
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.evaluate import align, differences
from dcomp.evaluate.differences import _unsettled

# Two kinds of documents with a word of their own each: whose the words are is all but sure, and the
# loadings of each component are Dirichlet with the counts of its documents.
KINDS = np.array([[9, 3, 1, 40, 0], [2, 6, 4, 0, 40]])
GAMMA = 0.7


def _certain(**options) -> tuple[dcomp.Fit, dcomp.Counts, list[int]]:
    counts = dcomp.Counts.from_matrix(np.repeat(KINDS, 4, axis=0))
    model = dcomp.LDA(2, alpha=1e-3, gamma=GAMMA, verbose=0, random_state=0, **options)
    fitted = model.fit(counts).fit_
    return fitted, counts, align(KINDS.astype(float), fitted.components).permutation.tolist()


def _dirichlet() -> tuple[np.ndarray, np.ndarray]:
    """Parameters of θ_jk, (K, J), and their sums."""
    own = 4 * KINDS + GAMMA
    return own, own.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("method", ["draws", "chains"])
def test_draws_of_words_that_are_surely_a_components(method: str) -> None:
    kept = {"algorithm": "collapsed-gibbs", "max_iter": 500, "n_draws": 250, "n_chains": 4}
    fitted, counts, place = _certain(**(kept if method == "draws" else {}))
    found = differences(fitted, *place, X=counts, features=range(3), method=method)
    own, total = _dirichlet()
    mean = (digamma(own) - digamma(total)) / np.log(2)
    sd = np.sqrt((polygamma(1, own) - polygamma(1, total)).sum(axis=0)) / np.log(2)
    assert found.note is None
    assert found.sd == pytest.approx(sd[:3], rel=0.1)
    assert np.abs(found.effect - (mean[0] - mean[1])[:3]).max() < 0.15 * sd[:3].max()
    rng = np.random.default_rng(0)
    theta = beta.rvs(own[:, :3], total - own[:, :3], size=(40_000, 2, 3), random_state=rng)
    ends = np.quantile(np.log2(theta[:, 0] / theta[:, 1]), [0.05, 0.95], axis=0)
    assert (np.abs(np.array([found.low, found.high]) - ends) < 0.3 * sd[:3]).all()
    assert found.clear.tolist() == ((ends[0] > 0) | (ends[1] < 0)).tolist()


@pytest.mark.filterwarnings("ignore::dcomp.ConvergenceWarning")
@pytest.mark.parametrize(("options", "said"), [
    ({"max_iter": 100, "n_draws": 50}, "one chain cannot show"),
    ({"max_iter": 12, "burn_in": 0, "n_draws": 12, "n_chains": 2}, "R-hat of 2 chains of 12 draws"),
])  # fmt: skip
def test_draws_that_have_not_settled_make_no_interval(options, said) -> None:
    _, counts = _simulated(1)
    how = {"algorithm": "collapsed-gibbs", "verbose": 0, "random_state": 0, **options}
    fitted = dcomp.LDA(3, alpha=0.3, **how).fit(counts).fit_
    found = differences(fitted, 0, 1, n=4)
    assert found.sd is found.low is found.high is found.clear is None
    assert found.note.startswith(said)
    assert f"no intervals: {said}" in str(found)
    assert "%" not in str(found)
    assert set(found.as_record()["features"][0]) == {"feature", "effect"}


def test_few_draws_that_agree_make_no_interval() -> None:
    ratios = np.random.default_rng(0).normal(size=(4, 500, 2))
    assert _unsettled(ratios) is None
    values = np.random.default_rng(0).normal(size=5)
    few = np.random.default_rng(1).permuted(np.tile(values, (8, 1)), axis=1)  # all halves agree
    assert "are effective, below 100" in _unsettled(few.reshape(4, 10, 1))
    assert "R-hat" in _unsettled(ratios + np.array([0, 0, 0, 1])[:, None, None])


def _simulated(seed: int) -> tuple[np.ndarray, dcomp.Counts]:
    rng = np.random.default_rng(seed)
    Theta = rng.dirichlet([1.0] * 12, 3)
    shares = rng.dirichlet([0.3] * 3, 60)
    return Theta, dcomp.Counts.from_matrix([rng.multinomial(60, m @ Theta) for m in shares])


def test_against_all_others_and_by_name() -> None:
    fitted, counts, place = _certain()
    found = differences(fitted, place[0], X=counts, n=2)
    assert (found.method, found.against) == ("chains", None)
    assert set(found.names) == {
        "feature 3",
        "feature 4",
    }  # what only one kind has adds most to the divergence
    own = np.asarray(fitted.Theta, float)[found.numbers]
    assert found.loadings == pytest.approx(own[:, place])  # there is but one other
    assert f"component {place[0]} against the others" in str(found)
    assert "with 90 % intervals" in str(found)


def test_the_others_count_by_their_parts_of_the_words() -> None:
    kinds = np.repeat([[9, 1, 0, 0], [0, 0, 9, 1], [2, 0, 1, 7]], [8, 4, 8], axis=0)
    fitted = dcomp.NMF(3, verbose=0, random_state=0).fit(dcomp.Counts.from_matrix(kinds)).fit_
    part = fitted.state.n.sum(axis=0)
    Theta = np.asarray(fitted.Theta, float)
    found = differences(fitted, 0, features=range(4))
    mixed = (Theta[:, 1:] * part[1:]).sum(axis=1) / part[1:].sum()
    assert found.loadings[:, 1] == pytest.approx(mixed, rel=1e-5)


def test_a_fit_without_priors_has_effects_alone() -> None:
    counts = dcomp.Counts.from_matrix(np.repeat([[9, 3, 0], [0, 6, 4]], 4, axis=0))
    fitted = dcomp.NMF(2, verbose=0).fit(counts).fit_
    found = differences(fitted, 0, 1)
    assert found.method is found.sd is found.low is found.clear is None
    assert "no priors" in found.note
    assert np.abs(found.effect).max() == 32  # a loading of 0
    theta = np.asarray(fitted.Theta, float)[1]
    assert found.effect[found.names.index("feature 1")] == pytest.approx(
        np.log2(theta[0] / theta[1])
    )


def test_what_cannot_be_had() -> None:
    fitted, counts, _ = _certain()
    for options, said in (
        ({}, "give the table that was fitted, X="),
        ({"X": counts.rows(slice(5))}, "these are other counts"),
        ({"X": counts, "against": 0}, "another component than 0"),
        ({"X": counts, "against": 2}, "from 0 to 1; got 2"),
        ({"X": counts, "features": ["no"]}, "no feature 'no'"),
        ({"X": counts, "level": 90}, "between 0 and 1"),
        ({"X": counts, "method": "fisher"}, "must be 'draws' or 'chains'"),
        ({"method": "draws"}, "no draws were kept"),
    ):
        with pytest.raises(InvalidParameter, match=said):
            differences(fitted, 0, **options)
    plain = dcomp.NMF(2, verbose=0).fit(counts)
    with pytest.raises(UnsupportedCombination, match="n_draws="):
        differences(plain, 0, X=counts, method="chains")
