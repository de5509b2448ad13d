"""Opening files, compressed or not, and saying clearly what is wrong with one.

Nothing here reads more at a time than the limits allow: compressed files are counted as they are
opened (`Guarded`), and lines have an end, or an error.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from dcomp.atomic import named
from dcomp.errors import InvalidFile
from dcomp.io.encodings import not_utf8
from dcomp.io.limits import Budget
from dcomp.printable import printable

StrPath = str | os.PathLike[str]

_CHUNK = 1 << 19  # bytes of text that are taken apart at a time: each takes some 40 while it is
_DICTIONARY = 1 << 28  # bytes that an .xz file may ask for; xz -9 asks for 2^26
_TAKEN = 4096  # lines that are counted at a time
SHORT = 1 << 16  # bytes of a line that nobody needs to count
_OF_LINE = 6  # bytes of memory that each byte of a line of text may take
_OF_NUMBERS = 24  # the same of a line of numbers
OF_NAME = 220  # what a name takes while all are told apart, beside its letters


class _Inflated(io.RawIOBase):
    """A .bz2 or .xz file, one stream after the other, as plain bytes."""

    def __init__(self, raw: BinaryIO, make: Callable[[], Any]) -> None:
        self._raw, self._make = raw, make
        self._engine, self._rest = make(), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._engine.eof or self._next():
            fed = b""
            if self._engine.needs_input:
                fed, self._rest = self._rest or self._raw.read(io.DEFAULT_BUFFER_SIZE), b""
                if not fed:
                    raise EOFError("it is cut short")
            content = self._engine.decompress(fed, len(buffer))
            if content:
                buffer[: len(content)] = content
                return len(content)
        return 0

    def _next(self) -> bool:
        """Whether another stream follows; zeros may stand before it, as xz pads."""
        rest = self._engine.unused_data.lstrip(b"\0")
        while not rest:
            more = self._raw.read(io.DEFAULT_BUFFER_SIZE)
            if not more:
                return False
            rest = more.lstrip(b"\0")
        self._engine, self._rest = self._make(), rest
        return True


class _Counted(io.RawIOBase):
    """What comes out of a compressed file, counted as it comes."""

    def __init__(self, stream: Any, raw: BinaryIO, budget: Budget, window: int) -> None:
        self._stream, self._raw, self._budget = stream, raw, budget
        self._window, self._out = window, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n = int(self._stream.readinto(buffer))
        self._out += n
        self._budget.decompressed(self._out, self._raw.tell(), min(self._out, self._window))
        return n


def _xz_engine() -> Any:
    return lzma.LZMADecompressor(memlimit=_DICTIONARY)


_OPENERS: dict[str, Callable[[BinaryIO], Any]] = {
    ".gz": lambda raw: gzip.GzipFile(fileobj=raw),
    ".bgz": lambda raw: gzip.GzipFile(fileobj=raw),
    ".bz2": lambda raw: _Inflated(raw, bz2.BZ2Decompressor),
    ".xz": lambda raw: _Inflated(raw, _xz_engine),
}
_WINDOWS = {".xz": 1 << 26}  # what a decompressor keeps of what came out, at most, if it is much


class Guarded:
    """A file that is read with its budget in view.

    >>> Guarded(io.BytesIO(b"a\\nb"), Budget("x")).read(1)
    b'a'
    """

    def __init__(self, stream: Any, budget: Budget) -> None:
        self.budget, self._lines = budget, 0
        self.read: Callable[[int], bytes] = stream.read  # so many bytes at most
        self.readline: Callable[[int], bytes] = stream.readline  # a line, or so many bytes of it

    def line(self, number: int, each: int = _OF_LINE) -> bytes:
        """The next line, whole; an error where a line takes more than there is, `each` times its
        length."""
        self._lines += 1
        if not self._lines % _TAKEN:  # also blank ones take time
            self.budget.charge(8 * _TAKEN, f"{self._lines:,} lines")
        line = self.readline(SHORT)
        if len(line) < SHORT or line.endswith(b"\n"):
            return line
        most = max(self.budget.left // each - len(line), 0)
        line += self.readline(most + 1)
        if len(line) > most + SHORT:
            what = f"line {number:,}, of {len(line):,} bytes or more,"
            self.budget.charge(each * len(line), what)
        return line

    def rest(self) -> bytes:
        """All that is left."""
        parts = []
        while part := self.read(_CHUNK):
            self.budget.charge(2 * len(part), "its content")
            parts.append(part)
        return b"".join(parts)


class _Meter:
    """How much is read of an input, which may be many files."""

    def __init__(self, total: int, tell: Callable[[int, int], None]) -> None:
        self.total, self.tell, self.done = total, tell, 0


_meter: ContextVar[_Meter | None] = ContextVar("meter of reading", default=None)


@contextlib.contextmanager
def metered(path: Path, tell: Callable[[int, int], None] | None) -> Iterator[None]:
    """Files that are opened inside tell how many bytes of them are read, and of how many.

    >>> with metered(Path("."), None):
    ...     pass
    """
    if tell is None:
        yield
        return
    files = path.rglob("*.txt") if path.is_dir() else (path,)
    token = _meter.set(_Meter(sum(file.stat().st_size for file in files), tell))
    try:
        yield
    finally:
        _meter.reset(token)


class _Metered(io.FileIO):
    """A file that says how far it is read."""

    def readinto(self, buffer: Any) -> int | None:
        n = super().readinto(buffer)
        meter = _meter.get()
        if meter is not None and n:
            meter.done += n
            meter.tell(meter.done, meter.total)
        return n


def _open(path: Path) -> BinaryIO:
    if _meter.get() is None:
        return path.open("rb")
    return io.BufferedReader(_Metered(path), SHORT)


@contextlib.contextmanager
def opened(path: Path, budget: Budget | None = None) -> Iterator[Guarded]:
    """Open a file for reading bytes; decompress .gz, .bz2 and .xz; word what goes wrong.

    >>> with opened(Path("absent.txt")):
    ...     pass
    Traceback (most recent call last):
    FileNotFoundError: no such file: absent.txt
    """
    if not path.exists():
        raise FileNotFoundError(f"no such file: {printable(path)}")
    if path.is_dir():
        raise InvalidFile(f"{path}: expected a file, found a folder")
    budget = Budget(path) if budget is None else budget
    suffix = path.suffix.lower()
    with named(path), _open(path) as raw:
        if suffix not in _OPENERS:
            budget.trust(os.fstat(raw.fileno()).st_size)
            yield Guarded(raw, budget)
            return
        budget.next_compressed()
        try:
            window = _WINDOWS.get(suffix, 0)
            counted = _Counted(_OPENERS[suffix](raw), raw, budget, window)
            yield Guarded(io.BufferedReader(counted, SHORT), budget)
        except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
            raise InvalidFile(f"{path}: cannot be decompressed: {error}") from error
        except OSError as error:
            # bz2 reports damaged data as an OSError without a number.
            if error.errno is None:
                raise InvalidFile(f"{path}: cannot be decompressed: {error}") from error
            raise


def plain_name(path: Path) -> str:
    """Give a file's name without the extension of a compression.

    >>> plain_name(Path("docword.kos.txt.gz"))
    'docword.kos.txt'
    """
    return path.stem if path.suffix.lower() in _OPENERS else path.name


def chunks_of_lines(stream: Guarded, first: int = 1) -> Iterator[tuple[int, bytes]]:
    """Read a stream in pieces that end where a line ends, each with the number of its first line.

    >>> list(chunks_of_lines(Guarded(io.BytesIO(b"a\\nb"), Budget("x"))))
    [(1, b'a\\nb\\n')]
    """
    number = first
    while chunk := stream.read(_CHUNK):
        if not chunk.endswith(b"\n"):
            chunk += stream.line(number + chunk.count(b"\n"), each=_OF_NUMBERS)
        if not chunk.endswith(b"\n"):
            chunk += b"\n"
        yield number, chunk
        number += chunk.count(b"\n")


def text_lines(
    path: Path, encoding: str = "utf-8", budget: Budget | None = None
) -> Iterator[tuple[int, str]]:
    """Give the lines of a text file with their numbers from 1, without line ends.

    >>> list(text_lines(Path("absent.txt")))
    Traceback (most recent call last):
    FileNotFoundError: no such file: absent.txt
    """
    with opened(path, budget) as stream:
        number = 0
        while line := stream.line(number + 1):
            number += 1
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            try:
                yield number, line.decode(encoding).rstrip("\r\n")
            except UnicodeError as error:
                said = f"text is not {encoding}: {error}"
                said = not_utf8(line, error) if encoding == "utf-8" else said
                raise InvalidFile(f"{path}:{number}: {said}") from None


def refuse_lines(
    path: Path, number: int, chunk: bytes, complaint: Callable[[str], str | None]
) -> NoReturn:
    """Look at bad lines one by one, to name the first that has a complaint; `number` is that of
    the first line.

    >>> refuse_lines(Path("a.txt"), 7, b"1\\n2\\n", {"1": None, "2": "too much"}.get)
    Traceback (most recent call last):
    dcomp.errors.InvalidFile: a.txt:8: too much
    """
    for place, raw in enumerate(chunk.split(b"\n"), number):
        try:
            line = raw.decode()
        except UnicodeDecodeError as error:
            raise InvalidFile(f"{path}:{place}: text is not utf-8: {error}") from None
        reason = complaint(line) if line.strip() else None
        if reason is not None:
            raise InvalidFile(f"{path}:{place}: {reason}")
    raise InvalidFile(f"{path}:{number}: the file is not in the expected format")


def vocabulary(
    vocab: StrPath | Sequence[str] | None,
    beside: Sequence[Path] = (),
    budget: Budget | None = None,
) -> tuple[Sequence[str] | None, str]:
    """Give the words of `vocab`, or of the first file `beside` that exists, and their source.

    A vocabulary file has one word per line.

    >>> vocabulary(["a", "b"])
    (['a', 'b'], 'vocab')
    """
    if vocab is not None and not isinstance(vocab, str | os.PathLike):
        if budget is not None:
            budget.trust(OF_NAME * len(vocab))
        return vocab, "vocab"
    path = Path(vocab) if vocab is not None else next((p for p in beside if p.is_file()), None)
    if path is None:
        return None, ""
    budget = Budget(path) if budget is None else budget
    budget.trust(path.stat().st_size)  # twice: a word takes more than its letters
    words: dict[str, None] = {}
    for number, line in text_lines(path, budget=budget):
        word = line.strip()
        if word in words:
            place = list(words).index(word) + 1
            raise InvalidFile(
                f"{path}:{number}: words must not repeat; {word!r} is on line {place} too"
            )
        words[word] = None
        if not number % _TAKEN:
            budget.charge(OF_NAME // 2 * _TAKEN, f"{number:,} words")
    return list(words), str(path)
