"""The shell as a whole: commands by name, suggestions, completion, config files, widths."""

import importlib
import json
import os
import pty
import re
import subprocess
import sys

import pytest

from dcomp.cli.commands import COMMANDS
from dcomp.cli.common import console, folded
from dcomp.printable import columns


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_commands_say(name):
    module, summary = COMMANDS[name]
    function = getattr(importlib.import_module(f"dcomp.cli.{module}"), name)
    assert function.__doc__.splitlines()[0] == summary


def test_version_and_help_import_no_command(shell):
    for words in (["--version"], ["--help"]):
        code = f"""
import sys
from dcomp.cli.main import main
main({words!r})
print(*sorted(m for m in sys.modules if m in ("scipy", "numpy", "sklearn", "rich")))
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stdout.splitlines()[-1] == ""


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("fti", "x"), "there is no command 'fti'; did you mean dcomp fit?"),
        (("train", "x"), "did you mean dcomp fit?"),
        (("fit", "x", "--alhpa", 1), "there is no option --alhpa; did you mean --alpha?"),
        (("fit", "x", "--max_iter", 1), "did you mean --max-iter?"),
        (("fit", "x", "--n-components", 1), "did you mean -k?"),
        (("show", "x", "--topp", 1), "did you mean --top?"),
        (("show", "x", "--min-docs", 1), "of dcomp show; it is one of dcomp fit"),
        (("fit", "x", "--algorithm", "mean-feild"), "the nearest name is 'mean-field'"),
        (("transform", "x.csv", "y.dcomp"), "the fit comes first: y.dcomp before x.csv"),
        (("fit", "y.dcomp"), "y.dcomp is a fit (dcomp show shows it)"),
    ],
)
def test_what_was_perhaps_meant(run, words, meant):
    done = run(*words)
    assert done.code in (1, 2)
    assert meant in done.err
    assert done.err.count("\n") == 1


@pytest.fixture
def complete(run, monkeypatch):
    """What a press of the tabulator offers in bash."""

    def call(*words):
        monkeypatch.setenv("_DCOMP_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", " ".join(words))
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        done = run()
        assert (done.code, done.err) == (0, "")
        return done.out.split()

    return call


def test_completion(complete):
    assert complete("dcomp", "pro") == ["project"]
    assert set(complete("dcomp", "fit", "--al")) == {"--algorithm", "--alpha", "--allowed"}
    assert complete("dcomp", "fit", "--algorithm", "ma") == ["map"]
    assert complete("dcomp", "fit", "--model", "ga") == ["gamma-poisson", "gap"]


def test_the_script_of_completion(run, monkeypatch):
    """For the shell in which it is typed; tests may run in none, their parent having ended."""
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))
    script = run("--show-completion")
    assert script.code == 0
    assert "_DCOMP_COMPLETE=complete_bash" in script.out


def test_a_config_file_for_every_command(run, corpus, fitted, tmp_path):
    config = tmp_path / "run.toml"
    config.write_text('model = "GP"\nmax_iter = 3\nn_chains = 2\n[input]\nformat = "table"\n')
    made = run("project", corpus, fitted, "-o", "p.dcomp", "--json", "--config", config)
    record = json.loads(made.out)
    assert (record["model"], record["sweeps"]) == ("GP", 3)
    assert made.err.splitlines()[0].endswith("also says n_chains, which dcomp project leaves out")
    typed = run("project", corpus, fitted, "-o", "q.dcomp", "--json", "--config", config,
                "--model", "DM", "-q")  # fmt: skip
    assert json.loads(typed.out)["model"] == "DM"
    assert "leaves out" not in typed.err
    config.write_text('random_state = 3\n[input]\nformat = "docword"\n')
    assert run("transform", fitted, corpus, "--config", config).code == 1  # it is no docword
    assert run("transform", fitted, corpus, "--config", config, "--format", "table").code == 0
    config.write_text("modle = 1\n")
    wrong = run("select", corpus, "-k", 2, "--config", config)
    assert (wrong.code, "'modle'" in wrong.err) == (2, True)


JSON = [
    "fit {corpus} -k 2 -o again.dcomp",
    "project {corpus} {fit} -o there.dcomp",
    "transform {fit} {corpus}",
    "evaluate {fit} {corpus}",
    "diagnose {fit} {corpus}",
    "show {fit}",
    "similar {fit} {corpus} d1",
    "select {corpus} -k 1,2 --chains 2 --starts 1 --max-iter 5 --evidence no",
    "index {fit} {corpus} -o corpus.dindex",
    "query {fit} {corpus} cat",
    "convert {corpus} corpus.mtx",
    "models",
]


@pytest.mark.parametrize("line", JSON, ids=lambda line: line.split()[0])
def test_one_json_object(run, corpus, fitted, line):
    done = run(*line.format(corpus=corpus, fit=fitted).split(), "--json")
    assert done.code == 0
    record = json.loads(done.out)
    assert isinstance(record, dict)
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", key) for key in record)


@pytest.mark.parametrize("width", [80, 60, 40])
def test_what_is_shown_fits_the_terminal(run, corpus, fitted, monkeypatch, width):
    lines = ["show {f}", "show {f} --differences 0,1 {c}", "diagnose {f} {c}", "evaluate {f} {c}"]
    for line in [*lines, "similar {f} {c} d1", "query {f} {c} cat", "models"]:
        monkeypatch.setenv("COLUMNS", str(width))
        done = run(*line.format(f=fitted, c=corpus).split())
        assert done.code == 0
        assert max(map(columns, done.out.splitlines())) <= width, line


def test_folding_cuts_no_number_and_no_short_line():
    row = "log-likelihood  -123.4567 ± 0.0123 per token"
    assert folded(row, 80) == row
    parts = folded(row, 36).splitlines()
    assert parts[1].startswith(" " * 16)  # below the second column
    assert "".join(parts).split() == row.split()
    assert max(map(columns, folded("日本 " * 40, 20).splitlines())) <= 20


def test_a_fitted_file_has_no_note_on_what_was_dropped_for_the_fit(run, tmp_path):
    text = tmp_path / "texts.txt"
    text.write_text("cat dog cat\ncat dog dog\ncat zebra dog\n")
    assert run("fit", text, "-k", 2, "--min-docs", 2, "-o", "t.dcomp", "-q").code == 0
    own = run("transform", "t.dcomp", text)
    assert (own.code, own.err) == (0, "")
    text.write_text("cat zebra dog\n")
    assert "are dropped" in run("transform", "t.dcomp", text).err


def test_a_terminal_sees_what_is_going_on(fitted, corpus, environment):
    """The wheel is drawn on stderr and removed again; the answer is on stdout."""
    first, second = pty.openpty()
    command = [sys.executable, "-m", "dcomp.cli.main", "evaluate", fitted, corpus]
    command += ["--method", "left-to-right"]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=second)
    os.close(second)
    drawn = os.read(first, 1 << 16).decode()
    os.close(first)
    assert done.returncode == 0
    assert "scoring 30 documents, left-to-right" in drawn
    assert done.stdout.startswith(b"perplexity")


def test_lines_stay_whole_in_a_pipe(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    console().print("word " * 60)
    assert len(capsys.readouterr().out.splitlines()) == 1
    monkeypatch.setenv("COLUMNS", "80")
    console().print("word " * 60)
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80
