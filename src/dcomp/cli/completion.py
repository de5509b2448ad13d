"""What the shell offers where an option takes one of a few words (see docs/guides/shell.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dcomp.models.options import Option


def _models() -> Iterable[str]:
    from dcomp import registry

    return [
        *registry.supported(),
        *(n for key in registry.supported() for n in registry.names_of(key)),
    ]


def _algorithms() -> Iterable[str]:
    from dcomp.inference import ALGORITHMS

    return ["auto", *ALGORITHMS]


def _formats() -> Iterable[str]:
    from dcomp.io import FORMATS

    return FORMATS


def _numbers() -> Iterable[str]:
    from dcomp.data.text_options import NUMBERS

    return NUMBERS


def _cases() -> Iterable[str]:
    from dcomp.data.text_options import CASES

    return CASES


def _parts_of_mail() -> Iterable[str]:
    from dcomp.data.text_options import MAIL

    return MAIL


_KNOWN: dict[str, Callable[[], Iterable[str]]] = {
    "model": _models,
    "leaves": _models,
    "algorithm": _algorithms,
    "format": _formats,
    "numbers": _numbers,
    "case": _cases,
    "without": _parts_of_mail,
}


def words_of(option: Option) -> Callable[[str], list[str]] | None:
    """What typer asks for the words of an option that begin so; None where any text will do.

    >>> from dcomp.recipe import table
    >>> words_of(table()["algorithm"])("ma")
    ['map']
    """
    known = _KNOWN.get(option.name)
    if known is None:
        return one_of(*option.words) if option.words else None
    return lambda incomplete: beginning(known(), incomplete)


def one_of(*words: str) -> Callable[[str], list[str]]:
    """The same of these words.

    >>> one_of("npmi", "umass", "uci", "c_v")("u")
    ['umass', 'uci']
    """
    return lambda incomplete: beginning(words, incomplete)


def beginning(words: Iterable[str], incomplete: str) -> list[str]:
    """Those that begin so, in any case; of several with commas between, the last."""
    done, comma, last = incomplete.rpartition(",")
    found = [word for word in words if word.lower().startswith(last.lower())]
    return [done + comma + word for word in dict.fromkeys(found)]
