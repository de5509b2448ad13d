"""dcomp admixture: ancestries behind genotypes, in the words of the field."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dcomp.cli.common import check_output, one_line_warnings, say
from dcomp.cli.field import fitting, print_found, reading, said_of_input
from dcomp.cli.flags import said, with_options
from dcomp.cli.options import Force, Jobs, Json, Quiet, to_write
from dcomp.cli.select import read_ks
from dcomp.cli.working import working

Genotypes = Annotated[
    Path,
    typer.Argument(
        metavar="GENOTYPES",
        readable=False,
        help="PLINK's .bed with .bim and .fam beside it, a VCF (both with labels in .pop), or a "
        "STRUCTURE file (.str).",
    ),
]
Ks = Annotated[
    str,
    typer.Option(
        "-k",
        metavar="KS",
        help="Ancestries. Several (2,3,4 or 2-6): the one with the lowest error of "
        "cross-validation is fitted.",
    ),
]


Folds = Annotated[
    int | None,
    typer.Option(min=2, metavar="N", help="Of cross-validation.", show_default="5"),
]
WithIntervals = Annotated[
    bool | None,
    typer.Option(
        "--intervals/--no-intervals",
        help="Of every share: by fits to resampled loci, of other algorithms than ml by chains.",
        show_default="where it takes seconds",
    ),
]
Replicates = Annotated[
    int | None,
    typer.Option(min=10, metavar="N", help="Fits to resampled loci.", show_default="50"),
]
Supervised = Annotated[
    str | None,
    typer.Option(
        "--supervised",
        metavar="ATTRIBUTE",
        help="Known ancestries, such as population, whose values are the first ones. People with "
        "a value have that one alone, those without may have all.",
    ),
]
Prefix = Annotated[
    Path | None,
    to_write("PREFIX", "Write PREFIX.K.Q and PREFIX.K.P as ADMIXTURE does, and PREFIX.K.dcomp."),
]
_FITTING = fitting("algorithm", "alpha", "gamma", "max_iter", "tol", "n_chains", "random_state")
_OF_INTERVALS = ("level", "with_intervals", "n_replicates", "progress")
_READING = reading("format", "limit", "populations", "columns", "rows", "missing")


@with_options(
    (*_FITTING, *_READING),
    algorithm="ml",
    alpha="1; learned by mean field",
    gamma="1; 0.5 by mean field",
    max_iter="2000; 600 of samplers",
    n_chains="1; 4 of samplers",
)
def admixture(
    genotypes: Genotypes,
    ks: Ks = "3",
    cross_validate: Annotated[
        bool, typer.Option("--cv", help="The error of cross-validation for a single K, too.")
    ] = False,
    folds: Folds = None,
    intervals: WithIntervals = None,
    level: Annotated[float, typer.Option(metavar="P", help="Of the intervals.")] = 0.9,
    replicates: Replicates = None,
    supervised: Supervised = None,
    everyone: Annotated[bool, typer.Option("--all", help="Show everyone.")] = False,
    output: Prefix = None,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
    force: Force = False,
    **typed: Any,
) -> None:
    """Find the ancestries behind genotypes.

    Shown are the shares of ancestries with intervals, their means by known population, the
    alleles that tell ancestries apart and the log-likelihood as ADMIXTURE has it. With several K,
    genotypes are hidden and told from the others, and the best K is fitted.

    \b
    Example:
      dcomp admixture hapmap3.bed -k 3
      dcomp admixture hapmap3.bed -k 2-5 -o hapmap3
      dcomp admixture people.vcf.gz -k 3
      dcomp admixture thrush.str -k 3 --algorithm mean-field
      dcomp admixture hapmap3.bed -k 3 --supervised population
    """
    from dcomp.use.admixture import SHOWN, read_genotypes

    numbers = read_ks(ks)
    validated = cross_validate or len(numbers) > 1
    if folds is not None and not validated:
        raise typer.BadParameter("has no effect without --cv or several -k", param_hint="--folds")
    for path in _targets(output, numbers):
        check_output(path, force=force, inputs=(genotypes,))
    with one_line_warnings(), working("reading", quiet=quiet):
        counts = read_genotypes(genotypes, **said_of_input(_READING, typed))
    how = {"level": level, "with_intervals": intervals, "n_jobs": jobs, **said(_FITTING, typed)}
    if supervised is not None:
        how["allowed"] = supervised
    if replicates is not None:
        how["n_replicates"] = replicates
    what = f"ancestries of {counts.n_docs:,} people"
    with one_line_warnings(), working(what, quiet=quiet) as update:
        how["progress"] = update
        found = _found(counts, numbers, folds or 5 if validated else None, how)
    if output is not None:
        _write(found, counts, output)
    shown = None if everyone else SHOWN
    print_found(found.as_record, lambda: found.lines(shown), as_json=as_json, quiet=quiet)


def _write(found: Any, counts: Any, prefix: Path) -> None:
    from dcomp.result import save

    fit_path = _targets(prefix, [found.fit.n_components])[-1]
    save(found.fit.with_attributes(counts), fit_path, overwrite=True)  # checked before
    paths = (*found.write(prefix, overwrite=True), fit_path)
    say(f"written: {', '.join(str(path) for path in paths)}")
    if not found.is_biallelic:
        say("note: no .P is written, because some loci have more than two alleles")


def _found(counts: Any, numbers: list[int], folds: int | None, how: dict[str, Any]) -> Any:
    """The fit of the one K, or of the best of several."""
    from dataclasses import replace

    from dcomp.use.admixture import admixture as find
    from dcomp.use.admixture import validate

    judged = None
    if folds is not None:
        options = {k: v for k, v in how.items() if k not in _OF_INTERVALS}
        judged = validate(counts, numbers, n_folds=folds, **options)
    K = numbers[0] if judged is None else judged.recommended
    return replace(find(counts, K, **how), cross_validation=judged)


def _targets(prefix: Path | None, numbers: list[int]) -> list[Path]:
    if prefix is None:
        return []
    return [Path(f"{prefix}.{k}.{kind}") for k in numbers for kind in ("Q", "P", "dcomp")]
