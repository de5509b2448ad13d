"""One door for writing counts: the format is told by the name, as `read` tells it.

What a format cannot hold is left out, and a warning says so; names that it cannot hold are refused.
Each file is whole or not there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dcomp.atomic import check_place, is_plain, resolved
from dcomp.data.counts import Counts
from dcomp.errors import DataWarning, InvalidParameter, warn
from dcomp.io import write_dcounts, write_records, write_sparse, write_tables
from dcomp.io.files import StrPath, plain_name

Writer = Callable[..., None]
_HELD = {
    "ids": "ids of documents",
    "names": "names of features",
    "blocks": "blocks of features",
    "attributes": "attributes of documents",
}


@dataclass(frozen=True, slots=True)
class OutFormat:
    """A format that counts can be written in."""

    write: Writer
    extensions: tuple[str, ...]
    summary: str
    holds: tuple[str, ...] = ()  # of `_HELD`
    options: tuple[str, ...] = ()
    beside: Callable[[Path], list[Path]] = lambda path: []  # other files that it writes
    fractional: bool = True


OUT_FORMATS: dict[str, OutFormat] = {
    "docword": OutFormat(
        write_sparse.write_docword,
        (".txt",),
        "UCI bag of words, docword.NAME.txt with vocab.NAME.txt",
        ("names",),
        beside=write_sparse.vocab_of_docword,
        fractional=False,
    ),
    "ldac": OutFormat(
        write_sparse.write_ldac,
        (".dat", ".ldac"),
        "lda-c, with NAME.dat.vocab.txt beside it",
        ("names",),
        beside=write_sparse.vocab_beside,
        fractional=False,
    ),
    "matrix-market": OutFormat(
        write_sparse.write_matrix_market,
        (".mtx",),
        "Matrix Market, with NAME.mtx.vocab.txt beside it",
        ("names",),
        beside=write_sparse.vocab_beside,
    ),
    "npz": OutFormat(
        write_sparse.write_npz,
        (".npz",),
        "scipy.sparse.save_npz, with NAME.npz.vocab.txt beside it",
        ("names",),
        beside=write_sparse.vocab_beside,
    ),
    "table": OutFormat(
        write_tables.write_table,
        (".csv", ".tsv"),
        "long table (document, feature, count), or a wide one",
        ("ids", "names"),
        options=("layout", "spreadsheet"),
    ),
    "jsonl": OutFormat(
        write_records.write_jsonl,
        (".jsonl", ".ndjson"),
        "JSON lines, a document each, with its tokens in 'text'",
        ("ids", "names", "blocks", "attributes"),
        fractional=False,
    ),
    "parquet": OutFormat(
        write_records.write_parquet,
        (".parquet",),
        "parquet, a document per row, with its tokens in 'text'",
        ("ids", "names", "blocks", "attributes"),
        fractional=False,
    ),
    "10x": OutFormat(
        write_sparse.write_10x,
        (),
        "a folder with matrix.mtx, features.tsv and barcodes.tsv",
        ("ids", "names", "blocks"),
        beside=write_sparse.files_of_10x,
    ),
    "h5ad": OutFormat(
        write_records.write_h5ad, (".h5ad",), "AnnData's file", ("ids", "names", "attributes")
    ),
    "dcounts": OutFormat(
        write_dcounts.write_dcounts,
        (".dcounts",),
        "dcomp's own, which is mapped and not read",
        ("ids", "names", "blocks", "attributes"),
        options=("shards",),
    ),
}


def write(
    counts: Counts,
    path: StrPath,
    *,
    format: str | None = None,
    overwrite: bool = False,
    **options: Any,
) -> None:
    """Write counts to a file that `dcomp.read` reads, by its extension or as `format` says, packed
    where the name ends in .gz, .bz2 or .xz. A file that exists is replaced only with
    `overwrite=True`.

    What the format cannot hold (ids, blocks, attributes) is left out, with a warning. Tables take
    `layout` ("long", or "wide" with a column per feature) and `spreadsheet=True`, for names that a
    spreadsheet would compute. JSON lines and parquet have tokens one by one, in reading order where
    counts have one: `dcomp.read(path, stop_words=None, min_length=1, case="keep")` reads them
    as they are (docs/guides/files.md).

    >>> import dcomp, tempfile
    >>> counts = dcomp.Counts.from_matrix([[2, 0], [1, 3]], feature_names=["cat", "dog"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dcomp.write(counts, f"{folder}/pets.mtx")
    ...     dcomp.read(f"{folder}/pets.mtx") == counts
    True
    """
    path = Path(path)
    name = out_format(path, format)
    chosen = OUT_FORMATS[name]
    for option in options:
        if option not in chosen.options:
            has = ", ".join(chosen.options) or "none"
            raise InvalidParameter(
                f"option {option!r} has no effect on the format {name!r}; its options are: {has}"
            )
    if counts.is_fractional and not chosen.fractional:
        raise InvalidParameter(
            f"the format {name} holds whole counts, and these are fractional: write a table, "
            ".mtx or .npz"
        )
    targets = [*([] if name == "10x" else [path]), *chosen.beside(path)]
    for place in targets:
        if is_plain(place) and (name != "10x" or path.is_dir()):
            check_place(resolved(place), overwrite=overwrite)
    lost = [words for what, words in _HELD.items() if _has(counts, what, chosen.holds)]
    if lost:
        warn(f"{path.name}: the format {name} cannot hold {', '.join(lost)}", DataWarning)
    chosen.write(counts, path, **options)


def out_format(path: Path, format: str | None = None, *, option: str = "format=") -> str:
    """The format that a file of this name is written in; errors speak of the option that names it.

    >>> out_format(Path("a.tsv.gz")), out_format(Path("a.dat")), out_format(Path("a"), "npz")
    ('table', 'ldac', 'npz')
    """
    known = ", ".join(OUT_FORMATS)
    if format is not None:
        if format not in OUT_FORMATS:
            raise InvalidParameter(f"{option.strip('=')} must be one of {known}; found {format!r}")
        return format
    extension = Path(plain_name(path)).suffix.lower()
    for name, chosen in OUT_FORMATS.items():
        if extension in chosen.extensions:
            return name
    endings = ", ".join(e for chosen in OUT_FORMATS.values() for e in chosen.extensions)
    raise InvalidParameter(
        f"{path.name}: the name must end in one of {endings} (.gz, .bz2 or .xz may follow), or "
        f"give {option} one of {known}"
    )


def _has(counts: Counts, what: str, holds: tuple[str, ...]) -> bool:
    """Whether counts have what a format does not hold."""
    there = {
        "ids": counts.doc_ids is not None,
        "names": counts.features.names is not None,
        "blocks": counts.features.n_blocks > 1,
        "attributes": bool(counts.attributes),
    }
    return there[what] and what not in holds
