"""How text becomes counts: everything that a user may say of it, in one place, checked once."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from dcomp.errors import InvalidFile, InvalidParameter

NUMBERS = ("none", "all", "years")
CASES = ("lower", "keep")
_LARGEST = 1 << 22  # characters of a file of stop words
MAIL = ("headers", "quotes", "signatures")


@dataclass(frozen=True, slots=True)
class TextOptions:
    """Which fields hold text, what a word is, and which words are kept.

    text: the field or fields that hold the texts; together, or each a block of its own with
    `text_blocks`. id: the field that names a document. labels: fields that become attributes.
    without: parts of mail to leave out, of "headers", "quotes" and "signatures".
    token: a regular expression for a word, in place of the rule; of its groups the first is taken.
    numbers: "none", "all", or "years" (1000 to 2099). case: "lower" or "keep".
    stop_words: "english" or another language, words, the path of a file that has one on each
    line, or None. min_length, max_length: characters
    of a word. stem: a language of Snowball. ngrams: up to so many words in a row are a feature, or
    (from, to). min_count, min_docs, max_docs, max_features: how often a word is there, in how
    many documents it is (max_docs as a share if it is a float), how many are kept at most.

    >>> TextOptions(stop_words=["cat", "dog"]).stop_words
    ('cat', 'dog')
    >>> TextOptions(numbers="some")
    Traceback (most recent call last):
    dcomp.errors.InvalidParameter: numbers must be 'none', 'all' or 'years'; found 'some'
    """

    text: tuple[str, ...] = ("text",)
    id: str | None = None
    labels: tuple[str, ...] = ()
    text_blocks: bool = False
    without: tuple[str, ...] = ()
    token: str | None = None
    numbers: str = "none"
    case: str = "lower"
    stop_words: str | tuple[str, ...] | None = "english"
    min_length: int = 2
    max_length: int | None = None
    stem: str | None = None
    ngrams: tuple[int, ...] = (1, 1)
    min_count: int = 1
    min_docs: int = 1
    max_docs: int | float = 1.0
    max_features: int | None = None

    def __post_init__(self) -> None:
        for name in ("text", "labels", "without"):
            object.__setattr__(self, name, _names(name, getattr(self, name)))
        object.__setattr__(self, "ngrams", _ngrams(self.ngrams))
        words: Any = self.stop_words
        words = _words_of_file(words) if isinstance(words, os.PathLike) else words
        if not (words is None or isinstance(words, str)):
            object.__setattr__(self, "stop_words", tuple(sorted(set(_names("stop_words", words)))))
        _one_of("numbers", self.numbers, NUMBERS)
        _one_of("case", self.case, CASES)
        for part in self.without:
            _one_of("without", part, MAIL)
        self._check_fields()
        self._check_numbers()
        check_max_docs(self.max_docs)
        if self.token is not None:
            pattern(self.token)
            if self.numbers != "none":
                raise InvalidParameter("numbers has no effect with token: the pattern says it all")

    def _check_fields(self) -> None:
        if not self.text or len(set(self.text)) < len(self.text):
            raise InvalidParameter(f"text must name one field or several, each once; {self.text}")
        for name in ("id", "stem"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise InvalidParameter(f"{name} must be a name; found {value!r}")
        if not isinstance(self.text_blocks, bool):
            raise InvalidParameter(f"text_blocks must be True or False; found {self.text_blocks!r}")
        if self.text_blocks and len(self.text) < 2:
            raise InvalidParameter("text_blocks needs two fields of text or more")

    def _check_numbers(self) -> None:
        for name in ("min_length", "min_count", "min_docs", "max_length", "max_features"):
            value = getattr(self, name)
            if value is None and name in ("max_length", "max_features"):
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidParameter(f"{name} must be a whole number from 1; found {value!r}")
        if self.max_length is not None and self.max_length < self.min_length:
            raise InvalidParameter(
                f"max_length must be min_length or more; found {self.max_length} and "
                f"{self.min_length}"
            )

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> TextOptions:
        """From what `asdict` made, and a file kept: a ValueError where it is none.

        >>> from dataclasses import asdict
        >>> TextOptions.from_record(asdict(TextOptions(stem="english"))).stem
        'english'
        """
        known = {field.name for field in fields(cls)}
        if set(record) - known:
            raise ValueError(f"there is no option {min(set(record) - known)!r} of text")
        return cls(**{name: _tupled(value) for name, value in record.items()})

    def for_new(self, **changed: Any) -> TextOptions:
        """The same for new documents, of which the words of a fit are taken: none is left out for
        being rare or frequent.

        >>> TextOptions(min_docs=5, stem="english").for_new(text="body").min_docs
        1
        """
        every: dict[str, Any] = {
            "min_count": 1,
            "min_docs": 1,
            "max_docs": 1.0,
            "max_features": None,
        }
        return replace(self, **every | changed)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """How many distinct words there were, how many were kept, and why the others were not.

    >>> print(Vocabulary(n_words=900, n_kept=300, stop=100, in_few=500, min_docs=5))
    kept 300 of 900 words: 500 in fewer than 5 documents, 100 stop words
    """

    n_words: int
    n_kept: int
    stop: int = 0
    short: int = 0
    long: int = 0
    rare: int = 0
    in_few: int = 0
    in_many: int = 0
    beyond: int = 0
    merged: int = 0  # that share a stem with another
    longer: int = 0  # kept features of several words
    min_count: int = 1
    min_docs: int = 1
    most_docs: int = 0

    def __add__(self, other: Vocabulary) -> Vocabulary:
        counted = {name: getattr(self, name) + getattr(other, name) for name in _COUNTED}
        return replace(self, **counted)

    def __str__(self) -> str:
        reasons = [
            (self.in_few, f"in fewer than {self.min_docs:,} documents"),
            (self.rare, f"fewer than {self.min_count:,} times"),
            (self.in_many, f"in more than {self.most_docs:,} documents"),
            (self.stop, "stop words"),
            (self.short, "too short"),
            (self.long, "too long"),
            (self.merged, "with the stem of another"),
            (self.beyond, "beyond the most frequent"),
        ]
        why = ", ".join(f"{n:,} {words}" for n, words in sorted(reasons, reverse=True) if n)
        more = f", {self.longer:,} of them of several words" if self.longer else ""
        kept = f"kept {self.n_kept:,} of {self.n_words:,} words{more}"
        return f"{kept}: {why}" if why else kept


_COUNTED = ("n_words", "n_kept", "stop", "short", "long", "rare", "in_few", "in_many", "beyond",
            "merged", "longer")  # fmt: skip


def pattern(token: str) -> re.Pattern[str]:
    """The expression for a word, compiled.

    >>> pattern("[a-z")
    Traceback (most recent call last):
    dcomp.errors.InvalidParameter: token must be a regular expression; '[a-z': unterminated \
