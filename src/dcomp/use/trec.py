"""TREC's files: runs out, judgements in, and measures by ir-measures (extra "retrieval")."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dcomp.atomic import atomic_write
from dcomp.errors import InvalidFile, InvalidParameter, MissingDependency
from dcomp.io.files import text_lines
from dcomp.io.limits import Budget, Limits
from dcomp.use.ranking import Ranking

Judgements = dict[str, dict[str, int]]


def run_lines(
    rankings: Iterable[Ranking], queries: Sequence[str], tag: str = "dcomp"
) -> Iterable[str]:
    """Lines of a run: query, Q0, document, rank, score, tag. Blanks in names become underscores,
    since a run has none within a column.

    >>> import numpy as np
    >>> found = Ranking(np.array([4]), np.array([1.5]), ("d4",), 9)
    >>> list(run_lines([found], ["q1"]))
    ['q1 Q0 d4 1 1.50000000 dcomp']
    """
    for query, ranking in zip(queries, rankings, strict=True):
        rows = zip(ranking.ids, ranking.scores.tolist(), strict=True)
        for rank, (document, score) in enumerate(rows, start=1):
            yield f"{_bare(query)} Q0 {_bare(document)} {rank} {score:.8f} {_bare(tag)}"


def _bare(name: str) -> str:
    bare = "_".join(str(name).split())
    if not bare:
        raise InvalidParameter("names in a run must not be empty")
    return bare


def write_run(
    path: str | os.PathLike[str],
    rankings: Iterable[Ranking],
    queries: Sequence[str],
    *,
    tag: str = "dcomp",
    overwrite: bool = False,
) -> None:
    """Write rankings as a run that trec_eval and ir-measures read."""
    with atomic_write(path, overwrite=overwrite) as stream:
        text = io.TextIOWrapper(stream, "utf-8", newline="\n", errors="backslashreplace")
        for line in run_lines(rankings, queries, tag):
            text.write(line + "\n")
        text.detach()


def read_judgements(path: str | os.PathLike[str], *, limits: Limits | None = None) -> Judgements:
    """Judgements as TREC has them: query, 0, document, grade on every line."""
    out: Judgements = {}
    for number, line in text_lines(Path(path), budget=Budget(str(path), limits)):
        words = line.split()
        if not words:
            continue
        try:
            query, _, document, grade = words
            out.setdefault(query, {})[document] = int(grade)
        except ValueError:
            raise InvalidFile(
                f"{path}, line {number}: judgements are query, 0, document and grade; "
                f"found {line.strip()!r}"
            ) from None
    return out


def measure(
    rankings: Iterable[Ranking],
    queries: Sequence[str],
    judgements: Mapping[str, Mapping[str, int]],
    measures: Sequence[str] = ("AP", "nDCG@10", "P@10", "R@1000"),
) -> dict[str, float]:
    """Means over the queries that are asked and judged, by ir-measures, whose names of measures
    these are."""
    both = [query for query in queries if query in judgements]
    if not both:
        asked, judged = (", ".join(map(repr, list(names)[:3])) for names in (queries, judgements))
        raise InvalidParameter(
            "none of the queries is judged: queries and judgements must have the same names; the "
            f"queries' begin with {asked or 'nothing'}, the judgements' with {judged or 'nothing'}"
        )
    try:
        import ir_measures  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        raise MissingDependency(
            'measures of rankings need ir-measures: pip install "dcomp[retrieval]"'
        ) from None
    try:
        wanted = [ir_measures.parse_measure(name) for name in measures]
    except Exception as error:  # of kinds that it does not name
        raise InvalidParameter(f"measures must be names of ir-measures; {error}") from None
    run: dict[str, dict[str, float]] = {}
    for query, ranking in zip(queries, rankings, strict=True):
        rows = zip(ranking.ids, ranking.scores.tolist(), strict=True)
        run[query] = {document: -float(place) for place, (document, _) in enumerate(rows)}
    plain: Any = {query: dict(judgements[query]) for query in both}
    found = ir_measures.calc_aggregate(wanted, plain, run)
    return {str(name): float(found[name]) for name in wanted}  # in the order they were asked for
