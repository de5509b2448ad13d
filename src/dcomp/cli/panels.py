"""A command as the shell shows it: help under headings, and words about options that are none."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any

from typer.core import TyperCommand

from dcomp.printable import shortened

RUN = "Output"  # the heading of options that have no other
# What Python, or another program, calls an option of ours.
_ALSO_CALLED = {
    "--n-components": "-k", "--components": "-k", "--num-topics": "-k", "--n-topics": "-k",
    "--topics": "-k", "--clusters": "-k", "--random-state": "--seed", "--n-jobs": "--jobs",
    "--threads": "--jobs", "--workers": "--jobs", "--n-chains": "--chains", "--out": "--output",
    "--iterations": "--max-iter", "--num-iterations": "--max-iter", "--n-iter": "--max-iter",
    "--passes": "--max-iter", "--overwrite": "--force", "--silent": "--quiet",
    "--n-draws": "--draws", "--text": "--text-field",
    "--vocabulary": "--vocab", "--stopwords": "--stop-words", "--n-top": "--top",
}  # fmt: skip


class Panels(TyperCommand):
    """A command whose help has its options under headings, in plain text."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """By the panel of each parameter, in the order in which they first come."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            is_argument = parameter.param_type_name == "argument"
            panel = "Arguments" if is_argument else getattr(parameter, "rich_help_panel", None)
            if record is not None:
                # Defaults in words stand in brackets already.
                words = re.sub(r"\[default: \((.+)\)", r"[default: \1", record[1])
                panels.setdefault(panel or RUN, []).append((record[0], words))
        for panel, records in panels.items():
            with formatter.section(panel):
                formatter.write_dl(records)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """What was typed; of an option that does not exist, which one was perhaps meant, and of a
        value that is none what it must be."""
        try:
            return list(super().parse_args(ctx, args))
        except Exception as error:
            said: Any = error  # of typer's own click, or of the one beside it: alike but not one
            wrong = no_such_value(error.__cause__)
            if wrong is not None:
                said.message = wrong
                raise
            typed: str | None = getattr(error, "option_name", None)
            if typed is None or not hasattr(error, "possibilities"):
                raise
            flags = [flag for p in self.params for flag in p.opts if p.param_type_name == "option"]
            said.message, said.possibilities = no_such_option(typed, flags, ctx.command_path), None
            raise


_MUST = {
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_parsing": "must be a number",
    "bool_parsing": "must be true or false",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
}


def no_such_value(cause: Any) -> str | None:
    """What to say of a value that newer typers have pydantic refuse, in words that name the value;
    None for anything else."""
    refused = getattr(cause, "errors", None)
    first: dict[str, Any] = refused()[0] if callable(refused) else {}
    must = _MUST.get(str(first.get("type")))
    if must is None:
        return None
    value = shortened(repr(first.get("input")), 40)
    return f"{must.format(**first.get('ctx', {}))}; got {value}"


def no_such_option(typed: str, flags: list[str], command: str) -> str:
    """What to say of an option that a command does not have.

    >>> no_such_option("--max_iter", ["--max-iter", "-k"], "dcomp fit")
    'there is no option --max_iter; did you mean --max-iter?'
    >>> no_such_option("--n-components", ["--max-iter", "-k"], "dcomp fit")
    'there is no option --n-components; did you mean -k?'
    >>> no_such_option("--min-docs", ["--seed"], "dcomp show")
    'there is no option --min-docs of dcomp show; it is one of dcomp fit'
    """
    asked = typed.replace("_", "-").lower()
    known = [_ALSO_CALLED.get(asked, asked), asked]
    meant = [flag for flag in known if flag in flags] or get_close_matches(asked, flags, n=1)
    if not meant and asked in _flags_of_fit():
        return f"there is no option {typed} of {command}; it is one of dcomp fit"
    return f"there is no option {typed}" + (f"; did you mean {meant[0]}?" if meant else "")


def _flags_of_fit() -> set[str]:
    from dcomp.recipe import READING, table

    return {flag for option in (*table().values(), *READING) for flag in option.flags}
