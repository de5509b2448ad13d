"""Messages of the library as the shell says them: with flags, not with Python's keywords."""

import re

import numpy as np
import pytest

import dcomp
from dcomp import validation
from dcomp.cli.commands import COMMANDS
from dcomp.cli.wording import Flags

FLAGS = Flags(
    {"max_iter": "--max-iter", "alpha": "--alpha", "format": "--format", "n_jobs": "--jobs"},
    {"n_chains": "--chains", "tree": "--tree", "draws_of": "--draws-of"},
)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("give format= one of table, text", "give --format one of table, text"),
        ("give alpha=1, or fit with n_chains=4", "give --alpha 1, or fit with --chains 4"),
        ("fit with draws_of='loadings'", "fit with --draws-of loadings"),
        ("give tree=, mask= or n_chains=1", "give --tree or --chains 1"),
        (
            "burnt: max_iter = 9 is few; raise max_iter",
            "burnt: --max-iter 9 is few; raise --max-iter",
        ),
        ("n_jobs must be None or a whole number", "--jobs must be a whole number"),
        ("alpha must be 'auto', a number or an array", "--alpha must be 'auto' or a number"),
        # Prose, mathematics, paths and what the user typed stay as they are.
        ("the prior alpha sums to 1; got alpha = 1", "the prior alpha sums to 1; got alpha = 1"),
        ("max_iter.csv: expected 3 columns", "max_iter.csv: expected 3 columns"),
        ("data/max_iter: no file; got 'max_iter'", "data/max_iter: no file; got 'max_iter'"),
        ("tree must be a Tree", "tree must be a Tree"),  # an option of another command
    ],
)
def test_translation(message, said):
    assert FLAGS.translate(message) == said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--burn-in", 5), "--burn-in is an option of the samplers"),
        (("--draws", 5), "--draws keeps draws of a sampler"),
        (("--algorithm", "gibbs", "--max-iter", 5, "--burn-in", 5), "must be below --max-iter 5"),
        (("--gamma", "auto"), "--gamma auto is learned by gibbs"),
        (("--jobs", 0), "--jobs must be a non-zero whole number; got 0"),
        (("--format", "word"), "--format must be one of docword"),
        (("--format", "table", "--vocab", "v.txt"), "--vocab has no effect on the format 'table'"),
    ],
)
def test_errors_of_fit(run, corpus, words, message):
    done = run("fit", corpus, *words)
    assert done.code == 2
    assert message in done.err
    assert not re.search(r"\w=|[a-z]_[a-z]", done.err)


def test_errors_of_other_commands(run, corpus, fitted, tmp_path):
    (tmp_path / "x.foo").write_text("?")
    assert "give --format one of docword" in run("transform", fitted, "x.foo").err
    assert "--coherence must be one of" in run("diagnose", fitted, "--coherence", "x").err
    words = ("fit", corpus, "-k", 2, "--algorithm", "collapsed-gibbs", "-o", "g.dcomp")
    assert run(*words).code == 0
    for more in ((), ("--json",)):
        assert "raise --max-iter and --burn-in" in run("diagnose", "g.dcomp", *more).out


def test_warnings(run, corpus):
    done = run("fit", corpus, "-k", 2, "--max-iter", 2, "-q")
    assert "warning: mean-field reached --max-iter 2 before" in done.err
    assert "raise --max-iter or --tol" in done.err


def test_python_still_says_it_as_python_does(corpus):
    with pytest.raises(dcomp.InvalidParameter, match=r"^n_jobs must be None or"):
        dcomp.LDA(2, n_jobs=0, verbose=0).fit([[1, 2], [2, 1]])


def test_a_switch_is_not_what_must_be():
    flags = Flags({"counts": "--counts", "top": "--top"}, {}, frozenset({"counts"}))
    assert flags.translate("counts must be whole; top must be 1") == (
        "counts must be whole; --top must be 1"
    )


def test_examples_stand_on_lines_of_their_own(run):
    for command in ("similar", "convert"):
        out = run(command, "--help").out
        assert "\\b" not in out
        assert any(line.strip() == "Example:" for line in out.splitlines())


def test_what_a_reader_warns_of_is_one_line(run, tmp_path):
    rows = (
        "#CHROM POS ID REF ALT QUAL FILTER INFO FORMAT a b c",
        "1 1 x A C . . . GT 0/1 1/1 0/0",
        "1 2 y A . . . . GT 0/0 0/0 0/0",
    )
    lines = ["##fileformat=VCFv4.2", *(row.replace(" ", "\t") for row in rows)]
    (tmp_path / "my.vcf").write_text("\n".join(lines) + "\n")
    done = run("convert", "my.vcf", "out.csv")
    assert done.code == 0, done.err
    said = done.err.splitlines()
    assert all(line.startswith("dcomp: ") for line in said), said
    assert said[0] == "dcomp: warning: 1 of 2 variants have no ALT allele and are left out"


@pytest.mark.parametrize("name", list(COMMANDS))
def test_help_fits_eighty_columns(run, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "80")
    lines = run(name, "--help").out.splitlines()
    assert lines
    assert [line for line in lines if len(line) > 80] == []


def test_what_is_said_of_frames_is_said_of_files(run, tmp_path):
    rng = np.random.default_rng(0)
    lonely = dcomp.Counts.from_matrix([[1, 2]], blocks=["yea", "nay"])
    coded = dcomp.Counts.from_matrix(rng.binomial(2, 0.3, (30, 40)))
    for counts in (lonely, coded):
        said = [FLAGS.translate(line) for line in validation.of_table(counts)]
        assert any("--format categories" in line for line in said)
        assert not any("frame" in line or "=" in line for line in said)
    (tmp_path / "survey.csv").write_text("who,q1,q2\na,1,2\nb,2,1\n")
    said = run("fit", "survey.csv", "-k", 2, "--codes", "q1").err
    assert "--codes has no effect on the format 'table': give --format categories" in said
    said = run("fit", "survey.csv", "-k", 2, "--attributes", "who").err
    assert "give --format categories or --format votes" in said
    (tmp_path / "birds.txt").write_text("1 1 120 7\n1 1 124 -9\n2 2 124 9\n")
    said = run("fit", "birds.txt", "-k", 2).err
    assert "hold numbers only: genotypes of STRUCTURE are read by --format structure" in said
