"""How to go on with a fit that Ctrl-C has ended: the command, as the user would type it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

# What a resumed fit says anew, or what is said of another file.
_OTHERS = ("output", "resume", "force", "config", "save_config")


def resume_command(context: typer.Context, target: Path, again: Mapping[str, Any]) -> str:
    """The user's own command again with --resume, for the shell to read.

    again: the options of the table to repeat, typed or from a config file, by name. Those that the
    saved fit brings along are not among them. Every other option that was typed is repeated.
    """
    from dcomp.recipe import READING, table

    of_table = {*table(), *(option.name for option in READING)}
    arguments, options = [], []
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        is_typed = source is not None and source.name == "COMMANDLINE"
        if name in _OTHERS or not (name in again if name in of_table else is_typed):
            continue
        value = again[name] if name in of_table else context.params[name]
        if parameter.param_type_name == "argument":
            arguments.append(str(value))
        elif isinstance(value, bool):
            options.append(parameter.opts[0])
        else:
            options += [parameter.opts[0], "none" if value is None else str(value)]
    words = [*context.command_path.split(), *arguments, "--resume", str(target), *options]
    return shlex.join(words)
