"""Ancestries behind genotypes: planted ones are found, and figures are those of the field."""

import json
import sys

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import dcomp
from dcomp.errors import InvalidCounts, InvalidFile, InvalidParameter
from dcomp.io.ancestry import read_ancestry
from dcomp.printable import columns
from dcomp.use import CrossValidation, admixture
from dcomp.use.admixture import log_likelihood, validate
from dcomp.use.hidden_genotypes import _of_entries, _without, deviance


def matched(found, true):
    """The columns of found in the order of true."""
    cost = ((found[:, :, None] - true[:, None, :]) ** 2).sum(axis=0)
    rows, cols = linear_sum_assignment(cost)
    return found[:, rows[np.argsort(cols)]]


@pytest.fixture(scope="module")
def table():
    return dcomp.datasets.genotypes(90, 400, f_st=(0.2, 0.3, 0.25), seed=2)


@pytest.fixture(scope="module")
def found(table):
    labels = np.array(list("abc"), object)[table.memberships.argmax(axis=1)]
    counts = table.counts.with_attributes(population=labels.tolist())
    return admixture(counts, 3, with_intervals=True)


def test_planted_ancestries_are_found(table, found):
    Q = matched(found.Q, table.memberships)
    assert np.sqrt(np.mean((Q - table.memberships) ** 2)) < 0.08
    np.testing.assert_allclose(found.Q.sum(axis=1), 1)
    order = matched(found.Q, table.memberships)
    place = [int(np.argmin(np.abs(found.Q - order[:, [k]]).sum(axis=0))) for k in range(3)]
    assert np.abs(found.frequencies[:, place] - table.components.T).mean() < 0.1
    assert found.P.shape == (400, 3)
    np.testing.assert_allclose(found.P, 1 - found.frequencies[0::2], atol=1e-5)
    groups = found.by_population
    assert groups.names == ("a", "b", "c")
    assert len(set(groups.mean.argmax(axis=1).tolist())) == 3


def test_intervals_hold_the_shares(table, found):
    low, high = matched_bounds(found, table)
    true = table.memberships
    inside = (true >= low - 0.01) & (true <= high + 0.01)
    assert inside.mean() > 0.8  # of 90 % intervals; tracts make neighbouring SNPs one observation
    assert inside[true.max(axis=1) < 0.8].mean() > 0.75
    assert inside[true.max(axis=1) == 1].mean() > 0.8  # the corners, too


def test_intervals_are_those_of_the_shares_that_are_shown(found):
    intervals = found.intervals
    np.testing.assert_array_equal(intervals.mean, found.Q)
    assert (intervals.low <= found.Q).all()
    assert (intervals.high >= found.Q).all()
    assert intervals.quotable.all()
    assert "fits to resampled loci" in str(found)
    assert "and of relatives, whose alleles are no independent draws)" in str(found)
    assert "chains" not in str(found)
    assert "50 fits to resampled loci" in str(intervals)


def test_unmixed_people_may_be_unmixed():
    unmixed = dcomp.datasets.genotypes(60, 300, f_st=(0.1, 0.1), unmixed=1, tract=1, seed=3)
    result = admixture(unmixed.counts, 2, with_intervals=True, n_replicates=20)
    own = matched(result.intervals.high, unmixed.memberships)[unmixed.memberships == 1]
    assert (own >= 0.99).mean() > 0.8


def test_replicates_do_not_depend_on_threads_or_on_their_number(table):
    counts = table.counts.rows(slice(0, 40))
    steps = []
    how = {"with_intervals": True, "n_replicates": 10}
    one = admixture(counts, 2, n_jobs=1, progress=lambda *at: steps.append(at), **how)
    two = admixture(counts, 2, n_jobs=2, **how)
    np.testing.assert_array_equal(one.intervals.sd, two.intervals.sd)
    assert steps == [(b, 10) for b in range(1, 11)]
    with pytest.raises(
        InvalidParameter, match="n_replicates must be a whole number of at least 10"
    ):
        admixture(counts, 2, with_intervals=True, n_replicates=3)


def test_known_ancestries_stay_in_resampled_fits(table):
    labels = ["a"] * 15 + ["b"] * 15 + [None] * 60
    result = admixture(table.counts, 3, supervised=labels, with_intervals=True, n_replicates=10)
    assert (result.intervals.low[:15, 0] == 1).all()
    assert (result.intervals.high[:15, 1:] == 0).all()
    assert result.intervals.sd[30:].max() > 0


def test_an_ancestry_that_loci_do_not_give_again_is_not_quotable():
    noise = np.random.default_rng(0).binomial(2, 0.5, (30, 40))
    X = np.stack([noise, 2 - noise], axis=2).reshape(30, -1)
    counts = dcomp.Counts.from_matrix(X, blocks=np.repeat(np.arange(40), 2))
    result = admixture(counts, 3, with_intervals=True, n_replicates=10)
    assert not result.intervals.quotable.all()
    assert result.intervals.legend in str(result)


