"""What other programs read: MALLET's state and the arguments of pyLDAvis."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import dcomp
from dcomp.errors import DataWarning, UnsupportedCombination

TOKENS = [["cat", "dog", "cat"], [], ["dog", "new york", "dog", "cat"]]


def test_mallet_state_has_every_token_in_reading_order(tmp_path: Path) -> None:
    counts = dcomp.Counts.from_tokens(TOKENS, doc_ids=["a", "b", "c d"])
    model = dcomp.LDA(2, algorithm="collapsed-gibbs", gamma=0.1, max_iter=9, verbose=0).fit(counts)
    path = tmp_path / "state.gz"
    with pytest.warns(DataWarning, match="have _ there"):
        model.fit_.write_mallet_state(counts, path)
    head, alpha, beta, *lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    assert head == "#doc source pos typeindex type topic"
    assert beta == "#beta : 0.1"
    assert np.allclose([float(a) for a in alpha.split()[2:]], model.fit_.model.scores.alpha)
    rows = [line.split() for line in lines]
    assert [row[4] for row in rows] == ["cat", "dog", "cat", "dog", "new_york", "dog", "cat"]
    assert [row[2] for row in rows] == list("0120123")
    assert rows[3][1] == "c_d"
    n = np.zeros((3, 2))
    for row in rows:
        n[int(row[3]), int(row[5])] += 1
    assert (n == model.fit_.state.n).all()  # the sampler's own counts
    with pytest.raises(FileExistsError):
        model.fit_.write_mallet_state(counts, path)


def test_mallet_state_needs_assignments(tmp_path: Path) -> None:
    fitted = dcomp.LDA(2, verbose=0).fit(TOKENS).fit_
    with pytest.raises(UnsupportedCombination, match="only collapsed-gibbs"):
        fitted.write_mallet_state(TOKENS, tmp_path / "state.gz")
    counts = dcomp.Counts.from_tokens(TOKENS)
    gamma = [0.1, 0.2, 0.3]
    model = dcomp.LDA(2, algorithm="collapsed-gibbs", gamma=gamma, max_iter=9, verbose=0)
    with pytest.raises(UnsupportedCombination, match="one beta"):
        model.fit(counts).fit_.write_mallet_state(counts, tmp_path / "state.gz")


@pytest.mark.parametrize("kind", [dcomp.LDA, dcomp.GaP])
def test_pyldavis_gets_distributions(kind: type[dcomp.DCA]) -> None:
    X = np.array([[3, 1, 0, 0], [0, 2, 4, 0], [0, 0, 0, 0]])
    counts = dcomp.Counts.from_matrix(X, feature_names=["a", "b", "c", "never"])
    given = kind(2, verbose=0).fit(counts).fit_.to_pyldavis(counts)
    assert given["vocab"] == ["a", "b", "c"]
    assert given["term_frequency"].tolist() == [3, 3, 4]
    assert given["doc_lengths"].tolist() == [4, 6, 0]
    assert np.allclose(given["topic_term_dists"].sum(axis=1), 1)
    assert np.allclose(given["doc_topic_dists"].sum(axis=1), 1)
    assert given["topic_term_dists"].shape == (2, 3)
