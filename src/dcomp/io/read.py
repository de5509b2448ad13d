"""One door for every file of counts: the format is told by the name and the first lines."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from dcomp.data.counts import Counts, options_of
from dcomp.data.reading import Reading
from dcomp.data.text_options import TextOptions
from dcomp.errors import InvalidCounts, InvalidFile, InvalidParameter
from dcomp.io.anndata import read_h5ad
from dcomp.io.categories import read_categories
from dcomp.io.dcounts import open_corpus
from dcomp.io.docword import read_docword
from dcomp.io.files import StrPath, metered, opened, plain_name
from dcomp.io.jsonl import read_jsonl
from dcomp.io.ldac import read_ldac
from dcomp.io.limits import Limits
from dcomp.io.matrix_market import read_matrix_market
from dcomp.io.npz import read_npz
from dcomp.io.parquet import read_parquet
from dcomp.io.plink import read_plink
from dcomp.io.stdin import STDIN, kept_stdin
from dcomp.io.structure import read_structure
from dcomp.io.table import read_table
from dcomp.io.tenx import is_10x, read_10x
from dcomp.io.text import read_text
from dcomp.io.text_table import has_columns, header_of, read_text_table
from dcomp.io.vcf import read_vcf
from dcomp.io.votes import read_votes
from dcomp.io.voteview import BEGINS, read_voteview
from dcomp.printable import printable


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: how it is read, the extensions that suggest it, what its first lines are.

    >>> FORMATS["ldac"].options
    ('vocab',)
    """

    read: Callable[..., Counts]
    extensions: tuple[str, ...]
    summary: str
    begins: re.Pattern[str] | None = None  # what the beginning of the file must match, if anything
    words: tuple[str, ...] = ()  # options of text that it takes, of those of `TextOptions`

    @property
    def options(self) -> tuple[str, ...]:
        """The options that `read` takes for this format.

        >>> FORMATS["docword"].options
        ('vocab',)
        """
        parameters = inspect.signature(self.read).parameters.values()
        own = (p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY)
        return (*(name for name in own if name not in _UNTYPED), *self.words)


_UNTYPED = ("limits", "options", "free_labels")  # of readers, and no options of `read`
_ALL = tuple(field.name for field in fields(TextOptions))
_FIELDS = ("text", "id", "labels", "text_blocks")  # which only files with fields have
_OF_WORDS = tuple(name for name in _ALL if name not in _FIELDS)
_NO_NUMBER = re.compile(r"[^\s\d.,;+-]")
# Of two formats that share an extension, the first whose beginning matches is taken.
FORMATS: dict[str, Format] = {
    "docword": Format(
        read_docword,
        (".txt",),
        "UCI bag of words",
        re.compile(r"(?:[ \t]*\d+[ \t]*\r?\n){3}"),
    ),
    "ldac": Format(
        read_ldac,
        (".dat", ".ldac"),
        "lda-c: 'M term:count ...' per line",
        re.compile(r"[ \t]*\d+(?:[ \t]+\d+:\d+|[ \t]*\r?(?:\n|$))"),
    ),
    "matrix-market": Format(read_matrix_market, (".mtx",), "Matrix Market"),
    "npz": Format(read_npz, (".npz",), "scipy.sparse.save_npz"),
    "voteview": Format(
        read_voteview, (".csv",), "Voteview's votes, with members and roll calls beside", BEGINS
    ),
    "table": Format(read_table, (".csv", ".tsv"), "long or wide table with a header"),
    "text-table": Format(
        read_text_table, (), "table with a column of text; taken where text= names one", words=_ALL
    ),
    "parquet": Format(read_parquet, (".parquet",), "parquet with a column of text", words=_ALL),
    "text": Format(
        read_text, (".txt",), "a document per line, or a folder of .txt files", words=_OF_WORDS
    ),
    "jsonl": Format(
        read_jsonl, (".jsonl", ".ndjson"), "JSON lines with a 'text' field", words=_ALL
    ),
    "categories": Format(read_categories, (), "a table of answers, one question per column"),
    "plink": Format(read_plink, (".bed",), "PLINK's genotypes, with .bim and .fam beside"),
    "vcf": Format(read_vcf, (".vcf",), "VCF, of which the genotypes (GT) are read"),
    "structure": Format(
        read_structure,
        (".str", ".stru", ".structure"),
        "STRUCTURE's genotypes, one or two rows each",
    ),
    "10x": Format(read_10x, (), "a folder with matrix.mtx, features.tsv and barcodes.tsv"),
    "h5ad": Format(read_h5ad, (".h5ad",), "AnnData's file of cells and genes"),
    "votes": Format(read_votes, (), "a table of votes, one roll call per column"),
    "dcounts": Format(open_corpus, (".dcounts",), "dcomp's own, which is mapped and not read"),
}


