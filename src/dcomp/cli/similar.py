"""dcomp similar: documents that are like one of them, or like a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcomp.cli.common import console, print_json
from dcomp.cli.documents import as_rows, print_rows, texts_of_documents
from dcomp.cli.flags import said, with_options
from dcomp.cli.options import Exposure, FitFile, Input, Jobs, Json, Quiet
from dcomp.cli.source import Source, counts_for
from dcomp.cli.working import working
from dcomp.errors import InvalidCounts, InvalidParameter
from dcomp.recipe import OF_NEW

if TYPE_CHECKING:
    from dcomp.data import Counts
    from dcomp.result import Fit

Document = Annotated[
    str | None,
    typer.Argument(metavar="[DOCUMENT]", help="Its id; its number from 0 where there are no ids."),
]
Words = Annotated[
    str | None, typer.Option("--text", metavar="WORDS", help="A text instead of a document.")
]


@with_options(OF_NEW)
def similar(
    fit: FitFile,
    input: Input,
    document: Document = None,
    words: Words = None,
    number: Annotated[int, typer.Option("--number", "-n", min=1, help="Documents to show.")] = 10,
    exposure: Exposure = None,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
    **typed: Any,
) -> None:
    """Find documents that are like another.

    Documents of INPUT are compared by their shares of components (Bhattacharyya's coefficient:
    100 % is the same). They come with how they begin where INPUT has text, else with the features
    that speak most for what they have in common.

    \b
    Example:
      dcomp similar fit.dcomp corpus.jsonl d17
      dcomp similar fit.dcomp corpus.jsonl --text "football fans in Germany" -n 5
    """
    if (document is None) == (words is None):
        raise InvalidParameter("give a DOCUMENT of INPUT or --text, one of the two")
    source = Source(input, said(OF_NEW, typed))
    fitted = source.load(fit)
    counts, _ = counts_for(fitted, source, quiet)
    from dcomp.evaluate import similar as found_like

    wanted = str(document) if words is None else _known(fitted, words)
    with working(f"comparing {counts.n_docs:,} documents", quiet=quiet):
        found = found_like(fitted, counts, wanted, number, exposure=exposure, n_jobs=jobs)
    rows = as_rows(found, "similarity", texts_of_documents(fitted, counts, source, [found]))
    if as_json:
        print_json({"document": document, "text": words, "similar": rows})
        return
    if not quiet:
        about = document if words is None else repr(words)
        console().print(f"{len(rows)} document{'s' * (len(rows) != 1)} most like {about}")
    print_rows(rows)


def _known(fitted: Fit, text: str) -> Counts:
    """The words of a text that the fit has; an error where there are none."""
    try:
        known, _ = _counted(fitted, text).aligned_to(fitted.features)
    except InvalidCounts:  # not one word, or stop words alone
        known = None
    if known is None or not known.n_tokens:
        raise InvalidParameter(f"--text has no word that the fit knows; got {text!r}")
    return known


def _counted(fitted: Fit, text: str) -> Counts:
    """The words of a text, as the fit found its own; of counts features with commas between."""
    from dcomp.data import Counts

    if fitted.text is not None:
        counts = Counts.from_texts([text], like=fitted)
        if fitted.text.text_blocks:  # a word may stand in each
            counts = Counts.join(dict.fromkeys(fitted.text.text, counts))
        return counts
    return Counts.from_tokens([[part.strip() for part in text.split(",") if part.strip()]])
