"""Structured components from the shell."""

import json

import numpy as np

import dcomp


def test_a_known_tree_is_fitted_printed_and_saved(run, corpus, tmp_path):
    tree = tmp_path / "tree.json"
    tree.write_text(json.dumps({"all": {"one": ["a", "b"], "two": []}}))
    words = ("--model", "structured", "--tree", tree, "--structure", "phi", "--leaves", "GP")
    more = ("--max-iter", 30, "--chains", 2, "-o", "s.dcomp")
    done = run("fit", corpus, *words, *more)
    assert done.code == 0, done.err
    assert "all (100.0 %)" in done.out
    assert "└─ b (" in done.out
    fit = dcomp.load("s.dcomp")
    assert fit.model.structure.names == ("a", "b", "two", "all", "one")
    direct = dcomp.StructuredDCA(
        tree={"all": {"one": ["a", "b"], "two": []}}, structure="phi", leaves="GP", max_iter=30,
        n_chains=2, verbose=0,
    ).fit(dcomp.read(corpus))  # fmt: skip
    assert np.array_equal(fit.Theta, direct.fit_.Theta)
    assert "of the 4 edges of the best one" in run("diagnose", "s.dcomp", corpus).out
    shown = json.loads(run("fit", corpus, *words, *more, "--force", "--json").out)
    assert shown["structure"]["parents"] == [4, 4, 3, -1, 3]
    assert shown["structure"]["leaves"] == "GP"
    assert np.isclose(sum(shown["structure"]["upsilon"]), 3)
    scores = run("transform", "s.dcomp", corpus).out.splitlines()
    assert len(scores[0].split(",")) == 6


def test_a_structure_is_searched_for(run, corpus):
    words = ("--model", "ST", "-k", 3, "--max-iter", 30, "--gamma", 0.01, "-o", "f.dcomp")
    done = run("fit", corpus, *words)
    assert done.code == 0, done.err
    fit = dcomp.load("f.dcomp")
    assert fit.model.structure.n_leaves == 3
    assert fit.algorithm.grow.at == 7
    if fit.model.structure.n_nodes == 3:
        assert "no node above the leaves pays" in done.err
        assert "c0 (" in done.out or "component" in done.out


def test_refused_with_a_reason(run, corpus, tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    for words, reason in (
        (("--structure", "phi"), "--structure is an option of model ST, not DM"),
        (("--model", "ST", "--structure", "deep"), "structure must be one of shared, phi"),
        (("--model", "ST", "--leaves", "TM"), "leaves must be one of DM, GP, CGP"),
        (("--model", "ST", "-k", 5, "--depth", 3), "-k and --depth both say"),
        (("--model", "ST", "--grow-to", 9), "--grow-to is an option of model TM, not ST"),
        (("--model", "ST", "--tree", bad), "a tree is JSON"),
        (("--model", "ST", "--tree", "absent.json"), "absent.json"),
        (("--model", "ST", "--algorithm", "gibbs"), "model ST has no algorithm 'gibbs'"),
        (("--model", "ST", "--exposure", "total"), "exposure has no meaning for model ST"),
    ):
        done = run("fit", corpus, *words, "-o", "x.dcomp")
        assert done.code != 0
        assert reason in done.err, done.err
        assert done.err.count("\n") == 1
