"""Config files: what they hold, what they refuse, and that they repeat a fit bit for bit."""

import re
from pathlib import Path

import numpy as np
import pytest

import dcomp
from dcomp.recipe import Config, Recipe


def test_values_come_back_as_they_were(tmp_path):
    path = tmp_path / "run.toml"
    recipe = {
        "n_components": 7,
        "model": 'a "quoted"\\ name\n\x7f υ',
        "alpha": [0.1, 1e-07, 1 / 3],
        "gamma": np.array([0.25, 2.0]),
        "tol": 1e-300,
        "learn_loadings": False,
        "tree": [[-1, 0], [0, 1]],
        "max_iter": np.int64(3),
    }
    Config(recipe, {"min_docs": 2}).write(path)
    found = Config.read(path)
    expected = {**recipe, "gamma": [0.25, 2.0], "max_iter": 3}
    assert dict(found.recipe) == expected
    assert dict(found.input) == {"min_docs": 2}


def test_paths_follow_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    Config({"tree": tmp_path / "tree.json"}, {"vocab": tmp_path / "v"}).write("runs/run.toml")
    assert 'tree = "../tree.json"' in (tmp_path / "runs" / "run.toml").read_text()
    found = Config.read(tmp_path / "runs" / "run.toml")
    assert found.recipe["tree"].resolve() == tmp_path / "tree.json"
    assert found.input["vocab"].resolve() == tmp_path / "v"


def test_a_path_through_a_link_leads_to_the_same_file(tmp_path):
    (tmp_path / "far" / "runs").mkdir(parents=True)
    (tmp_path / "near").symlink_to(tmp_path / "far" / "runs")
    for target in (tmp_path / "near" / ".." / "tree.json", tmp_path / "tree.json"):
        for folder in (tmp_path, tmp_path / "near"):
            Config({"tree": target}).write(folder / "run.toml")
            found = Config.read(folder / "run.toml").recipe["tree"]
            assert found.resolve() == target.resolve()
    assert target.resolve() == tmp_path / "tree.json"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alhpa = 1", "there is no key 'alhpa'; the nearest is 'alpha'"),
        ("n-components = 1", "there is no key 'n-components'; the nearest is 'n_components'"),
        ("frobnicate = 1", "there is no key 'frobnicate'; there are n_components, model"),
        ("min_docs = 2", r"there is no key 'min_docs'; it belongs below \[input\]"),
        ("[input]\nblocks = 3", "input.blocks must be the path of a file, in quotes; got 3"),
        ("tree = 3", "tree must be the path of a file, in quotes; got 3"),
        ("seed = 1", "there is no key 'seed'; it is called 'random_state' here"),
        ("k = 1", "there is no key 'k'; it is called 'n_components' here"),
        ("n_components = 2.5", "n_components must be a whole number of at least 1; got 2.5"),
        ("random_state = 'x'", "random_state must be a whole number of at least 0; got 'x'"),
        ("model = 3", "model must be a word; got 3"),
        ("alpha = 'often'", "alpha must be 'auto', 'shared', 'total-one', a number or an array"),
        ("max_iter = true", "max_iter must be a whole number"),
        ("learn_loadings = 1", "learn_loadings must be True or False"),
        ("[input]\nmin_docs = 0", "input.min_docs must be a whole number of at least 1"),
        ("[input]\nalpha = 1", "there is no key 'input.alpha'; there are format"),
        ("input = 3", r"input must be a table, \[input\]; got 3"),
        ("[other]\nx = 1", "there is no key 'other'"),
    ],
)
def test_refused_with_file_key_and_rule(tmp_path, text, message):
    path = tmp_path / "run.toml"
    path.write_text(text)
    with pytest.raises(dcomp.InvalidParameter, match=rf"run\.toml: {message}"):
        Config.read(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alpha = " + "[" * 5000, "nested too deep"),
        ("a" + ".a" * 5000 + " = 1", "a key must have fewer than 100 dots"),
        ("[a" + " . 'a b'" * 5000 + "]", "a key must have fewer than 100 dots"),
        ("n_components = " + "9" * 5000, "a config file is TOML"),
        ("#" * (1 << 20) + "\n", "at most 1,048,576 bytes"),
    ],
    ids=["deep", "dots", "quoted-dots", "digits", "long"],
)
def test_a_parser_s_limits_are_no_errors_of_its_own(tmp_path, text, message):
    path = tmp_path / "run.toml"
    path.write_text(text)
    with pytest.raises(dcomp.InvalidFile, match=message):
        Config.read(path)


def test_as_much_as_is_allowed(tmp_path):
    path = tmp_path / "run.toml"
    numbers = "alpha = [" + ", ".join(["0.5"] * 1000) + "]\n#"
    path.write_text(numbers + "x" * ((1 << 20) - len(numbers)))
    assert len(Config.read(path).recipe["alpha"]) == 1000


def test_no_toml(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text("alpha 1")
    with pytest.raises(dcomp.InvalidFile, match=r"run\.toml: a config file is TOML"):
        Config.read(path)


def test_what_no_file_can_hold(tmp_path):
    recipe = Recipe(model=dcomp.models.DirichletMultinomial.build(2))
    with pytest.raises(dcomp.InvalidParameter, match="model is a DirichletMultinomial"):
        recipe.write(tmp_path / "run.toml")
    with pytest.raises(dcomp.InvalidParameter, match="needs a seed"):
        Recipe(random_state=None).write(tmp_path / "run.toml")


def test_a_recipe_comes_back(tmp_path):
    path = tmp_path / "run.toml"
    Recipe(model="CGP", n_components=3, rho=0.2, n_draws=4, draw_budget=None).write(path)
    found = Recipe.read(path)
    assert found.given["draw_budget"] is None
    assert found.given["draws_of"] == ["scores", "loadings"]
    assert found.effective() == {**Recipe.read(path).effective()}
    X = dcomp.Counts.from_matrix(np.random.default_rng(0).poisson(1.0, (20, 6)))
    one = Recipe(model="CGP", n_components=3, rho=0.2, n_draws=4, draw_budget=None).resolve(X)
    two = found.resolve(X)
    assert (one.model, one.algorithm, one.settings) == (two.model, two.algorithm, two.settings)


def test_the_file_of_the_guide_is_what_its_command_writes(tmp_path):
    page = Path(__file__).resolve().parents[3] / "docs" / "guides" / "recipes.md"
    shown = re.search(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL).group(1)
    recipe = Recipe(n_components=50, model="GP")
    Config(recipe.effective(), {"min_docs": 5}).write(tmp_path / "run.toml")
    assert (tmp_path / "run.toml").read_text() == shown
