"""Texts as numbered words: the fast way through the native core, and Python's for patterns of the
user's own. Both number words as they first come."""

from __future__ import annotations

import os
import re
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dcomp import _core
from dcomp.data.languages import check_languages
from dcomp.data.mail import without_parts
from dcomp.data.spooled import Counting, SpooledCounting, spool_folder
from dcomp.data.text_options import TextOptions, pattern

_LETTER = r"[^\W\d_]"
_EITHER = r"[^\W_]"
_YEAR = r"(?<!\w)(?:1[0-9]|20)[0-9]{2}(?!\w)"
# What a word is, by how numbers are taken. The native core has the same rules.
PATTERNS = {
    "none": re.compile(f"{_LETTER}+(?:'{_LETTER}+)*"),
    "all": re.compile(f"{_EITHER}+(?:'{_EITHER}+)*"),
    "years": re.compile(f"{_LETTER}+(?:'{_LETTER}+)*|{_YEAR}"),
}
_PIECE = 1 << 16  # characters of a long text that are split at a time
_BATCH = 1 << 20  # characters that are given to the native core at a time
_BLANK = re.compile(r"\s")
Watch = Callable[[int, int, int], None]


@dataclass(frozen=True, slots=True)
class Words:
    """Documents as numbers of words in reading order, and the words."""

    starts: NDArray[np.int64]  # (I + 1)
    tokens: NDArray[np.int32]  # (P)
    names: list[str]

    @property
    def n_docs(self) -> int:
        """I."""
        return len(self.starts) - 1


def plain(text: str, *, lower: bool = True) -> str:
    """A text in the form that words are found in: NFC, apostrophes straight, small letters.

    >>> plain("IT\N{RIGHT SINGLE QUOTATION MARK}S")
    "it's"
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return text.lower() if lower else text


class NativeCounting:
    """By the native core, on all cores."""

    def __init__(self, options: TextOptions, n_threads: int | None = None) -> None:
        self._lower = options.case == "lower"
        self._core = _core.WordCounter(options.numbers, self._lower)
        self._n_threads = n_threads or os.cpu_count() or 1
        self.take = self._core.take

    @property
    def n_docs(self) -> int:
        return self._core.n_docs

    @property
    def n_tokens(self) -> int:
        return self._core.n_tokens

    @property
    def n_words(self) -> int:
        return self._core.n_words

    def count(self, texts: list[str], last: list[bool]) -> None:
        lower = self._lower
        ready = [text if text.isascii() else plain(text, lower=lower) for text in texts]
        self._core.add(ready, np.array(last, np.uint8), self._n_threads)


class PatternCounting:
    """By a regular expression: that of the rules, as the reference, or the user's own."""

    def __init__(self, options: TextOptions) -> None:
        own = options.token
        self._find = (PATTERNS[options.numbers] if own is None else pattern(own)).findall
        self._is_own, self._lower = own is not None, options.case == "lower"
        self._index: defaultdict[str, int] = defaultdict(None)
        self._index.default_factory = self._index.__len__  # an unseen word gets the next number
        self._codes, self._starts = array("i"), array("q", [0])

    @property
    def n_docs(self) -> int:
        return len(self._starts) - 1

    @property
    def n_tokens(self) -> int:
        return len(self._codes)

    @property
    def n_words(self) -> int:
        return len(self._index)

    def count(self, texts: list[str], last: list[bool]) -> None:
        for text, ends in zip(texts, last, strict=True):
            found = self._find(plain(self._whole(text), lower=self._lower))
            self._codes.extend(map(self._index.__getitem__, filter(None, found)))
            if ends:
                self._starts.append(len(self._codes))

    def _whole(self, text: str) -> str:
        """Without halves of characters, which a pattern may take for letters."""
        if not self._is_own or text.isascii():
            return text
        return text.encode("utf-8", "replace").decode()

    def take(self) -> tuple[NDArray[np.int64], NDArray[np.int32], list[str]]:
        names = list(self._index)
        self._index.clear()
        return np.frombuffer(self._starts, np.int64), np.frombuffer(self._codes, np.int32), names


class WordReader:
    """Reads documents one after the other; `watch` is told the documents, words and distinct words
    so far every now and then.

    >>> reader = WordReader(TextOptions())
    >>> reader.add("Cat and dog.")
    >>> reader.add("Dog!")
    >>> words = reader.finish()
    >>> words.names, words.tokens.tolist(), words.starts.tolist()
    (['cat', 'and', 'dog'], [0, 1, 2, 2], [0, 3, 4])
    """

    def __init__(
        self, options: TextOptions, watch: Watch | None = None, counting: Counting | None = None
    ) -> None:
        check_languages(options)
        chosen = NativeCounting if options.token is None else PatternCounting
        folder = spool_folder()
        if counting is None and folder is not None:
            counting = SpooledCounting(partial(chosen, options), folder)
        self._counting: Counting = chosen(options) if counting is None else counting
        self._without, self._watch = options.without, watch
        self._texts: list[str] = []
        self._last: list[bool] = []
        self._length = 0

    def add(self, text: str) -> None:
        """One document."""
        if self._without:
            text = without_parts(text, self._without)
        if len(text) <= _PIECE:
            self._put(text, True)
        else:
            for piece, last in _pieces(text):
                self._put(piece, last)

    def _put(self, text: str, last: bool) -> None:
        self._texts.append(text)
        self._last.append(last)
        self._length += len(text) + 64
        if self._length >= _BATCH:
            self._settle()

    def _settle(self) -> None:
        self._counting.count(self._texts, self._last)
        self._texts, self._last, self._length = [], [], 0
        if self._watch is not None:
            self._watch(self._counting.n_docs, self._counting.n_tokens, self._counting.n_words)

    def finish(self) -> Words:
        """All that was read."""
        self._settle()
        return Words(*self._counting.take())


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """A long text, cut at blanks: its words would take many times its memory at once."""
    start = 0
    while start < len(text):
        blank = _BLANK.search(text, start + _PIECE)
        end = len(text) if blank is None else blank.start()
        yield text[start:end], end == len(text)
        start = end
