"""Standard input, kept in a file of its own for as long as it is read.

Formats are told by the beginning of a file, and some are read twice: a pipe can neither.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from dcomp.atomic import named, temporary_folder
from dcomp.errors import InvalidFile, InvalidParameter

STDIN = "-"
_SAID = "standard input"
# Of compressed content: how it begins, and what its file is called.
_PACKED = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ\x00": ".xz"}


@contextlib.contextmanager
def kept_stdin(stream: BinaryIO | None = None, *, has_columns: bool = False) -> Iterator[Path]:
    """What comes in, as a file whose name says what it is; gone afterwards. Errors about the file
    speak of standard input. has_columns: whether what is no JSON is a table, and not lines of text.

    >>> import io
    >>> with kept_stdin(io.BytesIO(b'{"text": "cat"}')) as path:
    ...     path.name
    'stdin.jsonl'
    """
    if stream is None and sys.stdin is None:  # closed by whoever has started us
        raise InvalidFile(f"{_SAID}: it is closed")
    source = sys.stdin.buffer if stream is None else stream
    with temporary_folder() as folder:
        path = folder / "stdin"
        with named(folder), path.open("wb") as kept:
            shutil.copyfileobj(source, kept, 1 << 20)
        path = path.rename(
            path.with_name("stdin" + _extension(path, ".csv" if has_columns else ".txt"))
        )
        try:
            yield path
        except (InvalidFile, InvalidParameter) as error:
            raise type(error)(str(error).replace(str(path), _SAID)) from None


def _extension(path: Path, unless_json: str) -> str:
    """What the content looks like: JSON lines, or something else; compressed or not."""
    from dcomp.io.files import opened

    with path.open("rb") as stream:
        first = stream.read(8)
    packed = next((ending for start, ending in _PACKED.items() if first.startswith(start)), "")
    if packed:
        path.with_name("stdin" + packed).symlink_to(path)
        with opened(path.with_name("stdin" + packed)) as inner:
            first = inner.readline(8)
    plain = first.removeprefix(b"\xef\xbb\xbf").lstrip()
    return (".jsonl" if plain.startswith(b"{") else unless_json) + packed
