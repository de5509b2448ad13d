"""Zip archives, read strictly: the container of fits and of .npz files.

The directory at the end is believed only as far as the file bears it out. Members must not overlap;
in a `sealed` archive, as `dcomp.save` writes it, they must also follow each other without a gap,
say the same in both of their headers, and leave no byte of the file unspoken for. Python's zipfile
has other aims: it repairs and skips, and raises errors of six kinds.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, NoReturn

from dcomp.errors import InvalidFile
from dcomp.io.limits import Budget

STORED, DEFLATED = 0, 8
_MOST = 100_000  # members; a fit has some 20, and 2 for each chain
_PART = 1 << 20  # bytes that are read at a time
_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_FULL, _FULL16 = 0xFFFFFFFF, 0xFFFF
_ENCRYPTED, _DESCRIBED, _UTF8 = 1, 8, 1 << 11


@dataclass(frozen=True, slots=True)
class Member:
    """What the directory says of a member."""

    name: str
    method: int
    crc: int
    packed: int  # bytes in the file
    size: int  # bytes when it is decompressed
    start: int  # of its header
    flags: int


class Archive:
    """The members of an archive by name; nothing is decompressed before it is asked for.

    >>> import io, zipfile
    >>> stream = io.BytesIO()
    >>> with zipfile.ZipFile(stream, "w") as file:
    ...     file.writestr("a.txt", "hello")
    >>> archive = Archive(stream, Budget("x.zip"))
    >>> list(archive.members), archive.read("a.txt")
    (['a.txt'], b'hello')
    """

    def __init__(self, stream: BinaryIO, budget: Budget, *, sealed: bool = False) -> None:
        self._stream, self._budget, self._sealed = stream, budget, sealed
        self._size = stream.seek(0, os.SEEK_END)
        self._out = 0
        directory, n_bytes, n_entries = self._end()
        found = sorted(self._entries(directory, n_bytes, n_entries), key=lambda m: m.start)
        self.members = {member.name: member for member in found}
        if len(self.members) != len(found):
            self._refuse("two of its members have one name")
        self._starts = self._bodies(found, directory)

    def read(self, name: str, most: int | None = None, each: int = 1) -> bytes:
        """The content of a member, checked; at most so many bytes. each: bytes of memory that each
        byte of it will take."""
        if name not in self.members:
            self._refuse(f"it has no member {name!r}")
        member = self.members[name]
        if most is not None and member.size > most:
            self._refuse(f"{name} is too large: {member.size:,} bytes, and may have {most:,}")
        # Once more while it is read: what comes in parts is then put into one piece.
        self._budget.charge((each + 1) * member.size, f"{name}, of {member.size:,} bytes,")
        content = bytearray()
        crc = 0
        for part in self._parts(member):
            content += part
            crc = zlib.crc32(part, crc)
            if len(content) > member.size:
                break
        if len(content) != member.size or crc != member.crc:
            self._refuse(f"{name} is damaged: its content is not what the directory says")
        self._budget.free(member.size)
        return bytes(content)

    def _parts(self, member: Member) -> Iterator[bytes]:
        left = member.packed
        inflate = zlib.decompressobj(-15) if member.method == DEFLATED else None
        self._stream.seek(self._starts[member.name])
        while left:
            part = self._stream.read(min(left, _PART if inflate is None else 1 << 14))
            if not part:
                self._refuse(f"{member.name} is cut short")
            left -= len(part)
            if inflate is None:
                yield part
                continue
            while part or inflate.unconsumed_tail:
                try:
                    out = inflate.decompress(part or inflate.unconsumed_tail, _PART)
                except zlib.error as error:
                    self._refuse(f"{member.name} cannot be decompressed: {error}")
                part = b""
                self._out += len(out)
                self._budget.decompressed(self._out, self._size)
                yield out
        if inflate is not None and (not inflate.eof or inflate.unused_data):
            self._refuse(f"{member.name} is not one compressed text")

    def _end(self) -> tuple[int, int, int]:
        """Where the directory begins, its bytes and its entries."""
        place = self._size - _END.size
        if place < 0:
            self._refuse("it is not a zip archive, or cut short")
        found = self._unpack(_END, place)
        if found[0] != b"PK\5\6" or found[7]:
            self._refuse("it is not a zip archive, is cut short, or has bytes behind its end")
        _, disk, first_disk, here, n_entries, n_bytes, start, _ = found
        if _FULL in (n_bytes, start) or n_entries == _FULL16:
            return self._end64(place - _LOCATOR.size)
        if disk or first_disk or here != n_entries or start + n_bytes != place:
            self._refuse("its directory is not where the archive ends")
        return start, n_bytes, n_entries

    def _end64(self, place: int) -> tuple[int, int, int]:
        """The same of an archive of more than 4 GB."""
        where = self._unpack(_LOCATOR, place)
        before = place - _END64.size
        if where[0] != b"PK\6\7" or where[1] or where[2] != before or where[3] != 1:
            self._refuse("its directory is not where the archive ends")
        found = self._unpack(_END64, before)
        rest, (here, n_entries, n_bytes, start) = found[4:6], found[6:]
        length_fits = found[0] == b"PK\6\6" and found[1] == _END64.size - 12
        if not length_fits or any(rest) or here != n_entries or start + n_bytes != before:
            self._refuse("its directory is not where the archive ends")
        return start, n_bytes, n_entries

    def _entries(self, start: int, n_bytes: int, n_entries: int) -> Iterator[Member]:
        if not 1 <= n_entries <= _MOST or n_bytes < n_entries * _ENTRY.size:
            self._refuse(f"it has {n_entries:,} members, and may have 1 to {_MOST:,}")
        self._budget.charge(n_bytes + 600 * n_entries, f"a directory of {n_entries:,} members")
        self._stream.seek(start)
        content = self._stream.read(n_bytes)
        place = 0
        for _ in range(n_entries):
            if len(content) - place < _ENTRY.size:
                self._refuse("its directory is cut short")
            head = _ENTRY.unpack_from(content, place)
            names = place + _ENTRY.size
            ends = names + head[10], names + head[10] + head[11]
            place = ends[1] + head[12]
            if head[0] != b"PK\1\2" or place > len(content):
                self._refuse("its directory is damaged")
            yield self._member(head, content[names : ends[0]], content[ends[0] : ends[1]])
        if place != len(content):
            self._refuse("its directory is longer than its entries")

    def _member(self, head: tuple[Any, ...], raw: bytes, extra: bytes) -> Member:
        flags, method, crc = head[3], head[4], head[7]
        name = self._name(raw, flags)
        wide = self._wide(extra)
        size, packed, start = (
            (wide.pop(0) if wide else -1) if value == _FULL else value
            for value in (head[9], head[8], head[16])
        )
        if flags & _ENCRYPTED:
            self._refuse(f"{name} is encrypted")
        if method not in (STORED, DEFLATED):
            self._refuse(f"{name} is compressed by method {method}, which is not read here")
        if min(size, packed, start) < 0 or head[13] or (method == STORED and size != packed):
            self._refuse(f"the sizes of {name} do not agree")
        if self._sealed and (flags & ~_UTF8 or head[12] or wide):
            self._refuse(f"{name} has an entry that dcomp does not write")
        return Member(name, method, crc, packed, size, start, flags)

    def _name(self, raw: bytes, flags: int) -> str:
        try:
            plain = raw.isascii()  # which both are then, and Python reads fastest
            name = raw.decode("ascii" if plain else "utf-8" if flags & _UTF8 else "cp437")
        except UnicodeDecodeError:
            self._refuse("a member has a name that is no text")
        if not name or not name.isprintable() or len(name) > 255:
            self._refuse(f"a member has the name {name[:40]!r}")
        return name

    def _wide(self, extra: bytes) -> list[int]:
        """The sizes of 64 bits that a field beside the entry holds."""
        wide: list[int] = []
        while len(extra) >= 4:
            kind, length = struct.unpack_from("<2H", extra)
            field, extra = extra[4 : 4 + length], extra[4 + length :]
            if kind == 1 and len(field) == length and not length % 8 and not wide:
                wide = list(struct.unpack(f"<{length // 8}Q", field))
        return wide

    def _bodies(self, members: list[Member], directory: int) -> dict[str, int]:
        """Where the content of each member begins; an error where two overlap."""
        starts, end = {}, 0
        for member in members:
            if member.start < end or (self._sealed and member.start != end):
                self._refuse(f"{member.name} does not begin where the member before it ends")
            head = self._unpack(_LOCAL, member.start)
            n_name, n_extra = head[9:]
            begins = member.start + _LOCAL.size + n_name + n_extra
            end = begins + member.packed
            if head[0] != b"PK\3\4" or end > directory:
                self._refuse(f"{member.name} does not lie in the archive")
            self._check_local(member, head, self._stream.read(n_name), self._stream.read(n_extra))
            starts[member.name] = begins
        if self._sealed and end != directory:
            self._refuse("there are bytes between its last member and its directory")
        return starts

    def _check_local(
        self, member: Member, head: tuple[Any, ...], name: bytes, extra: bytes
    ) -> None:
        """That the header before the content says the same as the directory."""
        flags, method, crc, packed, size = head[2], head[3], head[6], head[7], head[8]
        wide = self._wide(extra)
        if _FULL in (packed, size) and len(wide) == 2:
            size, packed = wide
        sizes_agree = (crc, packed, size) == (member.crc, member.packed, member.size)
        agrees = self._name(name, flags) == member.name and method == member.method
        if not agrees or flags != member.flags or not (sizes_agree or flags & _DESCRIBED):
            self._refuse(f"the header of {member.name} is not what the directory says")
        if self._sealed and extra and (len(extra) != 20 or len(wide) != 2):
            self._refuse(f"{member.name} has a header that dcomp does not write")

    def _unpack(self, kind: struct.Struct, place: int) -> tuple[Any, ...]:
        if place < 0:
            self._refuse("its directory points nowhere")
        self._stream.seek(place)
        content = self._stream.read(kind.size)
        if len(content) != kind.size:
            self._refuse("its directory points nowhere")
        return kind.unpack(content)

    def _refuse(self, reason: str) -> NoReturn:
        raise InvalidFile(f"{self._budget.path}: {reason}")
