"""Voteview's files: S108_votes.csv, with S108_members.csv and S108_rollcalls.csv beside it."""

from __future__ import annotations

import contextlib
import re
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dcomp.data.counts import Counts
from dcomp.errors import InvalidFile
from dcomp.io.beside import renamed
from dcomp.io.calls import Calls, finished, member_names, of_votes, read_about, read_calls
from dcomp.io.files import OF_NAME, StrPath
from dcomp.io.limits import Budget, Limits
from dcomp.io.numbers import is_whole
from dcomp.io.table import table_rows

# Any of the three files begins so, and the two that hold no votes are told apart by an error.
BEGINS = re.compile(r"congress,chamber,(?:rollnumber|icpsr)\b")
_COLUMNS = ("congress", "chamber", "rollnumber", "icpsr", "cast_code")
_YEA, _NAY = (1, 2, 3), (4, 5, 6)  # 7 and 8: present, 9: not voting, 0: no member then
_PARTIES = {100: "D", 200: "R", 328: "I"}
_TAKEN = 8192  # votes that are charged at a time


def read_voteview(
    path: StrPath,
    *,
    outcome: bool = False,
    contested: bool = False,
    transpose: bool = False,
    limits: Limits | None = None,
) -> Counts:
    """Read votes: one block per roll call (RC1, RC2 …) with the features yea and nay; who did not
    vote has no count there.

    The members' file beside it gives names and the attributes name, party, state, icpsr, born,
    nominate_dim1 and nominate_dim2. `outcome`: the outcome is a last voter, as the roll calls' file
    tells, or the majority. `contested`: without unanimous calls. `transpose`: roll calls are the
    documents, with what the roll calls' file says of them as attributes.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "S108_votes.csv")
    ...     _ = file.write_text("congress,chamber,rollnumber,icpsr,cast_code\\n"
    ...         "108,Senate,1,7,1\\n108,Senate,1,8,6\\n108,Senate,2,7,9\\n108,Senate,2,8,2\\n")
    ...     counts = read_voteview(file)
    >>> counts.features.labels
    ('RC1=yea', 'RC1=nay', 'RC2=yea', 'RC2=nay')
    >>> counts.to_scipy().toarray().tolist(), counts.doc_ids
    ([[1, 0, 0, 0], [0, 1, 1, 0]], ('7', '8'))
    """
    path = Path(path)
    budget = Budget(path, limits)
    votes = _read(path, budget)
    names, about = _members(path, list(votes.members), budget)
    calls = votes.blocks()
    n_members, n_calls = len(votes.members), len(calls)
    budget.charge(
        40 * n_members * n_calls, f"a table of {n_members:,} members and {n_calls:,} calls"
    )
    cells = np.full((n_members, n_calls), -1, np.int8)
    cells[np.frombuffer(votes.who, np.int32), np.frombuffer(votes.call, np.int32)] = votes.cast
    found = read_calls(renamed(path, "votes", "rollcalls"), _by_number(calls), budget)
    counts = of_votes(cells, list(calls.values()), names, about)
    return finished(counts, found, outcome=outcome, contested=contested, transpose=transpose)


def calls_beside(path: Path, limits: Limits | None = None) -> Calls:
    """What the file of roll calls beside Voteview's votes says."""
    budget = Budget(path, limits)
    calls = _read(path, budget).blocks()
    return read_calls(renamed(path, "votes", "rollcalls"), _by_number(calls), budget)


Call = tuple[str, str, str]  # congress, chamber, number


@dataclass(slots=True)
class _Votes:
    """The lines of a file, in numbers."""

    members: dict[str, int] = field(default_factory=dict)
    calls: dict[Call, int] = field(default_factory=dict)
    who: array[int] = field(default_factory=lambda: array("i"))
    call: array[int] = field(default_factory=lambda: array("i"))
    cast: array[int] = field(default_factory=lambda: array("b"))

    def add(self, call: Call, member: str, code: int) -> None:
        """One vote."""
        self.who.append(self.members.setdefault(member, len(self.members)))
        self.call.append(self.calls.setdefault(call, len(self.calls)))
        self.cast.append(1 if code in _YEA else 0 if code in _NAY else -1)

    @property
    def cost(self) -> int:
        """Bytes that these take."""
        return 10 * len(self.cast) + OF_NAME * (len(self.members) + 2 * len(self.calls))

    def blocks(self) -> dict[Call, str]:
        """What the calls are called as blocks: by number, and by Congress and chamber too where
        there are several."""
        several = len({call[:2] for call in self.calls}) > 1
        return {
            call: f"{call[1][:1]}{call[0]}-RC{call[2]}" if several else f"RC{call[2]}"
            for call in self.calls
        }


