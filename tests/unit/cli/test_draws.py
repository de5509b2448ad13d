"""Draws from the shell: kept, counted beforehand, refused where they cannot be."""

import json

import numpy as np
import pytest

import dcomp

SAMPLER = ("-k", 2, "--algorithm", "collapsed-gibbs", "--max-iter", 30, "--burn-in", 10)


def test_draws_equal_the_estimator(run, corpus):
    words = ("--draws", 5, "--draws-of", "scores, assignments", "--chains", 2)
    done = run("fit", corpus, *SAMPLER, *words, "-o", "x.dcomp")
    assert done.code == 0
    assert done.err == (
        "dcomp: keeping 5 draws of each of 2 chains: scores 2.3 KiB, assignments "
        f"{2 * 10 * dcomp.read(corpus).n_tokens / 1024:.1f} KiB\n"
    )
    assert "kept: 2 chains × 5 draws of scores, assignments" in done.out
    options = {"algorithm": "collapsed-gibbs", "max_iter": 30, "burn_in": 10, "n_chains": 2}
    direct = dcomp.LDA(2, **options, n_draws=5, draws_of=("scores", "assignments"), verbose=0)
    direct = direct.fit(dcomp.read(corpus)).fit_.draws
    draws = dcomp.load("x.dcomp").draws
    assert draws.Theta is None
    assert np.array_equal(draws.scores, direct.scores)
    assert np.array_equal(draws.assignments, direct.assignments)


def test_draws_as_json_and_quiet(run, corpus):
    done = run("fit", corpus, *SAMPLER, "--draws", 4, "--json", "--quiet")
    assert (done.code, done.err) == (0, "")
    kept = json.loads(done.out)["draws"]
    assert (kept["chains"], kept["draws"], kept["of"]) == (1, 4, ["scores", "loadings"])
    assert kept["bytes"] == 4 * 4 * 2 * (30 + 8)
    assert json.loads(run("fit", corpus, "--json", "--force").out)["draws"] is None


def test_a_resumed_fit_goes_on_keeping(run, corpus):
    words = ("--draws", 5, "-o", "x.dcomp", "-q")
    assert run("fit", corpus, *SAMPLER, *words).code == 0
    more = ("--resume", "x.dcomp", "--max-iter", 50)
    done = run("fit", corpus, *more, "--draw-budget", "2 kB")
    assert done.code == 2
    assert "10 draws take 3 KiB (scores 2.3 KiB, loadings 640 bytes), more than" in done.err
    assert run("fit", corpus, *more).code == 0
    assert dcomp.load("x.dcomp").draws.n_draws == 10


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--draws", 5), "mean-field makes none: fit by gibbs or collapsed-gibbs"),
        (("--draws-of", "scores"), "--draws-of has no effect without --draws"),
        ((*SAMPLER, "--draws", 5, "--draws-of", "words"), "got 'words'"),
        ((*SAMPLER, "--draws", 21), "of which there are 20; got 21"),
        ((*SAMPLER, "--draws", 5, "--draw-budget", "1 kB"), "or raise the budget"),
        ((*SAMPLER, "--draws", 5, "--draw-budget", "lots"), "--draw-budget must be"),
        (
            ("--algorithm", "gibbs", "--draws", 2, "--draws-of", "assignments"),
            "for draws of assignments use collapsed-gibbs",
        ),
    ],
)
def test_wrong_usage_is_one_line(run, corpus, words, said):
    done = run("fit", corpus, *words)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert said in done.err


def test_no_budget(run, corpus):
    assert run("fit", corpus, *SAMPLER, "--draws", 5, "--draw-budget", "none").code == 0
