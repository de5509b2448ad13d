"""Words too common to have a theme, by language."""

from __future__ import annotations

from collections.abc import Collection

from dcomp.errors import InvalidParameter, MissingDependency


def english_stop_words() -> frozenset[str]:
    """Words too common to have a theme: scikit-learn's English list.

    >>> "the" in english_stop_words()
    True
    """
    # Imported here because it takes longer than everything else that reading a file needs.
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)


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
