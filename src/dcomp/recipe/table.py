"""The one table of options: those of every fit, and those that models and algorithms list.

The shell's flags and their help, config files and validation are read from it; a test holds the
signatures of the estimators to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dcomp import registry
from dcomp.inference import ALGORITHMS
from dcomp.inference.keep import DRAW_BUDGET
from dcomp.models import MODELS
from dcomp.models.observations import EXPOSURE_RULES
from dcomp.models.options import GAMMA, KNOWN, N_COMPONENTS, Option, in_words

_MODEL, _COURSE = "Model and algorithm", "Course of a fit"

# Said last.
TAIL = (
    Option(
        "max_iter",
        "whole",
        "Sweeps at most, resumed ones too: 200 of a sampler and 2000 of what stops by itself, "
        "unless given.",
        least=1,
        panel=_COURSE,
        resumes=True,
    ),
    Option(
        "tol",
        "number",
        "Stop with less than so many nats per document still to gain; 0: never. Samplers run "
        "all sweeps.",
        default=0.05,
        least=0,
        panel=_COURSE,
        resumes=True,
    ),
    Option(
        "n_chains",
        "whole",
        "Runs from different starts, of which the best is kept.",
        default=1,
        least=1,
        flags=("--chains",),
        panel=_COURSE,
    ),
    Option(
        "random_state",
        "seed",
        "Seed of the random start.",
        default=0,
        least=0,
        flags=("--seed",),
        metavar="N",
        panel=_COURSE,
    ),
    Option(
        "draw_budget",
        "size",
        "Memory that the draws may take, or none.",
        default=DRAW_BUDGET,
        metavar="SIZE",
        panel="Draws",
        resumes=True,
    ),
)
# Where the signature of an estimator has another default than the table: the field's own.
_OF_FLAT: Mapping[str, Any] = {"n_components": N_COMPONENTS}
_OF_TEXT: Mapping[str, Any] = {**_OF_FLAT, "gamma": 0.05}
USUAL: Mapping[str, Mapping[str, Any]] = {
    "DCA": {**_OF_FLAT, "gamma": 0.5},
    "LDA": _OF_TEXT,
    "GaP": _OF_TEXT,
    "CTM": _OF_TEXT,
    "PLSA": {**_OF_FLAT, "held_out": 0.0, "max_inner": 3},
    "NMF": {**_OF_FLAT, "solver": "auto"},
    "TreeDCA": {"algorithm": "collapsed-gibbs", "gamma": 0.05},
    "StructuredDCA": {"algorithm": "collapsed-gibbs", "gamma": 0.05, "n_chains": 4},
}


def table() -> dict[str, Option]:
    """Every option of a recipe by name, with the models and algorithms that use it.

    Read anew each time: a model that joins `MODELS` is in it at once.

    >>> table()["rho"].models, table()["burn_in"].algorithms, table()["tol"].models
    (('CGP', 'ST'), ('gibbs', 'collapsed-gibbs'), None)
    """
    of_models = _listed(MODELS)
    of_algorithms = _listed(ALGORITHMS)
    rows = [
        *_head(),
        *(replace(option, models=users) for option, users in of_models.values()),
        GAMMA,
        *KNOWN,
        _exposure(),
        *(replace(option, algorithms=users) for option, users in of_algorithms.values()),
        *TAIL,
    ]
    return {row.name: row for row in rows}


def _head() -> tuple[Option, ...]:
    """What is said first, with the names that there are."""
    return (
        Option(
            "n_components",
            "whole",
            "Number of components.",
            least=1,
            flags=("-k",),
            shown=str(N_COMPONENTS),
            metavar="N",
            panel=_MODEL,
        ),
        Option(
            "model",
            "name",
            f"{', '.join(registry.supported())}, or a name such as lda, gap, ctm, plsa, nmf; see "
            "dcomp models.",
            default="DM",
            metavar="NAME",
            panel=_MODEL,
        ),
        Option(
            "algorithm",
            "name",
            f"auto, {', '.join(ALGORITHMS)}; dcomp models shows which fits what.",
            default="auto",
            metavar="NAME",
            panel=_MODEL,
        ),
    )


def _exposure() -> Option:
    exposed = in_words(key for key, model in MODELS.items() if model.has_exposure)
    return Option(
        "exposure",
        "prior",
        f"{exposed}: 'total' takes each document's length as its exposure; 'observed' takes blocks "
        "without counts for missing, as tables of votes, answers and genotypes do by themselves.",
        words=EXPOSURE_RULES,
        metavar="WORD",
        panel=_MODEL,
    )


def _listed(owners: Mapping[str, Any]) -> dict[str, tuple[Option, tuple[str, ...]]]:
    """The options that models or algorithms list, with those who do."""
    found: dict[str, tuple[Option, tuple[str, ...]]] = {}
    for name, owner in owners.items():
        for option in owner.options:
            known, users = found.get(option.name, (option, ()))
            if known != option:
                raise TypeError(
                    f"option {option.name} of {name} differs from that of {users[0]}: options of "
                    "one name are one option"
                )
            found[option.name] = (known, (*users, name))
    return found


def users_in_words(option: Option) -> str:
    """Who uses an option, as help says it in front; "" for all.

    >>> users_in_words(table()["burn_in"]), users_in_words(table()["beta"])
    ('samplers', 'GP, CGP, ST')
    """
    if option.models is not None:
        return "" if set(option.models) == set(MODELS) else ", ".join(option.models)
    return "" if option.algorithms is None else ", ".join(_grouped(option.algorithms))


def refusal(option: Option, key: str, algorithm: str) -> str:
    """Why an algorithm does not take an option, and who does.

    >>> refusal(table()["burn_in"], "DM", "map")
    'burn_in= is an option of the samplers, not map'
    """
    users = option.algorithms or ()
    if option.refusal:
        own = [name for name in registry.supported()[key] if name in users]
        kind = "sampler" if _grouped(users) == ["samplers"] else "algorithm that does"
        how = f"fit by {' or '.join(own)}" if own else f"model {key} has no {kind}"
        return f"{option.name}= {option.refusal.format(algorithm=algorithm)}: {how}"
    who = in_words("the samplers" if name == "samplers" else name for name in _grouped(users))
    return f"{option.name}= is an option of {who}, not {algorithm}"


def _grouped(names: tuple[str, ...]) -> list[str]:
    """Names of algorithms, all samplers together being called so."""
    samplers = [name for name, kind in ALGORITHMS.items() if kind.samples]
    if not set(samplers) <= set(names):
        return list(names)
    return ["samplers", *(name for name in names if name not in samplers)]
