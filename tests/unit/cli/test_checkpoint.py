"""dcomp fit --checkpoint, and --resume of its folder."""

from pathlib import Path

import pytest
from support.cells import same

import dcomp
from dcomp.result import checkpoints

OPTIONS = ("-k", 2, "--algorithm", "collapsed-gibbs", "--max-iter", 12, "-q")
EVERY = ("--checkpoint", "run", "--checkpoint-sweeps", 5)


class Killed(BaseException):
    """Like a kill: nothing catches it."""


@pytest.fixture
def killed(run, corpus, monkeypatch):
    """A fit that was ended when it had kept five sweeps."""
    real = checkpoints.save

    def once(fit, path, **how):
        real(fit, path, **how)
        raise Killed

    monkeypatch.setattr(checkpoints, "save", once)
    with pytest.raises(Killed):
        run("fit", corpus, *OPTIONS, *EVERY, "-o", "fit.dcomp")
    monkeypatch.setattr(checkpoints, "save", real)
    assert not Path("fit.dcomp").exists()


@pytest.mark.parametrize("again", [(*OPTIONS, *EVERY), ("--resume", "run", "-q")])
def test_a_killed_fit_goes_on(again, run, corpus, killed):
    assert dcomp.load("run/chain-0.dcomp").n_sweeps == 5
    assert run("fit", corpus, *again, "-o", "fit.dcomp").code == 0
    assert run("fit", corpus, *OPTIONS, "-o", "whole.dcomp").code == 0
    assert same(dcomp.load("fit.dcomp"), dcomp.load("whole.dcomp"))


def test_a_checkpoint_is_a_fit_to_resume(run, corpus, killed):
    done = run("fit", corpus, "--resume", "run/chain-0.dcomp", "--max-iter", 12, "-o", "x.dcomp")
    assert done.code == 0
    assert dcomp.load("x.dcomp").n_sweeps == 12


def test_what_a_folder_says_is_not_said_again(run, corpus, killed):
    done = run("fit", corpus, "--resume", "run", "-k", 3)
    assert done.code == 2
    assert "keeps its own settings: leave out -k" in done.err
    done = run("fit", corpus, "--resume", "run", "--config", "run/run.toml")
    assert "leave out --config" in done.err
    done = run("fit", corpus, "-k", 3, "--checkpoint", "run")
    assert done.code == 1
    assert "another fit, which differs in the model and its priors" in done.err


def test_options_without_a_folder_are_refused(run, corpus):
    done = run("fit", corpus, "--checkpoint-minutes", 3)
    assert done.code == 2
    assert "no effect without --checkpoint" in done.err
    Path("empty").mkdir()
    done = run("fit", corpus, "--resume", "empty")
    assert "has no run.toml" in done.err


def test_ctrl_c_says_how_to_go_on_in_the_folder(run, corpus, monkeypatch):
    real = checkpoints.save

    def interrupted(fit, path, **how):
        real(fit, path, **how)
        if fit.n_sweeps == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoints, "save", interrupted)
    done = run("fit", corpus, *OPTIONS, *EVERY)
    assert done.code == 130
    hint = f"dcomp fit {corpus} --resume run --checkpoint-sweeps 5 --quiet --output corpus.dcomp"
    assert f"to go on: {hint} --force" in done.err
    monkeypatch.setattr(checkpoints, "save", real)
    assert run(*hint.split()[1:], "--force").code == 0
    assert dcomp.load("corpus.dcomp").n_sweeps == 12
