"""From any file to a corpus that is mapped, in little memory where the file is one of text."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dcomp.atomic import check_place, resolved
from dcomp.data.counts import Counts
from dcomp.data.spooled import spooled
from dcomp.io.dcounts import open_corpus
from dcomp.io.files import StrPath
from dcomp.io.limits import Limits
from dcomp.io.read import read
from dcomp.io.write_dcounts import write_dcounts


def convert(
    source: StrPath,
    path: StrPath,
    *,
    shards: int | None = None,
    overwrite: bool = False,
    format: str | None = None,
    limits: Limits | None = None,
    like: Any = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Counts:
    """Turn a file that `dcomp.read` reads into a .dcounts corpus, and open it. `format`, `limits`,
    `like`, `progress` and other options are those of `read`.

    Text is worked through in pieces on the disk, so that only its distinct words, ids and labels
    are in memory; words in a row (`ngrams`) and other formats are read whole. The reading order of
    words is not kept. `shards`: how many, or one for about 17 million entries. The file is there
    when it is whole, and not before; what was there is replaced only with `overwrite=True`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "pets.txt")
    ...     _ = file.write_text("Cat and dog.\\nDog!\\n")
    ...     convert(file, Path(folder, "pets.dcounts"), format="text", shards=2)
    Counts(2 documents × 2 features, 3 tokens, 75.0 % non-zero, in 2 parts)
    """
    target = resolved(path)
    check_place(target, overwrite=overwrite)
    how: Any = {"format": format, "limits": limits, "like": like, "progress": progress}
    counts = spooling(target, lambda: read(source, **how, **options))
    write_dcounts(counts.without_order(), target, shards=shards)
    return open_corpus(path)


def spooling(target: Path, make: Callable[[], Counts]) -> Counts:
    """What is made while words go through files in the folder of the target."""
    try:
        with spooled(target.parent):
            return make()
    except OSError as error:
        if error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            error.filename = str(target)  # the system names no file when a disk is full
        raise
