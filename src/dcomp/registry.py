"""The model × algorithm table, read back from what the kernels compiled.

README, command line, error messages and tests all read it here, so it cannot drift.
`python -m dcomp.registry` prints it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import numpy as np

from dcomp import _core
from dcomp.data import Counts
from dcomp.errors import UnsupportedCombination
from dcomp.inference import ALGORITHMS, Algorithm
from dcomp.models import MODELS, Model

# Which algorithms each way of allocating words serves (MODELS §2).
_MODES = {
    "expect": ("mean-field", "stochastic-mean-field"),
    "maximise": ("map", "ml"),
    "temper": ("tempered-em",),
    "factorise": ("ml",),
    "sample": ("gibbs",),
    "collapse": ("collapsed-gibbs",),
    "laplace": ("laplace",),
}
# What kernels would allow and nobody has tried: the places of a tree's nodes would have to be found
# by steps, too.
_LEFT_OUT = {("TM", "stochastic-mean-field")}
_DEFAULT_ORDER = ("mean-field", "collapsed-gibbs", "laplace")
# Words of a count that is not 0, on average, from which on it is quicker to divide whole counts
# than to move single words. By measurement a sweep of either takes the same time where a count has
# half as many words as there are components: 10 is right for 20 (docs/decisions/0068).
WORDS_PER_COUNT = 10


def supported() -> dict[str, tuple[str, ...]]:
    """For each model key, the algorithms that fit it.

    >>> supported()["CGP"]
    ('gibbs', 'collapsed-gibbs')
    """
    cells: dict[str, list[str]] = {key: [] for key in MODELS}
    for key, mode in _core.compiled():
        if key in cells:  # a prior of the kernels that no model has is not offered
            names = (name for name in _MODES[mode] if name in ALGORITHMS)
            names = (name for name in names if (key, name) not in _LEFT_OUT)
            cells[key].extend(name for name in names if name not in cells[key])
    return {key: tuple(names) for key, names in cells.items()}


@dataclass(frozen=True)
class NamedModel:
    """What a name means: a model and, where the name says more, how it is fitted.

    settings are priors that the name implies; algorithms those that keep its meaning, the default
    first, and options those of the default.
    """

    name: str
    key: str
    algorithms: tuple[str, ...] = ()  # none: any that the model has
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def algorithm(self, given: str | Algorithm = "auto") -> str | Algorithm:
        """The algorithm that was given, or the name's own; an error if they contradict."""
        if not self.algorithms:
            return given
        chosen = given if isinstance(given, str) else given.name
        if chosen not in ("auto", *self.algorithms):
            raise UnsupportedCombination(
                f"{self.name} is model {self.key} by {' or '.join(self.algorithms)}; leave out "
                f"algorithm={chosen!r}, or give model={self.key!r}"
            )
        if given in ("auto", self.algorithms[0]):
            built: Algorithm = ALGORITHMS[self.algorithms[0]](**self.options)
            return built
        return given

    def priors(self, **given: Any) -> dict[str, Any]:
        """The priors that were given, with those that the name implies; an error if they
        contradict. "auto" contradicts nothing, nor does the default of γ.

        >>> named_model("nmf").priors(alpha="auto", beta="auto", gamma=0.5)
        {'alpha': 1.0, 'beta': 0.0, 'gamma': 1.0}
        """
        for prior, value in self.settings.items():
            usual = ("auto", value, *([USUAL_GAMMA] if prior == "gamma" else []))
            said = given.get(prior, "auto")
            if not any(np.array_equal(said, allowed) for allowed in usual):
                raise UnsupportedCombination(
                    f"{self.name} has no priors: leave out {prior}=, or give model={self.key!r}; "
                    f"got {prior} = {given[prior]}"
                )
        return given | dict(self.settings)


USUAL_GAMMA = 0.5  # of DCA, where the user said nothing
# Other names of the models, as the fields that know them say it (docs/names.md).
ALIASES = {
    "DM": (
        "lda",
        "latent-dirichlet-allocation",
        "mpca",
        "multinomial-pca",
        "gom",
        "grade-of-membership",
        "admixture",
    ),
    "GP": ("gap",),
    "LN": ("ctm",),
    "ST": ("hpam",),
}
_FLAT: Any = {"alpha": 1.0, "gamma": 1.0}
_PLSA: Any = {
    "key": "DM",
    "algorithms": ("map", "tempered-em"),
    "options": {"loadings": "map", "max_inner": 3},
    "settings": _FLAT,
}
# Names that are a model by an algorithm without priors: those of dcomp.PLSA and dcomp.NMF.
FACTORISATIONS = {
    "plsa": _PLSA,
    "plsi": _PLSA,
    "aspect-model": _PLSA,
    "nmf": {"key": "GP", "algorithms": ("ml",), "settings": _FLAT | {"beta": 0.0}},
}


