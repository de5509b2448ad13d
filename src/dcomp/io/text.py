"""Plain text: one document per line of a file, or one per .txt file of a folder."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from dcomp.data.counts import Counts
from dcomp.data.text import bag
from dcomp.errors import InvalidFile, InvalidParameter
from dcomp.io.files import StrPath, text_lines


def read_text(
    path: StrPath,
    *,
    stop_words: Collection[str] | str | None = "english",
    min_count: int = 1,
    min_docs: int = 1,
    max_docs: float = 1.0,
    encoding: str = "utf-8",
) -> Counts:
    """Count the words of each document, as `dcomp.data.bag` does.

    The documents of a folder are its .txt files, also in folders below, sorted by path; their
    ids are their paths without the extension. An empty line of a file is an empty document.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "tiny.txt")
    ...     _ = file.write_text("Cat and dog.\\nDog!\\n")
    ...     read_text(file).to_scipy().toarray().tolist()
    [[1, 1], [0, 1]]
    """
    path = Path(path)
    try:
        "".encode(encoding)
    except LookupError:
        raise InvalidParameter(f"encoding must be a known one; found {encoding!r}") from None
    ids: list[str] | None = None
    if path.is_dir():
        files = sorted(path.rglob("*.txt"))
        if not files:
            raise InvalidFile(f"{path}: the folder holds no .txt file")
        ids = [file.relative_to(path).with_suffix("").as_posix() for file in files]
        texts = ("\n".join(line for _, line in text_lines(file, encoding)) for file in files)
    else:
        texts = (line for _, line in text_lines(path, encoding))
    return bag(
        texts,
        stop_words=stop_words,
        min_count=min_count,
        min_docs=min_docs,
        max_docs=max_docs,
        doc_ids=ids,
    )
