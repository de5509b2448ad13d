"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dcomp import registry
from dcomp.inference import ALGORITHMS
from dcomp.inference.keep import DRAW_BUDGET as DRAW_BUDGET
from dcomp.inference.keep import KINDS as KINDS
from dcomp.models import MODELS

# Names come from the registry, so that no help text promises what is not there.
MODEL_NAMES = ", ".join(registry.supported()) + " or a name such as lda, gap, ctm, plsa, nmf"
ALGORITHM_NAMES = ", ".join(ALGORITHMS)
WITH_EXPOSURE = " and ".join(key for key, model in MODELS.items() if model.has_exposure)

Input = Annotated[
    Path,
    typer.Argument(
        metavar="INPUT",
        readable=False,  # reading it says more
        help="File of counts or text (.gz, .bz2, .xz too), or a folder of .txt files.",
    ),
]
FitFile = Annotated[
    Path, typer.Argument(metavar="FIT", readable=False, help="Written by dcomp fit.")
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="docword, ldac, matrix-market, npz, table, text or jsonl. "
        "Told from the name and the first lines unless given.",
    ),
]
Vocab = Annotated[
    Path | None,
    typer.Option(
        "--vocab", metavar="FILE", readable=False, help="Names of the features, one per line."
    ),
]
Exposure = Annotated[
    str | None,
    typer.Option(
        "--exposure",
        metavar="total",
        help=f"{WITH_EXPOSURE}: 'total' takes each document's length as its exposure.",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", metavar="N", help="Threads; all cores unless given. Changes no result."
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Seed of the random start.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only warnings and errors.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the output file if it exists.")]
