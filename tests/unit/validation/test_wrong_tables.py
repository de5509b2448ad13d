"""Wrong tables are told so, right ones are taken without a word; the guide says what is said."""

import warnings

import numpy as np
import pytest
from support.wrong_tables import ERRORS, PAGE, WARNINGS, page, plain, said

import dcomp
from dcomp import datasets, validation
from dcomp.evaluate import left_to_right, select_components
from dcomp.models import DirichletMultinomial
from dcomp.validation import suspicions

CASES = [*ERRORS, *WARNINGS]
BY_NAME = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


def test_the_guide_says_what_is_said():
    assert PAGE.read_text(encoding="utf-8") == page()  # tests/support/wrong_tables.py writes it


@BY_NAME
def test_a_wrong_table_is_told_so_in_one_line(case):
    line = said(case.wrong)
    assert line
    assert "\n" not in line
    is_error = line.startswith(("InvalidCounts: ", "InvalidFile: ", "InvalidParameter: "))
    assert is_error == (case in ERRORS)


@BY_NAME
def test_the_nearest_right_table_is_taken_without_a_word(case):
    assert said(case.right) == ""


@pytest.mark.parametrize("name", ["genotypes", "votes", "mutations", "cells", "text", "baskets"])
@pytest.mark.parametrize("seed", [0, 1])
def test_tables_as_the_world_has_them_are_not_suspected(name, seed):
    assert suspicions.of_table(getattr(datasets, name)(seed=seed).counts) == ()


def test_short_documents_of_even_lengths_are_not_taken_for_codes():
    rng = np.random.default_rng(0)
    for length, features in ((2, 5), (10, 5), (12, 40)):
        table = rng.multinomial(length, np.full(features, 1 / features), 20_000)
        assert suspicions.codes(dcomp.as_counts(table)) is None


def test_a_few_calls_without_dissent_are_not_suspected():
    counts = datasets.votes(60, 100, unanimous=0.3, seed=0).counts
    assert suspicions.lonely_features(counts.columns(counts.feature_totals > 0)) is None


@pytest.mark.parametrize("base", [2, np.e, 10])
def test_logarithms_are_known_whatever_their_base_and_were_genes_left_out(base):
    table = plain(40, 30)
    shares = table / table.sum(axis=1, keepdims=True) * 1e4
    for genes in (30, 15):
        logs = (np.log1p(shares) / np.log(base))[:, :genes].astype(np.float32)
        line = suspicions.normalised(dcomp.as_counts(logs, fractional=True))
        assert line is not None
        assert "logarithms" in line


def test_weights_and_halves_are_no_logarithms():
    for table in (plain() / 2, plain() * np.linspace(0.1, 3, 12), np.sqrt(plain())):
        assert suspicions.normalised(dcomp.as_counts(table, fractional=True)) is None


