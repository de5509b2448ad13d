"""dcomp report: a fit as one page for a reader."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcomp.cli.common import check_output, one_line_warnings, print_json, say
from dcomp.cli.documents import texts_of_numbers
from dcomp.cli.flags import said, with_options
from dcomp.cli.options import Exposure, FitFile, Force, Jobs, Json, Quiet
from dcomp.cli.resume import shell_word
from dcomp.cli.source import STDIN, Source, counts_for
from dcomp.cli.working import working
from dcomp.errors import InvalidParameter
from dcomp.recipe import OF_NEW

if TYPE_CHECKING:
    from dcomp.data import Counts
    from dcomp.io.calls import Calls
    from dcomp.result import Fit

MaybeInput = Annotated[
    Path | None,
    typer.Argument(
        metavar="[INPUT]",
        readable=False,
        help="The documents to show: those that were fitted, or others. Without them the page has "
        "scores, and no words of documents.",
    ),
]
Output = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="HTML", readable=False, help="The file to write."),
]
Title = Annotated[str | None, typer.Option(metavar="TEXT", help="What stands above the page.")]
HeldOut = Annotated[
    Path | None,
    typer.Option(
        "--heldout",
        metavar="FILE",
        readable=False,
        help="Documents that the fit has not seen, for the score; read as INPUT is. Without, the "
        "score is that of INPUT, and the page says so.",
    ),
]
Chosen = Annotated[
    Path | None,
    typer.Option(
        "--selection",
        metavar="FILE",
        readable=False,
        help="What dcomp select --json printed: how K was chosen.",
    ),
]
Published = Annotated[
    Path | None,
    typer.Option(
        "--reference",
        metavar="FILE",
        readable=False,
        help="Published signatures, for a fit of mutations: which of them were found.",
    ),
]


@with_options(OF_NEW)
def report(
    fit: FitFile,
    input: MaybeInput = None,
    output: Output = Path("report.html"),
    title: Title = None,
    heldout: HeldOut = None,
    selection: Chosen = None,
    reference: Published = None,
    typical: Annotated[
        int | None,
        typer.Option(
            "--documents",
            "-d",
            min=1,
            metavar="N",
            help="Typical documents of each component.",
            show_default="5; 3 of 200 components or more",
        ),
    ] = None,
    sample: Annotated[
        int, typer.Option("--sample", min=0, metavar="N", help="Other documents to open.")
    ] = 300,
    exposure: Exposure = None,
    jobs: Jobs = None,
    as_json: Json = False,
    force: Force = False,
    quiet: Quiet = False,
    **typed: Any,
) -> None:
    """Write a fit as one page that a colleague can open.

    One HTML file without a network or a server, for screens, phones and paper: how good the fit
    is and whether it has come to rest, every component with its features and typical documents,
    a map, correlations, and the documents in a table. Attributes of documents give shares by
    group and over time; votes, genotypes and mutations have panels of their own.

    \b
    Example:
      dcomp report fit.dcomp corpus.jsonl -o report.html
      dcomp report fit.dcomp corpus.jsonl --heldout new.jsonl --title "Letters"
      dcomp report senate.dcomp S108_votes.csv.xz -o senate.html
    """
    from dcomp.report import read_selection
    from dcomp.report import report as write

    given = [path for path in (fit, input, heldout, selection, reference) if path is not None]
    check_output(output, force=force, inputs=given)
    source = Source(input or fit, said(OF_NEW, typed))
    fitted = source.load(fit)
    if input is None and (source.said.keys() - {"limit"} or heldout or exposure):
        raise InvalidParameter("--heldout, --exposure and how INPUT is read need INPUT: give it")
    given_documents = None if input is None else _documents(fitted, source, quiet)
    counts, dropped, calls = given_documents or (None, 0.0, None)
    scored = None
    if heldout is not None:
        scored = _documents(fitted, Source(heldout, source.said), quiet)[0]
    found = None if reference is None else _published(fitted, counts, reference, source)
    with one_line_warnings(), working("writing the page", quiet=quiet):
        write(
            fitted if found is None else found,
            counts,
            output,
            texts=_texts(fitted, counts, source),
            heldout=scored,
            selection=None if selection is None else read_selection(selection),
            title=title,
            calls=calls,
            command=_command(fit, input),
            exposure=exposure,
            n_typical=typical,
            n_opened=sample,
            dropped=dropped,
            n_jobs=jobs,
            overwrite=True,  # which was checked before the work
        )
    _say(output, as_json, quiet)


def _say(output: Path, as_json: bool, quiet: bool) -> None:
    size = output.stat().st_size if output.is_file() else None
    if as_json:
        print_json({"output": str(output), "bytes": size})
    elif not quiet:
        shown = "" if size is None else f" ({size / 1e6:.1f} MB: open it in a browser)"
        say(f"written: {output}{shown}")


def _documents(fitted: Fit, source: Source, quiet: bool) -> tuple[Counts, float, Calls | None]:
    """The documents as the commands of their field read them, in the fit's features; how many
    tokens those leave out, and what roll calls were about."""
    from dcomp.io.calls import OUTCOME
    from dcomp.io.mutation_types import read_types
    from dcomp.report.speech import Speech
    from dcomp.use.rollcall import read_votes_with_calls

    field = Speech.of(fitted, None).field
    if str(source.path) == STDIN or field not in ("votes", "mutations"):
        return (*counts_for(fitted, source, quiet), None)
    options: dict[str, Any] = {k: v for k, v in source.said.items() if k != "limit"}
    if source.limits is not None:
        options["limits"] = source.limits
    if fitted.reading is not None:
        options["like"] = fitted
    if field == "mutations":
        return (*read_types(source.path, **options).aligned_to(fitted.features), None)
    options["outcome"] = OUTCOME in (fitted.doc_ids or ())
    counts, calls = read_votes_with_calls(source.path, **options)
    return (*counts.aligned_to(fitted.features), calls)


def _published(fitted: Fit, counts: Counts | None, reference: Path, source: Source) -> Any:
    from dcomp.data.mutations import is_type
    from dcomp.use import Catalogue, Signatures

    if counts is None or not all(map(is_type, fitted.features.names or ("",))):
        raise InvalidParameter("--reference is for fits of mutation types, with INPUT")
    known = Catalogue.of(reference, source.limits).aligned_to(fitted.features.names or ())
    return Signatures(fitted, counts, known)


def _texts(fitted: Fit, counts: Counts | None, source: Source) -> Any:
    """The texts of documents by their numbers, when these are known."""

    def ask(numbers: Collection[int]) -> Mapping[int, str]:
        return texts_of_numbers(fitted, counts, source, set(numbers))

    return ask


def _command(fit: Path, input: Path | None) -> str:
    """What was typed, without the folders of this machine: they are no reader's business."""
    return " ".join(["dcomp report", *(shell_word(p.name) for p in (fit, input) if p is not None)])
