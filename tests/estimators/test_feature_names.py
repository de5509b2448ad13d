"""Names given to arrays, which have none themselves."""

import warnings

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

import dcomp
from dcomp.errors import InvalidParameter

TEXTS = ["the cat and the mouse", "a dog with a bone", "cat and mouse", "dog and bone"]


def test_names_of_a_vectoriser() -> None:
    words = CountVectorizer()
    X = words.fit_transform(TEXTS)
    model = dcomp.LDA(2, verbose=0).fit(X, feature_names=words.get_feature_names_out())
    assert set(model.top_features(2).names[0]) <= set(words.get_feature_names_out())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = model.transform(X)
    assert np.allclose(
        scores,
        model.fit_.transform(dcomp.as_counts(X, feature_names=words.get_feature_names_out())),
    )


def test_names_that_do_not_fit_are_told() -> None:
    X = [[3, 1], [0, 4]]
    with pytest.raises(InvalidParameter, match="one per feature: 2 features, 3 names"):
        dcomp.LDA(2, verbose=0).fit(X, feature_names=["a", "b", "c"])
    counts = dcomp.Counts.from_matrix(X, feature_names=["a", "b"])
    with pytest.raises(InvalidParameter, match="names its features itself"):
        dcomp.LDA(2, verbose=0).fit(counts, feature_names=["a", "b"])
