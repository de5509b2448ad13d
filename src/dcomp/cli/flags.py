"""Options of the shell, made from the table of options (`dcomp.recipe.table`)."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from dcomp.cli.completion import words_of
from dcomp.models.options import Option
from dcomp.recipe.table import users_in_words

_TYPES: Mapping[str, Any] = {"whole": int, "seed": int, "number": float, "file": Path}
_TYPES = {**_TYPES, "words": Path, "components": Path}
_METAVARS = {"whole": "N", "seed": "N", "number": "X", "prior": "X", "file": "FILE"}
PRIORS, MODEL = "Priors", "Model and algorithm"
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        readable=False,
        help="Options from a TOML file, by their names in Python; those that are typed win.",
    ),
]


def with_options(
    options: Iterable[Option], **shown: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command with a flag for each of these options, after its arguments: it gets them by name in
    its ** parameter, None where nothing was typed. A --config comes with them, which a command
    without a parameter of this name need not know of. shown: other defaults for the help to show.

    >>> from dcomp.recipe import table
    >>> @with_options([table()["rho"]])
    ... def command(path: str, **typed: Any) -> None: ...
    >>> list(inspect.signature(command).parameters)
    ['path', 'shell', 'rho', 'config']
    """
    rows = tuple(options)
    made = [_parameter(option, shown.get(option.name)) for option in rows]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        if "config" not in signature.parameters:
            command, own = _configured(command, rows), [*own, *_FOR_CONFIG]
        first = [p for p in own if p.default is p.empty]
        rest = [p for p in own if p.default is not p.empty]
        parameters = [*first, *made, *rest]
        changed: Any = command
        changed.__signature__ = signature.replace(
            parameters=[p.replace(kind=p.KEYWORD_ONLY) for p in parameters]
        )
        changed.__annotations__ = {"return": None}
        return command

    return decorate


_FOR_CONFIG = (
    inspect.Parameter("shell", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context),
    inspect.Parameter(
        "config", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=ConfigFile
    ),
)


def _configured(command: Callable[..., None], rows: tuple[Option, ...]) -> Callable[..., None]:
    """The command, which gets what a config file says where nothing was typed."""

    @functools.wraps(command)
    def run(*, shell: typer.Context, config: Path | None, **given: Any) -> None:
        if config is not None:
            from dcomp.cli.configured import with_config

            given = with_config(config, rows, given, shell)
        command(**given)

    return run


def _parameter(option: Option, shown: str | None) -> inspect.Parameter:
    kind: Any = bool if option.kind == "switch" else _TYPES.get(option.kind, str)
    kind = str if option.words else kind
    takes_least = kind in (int, float) and option.least is not None
    info = typer.Option(
        *_spelt(option),
        help=help_text(option),
        metavar=None if option.kind == "switch" else option.metavar or _METAVARS.get(option.kind),
        show_default=shown or option.shown or _plain(option.default),
        min=option.least if takes_least else None,
        autocompletion=words_of(option),
        readable=False,  # using a path says more
        rich_help_panel=option.panel or (PRIORS if option.kind == "prior" else MODEL),
    )
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, info],
    )


def _spelt(option: Option) -> tuple[str, ...]:
    if option.kind != "switch":
        return option.flags
    return (f"{option.flag}/--no-{option.flag.removeprefix('--')}",)


def _plain(default: Any) -> str | bool:
    return False if default is None else str(default)


def help_text(option: Option) -> str:
    """What an option does, and in front who uses it.

    >>> from dcomp.recipe import table
    >>> help_text(table()["burn_in"])
    'Samplers: sweeps before the averages begin.'
    """
    users = users_in_words(option)
    users = users.replace("samplers", "Samplers", 1) if users.startswith("samplers") else users
    return f"{users}: {option.help}" if users else option.help


def said(options: Iterable[Option], typed: Mapping[str, Any]) -> dict[str, Any]:
    """What was typed of these options, as the library takes it.

    >>> from dcomp.recipe import table
    >>> said(table().values(), {"alpha": "0.5", "psi": "5,10", "gamma": "auto", "rho": None})
    {'alpha': 0.5, 'psi': [5.0, 10.0], 'gamma': 'auto'}
    """
    return {
        option.name: _value(option, typed[option.name])
        for option in options
        if typed.get(option.name) is not None
    }


def _value(option: Option, value: Any) -> Any:
    if not isinstance(value, str):  # a number, or what a config file says
        return value
    if option.kind == "prior":
        return number_or_word(value)
    if option.kind == "whole":
        return int(value) if value.isdecimal() else value
    return value


def number_or_word(value: str) -> Any:
    """A float where `value` is one, a list of them where commas stand between, else the word.

    >>> number_or_word("0.1"), number_or_word("auto"), number_or_word("1,2")
    (0.1, 'auto', [1.0, 2.0])
    """
    try:
        numbers = [float(part) for part in value.split(",")]
    except ValueError:
        return value
    return numbers if len(numbers) > 1 else numbers[0]
