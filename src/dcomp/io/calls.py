"""Roll calls and members as files beside the votes describe them: what a call was about, how it
ended, and what members are called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcomp.data.attributes import Attributes
from dcomp.data.categories import Column, turned
from dcomp.data.counts import Counts
from dcomp.data.features import FeatureSpace
from dcomp.errors import InvalidCounts, InvalidFile
from dcomp.io.categories import read_columns
from dcomp.io.limits import Budget

YEA, NAY = "yea", "nay"
OUTCOME = "OUTCOME"
# The words of a negative outcome are looked for first: "Point of Order Not Sustained".
_LOST = re.compile(
    r"\b(?:reject\w*|fail\w*|defeat\w*|lost|negatived|not|veto sustained)\b", re.IGNORECASE
)
_WON = re.compile(
    r"\b(?:agreed|pass\w*|confirm\w*|adopt\w*|ratif\w*|invoked|sustained|overridden|guilty|"
    r"carried|well taken|1|true|yes)\b",
    re.IGNORECASE,
)
_NUMBER = ("rollnumber", "number", "rollcall", "call", "vote", "id")
_RESULT = ("passed", "vote_result", "result", "outcome")
_TITLE = ("vote_desc", "description", "dtl_desc", "title", "question", "vote_question")


@dataclass(frozen=True)
class Calls:
    """What is known of roll calls, by the name of their block.

    >>> found = Calls({"RC1": {"vote_desc": "To adjourn", "vote_result": "Motion Rejected"}})
    >>> found.title("RC1"), found.passed("RC1"), found.passed("RC2")
    ('To adjourn', False, None)
    """

    about: Mapping[str, Mapping[str, Any]]

    def title(self, call: str) -> str:
        """What it was about, as far as the file says."""
        known = self.about.get(call, {})
        return next((str(known[name]) for name in _TITLE if known.get(name) is not None), "")

    def passed(self, call: str) -> bool | None:
        """How it ended; None where the file does not say."""
        known = self.about.get(call, {})
        return next((_won(known[name]) for name in _RESULT if known.get(name) is not None), None)

    def attributes(self, calls: Sequence[str]) -> dict[str, list[Any]]:
        """A column per thing that is known, in the order of these calls."""
        keys = dict.fromkeys(key for call in calls for key in self.about.get(call, {}))
        return {key: [self.about.get(call, {}).get(key) for call in calls] for key in keys}


def _won(result: object) -> bool | None:
    text = str(result)
    if text in ("0", "False") or _LOST.search(text):
        return False
    return True if _WON.search(text) else None


def read_about(path: Path, budget: Budget) -> list[Column]:
    """The columns of a file of members or roll calls."""
    budget.trust(path.stat().st_size)  # twice: a value takes more than its letters
    return read_columns(path, budget=budget)


def read_calls(path: Path | None, blocks: Mapping[str, str], budget: Budget) -> Calls:
    """What a file says of roll calls; blocks: the names that they have as blocks, by number."""
    if path is None:
        return Calls({})
    columns = {column.name: column.as_attribute() for column in read_about(path, budget)}
    key = next((name for name in _NUMBER if name in columns), None)
    if key is None:
        raise InvalidFile(
            f"{path}:1: a file of roll calls needs a column of their numbers, one of "
            f"{', '.join(_NUMBER)}; found {', '.join(columns)}"
        )
    rows = zip(*columns.values(), strict=True)
    found = [dict(zip(columns, row, strict=True)) for row in rows]
    return Calls({blocks[str(row[key])]: row for row in found if str(row[key]) in blocks})


def member_names(
    members: Sequence[str], parties: Sequence[Any], states: Sequence[Any], numbers: Sequence[str]
) -> list[str]:
    """What members are called: the last name with party and state where that tells them apart, else
    the whole name, else with the number as well.

    >>> member_names(["NELSON, Bill", "NELSON, Ben"], ["D", "D"], ["FL", "NE"], ["1", "2"])
    ['NELSON (D-FL)', 'NELSON (D-NE)']
    """
    places = ["-".join(str(x) for x in pair if x) for pair in zip(parties, states, strict=True)]
    tails = [f" ({place})" if place else "" for place in places]
    short = [name.partition(",")[0] + tail for name, tail in zip(members, tails, strict=True)]
    often = Counter(short)
    whole = [
        brief if often[brief] == 1 else name + tail
        for brief, name, tail in zip(short, members, tails, strict=True)
    ]
    often = Counter(whole)
    return [
        name if often[name] == 1 else f"{name} [{number}]"
        for name, number in zip(whole, numbers, strict=True)
    ]


def finished(
    counts: Counts, calls: Calls, *, outcome: bool, contested: bool, transpose: bool
) -> Counts:
    """Votes as they were asked for: without unanimous calls, with the outcome as one more voter,
    the other way round."""
    if contested:
        counts = only_contested(counts)
    if outcome:
        counts = with_outcome(counts, calls)
    if not transpose:
        return counts
    names = [counts.features.block_name(g) for g in range(counts.features.n_blocks)]
    return turned(counts, calls.attributes(names))


def with_outcome(counts: Counts, calls: Calls) -> Counts:
    """With the outcome of each call as a last voter, "OUTCOME" (BJ06 VIII.A): as the file of roll
    calls says, or by the majority of votes where it does not."""
    features, totals = counts.features, counts.feature_totals
    won = totals[0::2] > totals[1::2]
    for g in range(features.n_blocks):
        told = calls.passed(features.block_name(g))
        won[g] = won[g] if told is None else told
    last = 2 * np.arange(features.n_blocks, dtype=np.int32) + ~won
    about = {name: [*column.tolist(), None] for name, column in counts.attributes.items()}
    return Counts(
        np.r_[counts.indptr, counts.indptr[-1] + last.size],
        np.r_[counts.indices, last],
        np.r_[counts.data, np.ones(last.size, np.int32)],
        features,
        (*(counts.doc_ids or map(str, range(counts.n_docs))), OUTCOME),
        attributes=Attributes(counts.n_docs + 1, about),
        empty_is_missing=True,
    )


def only_contested(counts: Counts) -> Counts:
    """Without the calls at which all votes were the same."""
    used = np.bincount(counts.features.blocks, counts.feature_totals > 0)
    kept = used[counts.features.blocks] > 1
    if not kept.any():
        raise InvalidCounts("contested calls are those at which votes differ; there is none")
    return counts if kept.all() else counts.columns(kept)


def of_votes(
    cells: NDArray[Any], calls: Sequence[str], members: Sequence[str], about: Mapping[str, Any]
) -> Counts:
    """Counts of votes by members (rows) and calls: 1 yea, 0 nay, -1 none; a block per call."""
    cast = cells >= 0
    feature = 2 * np.arange(len(calls), dtype=np.int32) + (cells == 0)
    return Counts(
        np.r_[0, np.cumsum(cast.sum(axis=1))],
        feature[cast].astype(np.int32),
        np.ones(int(cast.sum()), np.int32),
        FeatureSpace(
            (YEA, NAY) * len(calls),
            np.repeat(np.arange(len(calls), dtype=np.int32), 2),
            tuple(calls),
        ),
        tuple(members),
        attributes=Attributes(len(members), about),
        empty_is_missing=True,
    )
