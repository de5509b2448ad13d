"""One front for every table: what there is, what is in it, and how to get it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from inspect import Parameter, signature
from typing import Any

from dcomp.datasets import (
    at_hand,
    genetics,
    language,
    parliament,
    remote,
    sequencing,
    shopping,
    simulated,
    tumours,
)
from dcomp.errors import InvalidParameter

MADE_UP, AT_HAND, SIMULATED, DOWNLOAD = "made-up", "at hand", "simulated", "download"
KINDS = {
    MADE_UP: "no model of dcomp drew them; what was planted comes along",
    AT_HAND: "real, and there once dcomp is installed",
    SIMULATED: "drawn from a model of dcomp, with its scores and components",
    DOWNLOAD: "real, fetched once and held to a checksum (extra datasets)",
}


@dataclass(frozen=True, slots=True)
class Description:
    """What a table is, and how it is made: `print` says it in some lines."""

    name: str
    kind: str  # of KINDS
    summary: str
    make: Callable[..., Any]

    @property
    def options(self) -> tuple[str, ...]:
        """What `load` may be told of it.

        >>> describe("votes").options
        ('n_members', 'n_calls', 'polarisation', 'absent', 'unanimous', 'seed')
        """
        return tuple(
            name
            for name, parameter in signature(self.make).parameters.items()
            if parameter.kind is not Parameter.VAR_KEYWORD
        )

    def __str__(self) -> str:
        options = ", ".join(self.options) or "none"
        return f"{self.name} ({self.kind}): {self.summary}\noptions: {options}"


DATASETS = {
    row[0]: Description(*row)
    for row in (
        (
            "genotypes",
            MADE_UP,
            "admixed people, drifted frequencies, missing calls, SNPs that do not vary",
            genetics.genotypes,
        ),
        ("votes", MADE_UP, "ideal points, cut points, absences, unanimous calls", parliament.votes),
        (
            "mutations",
            MADE_UP,
            "totals over four powers of ten, signatures, more variance than Poisson's",
            tumours.mutations,
        ),
        ("cells", MADE_UP, "library sizes, marker genes, negative binomial", sequencing.cells),
        ("text", MADE_UP, "Zipf's law, words in bursts, reading order", language.text),
        ("baskets", MADE_UP, "few items each, popularity, items together", shopping.baskets),
        ("simulated", SIMULATED, "from any model, by its name", simulated.simulate),
        (
            "docstrings",
            AT_HAND,
            "the documentation of NumPy, SciPy and scikit-learn",
            at_hand.documentation,
        ),
        ("digits", AT_HAND, "1,797 images of digits, 64 pixels as counts of ink", at_hand.digits),
        (
            "voteview",
            DOWNLOAD,
            "roll calls of any US Congress, with party and ideal points",
            remote.voteview,
        ),
        ("newsgroups", DOWNLOAD, "18,846 posts in 20 groups, by date", remote.newsgroups),
        ("movie_reviews", DOWNLOAD, "2,000 reviews, for and against", remote.movie_reviews),
        ("state_union", DOWNLOAD, "addresses of US presidents, 1945-2006", remote.state_union),
    )
}


def names(kind: str | None = None) -> tuple[str, ...]:
    """The tables that `load` knows, all or those of one kind.

    >>> names("at hand")
    ('docstrings', 'digits')
    """
    if kind is not None and kind not in KINDS:
        raise InvalidParameter(f"kind must be one of {', '.join(KINDS)}; got {kind!r}")
    return tuple(name for name, row in DATASETS.items() if kind in (None, row.kind))


def describe(name: str) -> Description:
    """What a table is.

    >>> print(describe("digits"))
    digits (at hand): 1,797 images of digits, 64 pixels as counts of ink
    options: none
    >>> describe("vote")
    Traceback (most recent call last):
    dcomp.errors.InvalidParameter: there is no table 'vote'; did you mean 'votes'?
    """
    if name in DATASETS:
        return DATASETS[name]
    close = get_close_matches(str(name), DATASETS, n=1)
    help_ = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(DATASETS)}"
    raise InvalidParameter(f"there is no table {name!r}; {help_}")


def load(name: str, **options: Any) -> Any:
    """A table by name: a frozen record with `counts`, and all else that is known of it.

    options: those of the function of the same name (`describe(name).options`).

    >>> load("votes", n_members=20, n_calls=50, seed=1).counts.shape
    (20, 100)
    >>> load("digits", seed=1)
    Traceback (most recent call last):
    dcomp.errors.InvalidParameter: digits takes no option 'seed'; its options are: none
    """
    row = describe(name)
    takes_more = any(
        p.kind is Parameter.VAR_KEYWORD for p in signature(row.make).parameters.values()
    )
    for option in options:
        if option not in row.options and not takes_more:
            raise InvalidParameter(
                f"{name} takes no option {option!r}; its options are: "
                f"{', '.join(row.options) or 'none'}"
            )
    return row.make(**options)