def read(
    path: StrPath,
    *,
    format: str | None = None,
    limits: Limits | None = None,
    like: Any = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Counts:
    """Read counts from a file, from a folder (of .txt files, or of 10x Genomics), or from standard
    input ("-").

    The format follows from the extension and the first lines, unless `format` names one of
    `FORMATS`. Files compressed as .gz, .bz2 or .xz are read as they are. The options are those
    of the format's own reader; one that it does not have is an error. Tables, Matrix Market and npz
    take `fractional=True`, for counts that need not be whole.

    Text (lines, JSON lines, folders, tables and parquet where `text` names a column) takes the
    options of `dcomp.TextOptions`: which fields, what a word is, which words are kept. Files with
    fields take `where`: {"split": "train"} reads the documents that have it. With `like`, a fit or
    counts of text, words are found as they were for it; its labels are read where they are there.
    With `like` of a table whose format or columns had to be said (`Fit.reading`) they need not be
    said again; what is said wins. Of other files of counts nothing need be known, and it changes
    nothing. `progress` is told how many bytes of the file are read, and how many there are.

    A file may take ten times its size of memory, or 64 MB if that is more; `limits` allows more, or
    less (docs/guides/files.md). What is wrong with a file is an InvalidFile, an OSError where it
    cannot be opened or read, and nothing else.

    >>> read("absent.csv")
    Traceback (most recent call last):
    FileNotFoundError: no such file: absent.csv
    """
    if format is not None and format not in FORMATS:
        raise InvalidParameter(f"format must be one of {', '.join(FORMATS)}; found {format!r}")
    if limits is not None and not isinstance(limits, Limits):
        raise InvalidParameter(f"limits must be dcomp.Limits(…); found {limits!r}")
    if str(path) == STDIN:
        with kept_stdin(has_columns="text" in options) as kept:
            format = format or _said_before(like)
            how = {"format": format, "limits": limits, "like": like, "progress": progress}
            return read(kept, **how, **options)
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"no such file: {printable(path)}")
    name = _chosen(path, format, like, options)
    chosen = FORMATS[name]
    options = {**_remembered(path, name, like), **options}
    for option in options:
        if option not in chosen.options:
            if name == "table" and option in _ALL:
                raise InvalidParameter(
                    f"option {option!r} is for text: name the column that holds it with text=…"
                )
            raise InvalidParameter(
                f"option {option!r} has no effect on the format {name!r}{_instead(name, option)}; "
                f"its options are: {', '.join(chosen.options)}"
            )
    try:
        with metered(path, progress):
            counts = chosen.read(path, limits=limits, **_made(chosen, like, options))
    except InvalidCounts as error:
        hint = _why_no_words(path) if name == "text" else ""
        raise InvalidFile(f"{path}: {error}{hint}") from error
    except MemoryError:
        raise InvalidFile(f"{path}: reading it takes more memory than there is") from None
    if chosen.words:
        return counts
    found = {} if counts.reading is None else counts.reading.options  # told by what is in it
    reading = Reading.of(name, _guess(path), {**found, **options})  # for others of its kind
    return counts if reading is None else replace(counts, reading=reading)


def _chosen(path: Path, format: str | None, like: Any, options: Mapping[str, Any]) -> str:
    """The format: a table is one of texts where a column of text is named, or is there as it was
    in what this is to be like."""
    if format is not None:
        return format
    reading = _reading_of(like)
    if reading is not None and reading.format != reading.instead_of == _guess(path):
        return reading.format
    name = guess_format(path)
    if name != "table":
        return name
    words = None if like is None or reading is not None else _words_of(like)
    is_text = "text" in options or (words is not None and has_columns(path, words.text))
    return "text-table" if is_text else name


