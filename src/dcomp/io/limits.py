"""What a file may cost, whoever wrote it: every limit of the readers and of `load`, in one table.

| limit | unless given | why |
|---|---|---|
| decompressed | 64 MB, or 64 times the compressed bytes read | text shrinks 3 to 10 times, tables of votes and answers 14 to 29 times; a bomb 1,000 times |
| memory | 64 MB, or 10 times the file | an entry of 6 bytes takes 48 while it is sorted, a word of 5 bytes 24 |
| depth | 64 | our own JSON is 6 deep |

A compressed file vouches for what it holds, but at most for 8 times its own size, and so does a
.bed file, which has four genotypes in a byte. What a reader is
about to build is charged to a `Budget` before it is built, so that memory and time stay in
proportion to the file.
"""  # noqa: E501 a table

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from pathlib import Path

from dcomp.errors import InvalidFile, InvalidParameter

FLOOR = 64_000_000  # bytes that any file may take
TIMES = 10  # memory, in sizes of the file
RATIO = 64  # of decompression
TRUSTED_RATIO = 8  # up to which a compressed file vouches for memory
_SHARE = 0.75  # of the floor that readers plan with; the rest is for what nobody counts
_UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}


@dataclass(frozen=True)
class Limits:
    """What reading a file may cost: bytes that come out of a compressed one, bytes of memory, and
    the depth of JSON. None goes by the size of the file.

    >>> Limits(memory="2 GB").memory, Limits().memory
    (2000000000, None)
    """

    decompressed: int | str | None = None
    memory: int | str | None = None
    depth: int | str = 64

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None or field.name == "depth":
                object.__setattr__(self, field.name, _size(field.name, value))

    @classmethod
    def parse(cls, text: str) -> Limits:
        """From what the shell says: names and sizes, with commas between.

        >>> Limits.parse("decompressed=20GB,memory=4GB").memory
        4000000000
        """
        given: dict[str, str] = {}
        for part in text.split(","):
            name, _, size = (word.strip() for word in part.partition("="))
            if name not in (field.name for field in fields(cls)) or name in given:
                known = ", ".join(field.name for field in fields(cls))
                raise InvalidParameter(
                    f"limit must be of {known}, each once, as in 'memory=4GB'; got {text[:80]!r}"
                )
            given[name] = size
        return cls(**given)


def _size(name: str, value: object) -> int:
    """A whole number from a number or from text such as "20 GB"."""
    found: float = -1
    if isinstance(value, int) and not isinstance(value, bool):
        found = value
    elif isinstance(value, str):
        match = re.fullmatch(r"\s*(\d{1,18}(?:\.\d{1,18})?)\s*([a-zA-Z]{0,3})\s*", value)
        unit = None if match is None else _UNITS.get(match[2].lower())
        found = -1 if match is None or unit is None else float(match[1]) * unit
    if found < 1:
        raise InvalidParameter(
            f"the limit {name} must be a number of at least 1, or text such as '20 GB'; "
            f"got {value!r}"
        )
    return int(found)


class Budget:
    """What is left of the limits while one input is read.

    >>> budget = Budget("small.txt", Limits(memory=1000))
    >>> budget.charge(2000, "its 10 documents")
    Traceback (most recent call last):
    dcomp.errors.InvalidFile: small.txt: its 10 documents would take 2 kB of memory, and this file \
may take 1 kB; limits=dcomp.Limits(memory=…) allows more
    """

    def __init__(self, path: str | Path, limits: Limits | None = None) -> None:
        self.path = path
        self.limits = limits or Limits()
        self._used = 0
        self._vouched = 0  # bytes of plain files, and of compressed ones as far as they vouch
        self._out = self._in = 0  # of the compressed file at hand
        self._window = 0  # what its decompressor keeps

    def trust(self, n_bytes: int) -> None:
        """Count a plain file, or names that the caller brought."""
        self._vouched += n_bytes

    def next_compressed(self) -> None:
        """Begin another compressed file; what came out of the last one stays vouched for."""
        self._vouched += min(self._out, TRUSTED_RATIO * self._in)
        self._out = self._in = self._window = 0

    def decompressed(self, n_out: int, n_in: int, window: int = 0) -> None:
        """Count what has come out of a compressed file so far, and what went in."""
        self._out, self._in, self._window = n_out, n_in, window
        self.unpacked(n_out, n_in)
        if window:
            self.charge(0, "what it holds")

    def unpacked(self, n_out: int, n_in: int) -> None:
        """An error where more came out of a file than may; it vouches for nothing."""
        most = self.limits.decompressed or max(FLOOR, RATIO * n_in)
        if n_out > int(most):
            raise InvalidFile(
                f"{self.path}: {in_bytes(n_in)} of it are {in_bytes(n_out)} decompressed, and may "
                f"be {in_bytes(int(most))}; {_how('decompressed')}"
            )

    @property
    def allowed(self) -> int:
        """Bytes of memory in all."""
        if self.limits.memory is not None:
            return int(self.limits.memory)
        vouched = self._vouched + min(self._out, TRUSTED_RATIO * self._in)
        return int(max(_SHARE * FLOOR, TIMES * vouched))

    @property
    def left(self) -> int:
        """Bytes of memory that may still be charged."""
        return max(self.allowed - self._used - self._window, 0)

    def charge(self, n_bytes: int, what: str) -> None:
        """Take memory for `what`, or say that it is too much."""
        total = self._used + self._window + n_bytes
        if total > self.allowed:
            raise InvalidFile(
                f"{self.path}: {what} would take {in_bytes(total)} of memory, and this file may "
                f"take {in_bytes(self.allowed)}; {_how('memory')}"
            )
        self._used += n_bytes

    def free(self, n_bytes: int) -> None:
        """Give memory back."""
        self._used -= n_bytes

    def charge_table(self, n_docs: int, n_features: int, n_entries: int = 0) -> None:
        """Take the memory of a table whose size is declared, before it is made."""
        what = f"a table of {n_docs:,} documents and {n_features:,} features"
        self.charge(40 * n_docs + 16 * n_features + 60 * n_entries, what)


def _how(name: str) -> str:
    return f"limits=dcomp.Limits({name}=…) allows more"


def in_bytes(n: int) -> str:
    """A number of bytes as people read it.

    >>> in_bytes(999), in_bytes(64_000_000), in_bytes(1_440_000_000)
    ('999 bytes', '64 MB', '1.4 GB')
    """
    value, units = float(n), ["bytes", "kB", "MB", "GB", "TB"]
    while value >= 1000 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{value:.1f}".removesuffix(".0") + f" {units[0]}"
