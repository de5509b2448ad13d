"""Opening files, compressed or not, and saying clearly what is wrong with one."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NoReturn, cast

from dcomp.errors import InvalidFile
from dcomp.printable import printable

StrPath = str | os.PathLike[str]

_OPENERS: dict[str, Callable[[Path], object]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
_CHUNK = 1 << 24


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
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
    try:
        with cast(BinaryIO, _OPENERS.get(path.suffix.lower(), _plain)(path)) as stream:
            yield stream
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
        raise InvalidFile(f"{path}: cannot be decompressed: {error}") from error
    except OSError as error:
        # bz2 reports damaged data as an OSError without a number.
        if error.errno is None:
            raise InvalidFile(f"{path}: cannot be decompressed: {error}") from error
        raise


def _plain(path: Path) -> BinaryIO:
    return path.open("rb")


def plain_name(path: Path) -> str:
    """Give a file's name without the extension of a compression.

    >>> plain_name(Path("docword.kos.txt.gz"))
    'docword.kos.txt'
    """
    return path.stem if path.suffix.lower() in _OPENERS else path.name


def chunks_of_lines(stream: BinaryIO) -> Iterator[bytes]:
    """Read a stream in large pieces that end where a line ends.

    >>> import io
    >>> list(chunks_of_lines(io.BytesIO(b"a\\nb")))
    [b'a\\nb\\n']
    """
    while chunk := stream.read(_CHUNK):
        chunk += stream.readline()
        yield chunk if chunk.endswith(b"\n") else chunk + b"\n"


def text_lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Give the lines of a text file with their numbers from 1, without line ends.

    >>> list(text_lines(Path("absent.txt")))
    Traceback (most recent call last):
    FileNotFoundError: no such file: absent.txt
    """
    with opened(path) as stream:
        for number, line in enumerate(stream, 1):
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            try:
                yield number, line.decode(encoding).rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise InvalidFile(f"{path}:{number}: text is not {encoding}: {error}") from None


def refuse_first_line(
    path: Path, complaint: Callable[[str], str | None], skip: int = 0
) -> NoReturn:
    """Read a bad file slowly, line by line, to name the first line that has a complaint.

    >>> refuse_first_line(Path("absent.txt"), lambda line: None)
    Traceback (most recent call last):
    FileNotFoundError: no such file: absent.txt
    """
    for number, line in text_lines(path):
        reason = None if number <= skip or not line.strip() else complaint(line)
        if reason is not None:
            raise InvalidFile(f"{path}:{number}: {reason}")
    raise InvalidFile(f"{path}: the file is not in the expected format")


def vocabulary(
    vocab: StrPath | Sequence[str] | None, beside: Sequence[Path] = ()
) -> tuple[Sequence[str] | None, str]:
    """Give the words of `vocab`, or of the first file `beside` that exists, and their source.

    A vocabulary file has one word per line.

    >>> vocabulary(["a", "b"])
    (['a', 'b'], 'vocab')
    """
    if vocab is not None and not isinstance(vocab, str | os.PathLike):
        return vocab, "vocab"
    path = Path(vocab) if vocab is not None else next((p for p in beside if p.exists()), None)
    if path is None:
        return None, ""
    words: list[str] = []
    first: dict[str, int] = {}
    for number, line in text_lines(path):
        word = line.strip()
        if first.setdefault(word, number) != number:
            raise InvalidFile(
                f"{path}:{number}: words must not repeat; {word!r} is on line {first[word]} too"
            )
        words.append(word)
    return words, str(path)
