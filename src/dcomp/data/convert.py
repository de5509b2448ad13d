"""Counts from whatever a person has at hand."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from numpy.typing import ArrayLike

from dcomp.data import frames
from dcomp.data.categories import from_frame
from dcomp.data.counts import Counts
from dcomp.data.mistaken import refuse_mistaken
from dcomp.errors import InvalidParameter


def as_counts(
    X: Any,
    *,
    feature_names: Iterable[object] | None = None,
    doc_ids: Iterable[object] | None = None,
    blocks: Iterable[Hashable] | ArrayLike | None = None,
    fractional: bool = False,
    categories: bool = False,
    attributes: Iterable[str] = (),
    codes: Iterable[str] | bool = (),
) -> Counts:
    """Make counts of whatever holds them: Counts, a frame, a matrix, an array, lists of tokens.

    `fractional`: whether a frame, a matrix or an array may hold numbers that are not whole. Counts
    stay as they are.

    With `categories` a frame holds answers, votes or grades: one block of features per column of
    words, nothing where one is missing. Columns of numbers are attributes unless `codes` names them
    (True: all), and so are those that `attributes` names.

    >>> as_counts([["a", "b"], ["b"]]).shape
    (2, 2)
    >>> import pandas
    >>> frame = pandas.DataFrame({"left": ["well", "badly", None], "right": ["well"] * 3})
    >>> as_counts(frame, categories=True).features.labels
    ('left=badly', 'left=well', 'right=well')
    """
    if isinstance(X, Counts):
        if not (feature_names is None and doc_ids is None and blocks is None):
            raise InvalidParameter("feature_names, doc_ids and blocks have no effect on Counts")
        if X.mapped is not None:
            X.mapped.check()
        return X
    refuse_mistaken(X)
    if categories:
        if not frames.is_frame(X) or fractional or not (feature_names is None and blocks is None):
            raise InvalidParameter(
                "categories=True takes a frame, whose columns are the blocks, with doc_ids, "
                f"attributes and codes alone; got {type(X).__name__}"
            )
        return from_frame(X, attributes=attributes, codes=codes, doc_ids=doc_ids)
    if attributes or codes:
        raise InvalidParameter("attributes= and codes= have no effect without categories=True")
    if frames.is_frame(X):
        return Counts.from_frame(
            X, feature_names=feature_names, doc_ids=doc_ids, blocks=blocks, fractional=fractional
        )
    if _holds_tokens(X):
        if not (feature_names is None and blocks is None):
            raise InvalidParameter(
                "feature_names and blocks have no effect on token lists; "
                "use Counts.from_tokens with vocabulary"
            )
        return Counts.from_tokens(X, doc_ids=doc_ids)
    return Counts.from_matrix(
        X, feature_names=feature_names, doc_ids=doc_ids, blocks=blocks, fractional=fractional
    )


def _holds_tokens(X: Any) -> bool:
    if not isinstance(X, list | tuple):
        return False
    first = next((doc for doc in X if not isinstance(doc, list | tuple) or doc), None)
    return isinstance(first, str) or (isinstance(first, list | tuple) and isinstance(first[0], str))
