"""What is going on, on a terminal: a line with a bar or a turning wheel, and the time. Nothing in a
pipe, and nothing where the user wants quiet."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Update = Callable[[int, int | None], None]


@contextmanager
def working(what: str, *, quiet: bool = False, unit: str | None = None) -> Iterator[Update | None]:
    """Shows `what` while the block runs, and gives what to call with the number done and of all;
    None where nothing is shown. Until it is called, a wheel turns. unit: "bytes" for sizes."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    line: list[ProgressColumn] = [TextColumn("[bold]{task.description}"), TimeElapsedColumn()]
    wheel = [SpinnerColumn(), *line]
    bar = [line[0], BarColumn(), DownloadColumn() if unit == "bytes" else MofNCompleteColumn()]
    shown = Progress(*wheel, console=Console(stderr=True), transient=True)
    with shown:
        task = shown.add_task(what, total=None)

        def update(done: int, total: int | None) -> None:
            shown.columns = (*bar, line[1])
            shown.update(task, completed=done, total=total)

        yield update
