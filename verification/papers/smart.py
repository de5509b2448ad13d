"""Collections in SMART's format: documents and queries with fields after .T, .A, .B and .W."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import dcomp

_MARK = re.compile(r"\.([A-Z])(?:\s+(\S+))?\s*$")


def records(path: Path) -> list[dict[str, str]]:
    """One dictionary for each .I, its number under "I" and its fields by letter."""
    found: list[dict[str, str]] = []
    field = None
    for line in path.read_text(encoding="latin-1").splitlines(keepends=True):
        mark = _MARK.match(line)
        if mark and mark[1] == "I":
            found.append({"I": mark[2]})
            field = None
        elif mark and mark[1] in "TABW" and found:
            field = mark[1]
            found[-1][field] = ""
        elif field is not None:
            found[-1][field] += line
    return found


def judgements(path: Path) -> list[tuple[int, int, int]]:
    """(query, document, grade) as the file numbers them, from 1; queries by order of appearance."""
    rows = (line.split() for line in path.read_text().splitlines() if line.strip())
    return [(int(query), int(document), int(grade)) for query, document, grade in rows]


def cranfield(folder: Path, titles: bool = True, **how: Any) -> dcomp.Counts:
    """The 1,400 abstracts, stemmed. Their text repeats the title; with `titles` it is put before
    the text once more, as a search engine does that reads all fields."""
    documents = records(folder / "cran.all.1400")
    fields = "TW" if titles else "W"
    texts = [" ".join(document.get(field, "") for field in fields) for document in documents]
    ids = [document["I"] for document in documents]
    return dcomp.Counts.from_texts(texts, doc_ids=ids, **{"stem": "english", **how})
