"""The hint after Ctrl-C: the user's own command, to go on with."""

import shlex
from pathlib import Path

import pytest
import typer

from dcomp.cli.fitting import Settings
from dcomp.cli.main import app
from dcomp.cli.resume import resume_command

SETTLED = (*Settings.__dataclass_fields__, "output", "resume", "force")


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("a.csv", "a.csv --resume t.dcomp"),
        ("a.csv -k 5 -j 2", "a.csv --resume t.dcomp --jobs 2"),
        ("a.csv --max-iter 200", "a.csv --resume t.dcomp --max-iter 200"),
        ("a.csv -o t.dcomp --force --quiet", "a.csv --resume t.dcomp --quiet"),
        ("a.csv --resume old --top 3 --json", "a.csv --resume t.dcomp --top 3 --json"),
        (
            "'a b.csv' --format table --vocab v --blocks b --min-count 2 --min-docs 3 "
            "--tol 1.23456789e-06 --draw-budget '2 GiB' --draws 3 --model GP --seed 4",
            "'a b.csv' --resume t.dcomp --tol 1.23456789e-06 --draw-budget '2 GiB' "
            "--format table --vocab v --min-count 2 --min-docs 3 --blocks b",
        ),
    ],
)
def test_what_was_typed_is_repeated(typed, hint):
    command = typer.main.get_command(app).commands["fit"]
    context = command.make_context("dcomp fit", shlex.split(typed))
    assert resume_command(context, Path("t.dcomp"), SETTLED) == f"dcomp fit {hint}"
    # It is a command that a resumed fit takes.
    again = command.make_context("dcomp fit", shlex.split(hint))
    given = {name: again.params[name] for name in Settings.__dataclass_fields__}
    Settings(**given).check(Path("t.dcomp"))
