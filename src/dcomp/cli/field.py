"""What the commands of the fields share: blocs, ancestries, signatures."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dcomp.cli.common import print_json, say, show
from dcomp.cli.flags import said
from dcomp.cli.wording import in_shell_words
from dcomp.models.options import Option
from dcomp.recipe import READING, table

if TYPE_CHECKING:
    from dcomp.data import Counts
    from dcomp.result import Fit

# The library's paragraph on chains (`agreement_lines`): names of the data are not touched.
_VERDICT = re.compile(r"^chains: [^`]*`dcomp\s+diagnose`\s+has\s+it\)", re.MULTILINE)


def fitting(*names: str) -> tuple[Option, ...]:
    """Options of the table that a field's command has."""
    rows = table()
    return tuple(rows[name] for name in names)


def reading(*names: str) -> tuple[Option, ...]:
    """Those about its input."""
    return tuple(option for option in READING if option.name in names)


def said_of_input(options: Iterable[Option], typed: Mapping[str, Any]) -> dict[str, Any]:
    """What was typed of an input, as `dcomp.read` takes it."""
    from dcomp.io import Limits

    out = said(options, typed)
    if "limit" in out:
        out["limits"] = Limits.parse(out.pop("limit"))
    return out


def keep(fit: Fit, path: Path, counts: Counts | None = None, remark: str = "") -> None:
    """Save a fit where it was checked before the work that it can be; counts: with what is known of
    these documents."""
    from dcomp.result import save

    save(fit if counts is None else fit.with_attributes(counts), path, overwrite=True)
    say(f"written: {path}{remark}")


def print_found(record: Any, lines: Any, *, as_json: bool, quiet: bool) -> None:
    """What was found, for programs or for people; each as a function that makes it."""
    if as_json:
        print_json(record())
    elif not quiet:
        show(_VERDICT.sub(_verdict, "\n".join(lines())))


def _verdict(found: re.Match[str]) -> str:
    """Options are called by their flags, and lines are no longer for that."""
    said = in_shell_words(" ".join(found[0].split()))
    return textwrap.fill(said, 80, break_on_hyphens=False)
