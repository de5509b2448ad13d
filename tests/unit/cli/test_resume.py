"""The hint after Ctrl-C: the user's own command, to go on with."""

import shlex
from pathlib import Path

import pytest
import typer

from dcomp.cli.fitting import Order
from dcomp.cli.main import app
from dcomp.cli.resume import resume_command


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
            "--tol 1.23456789e-06 --draw-budget '2 GiB' --draws 3 --model GP "
            "--algorithm gibbs --seed 4",
            "'a b.csv' --resume t.dcomp --tol 1.23456789e-06 --draw-budget '2 GiB' "
            "--format table --vocab v --min-count 2 --min-docs 3 --blocks b",
        ),
    ],
)
def test_what_was_typed_is_repeated(typed, hint):
    command = typer.main.get_command(app).get_command(None, "fit")
    context = command.make_context("dcomp fit", shlex.split(typed))
    again = hint_of(context)
    assert again == f"dcomp fit {hint}"
    # It is a command that a resumed fit takes.
    context = command.make_context("dcomp fit", shlex.split(hint))
    assert Order.from_params(Path("a.csv"), context.params, resume=Path("t.dcomp")).resume


def hint_of(context):
    order = Order.from_params(context.params["input"], context.params, context.params["config"])
    return resume_command(context, Path("t.dcomp"), order.to_repeat())


def test_what_a_config_file_says_of_reading_is_repeated(tmp_path):
    config = tmp_path / "run.toml"
    config.write_text(
        'alpha = 0.1\nmax_iter = 7\ndraw_budget = "none"\n[input]\nmin_docs = 3\nblocks = "b"\n'
    )
    command = typer.main.get_command(app).get_command(None, "fit")
    context = command.make_context("dcomp fit", ["a.csv", "--config", str(config), "-q"])
    assert hint_of(context) == (
        "dcomp fit a.csv --resume t.dcomp --max-iter 7 --draw-budget none --min-docs 3 "
        f"--blocks {tmp_path / 'b'} --quiet"
    )
