"""From text to counts of words.

The rules. Text is brought to Unicode form NFC and, unless told otherwise, to lower case. A word is
a run of letters of any script; an apostrophe (straight or curly) between letters belongs to the
word, and is written straight. Digits, underscores and everything else separate words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator

import numpy as np

from dcomp.data.counts import Counts
from dcomp.errors import InvalidCounts, InvalidParameter

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_PIECE = 1 << 16  # characters of a long text that are split at a time
_BLANK = re.compile(r"\s")


def english_stop_words() -> frozenset[str]:
    """Words too common to have a theme: scikit-learn's English list.

    >>> "the" in english_stop_words()
    True
    """
    # Imported here because it takes longer than everything else that reading a file needs.
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)


def tokenize(text: str, *, lower: bool = True) -> list[str]:
    """Split a text into its words, by the rules above.

    >>> tokenize("Don't stop: 2 naïve x_rays!")
    ["don't", 'stop', 'naïve', 'x', 'rays']
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return _WORD.findall(text.lower() if lower else text)


def bag(
    texts: Iterable[str],
    *,
    stop_words: Collection[str] | str | None = "english",
    min_count: int = 1,
    min_docs: int = 1,
    max_docs: float = 1.0,
    doc_ids: Iterable[object] | None = None,
    watch: Callable[[int, int, int], None] | None = None,
) -> Counts:
    """Count the words of each text. The features are the words kept, sorted.

    Kept are words of two characters or more that are not stop words ("english", a set of words or
    None), appear `min_count` times or
    more, in `min_docs` texts or more and in `max_docs` texts or fewer (a float up to 1.0 is a
    share of the texts, an int a number of them). A text left without words keeps its row.
    `Counts.sequence` has the words in reading order, -1 for those not kept: as `tokenize` has them.
    `watch` is told the texts, words and distinct words so far, after each text.

    >>> counts = bag(["The cat sat.", "A cat and a dog!"])
    >>> counts.features.names, counts.to_scipy().toarray().tolist()
    (('cat', 'dog', 'sat'), [[1, 0, 1], [1, 1, 0]])
    >>> counts.sequence(1)
    array([-1,  0, -1, -1,  1], dtype=int32)
    """
    if isinstance(texts, str):
        raise InvalidCounts("texts must be a sequence of texts; found one string")
    if isinstance(stop_words, str):
        if stop_words != "english":
            raise InvalidParameter(
                f"stop_words must be 'english', a set of words or None; found {stop_words!r}"
            )
        stop_words = english_stop_words()
    counts = Counts.from_tokens(_tokenized(texts), doc_ids=doc_ids, watch=watch)
    stop = frozenset(stop_words or ())
    most = _most_docs(max_docs, counts.n_docs)
    in_docs = counts.feature_docs
    kept = (counts.feature_totals >= min_count) & (in_docs >= min_docs) & (in_docs <= most)
    names = counts.features.names or ()
    kept &= np.fromiter((len(w) > 1 and w not in stop for w in names), np.bool_, len(names))
    if not kept.any():
        raise InvalidCounts(
            f"no word is left: {len(names)} distinct words, none of them kept with "
            f"min_count={min_count}, min_docs={min_docs}, max_docs={max_docs}, "
            f"{len(stop)} stop words"
        )
    return counts if kept.all() else counts.columns(kept)


def _tokenized(texts: Iterable[str]) -> Iterator[Iterable[str]]:
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise InvalidCounts(
                f"every text must be a string; document {i} is of type {type(text).__name__}"
            )
        yield tokenize(text) if len(text) <= _PIECE else _in_pieces(text)


def _in_pieces(text: str) -> Iterator[str]:
    """The words of a long text, which would take many times its memory as one list."""
    start = 0
    while start < len(text):
        blank = _BLANK.search(text, start + _PIECE)
        end = len(text) if blank is None else blank.start()
        yield from tokenize(text[start:end])
        start = end


def _most_docs(max_docs: float, n_docs: int) -> float:
    if isinstance(max_docs, float):
        if 0 < max_docs <= 1:
            return max_docs * n_docs
    elif max_docs >= 1:
        return max_docs
    raise InvalidParameter(
        "max_docs must be a share above 0.0 and up to 1.0, or a whole number from 1; "
        f"found {max_docs!r}"
    )
