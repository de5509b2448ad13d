"""dcomp show: a fit on the screen, and its components by what is known of documents."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from dcomp.cli.common import console, print_json
from dcomp.cli.common import show as show_lines
from dcomp.cli.documents import as_rows, print_documents, texts_of_documents
from dcomp.cli.flags import said, with_options
from dcomp.cli.options import Exposure, FitFile, Jobs, Json, Quiet, TopBy, Weight
from dcomp.cli.show import Ranking, as_record, component_table, has_tree, print_tree
from dcomp.cli.source import Source, counts_for
from dcomp.cli.wording import in_shell_words
from dcomp.cli.working import working
from dcomp.errors import InvalidParameter
from dcomp.recipe import OF_NEW

if TYPE_CHECKING:
    from dcomp.data import Counts
    from dcomp.evaluate import ByLabel, Clusters, Differences
    from dcomp.models.arrays import FloatArray
    from dcomp.result import Fit

FEW = 4  # groups that are columns of the table of components
MaybeInput = Annotated[
    Path | None,
    typer.Argument(
        metavar="[INPUT]",
        readable=False,
        help="Documents for --by and --documents; those that were fitted, or others. --by does "
        "without where the fit has kept attributes (dcomp fit --keep-attributes), --documents "
        "where ids are enough.",
    ),
]
By = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="NAME",
        help="An attribute, or a field of texts: mean shares of each of its values.",
    ),
]


Typical = Annotated[
    int | None,
    typer.Option(
        "--documents",
        "-d",
        min=1,
        metavar="N",
        help="Typical documents of each component, so many; with their texts if INPUT has them.",
    ),
]


Apart = Annotated[
    str | None,
    typer.Option(
        "--differences",
        metavar="A[,B]",
        help="The features that tell component A from B, or from all others, by number or name; "
        "with intervals where chains have settled. INPUT must be what was fitted, unless the fit "
        "has kept draws.",
    ),
]


@with_options(OF_NEW)
def show(
    fit: FitFile,
    input: MaybeInput = None,
    by: By = None,
    documents: Typical = None,
    differences: Apart = None,
    top: Annotated[int, typer.Option("--top", "-n", min=1, help="Top features to show.")] = 10,
    top_by: TopBy = None,
    weight: Weight = None,
    exposure: Exposure = None,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
    **typed: Any,
) -> None:
    """Show a fit and its components.

    How it ended, and each component with its top features; where blocks are few (title and body),
    those of each. With --by the mean share of each component is shown for every value of an
    attribute of documents. Numbers of many values are cut into four groups. Of other attributes a
    line says how far the clusters of documents, by the component that each has the most of, are
    the groups: purity, NMI, adjusted Rand index. With --documents the documents that have most of
    each component follow.

    \b
    Example:
      dcomp show fit.dcomp --top-by relevance
      dcomp show fit.dcomp corpus.jsonl --documents 3
      dcomp show fit.dcomp corpus.jsonl --differences 3,5
      dcomp show fit.dcomp S108_votes.csv.xz --by party
      dcomp show fit.dcomp survey.csv --format categories --by PARTY -n 3
    """
    if input is not None and by is None and documents is None and differences is None:
        raise InvalidParameter(
            "INPUT has no effect without by=, documents= or differences=: name an attribute of "
            "documents, say how many to show, or which components to compare"
        )
    ranking = Ranking(top, top_by, weight)
    ranking.check()
    source = Source(input or fit, said(OF_NEW, typed))
    fitted = source.load(fit)
    pair = None if differences is None else _pair(differences, fitted)
    if by is not None and input is not None:
        source = source.with_label(by, fitted)
    counts = None if input is None else counts_for(fitted, source, quiet)[0]
    found, together = None, None
    shown = None
    with working("looking at documents", quiet=quiet or counts is None):
        if by is not None:
            found, together = _grouped(fitted, counts, by, exposure, jobs, input)
        apart = None if pair is None else _apart(fitted, counts, pair, 2 * top)
        if documents is not None:
            shown = _typical(fitted, counts, source, documents, exposure, jobs)
    if as_json:
        record = {**as_record(fitted, ranking), **_record(by, found, together)}
        for k, rows in enumerate(shown or ()):
            record["components"][k]["documents"] = rows
        if apart is not None:
            record["differences"] = apart.as_record()
        print_json(record)
    else:
        _print(fitted, found, together, by, ranking)
        print_documents(shown or ())
        if apart is not None:
            show_lines(apart)


def _pair(typed: str, fitted: Fit) -> list[int]:
    """One component or two, by number or name; a name may have a comma itself."""
    from dcomp.result.editing import component_number

    is_name = typed in fitted.component_labels
    parts = [typed] if is_name else [part.strip() for part in typed.split(",")]
    if not 1 <= len(parts) <= 2 or not all(parts):
        raise InvalidParameter(
            f"--differences must be a component, or two with a comma between; got {typed!r}"
        )
    return [component_number(fitted, int(p) if p.isdecimal() else p) for p in parts]


def _apart(fitted: Fit, counts: Counts | None, pair: list[int], n: int) -> Differences:
    from dcomp.evaluate import differences

    found = differences(fitted, *pair, X=counts, n=n)
    return replace(found, note=None if found.note is None else in_shell_words(found.note))


def _typical(
    fitted: Fit,
    counts: Counts | None,
    source: Source,
    n: int,
    exposure: str | None,
    jobs: int | None,
) -> list[list[dict[str, Any]]]:
    from dcomp.evaluate import typical

    options = {} if counts is None else {"exposure": exposure, "n_jobs": jobs}
    found = typical(fitted, counts, n, **options)
    texts = texts_of_documents(fitted, counts, source, found)
    return [as_rows(documents, "share", texts) for documents in found]


def _grouped(
    fitted: Fit,
    counts: Counts | None,
    by: str,
    exposure: str | None,
    jobs: int | None,
    input: Path | None,
) -> tuple[ByLabel, Clusters | None]:
    """Mean shares by group, and the clusters against it."""
    from dcomp.data.categories import column_name
    from dcomp.evaluate import by_label

    about = fitted.attributes if counts is None else counts.attributes
    scores = np.asarray(fitted.scores, np.float64)
    if counts is not None and not fitted.is_of(counts):
        scores = np.asarray(fitted.transform(counts, exposure=exposure, n_jobs=jobs), np.float64)
    if not about:
        where = (
            "the fit has kept none: give the documents" if input is None else f"{input} has none"
        )
        raise InvalidParameter(f"by= needs documents with attributes, and {where}")
    column = about[column_name("by", by, list(about))]
    return by_label(scores, column), _against(fitted, scores, column)


def _against(fitted: Fit, scores: FloatArray, column: npt.NDArray[Any]) -> Clusters | None:
    """The clusters of documents against groups; numbers with fractions or of many values name
    none."""
    from dcomp.evaluate.by_label import is_cut
    from dcomp.evaluate.clusters import against_labels
    from dcomp.predict.clusters import largest

    if column.dtype.kind == "f" or is_cut(column) or len({*column.tolist()} - {None}) < 2:
        return None
    own = largest(scores, fitted.model.scores.nodes)
    return against_labels(own, column, fitted.n_components)


def _print(
    fitted: Fit, found: ByLabel | None, together: Clusters | None, by: str | None, ranking: Ranking
) -> None:
    out = console()
    for line in [repr(fitted), *_of_chains(fitted), *fitted.remarks]:
        out.print(line)
    more = {}
    if found is not None:
        sizes = ", ".join(f"{n} {s:,}" for n, s in zip(found.names, found.sizes, strict=True))
        few = f"; documents: {sizes}" if len(found.names) <= FEW else ""
        out.print(f"mean shares by {by}{few}")
        if len(found.names) > FEW:  # columns beside each other would leave no room for features
            show_lines(found)
        else:
            for name, row in zip(found.names, found.mean, strict=True):
                more[name] = [f"{100 * value:.0f} %" for value in row]
    if together is not None:
        show_lines(together)
    if has_tree(fitted) and found is None:
        print_tree(out, fitted, ranking.n)
    else:
        out.print(component_table(fitted, ranking, more))


def _of_chains(fitted: Fit) -> list[str]:
    """Whose numbers these are, where there are several chains."""
    n = len(fitted.chains) or 1
    if n == 1 or not fitted.algorithm.samples:
        return []
    return [f"shown is the best of {n} chains; dcomp rollcall pools those beside it"]


def _record(by: str | None, found: ByLabel | None, together: Clusters | None) -> dict[str, Any]:
    if found is None:
        return {}
    groups = [
        {"name": name, "documents": int(size), "shares": mean.tolist(), "errors": error.tolist()}
        for name, size, mean, error in zip(
            found.names, found.sizes, found.mean, found.error, strict=True
        )
    ]
    of_clusters = None if together is None else together.as_record()
    return {"by": by, "groups": groups, "clusters": of_clusters}
