"""dcomp signatures: processes behind the mutations of tumours, in the words of the field."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dcomp.cli.common import check_output, one_line_warnings
from dcomp.cli.field import fitting, keep, print_found, reading, said_of_input
from dcomp.cli.flags import said, with_options
from dcomp.cli.options import Force, Jobs, Json, Quiet, to_write
from dcomp.cli.select import read_ks
from dcomp.cli.working import working

Tumours = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        readable=False,
        help="Mutation types by tumours, or tumours by types (told from the names of types).",
    ),
]
Ks = Annotated[
    str,
    typer.Option(
        "-k",
        metavar="KS",
        help="Signatures to find. Several (5,10,15 or 4-8): tumours are resampled and fitted with "
        "each, and the largest K whose signatures are stable is taken.",
    ),
]
Replicates = Annotated[
    int | None,
    typer.Option(
        min=2,
        metavar="N",
        help="Resampled fits, to see how stable signatures are.",
        show_default="10 with several -k",
    ),
]
Most = Annotated[
    float | None,
    typer.Option(
        metavar="N",
        help="A tumour of more mutations counts as one of so many.",
        show_default="all count",
    ),
]


_FITTING = fitting(
    "model", "algorithm", "alpha", "gamma", "max_iter", "tol", "n_tries", "random_state"
)
_READING = reading("format", "limit", "transpose", "label_columns", "delimiter", "fractional")


@with_options((*_FITTING, *_READING), model="GP")
def signatures(
    tumours: Tumours,
    ks: Ks = "10",
    replicates: Replicates = None,
    max_mutations: Most = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            readable=False,
            metavar="FILE",
            help="Published signatures, a table of the same types: which are found, and exposures "
            "to them.",
        ),
    ] = None,
    intervals: Annotated[
        bool | None,
        typer.Option(
            "--intervals/--no-intervals",
            help="Of every exposure to the published signatures.",
            show_default="where it takes seconds",
        ),
    ] = None,
    level: Annotated[
        float | None, typer.Option(metavar="P", help="Of the intervals.", show_default="0.9")
    ] = None,
    everyone: Annotated[bool, typer.Option("--all", help="Show every tumour.")] = False,
    output: Annotated[Path | None, to_write("FIT", "Write the fit.")] = None,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
    force: Force = False,
    **typed: Any,
) -> None:
    """Find the signatures behind the mutations of tumours.

    Shown are the signatures with their main types. With --reference also which published ones they
    are (by cosine, each for at most one), and the exposures of tumours to the published ones.

    \b
    Example:
      dcomp signatures exomes.96.csv -k 20 --reference sbs_exome_signatures.csv
      dcomp signatures exomes.96.csv -k 4,6,8,10 --replicates 20
      dcomp signatures exomes.96.csv -k 8 --model DM --algorithm ml -o fit.dcomp
    """
    from dcomp.use.catalogue import Catalogue
    from dcomp.use.signatures import SHOWN, read_tumours
    from dcomp.use.signatures import signatures as find

    typed_intervals = "--no-intervals" if intervals is False else "--intervals"
    for value, flag in ((intervals, typed_intervals), (level, "--level")):
        if value is not None and reference is None:
            raise typer.BadParameter("has no effect without --reference", param_hint=flag)
    inputs = (tumours,) if reference is None else (tumours, reference)
    if output is not None:
        check_output(output, force=force, inputs=inputs)
    of_input = said_of_input(_READING, typed)
    limits = of_input.get("limits")
    with working("reading", quiet=quiet):
        counts = read_tumours(tumours, **of_input)
    published = None if reference is None else Catalogue.of(reference, limits)
    how: dict[str, Any] = {"with_intervals": intervals, "n_jobs": jobs, **said(_FITTING, typed)}
    how |= {"n_replicates": replicates, "max_mutations": max_mutations}
    if level is not None:
        how["level"] = level
    with one_line_warnings(), working(f"signatures of {counts.n_docs:,} tumours", quiet=quiet):
        found = find(counts, read_ks(ks), reference=published, **how)
    if output is not None:
        keep(found.fit, output)
    shown = None if everyone else SHOWN
    print_found(found.as_record, lambda: found.lines(shown), as_json=as_json, quiet=quiet)
