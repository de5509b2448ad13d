"""How to go on with a fit that Ctrl-C has ended: the command, as the user would type it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from dcomp.printable import printable

# What a resumed fit says anew, or what is said of another file.
_OTHERS = ("output", "resume", "force", "config", "save_config", "checkpoint")


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
            options += [parameter.opts[0], "none" if value is None else _word(value)]
    words = [*context.command_path.split(), *arguments, "--resume", str(target), *options]
    return " ".join(map(shell_word, words))


def _word(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def shell_word(text: str) -> str:
    """A word for the shell to read; one that is not safe to look at in the shell's own escapes.

    >>> print(shell_word("my file"), shell_word("a\\x1b'b"))
    'my file' $'a\\x1b\\x27b'
    """
    if printable(text) == text:
        return shlex.quote(text)
    # By bytes: what is no UTF-8 (a surrogate) has no other name in a shell.
    safe = set(range(0x20, 0x7F)) - set(b"\\'")
    coded = os.fsencode(text)
    return "$'" + "".join(chr(b) if b in safe else f"\\x{b:02x}" for b in coded) + "'"
