"""dcomp signatures: processes behind the mutations of tumours, in the words of the field."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dcomp.cli.common import check_output, one_line_warnings, print_json, say, show
from dcomp.cli.flags import said, with_options
from dcomp.cli.options import Force, Jobs, Json
from dcomp.models.options import Option
from dcomp.recipe import READING, table

Tumours = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        readable=False,
        help="Mutation types by tumours, or tumours by types (told from the names of types).",
    ),
]


def _options() -> tuple[Option, ...]:
    own = ("model", "algorithm", "alpha", "gamma", "max_iter", "tol", "n_tries", "random_state")
    return tuple(table()[name] for name in own)


_OWN = ("format", "limit", "transpose", "label_columns", "fractional")
_READING = tuple(option for option in READING if option.name in _OWN)


@with_options((*_options(), *_READING), model="GP")
def signatures(
    tumours: Tumours,
    k: Annotated[int, typer.Option("-k", min=1, metavar="N", help="Signatures to find.")] = 10,
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
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", readable=False, metavar="FIT", help="Write the fit."),
    ] = None,
    jobs: Jobs = None,
    as_json: Json = False,
    force: Force = False,
    **typed: Any,
) -> None:
    """Find the signatures behind the mutations of tumours.

    Shown are the signatures with their main types. With --reference also which published ones they
    are (by cosine, each for at most one), and the exposures of tumours to the published ones.

    \b
    Example:
      dcomp signatures exomes.96.csv -k 20 --reference sbs_exome_signatures.csv
      dcomp signatures exomes.96.csv -k 8 --model DM --algorithm ml -o fit.dcomp
    """
    from dcomp.io import Limits
    from dcomp.use.catalogue import Catalogue
    from dcomp.use.signatures import SHOWN, read_tumours
    from dcomp.use.signatures import signatures as find

    for value, flag in ((intervals, "--intervals"), (level, "--level")):
        if value is not None and reference is None:
            raise typer.BadParameter("has no effect without --reference", param_hint=flag)
    inputs = (tumours,) if reference is None else (tumours, reference)
    if output is not None:
        check_output(output, force=force, inputs=inputs)
    reading: dict[str, Any] = said(_READING, typed)
    if "limit" in reading:
        reading["limits"] = Limits.parse(reading.pop("limit"))
    limits = reading.get("limits")
    counts = read_tumours(tumours, **reading)
    published = None if reference is None else Catalogue.of(reference, limits)
    how: dict[str, Any] = {"with_intervals": intervals, "n_jobs": jobs, **said(_options(), typed)}
    if level is not None:
        how["level"] = level
    with one_line_warnings():
        found = find(counts, k, reference=published, **how)
    if output is not None:
        from dcomp.result import save

        save(found.fit, output, overwrite=True)  # checked before
        say(f"written: {output}")
    if as_json:
        print_json(found.as_record())
    else:
        show("\n".join(found.lines(None if everyone else SHOWN)))