def names_of(key: str) -> tuple[str, ...]:
    """All names of a model, in small letters: its key, its long name, and what else it is called.

    >>> names_of("GP")
    ('gp', 'gamma-poisson', 'gap')
    """
    return key.lower(), MODELS[key].long_name, *ALIASES.get(key, ())


def named_model(name: str) -> NamedModel:
    """What a name means, in any case: a key, a long name, or one that a field knows a model by.

    >>> named_model("gap").key, named_model("Multinomial PCA").key
    ('GP', 'DM')
    >>> plsa = named_model("plsa")
    >>> plsa.key, plsa.algorithms[0], plsa.settings
    ('DM', 'map', {'alpha': 1.0, 'gamma': 1.0})
    """
    plain = "-".join(name.lower().replace("_", " ").replace("-", " ").split())
    for key in MODELS:
        if plain in names_of(key):
            return NamedModel(plain, key)
    if plain in FACTORISATIONS:
        return NamedModel(plain, **FACTORISATIONS[plain])
    known = [known for key in MODELS for known in names_of(key)]
    near = get_close_matches(plain, [*known, *FACTORISATIONS], n=1)
    hint = f", the nearest name is {near[0]!r}" if near else ""
    raise UnsupportedCombination(f"there is no model {name!r}{hint}; {_what_exists()}")


def model_key(name: str) -> str:
    """The short key of a model, from any of its names.

    >>> model_key("gamma-poisson"), model_key("LDA")
    ('GP', 'DM')
    """
    return named_model(name).key


def usual_algorithms(model: str) -> tuple[str, ...]:
    """What "auto" may stand for, for a model key: one name, or the two samplers that
    `sampler_for` chooses from, that of single tokens first.

    >>> usual_algorithms("DM"), usual_algorithms("CGP")
    (('mean-field',), ('collapsed-gibbs', 'gibbs'))
    """
    names = supported()[model]
    usual = next(name for name in _DEFAULT_ORDER if name in names)
    if usual == "collapsed-gibbs" and "gibbs" in names:
        return usual, "gibbs"
    return (usual,)


def sampler_for(counts: Counts) -> str:
    """Which sampler gets a table settled in less time: "gibbs", which divides a count in one draw,
    where counts that are not 0 hold 10 words or more on average; else "collapsed-gibbs", which
    moves one word at a time.

    >>> sampler_for(Counts.from_matrix([[3, 0], [1, 2]]))
    'collapsed-gibbs'
    >>> sampler_for(Counts.from_matrix([[30, 0], [1, 20]]))
    'gibbs'
    """
    is_large = 0 < WORDS_PER_COUNT * counts.nnz <= counts.n_tokens
    return "gibbs" if is_large else "collapsed-gibbs"


def algorithm_name(model: str, algorithm: str = "auto", counts: Counts | None = None) -> str:
    """The algorithm for a model key, "auto" being its default; an error lists what exists.

    Where the default depends on the table, it is that of small counts unless `counts` are given.

    >>> algorithm_name("DM")
    'mean-field'
    >>> algorithm_name("CGP", counts=Counts.from_matrix([[30, 0], [1, 20]]))
    'gibbs'
    """
    if algorithm == "auto":
        usual = usual_algorithms(model)
        return usual[0] if counts is None or len(usual) == 1 else sampler_for(counts)
    names = supported()[model]
    if algorithm not in names:
        near = [] if algorithm in ALGORITHMS else get_close_matches(algorithm, names, n=1)
        hint = f", the nearest name is {near[0]!r}" if near else ""
        raise UnsupportedCombination(
            f"model {model} has no algorithm {algorithm!r}{hint}; {_what_exists()}"
        )
    return algorithm


def why_this_sampler(counts: Counts) -> str:
    """What `sampler_for` says, in a line.

    >>> print(why_this_sampler(Counts.from_matrix([[30, 0], [1, 20]])))
    algorithm: gibbs, because counts that are not 0 hold 17.0 words on average (10 or more)
    """
    chosen = sampler_for(counts)
    words = math.floor(10 * counts.n_tokens / max(counts.nnz, 1)) / 10  # 9.99 is not 10
    limit = f"{WORDS_PER_COUNT} or more" if chosen == "gibbs" else f"below {WORDS_PER_COUNT}"
    return (
        f"algorithm: {chosen}, because counts that are not 0 hold {words:,.1f} words on average "
        f"({limit})"
    )


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
