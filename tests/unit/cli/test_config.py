"""dcomp fit --config and --save-config."""

import json
import tomllib

import numpy as np
import pytest

import dcomp

RUNS = {
    "plain": ("-k", 2),
    "priors": ("-k", 2, "--model", "GP", "--alpha", 0.3, "--gamma", "empirical", "--seed", 3),
    "sampler": (
        *("-k", 3, "--algorithm", "collapsed-gibbs", "--max-iter", 30, "--burn-in", 9),
        *("--draws", 3, "--draws-of", "scores", "--draw-budget", "none", "--chains", 2),
    ),
    "laplace": ("-k", 2, "--model", "ctm", "--no-learn-loadings", "--start", "seeded"),
    "plsa": ("-k", 2, "--model", "plsa"),
    "tree": ("--model", "tree", "--branching", 2, "--depth", 2, "--grow-to", 7, "--grow-at", 5),
    "file": ("--model", "ST", "--tree", "tree.json", "--structure", "phi", "--psi", "2,3"),
    "input": ("-k", 2, "--min-count", 50, "--blocks", "blocks.txt", "--tol", 0),
}


@pytest.mark.parametrize("words", RUNS.values(), ids=RUNS.keys())
def test_a_saved_config_repeats_the_fit_bit_for_bit(run, corpus, tmp_path, words):
    (tmp_path / "tree.json").write_text(json.dumps({"all": ["x", "y"]}))
    (tmp_path / "blocks.txt").write_text("animal\n" * 4 + "colour\n" * 4)
    (tmp_path / "runs").mkdir()
    words = (*words, "--max-iter", 25) if "--max-iter" not in words else words
    first = run("fit", corpus, *words, "-q", "-o", "a.dcomp", "--save-config", "runs/run.toml")
    assert first.code == 0, first.err
    again = run("fit", corpus, "--config", "runs/run.toml", "-q", "-o", "b.dcomp")
    assert again.code == 0, again.err
    a, b = dcomp.load("a.dcomp"), dcomp.load("b.dcomp")
    assert (a.algorithm, a.seed, a.features) == (b.algorithm, b.seed, b.features)
    assert a.model == b.model
    for name in ("Theta", "scores"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    np.testing.assert_array_equal(a.history["objective"], b.history["objective"])


def test_what_is_typed_wins(run, corpus, tmp_path):
    (tmp_path / "run.toml").write_text('model = "GP"\nn_components = 3\nalpha = 0.3\n')
    words = ("--config", "run.toml", "-k", 2, "-q", "--save-config", "both.toml")
    assert run("fit", corpus, *words).code == 0
    fit = dcomp.load("corpus.dcomp")
    assert (fit.model.key, fit.model.scores.alpha.tolist()) == ("GP", [0.3, 0.3])
    saved = tomllib.loads((tmp_path / "both.toml").read_text())
    assert (saved["model"], saved["n_components"], saved["alpha"]) == ("GP", 2, 0.3)


def test_a_resumed_fit_refuses_settings_of_a_file_too(run, corpus, fitted, tmp_path):
    config = tmp_path / "run.toml"
    config.write_text("alpha = 0.3\nmax_iter = 60\n")
    words = ("fit", corpus, "--resume", fitted, "--config", "run.toml")
    done = run(*words)
    assert done.code == 2
    assert "a resumed fit keeps its own settings: leave out --alpha, or fit anew" in done.err
    config.write_text("max_iter = 300\ntol = 0\n")
    assert run(*words).code == 0
    assert dcomp.load(fitted).n_sweeps == 300
    wrong = run("fit", corpus, "--resume", fitted, "--save-config", "x.toml")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert not (tmp_path / "x.toml").exists()


def test_wrong_configs_are_one_line(run, corpus, tmp_path):
    (tmp_path / "bad.toml").write_text("alpha = 'often'\n")
    for words, code, said in (
        (("--config", "bad.toml"), 2, "bad.toml: alpha must be 'auto', 'shared', 'total-one'"),
        (("--config", "absent.toml"), 1, "absent.toml"),
        (("--save-config", "bad.toml"), 1, "bad.toml exists already"),
        (("--save-config", corpus), 1, "is an input of this command"),
    ):
        done = run("fit", corpus, *words)
        assert (done.code, done.err.count("\n")) == (code, 1)
        assert said in done.err
    assert not (tmp_path / "corpus.dcomp").exists()
