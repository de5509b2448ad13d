"""Docstrings of this package as reStructuredText.

They are written as plain text with `code` in single quotes, examples, lists, tables of Markdown
and, in estimators, "name : meaning" under an underlined title. Everything else in them is text
to the letter: `components_` is no reference, θ* no emphasis.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_CODE = re.compile(r"(``?)([^`\n]+?)\1")
_SPECIAL = re.compile(r"([\\*|_`])")
_MEANING = re.compile(r"(?P<names>[\w, ]*\w) : (?P<meaning>\S.*)")
_RULE = re.compile(r"\|[-| :]+\|")
_ITEM = re.compile(r"(?:-|\d+\.) ")


def restructured(lines: list[str]) -> list[str]:
    """The docstring, given as its lines, in reStructuredText."""
    text = "\n".join(lines)
    joined = re.sub(r"`([^`]*?)\n\s*([^`]*?)`", r"`\1 \2`", text)  # code that goes over a line
    paragraphs = re.split(r"\n\s*\n", joined.strip("\n"))
    out: list[str] = []
    in_titles = False
    for paragraph in paragraphs:
        rows = paragraph.splitlines()
        if len(rows) > 1 and set(rows[1].strip()) == {"-"}:
            in_titles = True
            out += [f".. rubric:: {rows[0].strip()}", ""]
            rows = rows[2:]
        if rows:
            out += [*_paragraph(rows, in_titles), ""]
    return out


def _paragraph(rows: list[str], in_titles: bool) -> Iterator[str]:
    first = rows[0].strip()
    if first.startswith(">>>"):
        yield from rows
    elif first.startswith("|"):
        yield from _table(rows)
    elif in_titles and _MEANING.match(first):
        yield from _meanings(rows)
    elif _ITEM.match(first):
        yield from _items(rows)
    elif all(row.startswith("    ") for row in rows):
        yield from ["::", "", *rows]
    else:
        yield from _prose(rows)


def _prose(rows: list[str]) -> Iterator[str]:
    """Text; an example may follow without an empty line."""
    for number, row in enumerate(rows):
        if row.strip().startswith(">>>"):
            yield ""
            yield from rows[number:]
            return
        # A line that is indented further would be a quotation.
        yield plain(row.strip())


def _meanings(rows: list[str]) -> Iterator[str]:
    """ "name : meaning" as a list of definitions."""
    for row in rows:
        found = None if row.startswith("    ") else _MEANING.match(row)
        if found:
            names = ", ".join(f"``{name.strip()}``" for name in found["names"].split(","))
            yield names
            yield f"    {plain(found['meaning'])}"
        else:
            yield f"    {plain(row.strip())}"


def _items(rows: list[str]) -> Iterator[str]:
    for row in rows:
        item = _ITEM.match(row.strip())
        if item:
            yield f"- {plain(row.strip()[item.end() :])}"
        else:
            yield f"  {plain(row.strip())}"


def _table(rows: list[str]) -> Iterator[str]:
    """A table of Markdown as one of lists."""
    body = [row.strip() for row in rows if not _RULE.fullmatch(row.strip())]
    yield ".. list-table::"
    yield "    :header-rows: 1"
    yield ""
    for row in body:
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip("|"))]
        for number, cell in enumerate(cells):
            yield f"    {'* -' if number == 0 else '  -'} {plain(cell)}"


def plain(text: str) -> str:
    """Text to the letter but for its code."""
    out, end = [], 0
    for found in _CODE.finditer(text):
        out.append(_SPECIAL.sub(r"\\\1", text[end : found.start()]))
        inside = found[2].strip()
        after = text[found.end() : found.end() + 1]
        # Code ends before a letter only with a mark between.
        out.append(f"``{inside}``" + ("\\ " if after.isalnum() else ""))
        end = found.end()
    out.append(_SPECIAL.sub(r"\\\1", text[end:]))
    return "".join(out)


def process(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    lines[:] = restructured(lines)


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
