"""dcomp convert: counts from one file to another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcomp.cli.common import check_output, one_line_warnings, print_json, say
from dcomp.cli.flags import said, with_options
from dcomp.cli.options import Force, Input, Json, Quiet
from dcomp.cli.source import Source
from dcomp.recipe import READING

if TYPE_CHECKING:
    from dcomp.data import Counts

Out = Annotated[
    Path,
    typer.Argument(
        metavar="OUT",
        readable=False,
        help="File to write; its extension says the format (.gz, .bz2, .xz may follow).",
    ),
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="NAME", help="Format of OUT, where its name does not say it."),
]
Layout = Annotated[
    str | None,
    typer.Option(
        "--layout", metavar="WORD", help=".csv, .tsv: long, or wide.", show_default="long"
    ),
]
Spreadsheet = Annotated[
    bool,
    typer.Option(
        "--spreadsheet",
        help=".csv, .tsv: names that begin like a formula get an apostrophe.",
    ),
]
Shards = Annotated[
    int | None,
    typer.Option(
        "--shards",
        min=1,
        help=".dcounts: parts that it is worked through in.",
        show_default="one for 17 million entries",
    ),
]


@with_options(READING)
def convert(
    input: Input,
    output: Out,
    to: To = None,
    layout: Layout = None,
    spreadsheet: Spreadsheet = False,
    shards: Shards = None,
    as_json: Json = False,
    force: Force = False,
    quiet: Quiet = False,
    **typed: Any,
) -> None:
    """Write counts or text in another format.

    .mtx, .npz, docword.NAME.txt and .dat number features, and have their names in a file beside;
    .csv and .tsv are tables; .jsonl and .parquet have the tokens of a document and all that is
    known of it; .h5ad and folders (--to 10x) are for cells. What a format cannot hold is said.
    .dcounts is for corpora larger than memory: text is worked through in pieces, on the disk.

    \b
    Example:
      dcomp convert corpus.jsonl corpus.mtx --min-docs 5
      dcomp convert S108_votes.csv.xz votes.jsonl
      dcomp convert exomes.csv exomes.tsv.gz --transpose --layout wide
      dcomp convert counts.npz folder --to 10x
      dcomp convert corpus.jsonl.gz corpus.dcounts --min-docs 5 --shards 10
    """
    from dcomp.io.write import OUT_FORMATS, out_format, write

    name = out_format(output, to, option="--to")
    for place in ([] if name == "10x" else [output]) + OUT_FORMATS[name].beside(output):
        if place.parent.exists():
            check_output(place, force=force, inputs=(input,))
    options = {"layout": layout, "spreadsheet": spreadsheet or None, "shards": shards}
    counts = _read(Source(input, said(READING, typed)), output, name, quiet)
    with one_line_warnings():
        given = {key: value for key, value in options.items() if value is not None}
        write(counts, output, format=name, overwrite=force, **given)
    if name == "dcounts":
        from dcomp.io.dcounts import open_corpus

        counts = open_corpus(output)  # in its shards
    if as_json:
        size = {"documents": counts.n_docs, "features": counts.n_features, "nnz": counts.nnz}
        print_json({"output": str(output), "format": name, **size, "tokens": counts.n_tokens})
    elif not quiet:
        say(f"{counts!r} as {name} in {output}")


def _read(source: Source, output: Path, name: str, quiet: bool) -> Counts:
    """The input; of text that becomes a corpus larger than memory, through the disk."""
    if name != "dcounts":
        return source.read(quiet=quiet)
    from dcomp.atomic import resolved
    from dcomp.io.conversion import spooling

    return spooling(resolved(output), lambda: source.read(quiet=quiet)).without_order()
