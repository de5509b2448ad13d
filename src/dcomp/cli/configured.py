"""Options from a config file, for every command that reads or fits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import typer

from dcomp.cli.common import say
from dcomp.models.options import Option

# What some commands call in their own way: they have one K, or several, and one seed.
_OWN_NAMES = {"n_components": ("k", "ks"), "random_state": ("seed",)}


def with_config(
    path: Path, options: Iterable[Option], given: Mapping[str, Any], context: typer.Context
) -> dict[str, Any]:
    """What was given to a command, with the options of a config file in the place of those that
    were not typed. A command that fits names on stderr what it does not take; to one that takes a
    fit, the file says how to read and no more, for the fit has the rest."""
    from dcomp.recipe import Config, table

    config = Config.read(path)
    listed = {option.name for option in options}
    fits = bool(listed & table().keys())
    filled, others = dict(given), []
    for name, value in {**(config.recipe if fits else {}), **config.input}.items():
        names = (name,) if name in listed else _OWN_NAMES.get(name, ())
        own = next((known for known in names if known in given), None)
        if own is None:
            others.append(name)
        elif not _is_typed(context, own):
            filled[own] = str(value) if own == "ks" else value
    if fits and others and not given.get("quiet"):
        say(f"note: {path} also says {', '.join(others)}, which {context.command_path} leaves out")
    return filled


def _is_typed(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
