"""Counts that come one by one, as (document, feature, count) or as tokens, made into a matrix."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from itertools import islice
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from dcomp.data.canonical import LIMIT, Rows, compressed, counted
from dcomp.data.mistaken import are_texts, excerpt
from dcomp.data.sequences import Sequences
from dcomp.errors import InvalidCounts, InvalidParameter

_CHUNK = 1 << 18  # bounds temporaries


class LongForm(NamedTuple):
    """A sparse matrix in which repeated cells may appear, with what its rows and columns are.

    >>> LongForm(None, ["a"], ["d"], None).feature_names
    ['a']
    """

    matrix: Any
    feature_names: Sequence[object] | None
    doc_ids: Sequence[object] | None
    blocks: Iterable[Hashable] | ArrayLike | None
    sequences: Sequences | None = None  # the tokens in reading order, where they came in one


def from_columns(
    documents: Iterable[Any],
    features: Iterable[Any],
    counts: ArrayLike | None,
    blocks: Iterable[Hashable] | None,
    fractional: bool = False,
) -> LongForm:
    """Number documents by first appearance; sort features by block and, if strings, by name.

    >>> from_columns(["d", "d"], ["b", "a"], [2, 1], None).feature_names
    ['a', 'b']
    """
    rows, ids = _number(documents, "document")
    keys = list(features) if blocks is None else _pairs(blocks, features)
    columns, keys = _number(keys, "feature", missing_inside=blocks is not None)
    if rows.size != columns.size:
        _refuse_lengths(rows.size, columns.size)
    if blocks is None and are_texts(keys, rows.size):
        refuse_texts(str(keys[0]), "features")
    columns, keys = _sort_features(columns, keys, in_blocks=blocks is not None)

    def where(k: int) -> str:
        key = keys[int(columns[k])]
        feature = key if blocks is None else f"{key[0]}={key[1]}"
        return f"row {k} (document {str(ids[int(rows[k])])!r}, feature {str(feature)!r})"

    values = np.ones(rows.size, np.int32) if counts is None else np.asarray(counts)
    if values.ndim != 1 or values.size != rows.size:
        _refuse_lengths(rows.size, columns.size, values.size)
    values = counted(values, where, fractional)
    matrix = sparse.coo_array((values, (rows, columns)), shape=(len(ids), len(keys)))
    names = [str(key if blocks is None else key[1]) for key in keys]
    of_block = None if blocks is None else [key[0] for key in keys]
    return LongForm(matrix, names, [str(i) for i in ids], of_block)


def _refuse_lengths(*lengths: int) -> None:
    found = ", ".join(str(length) for length in lengths)
    raise InvalidCounts(
        f"documents, features, counts and blocks must have one length; found lengths {found}"
    )


def _pairs(blocks: Iterable[Hashable], features: Iterable[Any]) -> list[tuple[Hashable, Any]]:
    of_block, names = list(blocks), list(features)
    if len(of_block) != len(names):
        _refuse_lengths(len(of_block), len(names))
    return list(zip(of_block, names, strict=True))


def _number(
    values: Iterable[Any], what: str, missing_inside: bool = False
) -> tuple[NDArray[np.int64], list[Any]]:
    if isinstance(values, str):
        raise InvalidCounts(f"{what}s must be a sequence, one per row; found {values!r}")
    items = values.tolist() if isinstance(values, np.ndarray) else list(values)
    number: dict[Any, int] = {}
    try:
        codes = [number.setdefault(item, len(number)) for item in items]
    except TypeError as error:
        raise InvalidCounts(f"every {what} must be a name or a number: {error}") from None
    for item in number:
        parts = item if missing_inside else (item,)
        # NaN is the one value that differs from itself.
        if any(part is None or part != part for part in parts):
            row = next(k for k, other in enumerate(items) if other is item)
            raise InvalidCounts(f"every row must have a {what}; found {item!r} at row {row}")
    return np.array(codes, np.int64), list(number)


def _sort_features(
    columns: NDArray[np.int64], keys: list[Any], in_blocks: bool
) -> tuple[NDArray[np.int64], list[Any]]:
    names = [key[1] for key in keys] if in_blocks else keys
    alphabetical = all(isinstance(name, str) for name in names)
    if not (alphabetical or in_blocks):
        return columns, keys
    rank: dict[Hashable, int] = {}
    of_block = [rank.setdefault(key[0], len(rank)) if in_blocks else 0 for key in keys]

    def place(k: int) -> tuple[int, str]:
        return of_block[k], names[k] if alphabetical else ""

    order = sorted(range(len(keys)), key=place)
    position = np.empty(len(keys), np.int64)
    position[order] = np.arange(len(keys))
    return position[columns], [keys[k] for k in order]


def sort_names(columns: NDArray[np.int32], names: list[Any]) -> list[Any]:
    """Number features by their names; with little memory beside the numbers themselves.

    >>> columns = np.array([0, 1, 0], np.int32)
    >>> sort_names(columns, ["b", "a"]), columns
    (['a', 'b'], array([1, 0, 1], dtype=int32))
    """
    order = sorted(range(len(names)), key=names.__getitem__)
    position = np.empty(len(names), np.int32)
    position[order] = np.arange(len(names), dtype=np.int32)
    for start in range(0, columns.size, _CHUNK):
        part = columns[start : start + _CHUNK]
        part[...] = position[part]
    return [names[k] for k in order]


def from_token_lists(
    docs: Iterable[Iterable[str]],
    vocabulary: Sequence[str] | None,
    doc_ids: Sequence[object] | None,
    watch: Callable[[int, int, int], None] | None = None,
) -> LongForm:
    """Count tokens; the features are the vocabulary, or all distinct tokens in sorted order.
    watch: told after each document how many documents, tokens and distinct tokens there are.

    >>> from_token_lists([["b", "a", "b"]], None, None).matrix.toarray().tolist()
    [[1, 2]]
    """
    if isinstance(docs, str):
        raise InvalidCounts("token lists are expected; found one string: " + _TOKENISE)
    fixed = None if vocabulary is None else _fixed_index(vocabulary)
    index: defaultdict[str, int] = defaultdict(None, fixed or {})
    if fixed is None:
        index.default_factory = index.__len__  # an unseen token gets the next number
    codes, ends = array("i"), array("q", [0])
    for i, doc in enumerate(docs):
        _check_tokens(doc, i, doc_ids)
        try:
            if fixed is None and watch is not None:
                tokens = iter(doc)
                while part := list(islice(tokens, _CHUNK // 8)):
                    codes.extend(map(index.__getitem__, part))
                    watch(i + 1, len(codes), len(index))  # also within a long document
            elif fixed is None:
                codes.extend(map(index.__getitem__, doc))
            else:
                codes.extend([fixed.get(token, -1) for token in doc])
        except TypeError as error:
            raise InvalidCounts(f"tokens must be strings; document {i}: {error}") from None
        ends.append(len(codes))
        if watch is not None:
            watch(i + 1, len(codes), len(index))
    names: list[Any] = list(index)
    index.clear()
    columns = np.frombuffer(codes, np.int32)
    if fixed is None:
        in_bags = bool(names) and isinstance(names[0], tuple)
        wrong = next((token for token in names if not _is_token(token, in_bags)), None)
        if wrong is not None:
            kind = "(bag, token) pairs of strings" if in_bags else "strings"
            raise InvalidCounts(f"tokens must be {kind}; found {wrong!r}")
        if are_texts(names, len(codes)):
            refuse_texts(names[0], "tokens")
        names = sort_names(columns, names)
    shape = (len(ends) - 1, len(names))
    if 0 in shape:
        raise InvalidCounts(
            "there must be at least one document and one token; "
            f"found {shape[0]} documents and {shape[1]} distinct tokens"
        )
    sequences = Sequences(np.frombuffer(ends, np.int64), columns)
    ids = None if doc_ids is None else [str(name) for name in doc_ids]
    blocks = None
    if isinstance(names[0], tuple):
        blocks, names = [bag for bag, _ in names], [token for _, token in names]
    return LongForm(_counted(sequences, len(names)), names, ids, blocks, sequences)


def _is_token(token: Any, in_bags: bool) -> bool:
    if not in_bags:
        return isinstance(token, str)
    pair = isinstance(token, tuple) and len(token) == 2
    return pair and all(isinstance(part, str) for part in token)


def _counted(sequences: Sequences, n_features: int) -> Any:
    starts, features = sequences.bag()
    ones = np.ones(features.size, np.int32)
    return compressed(Rows(starts, features, ones), (sequences.n_docs, n_features))


def from_id_lists(
    docs: Iterable[ArrayLike],
    n_features: int | None,
    feature_names: Iterable[object] | None,
    doc_ids: Iterable[object] | None,
    blocks: Iterable[Hashable] | ArrayLike | None,
) -> LongForm:
    """Count feature numbers; there are as many features as names, or up to the largest number.

    >>> from_id_lists([[1, 0, 1]], None, None, None, None).matrix.toarray().tolist()
    [[1, 2]]
    """
    parts = [_ids(doc, i) for i, doc in enumerate(docs)]
    starts = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([part.size for part in parts], out=starts[1:])
    tokens = np.concatenate(parts) if parts else np.zeros(0, np.int32)
    names = None if feature_names is None else list(feature_names)
    if n_features is None:
        n_features = int(tokens.max(initial=-1)) + 1 if names is None else len(names)
    if not (parts and n_features >= 1):
        raise InvalidCounts(
            "there must be at least one document and one feature; "
            f"found {len(parts)} documents and {n_features} features"
        )
    if tokens.max(initial=-1) >= n_features:
        raise InvalidCounts(
            f"feature numbers must be below the number of features, {n_features}; "
            f"found {tokens.max()}"
        )
    sequences = Sequences(starts, tokens)
    ids = None if doc_ids is None else list(doc_ids)
    return LongForm(_counted(sequences, n_features), names, ids, blocks, sequences)


def _ids(doc: ArrayLike, i: int) -> NDArray[np.int32]:
    values = np.asarray(doc)
    if not values.size and values.ndim == 1:
        return np.zeros(0, np.int32)  # an empty list has a type of no meaning
    good = values.ndim == 1 and values.dtype.kind in "iu"
    if not good or values.min() < -1 or values.max() >= LIMIT:
        raise InvalidCounts(
            "every document must be a list of feature numbers from 0, or -1 for what is no "
            f"feature; document {i} is not"
        )
    return values.astype(np.int32)


_TOKENISE = (
    "dcomp.Counts.from_texts counts the words of texts, dcomp.data.tokenize gives them in order"
)


def refuse_texts(text: str, what: str) -> NoReturn:
    """An error about names of features, or tokens, that are whole texts.

    >>> refuse_texts("It was a dark and stormy night", "tokens")
    Traceback (most recent call last):
    dcomp.errors.InvalidCounts: tokens must be words or names; found whole texts, 'It was a dark \
and stormy night': dcomp.Counts.from_texts counts the words of texts, dcomp.data.tokenize gives \
them in order
    """
    raise InvalidCounts(
        f"{what} must be words or names; found whole texts, {excerpt(text)!r}: {_TOKENISE}"
    )


def _check_tokens(doc: Any, i: int, doc_ids: Sequence[object] | None) -> None:
    if isinstance(doc, Iterable) and not isinstance(doc, str | bytes):
        return
    name = f"document {i}" if doc_ids is None or i >= len(doc_ids) else f"document {doc_ids[i]!r}"
    raise InvalidCounts(
        f"every document must be a list of tokens; {name} is of type {type(doc).__name__}: "
        + _TOKENISE
    )


def _fixed_index(vocabulary: Sequence[str]) -> dict[str, int]:
    if isinstance(vocabulary, str | Mapping | Set):
        raise InvalidParameter(
            "vocabulary must be a sequence of words in the order of the features; "
            f"found {type(vocabulary).__name__} (for a mapping v: sorted(v, key=v.get))"
        )
    index: dict[str, int] = {}
    for j, word in enumerate(vocabulary):
        if index.setdefault(word, j) != j:
            raise InvalidParameter(f"vocabulary must not repeat a word; {word!r} appears twice")
    return index
