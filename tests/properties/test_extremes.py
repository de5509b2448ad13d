"""Every cell of the registry at the edges of what numbers can be: either an error before the fit
that says what must hold, or a result without NaN, whole from fit to file."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from support.cells import CELLS, make

import dcomp
from dcomp import evaluate
from dcomp.inference import ALGORITHMS
from dcomp.models.arrays import LARGEST, SMALLEST
from dcomp.models.observations import EXPOSURE

MOST = 2**31 - 1
MILLIONS = 10_000_000
SMALL = np.random.default_rng(0).poisson(2.0, (8, 6))
TABLES = {
    "the largest counts": [[MOST, 1, 0], [0, 3, MOST], [0, 0, 0], [1, 2, 3]],
    "a total of 2^40": np.full((8, 64), MOST),
    "a long document": [[MILLIONS // 2, MILLIONS // 2 - 9, 9, 0], [0] * 4, [0] * 4, [1, 0, 0, 1]],
    "one document": [[3, 1, 4, 1]],
    "one feature": [[3], [1], [0], [7]],
    "one of each": [[5]],
    "more components than all": [[1, 2], [2, 0], [0, 1]],
    "nothing": [[0, 0, 0]] * 4,
    "nothing at all": [[0]],
    "all the same": [[7] * 4] * 5,
}
TOO_FEW = ("one feature", "one of each", "nothing", "nothing at all")  # tokens to hold some out
OF_SCORES = {
    "DM": ("alpha",),
    "GP": ("alpha", "beta"),
    "CGP": ("alpha", "beta", "rho"),
    "LN": (),
    "TM": ("a1", "a2", "b"),
}
# Half the documents have been watched for the shortest, half for the longest time.
MIXED = np.repeat(EXPOSURE, 4)
POISSON = [cell for cell in CELLS if cell[0].split()[-1] in ("GP", "CGP")]


@pytest.fixture(autouse=True)
def _quiet():
    """Warnings of chains that are this short say nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dcomp.errors.ConvergenceWarning)
        warnings.simplefilter("ignore", dcomp.errors.FlatTreeWarning)
        yield


def shortly(key, algorithm, **options):
    """An estimator of few sweeps."""
    options = {"max_iter": 4, "n_jobs": 1} | options
    if ALGORITHMS[algorithm].samples:
        options = {"burn_in": 2} | options
    return make(key, algorithm, **options)


def assert_sound(fit, X, folder, **exposure):
    """No number of a fit, of its scores for X or of its file is other than it must be."""
    for values in (fit.Theta, fit.scores, fit.expected_counts):
        assert np.isfinite(values).all()
        assert (values >= 0).all()
    for block in range(fit.features.n_blocks):
        sums = fit.Theta[fit.features.blocks == block].sum(axis=0, dtype=float)
        np.testing.assert_allclose(sums, 1, atol=1e-3)
    assert all(np.isfinite(p.value).all() for p in fit.model.scores.parameters())
    assert np.isfinite(fit.history["objective"]).all()
    assert np.isfinite(fit.history["documents"]).all()
    assert_no_fall(fit, np.sum(X, dtype=float))
    for values in judged(fit, X, exposure):
        assert np.isfinite(values).all()
    dcomp.save(fit, folder / "fit.dcomp")
    again = dcomp.load(folder / "fit.dcomp")
    assert np.array_equal(again.Theta, fit.Theta)
    assert np.array_equal(again.scores, fit.scores)


def assert_no_fall(fit, tokens):
    """Climbs do not go down by more than single precision explains: of every token, and of the
    priors' own constants."""
    if fit.algorithm.name not in ("mean-field", "map", "ml"):
        return
    objective = fit.history["objective"]
    size = max((float(p.value.max()) for p in fit.model.scores.parameters()), default=1.0)
    size = max(size, float(fit.model.loadings.gamma.max()))
    slack = 1e-5 * np.abs(objective[1:]) + 1e-3 + 1e-7 * tokens + 1e-12 * size
    assert (np.diff(objective) >= -slack).all()


