"""dcomp fit --dask."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

import dcomp
from dcomp.cli.main import app, main


@pytest.fixture
def corpus(tmp_path, counts):
    path = tmp_path / "corpus.mtx"
    dcomp.io.write(counts, path)
    return path


def run(*words) -> object:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_fit_on_a_cluster_is_the_fit_in_as_many_parts(client, corpus, tmp_path):
    how = ("-k", 3, "--max-iter", 5, "--tries", 1, "--quiet")
    address = client.scheduler_info()["address"]
    for name, where in {"there": ("--dask", address), "here": ("--parts", 8)}.items():
        done = run("fit", corpus, *how, *where, "-o", tmp_path / f"{name}.dcomp")
        assert done.exit_code == 0, done.output
    there, here = (dcomp.load(tmp_path / f"{name}.dcomp") for name in ("there", "here"))
    assert np.array_equal(there.Theta, here.Theta)
    assert there.state.firsts == here.state.firsts
    assert len(here.state.firsts) == 8


def test_an_address_is_looked_at_before_the_corpus(tmp_path, capsys):
    code = main(["fit", str(tmp_path / "nowhere.mtx"), "-k", "3", "--dask", "nonsense"])
    (line,) = capsys.readouterr().err.splitlines()
    assert code == 2
    assert line.startswith("dcomp: error: the address of a Dask scheduler must have a host")
    assert line.endswith("got 'nonsense'")


def test_threads_and_a_cluster_are_not_both_asked_for(corpus):
    done = run("fit", corpus, "-k", 3, "--dask", "local", "--jobs", 2)
    assert done.exit_code != 0
    assert "leave out --jobs or --dask" in str(done.exception) + done.output