def _instead(name: str, option: str) -> str:
    """Of a table the formats that have this option, and are not told from a file."""
    known = ("categories", "votes") if name == "table" else ()
    having = [f"format={other!r}" for other in known if option in FORMATS[other].options]
    return f": give {' or '.join(having)}" if having else ""


def _why_no_words(path: Path) -> str:
    """What a file without words may be."""
    start = _beginning(path) if path.is_file() else ""
    if _NO_NUMBER.search(start) or not re.search(r"\d", start):
        return ""
    return "; its lines hold numbers only: genotypes of STRUCTURE are read by format='structure'"


def _reading_of(like: Any) -> Reading | None:
    found = getattr(like, "reading", None)
    return found if isinstance(found, Reading) and found.format in FORMATS else None


def _said_before(like: Any) -> str | None:
    """The format of what this is to be like, where it had to be said."""
    reading = _reading_of(like)
    return None if reading is None or reading.format == reading.instead_of else reading.format


def _guess(path: Path) -> str | None:
    try:
        return guess_format(path)
    except InvalidFile:
        return None


def _remembered(path: Path, name: str, like: Any) -> dict[str, Any]:
    """What was said of the columns of a table that this is to be like, in the same format."""
    reading = _reading_of(like)
    if reading is None or reading.format != name:
        return {}
    if not path.is_file() or name not in ("categories", "votes"):  # whose columns have names
        return reading.options
    return reading.options_for(header_of(path, reading.delimiter))


def format_of(
    path: StrPath, format: str | None, like: Any = None, options: Mapping[str, Any] | None = None
) -> Format:
    """The format that `read` would take; of standard input one of text, unless another is said.

    >>> format_of("-", None) is FORMATS["text"], format_of("a.mtx", "npz") is FORMATS["npz"]
    (True, True)
    """
    if format is not None and format not in FORMATS:
        raise InvalidParameter(f"format must be one of {', '.join(FORMATS)}; found {format!r}")
    if format is not None:
        return FORMATS[format]
    if str(path) == STDIN or not Path(path).exists():  # which reading then says
        return FORMATS[_said_before(like) or "text"]
    return FORMATS[_chosen(Path(path), None, like, options or {})]


def _made(chosen: Format, like: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """What the reader takes, options of text in one piece."""
    words = {name: value for name, value in options.items() if name in chosen.words}
    own = {name: value for name, value in options.items() if name not in words}
    if chosen.words:
        made = TextOptions(**words) if like is None else options_of(like).for_new(**words)
        own["options"] = made
        # Labels of the documents that were fitted: new ones need not have them.
        if like is not None and "labels" in chosen.words and "labels" not in words:
            own["free_labels"] = True
    elif like is not None:
        _words_of(like)
    return own


def _words_of(like: Any) -> TextOptions | None:
    """How its words were found, if it is of text; of plain counts nothing must be known."""
    if not hasattr(like, "reading") or not hasattr(like, "text"):
        raise InvalidParameter(f"like must be a fit or counts; found {like!r}")
    return None if like.text is None else options_of(like)


def guess_format(path: Path) -> str:
    """Tell the format of an existing file by its extension and its first lines.

    >>> guess_format(Path("strange.xyz"))
    Traceback (most recent call last):
    dcomp.errors.InvalidFile: strange.xyz: cannot tell the format from the extension '.xyz'; \
give format= one of docword, ldac, …
    """
    if path.is_dir():
        return "10x" if is_10x(path) else "text"
    extension = Path(plain_name(path)).suffix.lower()
    candidates = [name for name, known in FORMATS.items() if extension in known.extensions]
    start = ""
    if any(FORMATS[name].begins for name in candidates):
        start = _beginning(path)
    for name in candidates:
        begins = FORMATS[name].begins
        if begins is None or begins.match(start):
            return name
    choice = f"give format= one of {', '.join(FORMATS)}"
    if candidates:
        first = start.partition("\n")[0][:40]
        raise InvalidFile(
            f"{path}:1: expected {FORMATS[candidates[0]].summary}, found {first!r}; {choice}"
        )
    raise InvalidFile(f"{path}: cannot tell the format from the extension {extension!r}; {choice}")


def _beginning(path: Path) -> str:
    with opened(path) as stream:  # a few lines, whatever the limits
        lines = [stream.readline(1 << 20) for _ in range(3)]
    return b"".join(lines).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
