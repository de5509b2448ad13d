"""dcomp transform: scores of new documents, or their expected words per component."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from dcomp.cli.common import Source, check_output, counts_for
from dcomp.cli.flags import said, with_options
from dcomp.cli.options import Exposure, FitFile, Force, Format, Input, Jobs, Limit, Quiet, Vocab
from dcomp.printable import for_spreadsheet, printable
from dcomp.recipe import FIELDS

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
        help="CSV file, or .npy; stdout unless given, or with -.",
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


@with_options(FIELDS)
def transform(
    fit: FitFile,
    input: Input,
    output: Output = None,
    counts: AsCounts = False,
    rounded: Rounded = False,
    method: Method = None,
    seed: DrawSeed = None,
    exposure: Exposure = None,
    format: Format = None,
    vocab: Vocab = None,
    limit: Limit = None,
    jobs: Jobs = None,
    spreadsheet: Spreadsheet = False,
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
      dcomp transform fit.dcomp new.jsonl --rounded | head
      dcomp transform fit.dcomp new.jsonl --method sampling --seed 1
    """

    target = None if output is None or str(output) == "-" else output
    if target is not None:
        check_output(target, force=force, inputs=(fit, input))
        _check_spreadsheet(target, spreadsheet)
    source = Source(input, format, vocab, limit=limit, **said(FIELDS, typed))
    fitted = source.load(fit)
    samples = _samples(fitted, method, seed)
    documents, _ = counts_for(fitted, source, quiet)
    values: npt.NDArray[Any]
    if samples:
        drawn = fitted.sample_scores(documents, exposure=exposure, seed=seed or 0, n_jobs=jobs)
        values = drawn.c if counts or rounded else drawn.mean
    else:
        folded = fitted.fold_in(documents, exposure=exposure, n_jobs=jobs)
        values = folded.c if counts or rounded else folded.scores
    if rounded:
        values = whole(values, np.rint(documents.doc_totals))
    _write(target, documents, values, spreadsheet)


def _check_spreadsheet(target: Path, spreadsheet: bool) -> None:
    from dcomp.errors import InvalidParameter

    if spreadsheet and _is_npy(target):
        raise InvalidParameter("--spreadsheet has no effect on .npy, which has no names")


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
    target: Path | None, documents: Counts, values: npt.NDArray[Any], spreadsheet: bool
) -> None:
    exact = for_spreadsheet if spreadsheet else str
    if target is None:
        # A terminal is for people; whatever reads a pipe wants the exact names.
        terminal = sys.stdout.isatty()
        shown = (lambda name: printable(exact(name))) if terminal else exact
        _write_csv(sys.stdout, documents, values, shown)
        return
    from dcomp.atomic import atomic_write

    with atomic_write(target) as stream:
        if _is_npy(target):
            np.save(stream, values, allow_pickle=False)
            return
        # A lone surrogate has no place in UTF-8: it is spelt out, as on stdout.
        text = io.TextIOWrapper(stream, "utf-8", newline="", errors="backslashreplace")
        _write_csv(text, documents, values, exact)
        text.detach()  # flushed, and left open for atomic_write


def _is_npy(target: Path) -> bool:
    return target.suffix.lower() == ".npy"


def _write_csv(
    stream: Any, documents: Counts, values: npt.NDArray[Any], shown: Callable[[str], str]
) -> None:
    head = ["document", *(f"component_{k}" for k in range(values.shape[1]))]
    stream.write(",".join(head) + "\n")
    ids: Iterable[Any] = documents.doc_ids or range(documents.n_docs)
    form = "d" if values.dtype.kind == "i" else ".7g"
    for name, row in zip(ids, values, strict=True):
        first = quoted(shown(name)) if isinstance(name, str) else str(name)
        stream.write(",".join([first, *(format(value, form) for value in row.tolist())]) + "\n")


def quoted(cell: str) -> str:
    """A cell of a CSV file; the csv module leaves a carriage return as it is, and its own reader
    then takes it for the end of a row.

    >>> quoted("cat"), quoted('the "cat", they say')
    ('cat', '"the ""cat"", they say"')
    """
    return '"' + cell.replace('"', '""') + '"' if set(cell) & set(',"\r\n') else cell
