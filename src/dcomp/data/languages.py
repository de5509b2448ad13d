"""What depends on the language: words too common to have a theme, and stems."""

from __future__ import annotations

import importlib.util
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

from dcomp.data.text_options import TextOptions
from dcomp.errors import InvalidParameter, MissingDependency


def english_stop_words() -> frozenset[str]:
    """Words too common to have a theme: scikit-learn's English list.

    >>> "the" in english_stop_words()
    True
    """
    words: frozenset[str] = _list_of_sklearn().ENGLISH_STOP_WORDS
    return words


@cache
def _list_of_sklearn() -> Any:
    """The module with the list, on its own: all of scikit-learn takes longer to import than most
    files to read."""
    found = importlib.util.find_spec("sklearn")
    place = Path((found and found.origin) or "", "..", "feature_extraction", "_stop_words.py")
    spec = importlib.util.spec_from_file_location("dcomp_stop_words", place.resolve())
    if spec is None or spec.loader is None or not place.resolve().exists():
        return importlib.import_module("sklearn.feature_extraction.text")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stop_words(words: Collection[str] | str | None) -> frozenset[str]:
    """The words themselves: of a language, or as they are given.

    Those of other languages than English are in the library stop-words.

    >>> sorted(stop_words(["a", "b"])), len(stop_words(None)), "whereupon" in stop_words("english")
    (['a', 'b'], 0, True)
    """
    if not isinstance(words, str):
        return frozenset(words or ())
    return english_stop_words() if words == "english" else _of_language(words)


def _of_language(language: str) -> frozenset[str]:
    what = f"stop_words must be 'english', another language, words or None; found {language!r}"
    try:
        import stop_words as library
    except ImportError:
        raise MissingDependency(
            f"{what}: other languages need stop-words, which is not installed: "
            'pip install "dcomp[text]"'
        ) from None
    known = sorted(library.AVAILABLE_LANGUAGES)
    if language not in known:
        raise InvalidParameter(f"{what}; there are {', '.join(known)}")
    return frozenset(library.get_stop_words(language))


def stemmer(language: str) -> Any:
    """What gives words of a language their stems, by the method `stemWords`.

    >>> stemmer("english").stemWords(["cats", "sleeping"])
    ['cat', 'sleep']
    """
    try:
        import snowballstemmer
    except ImportError:
        raise MissingDependency(
            'stem needs snowballstemmer, which is not installed: pip install "dcomp[text]"'
        ) from None
    known = snowballstemmer.algorithms()
    if language not in known:
        raise InvalidParameter(f"stem must be one of {', '.join(known)}; found {language!r}")
    return snowballstemmer.stemmer(language)


def check_languages(options: TextOptions) -> None:
    """An error about a language that nobody knows before a large file is read, not after.

    >>> check_languages(TextOptions(stem="klingon"))
    Traceback (most recent call last):
    dcomp.errors.InvalidParameter: stem must be one of arabic, …
    """
    stop_words(options.stop_words)
    if options.stem is not None:
        stemmer(options.stem)