def judged(fit, X, exposure):
    """What is said of documents, where the model has such a thing and its sums have room."""
    scores = fit.transform(X, **exposure)
    assert (scores >= 0).all()
    yield scores
    if fit.has_bound:
        yield fit.bound(X, **exposure)
    if fit.has_fixed_point and np.sum(X) > 1:
        yield evaluate.completion(fit, X, **exposure).per_document
    if fit.model.scores.capabilities.sampling is None:
        return
    how = {"n_draws": 4, "burn_in": 1, "max_sweeps": 8, **exposure}
    if np.sum(X, axis=1).max() > MOST:
        with pytest.raises(dcomp.InvalidCounts, match="at most 2147483647"):
            fit.sample_scores(X, **how)
        return
    drawn = fit.sample_scores(X, **how)
    assert (drawn.mean >= 0).all()
    yield drawn.mean
    yield drawn.sd


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(("key", "algorithm"), CELLS)
def test_tables(key, algorithm, table, tmp_path):
    X = np.array(TABLES[table])
    samples = ALGORITHMS[algorithm].samples
    if table == "a long document" and algorithm == "collapsed-gibbs":
        X = X // 500  # token by token
    options = {"start": "mean-field"} if algorithm == "laplace" else {}
    estimator = shortly(key, algorithm, **options)
    if samples and X.sum() > MOST:
        with pytest.raises(dcomp.InvalidCounts, match=r"at most 2147483647"):
            estimator.fit(X)
        return
    if algorithm == "tempered-em" and table in TOO_FEW:
        with pytest.raises(dcomp.InvalidParameter, match="tokens leaves nothing on one side"):
            estimator.fit(X)
        return
    assert_sound(estimator.fit(X).fit_, X, tmp_path)


@pytest.mark.parametrize(("key", "algorithm"), CELLS)
def test_a_block_per_feature(key, algorithm, tmp_path):
    estimator = shortly(key, algorithm, blocks=list(range(SMALL.shape[1])))
    assert_sound(estimator.fit(SMALL).fit_, SMALL, tmp_path)


PRIORS = [
    (key, algorithm, name)
    for key, algorithm in CELLS
    for name in (*OF_SCORES.get(key, ("alpha",)), "gamma")
]


@pytest.mark.parametrize(("key", "algorithm", "name"), PRIORS)
def test_priors_at_the_ends_of_their_range(key, algorithm, name, tmp_path):
    ends = (1e-300, 1 - 1e-12) if name == "rho" else (SMALLEST, 1e-6, LARGEST)
    for number, value in enumerate(ends):
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            fit = shortly(key, algorithm, **{name: value}).fit(SMALL).fit_
        except (dcomp.InvalidParameter, dcomp.UnsupportedCombination) as error:
            assert name in str(error)  # noqa: PT017 (an algorithm may have a narrower range)
            assert algorithm in ("map", "ml", "tempered-em")
            continue
        assert_sound(fit, SMALL, folder)


@pytest.mark.parametrize("value", [1e-300, 1e-40, 1e40, 1e300])
@pytest.mark.parametrize(("key", "algorithm", "name"), PRIORS)
def test_priors_beyond_their_range(key, algorithm, name, value):
    if name == "rho":
        pytest.skip("a probability")
    with pytest.raises((dcomp.InvalidParameter, dcomp.UnsupportedCombination), match=name):
        shortly(key, algorithm, **{name: value}).fit(SMALL)


@pytest.mark.parametrize("exposure", [*EXPOSURE, "mixed"])
@pytest.mark.parametrize(("key", "algorithm"), POISSON)
def test_exposures(key, algorithm, exposure, tmp_path):
    given = MIXED if exposure == "mixed" else np.full(len(SMALL), exposure)
    fit = shortly(key, algorithm, exposure=given).fit(SMALL).fit_
    assert_sound(fit, SMALL, tmp_path, exposure=given)


