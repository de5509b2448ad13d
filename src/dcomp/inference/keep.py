"""Which recorded sweeps of a sampler leave draws behind, and what those take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dcomp.data import Counts
from dcomp.errors import InvalidParameter

KINDS = ("scores", "loadings", "assignments")
DRAW_BUDGET = "1 GiB"  # what kept draws may take unless more is allowed


@dataclass(frozen=True)
class Keep:
    """Keep the draws of `n` of every `every` recorded sweeps, evenly spread.

    kinds: "scores", "loadings", "assignments" (of every token; collapsed Gibbs only). The
    hyper-parameters always come along. The rule knows no last sweep, so a resumed chain goes on
    keeping as it began.

    >>> [recorded for recorded in range(1, 9) if Keep(n=1, every=3).wants(recorded)]
    [3, 6]
    >>> [recorded for recorded in range(1, 9) if Keep(n=3, every=8).wants(recorded)]
    [3, 6, 8]
    """

    n: int = 0
    every: int = 1
    kinds: tuple[str, ...] = ("scores", "loadings")

    def __post_init__(self) -> None:
        if not 0 <= self.n <= self.every or self.every < 1:
            raise InvalidParameter(
                f"of every {self.every} recorded sweeps at least 0 and at most all can be kept; "
                f"got n = {self.n}"
            )
        unknown = [kind for kind in self.kinds if kind not in KINDS]
        if unknown:
            raise InvalidParameter(f"draws are of {', '.join(KINDS)}; got {unknown[0]!r}")
        object.__setattr__(self, "kinds", tuple(k for k in KINDS if k in self.kinds))

    @classmethod
    def restored(cls, entry: Mapping[str, Any] | None) -> Keep:
        """From a file; those of version 2 have no entry."""
        if entry is None:
            return cls()
        options = dict(entry)
        kinds = options.pop("of", None)  # as version 3 has it
        kinds = options.pop("kinds") if kinds is None else kinds
        return cls(**options, kinds=tuple(map(str, kinds)))

    @classmethod
    def spread(cls, n_draws: int, recorded: int, kinds: str | Sequence[str]) -> Keep:
        """So many of the sweeps that are recorded; kinds as a sequence or with commas between.

        >>> Keep.spread(5, 20, "scores, loadings")
        Keep(n=5, every=20, kinds=('scores', 'loadings'))
        """
        if n_draws > recorded:
            raise InvalidParameter(
                f"n_draws must be at most the sweeps after burn_in, of which there are "
                f"{max(recorded, 0)}; got {n_draws} (raise max_iter or lower burn_in)"
            )
        words = kinds.split(",") if isinstance(kinds, str) else kinds
        return cls(n_draws, recorded, tuple(str(word).strip() for word in words))

    def count(self, recorded: int) -> int:
        """Draws kept of so many recorded sweeps.

        >>> Keep(n=3, every=8).count(16)
        6
        """
        return max(recorded, 0) * self.n // self.every

    def wants(self, recorded: int) -> bool:
        """Whether the recorded sweep of this number, from 1, is kept."""
        return self.count(recorded) > self.count(recorded - 1)


@dataclass(frozen=True)
class DrawPlan:
    """What the draws of a fit will take, known before it begins.

    >>> print(DrawPlan(50, 1, {"scores": 12 << 20, "loadings": 80 << 20}))
    keeping 50 draws: scores 12 MiB, loadings 80 MiB
    """

    n_draws: int  # of each chain
    n_chains: int
    parts: Mapping[str, int]  # bytes of each kind, all draws and chains together

    @classmethod
    def for_fit(cls, keep: Keep, recorded: int, n_chains: int, counts: Counts, K: int) -> DrawPlan:
        """For a fit of these counts with so many recorded sweeps."""
        size = {
            "scores": 4 * K * counts.n_docs,
            "loadings": 4 * K * counts.n_features,
            "assignments": 2 * counts.n_tokens,
        }
        n = keep.count(recorded)
        return cls(n, n_chains, {kind: n * n_chains * size[kind] for kind in keep.kinds})

    @property
    def total(self) -> int:
        """Bytes of all kinds."""
        return sum(self.parts.values())

    def check(self, budget: int | None) -> None:
        """An error that says what to change if the draws take more bytes than that."""
        if budget is None or self.total <= budget:
            return
        chains = f" of {self.n_chains} chains" if self.n_chains > 1 else ""
        raise InvalidParameter(
            f"{self.n_draws} draws{chains} take {in_words(self.total)} ({self._list()}), more than "
            f"draw_budget = {in_words(budget)}: keep fewer draws, fewer kinds of them"
            f"{' or fewer chains' if chains else ''}, or raise the budget"
        )

    def _list(self) -> str:
        return ", ".join(f"{kind} {in_words(size)}" for kind, size in self.parts.items())

    def __str__(self) -> str:
        chains = f" of each of {self.n_chains} chains" if self.n_chains > 1 else ""
        return f"keeping {self.n_draws} draws{chains}: {self._list() or 'hyper-parameters'}"


def in_words(size: int) -> str:
    """A number of bytes as people read it.

    >>> in_words(1536), in_words(12 << 20), in_words(3 << 29)
    ('1.5 KiB', '12 MiB', '1.5 GiB')
    """
    value, units = float(size), ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(units) > 1:
        value, units = value / 1024, units[1:]
    return f"{value:.1f}".removesuffix(".0") + f" {units[0]}"
