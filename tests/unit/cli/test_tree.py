"""Trees of components from the shell."""

import io
import json

import numpy as np

import dcomp


def test_a_tree_is_fitted_printed_and_saved(run, corpus):
    words = ("--model", "tree", "--branching", 2, "--depth", 2, "--algorithm", "collapsed-gibbs")
    more = ("--max-iter", 40, "--grow-to", 7, "--grow-at", 10, "-o", "t.dcomp")
    done = run("fit", corpus, *words, *more)
    assert done.code == 0, done.err
    assert "root (100.0 %)" in done.out
    assert "└─ 2 (" in done.out
    fit = dcomp.load("t.dcomp")
    assert fit.model.tree.parents == (-1, 0, 0, 1, 1, 2, 2)
    direct = dcomp.TreeDCA(
        2, 2, grow_to=7, grow_at=10, max_iter=40, anneal=0, gamma=0.05, verbose=0
    ).fit(dcomp.read(corpus))
    assert np.array_equal(fit.Theta, direct.fit_.Theta)
    shown = json.loads(run("fit", corpus, *words, *more, "--force", "--json").out)
    assert shown["parents"] == [-1, 0, 0, 1, 1, 2, 2]
    assert len(shown["priors"]["a1"]) == 7


def test_k_nodes_in_all(run, corpus):
    words = ("--model", "TM", "-k", 5, "--branching", 2, "--max-iter", 10, "--tol", 0)
    assert run("fit", corpus, *words, "-o", "k.dcomp").code == 0
    assert dcomp.load("k.dcomp").model.tree.parents == (-1, 0, 0, 1, 1)


def test_refused_with_a_reason(run, corpus):
    for words, reason in (
        (("--depth", 3), "--depth is an option of model TM and ST, not DM"),
        (("--model", "TM", "-k", 5, "--depth", 3), "-k and --depth both say"),
        (("--model", "TM", "--alpha", 1), "--alpha has no meaning for model TM"),
        (("--model", "TM", "--grow-at", 9), "--grow-at 9 has no effect without --grow-to"),
        (("--model", "TM", "--algorithm", "map"), "model TM has no algorithm 'map'"),
    ):
        done = run("fit", corpus, *words, "-o", "x.dcomp")
        assert done.code != 0
        assert reason in done.err


def test_a_tree_is_cut_to_the_terminal_and_whole_in_a_pipe(run, corpus):
    from rich.console import Console

    from dcomp.cli.show import print_tree

    words = ("--model", "tree", "--branching", 2, "--depth", 2, "-o", "t.dcomp", "-q")
    assert run("fit", corpus, *words).code == 0
    shown = {}
    for is_terminal in (True, False):
        stream = io.StringIO()
        out = Console(file=stream, width=40, force_terminal=is_terminal, highlight=False)
        print_tree(out, dcomp.load("t.dcomp"), 8)
        shown[is_terminal] = stream.getvalue().splitlines()
    assert len(shown[True]) == len(shown[False]) == 3
    assert all(len(line) <= 40 and line.endswith("…") for line in shown[True])
    assert all(len(line) > 40 and "…" not in line for line in shown[False])
