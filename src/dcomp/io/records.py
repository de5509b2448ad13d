"""Records with text in some fields, from wherever they come, made into counts.

A field holds a text, or what somebody has taken apart already: a list of tokens, or of
[bag, token] pairs. null is an empty text.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from dcomp.data.attributes import SEVERAL, Attributes
from dcomp.data.counts import Counts
from dcomp.data.joining import joined
from dcomp.data.text_options import TextOptions
from dcomp.data.vocabulary import count_words
from dcomp.data.words import WordReader, Words
from dcomp.errors import InvalidCounts, InvalidFile, InvalidParameter
from dcomp.io.files import OF_NAME
from dcomp.io.limits import Budget
from dcomp.io.text import token_cost, word_watch

Record = Mapping[str, Any]
Where = Mapping[str, Any]
_Kind = Literal["text", "tokens", "pairs"]
_ABSENT: Any = object()
ID = "id"  # the field that names a document where no other is said to


def conditions(where: Any) -> dict[str, tuple[str, ...]]:
    """What `where` asks of records: the values that each of some fields may have, as text.

    >>> conditions({"split": "TRAIN", "year": [1999, 2000]})
    {'split': ('TRAIN',), 'year': ('1999', '2000')}
    """
    if where is None:
        return {}
    if not isinstance(where, Mapping) or not all(isinstance(name, str) for name in where):
        raise InvalidParameter(
            f"where must be values by the names of their fields; found {where!r}"
        )
    return {name: tuple(map(as_text, _listed(value))) for name, value in where.items()}


def _listed(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list | tuple | set | frozenset) else (value,)


def as_text(value: Any) -> str:
    """A value as it is compared and shown: JSON's words for truth, nothing for null.

    >>> as_text(True), as_text(None), as_text(3)
    ('true', '', '3')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def count_records(
    records: Iterator[tuple[str, Record]],
    options: TextOptions,
    budget: Budget,
    where: Where | None = None,
    free_labels: bool = False,
) -> Counts:
    """Counts of the texts, with ids and labels; each record comes with its place in the file.
    free_labels: labels that no record has are left out."""
    wanted = conditions(where)
    notes = _Notes(options, budget, free_labels)
    bags = _Bags(options, budget)
    seen: set[str] = set()
    n_seen = 0
    for place, record in records:
        n_seen += 1
        seen.update(name for name in wanted if name in record)
        if meets(record, wanted):
            bags.add(place, record)
            notes.add(place, record)
    for name in wanted:
        if n_seen and name not in seen:
            raise InvalidParameter(f"where: no document has a field {name!r}")
    if n_seen and not bags.n_docs:
        asked = ", ".join(f"{name}={' or '.join(v)}" for name, v in wanted.items())
        raise InvalidCounts(f"none of {n_seen:,} documents has {asked}")
    about = Attributes(notes.n, notes.columns())
    return bags.counts(doc_ids=notes.doc_ids, attributes=about)


