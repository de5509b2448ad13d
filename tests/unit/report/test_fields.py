"""Panels of fields appear where the table is one of theirs, with the numbers of `dcomp.use`."""

import re

import numpy as np
import pytest
from support.report_pages import unpacked

import dcomp
from dcomp.report.fields import _SIZE


@pytest.fixture(scope="module")
def votes():
    counts = dcomp.datasets.votes(24, 40, seed=1).counts
    counts = counts.with_attributes(party=["D", "R"] * 12)
    return dcomp.use.rollcall(counts, 2, max_iter=80, n_draws=20, n_chains=2, calls={"RC1": "<b>"})


def test_blocs_and_the_votes_that_divide_them(votes, made):
    page, data = made(votes)
    assert "2 blocs behind 24 voters" in page
    assert "Roll calls" in page
    found = data["blocs"]
    assert found["voters"]["number"] == votes.order.tolist()
    shares = unpacked(found["voters"]["shares"]).reshape(24, 2)
    assert shares == pytest.approx(votes.memberships[votes.order], abs=1e-5)
    assert found["columns"] == [k for k in votes.bloc_order if votes.sizes[k] >= _SIZE]
    wanted = votes.dividing(*votes.neighbours[0], n=10)
    assert [v["call"] for v in found["pairs"][0]["votes"]] == [d.call for d in wanted]
    assert found["pairs"][0]["votes"][0]["error"] == pytest.approx(wanted[0].error)
    assert found["voters"]["party"][0] in "DR"


def test_blocs_of_a_fit_without_draws_have_no_errors(votes, made):
    counts = votes.counts
    found = made(dcomp.LDA(2, verbose=0).fit(counts), counts)[1]["blocs"]
    assert found["voters"]["low"] is None
    assert "error" not in found["pairs"][0]["votes"][0]
    assert abs(found["pairs"][0]["votes"][0]["effect"]) > 0.5


def test_ancestries_of_people(made):
    table = dcomp.datasets.genotypes(30, 60, f_st=(0.3, 0.3), seed=1)
    found = dcomp.use.admixture(table.counts, 2, with_intervals=False, cross_validation=[1, 2])
    page, data = made(found)
    assert "2 ancestries behind 30 people" in page
    assert ">Ancestry bars</button>" in page
    assert unpacked(data["bars"]["shares"]).reshape(30, 2) == pytest.approx(found.Q, abs=1e-5)
    assert data["choice"]["recommended"] == found.cross_validation.recommended


def test_signatures_of_tumours(made):
    types = [f"{a}[{c}]{b}" for c in ("C>A", "C>T") for a in "ACGT" for b in "ACGT"]
    rng = np.random.default_rng(0)
    X = rng.poisson(rng.dirichlet(np.full(32, 0.1), 2)[rng.integers(0, 2, 20)] * 200)
    ids = [f"{'AB'[i % 2]}::{i}" for i in range(20)]
    counts = dcomp.Counts.from_matrix(X, feature_names=types, doc_ids=ids)
    found = dcomp.use.signatures(counts, 2)
    page, data = made(found)
    assert ">Exposures</button>" in page
    assert data["profiles"]["types"][0] == "A[C>A]A"
    theta = unpacked(data["profiles"]["theta"]).reshape(2, 32)
    assert theta == pytest.approx(found.loadings, abs=2e-5)
    (kind,) = data["bars"]["groups"]
    assert kind["names"] == ["A", "B"]
    shares = found.exposures / found.exposures.sum(axis=1, keepdims=True)
    assert unpacked(kind["mean"])[:2] == pytest.approx(shares[::2].mean(axis=0), abs=1e-4)


def test_answers_are_no_genotypes(made):
    counts = dcomp.Counts.from_matrix(
        [[1, 0, 0, 1], [0, 1, 1, 0], [1, 0, 1, 0]], blocks=["a", "a", "b", "b"]
    )
    assert ">Shares</button>" in made(dcomp.LDA(2, verbose=0).fit(counts), counts)[0]


def test_the_outcome_of_roll_calls_is_no_voter_to_a_reader(made):
    from dcomp.io.calls import Calls, with_outcome

    counts = dcomp.datasets.votes(12, 30, seed=1).counts.with_attributes(party=["D", "R"] * 6)
    counts = with_outcome(counts, Calls({}))
    page, data = made(dcomp.LDA(2, verbose=0).fit(counts), counts)
    assert "2 blocs behind 12 voters" in page
    assert "12, and the outcomes as one more" in page
    assert "of 12 voters and the outcome of the fit itself" in page
    (party,) = data["groups"]
    assert dict(zip(party["groups"], party["sizes"], strict=True)) == {
        "D": 6, "R": 6, "the outcome": 1
    }  # fmt: skip


def test_a_field_is_told_in_its_own_words(made):
    table = dcomp.datasets.votes(12, 30, seed=1)
    fit = dcomp.LDA(5, algorithm="gibbs", max_iter=30, verbose=0).fit(table.counts)
    page, data = made(fit, table.counts)
    overview = page.partition('id="panel-overview"')[2].partition('id="panel-components"')[0]
    assert "probability of 0." in overview
    assert not re.search(r"component|token|document", overview.replace("<section", ""))
    assert [q["name"] for q in data["chains"]["quantities"]][:2] == ["log joint", "votes"]


def test_tumours_have_their_kind_and_types_the_names_of_the_field(made):
    types = [f"{c} {a}{c[0]}{b}" for c in ("C>A", "C>T") for a in "ACGT" for b in "ACGT"]
    X = np.random.default_rng(0).poisson(4.0, (12, 32))
    ids = [f"{'lung' if i < 8 else 'skin'}::{i}" for i in range(12)]
    counts = dcomp.Counts.from_matrix(X, feature_names=types, doc_ids=ids)
    page, data = made(dcomp.use.signatures(counts, 2))
    assert set(data["features"]) == {f"{n[4]}[{n[:3]}]{n[6]}" for n in types}
    assert types[0] not in page
    (kind,) = data["groups"]
    assert (kind["name"], kind["groups"], kind["sizes"]) == ("kind", ["lung", "skin"], [8, 4])
    assert [group["name"] for group in data["bars"]["groups"]] == ["kind"]


def test_maximum_likelihood_has_no_priors_to_show(made):
    table = dcomp.datasets.genotypes(30, 60, f_st=(0.3, 0.3), seed=1)
    page = made(dcomp.use.admixture(table.counts, 2, with_intervals=False))[0]
    assert "none: maximum likelihood" in page
    assert "Prior alpha" not in page
    assert "STRUCTURE and ADMIXTURE" in page
