"""dcomp index and dcomp query: documents that answer a query, best first."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcomp.cli.common import check_output, one_line_warnings, print_json, say, show, width
from dcomp.cli.documents import texts_of_numbers
from dcomp.cli.flags import said, with_options
from dcomp.cli.options import Exposure, FitFile, Force, Input, Jobs, Json, Quiet
from dcomp.cli.source import Source, counts_for
from dcomp.cli.working import working
from dcomp.errors import InvalidFile, InvalidParameter
from dcomp.recipe import OF_NEW

if TYPE_CHECKING:
    from dcomp.use.ranking import Ranking
    from dcomp.use.retrieval import Retriever

_WIDE = 160  # columns of a line in a pipe
Lsa = Annotated[
    int | None,
    typer.Option("--lsa", min=1, metavar="R", help="Dimensions of a space for the score lsa."),
]
By = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="SCORE",
        help="bm25, tf-idf, dirichlet, jelinek-mercer, kl, components, component-space or lsa, "
        "numbers after a colon, or a sum: 'bm25:2,0.75 + 3*components'.",
        show_default="components",
    ),
]
Best = Annotated[int, typer.Option("-n", min=1, metavar="N", help="Documents for a query.")]


def _built(fit: Path, source: Source, quiet: bool, **how: Any) -> Retriever:
    from dcomp.use.ranking import BEGIN
    from dcomp.use.retrieval import Retriever

    fitted = source.load(fit)
    documents, _ = counts_for(fitted, source, quiet)
    begins = texts_of_numbers(fitted, documents, source, range(documents.n_docs), 8 * BEGIN)
    texts = [begins.get(i, "") for i in range(documents.n_docs)] if begins else None
    with working(f"lists of {documents.n_docs:,} documents", quiet=quiet):
        return Retriever(fitted, documents, texts=texts, **how)


@with_options(OF_NEW)
def index(
    fit: FitFile,
    input: Input,
    output: Annotated[
        Path, typer.Option("--output", "-o", readable=False, metavar="INDEX", help="To write.")
    ],
    lsa: Lsa = None,
    exposure: Exposure = None,
    jobs: Jobs = None,
    as_json: Json = False,
    force: Force = False,
    quiet: Quiet = False,
    **typed: Any,
) -> None:
    """Write inverted lists of documents, for dcomp query.

    A query then looks at few of the documents, and reads none of the others. The index keeps how
    texts begin, to show them.

    \b
    Example:
      dcomp index fit.dcomp corpus.jsonl -o corpus.dindex
      dcomp query fit.dcomp corpus.dindex "football fans in Germany"
    """
    check_output(output, force=force, inputs=(fit, input))
    source = Source(input, said(OF_NEW, typed))
    with one_line_warnings():
        made = _built(fit, source, quiet, lsa=lsa, exposure=exposure, n_jobs=jobs)
    made.save(output, overwrite=True)  # checked before
    if as_json:
        size = {"documents": made.n_docs, "bytes": output.stat().st_size}
        print_json({"output": str(output), **size, "lsa": lsa})
    elif not quiet:
        say(f"written: {output}, {made.n_docs:,} documents")


@with_options(OF_NEW)
def query(
    fit: FitFile,
    input: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT",
            readable=False,
            help="The documents, or what dcomp index wrote of them.",
        ),
    ],
    words: Annotated[
        str | None, typer.Argument(metavar="[QUERY]", help="Words to look for.", show_default=False)
    ] = None,
    queries: Annotated[
        Path | None,
        typer.Option(
            readable=False, metavar="FILE", help="A query on each line, after its name and a tab."
        ),
    ] = None,
    like: Annotated[
        str | None, typer.Option(metavar="ID", help="Documents like this one of the corpus.")
    ] = None,
    n: Best = 10,
    by: By = None,
    rerank: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Score only so many, the best by bm25."),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(readable=False, metavar="FILE", help="Write a TREC run; - for stdout."),
    ] = None,
    judgements: Annotated[
        Path | None,
        typer.Option(readable=False, metavar="FILE", help="TREC judgements, to measure by."),
    ] = None,
    lsa: Lsa = None,
    exposure: Exposure = None,
    jobs: Jobs = None,
    as_json: Json = False,
    force: Force = False,
    quiet: Quiet = False,
    **typed: Any,
) -> None:
    """Find the documents that answer a query.

    A text is read as the fit's texts were. Scores are log probabilities of the query's words unless
    --by says another: Σ n log(p1 + 0.5 p2 + 0.5 p3), with p1 by the document's words, p2 by its
    components and p3 by the corpus. A line has a document, its score and how its text begins.

    \b
    Example:
      dcomp query fit.dcomp corpus.jsonl "football fans in Germany"
      dcomp query fit.dcomp corpus.dindex --queries topics.tsv --run ours.run
      dcomp query fit.dcomp corpus.dindex --like doc17 --by bm25+components
    """
    asked = _asked(words, queries, like)
    if run is not None and str(run) != "-":
        given = (fit, input, *([queries] if queries else []))
        check_output(run, force=force, inputs=given)
    source = Source(input, said(OF_NEW, typed))
    with one_line_warnings():
        made = _opened(fit, source, quiet, lsa=lsa, exposure=exposure, n_jobs=jobs)
        with working("ranking", quiet=quiet):
            if like is not None:
                found = [made.more_like(like, n, by=by)]
            else:
                found = made.rank([own for _, own in asked], n, by=by, rerank=rerank)
    names = [name for name, _ in asked]
    measured = None if judgements is None else _measured(found, names, judgements)
    if run is not None:
        _write_run(run, found, names)
    if as_json:
        print_json(_record(asked, found, measured))
    elif str(run) != "-":
        _show(asked, found, measured, is_run=run is not None)


def _asked(text: str | None, queries: Path | None, like: str | None) -> list[tuple[str, str]]:
    """Names and words of the queries; one way of asking and no other."""
    if sum(thing is not None for thing in (text, queries, like)) != 1:
        raise InvalidParameter("give QUERY, --queries FILE or --like ID, and one of them")
    if queries is None:
        words = text if text is not None else str(like)
        if not words.strip():
            raise InvalidParameter("QUERY and ID must not be empty: give words to look for")
        return [("1", words)]
    from dcomp.io.files import text_lines
    from dcomp.io.limits import Budget

    found: list[tuple[str, str]] = []
    for number, line in text_lines(queries, budget=Budget(queries)):
        if line.strip():
            name, tab, words = line.partition("\t")
            if tab and not (name.strip() and words.strip()):
                raise InvalidFile(f"{queries}, line {number}: a query is a name, a tab and words")
            found.append((name.strip(), words) if tab else (str(number), line))
    if not found:
        raise InvalidFile(f"{queries}: there must be a query on each line; it has none")
    return found


def _opened(fit: Path, source: Source, quiet: bool, **how: Any) -> Retriever:
    from dcomp.use.index_file import is_index
    from dcomp.use.retrieval import Retriever

    if not is_index(source.path):
        return _built(fit, source, quiet, **how)
    for name in ("lsa", "exposure"):
        if how[name] is not None:
            raise InvalidParameter(f"--{name} has no effect on an index: give it to dcomp index")
    others = sorted(set(source.said) - {"limit"})
    if others:
        flag = others[0].replace("_", "-")
        raise InvalidParameter(f"--{flag} has no effect on an index: give it to dcomp index")
    return Retriever.open(source.path, source.load(fit), limits=source.limits)


def _measured(found: list[Ranking], names: list[str], judgements: Path) -> dict[str, float]:
    from dcomp.use.trec import measure, read_judgements

    return measure(found, names, read_judgements(judgements))


def _write_run(run: Path, found: list[Ranking], names: list[str]) -> None:
    from dcomp.use.trec import run_lines, write_run

    if str(run) == "-":
        lines: Iterable[str] = run_lines(found, names)
        sys.stdout.writelines(f"{line}\n" for line in lines)
    else:
        write_run(run, found, names, overwrite=True)  # checked before
        say(f"written: {run}")


def _record(
    asked: list[tuple[str, str]], found: list[Ranking], measured: dict[str, float] | None
) -> dict[str, Any]:
    def one(name: str, words: str, ranking: Ranking) -> dict[str, Any]:
        pairs = zip(ranking.ids, ranking.scores.tolist(), strict=True)
        documents: list[dict[str, Any]] = [
            {"document": own, "score": score} for own, score in pairs
        ]
        for row, begin in zip(documents, ranking.beginnings or (), strict=False):
            row["text"] = begin
        return {"name": name, "query": words, "documents": documents}

    rows = [one(*pair, ranking) for pair, ranking in zip(asked, found, strict=True)]
    return {"queries": rows, **({} if measured is None else {"measures": measured})}


def _show(
    asked: list[tuple[str, str]],
    found: list[Ranking],
    measured: dict[str, float] | None,
    *,
    is_run: bool,
) -> None:
    if not is_run:
        room = width() or _WIDE
        for (name, words), ranking in zip(asked, found, strict=True):
            if len(found) > 1:
                show(f"{name}: {words}")
            show("\n".join(ranking.lines(room)) or "no document")
    wide = max(map(len, measured or {}), default=0)
    for measure, value in (measured or {}).items():
        show(f"{measure:<{wide}}  {value:.4f}")