@pytest.mark.parametrize("value", [1e-300, 1e300])
@pytest.mark.parametrize(("key", "algorithm"), POISSON)
def test_exposures_beyond_their_range(key, algorithm, value):
    with pytest.raises(dcomp.InvalidParameter, match="exposure must be 0 or lie between"):
        shortly(key, algorithm, exposure=np.full(len(SMALL), value)).fit(SMALL)


# How a fit begins and what it learns, for the algorithms that have such a choice.
MORE = {
    "map": ({"start": "spectral"}, {"n_tries": 3}),
    "ml": ({"start": "spectral"}, {"n_tries": 3}),
    "mean-field": ({"start": "spectral"}, {"n_tries": 3}, {"alpha": "shared"}),
    "gibbs": ({"alpha": "shared"}, {"gamma": "auto"}, {"start": "mean-field"}),
    "collapsed-gibbs": ({"alpha": "shared"}, {"gamma": "auto"}, {"start": "mean-field"}),
}
FLAT = [cell for cell in CELLS if cell[0] in ("DM", "GP", "CGP") and cell[1] in MORE]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(("key", "algorithm"), FLAT)
def test_tables_begun_and_learned_in_other_ways(key, algorithm, table, tmp_path):
    X = np.array(TABLES[table])
    if algorithm == "collapsed-gibbs" and table == "a long document":
        X = X // 5000  # token by token
    for number, options in enumerate(MORE[algorithm]):
        folder = tmp_path / str(number)
        folder.mkdir()
        estimator = shortly(key, algorithm, **options)
        if ALGORITHMS[algorithm].samples and X.sum() > MOST:
            with pytest.raises(dcomp.InvalidCounts, match=r"at most 2147483647"):
                estimator.fit(X)
            continue
        assert_sound(estimator.fit(X).fit_, X, folder)


PARTS = {
    "tiny": [[1e-300, 0.5], [1e-5, 2]],
    "large": [[MOST - 0.5, 0.25], [0, 3.5]],
    "many": [[0.1] * 4] * 5,
}


@pytest.mark.parametrize("table", PARTS)
@pytest.mark.parametrize(("key", "algorithm"), CELLS)
def test_fractional_tables(key, algorithm, table, tmp_path):
    counts = dcomp.Counts.from_matrix(np.array(PARTS[table]), fractional=True)
    if ALGORITHMS[algorithm].samples:
        with pytest.raises(dcomp.InvalidCounts, match="whole numbers; found"):
            shortly(key, algorithm).fit(counts)
        return
    fit = shortly(key, algorithm).fit(counts).fit_
    for values in (fit.Theta, fit.scores, fit.history["objective"], fit.transform(counts)):
        assert np.isfinite(values).all()
    dcomp.save(fit, tmp_path / "fit.dcomp")
    assert np.array_equal(dcomp.load(tmp_path / "fit.dcomp").scores, fit.scores)


@pytest.mark.parametrize("table", ["the largest counts", "a long document", "nothing"])
@pytest.mark.parametrize(("key", "algorithm"), POISSON)
def test_exposures_of_blocks(key, algorithm, table, tmp_path):
    """A block that a document has no words of was not observed."""
    X = np.array(TABLES[table])
    if ALGORITHMS[algorithm].samples:
        X = X // 5000
    blocks = [0, 0, 1, 1][: X.shape[1]]
    try:
        estimator = shortly(key, algorithm, blocks=blocks, exposure="observed").fit(X)
    except (dcomp.InvalidParameter, dcomp.UnsupportedCombination) as error:
        assert "exposure" in str(error)  # noqa: PT017 (where there is no prior, 0 is none)
        return
    assert_sound(estimator.fit_, X, tmp_path, exposure="observed")