def matched_bounds(found, table):
    order = matched(found.Q, table.memberships)
    place = [int(np.argmin(np.abs(found.Q - order[:, [k]]).sum(axis=0))) for k in range(3)]
    return found.intervals.low[:, place], found.intervals.high[:, place]


def test_the_log_likelihood_is_admixtures(found):
    W = found.counts.to_scipy().toarray()
    p = np.clip(found.Q @ found.P.T, 1e-12, 1 - 1e-12)
    plain = (W[:, 1::2] * np.log(p) + W[:, 0::2] * np.log1p(-p)).sum()
    assert found.log_likelihood == pytest.approx(plain, rel=1e-4)
    assert found.log_likelihood == pytest.approx(found.fit.objective, rel=1e-4)


def test_it_is_summed_in_pieces(found, monkeypatch):
    # By the module: the room has the function under this name.
    monkeypatch.setattr(sys.modules["dcomp.use.admixture"], "_AT_ONCE", 900)
    value = log_likelihood(found.counts, found.Q, found.frequencies)
    assert value == pytest.approx(found.log_likelihood, rel=1e-9)


def test_files_go_out_and_come_back(found, tmp_path):
    paths = found.write(tmp_path / "x")
    assert [path.name for path in paths] == ["x.3.Q", "x.3.P"]
    np.testing.assert_allclose(read_ancestry(paths[0]), found.Q, atol=1e-6)
    np.testing.assert_allclose(read_ancestry(paths[1]), found.P, atol=1e-6)
    with pytest.raises(FileExistsError):
        found.write(tmp_path / "x")
    found.write(tmp_path / "x", overwrite=True)


def test_cross_validation_finds_the_number(table):
    judged = validate(table.counts, [1, 2, 3, 5], n_folds=3)
    assert judged.recommended == 3
    assert judged.errors[0] > judged.errors[2]
    assert str(judged).count("lowest") == 1
    with pytest.raises(InvalidParameter, match="n_folds must be a whole number of at least 2"):
        validate(table.counts, 2, n_folds=1)


def test_the_error_is_the_mean_deviance_of_hidden_calls():
    W = np.array([[2, 0, 1, 1], [0, 0, 0, 2]])
    counts = dcomp.Counts.from_matrix(W, blocks=[0, 0, 1, 1])
    Q, P = np.ones((2, 1)), np.array([[0.6], [0.4], [0.3], [0.7]])
    of_entry, row = _of_entries(counts, np.array([[0, 1], [0, 1]], np.uint8))
    # Hidden are the second SNP of both: one copy of each allele, and two of the second.
    one = np.log(1 / 0.6) + np.log(1 / 1.4)
    two = 2 * np.log(2 / 1.4)
    assert deviance(counts, of_entry == 1, row, (Q, P)) == pytest.approx((one + two) / 2)
    seen = _without(counts, of_entry == 1, row)
    assert seen.to_scipy().toarray().tolist() == [[2, 0, 0, 0], [0, 0, 0, 0]]


def test_loci_of_many_alleles_have_no_p(tmp_path):
    (tmp_path / "x.str").write_text("a 1 5 7\na 1 6 8\nb 2 5 9\nb 2 6 8\nc 2 5 9\nc 2 6 8\n")
    result = admixture(tmp_path / "x.str", 2, with_intervals=False)
    assert not result.is_biallelic
    with pytest.raises(InvalidCounts, match="P has one frequency per SNP of two alleles"):
        _ = result.P
    assert [path.name for path in result.write(tmp_path / "x")] == ["x.2.Q"]


def test_what_is_said_fits_on_a_terminal(found):
    lines = str(found).splitlines()
    assert max(map(columns, lines)) <= 80
    assert lines[0].startswith("3 ancestries behind 90 people at 400 loci")
    assert len(found.people_lines(None)) == 90
    json.dumps(found.as_record())


def test_what_are_no_genotypes_is_told_so(tmp_path):
    with pytest.raises(InvalidCounts, match="a block of alleles per locus"):
        admixture(dcomp.Counts.from_matrix([[1, 2]]), 2)
    with pytest.raises(InvalidParameter, match="takes Counts or a path of genotypes"):
        admixture([[1, 2]], 2)
    (tmp_path / "x.csv").write_text("a,b\nc,d\n")
    with pytest.raises(InvalidFile, match=r"x\.csv: ancestries are found in genotypes.*as table"):
        admixture(tmp_path / "x.csv", 2)


@pytest.mark.realdata
def test_thrushes_by_site(data_folder):
    path = data_folder / "genotypes" / "thrush" / "thrush-data.str"
    how = {"algorithm": "collapsed-gibbs", "alpha": "shared", "n_chains": 4, "max_iter": 400}
    with pytest.warns(dcomp.ConvergenceWarning):
        result = admixture(path, 3, with_intervals=False, **how)
    site = result.counts.attributes["population"]
    main = result.Q.argmax(axis=1)
    for one in ("1", "2", "3"):
        share = np.bincount(main[site == one], minlength=3) / np.sum(site == one)
        assert share.max() > 0.9


