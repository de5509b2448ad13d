"""The errors that dcomp raises on purpose: each says what must hold, what was given, and where.

And warnings: those of work on threads are held until the thread that asked for it says them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dcomp.printable import printable

_MOST = 2000  # letters of a message


class DcompError(Exception):
    """Base of every error that dcomp raises on purpose.

    Its message may hold names from a file: they are shown so that no terminal obeys them.

    >>> print(DcompError("there is no word a\x1b[2J"))
    there is no word a\\x1b[2J
    """

    def __str__(self) -> str:
        text = super().__str__()
        if len(text) > _MOST:  # a name of a million letters is seen to be one
            text = f"{text[: _MOST // 2]} … {text[-_MOST // 4 :]}"
        return printable(text)


class InvalidCounts(DcompError, ValueError):
    """The data are not a table of non-negative whole numbers, or contradict the model."""


class InvalidParameter(DcompError, ValueError):
    """A parameter lies outside its range; the message names it, the rule and the value."""


class InvalidConfig(InvalidParameter):
    """A config file says something wrong; the message names the file, the key and the rule."""


class UnsupportedCombination(DcompError, ValueError):
    """A model and an algorithm (or an option) that do not go together; lists what does."""


class NumericalFailure(DcompError, ArithmeticError):
    """A quantity stopped being finite; the message names the sweep and the document."""


class InvalidFile(DcompError, ValueError):
    """A file is truncated, foreign, or not what its name promises; names file, place and reason."""


class MissingDependency(DcompError, ImportError):
    """An optional package is needed; the message says what to install."""


class ClusterError(DcompError, RuntimeError):
    """A cluster has no workers, lost them too often, or runs another version."""


class ConvergenceWarning(UserWarning):
    """The iteration limit came before the stopping rule."""


class FlatTreeWarning(UserWarning):
    """A tree of components is none: its priors make it one flat Dirichlet, or a search for a
    structure found no node above the leaves."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written, or was written by another version."""


class DataWarning(UserWarning):
    """A table can be fitted, and looks like one that was not meant: the message says by what."""


_held: ContextVar[list[Warning] | None] = ContextVar("held warnings", default=None)


def warn(text: str, kind: type[Warning], stacklevel: int = 2) -> None:
    """Warn the user; inside `held_warnings` keep it for later."""
    held = _held.get()
    if held is None:
        warnings.warn(text, kind, stacklevel=stacklevel + 1)
    else:
        held.append(kind(text))


@contextmanager
def held_warnings() -> Iterator[list[Warning]]:
    """What `warn` is told in this thread while the block runs, in the place of being said: Python's
    own way to catch warnings is one for all threads.

    >>> with held_warnings() as held:
    ...     warn("not yet", ConvergenceWarning)
    >>> held
    [ConvergenceWarning('not yet')]
    """
    held: list[Warning] = []
    token = _held.set(held)
    try:
        yield held
    finally:
        _held.reset(token)
