"""dcomp fit --dask and --parts: where the parts of a corpus are worked on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from dcomp.errors import InvalidParameter

if TYPE_CHECKING:
    from dcomp.data import Counts
    from dcomp.executors import DaskExecutor

PARTS = 8  # on a cluster, unless told: no cluster changes it, because the answer depends on it

Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Fit on the Dask cluster whose scheduler is at this address, or on one of this "
        "machine's own: local.",
    ),
]
Parts = Annotated[
    int | None,
    typer.Option(
        "--parts",
        metavar="N",
        min=1,
        help="Cut the corpus into so many parts, for the workers to share; collapsed Gibbs is "
        "approximate in more than one.",
        show_default="8 with --dask, else 1",
    ),
]


@dataclass(frozen=True)
class Where:
    """Where a fit runs, and in how many parts."""

    jobs: int | None = None
    dask: str | None = None
    parts: int | None = None

    def __post_init__(self) -> None:
        if self.dask is not None and self.jobs is not None:
            raise InvalidParameter(
                "--jobs is for threads of this machine, and workers of a cluster have their own: "
                "leave out --jobs or --dask"
            )
        if self.dask is not None:
            from dcomp.executors.dask_cluster import checked_address

            checked_address(self.dask)  # before the corpus is read

    def cut(self, counts: Counts, *, resumes: bool = False) -> Counts:
        """The counts in the parts that were asked for; a fit that is resumed knows its own.

        >>> from dcomp.data import Counts
        >>> Where(parts=2).cut(Counts.from_matrix([[1], [2]])).firsts
        (0, 1)
        """
        if self.parts is not None:
            return counts.in_parts(self.parts)
        if self.dask is None or resumes or len(counts.firsts) > 1:
            return counts
        return counts.in_parts(min(PARTS, counts.n_docs))

    @contextmanager
    def executor(self) -> Iterator[DaskExecutor | None]:
        """The cluster, while the fit runs; None for this machine."""
        if self.dask is None:
            yield None
            return
        from dcomp.executors import DaskExecutor

        with DaskExecutor.connect(self.dask) as cluster:
            yield cluster
