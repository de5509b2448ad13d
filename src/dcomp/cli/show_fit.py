"""dcomp show: a fit on the screen, and its components by what is known of documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from dcomp.cli.common import console, print_json
from dcomp.cli.flags import said, with_options
from dcomp.cli.options import Exposure, FitFile, Jobs, Json, Quiet
from dcomp.cli.source import Source, counts_for
from dcomp.errors import InvalidParameter
from dcomp.recipe import OF_NEW

if TYPE_CHECKING:
    from dcomp.data import Attributes
    from dcomp.evaluate import ByLabel
    from dcomp.models.arrays import FloatArray
    from dcomp.result import Fit

FEW = 4  # groups that are columns of the table of components
MaybeInput = Annotated[
    Path | None,
    typer.Argument(
        metavar="[INPUT]",
        readable=False,
        help="Documents with attributes for --by; those that were fitted, or others. Not needed "
        "where the fit has kept its own (dcomp fit --keep-attributes).",
    ),
]
By = Annotated[
    str | None,
    typer.Option("--by", metavar="NAME", help="An attribute: mean shares of each of its values."),
]


@with_options(OF_NEW)
def show(
    fit: FitFile,
    input: MaybeInput = None,
    by: By = None,
    top: Annotated[int, typer.Option("--top", "-n", min=1, help="Top features to show.")] = 10,
    exposure: Exposure = None,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
    **typed: Any,
) -> None:
    """Show a fit and its components.

    How it ended, and each component with its top features. With --by the mean share of each
    component is shown for every value of an attribute of documents. Numbers of many values are
    cut into four groups.

    \b
    Example:
      dcomp show fit.dcomp
      dcomp show fit.dcomp S108_votes.csv.xz --by party
      dcomp show fit.dcomp survey.csv --format categories --by PARTY -n 3
    """
    if input is not None and by is None:
        raise InvalidParameter("INPUT has no effect without by=: name an attribute of documents")
    source = Source(input or fit, said(OF_NEW, typed))
    fitted = source.load(fit)
    found = None
    if by is not None:
        if input is None:
            scores, about = np.asarray(fitted.scores, np.float64), fitted.attributes
        else:
            scores, about = _scored(fitted, source, exposure, quiet, jobs)
        found = _grouped(scores, about, by, input)
    if as_json:
        from dcomp.cli.show import as_record

        print_json({**as_record(fitted, top), **_record(by, found)})
    else:
        _print(fitted, found, by, top)


def _scored(
    fitted: Fit, source: Source, exposure: str | None, quiet: bool, jobs: int | None
) -> tuple[FloatArray, Attributes]:
    """The scores of documents: as fitted where they are those, else by `transform`."""
    counts, _ = counts_for(fitted, source, quiet)
    if fitted.is_of(counts):
        return np.asarray(fitted.scores, np.float64), counts.attributes
    scores = fitted.transform(counts, exposure=exposure, n_jobs=jobs)
    return np.asarray(scores, np.float64), counts.attributes


def _grouped(scores: FloatArray, about: Attributes, by: str, input: Path | None) -> ByLabel:
    from dcomp.data.categories import column_name
    from dcomp.evaluate import by_label

    if not about:
        where = (
            "the fit has kept none: give the documents" if input is None else f"{input} has none"
        )
        raise InvalidParameter(f"by= needs documents with attributes, and {where}")
    return by_label(scores, about[column_name("by", by, list(about))])


def _print(fitted: Fit, found: ByLabel | None, by: str | None, top: int) -> None:
    from dcomp.cli.show import component_table, has_tree, print_tree

    out = console()
    for line in [repr(fitted), *fitted.remarks]:
        out.print(line)
    more = {}
    if found is not None:
        sizes = ", ".join(f"{n} {s:,}" for n, s in zip(found.names, found.sizes, strict=True))
        few = f"; documents: {sizes}" if len(found.names) <= FEW else ""
        out.print(f"mean shares by {by}{few}")
        if len(found.names) > FEW:  # columns beside each other would leave no room for features
            out.print(str(found), soft_wrap=True)
        else:
            for name, row in zip(found.names, found.mean, strict=True):
                more[name] = [f"{100 * value:.0f} %" for value in row]
    if has_tree(fitted) and found is None:
        print_tree(out, fitted, top)
    else:
        out.print(component_table(fitted, top, more))


def _record(by: str | None, found: ByLabel | None) -> dict[str, Any]:
    if found is None:
        return {}
    groups = [
        {"name": name, "documents": int(size), "shares": mean.tolist(), "errors": error.tolist()}
        for name, size, mean, error in zip(
            found.names, found.sizes, found.mean, found.error, strict=True
        )
    ]
    return {"by": by, "groups": groups}
