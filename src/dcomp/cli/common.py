"""What the commands share: reading input, checking output, and speaking to people and programs."""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dcomp.cli.wording import in_shell_words
from dcomp.printable import printable, printable_json, printable_lines
from dcomp.recipe import FIELDS

if TYPE_CHECKING:
    from rich.console import Console

    from dcomp.data import Counts
    from dcomp.io import Limits
    from dcomp.result import Fit

INTERRUPTED = 130  # 128 + SIGINT, as shells report it


def say(message: str) -> None:
    """One line on stderr, with the program's name."""
    print(f"dcomp: {printable(message)}", file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    """One JSON object on stdout; numbers that are not finite become null."""
    print(printable_json(_finite(value), indent=2))


def show(text: object) -> None:
    """Lines on stdout, safe to look at."""
    print(printable_lines(text))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def console() -> Console:
    """Stdout for people; in a pipe without colours and wide enough for a table."""
    from rich.console import Console

    class Shown(Console):
        """What is no table of ours is text, and may hold names."""

        def print(self, *objects: Any, **options: Any) -> None:
            safe = (printable_lines(o) if isinstance(o, str) else o for o in objects)
            super().print(*safe, **options)

    wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120
    return Shown(highlight=False, markup=False, emoji=False, width=wide)


@contextmanager
def one_line_warnings() -> Iterator[None]:
    """Warnings inside the block come out as single lines on stderr."""

    def show(message: Warning | str, *rest: Any, **options: Any) -> None:
        say(f"warning: {in_shell_words(message)}")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for of_developers in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", of_developers)
        warnings.showwarning = show
        yield


def check_output(path: Path, *, force: bool, inputs: Iterable[Path] = ()) -> None:
    """An error now, rather than after the work, if `path` cannot be written."""
    from dcomp.atomic import check_place, is_plain, resolved

    if not is_plain(path):  # a device or a pipe takes what comes
        return
    target = resolved(path)
    if target.is_file() and any(s.exists() and target.samefile(s) for s in inputs):
        raise FileExistsError(f"{path} is an input of this command; choose another output")
    check_place(target, overwrite=force, how="--force")


@dataclass(frozen=True)
class Source:
    """An input file and how to read it."""

    path: Path
    format: str | None = None
    vocab: Path | None = None
    min_count: int = 1
    min_docs: int = 1
    blocks: Path | None = None
    fractional: bool = False
    limit: str | None = None
    # Of tables of votes and answers, and of genotypes: `recipe.table.FIELDS`.
    attributes: str | None = None
    codes: str | None = None
    id: str | None = None
    missing: str | None = None
    outcome: bool = False
    contested: bool = False
    transpose: bool = False
    labels: Path | None = None
    columns: str | None = None
    rows: int | None = None

    @property
    def limits(self) -> Limits | None:
        """What files may cost, where that was said."""
        from dcomp.io import Limits

        return None if self.limit is None else Limits.parse(self.limit)

    def load(self, fit: Path) -> Fit:
        """A fit, by the same limits."""
        from dcomp.result import load

        return load(fit, limits=self.limits)

    def read(self) -> Counts:
        """The counts; blocks are given before rare features are left out."""
        from dcomp.io import read
        from dcomp.io.files import text_lines
        from dcomp.io.limits import Budget

        options: dict[str, Any] = {} if self.vocab is None else {"vocab": self.vocab}
        if self.fractional:
            options["fractional"] = True
        said = {option.name: getattr(self, option.name) for option in FIELDS}
        options |= {name: value for name, value in said.items() if value}
        counts = read(self.path, format=self.format, limits=self.limits, **options)
        if self.blocks is not None:
            lines = text_lines(self.blocks, budget=Budget(self.blocks, self.limits))
            counts = counts.with_blocks([line.strip() for _, line in lines])
        if self.min_count > 1 or self.min_docs > 1:
            counts = counts.drop_rare(self.min_count, self.min_docs)
        return counts


def _as_fitted(source: Source, fit: Fit) -> Source:
    """The source read as that of a fit was: fractional where its counts were, and the format can
    say such numbers."""
    from dcomp.io.read import FORMATS, guess_format

    if not fit.provenance.fractional or not source.path.exists():
        return source
    format = source.format or guess_format(source.path)
    can = format in FORMATS and "fractional" in FORMATS[format].options
    return replace(source, fractional=can)


def counts_for(fit: Fit, source: Source, quiet: bool) -> tuple[Counts, int]:
    """New documents in a fit's features, and how many tokens had to be dropped (said on stderr)."""
    from dcomp.data.counts import amount

    counts = _as_fitted(source, fit).read()
    tokens = counts.n_tokens
    counts, dropped = counts.aligned_to(fit.features)
    if dropped and not quiet:
        share = 100 * dropped / tokens
        say(
            f"note: {amount(dropped)} of {amount(tokens)} tokens ({share:.1f} %) are dropped: "
            "the fit does not know their features"
        )
    return counts, dropped