def meets(record: Record, wanted: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether a record has what `conditions` ask for.

    >>> meets({"split": "TRAIN"}, {"split": ("TRAIN", "TEST")}), meets({}, {"split": ("TRAIN",)})
    (True, False)
    """
    return all(_meets(record.get(name, _ABSENT), wanted[name]) for name in wanted)


def _meets(value: Any, allowed: tuple[str, ...]) -> bool:
    if value is _ABSENT:
        return False
    values = value if isinstance(value, list) else (value,)  # any of a list
    return any(as_text(item) in allowed for item in values)


@dataclass(slots=True)
class _Notes:
    """Ids and labels of the documents, as they come."""

    options: TextOptions
    budget: Budget
    free_labels: bool
    ids: list[str] = field(default_factory=list)
    labels: list[list[Any]] = field(default_factory=list)
    n: int = 0

    def __post_init__(self) -> None:
        self.labels = [[] for _ in self.options.labels]

    def add(self, place: str, record: Record) -> None:
        name = self.options.id or ID
        there = name in record
        if (self.n and there != bool(self.ids)) or (self.options.id is not None and not there):
            raise InvalidFile(f"{place}: the field {name!r} must be on every line or on none")
        if there:
            self.ids.append(_name(record[name], place))
            self.budget.charge(
                OF_NAME // 2 + len(self.ids[-1]), f"the ids of {len(self.ids):,} documents"
            )
        for column, label in zip(self.labels, self.options.labels, strict=True):
            column.append(_label(record.get(label), f"{place}: the field {label!r}"))
            size = len(column[-1]) if isinstance(column[-1], str) else 0
            self.budget.charge(OF_NAME // 2 + 4 * size, f"labels of {len(column):,} documents")
        self.n += 1

    @property
    def doc_ids(self) -> tuple[str, ...] | None:
        return tuple(self.ids) if self.ids else None

    def columns(self) -> dict[str, list[Any]]:
        found = dict(zip(self.options.labels, self.labels, strict=True))
        for name in self.options.labels:
            if any(value is not None for value in found[name]):
                continue
            if not self.free_labels:
                raise InvalidParameter(f"labels: no document has a field {name!r}")
            del found[name]
        return found


def _name(value: Any, where: str) -> str:
    """The id of a document, which can be written down."""
    name = str(value)
    if not name.isascii() and any("\ud800" <= letter <= "\udfff" for letter in name):
        raise InvalidFile(f"{where}: an id must be text; found half a character in {name[:40]!r}")
    return name


def _label(value: Any, where: str) -> Any:
    """A text, a number, a truth value or nothing; several as one text."""
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if abs(value) < 1 << 63 else float(value)
    if isinstance(value, list) and not any(isinstance(item, list | dict) for item in value):
        value = SEVERAL.join(map(as_text, value))
    if not isinstance(value, str):
        raise InvalidFile(f"{where} must hold a label; found {str(value)[:40]}")
    return _name(value, where)


class _Bags:
    """The words of the documents, all fields together or each on its own."""

    def __init__(self, options: TextOptions, budget: Budget) -> None:
        self.options = options
        groups = [(name,) for name in options.text] if options.text_blocks else [options.text]
        self._bags = [_Bag(options, names, budget) for names in groups]
        self.n_docs = 0

    def add(self, place: str, record: Record) -> None:
        for bag in self._bags:
            bag.add(place, record)
        self.n_docs += 1

    def counts(self, **known: Any) -> Counts:
        if not self.options.text_blocks:
            return self._bags[0].counts(**known)
        return _joined({bag.fields[0]: bag.counts() for bag in self._bags}, self.options, known)


class _Bag:
    """The words of some fields that are taken together."""

    def __init__(self, options: TextOptions, fields: tuple[str, ...], budget: Budget) -> None:
        self.fields, self._options = fields, options
        self._watch = word_watch(budget, token_cost(options))
        self._kind: _Kind | None = None
        self._reader = WordReader(options, self._watch)
        self._tokens: dict[str, _Tokens] = {}
        self._n = 0

    def add(self, place: str, record: Record) -> None:
        first = record.get(self.fields[0])
        if len(self.fields) == 1 and type(first) is str and self._kind in (None, "text"):
            self._kind = "text" if first else self._kind  # nearly all there is, and fast
            self._reader.add(first)
            self._n += 1
            return
        values = [self._value(place, record, name) for name in self.fields]
        kinds = {_kind(value) for value in values if value}
        if len(kinds | ({self._kind} if self._kind and kinds else set())) > 1:
            raise InvalidFile(
                f"{place}: the text must be of one kind in all documents: text, lists of tokens, "
                "or lists of [bag, token] pairs"
            )
        self._kind = self._kind or next(iter(kinds), None)
        if self._kind in (None, "text"):
            self._reader.add("\n".join(value for value in values if value))
        else:
            self._add_tokens([token for value in values for token in value])
        self._n += 1

    def _value(self, place: str, record: Record, name: str) -> Any:
        value = record.get(name, _ABSENT)
        if value is None:
            return ""
        if isinstance(value, str) or (isinstance(value, list) and _kind(value) is not None):
            return value
        there = ", ".join(repr(key[:40]) for key in list(record)[:9]) or "none"
        found = f"found the fields {there}" if value is _ABSENT else f"found {value!r:.40}"
        raise InvalidFile(f"{place}: expected an object with text in the field {name!r}, {found}")

    def _add_tokens(self, tokens: list[Any]) -> None:
        bags: dict[str, list[str]] = {}
        for token in tokens:
            bag, word = ("", token) if self._kind == "tokens" else token
            bags.setdefault(bag, []).append(word)
        for bag, words in bags.items():
            self._tokens.setdefault(bag, _Tokens()).add(self._n, words)
        found = self._tokens.values()
        n_words = sum(bag.n_words for bag in found)
        self._watch(self._n * len(found), sum(bag.n_tokens for bag in found), n_words)

    def counts(self, **known: Any) -> Counts:
        options, watch = self._options, self._watch
        if not self._tokens:
            return count_words(self._reader.finish(), options, watch, **known)
        if self._kind == "tokens":
            return count_words(self._tokens[""].finish(self._n), options, watch, **known)
        parts = {
            name: count_words(bag.finish(self._n), options, watch)
            for name, bag in sorted(self._tokens.items())
        }
        return _joined(parts, options, known)


class _Tokens:
    """Tokens of one bag, numbered as they come; documents that have none are empty."""

    def __init__(self) -> None:
        self._index: defaultdict[str, int] = defaultdict(None)
        self._index.default_factory = self._index.__len__
        self._codes, self._ends = array("i"), array("q", [0])

    @property
    def n_words(self) -> int:
        return len(self._index)

    @property
    def n_tokens(self) -> int:
        return len(self._codes)

    def add(self, i: int, tokens: list[str]) -> None:
        self._fill(i)
        self._codes.extend(map(self._index.__getitem__, tokens))
        self._ends.append(len(self._codes))

    def _fill(self, n_docs: int) -> None:
        self._ends.extend([len(self._codes)] * (n_docs + 1 - len(self._ends)))

    def finish(self, n_docs: int) -> Words:
        self._fill(n_docs)
        starts, tokens = np.frombuffer(self._ends, np.int64), np.frombuffer(self._codes, np.int32)
        return Words(starts, tokens, list(self._index))


def _joined(parts: dict[str, Counts], options: TextOptions, known: dict[str, Any]) -> Counts:
    """Side by side, with what was dropped from all of them."""
    reports = [part.vocabulary for part in parts.values() if part.vocabulary is not None]
    return joined(parts, text=options, vocabulary=sum(reports[1:], reports[0]), **known)


def _kind(value: Any) -> _Kind | None:
    """What a field holds; None for what is none of these."""
    if isinstance(value, str):
        return "text"
    if all(_is_word(token) for token in value):
        return "tokens"
    are_pairs = all(isinstance(token, list) and len(token) == 2 for token in value)
    return "pairs" if are_pairs and all(_is_word(w) for token in value for w in token) else None


def _is_word(token: Any) -> bool:
    """Text without half a character in it."""
    return isinstance(token, str) and (
        token.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in token)
    )
