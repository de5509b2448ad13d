"""Parameters as users type them, checked once and turned into models and algorithms."""

from __future__ import annotations

import numbers
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dcomp import registry
from dcomp.data import Counts
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.inference import (
    ALGORITHMS,
    Algorithm,
    Growth,
    Keep,
    Laplace,
    MapEM,
    MaximumLikelihood,
    MeanField,
    TemperedEM,
)
from dcomp.models import MODELS, LogisticNormal, Model, Tree, TreeMultinomial, empirical_gamma
from dcomp.models.arrays import component_vector


def whole_number(name: str, value: Any, minimum: int) -> int:
    """`value` as an int of at least `minimum`; an error says what was given.

    >>> whole_number("n_components", 3, 1)
    3
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < minimum:
        raise InvalidParameter(
            f"{name} must be a whole number of at least {minimum}; got {value!r}"
        )
    return int(value)


_UNITS = {"": 1, "b": 1} | {
    f"{letter}{unit}": base ** (power + 1)
    for unit, base in (("b", 1000), ("ib", 1024))
    for power, letter in enumerate("kmgt")
}


def memory_size(name: str, value: Any) -> int | None:
    """A number of bytes from a number or from text like "2 GiB"; None is no limit.

    >>> memory_size("draw_budget", "1.5 GiB"), memory_size("draw_budget", "200MB")
    (1610612736, 200000000)
    """
    if value is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", str(value).strip().lower())
    if isinstance(value, bool) or found is None or found[2] not in _UNITS:
        raise InvalidParameter(
            f"{name} must be a number of bytes, text such as '2 GiB' or '500 MB', or None; "
            f"got {value!r}"
        )
    return int(float(found[1]) * _UNITS[found[2]])


def resolve_seed(random_state: Any) -> int:
    """A seed from scikit-learn's random_state: a number, a generator, or None for a fresh one."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, numbers.Integral) and int(random_state) >= 0:
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    raise InvalidParameter(
        f"random_state must be None, a whole number or a NumPy generator; got {random_state!r}"
    )


# What "auto" is where α is not learned. For map C04 3.6: a little below the shapes that texts show,
# 1.2 to 1.4, to keep components apart.
POINT_ALPHA = {MapEM.name: 1.1, MaximumLikelihood.name: 1.0, TemperedEM.name: 1.0}


def resolve_model(
    model: str | Model,
    counts: Counts,
    n_components: int,
    *,
    alpha: Any = "auto",
    beta: Any = "auto",
    rho: Any = "auto",
    gamma: Any = 0.5,
    shrinkage: Any = None,
    algorithm: str | Algorithm = "auto",
) -> Model:
    """A model from its name and priors; "auto" priors are learned from a start that suits the data.
    TM has a complete tree of 7 branches (`dcomp.TreeDCA` for others) and the paper's priors.

    alpha: "auto" (learned; 1.1 for map, 1 where there is no prior), "total-one" (1/K each, BJ04
    §5), a number or K numbers. beta (GP, CGP): "auto" (learned; for map the start itself, for ml
    0), a number or K numbers. rho (CGP): "auto", a number or K numbers. gamma: a number, J numbers,
    "empirical" (BJ04 §5), or "auto" (one number for all features, learned by the samplers).
    LN learns μ0 and Σ0 and has none of alpha, beta, rho; shrinkage: see `resolve_shrinkage`.
    """
    if not isinstance(model, str):
        return model
    key = registry.model_key(model)
    K = whole_number("n_components", n_components, 1)
    if key == TreeMultinomial.key:
        _no_meaning(key, alpha=alpha, beta=beta, rho=rho)
        if shrinkage is not None:
            raise UnsupportedCombination(f"shrinkage has no meaning for model {key}; it is for LN")
        return resolve_tree_model(Tree.complete(K, BRANCHING), counts, gamma=gamma)
    options: dict[str, Any] = {"gamma": resolve_gamma(gamma, counts)}
    if key == LogisticNormal.key:
        _no_meaning(key, alpha=alpha, beta=beta, rho=rho)
        options |= {"learn_mu0": True, "learn_Sigma0": True}
        normal = LogisticNormal.build(K, shrinkage=resolve_shrinkage(shrinkage), **options)
        return _with_learned_gamma(normal, gamma)
    if shrinkage is not None:
        raise UnsupportedCombination(f"shrinkage has no meaning for model {key}; it is for LN")
    name = algorithm if isinstance(algorithm, str) else algorithm.name
    is_point = name in POINT_ALPHA
    word = _is_word("alpha", alpha, ("auto", "total-one"))
    options["learn_alpha"] = word == "auto" and not is_point
    options["alpha"] = alpha if word is None else 1.0 / K
    if is_point and word == "auto":
        options["alpha"] = POINT_ALPHA[name]
    if MODELS[key].has_exposure:
        options["learn_beta"] = _is_word("beta", beta, ("auto",)) == "auto" and not is_point
        # With this start a document of average length has the expected total Σ α/β.
        mean_length = max(counts.n_tokens / counts.n_docs, 1e-3)
        start = float(component_vector("alpha", options["alpha"], K).sum()) / mean_length
        start = 0.0 if name == MaximumLikelihood.name else start
        options["beta"] = start if isinstance(beta, str) else beta
    else:
        _no_meaning(key, beta=beta)
    if key == "CGP":
        options["learn_rho"] = _is_word("rho", rho, ("auto",)) == "auto"
        options["rho"] = 0.5 if isinstance(rho, str) else rho
    else:
        _no_meaning(key, rho=rho)
    build: Any = MODELS[key].build
    return _with_learned_gamma(build(K, **options), gamma)


