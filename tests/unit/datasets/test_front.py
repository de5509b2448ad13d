"""What there is, by name; and the tables that come with the libraries below."""

from __future__ import annotations

import numpy as np
import pytest

from dcomp import datasets
from dcomp.datasets import at_hand, front
from dcomp.errors import InvalidParameter

OFFLINE = [name for name in datasets.names() if front.DATASETS[name].kind != front.DOWNLOAD]


def test_every_public_function_is_behind_the_front():
    made = {row.make.__name__ for row in front.DATASETS.values()}
    others = {"describe", "load", "names", "docstrings"}
    public = {name for name in datasets.__all__ if name[0].islower()}
    assert public - others == made - {"documentation"}
    assert "docstrings" in front.DATASETS


def test_kinds_are_those_that_are_explained():
    assert {row.kind for row in front.DATASETS.values()} == set(front.KINDS)
    every = [name for kind in front.KINDS for name in datasets.names(kind)]
    assert sorted(every) == sorted(datasets.names())
    with pytest.raises(InvalidParameter, match="kind must be one of made-up"):
        datasets.names("made up")


@pytest.mark.parametrize("name", OFFLINE)
def test_load_gives_counts(name, monkeypatch):
    counts = datasets.votes(5, 5).counts  # any serve: reading the docstrings takes seconds
    monkeypatch.setattr(at_hand, "docstrings", lambda: (counts, ["numpy"] * 5))
    table = datasets.load(name)
    assert table.counts.n_docs >= 5
    assert str(datasets.describe(name)).startswith(f"{name} (")


def test_names_are_helped_with():
    with pytest.raises(InvalidParameter, match="did you mean 'digits'"):
        datasets.load("digit")
    with pytest.raises(InvalidParameter, match="there are genotypes, votes"):
        datasets.load("zzz")
    with pytest.raises(InvalidParameter, match="votes takes no option 'n_docs'"):
        datasets.load("votes", n_docs=3)


def test_digits_are_images_of_ink():
    table = datasets.digits()
    images = table.counts.to_scipy().toarray()
    assert images.min() == 0
    assert images.max() == 16
    digit = table.counts.attributes[table.label]
    zero, one = (images[digit == d].mean(axis=0).reshape(8, 8) for d in (0, 1))
    assert zero[3:5, 3:5].mean() < 1 < 10 < one[3:5, 3:5].mean()  # a ring and a stroke
    assert np.unique(digit).tolist() == list(range(10))
