"""How a table was read, so that new files of its kind can be read alike."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

Words = str | tuple[str, ...]
# Of which a new file need not have all: they say something of documents, or name them.
_OF_COLUMNS = ("id", "attributes", "codes")


@dataclass(frozen=True, slots=True)
class Reading:
    """The format of a table and what was said of its columns and lines; None where nothing was.

    Which documents or features are taken (where, outcome, contested) and which files lie beside it
    are said anew of each file. Of texts the same is in `TextOptions`.

    >>> reading = Reading.of("categories", "table", {"id": "who", "missing": ["-"], "limits": None})
    >>> reading.options
    {'id': 'who', 'missing': ('-',)}
    """

    format: str
    instead_of: str | None = None  # the format that the file's name and first lines suggest
    id: str | None = None
    attributes: Words | None = None
    codes: Words | bool | None = None
    missing: Words | None = None
    transpose: bool | None = None
    label_columns: int | None = None
    layout: str | None = None
    delimiter: str | None = None
    layer: str | None = None
    columns: Words | None = None
    rows: int | str | None = None

    @classmethod
    def of(cls, format: str, instead_of: str | None, options: Mapping[str, Any]) -> Reading | None:
        """Of what was said to the reader of a format; None where all can be told from a file."""
        kept = {name: _plain(options[name]) for name in _OPTIONS if options.get(name) is not None}
        if not kept and format == instead_of:
            return None
        return cls(format, instead_of, **kept)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Reading:
        """From what `asdict` made, and a file kept: a ValueError where it is none."""
        known = {field.name for field in fields(cls)}
        if set(record) - known or "format" not in record:
            raise ValueError(f"what it says of reading must be among {', '.join(sorted(known))}")
        return cls(**{name: _plain(value) for name, value in record.items()})

    @property
    def options(self) -> dict[str, Any]:
        """What was said, by name, as the reader takes it."""
        named = {name: getattr(self, name) for name in _OPTIONS}
        return {name: value for name, value in named.items() if value is not None}

    def options_for(self, columns: Collection[str]) -> dict[str, Any]:
        """The same for a file with these columns: those that it lacks are not asked of it.

        >>> Reading("categories", "table", id="who", attributes="party,age").options_for(["Party"])
        {'attributes': ['party']}
        """
        there = {name.strip().casefold() for name in columns}
        found = self.options
        for name in _OF_COLUMNS:
            value = found.get(name)
            if value is None or isinstance(value, bool) or value == "all":
                continue
            listed = value.split(",") if isinstance(value, str) else value
            kept = [one.strip() for one in listed if one.strip().casefold() in there]
            if kept:
                found[name] = value if name == "id" else kept
            else:
                del found[name]
        return found


_OPTIONS = tuple(f.name for f in fields(Reading) if f.name not in ("format", "instead_of"))


def _plain(value: Any) -> Any:
    is_list = isinstance(value, Iterable) and not isinstance(value, str)
    return tuple(value) if is_list else value
