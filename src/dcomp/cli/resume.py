"""How to go on with a fit that Ctrl-C has ended: the command, as the user would type it."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from pathlib import Path

import typer


def resume_command(context: typer.Context, target: Path, settled: Collection[str]) -> str:
    """The user's own command again with --resume, for the shell to read.

    Every option that was typed is repeated, so that none is forgotten, except those in `settled`:
    what the saved fit brings along, and what only says where it is saved.
    """
    arguments, options = [], []
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if name in settled or source is None or source.name != "COMMANDLINE":
            continue
        value = context.params[name]
        if parameter.param_type_name == "argument":
            arguments.append(str(value))
        elif isinstance(value, bool):
            options.append(parameter.opts[0])
        else:
            options += [parameter.opts[0], str(value)]
    words = [*context.command_path.split(), *arguments, "--resume", str(target), *options]
    return shlex.join(words)
