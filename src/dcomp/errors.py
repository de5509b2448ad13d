"""The errors that dcomp raises on purpose: each says what must hold, what was given, and where."""

from __future__ import annotations

from dcomp.printable import printable


class DcompError(Exception):
    """Base of every error that dcomp raises on purpose.

    Its message may hold names from a file: they are shown so that no terminal obeys them.

    >>> print(DcompError("there is no word a\x1b[2J"))
    there is no word a\\x1b[2J
    """

    def __str__(self) -> str:
        return printable(super().__str__())


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


class ConvergenceWarning(UserWarning):
    """The iteration limit came before the stopping rule."""


class FlatTreeWarning(UserWarning):
    """A tree of components is none: its priors make it one flat Dirichlet, or a search for a
    structure found no node above the leaves."""
