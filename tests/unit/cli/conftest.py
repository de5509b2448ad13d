"""Small inputs, and ways to run commands in this process and in another one."""

import os
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from dcomp.cli.main import main


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Run a command in this process, in a fresh folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)  # a narrow terminal's lines would be folded

    def call(*words):
        code = main([str(word) for word in words])
        return Outcome(code, *capsys.readouterr())

    return call


@pytest.fixture(scope="session")
def environment():
    """This environment for a process in another folder: no relative paths."""
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    whole = os.pathsep.join(os.path.abspath(path) for path in paths if path)
    return {**os.environ, "PYTHONPATH": whole}


@pytest.fixture
def shell(tmp_path, environment):
    """Run a command in a process of its own."""

    def call(*words, **variables):
        command = [sys.executable, "-m", "dcomp.cli.main", *map(str, words)]
        options = {"capture_output": True, "text": True, "timeout": 60, "check": False}
        done = subprocess.run(command, cwd=tmp_path, env={**environment, **variables}, **options)
        return Outcome(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def corpus(tmp_path):
    """A wide table of 30 documents with two clear themes."""
    rng = np.random.default_rng(0)
    half = rng.poisson(3.0, (30, 8))
    half[:15, 4:] = 0
    half[15:, :4] = 0
    lines = ["id,cat,dog,cow,pig,red,blue,green,pink"]
    lines += [",".join([f"d{i}", *map(str, row)]) for i, row in enumerate(half)]
    path = tmp_path / "corpus.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def fitted(run, corpus):
    """A fit of the corpus, on disk."""
    assert run("fit", corpus, "-k", 2, "-o", "fit.dcomp", "--quiet").code == 0
    return corpus.parent / "fit.dcomp"
