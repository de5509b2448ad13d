"""Config files: a recipe in TOML, and how the shell is to read its input, for another day.

    model = "GP"
    n_components = 50
    alpha = 0.1

    [input]
    min_docs = 5

Names are those of Python. Paths are relative to the folder of the config file, so that the two can
move together.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from dcomp.atomic import atomic_write
from dcomp.errors import InvalidConfig, InvalidFile, InvalidParameter
from dcomp.models.options import Kind, Option
from dcomp.recipe.reading import READING
from dcomp.recipe.table import table

INPUT = "input"
_LARGEST = 1 << 20  # bytes; room for a prior with a number for each of 50,000 features
# A dotted key takes the parser the square of its parts; of options, none has more than one dot.
_MOST_DOTS = 100
_LONG_KEY = re.compile(rb"(?:\.[ \t]*(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')[ \t]*){%d}" % _MOST_DOTS)


@dataclass(frozen=True, eq=False)
class Config:
    """What a config file says: of the recipe, and of reading the input.

    >>> Config({"n_components": 5, "alpha": [0.1, 0.2]}, {"min_docs": 2}).write("run.toml")
    >>> print(Path("run.toml").read_text().rstrip())
    n_components = 5
    alpha = [0.1, 0.2]
    <BLANKLINE>
    [input]
    min_docs = 2
    >>> Config.read("run.toml").recipe
    {'n_components': 5, 'alpha': [0.1, 0.2]}
    """

    recipe: Mapping[str, Any]
    input: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str | Path) -> Config:
        """From a file; an error names it, the key and what must hold."""
        path = Path(path)
        values = _parsed(path)
        section = values.pop(INPUT, {})
        if not isinstance(section, dict):
            raise InvalidConfig(f"{path}: {INPUT} must be a table, [{INPUT}]; got {section!r}")
        return cls(
            _checked(path, "", values, table().values()),
            _checked(path, f"{INPUT}.", section, READING),
        )

    def write(self, path: str | Path) -> None:
        """To a file that `read` takes."""
        path = Path(path)
        rows = table()
        options = {option.name: option for option in (*rows.values(), *READING)}
        lines = [_line(options[name], value, path) for name, value in self.recipe.items()]
        if self.input:
            lines += ["", f"[{INPUT}]"] if lines else [f"[{INPUT}]"]
            lines += [_line(options[name], value, path) for name, value in self.input.items()]
        with atomic_write(path) as stream:
            stream.write(("\n".join(lines) + "\n").encode())


def _parsed(path: Path) -> dict[str, Any]:
    """The tables of the file; an InvalidFile, within the time and memory of a short text, where it
    has none."""
    with path.open("rb") as stream:
        content = stream.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise InvalidFile(f"{path}: a config file has at most {_LARGEST:,} bytes")
    if _LONG_KEY.search(content):
        raise InvalidFile(f"{path}: a key must have fewer than {_MOST_DOTS} dots")
    try:
        return tomllib.loads(content.decode("utf-8"))
    except RecursionError:
        raise InvalidFile(f"{path}: a config file is TOML; this one is nested too deep") from None
    except ValueError as error:  # of TOML, of UTF-8, or a number of thousands of digits
        raise InvalidFile(f"{path}: a config file is TOML; {error}") from None


def _checked(
    path: Path, place: str, values: Mapping[str, Any], options: Iterable[Option]
) -> dict[str, Any]:
    """The values of one table, each of its option's kind, paths made whole."""
    known = {option.name: option for option in options}
    for key in values:
        if key not in known:
            raise InvalidConfig(f"{path}: {_unknown(place, key, known)}")
    return {
        key: _checked_value(path, place + key, values[key], known[key])
        for key in known
        if key in values
    }


def _unknown(place: str, key: str, known: Mapping[str, Option]) -> str:
    """What to say of a key that is none: often it is the flag of the shell."""
    flag = "--" + key.replace("_", "-")
    meant = [name for name, option in known.items() if {flag, f"-{key}"} & set(option.flags)]
    near = get_close_matches(key.replace("-", "_"), known, n=1)
    if meant:
        hint = f"it is called {meant[0]!r} here"
    elif not place and key in {option.name for option in READING}:
        hint = f"it belongs below [{INPUT}]"
    elif near:
        hint = f"the nearest is {near[0]!r}"
    else:
        hint = f"there are {', '.join(known)}"
    return f"there is no key {place + key!r}; {hint}"


def _checked_value(path: Path, place: str, value: Any, option: Option) -> Any:
    if option.kind in ("file", "words", "components") and isinstance(value, str):
        if "\0" in value:
            raise InvalidConfig(f"{path}: {place} must be the path of a file; got {value!r}")
        return path.parent / value
    if option.kind == "words" and isinstance(value, dict):
        return value
    if option.kind in ("file", "words", "components") and not isinstance(value, list):
        raise InvalidConfig(f"{path}: {place} must be the path of a file, in quotes; got {value!r}")
    # A file has no objects: what may be one in Python is a word or a number here.
    in_files: dict[Kind, Kind] = {"name": "word", "seed": "whole"}
    kind = in_files.get(option.kind, option.kind)
    try:
        return replace(option, name=place, kind=kind).checked(value)
    except InvalidParameter as error:
        raise InvalidConfig(f"{path}: {error}") from None


def _line(option: Option, value: Any, path: Path) -> str:
    if isinstance(value, Path):
        value = _relative(value, path.parent)
    return f"{option.name} = {_toml(option.name, value)}"


def _relative(target: Path, folder: Path) -> str:
    """From the folder, where that leads to the same file: `..` after a link may not."""
    if target.is_relative_to(folder):
        return target.relative_to(folder).as_posix()
    whole = os.path.realpath(target)
    try:
        way = os.path.relpath(target, folder)
    except ValueError:  # another drive
        return Path(whole).as_posix()
    return Path(way if os.path.realpath(folder / way) == whole else whole).as_posix()


def _toml(name: str, value: Any) -> str:
    """A value as TOML has it: text, numbers, truth, and lists of these."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        parts = (f"{_toml(name, str(key))} = {_toml(name, value[key])}" for key in value)
        return f"{{{', '.join(parts)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(name, item) for item in value)}]"
    raise InvalidParameter(
        f"a config file holds text, numbers and lists of them; {name} is a {type(value).__name__}"
    )
