"""A model with a parameter that nobody has heard of: its options are in the shell, in config files
and in recipes, from its own file and one entry in MODELS."""

import os
import subprocess
import sys
import textwrap

import pytest

# EX is DM with α = τ for all components; its kernel is that of DM.
MADE_UP = """
    from types import SimpleNamespace

    from dcomp.models import MODELS, DirichletMultinomial, DirichletScores
    from dcomp.models.options import Option, is_word

    class Example(DirichletMultinomial):
        key, long_name = "EX", "example"
        options = (
            Option("tau", "prior", "how strong it is, a number or even.", default="even",
                   words=("even",)),
            Option("steps", "whole", "how many.", default=1, least=1),
        )

        @classmethod
        def resolve(cls, request):
            K, tau = request.components(), request.get("tau", "even")
            tau = 1.0 / K if is_word("tau", tau, ("even",)) else tau
            return cls(DirichletScores.build(K, tau * request.get("steps", 1)), request.loadings())

    MODELS["EX"] = Example

    import dcomp
    from dcomp import _core, registry
    from dcomp.recipe import Recipe, table

    # What a header in cpp/ would add.
    cells = [*_core.compiled(), ("EX", "collapse")]
    registry._core = SimpleNamespace(compiled=lambda: cells)
"""


@pytest.fixture
def run_made_up(tmp_path):
    def call(code):
        paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        whole = os.pathsep.join(os.path.abspath(path) for path in paths if path)
        program = textwrap.dedent(MADE_UP) + textwrap.dedent(code)
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": whole, "COLUMNS": "100"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    (tmp_path / "counts.csv").write_text(
        "id,a,b,c\n" + "".join(f"d{i},{i % 3},{(i + 1) % 4},{2 + i % 2}\n" for i in range(12))
    )
    return call


def test_in_recipes_and_their_errors(run_made_up):
    out = run_made_up(
        """
        counts = dcomp.read("counts.csv")
        for given in ({"tau": 0.3}, {"tau": 0.3, "steps": 2}, {}):
            model = Recipe(model="EX", n_components=2, **given).resolve(counts).model
            print(type(model).__name__, model.scores.alpha.tolist())
        for wrong in ({"tau": 0.3}, {"model": "EX", "tau": "odd"}, {"model": "EX", "alpha": 1.0}):
            try:
                Recipe(**wrong)
            except dcomp.DcompError as error:
                print(error)
        print(dcomp.DCA(2, model="EX", verbose=0).fit(counts).fit_.model.key)
        """
    )
    assert out.splitlines() == [
        "Example [0.3, 0.3]",
        "Example [0.6, 0.6]",
        "Example [0.5, 0.5]",
        "tau has no meaning for model DM; it is for EX",
        "tau must be 'even', a number or an array; got 'odd'",
        "alpha has no meaning for model EX; it is for DM, GP, CGP and ST",
        "EX",
    ]


def test_in_the_shell_and_in_config_files(run_made_up, tmp_path):
    out = run_made_up(
        """
        from dcomp.cli.main import main

        typed = ["--model", "EX", "--tau", "0.25", "--steps", "2", "--save-config", "run.toml"]
        assert main(["fit", "counts.csv", "-k", "2", *typed, "-q", "-o", "a.dcomp"]) == 0
        assert main(["fit", "counts.csv", "--config", "run.toml", "-q", "-o", "b.dcomp"]) == 0
        for name in "ab":
            print(dcomp.load(f"{name}.dcomp").model.scores.alpha.tolist())
        main(["fit", "--help"])
        main(["select", "--help"])
        """
    )
    assert out.startswith("[0.5, 0.5]\n[0.5, 0.5]\n")
    of_fit, of_select = out.split("Priors:")[1:]
    for priors in (of_fit, of_select):
        assert "--tau X" in priors
        assert "EX: how strong it is, a number or even.  [default: even]" in priors
    assert "tau = 0.25" in (tmp_path / "run.toml").read_text()
