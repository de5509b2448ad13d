"""What is known of components beforehand, from files: seed words, and tables of loadings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dcomp.data.components import Components
from dcomp.errors import InvalidFile, InvalidParameter
from dcomp.io.known import read_components


def seed_words(value: Any) -> dict[str, list[Any]]:
    """Words by name of a component; from a mapping, or from a file: JSON, or lines of a name, a
    colon and words with commas or blanks between.

    >>> seed_words({"taxes": "tax"})
    {'taxes': ['tax']}
    """
    if isinstance(value, str | Path):
        value = _read_words(Path(value))
    out = {}
    for name, words in value.items():
        listed = [words] if isinstance(words, str | int) else list(words)
        if not listed:
            raise InvalidParameter(f"seed words of {name!r} must be at least one; there is none")
        out[str(name)] = listed
    return out


def _read_words(path: Path) -> Mapping[str, Any]:
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path} of seed words")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidFile(f"{path}: seed words are text in UTF-8; {error}") from None
    if text.lstrip().startswith("{"):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidFile(f"{path}: seed words are an object of lists; {error}") from None
        if not all(isinstance(words, str | list) for words in found.values()):
            raise InvalidFile(f"{path}: seed words are an object of lists of words")
        return dict(found)
    words: dict[str, list[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, colon, rest = line.partition(":")
        if not colon or not name.strip():
            raise InvalidFile(
                f"{path}:{number}: expected a name, a colon and words; found {line!r}"
            )
        # Words of several, as n-grams have them, hold blanks: then commas stand between.
        parts = rest.split(",") if "," in rest else rest.split()
        words.setdefault(name.strip(), []).extend(part.strip() for part in parts if part.strip())
    return words


def known_components(value: Any) -> Components:
    """Components from a frame, an array or a fit; or from a file (`dcomp.io.read_components`)."""
    if isinstance(value, str | Path):
        return read_components(value)
    return Components.of(value)
