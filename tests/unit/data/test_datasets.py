"""The embedded corpus."""

import subprocess
import sys
import warnings

import pytest

from dcomp.data import docstrings, english_stop_words
from dcomp.data.datasets import prose


@pytest.fixture(scope="module")
def corpus():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return docstrings()


def test_size_and_labels(corpus):
    counts, labels = corpus
    assert counts.n_docs == len(labels) > 2000
    assert counts.n_features > 1000
    assert {label: labels.count(label) > 300 for label in set(labels)} == {
        "numpy": True,
        "scipy": True,
        "sklearn": True,
    }
    assert list(counts.doc_ids) == sorted(set(counts.doc_ids))
    assert all(
        name.startswith(label + ".") for name, label in zip(counts.doc_ids, labels, strict=True)
    )


def test_content(corpus):
    counts, _ = corpus
    words = set(counts.features.names)
    assert {"matrix", "fourier", "regression", "eigenvalues"} <= words
    assert not words & (
        english_stop_words() | {"parameters", "returns", "default", "optional", "see"}
    )
    ids = set(counts.doc_ids)
    assert {"numpy.linalg.svd", "scipy.optimize.minimize", "numpy.absolute"} <= ids
    assert "sklearn.decomposition.PCA.fit_transform" in ids
    assert "numpy.abs" not in ids
    assert not any("._" in name or ".tests" in name for name in ids)


def test_nothing_is_printed_and_runs_agree(corpus):
    code = "from dcomp.data import docstrings; print(docstrings()[0].fingerprint())"
    run = subprocess.run(
        [sys.executable, "-W", "always", "-c", code], check=True, capture_output=True, text=True
    )
    assert run.stdout.strip() == corpus[0].fingerprint()
    assert run.stderr == ""


def test_prose_drops_examples():
    text = "Title\n-----\nWords.\n\n>>> f(x)\n... more\noutput\n\nEnd."
    assert prose(text).split() == ["Title", "Words.", "End."]
