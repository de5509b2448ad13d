"""Progress on a terminal, silence in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dcomp.inference import DrawPlan, Info
from dcomp.inference.run import Callback

if TYPE_CHECKING:
    from rich.progress import Progress


def announce(verbose: int, *lines: DrawPlan | str | None) -> None:
    """What fits the table and what draws will take, on a terminal and before it begins."""
    if verbose >= 1 and sys.stderr.isatty():
        for line in lines:
            if line is not None:
                print(line, file=sys.stderr, flush=True)


@contextmanager
def progress(verbose: int, max_iter: int, label: str) -> Iterator[list[Callback]]:
    """Callbacks that draw a bar while the block runs; none if silent or not on a terminal."""
    if verbose < 1 or not sys.stderr.isatty():
        yield []
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        TextColumn("sweep {task.completed:.0f}/{task.total:.0f}"),
        TextColumn("{task.fields[detail]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield [_Bar(bar, label, max_iter)]


class _Bar:
    """A line of the display; where there are several chains, a line for each."""

    def __init__(self, display: Progress, label: str, max_iter: int) -> None:
        self._display, self._label, self._max_iter = display, label, max_iter
        self._line = display.add_task(label, total=max_iter, detail="starting")

    def __call__(self, info: Info) -> None:
        """After a sweep."""
        gain = "" if info.change is None else f"{info.change:+.1e} nats per document"
        self._display.update(self._line, completed=info.sweep, detail=gain)

    def of_chain(self, number: int) -> _Bar:
        """The line of one chain, in the place of its own; the display takes it from any thread."""
        self._display.update(self._line, visible=False)
        return _Bar(self._display, f"{self._label} chain {number + 1}", self._max_iter)