character set at position 0
    """
    try:
        found = re.compile(token)
    except (re.error, TypeError, RecursionError, OverflowError) as error:
        raise InvalidParameter(f"token must be a regular expression; {token!r}: {error}") from None
    if found.groups > 1:
        raise InvalidParameter(f"token must have at most one group; {token!r} has {found.groups}")
    return found


def check_max_docs(max_docs: Any) -> None:
    """An error unless it is a share or a number of documents.

    >>> check_max_docs(1.5)
    Traceback (most recent call last):
    dcomp.errors.InvalidParameter: max_docs must be a share above 0.0 and up to 1.0, or a whole \
number from 1; found 1.5
    """
    if not isinstance(max_docs, bool):
        if isinstance(max_docs, float) and 0 < max_docs <= 1:
            return
        if isinstance(max_docs, int) and max_docs >= 1:
            return
    raise InvalidParameter(
        "max_docs must be a share above 0.0 and up to 1.0, or a whole number from 1; "
        f"found {max_docs!r}"
    )


def _names(option: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    named = tuple(value) if isinstance(value, Iterable) else (None,)
    if not all(isinstance(name, str) for name in named):
        raise InvalidParameter(f"{option} must be a name or several; found {value!r}")
    return named


def _words_of_file(path: os.PathLike[str]) -> list[str]:
    """A word per line; what follows # is for people."""
    with open(path, encoding="utf-8") as stream:
        try:
            text = stream.read(_LARGEST + 1)
        except UnicodeDecodeError as error:
            raise InvalidFile(f"{path}: text is not utf-8: {error}") from None
    if len(text) > _LARGEST:
        raise InvalidFile(f"{path}: a file of stop words has at most {_LARGEST:,} characters")
    words = (line.partition("#")[0].strip() for line in text.splitlines())
    return [word for word in words if word]


def _ngrams(value: Any) -> tuple[int, int]:
    pair = (1, value) if isinstance(value, int) else value
    whole = isinstance(pair, list | tuple) and all(type(n) is int for n in pair)
    if not whole or len(pair) != 2 or not 1 <= pair[0] <= pair[1] <= 9:
        raise InvalidParameter(
            f"ngrams must be the most words in a row, from 1 to 9, or (from, to); found {value!r}"
        )
    return pair[0], pair[1]


def _one_of(option: str, value: Any, words: tuple[str, ...]) -> None:
    if value not in words:
        *most, last = map(repr, words)
        raise InvalidParameter(f"{option} must be {', '.join(most)} or {last}; found {value!r}")


def _tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
