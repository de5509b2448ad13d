"""Plain text: one document per line of a file, or one per .txt file of a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dcomp.data.counts import Counts
from dcomp.data.text import count_texts
from dcomp.data.text_options import TextOptions
from dcomp.errors import InvalidFile, InvalidParameter
from dcomp.io.files import OF_NAME, StrPath, text_lines
from dcomp.io.limits import Budget, Limits


def read_text(
    path: StrPath,
    *,
    encoding: str = "utf-8",
    options: TextOptions | None = None,
    limits: Limits | None = None,
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
    budget = Budget(path, limits)
    ids: list[str] | None = None
    if path.is_dir():
        files = sorted(path.rglob("*.txt"))
        if not files:
            raise InvalidFile(f"{path}: the folder holds no .txt file")
        for file in files:  # whoever made the folder may have left a pipe there, which waits
            if file.exists() and not (file.is_file() or file.is_dir()):
                raise InvalidFile(f"{file}: a pipe or a device is no document of a folder")
        ids = [file.relative_to(path).with_suffix("").as_posix() for file in files]
        budget.trust(OF_NAME * len(files))  # files that are there vouch for their names
        texts = (
            "\n".join(line for _, line in text_lines(file, encoding, budget)) for file in files
        )
    else:
        texts = (line for _, line in text_lines(path, encoding, budget))
    options = options or TextOptions()
    return count_texts(texts, options, ids, word_watch(budget, token_cost(options)))


def token_cost(options: TextOptions) -> int:
    """Bytes that a word of a text may take while all are counted.

    >>> token_cost(TextOptions())
    24
    """
    return 24 + 60 * (options.ngrams[1] - 1)


def word_watch(budget: Budget, each: int = 24) -> Callable[[int, int, int], None]:
    """Charges what words take while they are counted, each so many bytes.

    >>> word_watch(Budget("a.txt", Limits(memory=5000)))(3, 1000, 10)
    Traceback (most recent call last):
    dcomp.errors.InvalidFile: a.txt: 1,000 words, 10 of them distinct, in 3 documents would take \
26.3 kB of memory, and this file may take 5 kB; limits=dcomp.Limits(memory=…) allows more
    """
    charged = 0

    def watch(n_docs: int, n_tokens: int, n_words: int) -> None:
        nonlocal charged
        cost = 40 * n_docs + each * n_tokens + OF_NAME * n_words
        if cost > charged + (1 << 14):  # not at every line
            what = f"{n_tokens:,} words, {n_words:,} of them distinct, in {n_docs:,} documents"
            budget.charge(cost - charged, what)
            charged = cost

    return watch
