"""dcomp rollcall: blocs behind votes, in the words of the field."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcomp.cli.common import check_output, one_line_warnings, say
from dcomp.cli.field import fitting, keep, print_found, reading, said_of_input
from dcomp.cli.flags import said, with_options
from dcomp.cli.options import Force, Jobs, Json, Quiet, to_write
from dcomp.cli.working import working

if TYPE_CHECKING:
    from dcomp.data import Counts

Votes = Annotated[
    Path,
    typer.Argument(
        metavar="VOTES",
        readable=False,
        help="Voteview's votes (members and rollcalls beside them are found by name), or a table "
        "of votes with a row per member.",
    ),
]


_FITTING = fitting("alpha", "gamma", "max_iter", "burn_in", "n_chains", "n_draws", "random_state")
_READING = reading("format", "limit", "attributes", "id", "contested", "delimiter")


@with_options(
    (*_FITTING, *_READING),
    alpha="0.1",
    gamma="0.5",
    max_iter="600; to 4000 while chains do not agree, if that takes a minute",
    n_chains="4",
    n_draws="100",
)
def rollcall(
    votes: Votes,
    k: Annotated[int, typer.Option("-k", min=2, metavar="N", help="Number of blocs.")] = 4,
    level: Annotated[float, typer.Option(metavar="P", help="Of the intervals.")] = 0.9,
    top: Annotated[
        int, typer.Option("--top", "-n", min=1, metavar="N", help="Dividing votes to show.")
    ] = 3,
    everyone: Annotated[bool, typer.Option("--all", help="Show every voter.")] = False,
    output: Annotated[Path | None, to_write("FIT", "Keep the fit.")] = None,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
    force: Force = False,
    **typed: Any,
) -> None:
    """Find the blocs behind roll calls.

    Shown are the blocs, memberships with intervals in the order of binary PCA, the votes that
    divide neighbouring blocs, how far the outcome goes with each, and how many votes the blocs
    tell (classification rate and APRE) beside the majority. The outcome is one more voter. Who
    was absent says nothing.

    \b
    Example:
      dcomp rollcall S108_votes.csv.xz -k 4
      dcomp rollcall votes.csv -k 3 --contested --all
    """
    from dcomp.use.rollcall import read_votes_with_calls
    from dcomp.use.rollcall import rollcall as find

    if output is not None:
        check_output(output, force=force, inputs=(votes,))
    with one_line_warnings(), working("reading", quiet=quiet):
        counts, calls = read_votes_with_calls(votes, **said_of_input(_READING, typed))
    _say_what_is_missing(votes, counts)
    with one_line_warnings(), working(f"{k} blocs of {counts.n_docs:,} voters", quiet=quiet):
        found = find(counts, k, calls=calls, level=level, n_jobs=jobs, **said(_FITTING, typed))
    if output is not None:
        keep(
            found.fit, output, counts, " (dcomp show has it as the best chain; here all are pooled)"
        )
    shown = None if everyone else _shown()
    how = {"as_json": as_json, "quiet": quiet}
    print_found(lambda: found.as_record(top), lambda: found.lines(shown, top), **how)


def _say_what_is_missing(votes: Path, counts: Counts) -> None:
    """Voteview's votes have numbers for names: the file that has the names lies beside them."""
    from dcomp.io.files import plain_name

    if "icpsr" in counts.attributes and "party" not in counts.attributes:
        wanted = plain_name(votes).replace("votes", "members")
        if wanted == plain_name(votes):
            wanted = "a file of members (with votes and members in their names)"
        say(f"note: {wanted} is not beside {votes.name}: members are numbers, without parties")


def _shown() -> int:
    from dcomp.use.rollcall import SHOWN

    return SHOWN
