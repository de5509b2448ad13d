"""The commands by name: each is imported when it is run, and only then.

`dcomp --help`, `--version` and the completion of names need no more than the lines below.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from dcomp.cli.panels import Panels

# Name: the module that has the function of this name, and the first line of its docstring.
COMMANDS = {
    "demo": ("demo", "Find the themes in 4,000 docstrings, in seconds."),
    "fit": ("fit", "Fit a model to a file of counts or text."),
    "project": ("project", "Find the scores of documents on components that are given."),
    "transform": ("transform", "Write the scores of documents as a table."),
    "evaluate": ("evaluate", "Score a fit on documents that it has not seen."),
    "diagnose": ("diagnose", "Judge a fit, and what its components are worth."),
    "show": ("show_fit", "Show a fit and its components."),
    "similar": ("similar", "Find documents that are like another."),
    "select": ("select", "Choose the number of components."),
    "index": ("query", "Write inverted lists of documents, for dcomp query."),
    "query": ("query", "Find the documents that answer a query."),
    "report": ("report", "Write a fit as one page that a colleague can open."),
    "convert": ("convert", "Write counts or text in another format."),
    "rollcall": ("rollcall", "Find the blocs behind roll calls."),
    "admixture": ("admixture", "Find the ancestries behind genotypes."),
    "signatures": ("signatures", "Find the signatures behind the mutations of tumours."),
    "models": ("models", "Show the models and the algorithms that fit them."),
}
# What other programs call them.
_ALSO_CALLED = {
    "train": "fit", "predict": "transform", "score": "evaluate", "search": "query",
    "infer": "transform", "topics": "show", "check": "diagnose",
    "structure": "admixture", "votes": "rollcall", "list": "models", "example": "demo",
}  # fmt: skip


class Commands(TyperGroup):
    """The program: a group whose commands are loaded by name."""

    _names_alone = False

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, imported now; where names are listed, no more than its name and summary."""
        if cmd_name not in COMMANDS:
            return None
        if self._names_alone:
            return TyperCommand(cmd_name, help=COMMANDS[cmd_name][1])
        if cmd_name not in self.commands:
            self.commands[cmd_name] = _load(cmd_name)
        return self.commands[cmd_name]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """A line for each."""
        with self._listing():
            super().format_commands(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """The names that begin so."""
        with self._listing():
            return super().shell_complete(ctx, incomplete)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command of a name, or an error with what was perhaps meant."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            near = [_ALSO_CALLED[name]] if name in _ALSO_CALLED else None
            near = near or get_close_matches(name, COMMANDS, n=1)
            meant = f"did you mean dcomp {near[0]}?" if near else f"there are {', '.join(COMMANDS)}"
            ctx.fail(f"there is no command {name!r}; {meant}")
        return super().resolve_command(ctx, args)

    @contextmanager
    def _listing(self) -> Iterator[None]:
        self._names_alone = True
        try:
            yield
        finally:
            self._names_alone = False


def _load(name: str) -> Any:
    """The command as typer makes it, from the function of this name."""
    module = importlib.import_module(f"dcomp.cli.{COMMANDS[name][0]}")
    alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    alone.command(name, cls=Panels)(getattr(module, name))
    return typer.main.get_command(alone)
