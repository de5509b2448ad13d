"""dcomp transform: scores of new documents, or their expected words per component."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from dcomp.atomic import atomic_write, is_plain
from dcomp.cli.common import check_output, print_json
from dcomp.cli.flags import said, with_options
from dcomp.cli.options import Exposure, FitFile, Force, Input, Jobs, Json, Quiet
from dcomp.cli.source import Source, counts_for
from dcomp.cli.working import working
from dcomp.io.write_tables import quoted
from dcomp.printable import for_spreadsheet, printable, printable_json
from dcomp.recipe import OF_NEW

if TYPE_CHECKING:
    import numpy.typing as npt

    from dcomp.data import Counts
    from dcomp.result import Fit

Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        readable=False,
        help=".csv, .tsv, .json, .parquet or .npy; stdout unless given, or with -.",
    ),
]
AsCounts = Annotated[
    bool, typer.Option("--counts", help="Expected words per component instead of scores.")
]
Rounded = Annotated[
    bool,
    typer.Option(
        "--rounded",
        help="The same in whole numbers that add up to the document's length; implies --counts.",
    ),
]

Method = Annotated[
    str | None,
    typer.Option(
        "--method",
        metavar="NAME",
        help="fixed-point or sampling (posterior means over draws).",
        show_default="fixed-point where the model has one",
    ),
]
Spreadsheet = Annotated[
    bool,
    typer.Option(
        "--spreadsheet",
        help="CSV that a spreadsheet may open: names that begin like a formula get an apostrophe. "
        "Without it names are exact, for programs.",
    ),
]
DrawSeed = Annotated[
    int | None,
    typer.Option("--seed", min=0, metavar="N", help="Seed of the sampling.", show_default="0"),
]


@with_options(OF_NEW)
def transform(
    fit: FitFile,
    input: Input,
    output: Output = None,
    counts: AsCounts = False,
    rounded: Rounded = False,
    method: Method = None,
    seed: DrawSeed = None,
    exposure: Exposure = None,
    jobs: Jobs = None,
    spreadsheet: Spreadsheet = False,
    as_json: Json = False,
    force: Force = False,
    quiet: Quiet = False,
    **typed: Any,
) -> None:
    """Write the scores of documents as a table.

    A row per document, a column per component: shares for DM and LN (rows sum to 1), E[l] for the
    others. Tokens of features that the fit does not know are dropped, and stderr says how many.
    Names are written exactly as they are: give --spreadsheet if a spreadsheet is to open the file,
    which would compute a name such as "=1+1".

    \b
    Example:
      dcomp transform fit.dcomp new.jsonl -o scores.csv
      dcomp transform fit.dcomp new.jsonl -o scores.parquet
      dcomp transform fit.dcomp new.jsonl --rounded | head
      dcomp transform fit.dcomp new.jsonl --method sampling --seed 1
    """

    target = None if output is None or str(output) == "-" else output
    kind = _kind(target, as_json, spreadsheet)
    if target is not None:
        check_output(target, force=force, inputs=(fit, input))
    source = Source(input, said(OF_NEW, typed))
    fitted = source.load(fit)
    samples = _samples(fitted, method, seed)
    documents, _ = counts_for(fitted, source, quiet)
    values: npt.NDArray[Any]
    common: Any = {"exposure": exposure, "n_jobs": jobs}
    with working(f"scores of {documents.n_docs:,} documents", quiet=quiet):
        if samples:
            drawn = fitted.sample_scores(documents, seed=seed or 0, **common)
            values = drawn.c if counts or rounded else drawn.mean
        else:
            folded = fitted.fold_in(documents, **common)
            values = folded.c if counts or rounded else folded.scores
    if rounded:
        values = whole(values, np.rint(documents.doc_totals))
    _write(target, kind, documents, values, spreadsheet, fitted.component_names)


_KINDS = (".csv", ".tsv", ".json", ".parquet", ".npy")


def _kind(target: Path | None, as_json: bool, spreadsheet: bool) -> str:
    """What is written, by the extension: an error where that says nothing."""
    from dcomp.errors import InvalidParameter

    from_name = None if target is None else target.suffix.lower()
    if as_json and from_name not in (None, ".json"):
        raise InvalidParameter(f"--json writes JSON, and the name of {target} says something else")
    kind = ".json" if as_json else from_name or ".csv"
    if target is not None and not is_plain(target):
        kind = ".json" if as_json else ".csv"  # /dev/stdout has no extension
    elif target is not None and from_name not in _KINDS:
        raise InvalidParameter(
            f"--output must end in one of {', '.join(_KINDS)}, which says what is written; got "
            f"{target.name!r}"
        )
    if spreadsheet and kind not in (".csv", ".tsv"):
        raise InvalidParameter(
            f"--spreadsheet has no effect on {kind}, which none opens as a table"
        )
    return kind


def _samples(fitted: Fit, method: str | None, seed: int | None) -> bool:
    """Whether to sample; an error for a method that does not exist, or a seed without use."""
    from dcomp.errors import InvalidParameter, UnsupportedCombination

    if method not in (None, "fixed-point", "sampling"):
        raise InvalidParameter(f"--method must be fixed-point or sampling; got {method!r}")
    if method == "fixed-point" and not fitted.has_fixed_point:
        raise UnsupportedCombination(
            f"model {fitted.model.key} has no fixed point: leave out --method, or give sampling"
        )
    samples = method == "sampling" or not fitted.has_fixed_point
    if seed is not None and not samples:
        raise InvalidParameter("--seed has no effect on the fixed point: leave it out")
    return samples


def whole(values: npt.NDArray[Any], totals: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Whole numbers near `values` whose rows add up to `totals`: largest remainders go up.

    >>> whole(np.array([[1.4, 0.3, 1.3]]), np.array([3])).tolist()
    [[2, 0, 1]]
    """
    floor = np.floor(values).astype(np.int64)
    missing = np.clip(totals - floor.sum(axis=1), 0, values.shape[1])
    rank = np.argsort(np.argsort(floor - values, axis=1, kind="stable"), axis=1)
    return np.asarray(floor + (rank < missing[:, None]))


