"""Each made-up table has the properties that it promises, and is the same everywhere."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dcomp import datasets
from dcomp.datasets import language
from dcomp.errors import InvalidParameter

TABLES = {
    name: getattr(datasets, name)
    for name in ("genotypes", "votes", "mutations", "cells", "text", "baskets")
}


@pytest.fixture(scope="module")
def tables():
    return {name: make(seed=0) for name, make in TABLES.items()}


# As drawn with NumPy 1.26 and 2.4, with vector instructions and without.
FINGERPRINTS = {
    "genotypes": "b2e402a824bd9e26",
    "votes": "a3d1cbb1b1ebf00f",
    "mutations": "8e8bd26c17b6cde4",
    "cells": "a7668a6f8849ba52",
    "text": "f0c081e5d5388c1a",
    "baskets": "5d5dc305b02c7176",
}


@pytest.mark.parametrize("name", TABLES)
def test_a_seed_is_a_table(name, tables):
    counts = tables[name].counts
    assert counts.fingerprint()[:16] == FINGERPRINTS[name]
    assert TABLES[name](seed=0).counts == counts
    assert TABLES[name](seed=1).counts != counts


@pytest.mark.parametrize("name", TABLES)
def test_what_was_planted_is_read_only_and_fits_the_counts(name, tables):
    table = tables[name]
    arrays = {
        field.name: getattr(table, field.name)
        for field in dataclasses.fields(table)
        if isinstance(getattr(table, field.name), np.ndarray)
    }
    assert not any(array.flags.writeable for array in arrays.values())
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.counts = None
    if "memberships" in arrays:
        shares, components = arrays["memberships"], arrays["components"]
        assert shares.shape == (table.counts.n_docs, len(components))
        assert components.shape[1] == table.counts.n_features
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        np.testing.assert_allclose(components.sum(axis=1), table.counts.features.n_blocks)
        assert min(shares.min(), components.min()) >= 0


@pytest.mark.parametrize("name", TABLES)
def test_documents_and_features_have_names_that_sort(name, tables):
    counts = tables[name].counts
    assert list(counts.doc_ids) == sorted(set(counts.doc_ids))
    names = counts.features.block_names or counts.features.names
    assert list(names) == sorted(set(names))


def test_genotypes_are_calls_of_two_copies():
    table = datasets.genotypes(200, 500, missing=0.05, monomorphic=0.1, seed=3)
    calls = table.counts.block_totals
    assert set(np.unique(calls)) == {0, 2}
    assert (calls == 0).mean() == pytest.approx(0.05, abs=0.005)
    first = table.counts.feature_totals.reshape(-1, 2)
    assert (first == 0).any(axis=1).sum() >= len(table.monomorphic) == 50
    assert not first[list(table.monomorphic), 1].any()


def test_populations_drift_by_their_own_f_st():
    f_st = (0.02, 0.3)
    table = datasets.genotypes(5, 20_000, f_st=f_st, monomorphic=0, seed=1)
    p = table.components[:, ::2]
    # Both drift from the same ancestral p: their squared distance is the sum of their variances,
    # F p (1 − p) each, and E p (1 − p) is 0.1825 for p uniform from 0.05 to 0.95.
    assert ((p[0] - p[1]) ** 2).mean() == pytest.approx(sum(f_st) * 0.1825, rel=0.05)
    # Drift takes a share F of what varies within: E p_k (1 − p_k) = (1 − F_k) E p (1 − p).
    np.testing.assert_allclose((p * (1 - p)).mean(axis=1), (1 - np.array(f_st)) * 0.1825, rtol=0.03)


def test_genotypes_follow_ancestry():
    table = datasets.genotypes(400, 2000, f_st=(0.2, 0.2), unmixed=0.5, missing=0, seed=2)
    shares, n_unmixed = table.memberships, 200
    np.testing.assert_array_equal(shares[:n_unmixed], np.eye(2)[np.arange(n_unmixed) % 2])
    mixed = np.sort(shares[n_unmixed:], axis=1)[:, 0]
    assert (mixed > 0.05).mean() > 0.5
    # Least squares on the planted frequencies gives the planted shares back.
    X, P = table.counts.to_scipy().toarray()[:, ::2] / 2, table.components[:, ::2]
    found = np.linalg.lstsq(P.T, X.T, rcond=None)[0].T
    assert np.abs(found - shares).mean() < 0.05


def test_neighbouring_snps_share_their_ancestry():
    def correlation(tract):
        table = datasets.genotypes(
            300, 1000, f_st=(0.6, 0.6), unmixed=0, mixture=5, tract=tract, missing=0, seed=4
        )
        P = table.components[:, ::2]
        # Where the first population has the allele and the second does not, a copy shows which.
        tells = (P[0] - P[1])[np.newaxis]
        X = table.counts.to_scipy().toarray()[:, ::2] - 2 * (table.memberships @ P)
        signal = X * tells
        return (signal[:, 1:] * signal[:, :-1]).mean() / (signal**2).mean()

    assert correlation(1) == pytest.approx(0, abs=0.01)
    assert correlation(20) > 0.1


def test_votes_follow_the_line():
    table = datasets.votes(200, 500, absent=0.1, unanimous=0.2, seed=5)
    cast = table.counts.block_totals
    assert set(np.unique(cast)) == {0, 1}
    assert (cast == 0).mean() == pytest.approx(0.1, abs=0.02)
    assert (cast == 0).mean(axis=1).std() > 0.05  # by member: chance alone would give 0.013
    assert len(table.unanimous) == 100
    assert not table.counts.feature_totals[1::2][list(table.unanimous)].any()
    yea = table.counts.to_scipy().toarray()[:, ::2]
    margin = table.discrimination * (table.ideal_points[:, np.newaxis] - table.cut_points)
    asked = np.isin(np.arange(500), table.unanimous, invert=True) & (cast > 0)
    for low, high in ((-3, -2), (-1, 0), (0, 1), (2, 3)):
        near = asked & (margin > low) & (margin < high)
        expected = (1 / (1 + np.exp(-margin[near]))).mean()
        assert yea[near].mean() == pytest.approx(expected, abs=0.02)


def test_parties_stand_apart():
    table = datasets.votes(200, 10, polarisation=3, seed=6)
    right = np.array(table.parties) == "right"
    assert right.sum() == 100
    assert table.ideal_points[~right].max() < 0 < table.ideal_points[right].min()


def test_totals_of_mutations_span_four_powers_of_ten():
    table = datasets.mutations(2000, dispersion=0, seed=7)
    log = np.log10(table.totals)
    assert log.min() > 2
    assert log.max() < 6
    share_by_power = np.histogram(log, [2, 3, 4, 5, 6])[0] / 2000
    np.testing.assert_allclose(share_by_power, 0.25, atol=0.04)
    totals = table.counts.doc_totals
    assert np.abs((totals - table.totals) / np.sqrt(table.totals)).max() < 5


def test_tumours_have_few_signatures():
    table = datasets.mutations(2000, n_signatures=12, seed=8)
    active = (table.memberships > 0).sum(axis=1)
    assert active.min() == 1
    assert active.mean() == pytest.approx(3, abs=0.2)
    common = (table.memberships > 0).mean(axis=0)
    assert common[0] > 2 * common[-1] > 0.1


def dispersion_of(counts, mean):
    """The mean of ((x − μ)² − x)/μ²: 0 for Poisson's law, else the negative binomial's."""
    x, large = counts.to_scipy().toarray(), mean > 2
    return (((x - mean) ** 2 - x) / mean**2)[large].mean()


@pytest.mark.parametrize("dispersion", [0.0, 0.3])
def test_counts_vary_more_than_poisson(dispersion):
    tumours = datasets.mutations(500, largest=1e3, dispersion=dispersion, seed=9)
    mean = tumours.totals[:, np.newaxis] * (tumours.memberships @ tumours.components)
    assert dispersion_of(tumours.counts, mean) == pytest.approx(dispersion, abs=0.03)
    cells = datasets.cells(300, 400, dispersion=dispersion, seed=9)
    mean = cells.library_sizes[:, np.newaxis] * (cells.memberships @ cells.components)
    assert dispersion_of(cells.counts, mean) == pytest.approx(dispersion, abs=0.03)


def test_cells_are_of_types_that_differ_by_markers():
    table = datasets.cells(1000, 500, n_types=4, markers=0.1, between=0.2, seed=10)
    mixed = (table.memberships > 0).sum(axis=1)
    assert set(mixed) == {1, 2}
    assert (mixed == 2).mean() == pytest.approx(0.2, abs=0.04)
    ratio = table.components / np.median(table.components, axis=0)
    np.testing.assert_allclose((ratio > 3).mean(axis=1), 0.1, atol=0.05)
    sizes = table.library_sizes
    assert np.log(sizes).std() == pytest.approx(0.6, abs=0.05)
    assert np.corrcoef(table.counts.doc_totals, sizes)[0, 1] > 0.95


def repeats(counts):
    """How often a word that is in a document is there again, and by chance in one of its length."""
    X = counts.to_scipy().toarray()
    chance = np.outer(counts.doc_totals, counts.feature_totals / counts.n_tokens)
    rare = counts.feature_totals < counts.n_tokens / 1000
    expected_twice = 1 - np.exp(-chance) * (1 + chance)
    return (X >= 2)[:, rare].sum() / expected_twice[:, rare].sum()


def test_words_come_in_bursts():
    plain = datasets.text(500, 1000, n_topics=1, burstiness=0, seed=11)
    bursty = datasets.text(500, 1000, n_topics=1, burstiness=0.02, seed=11)
    assert repeats(plain.counts) == pytest.approx(1, abs=0.15)
    assert repeats(bursty.counts) > 3


def test_the_urn_keeps_the_topics_frequencies():
    table = datasets.text(3000, 200, n_topics=2, burstiness=0.02, seed=12)
    expected = table.counts.doc_totals @ (table.memberships @ table.components)
    share = table.counts.feature_totals / expected
    assert np.average(np.abs(share - 1), weights=expected) < 0.06


def test_a_word_repeats_an_earlier_one_of_its_document_and_topic():
    group = datasets.draws.generator(0).integers(6, size=500)
    source = language._urn(datasets.draws.generator(1), group, burstiness=1.0)
    np.testing.assert_array_equal(group[source], group)
    assert (source <= np.arange(500)).all()
    assert 6 <= len(set(source)) < 100


def test_the_urn_has_the_variance_of_a_dirichlet_compound():
    """With concentration A = 1/b, Var x = n p (1 − p) (n + A)/(1 + A)."""
    b = 0.05
    table = datasets.text(8000, 20, n_topics=1, burstiness=b, seed=13)
    n, p = table.counts.doc_totals[:, np.newaxis], table.components
    x = table.counts.to_scipy().toarray()
    expected = n * p * (1 - p) * (n + 1 / b) / (1 + 1 / b)
    assert ((x - n * p) ** 2).sum() / expected.sum() == pytest.approx(1, abs=0.03)


def test_frequencies_follow_zipf():
    table = datasets.text(2000, 3000, n_topics=40, zipf=1.1, burstiness=0, seed=14)
    totals = np.sort(table.counts.feature_totals)[::-1]
    rank = np.arange(10, 500)
    slope = np.polyfit(np.log(rank), np.log(totals[rank]), 1)[0]
    assert slope == pytest.approx(-1.1, abs=0.2)
    assert table.counts.doc_totals.mean() == pytest.approx(100, rel=0.05)


def test_text_has_its_reading_order(tables):
    counts = tables["text"].counts
    for i in (0, 17):
        order = counts.sequence(i)
        row = counts.to_scipy().toarray()[i]
        np.testing.assert_array_equal(np.bincount(order, minlength=counts.n_features), row)


def test_baskets_are_short_and_popular():
    table = datasets.baskets(5000, 100, size=3, n_bundles=0, seed=15)
    totals = table.counts.doc_totals
    assert totals.min() == 1
    assert totals.mean() == pytest.approx(3, abs=0.1)
    assert table.counts.data.max() == 1
    ordered = np.sort(table.counts.feature_totals)[::-1]
    assert ordered[:10].sum() > 0.4 * ordered.sum()


def test_bundles_are_bought_together():
    table = datasets.baskets(5000, 100, n_bundles=8, together=0.7, seed=16)
    X = table.counts.to_scipy().toarray() > 0
    assert len({item for pair in table.bundles for item in pair}) == 16
    for first, second in table.bundles:
        assert X[X[:, first], second].mean() > 0.55
    assert np.mean([X[:, second].mean() for _, second in table.bundles]) < 0.2


@pytest.mark.parametrize(
    ("make", "option", "value"),
    [
        ("genotypes", "n_people", 0),
        ("genotypes", "f_st", (0.1, 1.0)),
        ("genotypes", "f_st", ()),
        ("genotypes", "tract", 0.5),
        ("genotypes", "missing", -0.1),
        ("genotypes", "seed", -1),
        ("votes", "n_calls", 1.5),
        ("votes", "absent", 2),
        ("votes", "polarisation", -1),
        ("mutations", "smallest", 1e7),
        ("mutations", "dispersion", -1),
        ("cells", "depth", 0),
        ("cells", "dispersion", float("nan")),
        ("text", "burstiness", -1),
        ("text", "length", float("inf")),
        ("baskets", "size", 0.5),
        ("baskets", "n_bundles", 80),
    ],
)
def test_errors_name_the_option_and_the_value(make, option, value):
    with pytest.raises(InvalidParameter, match=f"{option} must .*got") as caught:
        TABLES[make](**{option: value})
    assert str(caught.value).find(str(value)) > 0


@pytest.mark.parametrize("share", [0, 1])
def test_all_or_nothing_is_possible(share):
    assert datasets.genotypes(5, 10, monomorphic=share).counts.n_docs == 5
    assert datasets.genotypes(5, 10, missing=share).counts.n_tokens == (1 - share) * 100
    assert datasets.votes(5, 10, absent=share).counts.n_tokens == (1 - share) * 50
    assert len(datasets.votes(5, 10, unanimous=share).unanimous) == 10 * share
    assert datasets.cells(5, 10, markers=share, between=share).counts.n_docs == 5
    assert datasets.baskets(5, 10, n_bundles=2, together=share).counts.n_docs == 5


def test_the_corpus_at_hand_is_among_them():
    from dcomp import data

    assert datasets.docstrings is data.docstrings
