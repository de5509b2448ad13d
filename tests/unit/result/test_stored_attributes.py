"""Attributes that a fit was asked to keep, in its file and in what goes on from it."""

import pytest
from support.sealed import edit_manifest

import dcomp
from dcomp.errors import InvalidFile, InvalidParameter


@pytest.fixture
def kept():
    counts = dcomp.Counts.from_matrix([[3, 1], [0, 4], [2, 2]]).with_attributes(
        party=["D", None, "R"], born=[1946, 1934, 1950], score=[0.5, None, -1], senior=[True] * 3
    )
    fitted = dcomp.LDA(2, verbose=0, max_iter=3, tol=0).fit(counts).fit_
    assert not fitted.attributes
    return fitted.with_attributes(counts), counts


def test_they_are_saved_and_loaded(kept, tmp_path):
    fitted, counts = kept
    dcomp.save(fitted, tmp_path / "f.dcomp")
    again = dcomp.load(tmp_path / "f.dcomp")
    assert again.attributes == counts.attributes
    assert again.attributes["born"].dtype.kind == "i"
    further = dcomp.fit(counts, again.model, max_iter=5, tol=0, resume=again)
    assert further.attributes == counts.attributes


def test_they_must_be_of_the_documents(kept):
    fitted, counts = kept
    with pytest.raises(InvalidParameter, match="of the 3 documents that were fitted; these are of"):
        fitted.with_attributes(counts.rows([0]))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ([1], "lists by name"),
        ({"party": ["D"]}, "'party' must be a list of 3 values"),
        ({"party": ["D", ["R"], None]}, "'party' must hold text, numbers and null"),
        ({"born": [1, 2, 10**30]}, "'born' must hold numbers of 64 bits"),
    ],
)
def test_files_that_say_otherwise_are_refused(kept, tmp_path, entry, message):
    path = tmp_path / "f.dcomp"
    dcomp.save(kept[0], path)
    edit_manifest(path, lambda manifest: manifest.update(attributes=entry))
    with pytest.raises(InvalidFile, match=message):
        dcomp.load(path)
