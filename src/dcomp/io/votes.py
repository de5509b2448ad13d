"""Plain tables of votes, .csv and .tsv with a header: a row per member, a column per roll call."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from dcomp.data.categories import Column, column_name
from dcomp.data.counts import Counts
from dcomp.data.mistaken import excerpt
from dcomp.errors import DataWarning, InvalidFile, warn
from dcomp.io.beside import renamed
from dcomp.io.calls import Calls, finished, member_names, of_votes, read_calls
from dcomp.io.categories import Names, names, read_columns, without_id
from dcomp.io.cells import is_number
from dcomp.io.files import OF_NAME, StrPath
from dcomp.io.limits import Budget, Limits

# What tables write, in small letters.
_CODES = {
    **dict.fromkeys(("y", "yea", "yes", "aye", "for", "in favour", "in favor"), 1),
    **dict.fromkeys(("n", "nay", "no", "against"), 0),
    **dict.fromkeys(
        ("-", "p", "present", "nv", "not voting", "absent", "abs", "abstain", "abstained",
         "abstention", "a", "na", "n/a", "excused", "paired"), -1),
}  # fmt: skip
_NUMBERS = {"1": 1, "0": 0, "9": -1}  # and some write numbers
_MOST, _NEARLY_ALL = 0.5, 0.9  # shares of cells that are votes: the others are slips
_ALIKE = 3  # columns with one value that is no vote, from which on it is no accident
_CODES_OF_VOTES = 10  # values of a column of votes at most: Voteview's codes are 0 to 9
_VALUES = 100  # of a column, beyond which it has no codes
_ATTRIBUTES = 40  # columns beside votes that tables may have in good faith
_NAMES = ("name", "bioname", "member", "senator", "legislator", "last_name", "lastname")
_PARTIES, _STATES = ("party",), ("state", "state_abbrev", "district", "constituency")


def read_votes(
    path: StrPath,
    *,
    attributes: Names = (),
    id: str | None = None,
    outcome: bool = False,
    contested: bool = False,
    transpose: bool = False,
    delimiter: str | None = None,
    limits: Limits | None = None,
) -> Counts:
    """Read votes: one block per roll call with the features yea and nay; who was absent or
    abstained has no count there.

    A column that holds nothing but votes (Y, N, yea, nay, yes, no, aye, 1, 0; -, P, NV, absent and
    the like for none) is a roll call, the others are attributes; `attributes` names more of those.
    A column of votes in which a few cells hold something else is an error, unless named there, and
    so is a table in which more columns are coded otherwise than there are roll calls.
    `id` names the column of members' names. `outcome`: the outcome is a last voter, as the column
    "passed" or "result" of the file rollcalls beside votes tells, or the majority. `contested`:
    without unanimous calls. `transpose`: roll calls are the documents.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "votes.csv")
    ...     _ = file.write_text("name,party,v1,v2\\nAnn,D,Y,N\\nBob,R,-,Y\\n")
    ...     counts = read_votes(file)
    >>> counts.to_scipy().toarray().tolist(), counts.doc_ids
    ([[1, 0, 0, 1], [0, 0, 1, 0]], ('Ann (D)', 'Bob (R)'))
    """
    path = Path(path)
    budget = Budget(path, limits)
    columns = read_columns(path, delimiter=delimiter, budget=budget)
    ids = None
    if id is not None:
        columns, ids = without_id(path, columns, id)
    there = [column.name for column in columns]
    beside_votes = {
        column_name("attributes", name, there) for name in names("attributes", attributes)
    }
    _refuse_description(path, there)
    asked = [column for column in columns if column.name not in beside_votes]
    calls = [column for column in asked if _codes(column) is not None]
    others = [column for column in asked if _codes(column) is None]
    _refuse_on_its_side(path, others, len(calls))
    value, n = _usual_odd(others, budget)
    _refuse_other_codes(path, others, len(calls), value if n >= _ALIKE else None)
    _refuse_slips(path, others, value)
    if not calls:
        raise InvalidFile(
            f"{path}:1: a table of votes needs columns that hold nothing but votes (Y, N, - or the "
            f"like); of its {len(columns)} columns {_first_odd(columns)} (format='categories' "
            "takes votes in other words, missing= those of who did not vote)"
        )
    about = {c.name: c.as_attribute() for c in columns if c not in calls}
    cells = np.stack([_cells(column) for column in calls], axis=1)
    members = ids or _members(about, len(cells))
    blocks = {column.name: column.name for column in calls}
    numbered = {column.name.lstrip("vVrRcC_"): column.name for column in calls}
    found = read_calls(renamed(path, "votes", "rollcalls"), numbered | blocks, budget)
    counts = of_votes(cells, list(blocks), members, about)
    return finished(counts, found, outcome=outcome, contested=contested, transpose=transpose)


def _refuse_description(path: Path, there: list[str]) -> None:
    """An error for a file that describes roll calls, a line each: no votes are in it."""
    names_of = {name.lower() for name in there}
    for yea, nay in (("yea", "nay"), ("yeas", "nays"), ("yea_count", "nay_count")):
        if {yea, nay} <= names_of:
            votes = renamed(path, "rollcalls", "votes")
            instead = f"{votes.name} beside it has them" if votes else "give the file that has them"
            raise InvalidFile(
                f"{path}:1: this describes roll calls, a line each with its numbers of {yea} and "
                f"{nay}, and holds no member's votes: {instead}"
            )


def calls_beside(path: Path, limits: Limits | None = None, delimiter: str | None = None) -> Calls:
    """What the file of roll calls beside a table of votes says; delimiter: of the votes."""
    budget = Budget(path, limits)
    columns = read_columns(path, delimiter=delimiter, budget=budget)
    known = {c.name.lstrip("vVrRcC_"): c.name for c in columns} | {c.name: c.name for c in columns}
    return read_calls(renamed(path, "votes", "rollcalls"), known, budget)


def _codes(column: Column) -> dict[str, int] | None:
    """The vote behind each value, if all values are votes and one is cast."""
    for known in (_CODES, _NUMBERS):
        codes = {value: known.get(value.lower()) for value in column.values}
        if None not in codes.values() and any(code != -1 for code in codes.values()):
            return {value: int(code) for value, code in codes.items() if code is not None}
    return None


def _refuse_on_its_side(path: Path, others: list[Column], n_calls: int) -> None:
    """An error where most columns would be votes but for a word in the same row: it says something
    of members, who are the columns then."""
    slips = [(column, odd[0]) for column in others if (odd := _slip(column)) is not None]
    words = [(column, value) for column, value in slips if not is_number(value)]
    if len(words) <= max(n_calls, _ALIKE):
        return
    places = [_first_row(column, value) for column, value in words]
    row, often = Counter(places).most_common(1)[0]
    if often <= max(n_calls, _ALIKE, len(slips) // 2):
        return
    column, value = words[places.index(row)]
    raise InvalidFile(
        f"{path}: votes have a row per member and a column per roll call, and this table seems to "
        f"lie on its side: row {row:,} below the header holds a word in {often:,} columns that are "
        f"votes else, {excerpt(value)!r} in column {excerpt(column.name)!r}: turn it, so that "
        "members are the rows"
    )


def _first_row(column: Column, value: str) -> int:
    return column.codes.index(column.values[value]) + 1


def _refuse_other_codes(path: Path, others: list[Column], n_calls: int, value: str | None) -> None:
    """An error where a value that is no vote stands in more columns than there are roll calls, or
    where columns that are none are too many for attributes: what is left would be no table."""
    alike = [] if value is None else [c for c in others if value in c.values]
    if len(alike) > n_calls:
        n, column = len(alike), alike[0]
        why = f", for {excerpt(value or '', 20)!r} stands in them,"
    elif len(others) > max(_ATTRIBUTES, n_calls):
        n, column, why = len(others), others[-1], ""
    else:
        return
    values = [repr(excerpt(one, 20)) for one in list(column.values)[:4]] or ["nothing"]
    raise InvalidFile(
        f"{path}:1: a roll call is a column of Y and N, or of 1 and 0, with - or 9 for no vote; "
        f"{n:,} columns are none{why} and {n_calls:,} are: column {excerpt(column.name)!r} holds "
        f"{', '.join(values[:3])}{', …' * (len(values) > 3)}: write votes so, or name columns that "
        "are no roll calls by attributes= (dcomp.read takes votes in other codes as answers: "
        "format='categories', codes='all', attributes= what is no vote, missing= who did not vote)"
    )


def _usual_odd(others: list[Column], budget: Budget) -> tuple[str, int]:
    """The value that is no vote and stands in most of these columns, and in how many."""
    others = [column for column in others if len(column.values) <= _VALUES]
    n_values = sum(len(column.values) for column in others)
    cost = OF_NAME // 2 * n_values  # their letters are kept already
    budget.charge(cost, f"{n_values:,} values that are no votes")
    often = Counter(value for column in others for value in column.values)
    votes = {*_CODES, *_NUMBERS}
    odd = ((n, value) for value, n in often.items() if value.lower() not in votes)
    n, value = max(odd, key=lambda pair: pair[0], default=(0, ""))
    budget.free(cost)
    return value, n


def _refuse_slips(path: Path, others: list[Column], usual: str) -> None:
    """An error where a column is one of votes but for a few cells; a warning where these are
    numbers, for then it may be one of numbers. usual: what most columns hold that is no vote."""
    left_out = _coded_by(others, usual)
    of_numbers = (usual, left_out) if len(left_out) >= _ALIKE else None
    for column in others:
        if (odd := _slip(column)) is None:
            continue
        value, n_odd, n_filled = odd
        if column.is_numeric:
            of_numbers = of_numbers or (value, _coded_by(others, value) or [column.name])
            continue
        more = "" if n_odd == 1 else f", nor are {n_odd - 1:,} more of its cells"
        raise InvalidFile(
            f"{path}: row {_first_row(column, value):,} below the header, column "
            f"{excerpt(column.name)!r}: {excerpt(value)!r} is no vote{more}, and "
            f"{n_filled - n_odd:,} of its {n_filled:,} filled cells are: write Y, N or, for none, "
            f"-; a column that is no roll call is named by attributes={excerpt(column.name)!r}"
        )
    if of_numbers is not None:
        _say_what_is_left_out(path, *of_numbers)


def _coded_by(others: list[Column], value: str) -> list[str]:
    """The names of columns of numbers that may be codes of votes, this among them."""
    return [
        column.name
        for column in others
        if value in column.values and len(column.values) <= _CODES_OF_VOTES and column.is_numeric
    ]


def _say_what_is_left_out(path: Path, value: str, found: list[str]) -> None:
    """Warn of columns of numbers that may be votes and hold one that is none."""
    called, no_vote = excerpt(found[0]), f"for {excerpt(value)!r} is no vote (1, 0, 9 for none)"
    said = f"column {called!r} is an attribute and no roll call, {no_vote}"
    if len(found) > 1:
        said = (
            f"{len(found):,} columns are left out of the votes, {no_vote} and stands in each; "
            f"{called!r} is the first"
        )
    warn(f"{path.name}: {said}; attributes={called!r} says so without this line", DataWarning)


def _slip(column: Column) -> tuple[str, int, int] | None:
    """The first value that is no vote, in how many cells there is none, and how many are filled,
    where most are votes: of yea and nay, or nearly all of one of them."""
    cells = np.frombuffer(column.codes, np.int32)
    often = np.bincount(cells[cells >= 0], minlength=len(column.values))
    n_filled = int(often.sum())
    for known in (_CODES, _NUMBERS):
        codes = [known.get(value.lower()) for value in column.values]
        n_odd = int(sum(n for n, code in zip(often, codes, strict=True) if code is None))
        sides = {0, 1} & set(codes)
        share = (n_filled - n_odd) / max(n_filled, 1)
        if sides and share >= (_MOST if len(sides) == 2 else _NEARLY_ALL):
            return list(column.values)[codes.index(None)], n_odd, n_filled
    return None


def _cells(column: Column) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
    codes = _codes(column) or {}
    values = np.array([*(codes[value] for value in column.values), -1], np.int8)
    return values[np.frombuffer(column.codes, np.int32)]


def _first_odd(columns: list[Column]) -> str:
    column = columns[-1]
    values = ", ".join(map(repr, list(column.values)[:3])) or "nothing"
    return f"the last, {column.name!r}, holds {values}"


def _members(about: dict[str, list[object]], n: int) -> list[str]:
    """Their names, or the first column that tells them apart, or numbers."""

    def column(choices: tuple[str, ...]) -> list[object] | None:
        found = {name.lower(): values for name, values in about.items()}
        return next((found[name] for name in choices if name in found), None)

    called, nothing = column(_NAMES), [None] * n
    if called is not None:
        parties, states = column(_PARTIES) or nothing, column(_STATES) or nothing
        numbers = [str(i + 1) for i in range(n)]
        return member_names([str(name) for name in called], parties, states, numbers)
    for values in about.values():
        if len(set(values)) == n:
            return [str(value) for value in values]
    return [str(i + 1) for i in range(n)]
