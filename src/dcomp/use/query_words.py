"""Queries as counts of a fit's words: texts, lists of tokens, counts, or rows of a table.

A text is read as the texts of the fit were: the same words, stems and stop words. A word that is
known in several blocks (titles and bodies, parts of speech) is asked of each of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dcomp.data import Counts, FeatureSpace, TextOptions
from dcomp.data.text import count_texts
from dcomp.errors import DataWarning, InvalidCounts, InvalidParameter, warn
from dcomp.printable import shortened

_PLAIN = TextOptions(stop_words=None, min_length=1)  # where nobody said what a word is
_NAMED = 5  # unknown words, in a warning


def as_queries(
    queries: Any, features: FeatureSpace, text: TextOptions | None = None, *, quiet: bool = False
) -> Counts:
    """Queries (Q, J) in the features of a fit, each with one known word at least.

    queries: one text, or a list of texts, of lists of tokens (or of (block, token) pairs), counts,
    or a table with the fit's columns. A warning names words that are not known; an error a query
    that has no other.

    >>> features = FeatureSpace.build(3, ["cat", "dog", "sat"])
    >>> as_queries(["The cat sat", "dog dog"], features, quiet=True).to_scipy().toarray().tolist()
    [[1, 0, 1], [0, 2, 0]]
    >>> as_queries("the bird", features, quiet=True)
    Traceback (most recent call last):
    dcomp.errors.InvalidParameter: a query must have a word that the fit knows; 'the bird' has none
    """
    return QueryWords(features, text).read(queries, quiet=quiet)


@dataclass(frozen=True, eq=False)
class QueryWords:
    """The words that queries may have: their names are looked up once, for all queries."""

    features: FeatureSpace
    text: TextOptions | None = None

    @cached_property
    def places(self) -> dict[Any, list[int]]:
        """Columns by name, in every block that has it, and by (block, name)."""
        found: dict[Any, list[int]] = {}
        blocks = self.features.blocks.tolist()
        for j, name in enumerate(self.features.names or ()):
            found.setdefault(name, []).append(j)
            if self.features.n_blocks > 1:
                found[self.features.block_name(blocks[j]), name] = [j]
        return found

    def read(self, queries: Any, *, quiet: bool = False) -> Counts:
        """Queries as counts: see `as_queries`."""
        given = [queries] if isinstance(queries, str) else queries
        features = self.features
        if isinstance(given, Counts):
            found, unknown = given.aligned_to(features)[0], _unknown_columns(given, features)
            return _checked(found, unknown, _names_of(given), quiet)
        if _is_list_of(given, str):
            return _checked(*self._of_texts(list(given)), quiet)
        if isinstance(given, list | tuple) and len(given) and all(map(_is_tokens, given)):
            return _checked(*self._of_tokens(given), quiet)
        if isinstance(given, list | tuple) and not len(given):
            raise InvalidParameter("queries must hold one query at least; found none")
        if np.ndim(given) == 0 and not hasattr(given, "shape"):
            raise InvalidParameter(
                "a query must be a text, a list of tokens, counts or a row of a table; got "
                f"{shortened(repr(given), 40)}"
            )
        table = Counts.from_matrix(given)
        return _checked(table.aligned_to(features)[0], [], _names_of(table), quiet)

    def _of_texts(self, texts: list[str]) -> tuple[Counts, list[str], list[str]]:
        self._require_names()
        names = [repr(shortened(query, 40)) for query in texts]
        for query, name in zip(texts, names, strict=True):
            if not query.strip():
                raise InvalidParameter(f"a query must not be empty; found {name}")
        how = (self.text or _PLAIN).for_new(text="text", text_blocks=False, labels=(), id=None)
        try:
            counts = count_texts(texts, how)
        except InvalidCounts:  # not one word that could be counted
            raise _no_word(names[0]) from None
        words = counts.features.names or ()
        rows = []
        for q in range(counts.n_docs):
            own = slice(counts.indptr[q], counts.indptr[q + 1])
            pairs = zip(counts.indices[own].tolist(), counts.data[own].tolist(), strict=True)
            rows.append({words[w]: times for w, times in pairs})
        return *self._in_columns(rows), names

    def _of_tokens(self, queries: Sequence[Any]) -> tuple[Counts, list[str], list[str]]:
        self._require_names()
        for place, query in enumerate(queries):
            if not query:
                raise InvalidParameter(f"a query must not be empty; query {place} is")
        names = [shortened(repr(list(query)), 40) for query in queries]
        return *self._in_columns([Counter(query) for query in queries]), names

    def _require_names(self) -> None:
        if self.features.names is None:
            raise InvalidParameter("queries by words need a fit whose features have names")

    def _in_columns(self, rows: Sequence[Mapping[Any, int]]) -> tuple[Counts, list[str]]:
        """Words of queries in the columns that have these names; and what has none."""
        starts, indices, data, unknown = [0], [], [], {}
        for row in rows:
            columns: dict[int, int] = {}
            for word, times in row.items():
                if word not in self.places:
                    unknown[str(word)] = True
                for j in self.places.get(word, ()):
                    columns[j] = columns.get(j, 0) + times
            for j in sorted(columns):
                indices.append(j)
                data.append(columns[j])
            starts.append(len(indices))
        arrays = np.array(starts, np.int64), np.array(indices, np.int32), np.array(data, np.int32)
        return Counts(*arrays, self.features), list(unknown)


def _is_list_of(given: Any, kind: type) -> bool:
    return (
        isinstance(given, list | tuple) and bool(given) and all(isinstance(q, kind) for q in given)
    )


def _is_tokens(query: Any) -> bool:
    """A list of words, of (block, word) pairs, or of nothing."""
    return isinstance(query, list | tuple) and all(
        isinstance(token, str) or (isinstance(token, tuple) and len(token) == 2) for token in query
    )


def _names_of(counts: Counts) -> list[str]:
    ids = counts.doc_ids or tuple(map(str, range(counts.n_docs)))
    return [f"query {name!r}" for name in ids]


def _unknown_columns(given: Counts, features: FeatureSpace) -> list[str]:
    if given.features == features or given.features.labels is None:
        return []
    used = np.flatnonzero(given.feature_totals)
    lost = used[given.features.positions_in(features)[used] < 0]
    return [given.features.labels[j] for j in lost]


def _checked(counts: Counts, unknown: list[str], names: list[str], quiet: bool) -> Counts:
    """The queries, unless one of them says nothing; what is not known of them is told."""
    empty = np.flatnonzero(counts.doc_totals == 0)
    if empty.size:
        raise _no_word(names[int(empty[0])])
    if unknown and not quiet:
        few = ", ".join(repr(shortened(word, 30)) for word in unknown[:_NAMED])
        more = f" and {len(unknown) - _NAMED:,} more" if len(unknown) > _NAMED else ""
        warn(f"words of queries that the fit does not know are left out: {few}{more}", DataWarning)
    return counts


def _no_word(name: str) -> InvalidParameter:
    return InvalidParameter(f"a query must have a word that the fit knows; {name} has none")
