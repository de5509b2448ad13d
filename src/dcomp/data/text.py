"""From text to counts of words.

The rules. Text is brought to Unicode form NFC and, unless told otherwise, to lower case. A word is
a run of letters of any script; an apostrophe (straight or curly) between letters belongs to the
word, and is written straight. Digits, underscores and everything else separate words.

With numbers="all" digits are letters; with "years" numbers from 1000 to 2099 that stand alone are
words, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from dcomp.data.counts import Counts
from dcomp.data.text_options import NUMBERS, TextOptions
from dcomp.data.vocabulary import count_words
from dcomp.data.words import PATTERNS, Watch, WordReader, plain
from dcomp.errors import InvalidCounts, InvalidParameter


def tokenize(text: str, *, lower: bool = True, numbers: str = "none") -> list[str]:
    """Split a text into its words, by the rules above.

    >>> tokenize("Don't stop: 2 naïve x_rays!")
    ["don't", 'stop', 'naïve', 'x', 'rays']
    >>> tokenize("In 1984, 3 x2", numbers="years"), tokenize("In 1984, 3 x2", numbers="all")
    (['in', '1984', 'x'], ['in', '1984', '3', 'x2'])
    """
    if numbers not in PATTERNS:
        raise InvalidParameter(f"numbers must be one of {', '.join(NUMBERS)}; found {numbers!r}")
    return PATTERNS[numbers].findall(plain(text, lower=lower))


def bag(
    texts: Iterable[str],
    *,
    stop_words: Collection[str] | str | None = "english",
    doc_ids: Iterable[object] | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> Counts:
    """Count the words of each text. The features are the words kept, sorted.

    Kept are words of two characters or more that are not stop words ("english", another language,
    a set of words or None), appear `min_count` times or more, in `min_docs` texts or more and in
    `max_docs` texts or fewer (a float up to 1.0 is a share of the texts, an int a number of them).
    `dcomp.TextOptions` has all options. A text left without words keeps its row.
    `Counts.sequence` has the words in reading order, -1 for those not kept: as `tokenize` has them.
    `watch` is told the texts, words and distinct words so far, every now and then.

    >>> counts = bag(["The cat sat.", "A cat and a dog!"])
    >>> counts.features.names, counts.to_scipy().toarray().tolist()
    (('cat', 'dog', 'sat'), [[1, 0, 1], [1, 1, 0]])
    >>> counts.sequence(1)
    array([-1,  0, -1, -1,  1], dtype=int32)
    >>> print(counts.vocabulary)
    kept 3 of 6 words: 3 stop words
    """
    try:
        chosen = TextOptions(stop_words=stop_words, **options)  # type: ignore[arg-type]
    except TypeError as error:
        raise InvalidParameter(f"no option of text: {error}") from None
    return count_texts(texts, chosen, doc_ids, watch)


def count_texts(
    texts: Iterable[str],
    options: TextOptions,
    doc_ids: Iterable[object] | None = None,
    watch: Watch | None = None,
) -> Counts:
    """The same with options that are made already.

    >>> count_texts(["The cat sat."], TextOptions()).features.names
    ('cat', 'sat')
    """
    if isinstance(texts, str):
        raise InvalidCounts("texts must be a sequence of texts; found one string")
    reader = WordReader(options, watch)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise InvalidCounts(
                f"every text must be a string; document {i} is of type {type(text).__name__}"
            )
        reader.add(text)
    ids = None if doc_ids is None else tuple(map(str, doc_ids))
    return count_words(reader.finish(), options, watch, doc_ids=ids)
