"""Counts of the same documents side by side, each a block of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcomp.data.attributes import Attributes
from dcomp.data.counts import Counts
from dcomp.data.features import FeatureSpace
from dcomp.data.sequences import Sequences
from dcomp.errors import InvalidCounts, InvalidParameter


def joined(parts: Mapping[str, Counts], **known: Any) -> Counts:
    """One table of all columns; the keys name the blocks. A part that has blocks keeps them, as
    "key:block". Documents must be the same, in one order. known: other fields of the result.

    >>> title, body = Counts.from_tokens([["cat"]]), Counts.from_tokens([["cat", "dog"]])
    >>> joined({"title": title, "body": body}).features.labels
    ('title=cat', 'body=cat', 'body=dog')
    """
    if not parts or not all(isinstance(part, Counts) for part in parts.values()):
        raise InvalidParameter("join needs counts by the names of their blocks, one or more")
    tables = list(parts.values())
    ids = _same_documents(parts)
    features = _features(parts)
    first = np.cumsum([0, *(table.n_features for table in tables)])
    indptr = np.sum([table.indptr for table in tables], axis=0)
    kind: Any = np.float64 if any(table.is_fractional for table in tables) else np.int32
    indices, data = np.empty(int(indptr[-1]), np.int32), np.empty(int(indptr[-1]), kind)
    places = _places([table.indptr for table in tables])
    for place, table, at in zip(places, tables, first, strict=False):
        indices[place] = table.indices + np.int32(at)
        data[place] = table.data
    order = _sequences(tables, first)
    about = _attributes(tables)
    missing = all(table.empty_is_missing for table in tables)
    known = {"doc_ids": ids, "attributes": about, "empty_is_missing": missing} | known
    return Counts(indptr, indices, data, features, sequences=order, **known)


def _places(starts: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Where the entries of each part lie in rows that are put one behind the other."""
    out = []
    before = np.sum(starts, axis=0)[:-1]  # where a row begins, and then where the next part does
    for own in starts:
        lengths = np.diff(own)
        out.append(np.arange(int(own[-1])) + np.repeat(before - own[:-1], lengths))
        before = before + lengths
    return out


def _same_documents(parts: Mapping[str, Counts]) -> tuple[str, ...] | None:
    (name, first), *others = parts.items()
    ids = first.doc_ids
    for other, counts in others:
        if counts.n_docs != first.n_docs:
            raise InvalidCounts(
                "counts that are joined must have the same documents: "
                f"{name!r} has {first.n_docs}, {other!r} has {counts.n_docs}"
            )
        if None not in (ids, counts.doc_ids) and ids != counts.doc_ids:
            pairs = enumerate(zip(ids or (), counts.doc_ids or (), strict=True))
            i, pair = next((i, pair) for i, pair in pairs if pair[0] != pair[1])
            raise InvalidCounts(
                "counts that are joined must have the same documents in one order: "
                f"number {i} is {pair[0]!r} in {name!r} and {pair[1]!r} in {other!r}"
            )
        ids = ids or counts.doc_ids
    return ids


def _features(parts: Mapping[str, Counts]) -> FeatureSpace:
    spaces = {str(name): counts.features for name, counts in parts.items()}
    names: list[str] | None = []
    blocks: list[str] = []
    for name, space in spaces.items():
        names = None if names is None or space.names is None else [*names, *space.names]
        inner = [f"{name}:{space.block_name(g)}" for g in range(space.n_blocks)]
        blocks += [name if space.n_blocks == 1 else inner[g] for g in space.blocks.tolist()]
    return FeatureSpace.build(len(blocks), names, blocks)


def _sequences(tables: Sequence[Counts], first: NDArray[np.int64]) -> Sequences | None:
    """The reading order, part after part, where all have one."""
    orders = [table.sequences for table in tables if table.sequences is not None]
    if len(orders) < len(tables):
        return None
    starts = np.sum([order.starts for order in orders], axis=0)
    tokens = np.empty(int(starts[-1]), np.int32)
    places = _places([order.starts for order in orders])
    for place, order, at in zip(places, orders, first, strict=False):
        tokens[place] = np.where(order.tokens >= 0, order.tokens + np.int32(at), np.int32(-1))
    return Sequences(starts, tokens)


def _attributes(tables: Sequence[Counts]) -> Attributes:
    found = Attributes(tables[0].n_docs)
    for table in tables:
        for name, column in table.attributes.items():
            one = {name: column}
            if name in found and Attributes(len(column), one) != Attributes(
                len(column), {name: found[name]}
            ):
                raise InvalidCounts(
                    f"counts that are joined must agree on attributes; {name!r} differs"
                )
            found = found.with_columns(one)
    return found