def test_a_fit_that_goes_on_or_was_told_to_be_silent_says_nothing():
    model = DirichletMultinomial.build(20)
    with pytest.warns(dcomp.DataWarning, match="20 components and 5 documents"):
        first = dcomp.fit(plain(5), model, max_iter=2, tol=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dcomp.fit(plain(5), first.model, max_iter=3, tol=0, resume=first)
        dcomp.fit(plain(5), model, max_iter=2, tol=0, warn=False)


def test_a_choice_of_k_warns_once_of_the_table():
    counts = dcomp.as_counts(plain(), doc_ids=["same"] * 30)
    with pytest.warns(dcomp.DataWarning) as caught:
        select_components(counts, [1, 2], n_chains=2, max_iter=3, with_evidence=False)
    assert ["come again" in str(w.message) for w in caught] == [True]


def test_the_other_score_tells_of_training_data_too():
    fitted = dcomp.fit(plain(), DirichletMultinomial.build(2), max_iter=3, tol=0)
    with pytest.warns(dcomp.DataWarning, match="these very documents"):
        left_to_right(fitted, plain(), particles=2)


def test_what_was_dropped_is_counted():
    assert validation.unknown_features(3, 1200).startswith("3 of 1,200 tokens (0.2 %) are dropped")


def test_a_label_is_a_feature_where_it_is_called_one():
    import pandas

    frame = pandas.DataFrame({"cat": [1, 0], "dog": [2, 5], "label": [0, 1]})
    assert dcomp.as_counts(frame, feature_names=frame.columns).features.names[-1] == "label"


def test_a_name_may_come_again_in_another_block():
    import pandas

    frame = pandas.DataFrame([[1, 0], [2, 5]], columns=["cat", "cat"])
    assert dcomp.as_counts(frame, blocks=["title", "body"]).features.n_blocks == 2


def test_polars_frames_are_told_the_same():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {"cat": [1, 0], "text": ["the cat sat on the mat", "it was not a dog"]}
    )
    with pytest.raises(dcomp.InvalidCounts, match=r"column 'text' holds whole texts.*from_texts"):
        dcomp.as_counts(frame)
    with pytest.raises(dcomp.InvalidCounts, match="column 'year' says which document"):
        dcomp.as_counts(polars.DataFrame({"cat": [1, 0], "dog": [2, 3], "year": [1999, 2000]}))
    with pytest.raises(dcomp.InvalidCounts, match="a Series of polars"):
        dcomp.as_counts(frame["cat"])


@pytest.mark.parametrize("decimals", [3, 4, 5])
def test_shares_are_told_where_they_were_rounded(decimals):
    shares = np.random.default_rng(decimals).dirichlet(np.ones(40), 50).round(decimals)
    rounded = dcomp.as_counts(shares, fractional=True)
    assert np.ptp(rounded.doc_totals) > 0
    assert any("like shares" in line for line in validation.of_table(rounded))
    shares[0] = 0.0  # an empty document is none
    assert validation.of_table(dcomp.as_counts(shares, fractional=True))
    shares[1] *= 1.1
    assert not validation.of_table(dcomp.as_counts(shares, fractional=True))


def _of_sums(sums, features=8):
    """Counts with these sums."""
    rng = np.random.default_rng(0)
    return dcomp.as_counts(rng.multinomial(sums, rng.dirichlet(np.ones(features))))


@pytest.mark.parametrize("mean", [100, 1000, 10_000, 100_000])
@pytest.mark.parametrize("n_docs", [5, 20, 60])
def test_counts_whose_sums_are_near_a_power_of_ten_are_not_suspected(mean, n_docs):
    """However many tables there are: sums of counts vary by their root, or by more."""
    rng = np.random.default_rng(n_docs)
    for sums in rng.poisson(mean, (3000, n_docs)).astype(float):
        assert suspicions._of_whole(sums) is None


@pytest.mark.parametrize("depth", [100, 1000, 10_000, 1_000_000])
def test_counts_of_one_depth_are_not_suspected(depth):
    """Rarefied, counted up to a number with some left over, or without some rare features."""
    rng = np.random.default_rng(0)
    few = rng.integers(0, 1 + depth // 500, 50)
    for sums in (np.full(50, depth), depth - few, depth + few):
        if depth < 1_000_000:
            assert suspicions.normalised(_of_sums(sums)) is None
    assert suspicions.normalised(_of_sums(np.full(50, depth))) is None


@pytest.mark.parametrize(("scale", "n"), [(100, 20), (1000, 60), (10_000, 400), (100_000, 400)])
def test_shares_are_told_where_they_were_multiplied_and_rounded(scale, n):
    shares = np.random.default_rng(n).dirichlet(np.full(n, 0.3), 60)
    for table in (np.rint(scale * shares), (scale * shares).round(3)):
        of_table = dcomp.as_counts(table, fractional=(table != np.rint(table)).any())
        line = suspicions.normalised(of_table)
        assert line is not None
        assert f"to {scale:,}" in line or "shares or counts per million" in line
        few = suspicions.normalised(of_table.rows(range(9)))
        assert few is None or "counts per million" in few
