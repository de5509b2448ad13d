"""Counts from whatever a person has at hand."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from numpy.typing import ArrayLike

from dcomp.data import frames
from dcomp.data.counts import Counts
from dcomp.errors import InvalidParameter


def as_counts(
    X: Any,
    *,
    feature_names: Iterable[object] | None = None,
    doc_ids: Iterable[object] | None = None,
    blocks: Iterable[Hashable] | ArrayLike | None = None,
    fractional: bool = False,
) -> Counts:
    """Make counts of whatever holds them: Counts, a frame, a matrix, an array, lists of tokens.

    `fractional`: whether a frame, a matrix or an array may hold numbers that are not whole. Counts
    stay as they are.

    >>> as_counts([["a", "b"], ["b"]]).shape
    (2, 2)
    """
    if isinstance(X, Counts):
        if not (feature_names is None and doc_ids is None and blocks is None):
            raise InvalidParameter("feature_names, doc_ids and blocks have no effect on Counts")
        return X
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
    if isinstance(X, str):
        return True
    if not isinstance(X, list | tuple):
        return False
    first = next((doc for doc in X if not isinstance(doc, list | tuple) or doc), None)
    return isinstance(first, str) or (isinstance(first, list | tuple) and isinstance(first[0], str))
