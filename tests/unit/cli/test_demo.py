"""dcomp demo: it tells a story, and the commands that it suggests work."""

import json
import re
import shlex
import tempfile

import numpy as np
import pytest

import dcomp
from dcomp import registry
from dcomp.cli import main as cli
from dcomp.data import datasets


@pytest.fixture(scope="module")
def documents():
    return datasets.docstrings()


@pytest.fixture
def run_demo(run, documents, monkeypatch, tmp_path):
    """The corpus takes longer than the fit: it is made once. What is said does not hang on how many
    documents there are: every fourth is read. Reports stay in the test's folder."""
    counts, labels = documents
    some = counts.rows(np.arange(0, counts.n_docs, 4))
    monkeypatch.setattr(dcomp.data, "docstrings", lambda: (some, labels))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return run


@pytest.mark.parametrize("model", ["DM", "gamma-poisson"])
def test_demo(run_demo, model):
    done = run_demo("demo", "-k", 12, "--model", model, "--seed", 3)
    assert (done.code, done.err) == (0, "")
    assert "sklearn" in done.out
    assert "prior alpha sums to" in done.out
    assert "Held-out perplexity" in done.out
    assert "±" in done.out
    assert "was not in the fit" in done.out
    assert "\x1b" not in done.out


def test_demo_of_a_sampler(run_demo):
    done = run_demo("demo", "-k", 5, "--model", "CGP", "--algorithm", "collapsed-gibbs")
    assert done.code == 0
    # The usual 200 sweeps are too few for it, and it says so, once and on one line.
    assert done.err.startswith("dcomp: warning: collapsed-gibbs has not settled: R-hat of the log")
    assert done.err.endswith("raise --max-iter and --burn-in\n")
    assert done.err.count("\n") == 1
    assert "200 sweeps" in done.out
    assert "complete" in done.out
    assert "a component is absent from" in done.out
    assert "Held-out perplexity" in done.out


def test_what_it_suggests_works(run_demo, tmp_path):
    done = run_demo("demo")
    lines = [line.strip() for line in done.out.partition("try next:")[2].splitlines() if line]
    assert lines[0] == "dcomp demo -o demo.dcomp"
    for line in lines:
        words = shlex.split(line)
        if words[0] == "echo":
            (tmp_path / words[3]).write_text(words[1] + "\n")
        else:
            assert words[0] == "dcomp"
            assert cli.main(words[1:]) == 0, line
    assert (tmp_path / "demo.dcomp").exists()


def test_the_fit_is_kept_and_never_replaced(run_demo, tmp_path):
    assert "saved in d.dcomp" in run_demo("demo", "-k", 2, "-o", "d.dcomp").out
    assert dcomp.load(tmp_path / "d.dcomp").n_components == 2
    again = run_demo("demo", "-k", 3, "-o", "d.dcomp")
    assert again.code == 1
    assert dcomp.load(tmp_path / "d.dcomp").n_components == 2


def test_it_ends_with_a_report(run_demo, tmp_path):
    done = run_demo("demo", "-k", 2, "--report", "page.html")
    assert "A report is in page.html: open it in a browser" in done.out
    page = (tmp_path / "page.html").read_text()
    assert "Share by" in page  # the script
    assert re.search(r"\d documents held out", page)
    assert run_demo("demo", "-k", 2, "--report", "page.html").code == 1  # it is there already
    found = next(
        iter(run_demo("demo", "-k", 2).out.partition("A report is in ")[2].split(": open"))
    )
    assert found.startswith(str(tmp_path))


def test_demo_of_one_component(run_demo):
    assert run_demo("demo", "-k", 1).code == 0


def test_demo_in_a_process_that_knows_no_unicode(shell):
    done = shell("demo", "-k", 5, PYTHONIOENCODING="ascii")
    assert (done.code, done.err) == (0, "")
    assert "\x1b" not in done.out


def test_unknown_model(run):
    assert run("demo", "--model", "XX").code == 2
    assert run("demo", "--model", "CGP", "--algorithm", "mean-field").code == 2


@pytest.mark.parametrize(
    ("model", "algorithm"),
    [(key, name) for key, names in registry.supported().items() for name in names],
)
def test_demo_of_every_model_by_every_algorithm(run_demo, documents, monkeypatch, model, algorithm):
    counts, labels = documents
    few = counts.rows(np.arange(0, counts.n_docs, 20))
    monkeypatch.setattr(dcomp.data, "docstrings", lambda: (few, labels))
    done = run_demo("demo", "-k", 4, "--model", model, "--algorithm", algorithm)
    assert done.code == 0, done.err
    assert "Held-out perplexity" in done.out
    # A tree is shown as one; a prior is spoken of where one was learned.
    assert ("The tree," in done.out) == (model == "TM" or "├─" in done.out)
    assert ("learned prior alpha" in done.out) <= (algorithm not in ("map", "ml", "tempered-em"))


def test_digits_have_parts(run_demo, tmp_path):
    """A component's picture is its column of Theta, and the heads name digits."""
    kept, page = tmp_path / "digits.dcomp", tmp_path / "digits.html"
    done = run_demo("demo", "--dataset", "digits", "-k", 8, "-o", kept, "--report", page)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    heads = [n for n, line in enumerate(lines) if line.startswith("#")]
    assert len(heads) == 2  # four beside each other
    k = int(lines[heads[0]][1])
    fit = dcomp.load(kept)
    darkest = int(np.argmax(np.asarray(fit.Theta)[:, k]))
    row = lines[heads[0] + 1 + darkest // 8].ljust(16)
    assert row[2 * (darkest % 8)] == "█"
    assert str(page) in done.out.replace("\n", "")
    html = page.read_text(encoding="utf-8")
    assert "Parts of handwritten digits" in html
    assert '"groups":[{"name":"digit"' in html.replace(" ", "")


def test_another_dataset_is_refused(run_demo):
    done = run_demo("demo", "--dataset", "letters")
    assert done.code == 2
    assert "--dataset must be docstrings or digits; got 'letters'" in done.err


def test_demo_for_a_program(run_demo, tmp_path):
    page = tmp_path / "digits.html"
    done = run_demo("demo", "--dataset", "digits", "-k", 4, "--json", "--report", page)
    record = json.loads(done.out)
    assert (record["dataset"], record["report"], record["output"]) == ("digits", str(page), None)
    assert len(record["components"]) == 4
    assert 1 < record["perplexity"] < 64