def _by_number(calls: dict[Call, str]) -> dict[str, str]:
    """Blocks by the number of the call; where several Congresses are in one file a number is no
    name, and nothing is known of calls."""
    several = len({call[:2] for call in calls}) > 1
    return {} if several else {call[2]: block for call, block in calls.items()}


def _read(path: Path, budget: Budget) -> _Votes:
    votes, charged = _Votes(), 0
    with contextlib.closing(table_rows(path, ",", budget)) as rows:
        _, header = next(rows, (1, []))
        places = _places(path, header)
        for line, row in rows:
            congress, chamber, number, member, code = (row[place] for place in places)
            if not (is_whole(number) and is_whole(member) and code in "0123456789" and code):
                raise InvalidFile(
                    f"{path}:{line}: expected whole numbers as rollnumber and icpsr and a "
                    f"cast_code from 0 to 9; found {number!r}, {member!r} and {code!r}"
                )
            votes.add((congress, chamber, number), member, int(code))
            if len(votes.cast) % _TAKEN == 1:
                budget.charge(votes.cost - charged, f"{len(votes.cast):,} votes")
                charged = votes.cost
    if not votes.cast:
        raise InvalidFile(f"{path}: there must be at least one line below the header")
    return votes


def _places(path: Path, header: list[str]) -> list[int]:
    absent = [name for name in _COLUMNS if name not in header]
    if not absent:
        return [header.index(name) for name in _COLUMNS]
    if "bioname" in header or "vote_result" in header:
        kind = "members" if "bioname" in header else "roll calls"
        raise InvalidFile(
            f"{path}:1: this is Voteview's file of {kind}, which holds no votes: give the file of "
            "votes (such as S108_votes.csv), beside which this one is found by its name"
        )
    raise InvalidFile(
        f"{path}:1: Voteview's file of votes has the columns {', '.join(_COLUMNS)}; "
        f"{', '.join(absent)} not found among {', '.join(header)[:80]}"
    )


def _members(
    path: Path, numbers: list[str], budget: Budget
) -> tuple[list[str], dict[str, list[Any]]]:
    """The names of members and what is known of them, in the order of their numbers."""
    place = renamed(path, "votes", "members")
    if place is None:
        return numbers, {"icpsr": numbers}
    columns = {column.name: column.as_attribute() for column in read_about(place, budget)}
    if not {"icpsr", "bioname", "party_code", "state_abbrev"} <= set(columns):
        raise InvalidFile(
            f"{place}:1: Voteview's file of members has the columns icpsr, bioname, party_code and "
            f"state_abbrev; found {', '.join(columns)[:80]}"
        )
    # Of several lines of one member, as in files of many Congresses, the last holds.
    row = {str(number): i for i, number in enumerate(columns["icpsr"])}
    unknown = [number for number in numbers if number not in row]
    if unknown:
        raise InvalidFile(
            f"{place}: there is no member with icpsr {unknown[0]}, who votes in {path}"
        )

    def of_all(name: str) -> list[Any]:
        return [columns[name][row[number]] for number in numbers]

    parties = [_PARTIES.get(code, str(code)) for code in of_all("party_code")]
    names, states = [str(name) for name in of_all("bioname")], of_all("state_abbrev")
    about = {"name": names, "party": parties, "state": states, "icpsr": numbers}
    more = ("chamber", "district_code", "born", "nominate_dim1", "nominate_dim2")
    about |= {name: of_all(name) for name in more if name in columns}
    return member_names(names, parties, states, numbers), about
