"""The model × algorithm table, read back from what the kernels compiled.

README, command line, error messages and tests all read it here, so it cannot drift.
`python -m dcomp.registry` prints it.
"""

from __future__ import annotations

from dcomp import _core
from dcomp.errors import UnsupportedCombination
from dcomp.inference import ALGORITHMS, Algorithm
from dcomp.models import MODELS, Model

# Which algorithms each way of allocating words serves (MODELS §2).
_MODES = {
    "expect": ("mean-field",),
    "maximise": ("map",),
    "temper": ("tempered-em",),
    "factorise": ("ml",),
    "sample": ("gibbs",),
    "collapse": ("collapsed-gibbs",),
    "laplace": ("laplace",),
}
_DEFAULT_ORDER = ("mean-field", "collapsed-gibbs", "laplace")


def supported() -> dict[str, tuple[str, ...]]:
    """For each model key, the algorithms that fit it.

    >>> supported()["CGP"]
    ('gibbs', 'collapsed-gibbs')
    """
    cells: dict[str, list[str]] = {key: [] for key in MODELS}
    for key, mode in _core.compiled():
        cells[key].extend(name for name in _MODES[mode] if name in ALGORITHMS)
    return {key: tuple(names) for key, names in cells.items()}


def model_key(name: str) -> str:
    """The short key of a model, from its short or long name in any case.

    >>> model_key("gamma-poisson")
    'GP'
    """
    for key, cls in MODELS.items():
        if name.lower() in (key.lower(), cls.long_name):
            return key
    raise UnsupportedCombination(f"there is no model {name!r}; {_what_exists()}")


def algorithm_name(model: str, algorithm: str = "auto") -> str:
    """The algorithm for a model key, "auto" being its default; an error lists what exists.

    >>> algorithm_name("DM")
    'mean-field'
    """
    names = supported()[model]
    if algorithm == "auto":
        return next(name for name in _DEFAULT_ORDER if name in names)
    if algorithm not in names:
        raise UnsupportedCombination(
            f"model {model} has no algorithm {algorithm!r}; {_what_exists()}"
        )
    return algorithm


def check(model: Model, algorithm: Algorithm) -> None:
    """An error unless this pair exists."""
    algorithm_name(model_key(model.key), algorithm.name)
    if not model.scores.capabilities.proper and algorithm.estimates == "posterior":
        able = [name for name, kind in ALGORITHMS.items() if kind.estimates != "posterior"]
        own = [name for name in supported()[model.key] if name in able]
        raise UnsupportedCombination(
            f"beta = 0 is no prior, which {algorithm.name} cannot do without; "
            f"{' and '.join(own)} can"
        )


def _what_exists() -> str:
    cells = (f"{key} by {', '.join(names)}" for key, names in supported().items())
    return "this version fits " + "; ".join(cells)


def markdown_table() -> str:
    """The table as it stands in the README."""
    lines = [
        "| model | " + " | ".join(ALGORITHMS) + " |",
        "|---|" + "---|" * len(ALGORITHMS),
    ]
    for key, names in supported().items():
        marks = " | ".join("yes" if name in names else "–" for name in ALGORITHMS)
        lines.append(f"| {key} ({MODELS[key].long_name}) | {marks} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(markdown_table())
