"""Names of mutation types, which tables write in several ways."""

from __future__ import annotations

import re

_BRACKETS = re.compile(r"([ACGT])\[([CT]>[ACGT])\]([ACGT])")
_SUBSTITUTION = re.compile(r"(?<![A-Z])([CT])>([ACGT])(?![A-Z])")
_BASES = re.compile(r"(?<![A-Z>])([ACGT])([CT])([ACGT])(?![A-Z>])")


def type_name(name: str) -> str:
    """A mutation type as the field writes it; other names as they are.

    >>> type_name("C>A ACA"), type_name("TCG, C>T"), type_name("A[T>G]C"), type_name("DBS 1")
    ('A[C>A]A', 'T[C>T]G', 'A[T>G]C', 'DBS 1')
    """
    name = name.strip()
    if _BRACKETS.fullmatch(name):
        return name
    change, bases = _SUBSTITUTION.search(name), _BASES.search(name)
    if change is None or bases is None or bases[2] != change[1]:
        return name
    return f"{bases[1]}[{change[0]}]{bases[3]}"


def is_type(name: str) -> bool:
    """Whether a name is one of a mutation type.

    >>> is_type("C>A ACA"), is_type("PD1234")
    (True, False)
    """
    return _BRACKETS.fullmatch(type_name(name)) is not None
