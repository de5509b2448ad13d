"""What a tired user types: one line on stderr, no traceback, the right exit code."""

import os
import sys

import pytest

import dcomp
from dcomp import registry
from dcomp.cli import main as cli


def assert_one_line(done, code):
    assert done.code == code
    assert done.out == ""
    assert done.err.startswith("dcomp: error: ")
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err


USAGE = {
    "no components": ("-k", 0),
    "components in words": ("-k", "ten"),
    "unknown option": ("--komponents", 3),
    "unknown model": ("--model", "LSA"),
    "unknown algorithm": ("--algorithm", "magic"),
    "unknown alpha": ("--alpha", "small"),
    "negative alpha": ("--alpha", -1),
    "alpha not a number": ("--alpha", "nan"),
    "gamma zero": ("--gamma", 0),
    "beta for DM": ("--beta", 1),
    "alpha for LN": ("--model", "LN", "--alpha", 1),
    "shrinkage for DM": ("--shrinkage", 0.5),
    "shrinkage above one": ("--model", "LN", "--shrinkage", 1.5),
    "start of laplace": ("--model", "LN", "--start", "random"),
    "rho for GP": ("--model", "GP", "--rho", 0.1),
    "rho of one": ("--model", "CGP", "--rho", 1),
    "rho in words": ("--model", "CGP", "--rho", "often"),
    "mean field for CGP": ("--model", "CGP", "--algorithm", "mean-field"),
    "burn-in of mean field": ("--burn-in", 5),
    "nothing left to record": ("--algorithm", "gibbs", "--max-iter", 5, "--burn-in", 5),
    "negative burn-in": ("--algorithm", "gibbs", "--burn-in", -1),
    "no chains": ("--chains", 0),
    "loadings of a sampler": ("--algorithm", "gibbs", "--loadings", "vb"),
    "exposure for DM": ("--exposure", "total"),
    "unknown exposure": ("--model", "GP", "--exposure", "long"),
    "unknown loadings": ("--loadings", "median"),
    "map below one": ("--loadings", "map"),
    "negative tol": ("--tol", -1),
    "tol not a number": ("--tol", "nan"),
    "no sweeps": ("--max-iter", 0),
    "negative seed": ("--seed", -1),
    "no jobs": ("--jobs", 0),
    "unknown format": ("--format", "word"),
    "option without effect": ("--format", "table", "--vocab", "v.txt"),
}


@pytest.mark.parametrize("words", USAGE.values(), ids=USAGE.keys())
def test_wrong_usage(run, corpus, words):
    assert_one_line(run("fit", corpus, *words), 2)
    assert not (corpus.parent / "corpus.dcomp").exists()


def test_an_unknown_model_lists_what_exists(run, corpus):
    done = run("fit", corpus, "--model", "LSA")
    for model, algorithms in registry.supported().items():
        assert f"{model} by {', '.join(algorithms)}" in done.err


def test_files_that_are_not_there_or_not_right(run, corpus, fitted, tmp_path):
    cut = tmp_path / "cut.dcomp"
    cut.write_bytes(fitted.read_bytes()[:700])
    blocks = tmp_path / "blocks.txt"
    blocks.write_text("a\nb\n")
    assert_one_line(run("fit", "absent.csv"), 1)
    assert_one_line(run("transform", "absent.dcomp", corpus), 1)
    assert_one_line(run("transform", corpus, corpus), 1)
    assert_one_line(run("transform", cut, corpus), 1)
    assert_one_line(run("evaluate", cut, corpus), 1)
    assert_one_line(run("fit", corpus, "--blocks", blocks), 2)
    assert_one_line(run("fit", corpus, "--blocks", "absent.txt"), 1)
    assert_one_line(run("fit", fitted), 1)


def test_a_bad_file_is_named_with_its_line(run, tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("id,a,b,c\nd1,1,2,3\nd2,1,-2,3\n")
    done = run("fit", bad)
    assert_one_line(done, 1)
    assert "bad.csv:3" in done.err


def test_output_is_checked_before_the_work(run, corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(
        dcomp.cli.source.Source, "read", lambda self, **how: pytest.fail("was read")
    )
    assert_one_line(run("fit", corpus, "-o", tmp_path), 1)
    assert_one_line(run("fit", corpus, "-o", tmp_path / "absent" / "x.dcomp"), 1)
    monkeypatch.setattr(os, "access", lambda *_: False)  # also true for the superuser
    done = run("fit", corpus)
    assert_one_line(done, 1)
    assert "cannot be written to" in done.err


def test_a_device_takes_what_comes(run, corpus):
    done = run("fit", corpus, "-k", 2, "-o", os.devnull, "-q")  # and needs no --force
    assert (done.code, done.err) == (0, "")
    assert not os.path.isfile(os.devnull)


def test_wrong_commands(run):
    assert_one_line(run("fti", "x"), 2)
    assert_one_line(run("fit"), 2)
    alone = run()
    assert alone.code == 2
    assert "Usage: dcomp" in alone.err


@pytest.mark.parametrize(
    ("flag", "value"), [("-k", "five"), ("-k", "0"), ("--tol", "small"), ("--max-iter", "1.5")]
)
def test_a_value_that_is_none_is_named(run, corpus, flag, value):
    done = run("fit", corpus, flag, value)
    assert_one_line(done, 2)
    assert f"'{flag}'" in done.err
    assert value in done.err.partition(f"'{flag}'")[2]
    assert "Input should" not in done.err


def test_a_message_is_folded_where_a_terminal_is_narrow(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    cli.say("words " * 12)
    assert capsys.readouterr().err.count("\n") == 1  # in a pipe it stays one line
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    cli.say("words " * 12)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= 40


@pytest.mark.parametrize("name", ["demo", "fit", "transform", "evaluate", "diagnose", "models"])
def test_help_has_an_example(run, name):
    done = run(name, "--help")
    assert done.code == 0
    assert f"dcomp {name}" in done.out.partition("Example:")[2]


def test_version(run):
    assert run("--version").out == f"dcomp {dcomp.__version__}\n"


def test_a_bug_is_one_line_too_unless_asked(run, corpus, monkeypatch):
    def broken(self, **how):
        raise ZeroDivisionError("one\ntwo")

    monkeypatch.setattr(dcomp.cli.source.Source, "read", broken)
    done = run("fit", corpus)
    assert_one_line(done, 1)
    assert "ZeroDivisionError: one two" in done.err
    monkeypatch.setenv("DCOMP_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        cli.main(["fit", str(corpus)])


def test_system_errors_name_the_file():
    assert cli.explain(OSError(28, "No space left on device")) == "No space left on device"
    assert cli.explain(MemoryError()) == "not enough memory"


def test_ctrl_c_before_the_first_sweep(run, corpus, monkeypatch):
    def interrupted(self, **how):
        raise KeyboardInterrupt

    monkeypatch.setattr(dcomp.cli.source.Source, "read", interrupted)
    done = run("fit", corpus)
    assert done.code == 130
    assert "nothing to save" in done.err
    assert not (corpus.parent / "corpus.dcomp").exists()


def test_the_list_of_commands_is_whole_at_80_columns(run, monkeypatch):
    done = run("--help")
    monkeypatch.setenv("COLUMNS", "80")
    for shown in (done.out, run("--help").out):
        commands = shown.partition("Commands:")[2]
        assert "diagnose" in commands
        assert "..." not in commands
        assert max(map(len, shown.splitlines())) <= 80


def test_one_component_is_no_components(run, corpus):
    assert "DM, 1 component, mean-field" in run("fit", corpus, "-k", 1).out