def _no_meaning(key: str, **given: Any) -> None:
    """An error where a prior that the model does not have was given."""
    for name, value in given.items():
        if not (isinstance(value, str) and value == "auto"):
            raise UnsupportedCombination(
                f"{name} has no meaning for model {key}; leave it at 'auto'"
            )


def _with_learned_gamma(model: Model, gamma: Any) -> Model:
    if isinstance(gamma, str) and gamma == "auto":
        return model.with_loadings(replace(model.loadings, learned=True))
    return model


def resolve_shrinkage(shrinkage: Any) -> float | None:
    """How far LN draws Σ0 to independent components: a number from 0 to 1, None for 0, or "auto",
    which the scores hold as None.

    >>> resolve_shrinkage("auto"), resolve_shrinkage(None), resolve_shrinkage(1)
    (None, 0.0, 1.0)
    """
    if _is_word("shrinkage", shrinkage, ("auto",)) == "auto":
        return None
    is_number = isinstance(shrinkage, numbers.Real) and not isinstance(shrinkage, bool)
    if shrinkage is not None and not (is_number and 0 <= shrinkage <= 1):
        raise InvalidParameter(
            f"shrinkage must be 'auto' or a number from 0 to 1; got {shrinkage!r}"
        )
    return 0.0 if shrinkage is None else float(shrinkage)


BRANCHING, DEPTH, GROW_AT = 7, 3, 50  # BJ04 §4 and §5


def resolve_tree(tree: Any, branching: int | None = None, depth: int | None = None) -> Tree:
    """A tree from branching and depth, or from a Tree, a list of parents, or nested names.

    >>> resolve_tree([-1, 0, 0]).n_nodes, resolve_tree(None, 2).n_nodes
    (3, 7)
    """
    if tree is None:
        branching = BRANCHING if branching is None else whole_number("branching", branching, 1)
        return Tree.regular(branching, DEPTH if depth is None else whole_number("depth", depth, 1))
    if depth is not None:
        raise InvalidParameter("a tree has its own depth: give tree= or depth=, not both")
    if isinstance(tree, Tree):
        return tree
    if isinstance(tree, str):
        raise InvalidParameter(
            f"tree must be a Tree, a list of parents or nested names; got {tree!r}"
        )
    if isinstance(tree, Mapping):
        return Tree.from_names(tree)
    entries = list(tree)
    return Tree.from_names(entries) if isinstance(entries[0], str) else Tree.from_parents(entries)


def resolve_tree_model(
    tree: Tree,
    counts: Counts,
    *,
    a1: Any = None,
    a2: Any = None,
    b: Any = None,
    gamma: Any = 0.05,
) -> TreeMultinomial:
    """A model of a tree; None for the paper's a1, a2 and b."""
    built = TreeMultinomial.build(tree, a1=a1, a2=a2, b=b, gamma=resolve_gamma(gamma, counts))
    learned = _with_learned_gamma(built, gamma)
    assert isinstance(learned, TreeMultinomial)
    return learned


def resolve_growth(
    model: TreeMultinomial,
    grow_to: int | None,
    grow_at: int | None,
    branching: int | None,
    *,
    a1: Any = None,
    a2: Any = None,
    b: Any = None,
) -> Growth | None:
    """When and how far a tree grows, or None. Its new nodes have the a1, a2 and b that were given
    as numbers, or the paper's."""
    if grow_to is None:
        if grow_at is not None:
            raise InvalidParameter(f"grow_at = {grow_at} has no effect without grow_to")
        return None
    to = whole_number("grow_to", grow_to, 2)
    if to < model.n_components + 2:
        raise InvalidParameter(
            f"grow_to must exceed the {model.n_components} nodes of the tree by two or more; "
            f"got {to}"
        )
    numbers = {"a1": a1, "a2": a2, "b": b}
    given = {name: float(x) for name, x in numbers.items() if x is not None and np.ndim(x) == 0}
    n_new = BRANCHING if branching is None else whole_number("branching", branching, 2)
    at = GROW_AT if grow_at is None else whole_number("grow_at", grow_at, 1)
    return Growth(at, to, n_new, **given)


