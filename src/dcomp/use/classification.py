"""How many votes are told right, beside the majority."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Classification:
    """Votes that are told right: by blocs, and by the majority of each call.

    >>> found = Classification(n_votes=100, n_wrong=10, n_minority=40)
    >>> found.rate, found.majority, found.apre
    (0.9, 0.6, 0.75)
    """

    n_votes: int
    n_wrong: int
    n_minority: int  # votes that are not with the majority of their call

    @property
    def rate(self) -> float:
        """The share of votes that blocs tell right."""
        return 1 - self.n_wrong / self.n_votes

    @property
    def majority(self) -> float:
        """The share that the majority of each call is."""
        return 1 - self.n_minority / self.n_votes

    @property
    def apre(self) -> float:
        """Aggregate proportional reduction in error: of the majority's errors, the part that blocs
        do not make. 0 where all calls are unanimous."""
        return (self.n_minority - self.n_wrong) / self.n_minority if self.n_minority else 0.0

    def lines(self) -> list[str]:
        """In the words of the field."""
        return [
            f"{100 * self.rate:.1f} % of votes are classified right, {100 * self.majority:.1f} % "
            "by the majority of each call;",
            f"APRE {self.apre:.3f} (of the same votes, as the field reports it)",
        ]