def test_what_is_shown_lies_in_its_interval(found):
    """By maximum likelihood, too: shares at the edge are the posterior's, not the maximum's."""
    for line in found.people_lines(None):
        share, _, ends = line.rpartition("| #")[2].partition(" ")[2].partition(" (")
        low, high = map(float, ends.rstrip(" ?)").split(" to "))
        assert low <= float(share) <= high


def test_a_sampler_has_flat_priors_and_pools_its_chains(table):
    counts = table.counts
    sampled = admixture(
        counts, 3, algorithm="collapsed-gibbs", max_iter=60, n_draws=20, with_intervals=True
    )
    assert sampled.fit.model.scores.alpha.tolist() == [1, 1, 1]
    assert sampled.intervals.n_chains == 4
    np.testing.assert_array_equal(sampled.Q, sampled.intervals.mean)
    assert np.sqrt(np.mean((matched(sampled.Q, table.memberships) - table.memberships) ** 2)) < 0.1
    np.testing.assert_allclose(sampled.frequencies.reshape(400, 2, 3).sum(axis=1), 1, atol=1e-4)
    best = np.asarray(sampled.fit.Theta)
    assert 0 < np.abs(sampled.frequencies - best).max() < 0.3  # of all chains, in the fit's order
    told = admixture(counts, 3, algorithm="gibbs", alpha=0.2, max_iter=10, with_intervals=False)
    assert told.fit.model.scores.alpha[0] == pytest.approx(0.2)


def test_an_edge_of_what_was_tried_is_said():
    low = CrossValidation((2, 3, 4), (0.4, 0.5, 0.6), (0.01,) * 3, 5)
    assert "the smallest K tried has the lowest error: fewer were not tried" in str(low)
    middle = CrossValidation((2, 3, 4), (0.5, 0.4, 0.6), (0.01,) * 3, 5)
    assert "tried" not in str(middle)
    one = CrossValidation((1, 2), (0.4, 0.5), (0.01,) * 2, 5)
    assert "tried" not in str(one)  # there is no K below 1


def test_numbers_that_cross_validation_cannot_tell_apart_are_named():
    """Errors far within each other's ± may be told apart fold by fold, and need not be."""
    sure = ((0.58, 0.59, 0.60), (0.583, 0.592, 0.603))
    found = CrossValidation((1, 2), (0.59, 0.5927), (0.006, 0.006), 3, sure)
    gap, error = found.above[1]
    assert gap == pytest.approx(0.0027)
    assert error == pytest.approx(np.std([0.003, 0.002, 0.003], ddof=1) / np.sqrt(3))
    assert found.indistinct == (1,)
    assert "0.0027 ± 0.0003 above, fold by fold" in str(found)
    assert "cannot tell" not in str(found)
    assert "no proof that there are no more" in str(found)
    unsure = (*sure, (0.57, 0.62, 0.60))
    found = CrossValidation((1, 2, 3), (0.59, 0.5927, 0.5967), (0.006,) * 3, 3, unsure)
    assert found.indistinct == (1, 3)
    assert "this cannot tell K = 1 from 3: 3 is within one" in str(found)
    assert found.recommended == 1  # the lowest, as ADMIXTURE's users expect
    blind = CrossValidation((1, 2, 3), (0.59, 0.5927, 0.5967), (0.006,) * 3, 3)
    assert blind.indistinct == (1, 2, 3)
    assert "from 2 and 3: 2 and 3 are within" in " ".join(blind.words)
    assert all(len(line) <= 80 for line in str(blind).splitlines())
    assert CrossValidation((2,), (0.5,), (0.1,), 3).words == []


def test_known_ancestries_have_their_names(table):
    main = table.memberships.argmax(axis=1)
    sure = table.memberships.max(axis=1) > 0.9
    people = [("CEU", "YRI", "")[k] if s else "" for k, s in zip(main, sure, strict=True)]
    counts = table.counts.with_attributes(population=people)
    found = admixture(counts, 3, supervised="population", with_intervals=False)
    assert found.names == ("CEU", "YRI", "")
    for k, name in enumerate(("CEU", "YRI")):
        own = [i for i, label in enumerate(people) if label == name]
        assert own
        assert (found.Q[own, k] == 1).all()
    lines = found.lines()
    assert "known ancestries: #0 is CEU, #1 is YRI" in lines
    assert sum(line.split() == ["CEU", "YRI"] for line in lines) == 2  # above both tables
    assert max(map(columns, lines)) <= 80
    assert found.as_record()["names"] == ["CEU", "YRI", None]
    same = admixture(counts, 3, allowed="population", with_intervals=False)
    assert np.array_equal(found.Q, same.Q)
    with pytest.raises(InvalidParameter, match="the same: give one"):
        admixture(counts, 3, supervised="population", allowed="population")
    bare = admixture(counts, 3, with_intervals=False)
    assert not any("known ancestries" in line for line in bare.lines())
