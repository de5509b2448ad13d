"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dcomp.recipe import table


def to_write(metavar: str, help: str) -> Any:
    """--output, which writing a file says more of than looking at its path would."""
    return typer.Option("--output", "-o", metavar=metavar, readable=False, help=help)


Input = Annotated[
    Path,
    typer.Argument(
        metavar="INPUT",
        readable=False,  # reading it says more
        help="File of counts or text (.gz, .bz2, .xz too), a folder of .txt files, or - for "
        "standard input.",
    ),
]
FitFile = Annotated[
    Path, typer.Argument(metavar="FIT", readable=False, help="Written by dcomp fit.")
]
Exposure = Annotated[
    str | None,
    typer.Option(
        "--exposure",
        metavar="WORD",
        help=table()["exposure"].help,  # as dcomp fit says it,
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", metavar="N", help="Threads; all cores unless given. Changes no result."
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Seed of the random start.")]
TopBy = Annotated[
    str | None,
    typer.Option(
        "--top-by",
        metavar="WORD",
        help="What features are ranked by: probability, lift (what is rare elsewhere), relevance "
        "(both), or frex (frequent and exclusive).",
        show_default="probability; relevance where blocks are many",
    ),
]
Weight = Annotated[
    float | None,
    typer.Option(
        "--weight",
        metavar="X",
        help="Of --top-by relevance: lambda, the part of probability (0.6); of frex that of "
        "exclusivity (0.5).",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only warnings and errors.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the output file if it exists.")]
