"""Writers of formats that number features, with their names in a file beside."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse

from dcomp.atomic import atomic_write
from dcomp.data.counts import Counts
from dcomp.errors import InvalidParameter
from dcomp.io.beside import own_vocabulary
from dcomp.io.files import plain_name

_ROWS = 4096  # documents written at a time
# Without name or time: the same counts give the same file.
_PACKERS: dict[str, Callable[[Any], Any]] = {
    ".gz": lambda plain: gzip.GzipFile("", "wb", 6, plain, mtime=0),
    ".bz2": lambda plain: bz2.BZ2File(plain, "wb"),
    ".xz": lambda plain: lzma.LZMAFile(plain, "wb"),  # noqa: SIM115 (`packed` closes it)
}
_BANNER = "%%MatrixMarket matrix coordinate {} general\n"


@contextmanager
def packed(path: Path) -> Iterator[IO[bytes]]:
    """A stream whose content becomes the file when the block ends well, packed as its name says."""
    with atomic_write(path) as plain:
        made = _PACKERS.get(path.suffix.lower())
        if made is None:
            yield plain
        else:
            with made(plain) as stream:
                yield stream


@contextmanager
def text(path: Path) -> Iterator[Any]:
    """The same for text in UTF-8; what has no place in it is refused."""
    with packed(path) as stream:
        lines = io.TextIOWrapper(stream, "utf-8", newline="")
        try:
            yield lines
        except UnicodeEncodeError as error:
            raise InvalidParameter(
                f"{path.name}: a name cannot be written as text: {error.object[:40]!r}"
            ) from None
        lines.detach()  # flushed, and left open


def names_of(counts: Counts) -> Sequence[str] | None:
    """Names as they stand alone: block=feature where there are blocks."""
    return counts.features.labels


def check_lines(path: Path, names: Sequence[str], what: str, without: str = "\r\n") -> None:
    """An error for a name that would not be read again as it is, on a line of its own."""
    for name in names:
        if not name.strip() or name.strip() != name or set(name) & set(without):
            raise InvalidParameter(
                f"{path.name} cannot hold the name {name!r} of a {what}: a name must be on one "
                "line, and neither blank nor begin or end with a space"
            )


def write_vocabulary(path: Path, names: Sequence[str] | None) -> None:
    """A name per line; where features have none, the names of what is replaced go."""
    if names is None:
        if path.is_file():
            path.unlink()
        return
    check_lines(path, names, "feature")
    with text(path) as lines:
        lines.writelines(f"{name}\n" for name in names)


def _batches(counts: Counts) -> Iterator[tuple[int, Any]]:
    """Documents in batches, with the number of the first, as rows of (document, feature, count)."""
    for first in range(0, counts.n_docs, _ROWS):
        ends = counts.indptr[first : first + _ROWS + 1]
        own = slice(int(ends[0]), int(ends[-1]))
        document = np.repeat(np.arange(first, first + len(ends) - 1), np.diff(ends))
        yield first, (document, counts.indices[own], counts.data[own])


def write_docword(counts: Counts, path: Path) -> None:
    """docword.NAME.txt and vocab.NAME.txt."""
    write_vocabulary(*_named(vocab_of_docword(path), counts))
    with text(path) as lines:
        lines.write(f"{counts.n_docs}\n{counts.n_features}\n{counts.nnz}\n")
        for _, (document, feature, count) in _batches(counts):
            rows = zip((document + 1).tolist(), (feature + 1).tolist(), count.tolist(), strict=True)
            lines.writelines(f"{d} {f} {c}\n" for d, f, c in rows)


def vocab_of_docword(path: Path) -> list[Path]:
    """Where the words of docword.NAME.txt are looked for."""
    name = plain_name(path)
    if "docword" not in name:
        raise InvalidParameter(
            f"{path.name}: a file of this format is called docword.NAME.txt, so that the words in "
            "vocab.NAME.txt are found beside it"
        )
    return [path.with_name(name.replace("docword", "vocab"))]


def write_ldac(counts: Counts, path: Path) -> None:
    """NAME.dat and NAME.dat.vocab.txt."""
    write_vocabulary(*_named(vocab_beside(path), counts))
    with text(path) as lines:
        for i in range(counts.n_docs):
            own = slice(*counts.indptr[i : i + 2].tolist())
            pairs = zip(counts.indices[own].tolist(), counts.data[own].tolist(), strict=True)
            lines.write(" ".join([str(own.stop - own.start), *(f"{j}:{c}" for j, c in pairs)]))
            lines.write("\n")


def write_matrix_market(counts: Counts, path: Path) -> None:
    """NAME.mtx and NAME.mtx.vocab.txt."""
    write_vocabulary(*_named(vocab_beside(path), counts))
    with text(path) as lines:
        _write_entries(lines, counts, turned=False)


def _write_entries(lines: Any, counts: Counts, turned: bool) -> None:
    """Entries of documents by features, or of features by documents."""
    lines.write(_BANNER.format("real" if counts.is_fractional else "integer"))
    shape = counts.shape[::-1] if turned else counts.shape
    lines.write(f"{shape[0]} {shape[1]} {counts.nnz}\n")
    for _, (document, feature, count) in _batches(counts):
        places = (feature, document) if turned else (document, feature)
        first, second = ((place + 1).tolist() for place in places)
        rows = zip(first, second, count.tolist(), strict=True)
        lines.writelines(f"{a} {b} {c!r}\n" for a, b, c in rows)


def write_npz(counts: Counts, path: Path) -> None:
    """NAME.npz and NAME.npz.vocab.txt."""
    write_vocabulary(*_named(vocab_beside(path), counts))
    with packed(path) as stream:
        sparse.save_npz(stream, counts.to_scipy())


def vocab_beside(path: Path) -> list[Path]:
    """Where the names of a matrix are looked for first."""
    return [own_vocabulary(path)]


def _named(beside: list[Path], counts: Counts) -> tuple[Path, Sequence[str] | None]:
    return beside[0], names_of(counts)


def write_10x(counts: Counts, path: Path) -> None:
    """A folder, made if it is not there; the block of a feature is its kind."""
    features = counts.features
    matrix, of_genes, of_cells = files_of_10x(path)
    names = features.names or [f"feature {j}" for j in range(features.n_features)]
    ids = counts.doc_ids or [str(i) for i in range(counts.n_docs)]
    check_lines(of_genes, names, "feature", "\r\n\t")
    check_lines(of_cells, ids, "document", "\r\n\t")
    path.mkdir(exist_ok=True)
    with text(of_genes) as lines:
        for j, name in enumerate(names):
            kind = features.block_name(int(features.blocks[j])) if features.n_blocks > 1 else ""
            lines.write(f"{name}\t{name}" + (f"\t{kind}" if kind else "") + "\n")
    with text(of_cells) as lines:
        lines.writelines(f"{name}\n" for name in ids)
    with text(matrix) as lines:
        _write_entries(lines, counts, turned=True)


def files_of_10x(path: Path) -> list[Path]:
    """The files of such a folder."""
    return [path / name for name in ("matrix.mtx", "features.tsv", "barcodes.tsv")]
