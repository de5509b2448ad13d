"""Tables as scikit-learn's contract has them, made counts: what every estimator does with its X.

Imported by estimators alone: scikit-learn takes a second to come.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from dcomp.data import Counts, as_counts
from dcomp.data.frames import check_columns, check_unique, is_frame, say_of_odd
from dcomp.data.mistaken import refuse_mistaken
from dcomp.errors import InvalidCounts


def counts_of(
    estimator: Any,
    X: Any,
    *,
    reset: bool = False,
    blocks: Any = None,
    names: Any = None,
    fractional: bool = False,
) -> Counts:
    """The counts of a table that an estimator is given, with what scikit-learn asks of it: the
    number and the names of features are remembered (`reset`), or compared with those of before.

    blocks: a block id per feature, as given or, without `reset`, as fitted. names: of the features,
    where the table that was fitted had none of its own.
    """
    if isinstance(X, Counts) or _is_token_lists(X):
        counts = as_counts(X)
        if reset:
            estimator.n_features_in_ = counts.n_features
            if counts.features.names is not None:
                estimator.feature_names_in_ = np.array(counts.features.names, dtype=object)
        return counts if blocks is None or not reset else counts.with_blocks(blocks)
    refuse_mistaken(X)
    if is_frame(X):
        check_unique(X)
        check_columns(X)
        if reset:
            say_of_odd(X)
    # Other kinds of sparse tables become the first. NaN is found later, with its place.
    how: Any = {"accept_sparse": ("csr", "csc", "coo", "bsr"), "accept_large_sparse": True}
    how |= {"dtype": "numeric", "ensure_all_finite": False}
    table = validate_data(estimator, X, reset=reset, **how)
    ids = getattr(X, "index", None)
    ids = None if ids is None or not hasattr(ids, "inferred_type") else _named_index(ids)
    names = getattr(estimator, "feature_names_in_", names)
    known: Any = {"feature_names": names, "doc_ids": ids, "blocks": blocks}
    try:
        return Counts.from_matrix(table, **known, fractional=fractional)
    except InvalidCounts as error:
        if "found -" not in str(error):
            raise
        # The words that scikit-learn's contract asks for, with the cell beside them.
        raise InvalidCounts(
            f"Negative values in data passed to {type(estimator).__name__}: {error}"
        ) from None


def _is_token_lists(X: Any) -> bool:
    return (
        isinstance(X, list | tuple)
        and len(X) > 0
        and any(
            isinstance(row, str)
            or (isinstance(row, list | tuple) and row and isinstance(row[0], str))
            for row in X[:10]
        )
    )


def _named_index(index: Any) -> list[str] | None:
    """Document ids from a pandas index, unless it only counts."""
    return None if type(index).__name__ == "RangeIndex" else [str(label) for label in index]
