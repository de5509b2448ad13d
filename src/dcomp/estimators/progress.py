"""Progress on a terminal, silence in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from dcomp.inference import DrawPlan, Info
from dcomp.inference.run import Callback


def announce(verbose: int, plan: DrawPlan | None) -> None:
    """What the draws of a fit will take, on a terminal and before it begins."""
    if plan is not None and verbose >= 1 and sys.stderr.isatty():
        print(plan, file=sys.stderr, flush=True)


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
        task = bar.add_task(label, total=max_iter, detail="")

        def show(info: Info) -> None:
            gain = "" if info.change is None else f"{info.change:+.1e} nats per document"
            bar.update(task, completed=info.sweep, detail=gain)

        yield [show]
