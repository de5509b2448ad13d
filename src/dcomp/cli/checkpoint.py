"""Checkpoints from the shell: --checkpoint FOLDER, and --resume FOLDER after a kill.

Beside what a fit keeps there itself, the shell leaves `run.toml`, the options of the fit as
--config takes them, so that --resume FOLDER needs no more than the input and the folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dcomp.errors import InvalidParameter

if TYPE_CHECKING:
    from dcomp.result import Checkpoint

RUN = "run.toml"

Folder = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        metavar="FOLDER",
        readable=False,
        help="Keep what the fit has reached; the same command goes on, after a kill too.",
    ),
]
Minutes = Annotated[
    float | None,
    typer.Option(
        "--checkpoint-minutes",
        min=0,
        metavar="X",
        help="Minutes between checkpoints.",
        show_default="10, unless sweeps are given",
    ),
]
Sweeps = Annotated[
    int | None,
    typer.Option("--checkpoint-sweeps", min=1, metavar="N", help="Sweeps between checkpoints."),
]


@dataclass(frozen=True)
class Keeping:
    """Where the shell was told to keep what a fit has reached, and how often."""

    folder: Path | None
    minutes: float | None = None
    sweeps: int | None = None

    @classmethod
    def from_params(
        cls, folder: Path | None, minutes: float | None, sweeps: int | None, resume: Path | None
    ) -> Keeping:
        """As typed; a folder to go on from is one to go on in."""
        if resume is not None and resume.is_dir():
            if folder is not None and folder.resolve() != resume.resolve():
                raise InvalidParameter(
                    f"--resume {resume} goes on in that folder: leave out --checkpoint"
                )
            folder = resume
        if folder is None and (minutes is not None or sweeps is not None):
            name = "--checkpoint-minutes" if minutes is not None else "--checkpoint-sweeps"
            raise InvalidParameter(f"{name} has no effect without --checkpoint FOLDER")
        return cls(folder, minutes, sweeps)

    @property
    def told(self) -> Checkpoint | None:
        """As a fit takes it."""
        from dcomp.result import Checkpoint

        if self.folder is None:
            return None
        minutes = 10.0 if self.minutes is None and self.sweeps is None else self.minutes
        return Checkpoint(self.folder, minutes, self.sweeps)


def config_of(resume: Path | None, config: Path | None) -> tuple[Path | None, Path | None]:
    """The fit to go on from, and the config file: of a folder of checkpoints its own."""
    if resume is None or not resume.is_dir():
        return resume, config
    if config is not None:
        raise InvalidParameter("--resume FOLDER has its own options: leave out --config")
    own = resume / RUN
    if not own.is_file():
        raise InvalidParameter(
            f"--resume must be a fit, or a folder that dcomp fit --checkpoint wrote; {resume} has "
            f"no {RUN}"
        )
    return None, own
