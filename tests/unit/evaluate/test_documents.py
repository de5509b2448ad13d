"""Typical and similar documents, and the texts shown beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dcomp
from dcomp.errors import DataWarning, InvalidParameter
from dcomp.evaluate import similar, typical
from dcomp.io.excerpts import texts_of

TEXTS = ["cat mouse cat milk", "dog bone bone walk", "mouse cat milk", "bone dog", "cat dog"]


@pytest.fixture(scope="module")
def counts() -> dcomp.Counts:
    return dcomp.Counts.from_texts(TEXTS, doc_ids=["c1", "d1", "c2", "d2", "both"])


@pytest.fixture(scope="module")
def fitted(counts: dcomp.Counts) -> dcomp.Fit:
    return dcomp.LDA(2, alpha=0.1, gamma=0.1, verbose=0, random_state=0).fit(counts).fit_


def test_typical_documents_have_most_of_a_component(
    fitted: dcomp.Fit, counts: dcomp.Counts
) -> None:
    for k, found in enumerate(typical(fitted, counts, 2)):
        assert set(found.names) in ({"c1", "c2"}, {"d1", "d2"})
        assert found.values[0] == pytest.approx(fitted.scores[:, k].max(), rel=1e-6)
        assert set(found.words[0]) <= set(TEXTS[found.numbers[0]].split())
    assert [f.names for f in typical(fitted, n=2)] == [f.names for f in typical(fitted, counts, 2)]


def test_similar_documents_and_a_new_one(fitted: dcomp.Fit, counts: dcomp.Counts) -> None:
    assert similar(fitted, counts, "c1", 1).names == ("c2",)
    assert similar(fitted, counts, 1, 1).names == ("d2",)
    new = dcomp.Counts.from_texts(["a dog and its bone"], like=counts)
    with pytest.warns(DataWarning, match="does not know"):
        found = similar(fitted, dcomp.Counts.from_texts([*TEXTS, "zebra"], like=counts), new, 2)
    assert {found.names[0], found.names[1]} == {"document 1", "document 3"}
    assert (np.diff(found.values) <= 0).all()
    assert found.values.max() <= 1


def test_a_document_that_is_not_there_is_told(fitted: dcomp.Fit, counts: dcomp.Counts) -> None:
    with pytest.raises(
        InvalidParameter, match=r"no document 'c9'; documents have ids such as 'c1'"
    ):
        similar(fitted, counts, "c9")
    with pytest.raises(InvalidParameter, match="no document 7"):
        similar(fitted, counts, 7)
    twice = dcomp.Counts.from_texts(TEXTS[:2], doc_ids=["a", "a"], like=counts)
    with pytest.raises(InvalidParameter, match="there 2 times, first as number 0"):
        similar(fitted, twice, "a")
    unknown = dcomp.Counts.from_texts(["zebra"], like=counts)
    with pytest.raises(InvalidParameter, match="no word that the fit knows"):
        similar(fitted, counts, unknown)


def test_shares_of_gamma_poisson_go_by_the_sum(counts: dcomp.Counts) -> None:
    model = dcomp.GaP(2, verbose=0).fit(counts)
    assert all(0 <= v <= 1 for found in typical(model, counts, 5) for v in found.values)


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.txt", "folder", "a.mtx"])
def test_texts_come_from_the_file(tmp_path: Path, name: str) -> None:
    path, options = tmp_path / name, dcomp.TextOptions()
    where = None
    if name == "a.jsonl":
        lines = [f'{{"split": "{s}", "text": "{t}"}}' for s, t in zip("xyx", "abc", strict=True)]
        path.write_text("\n".join(lines))
        where = {"split": "x"}
    elif name == "a.csv":
        path.write_text("text,n\na,1\nc,2\n")
    elif name == "folder":
        path.mkdir()
        (path / "1.txt").write_text("a")
        (path / "2.txt").write_text("c")
    elif name == "a.txt":
        path.write_text("a\nc\n")
    else:
        path.write_text("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1\n")
        assert texts_of(path, {0}, options) == {}
        return
    assert texts_of(path, {1}, options, where=where) == {1: "c"}
