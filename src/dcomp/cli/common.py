"""What the commands share: reading input, checking output, and speaking to people and programs."""

from __future__ import annotations

import math
import os
import re
import shutil
import sys
import textwrap
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dcomp.cli.wording import in_shell_words
from dcomp.printable import columns, printable, printable_json, printable_lines

if TYPE_CHECKING:
    from rich.console import Console

INTERRUPTED = 130  # 128 + SIGINT, as shells report it


def say(message: str, *, whole: bool = False) -> None:
    """One line on stderr, with the program's name; folded where a terminal is narrower, unless it
    is to stay whole, as a command has to that will be copied."""
    line = f"dcomp: {printable(message)}"
    if sys.stderr.isatty() and not whole:
        line = folded(line, shutil.get_terminal_size().columns)
    print(line, file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    """One JSON object on stdout; numbers that are not finite become null."""
    print(printable_json(_finite(value), indent=2))


def show(text: object) -> None:
    """Lines on stdout, safe to look at; folded where a terminal is narrower."""
    lines, limit = printable_lines(text), width()
    print(lines if limit is None else folded(lines, limit))


def width() -> int | None:
    """Columns of the terminal, or what COLUMNS says; None in a pipe, where lines stay whole."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return shutil.get_terminal_size().columns
    return None


def folded(text: str, limit: int) -> str:
    """Lines of at most `limit` columns, cut between words; what follows stands below the second
    column of a table, or further in than the line began.

    >>> print(folded("bound     -1.79 per token (no perplexity)", 30))
    bound     -1.79 per token (no
              perplexity)
    """
    return "\n".join(part for line in text.split("\n") for part in _folded_line(line, limit))


def _folded_line(line: str, limit: int) -> list[str]:
    if columns(line) <= limit:
        return [line]
    begin = len(line) - len(line.lstrip())
    gap = re.search(r"\S {2,}(?=\S)", line)
    hang = gap.end() if gap is not None and gap.end() <= limit // 2 else begin + 2
    hang = min(hang, limit // 2)
    spare = columns(line) - len(line)  # wide letters: fewer of them have room
    how: Any = {"break_on_hyphens": False, "subsequent_indent": " " * hang}
    return textwrap.wrap(line, max(limit - max(spare, 0), limit // 2, 1), **how) or [line]


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def console(*, silent: bool = False) -> Console:
    """Stdout for people; in a pipe without colours and wide enough for a table. silent: nobody
    looks, for stdout is a program's."""
    from rich.console import Console

    class Shown(Console):
        """What is no table of ours is text, and may hold names."""

        def print(self, *objects: Any, **options: Any) -> None:
            safe = [printable_lines(o) if isinstance(o, str) else o for o in objects]
            is_line = len(safe) == 1 and isinstance(safe[0], str)
            if is_line and wide is not None:  # a program may look for words in it
                options["soft_wrap"] = True
            elif is_line and not options.get("soft_wrap"):
                safe = [folded(safe[0], self.width)]
            super().print(*safe, **options)

    wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120
    return Shown(highlight=False, markup=False, emoji=False, width=wide, quiet=silent)


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
