"""One table: the estimators' signatures, the shell's flags and their help agree with it."""

import inspect

import pytest
import typer

import dcomp
from dcomp.cli.flags import help_text
from dcomp.cli.main import app
from dcomp.inference import ALGORITHMS
from dcomp.models import MODELS
from dcomp.models.options import ALPHA, Option
from dcomp.recipe import READING, USUAL, table

# What an estimator has beside its recipe: where and how it runs, and what the table does not know.
BESIDE = {"blocks", "fractional", "n_jobs", "warm_start", "callbacks", "checkpoint"}
BESIDE |= {"verbose", "loss"}


@pytest.mark.parametrize("name", USUAL)
def test_signatures_have_the_names_and_defaults_of_the_table(name):
    rows, usual = table(), USUAL[name]
    parameters = inspect.signature(getattr(dcomp, name)).parameters
    assert set(usual) <= set(parameters)
    for parameter in parameters.values():
        if parameter.name in BESIDE:
            continue
        expected = usual.get(parameter.name, rows[parameter.name].default)
        assert parameter.default == expected, parameter.name


@pytest.mark.parametrize("name", USUAL)
def test_an_estimator_has_a_parameter_for_all_that_its_model_and_algorithms_take(name):
    """DCA has those of the models that are told by their name and a number alone."""
    estimator = getattr(dcomp, name)
    key = estimator._fixed.get("model")
    if key is None or name in ("PLSA", "NMF"):  # without priors
        return
    own = set(inspect.signature(estimator).parameters)
    # A tree of leaves is given by tree=; a shell has no Python to make one with.
    known = {option.name for option in MODELS[key].options} - {"branching", "depth"}
    assert known <= own


def test_dca_knows_every_option_of_the_samplers():
    own = set(inspect.signature(dcomp.DCA).parameters)
    for kind in ALGORITHMS.values():
        if kind.samples:
            assert {option.name for option in kind.options} <= own


def test_every_row_is_a_flag_of_the_shell_with_its_help():
    command = typer.main.get_command(app).get_command(None, "fit")
    flags = {parameter.name: parameter for parameter in command.params}
    for option in (*table().values(), *READING):
        parameter = flags[option.name]
        assert set(option.flags) == set(parameter.opts)
        assert parameter.help == help_text(option)
        assert parameter.default is None  # only what was typed is passed on
    for key in MODELS:
        users = [o for o in table().values() if o.models is not None and key in o.models]
        assert [o.name for o in users] == [
            name for name in table() if name in {o.name for o in MODELS[key].options}
        ]


@pytest.mark.parametrize("name", ["fit", "select", "demo"])
def test_help_reads_whole_at_80_columns(name, capsys, monkeypatch):
    from dcomp.cli.main import main

    monkeypatch.setenv("COLUMNS", "80")
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    lines = shown.partition("\nArguments:")[2] or shown.partition("\nModel and algorithm:")[2]
    assert lines
    assert max(map(len, lines.splitlines())) <= 80
    if name == "fit":
        for heading in ("Model and algorithm", "Priors", "Hierarchies", "Draws", "Input"):
            assert f"\n{heading}:\n" in shown
        assert "[default: half of --max-iter" in shown


def test_options_of_one_name_are_one_option(monkeypatch):
    other = Option("alpha", "prior", "Something else.")
    assert other != ALPHA
    made_up = type("Other", (MODELS["DM"],), {"key": "XX", "options": (other,)})
    monkeypatch.setitem(MODELS, "XX", made_up)
    with pytest.raises(TypeError, match="option alpha of XX differs from that of DM"):
        table()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("max_iter", 0, "max_iter must be a whole number of at least 1; got 0"),
        ("max_iter", True, "max_iter must be a whole number"),
        ("tol", float("nan"), "tol must be a finite number"),
        ("tol", -1, "tol must be at least 0; got -1"),
        ("alpha", "often", "alpha must be 'auto', 'shared', 'total-one'"),
        ("b", "often", "b must be a number or an array; got 'often'"),
        ("learn_loadings", 1, "learn_loadings must be True or False; got 1"),
        ("start", 3, "start must be a word; got 3"),
        ("draws_of", [1], r"draws_of must be words; got \[1\]"),
        ("anneal", "late", "anneal must be a whole number of at least 0; got 'late'"),
    ],
)
def test_kinds(name, value, message):
    with pytest.raises(dcomp.InvalidParameter, match=message):
        table()[name].checked(value)


@pytest.mark.parametrize(
    ("name", "value"), [("burn_in", None), ("anneal", "auto"), ("alpha", [1.0, 2.0]), ("tol", 0)]
)
def test_what_is_of_its_kind_stays_as_it_is(name, value):
    assert table()[name].checked(value) is value
