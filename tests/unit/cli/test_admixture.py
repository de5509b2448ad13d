"""dcomp admixture: one line from genotypes to ancestries."""

import json

import numpy as np
import pytest

import dcomp


@pytest.fixture
def people(tmp_path):
    """A STRUCTURE file of two populations."""
    table = dcomp.datasets.genotypes(40, 60, f_st=(0.3, 0.3), unmixed=1, monomorphic=0, seed=4)
    W = table.counts.to_scipy().toarray()
    varies = (W.sum(axis=0) > 0).reshape(-1, 2).all(axis=1)
    W = W[:, np.repeat(varies, 2)]
    lines = [" ".join(f"snp{s}" for s in range(varies.sum()))]
    for i in range(40):
        for copy in range(2):
            first = W[i, 0::2]
            alleles = np.where(first > copy, 1, 2)
            alleles = np.where(first + W[i, 1::2] == 0, -9, alleles)
            site = int(table.memberships[i].argmax()) + 1
            lines.append(f"p{i} {site} " + " ".join(map(str, alleles.tolist())))
    (tmp_path / "people.str").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_genotypes_to_ancestries(run, people):
    done = run("admixture", "people.str", "-k", 2, "-o", "out", "--no-intervals")
    assert done.code == 0, done.err
    assert "2 ancestries behind 40 people at " in done.out
    assert "by population:" in done.out
    assert "written: out.2.Q, out.2.P, out.2.dcomp" in done.err
    kept = json.loads(run("show", "out.2.dcomp", "--by", "population", "--json").out)
    assert [group["name"] for group in kept["groups"]] == ["1", "2"]
    assert run("admixture", "people.str", "-k", 2, "-o", "out").code == 1


def test_the_best_of_several_is_fitted(run, people):
    words = ("admixture", "people.str", "-k", "1-3", "--folds", 2, "--no-intervals", "--json")
    record = json.loads(run(*words).out)
    assert record["n_components"] == 2
    assert list(record["cross_validation"]) == ["1", "2", "3"]
    assert len(record["people"]) == 40
    done = run("admixture", "people.str", "-k", 2, "--folds", 3)
    assert done.code == 2
    assert "has no effect without --cv" in done.err


def test_intervals_and_everyone(run, people):
    done = run("admixture", "people.str", "-k", 2, "--all")
    assert "share with its 90 % interval, of 50 fits to resampled loci:" in done.out
    fewer = run("admixture", "people.str", "-k", 2, "--replicates", 10)
    assert "of 10 fits to resampled loci" in fewer.out
    assert done.out.count("|") == 80


def test_known_ancestries_are_named(run, people):
    words = ("admixture", "people.str", "-k", 2, "--supervised", "population", "--no-intervals")
    done = run(*words)
    assert done.code == 0, done.err
    assert "known ancestries: #0 is 1, #1 is 2" in done.out
    assert "converged" in done.out


def test_wrong_files(run, tmp_path):
    (tmp_path / "x.bed").write_bytes(b"\x6c\x1b\x01\x00")
    (tmp_path / "x.bim").write_text("1 rs1 0 10 A G\n")
    done = run("admixture", "x.bed")
    assert done.code == 1
    assert "x.bed: there must be x.fam beside it, which has the people" in done.err
    (tmp_path / "x.str").write_text("a 1 5 7\na 1 6\nb 2 5 8\nb 2 6 8\n")
    assert (
        "x.str:2: expected 4 columns as most lines have, found 3" in run("admixture", "x.str").err
    )
