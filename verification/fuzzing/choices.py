"""Decisions read from bytes: what a fuzzer mutates becomes which edit is made, and where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


class Choices:
    """Bytes that are read from the front; all that comes after the last is 0.

    >>> choices = Choices(b"\\x05\\x01")
    >>> choices.below(3), choices.flag(), choices.below(100)
    (2, True, 0)
    """

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def byte(self) -> int:
        """The next byte."""
        self._at += 1
        return self._data[self._at - 1] if self._at <= len(self._data) else 0

    def below(self, n: int) -> int:
        """A whole number in [0, n)."""
        value, room = self.byte(), 256
        while room < n:
            value, room = value << 8 | self.byte(), room << 8
        return value % n

    def flag(self) -> bool:
        """One or the other."""
        return bool(self.byte() & 1)

    def rarely(self) -> bool:
        """True for one byte in 16; not for those that are missing."""
        return self.byte() & 15 == 15

    def of(self, items: Sequence[Item]) -> Item:
        """One of these."""
        return items[self.below(len(items))]

    def bytes(self, n: int) -> bytes:
        """The next n, fewer at the end."""
        taken = self._data[self._at : self._at + n]
        self._at += n
        return taken

    @property
    def left(self) -> int:
        """How many bytes were not read yet."""
        return max(len(self._data) - self._at, 0)