def _write(
    target: Path | None,
    kind: str,
    documents: Counts,
    values: npt.NDArray[Any],
    spreadsheet: bool,
    components: Sequence[str] | None = None,
) -> None:
    exact = for_spreadsheet if spreadsheet else str
    if target is None:
        if kind == ".json":
            print_json(_record(documents, values, components))
            return
        # A terminal is for people; whatever reads a pipe wants the exact names.
        terminal = sys.stdout.isatty()
        shown = (lambda name: printable(exact(name))) if terminal else exact
        _write_csv(sys.stdout, documents, values, shown, components)
        return
    with atomic_write(target) as stream:
        if kind == ".npy":
            np.save(stream, values, allow_pickle=False)
        elif kind == ".parquet":
            _write_parquet(stream, documents, values, components)
        else:
            # A lone surrogate has no place in UTF-8: it is spelt out, as on stdout.
            text = io.TextIOWrapper(stream, "utf-8", newline="", errors="backslashreplace")
            if kind == ".json":
                record = _record(documents, values, components)
                text.write(printable_json(record, indent=2) + "\n")
            else:
                delimiter = "\t" if kind == ".tsv" else ","
                _write_csv(text, documents, values, exact, components, delimiter)
            text.detach()  # flushed, and left open for atomic_write


def _record(
    documents: Counts, values: npt.NDArray[Any], components: Sequence[str] | None
) -> dict[str, Any]:
    """For programs: a list of scores by document, with its id where there is one."""
    ids: Iterable[Any] = documents.doc_ids or range(documents.n_docs)
    rows = zip(ids, values.tolist(), strict=True)
    return {
        "n_components": values.shape[1],
        "component_names": None if components is None else list(components),
        "documents": [{"document": name, "scores": row} for name, row in rows],
    }


def _columns(values: npt.NDArray[Any], components: Sequence[str] | None) -> list[str]:
    return list(components or (f"component_{k}" for k in range(values.shape[1])))


def _write_parquet(
    stream: Any, documents: Counts, values: npt.NDArray[Any], components: Sequence[str] | None
) -> None:
    from dcomp.io.write_records import parquet_library

    pyarrow, parquet = parquet_library()
    ids: Any = list(documents.doc_ids or range(documents.n_docs))
    columns = {name: values[:, k] for k, name in enumerate(_columns(values, components))}
    parquet.write_table(pyarrow.table({"document": ids, **columns}), stream)


def _write_csv(
    stream: Any,
    documents: Counts,
    values: npt.NDArray[Any],
    shown: Callable[[str], str],
    components: Sequence[str] | None = None,
    delimiter: str = ",",
) -> None:
    names = (quoted(shown(name)) for name in _columns(values, components))
    stream.write(delimiter.join(["document", *names]) + "\n")
    ids: Iterable[Any] = documents.doc_ids or range(documents.n_docs)
    form = "d" if values.dtype.kind == "i" else ".7g"
    for name, row in zip(ids, values, strict=True):
        first = quoted(shown(name), delimiter) if isinstance(name, str) else str(name)
        cells = (format(value, form) for value in row.tolist())
        stream.write(delimiter.join([first, *cells]) + "\n")
