"""dcomp project: documents on components that are known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dcomp.cli.common import check_output, print_json
from dcomp.cli.field import fitting
from dcomp.cli.fit import default_output
from dcomp.cli.fitting import run_recipe
from dcomp.cli.flags import said, with_options
from dcomp.cli.options import Force, Input, Jobs, Json, Quiet, to_write
from dcomp.cli.source import Source
from dcomp.recipe import READING, Recipe

Known = Annotated[
    Path,
    typer.Argument(
        metavar="COMPONENTS",
        readable=False,
        help="Their loadings: a table with a row for each and its name in front (CSV, TSV, "
        "parquet), a catalogue of signatures, a fit (.dcomp), or ADMIXTURE's .P.",
    ),
]
Output = Annotated[
    Path | None,
    to_write("FIT", "Where to keep the fit; INPUT's name with .dcomp in this folder unless given."),
]


_OPTIONS = fitting(
    "model", "algorithm", "alpha", "beta", "exposure", "max_iter", "tol", "random_state"
)


@with_options((*_OPTIONS, *READING))
def project(
    input: Input,
    components: Known,
    output: Output = None,
    jobs: Jobs = None,
    top: Annotated[int, typer.Option(min=1, help="Top features to show.")] = 10,
    as_json: Json = False,
    quiet: Quiet = False,
    force: Force = False,
    **typed: Any,
) -> None:
    """Find the scores of documents on components that are given.

    Published signatures, topics of another corpus, allele frequencies of a panel: nothing but
    scores and their prior is found. Features are matched by name where both have names. dcomp
    transform writes the scores of the fit that is saved.

    \b
    Example:
      dcomp project tumours.csv signatures.csv -o exposures.dcomp
      dcomp project new.jsonl fit.dcomp -o there.dcomp
      dcomp project people.bed panel.3.P --algorithm ml -o people.dcomp
    """
    from dcomp.cli.show import Ranking, as_record, print_fit
    from dcomp.result import load, save

    target = output or default_output(input)
    check_output(target, force=force, inputs=(input, components))
    counts = Source(input, said(READING, typed)).read(quiet=quiet)
    from dcomp.recipe.known_files import known_components

    known = known_components(load(components) if components.suffix == ".dcomp" else components)
    given = {"n_components": known.n_components, "fixed": known, **said(_OPTIONS, typed)}
    fitted = run_recipe(counts, Recipe(**given), jobs, show=not quiet)
    save(fitted, target, overwrite=True)  # which was checked before the work
    if as_json:
        print_json({"output": str(target), **as_record(fitted, Ranking(top))})
    elif not quiet:
        print_fit(fitted, counts, target, Ranking(top))
