"""Wrong tables of which readers were silent: each with what a tired person would give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import dcomp
from dcomp.errors import DataWarning, InvalidCounts, InvalidFile, InvalidParameter

BIRDS = "a 1 120 7\na 1 124 -9\nb 2 124 9\nb 2 124 7\n"


def test_descriptions_of_roll_calls_are_no_votes(tmp_path: Path) -> None:
    path = tmp_path / "rollcalls.csv"
    path.write_text("number,date,result,passed,yea,nay\n1,2003-01-07,Agreed,1,51,46\n")
    with pytest.raises(InvalidFile, match=r"describes roll calls.*give the file that has them"):
        dcomp.read(path, format="votes")
    (tmp_path / "votes.csv").write_text("name,v1\nAnn,Y\n")
    with pytest.raises(InvalidFile, match=r"votes\.csv beside it has them"):
        dcomp.read(path, format="votes")


def test_a_code_of_missing_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "birds.str"
    path.write_text(BIRDS)
    with pytest.raises(InvalidParameter, match=r"no allele in .* is 0, and some are -9"):
        dcomp.read(path, missing="0")
    assert dcomp.read(path, missing="-9") == dcomp.read(path)
    path.write_text(BIRDS.replace("-9", "9"))
    with pytest.warns(DataWarning, match="no allele has the code -9"):
        dcomp.read(path, missing="-9")


def test_nearly_the_name_of_a_column(tmp_path: Path) -> None:
    path = tmp_path / "birds.str"
    path.write_text(BIRDS)
    with pytest.raises(InvalidParameter, match=r"'populaton' would be .* is 'population' meant"):
        dcomp.read(path, columns="id,populaton")
    assert "site" in dcomp.read(path, columns="id,site").attributes


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_lsa_says_where_a_number_is_missing(form: type) -> None:
    X = np.array([[1.0, 2.0, 0.0], [0.0, np.nan, 4.0], [3.0, 1.0, 1.0]])
    with pytest.raises(InvalidCounts, match="NaN, first in row 1, column 1: LSA needs every"):
        dcomp.LSA(1).fit(form(X))
    X[1, 1] = np.inf
    with pytest.raises(InvalidCounts, match="infinity, first in row 1"):
        dcomp.LSA(1).fit(form(X))


def test_numbers_that_say_what_a_document_is(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("doc,year,cat,dog\nd1,1999,3,0\nd2,2001,0,4\n")
    with pytest.raises(InvalidFile, match=r"'year' says what a document is: label_columns=2"):
        dcomp.read(path)
    counts = dcomp.read(path, label_columns=2)
    assert counts.features.names == ("cat", "dog")
    assert list(counts.attributes) == ["doc", "year"]
    path.write_text("doc,cat,dog,label\nd1,3,0,1\nd2,0,4,2\n")
    with pytest.raises(InvalidFile, match="'label' says what a document is: take the column out"):
        dcomp.read(path)
