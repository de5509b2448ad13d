"""What people give for a table of counts that is none, and what to give instead."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable
from itertools import islice
from typing import Any

import numpy as np

from dcomp.errors import InvalidCounts

_LOOKED_AT = 1000  # names: enough to tell texts from words
_WORDS = 5.0  # of a name on average, from which on it is a text


def refuse_mistaken(X: Any) -> None:
    """An error where X is a path, a Series, an AnnData or an array of texts.

    >>> refuse_mistaken("corpus.csv")
    Traceback (most recent call last):
    dcomp.errors.InvalidCounts: counts must be a table; found a string, 'corpus.csv': a file is \
read by dcomp.read(path), texts are counted by dcomp.Counts.from_texts([text, …])
    """
    if isinstance(X, str | os.PathLike):
        kind = "string" if isinstance(X, str) else "path"
        raise InvalidCounts(
            f"counts must be a table; found a {kind}, {excerpt(os.fspath(X))!r}: a file is read by "
            "dcomp.read(path), texts are counted by dcomp.Counts.from_texts([text, …])"
        )
    if _library(X) == "anndata":  # which looks like a table to NumPy, for minutes
        raise InvalidCounts(
            f"counts must be a table; found {type(X).__name__} of anndata: its counts with their "
            "names are dcomp.io.from_anndata(adata)"
        )
    if is_series(X):
        raise InvalidCounts(
            f"counts must be a table; found one column, a Series of {_library(X)}: texts are "
            "counted by dcomp.Counts.from_texts(series), (document, feature) pairs by "
            "dcomp.Counts.from_table(frame); a table is the frame itself"
        )
    if isinstance(X, np.ndarray) and X.ndim == 1 and X.size and isinstance(X[0], str):
        raise InvalidCounts(
            "counts must be a table; found an array of strings: texts are counted by "
            "dcomp.Counts.from_texts(array)"
        )


def is_series(value: object) -> bool:
    """Tell whether the value is a pandas or polars Series.

    >>> is_series([1])
    False
    """
    kinds = (getattr(sys.modules.get(name), "Series", None) for name in ("pandas", "polars"))
    return any(isinstance(kind, type) and isinstance(value, kind) for kind in kinds)


def _library(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def are_texts(names: Collection[Any], n_entries: int) -> bool:
    """Tell whether names of features are whole texts: of many words, and hardly one comes twice.

    >>> are_texts(["The film was good, I think", "I slept all through it"], 2)
    True
    >>> are_texts(["new york", "whole milk"], 2)
    False
    """
    if not names or 2 * len(names) < n_entries:
        return False
    return have_many_words(names)


def have_many_words(values: Iterable[Any]) -> bool:
    """Tell whether values are strings of five words and more, on average.

    >>> have_many_words(["The film was good, I think"]), have_many_words(["yea", "nay"])
    (True, False)
    """
    some = list(islice((value for value in values if value is not None), _LOOKED_AT))
    if not some or not all(isinstance(value, str) for value in some):
        return False
    return sum(len(value.split()) for value in some) >= _WORDS * len(some)


def excerpt(text: str, most: int = 40) -> str:
    """The beginning of a text, for a message.

    >>> excerpt("a long story", 6)
    'a long…'
    """
    return text if len(text) <= most else text[:most].rstrip() + "…"