def resolve_gamma(gamma: Any, counts: Counts) -> Any:
    """γ as numbers; "empirical" is the corpus's smoothed frequencies with a total of one, "auto"
    where learning starts."""
    word = _is_word("gamma", gamma, ("empirical", "auto"))
    if word == "empirical":
        return empirical_gamma(counts.feature_totals, counts.features.blocks)
    return 0.1 if word == "auto" else gamma


def _is_word(name: str, value: Any, words: tuple[str, ...]) -> str | None:
    if not isinstance(value, str):
        return None
    if value not in words:
        choices = ", ".join(repr(word) for word in words)
        raise InvalidParameter(f"{name} must be {choices}, a number or an array; got {value!r}")
    return value


def resolve_algorithm(
    algorithm: str | Algorithm,
    model: Model,
    *,
    loadings: str | None = None,
    burn_in: int | None = None,
    max_iter: int = 200,
    start: str | None = None,
    anneal: int | None = None,
    n_draws: int = 0,
    draws_of: str | Sequence[str] = Keep().of,
) -> Algorithm:
    """An algorithm from its name; "auto" is the model's default.

    `loadings` is an option of those that climb, the rest of the samplers: `burn_in` is half of
    `max_iter` unless given, `start` (of laplace too) and `anneal` say how a chain begins, and
    `n_draws` of the sweeps after it leave draws of `draws_of`.
    """
    n_draws = whole_number("n_draws", n_draws, 0)
    if not n_draws and tuple(draws_of) != Keep().of:
        raise InvalidParameter(f"draws_of = {draws_of!r} has no effect without n_draws")
    named = isinstance(algorithm, str)
    if isinstance(algorithm, str):
        built: Algorithm = ALGORITHMS[registry.algorithm_name(model.key, algorithm)]()
        algorithm = built
    else:
        registry.check(model, algorithm)
    of_samplers = {"burn_in": burn_in, "start": start, "anneal": anneal}
    if isinstance(algorithm, Laplace) and start is not None:
        algorithm = replace(algorithm, start=start)
        del of_samplers["start"]
    given = [name for name, value in of_samplers.items() if value is not None]
    if isinstance(algorithm, MeanField | MapEM | MaximumLikelihood | TemperedEM | Laplace):
        if given:
            raise UnsupportedCombination(
                f"{given[0]}= is an option of the samplers, not {algorithm.name}"
            )
        if n_draws:
            names = [name for name in registry.supported()[model.key] if ALGORITHMS[name].samples]
            how = f"fit by {' or '.join(names)}" if names else f"model {model.key} has no sampler"
            raise UnsupportedCombination(
                f"n_draws= keeps draws of a sampler, and {algorithm.name} makes none: {how}"
            )
        if loadings is None:
            return algorithm
        if isinstance(algorithm, MaximumLikelihood | TemperedEM):
            raise UnsupportedCombination(
                f"loadings= is an option of mean-field, map and laplace, not {algorithm.name}"
            )
        return replace(algorithm, loadings=loadings)
    if loadings is not None:
        raise UnsupportedCombination(
            f"loadings= is an option of mean-field, map and laplace, not {algorithm.name}"
        )
    sampler: Any = algorithm
    if burn_in is not None:
        burn_in = whole_number("burn_in", burn_in, 0)
        if burn_in >= max_iter:
            raise InvalidParameter(
                f"burn_in must be below max_iter = {max_iter}, to leave sweeps to record; "
                f"got {burn_in}"
            )
        sampler = replace(sampler, burn_in=burn_in)
    elif named:
        sampler = replace(sampler, burn_in=max_iter // 2)
    if start is not None:
        sampler = replace(sampler, start=start)
    if anneal is not None:
        sampler = replace(sampler, anneal=whole_number("anneal", anneal, 0))
    if n_draws:
        sampler = replace(sampler, keep=_keep(n_draws, draws_of, max_iter - sampler.burn_in))
    resolved: Algorithm = sampler
    return resolved


def _keep(n_draws: int, draws_of: str | Sequence[str], recorded: int) -> Keep:
    """`n_draws` of the sweeps that are recorded; kinds as a sequence or with commas between."""
    if n_draws > recorded:
        raise InvalidParameter(
            f"n_draws must be at most the sweeps after burn_in, of which there are "
            f"{max(recorded, 0)}; got {n_draws} (raise max_iter or lower burn_in)"
        )
    kinds = draws_of.split(",") if isinstance(draws_of, str) else draws_of
    return Keep(n_draws, recorded, tuple(str(kind).strip() for kind in kinds))
