"""dcomp select: how many components."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcomp.atomic import atomic_write
from dcomp.cli.common import check_output, one_line_warnings, print_json, say, show
from dcomp.cli.flags import said, with_options
from dcomp.cli.options import Force, Input, Jobs, Json, Quiet
from dcomp.cli.source import Source
from dcomp.models.options import Option
from dcomp.recipe import READING, table

if TYPE_CHECKING:
    from dcomp.evaluate import Selection

LATELY = 6  # steps whose pace is that of now

Ks = Annotated[
    str,
    typer.Option(
        "-k", metavar="KS", help="Numbers to try, with commas between; 4-10 is all from 4 to 10."
    ),
]


def _options() -> tuple[Option, ...]:
    """What the chains of a selection may be told: the model, its priors, and how long they run."""
    own = ("model", "algorithm", "loadings", "max_iter", "tol", "random_state")
    rows = table().values()
    return tuple(option for option in rows if option.kind == "prior" or option.name in own)


@with_options((*_options(), *READING))
def select(
    input: Input,
    ks: Ks,
    chains: Annotated[
        int,
        typer.Option(min=2, help="Chains of each K; as many parts of the documents are held out."),
    ] = 5,
    starts: Annotated[int, typer.Option(min=1, help="Runs of each chain; the best is kept.")] = 2,
    evidence: Annotated[
        str,
        typer.Option(
            metavar="WORD",
            help="auto (unless words times K are above 20 million), yes, or no: with millions of "
            "words it takes minutes for each K.",
        ),
    ] = "auto",
    prune: Annotated[
        int | None,
        typer.Option(min=2, help="Begin with so many, too, and delete the weak; to compare."),
    ] = None,
    coherence: Annotated[str, typer.Option(metavar="NAME", help="npmi, umass, uci or c_v.")] = (
        "npmi"
    ),
    top: Annotated[int, typer.Option(min=2, help="Top features for coherence.")] = 10,
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Keep what each chain leaves; the same command then goes on."
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the table, as .png, .svg or .pdf.")
    ] = None,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
    force: Force = False,
    **typed: Any,
) -> None:
    """Choose the number of components.

    Shown are held-out score, evidence, coherence and stability. For each K several chains are
    fitted, each without some of the documents and scored on those, and from the chains of other K.
    The smallest K whose evidence reaches that of the best is recommended, or without evidence that
    whose score is within one standard error; words say how sure that is.

    \b
    Example:
      dcomp select corpus.jsonl -k 5,10,20,50 --min-docs 5
      dcomp select corpus.jsonl -k 4-10 --keep chains --plot select.png
    """
    from dcomp.evaluate import select_components

    numbers = read_ks(ks)
    wanted = _evidence(evidence)
    if plot is not None:
        check_output(plot, force=force, inputs=(input,))
        _check_picture(plot)
    counts = Source(input, said(READING, typed)).read(quiet=quiet or as_json)
    options = {"gamma": None, **said(_options(), typed)}  # None: as dcomp fit has it
    try:
        with one_line_warnings(), _bar(quiet or as_json, len(numbers) * chains) as show:
            selection = select_components(
                counts,
                numbers,
                **options,
                n_chains=chains,
                n_starts=starts,
                with_evidence=wanted,
                prune=prune,
                measure=coherence,
                n_top=top,
                keep=keep,
                n_jobs=jobs,
                on_progress=show,
            )
    except KeyboardInterrupt:
        if keep is None:
            say("interrupted; with --keep FOLDER the chains that are done would have been kept")
        else:
            say(f"interrupted; the chains that are done are in {keep}: the same command goes on")
        raise
    if plot is not None:
        _draw(selection, plot)
    _show(selection, as_json)


def read_ks(text: str) -> list[int]:
    """Numbers from "4,5,8" or "4-6,8".

    >>> read_ks("4-6, 8")
    [4, 5, 6, 8]
    """
    from dcomp.errors import InvalidParameter
    from dcomp.models.arrays import component_count

    numbers: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d{1,18})(?:\s*-\s*(\d{1,18}))?\s*", part)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if not 1 <= first <= last:
            raise InvalidParameter(
                f"-k must be numbers of at least 1 with commas between, or ranges such as 4-10; "
                f"got {part.strip()[:40]!r}"
            )
        numbers += range(first, component_count(last) + 1)
    return numbers


def _evidence(word: str) -> bool | str:
    from dcomp.errors import InvalidParameter

    meaning: dict[str, bool | str] = {"auto": "auto", "yes": True, "no": False}
    if word not in meaning:
        raise InvalidParameter(f"--evidence must be auto, yes or no; got {word!r}")
    return meaning[word]


@contextmanager
def _bar(silent: bool, total: int) -> Iterator[Callable[[int, int], None] | None]:
    """A bar over chains and evidence on a terminal, with about how long it still takes."""
    import sys
    import time

    if silent or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("steps"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task, times = bar.add_task("chains", total=total, left=""), [time.monotonic()]

        def shown(done: int, total: int) -> None:
            times.extend([time.monotonic()] * (done + 1 - len(times)))
            left = time_left(times, total)
            bar.update(task, completed=done, total=total, left=left)

        yield shown


def time_left(times: Sequence[float], total: int) -> str:
    """About how long the rest takes, by when each step was done, the beginning first: at the pace
    of all or of the last ones, the slower, for later steps are of more components, or evidence.

    >>> time_left([0, 2], 12), time_left([0, 1, 2, 3, 4, 10, 20, 30], 12), time_left([0, 9], 1)
    ('about 20 s left', 'about 20 s left', '')
    >>> time_left([0, 40, 80], 12)
    'about 7 min left'
    """
    left, lately = total - len(times) + 1, times[-1 - LATELY :]
    if left <= 0 or len(times) < 2:
        return ""
    paces = ((of[-1] - of[0]) / (len(of) - 1) for of in (times, lately))
    seconds = left * max(paces)
    if seconds < 90:
        return f"about {max(round(seconds, -1 if seconds >= 10 else 0), 1):.0f} s left"
    return f"about {seconds / 60:.0f} min left"


def _check_picture(path: Path) -> None:
    """An error now, rather than after the work, for a picture that cannot be drawn."""
    from dcomp.errors import InvalidParameter
    from dcomp.evaluate.plotting import axes_or_new

    known = axes_or_new().figure.canvas.get_supported_filetypes()
    if path.suffix.lower().lstrip(".") not in known:
        raise InvalidParameter(f"--plot must end in .png, .svg or .pdf; got {str(path)!r}")


def _draw(selection: Selection, path: Path) -> None:
    axes = selection.plot()
    with atomic_write(path) as stream:
        axes[0].figure.savefig(stream, dpi=120, format=path.suffix.lower().lstrip("."))


def _show(selection: Selection, as_json: bool) -> None:
    if as_json:
        rows = [asdict(c) | {"perplexity": c.perplexity} for c in selection.candidates]
        print_json(
            {
                "recommended": selection.recommended,
                "algorithm": selection.algorithm,
                "indistinct": list(selection.indistinct),
                "decided_by": selection.decided_by,
                "is_clear": selection.is_clear,
                "dispersion": selection.dispersion,
                "gamma": selection.gamma,
                "gamma_suited": selection.gamma_suited,
                "pruned": list(selection.pruned),
                "summary": selection.summary,
                "candidates": rows,
            }
        )
        return
    show(selection)
