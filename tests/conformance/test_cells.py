"""One suite over every cell of the registry: a new model × algorithm is held to all of it."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from support.cells import CELLS, make, same

import dcomp
from dcomp import evaluate
from dcomp.inference import ALGORITHMS
from dcomp.result.chains import chain_value

pytestmark = [
    pytest.mark.parametrize(("key", "algorithm"), CELLS),
    pytest.mark.usefixtures("short_starts_of_laplace"),
]


@pytest.fixture(scope="module")
def large() -> dcomp.Counts:
    """More documents than one slab of the kernels, some of them empty, and enough tokens for the
    parallel token sampler."""
    rng = np.random.default_rng(0)
    W = sparse.csr_array(rng.integers(1, 10, (9000, 60)) * (rng.random((9000, 60)) < 0.05))
    counts = dcomp.Counts.from_matrix(W)
    assert counts.n_tokens > 110_000
    return counts


def test_same_seed_same_answer(key, algorithm, planted):
    first, second = (make(key, algorithm).fit(planted[0]).fit_ for _ in range(2))
    other = make(key, algorithm, random_state=1).fit(planted[0]).fit_
    assert same(first, second)
    assert not same(first, other)


def test_any_number_of_threads(key, algorithm, large):
    # Enough for a sampler to learn its priors and to record, and for mean field to learn.
    sweeps = 6 if ALGORITHMS[algorithm].samples else 13
    one, two, seven = (
        make(key, algorithm, n_jobs=n, max_iter=sweeps).fit(large).fit_ for n in (1, 2, 7)
    )
    assert same(one, two)
    assert same(one, seven)
    # Where new documents are sampled there are no slabs, and hundreds of sweeps of each.
    new = large.rows(slice(0, 500)) if ALGORITHMS[algorithm].samples else large
    assert np.array_equal(one.transform(new, n_jobs=1), one.transform(new, n_jobs=7))


def test_resume_is_one_long_run(key, algorithm, planted, tmp_path):
    counts, _ = planted
    whole = make(key, algorithm, max_iter=40).fit(counts).fit_
    part = make(key, algorithm, max_iter=14).fit(counts).fit_
    dcomp.save(part, tmp_path / "part.dcomp")
    again = dcomp.fit(
        counts, part.model, max_iter=40, tol=0, resume=dcomp.load(tmp_path / "part.dcomp")
    )
    assert same(whole, again)
    assert again.n_sweeps == whole.n_sweeps
    if part.state.z is not None:
        assert np.array_equal(again.state.z, whole.state.z)


def test_warm_start_goes_on(key, algorithm, planted):
    counts, _ = planted
    estimator = make(key, algorithm, max_iter=14, warm_start=True).fit(counts)
    estimator.set_params(max_iter=40).fit(counts)
    assert same(estimator.fit_, make(key, algorithm, max_iter=40).fit(counts).fit_)


def test_save_load(key, algorithm, planted, tmp_path):
    fitted = make(key, algorithm).fit(planted[0]).fit_
    dcomp.save(fitted, tmp_path / "fit.dcomp")
    loaded = dcomp.load(tmp_path / "fit.dcomp")
    assert same(fitted, loaded)
    assert loaded.provenance == fitted.provenance
    assert loaded.algorithm == fitted.algorithm
    assert np.array_equal(loaded.transform(planted[0]), fitted.transform(planted[0]))


def test_it_can_be_judged(key, algorithm, planted):
    counts = planted[0].with_blocks([0] * 20 + [1] * 10)
    fitted = make(key, algorithm, n_chains=2).fit(counts).fit_
    judged = evaluate.diagnostics(fitted, counts)
    assert judged.verdict in ("converged", "not converged", "cannot tell")
    known = [judged.residual is not None, judged.kkt is not None]
    assert sum(known) == (0 if fitted.algorithm.samples else 1)
    same_one = evaluate.align(fitted, fitted)
    assert same_one.similarity.sum() == pytest.approx(fitted.n_components, rel=1e-4)
    numbers = (
        evaluate.coherence(fitted, counts, "npmi").values,
        evaluate.exclusivity(fitted),
        evaluate.independence(fitted).correlation,
        evaluate.outliers(fitted, counts, n_splits=1).z,
    )
    assert all(np.isfinite(values).all() for values in numbers)


def test_pickle_and_copy(key, algorithm, planted):
    estimator = make(key, algorithm).fit(planted[0])
    assert same(pickle.loads(pickle.dumps(estimator)).fit_, estimator.fit_)
    assert same(copy.deepcopy(estimator).fit_, estimator.fit_)


def test_history_has_a_row_per_sweep(key, algorithm, planted):
    history = make(key, algorithm).fit(planted[0]).history_
    assert history["sweep"].tolist() == list(range(1, 9))
    assert np.isfinite(history["objective"]).all()
    assert (history["seconds"] >= 0).all()


def test_every_kind_of_input_gives_one_answer(key, algorithm, planted):
    import pandas as pd
    import polars as pl

    dense = planted[0].to_scipy().toarray()
    names = [f"f{j}" for j in range(dense.shape[1])]
    int64 = sparse.csr_array(dense)
    int64.indices, int64.indptr = int64.indices.astype(np.int64), int64.indptr.astype(np.int64)
    inputs = [
        dense,
        dense.astype(float),
        dense.tolist(),
        sparse.csr_matrix(dense),
        sparse.coo_array(dense.astype(np.float32)),
        int64,
        pd.DataFrame(dense, columns=names),
        pl.DataFrame(dense, schema=names),
    ]
    expected = make(key, algorithm, max_iter=5).fit(planted[0]).fit_.Theta
    for X in inputs:
        assert np.array_equal(make(key, algorithm, max_iter=5).fit(X).fit_.Theta, expected)


def test_fit_is_immutable(key, algorithm, planted):
    fitted = make(key, algorithm).fit(planted[0]).fit_
    with pytest.raises(AttributeError):
        fitted.reason = "converged"
    for array in (fitted.Theta, fitted.scores, fitted.expected_counts, fitted.state.n):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1; got 0"),
        ({"tol": -1.0}, "tol must be at least 0"),
        ({"alpha": -1.0}, "alpha must be positive and finite; found -1.0"),
        ({"alpha": [1.0, 2.0]}, "alpha must be a number or hold one number per component"),
        ({"alpha": "often"}, "alpha must be 'auto', 'shared', 'total-one'"),
        ({"gamma": [0.5, 0.5]}, "gamma must be a number or hold one number per feature"),
        ({"gamma": 0.0}, "gamma must be positive"),
        ({"n_jobs": 0}, "n_jobs must be None or a non-zero whole number"),
        ({"random_state": "today"}, "random_state must be"),
        ({"blocks": [0, 1]}, "blocks"),
    ],
)
def test_bad_options(key, algorithm, planted, options, message):
    error = dcomp.InvalidParameter
    if key == "LN" and "alpha" in options:
        error, message = dcomp.UnsupportedCombination, "alpha has no meaning for model LN"
    if key == "TM" and "alpha" in options:
        pytest.skip("a tree has a1, a2 and b in the place of alpha: tests/unit/models/test_tree.py")
    with pytest.raises(error, match=message):
        make(key, algorithm, **options).fit(planted[0])


@pytest.mark.parametrize("K", [0, -3, 2.5, "ten", True])
def test_bad_number_of_components(key, algorithm, planted, K):
    with pytest.raises(dcomp.InvalidParameter, match="n_components must be a whole number"):
        dcomp.DCA(K, model=key.split()[0], algorithm=algorithm, verbose=0).fit(planted[0])


def test_bad_counts(key, algorithm):
    with pytest.raises(dcomp.InvalidCounts, match="found -1 at document 1, feature 0"):
        make(key, algorithm).fit([[1, 2], [-1, 0]])
    with pytest.raises(dcomp.InvalidCounts, match=r"found 0\.5 at document 0, feature 1"):
        make(key, algorithm).fit([[1, 0.5], [1, 0]])
    fitted = make(key, algorithm).fit([[90, 20], [50, 80]]).fit_
    with pytest.raises(dcomp.InvalidCounts, match="2"):
        fitted.transform([[1, 2, 3]])


def test_resume_on_other_data_is_refused(key, algorithm, planted):
    fitted = make(key, algorithm).fit(planted[0]).fit_
    with pytest.raises(dcomp.InvalidCounts, match="only on the counts that it was fitted to"):
        dcomp.fit(planted[0].rows(slice(0, 100)), fitted.model, resume=fitted)


def test_the_algorithm_object_is_the_named_one(key, algorithm, planted):
    by_name = make(key, algorithm).fit(planted[0]).fit_
    options = {"burn_in": 4} if ALGORITHMS[algorithm].samples else {}
    options |= {"n_tries": 1} if ALGORITHMS[algorithm].is_plain else {}
    by_object = make(key, ALGORITHMS[algorithm](**options)).fit(planted[0]).fit_
    assert same(by_name, by_object)


def test_several_chains_keep_the_best(key, algorithm, planted):
    fitted = make(key, algorithm, n_chains=3).fit(planted[0]).fit_
    assert len(fitted.chains) == 3
    ends = [chain_value(chain.rows) for chain in fitted.chains]
    assert chain_value(fitted.history.rows) == max(ends)
    assert len(set(ends)) == 3
    alone = make(key, algorithm, random_state=fitted.seed).fit(planted[0]).fit_
    assert same(alone, fitted)


def test_heldout_score(key, algorithm, planted):
    train, test = dcomp.data.train_test(planted[0], 0.3, seed=1)
    fitted = make(key, algorithm, max_iter=60).fit(train)
    unigram = np.exp(
        -(test.feature_totals @ np.log(train.feature_totals / train.n_tokens)) / test.n_tokens
    )
    # Without priors a fit knows its own documents too well.
    assert fitted.perplexity(test) < (0.85 if algorithm == "ml" else 0.8) * unigram
