"""Documents that a command found, with the beginning of their texts or their own words."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dcomp.cli.common import console
from dcomp.cli.source import STDIN, Source, text_options
from dcomp.printable import columns, padded, printable, shortened

if TYPE_CHECKING:
    from dcomp.data import Counts
    from dcomp.evaluate import Documents
    from dcomp.result import Fit

_NAME, _LETTERS = 20, 400  # columns of a name; letters of a text in JSON


def texts_of_documents(
    fit: Fit, counts: Counts | None, source: Source, found: Iterable[Documents]
) -> dict[int, str]:
    """The texts of documents that were found, by number."""
    numbers = {int(i) for documents in found for i in documents.numbers}
    return texts_of_numbers(fit, counts, source, numbers)


def texts_of_numbers(
    fit: Fit,
    counts: Counts | None,
    source: Source,
    numbers: Collection[int],
    letters: int | None = None,
) -> dict[int, str]:
    """The texts of documents by number, where the fit is of text and the input a file of it;
    letters: so many of each at most."""
    if counts is None or fit.text is None or str(source.path) == STDIN:
        return {}
    from dcomp.io.excerpts import texts_of

    said = text_options(source.said)
    own = {name: said[name] for name in ("text", "id") if name in said} | {"labels": ()}
    how = {"format": source.said.get("format"), "where": said.get("where")}
    options = fit.text.for_new(**own)
    return texts_of(source.path, numbers, options, limits=source.limits, letters=letters, **how)


def as_rows(found: Documents, value: str, texts: Mapping[int, str]) -> list[dict[str, Any]]:
    """For programs: a record per document."""
    words = found.words or ((),) * len(found)
    return [
        {
            "document": name,
            value: float(number),
            **({"features": list(own)} if own else {}),
            **({"text": _line(texts[i])[:_LETTERS]} if i in texts else {}),
        }
        for i, name, number, own in zip(
            found.numbers.tolist(), found.names, found.values, words, strict=True
        )
    ]


def print_documents(components: Sequence[Sequence[Mapping[str, Any]]]) -> None:
    """The typical documents of each component."""
    for k, rows in enumerate(components):
        console().print(f"typical documents of component {k}")
        print_rows(rows)


def print_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """A line per document: how much, its name, and how it begins or what its words are."""
    out = console()
    names = [shortened(row["document"], _NAME) for row in rows]
    width = max(map(columns, names), default=0)
    for name, row in zip(names, rows, strict=True):
        value = next(row[key] for key in ("share", "similarity") if key in row)
        said = row.get("text") or "  ".join(map(printable, row.get("features", ())))
        line = f"{100 * value:5.1f} %  {padded(name, width)}  {printable(said)}".rstrip()
        whole = not sys.stdout.isatty() and out.width >= 120
        out.print(shortened(line, 160 if whole else out.width), soft_wrap=True)


def _line(text: str) -> str:
    return " ".join(text[: 4 * _LETTERS].split())
