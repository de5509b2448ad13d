"""Parameters as users type them, checked once and turned into models and algorithms."""

from __future__ import annotations

import numbers
from dataclasses import replace
from typing import Any

import numpy as np

from dcomp import registry
from dcomp.data import Counts
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.inference import ALGORITHMS, Algorithm, MeanField
from dcomp.models import MODELS, Model, empirical_gamma
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


def resolve_model(
    model: str | Model,
    counts: Counts,
    n_components: int,
    *,
    alpha: Any = "auto",
    beta: Any = "auto",
    rho: Any = "auto",
    gamma: Any = 0.5,
) -> Model:
    """A model from its name and priors; "auto" priors are learned from a start that suits the data.

    alpha: "auto", "total-one" (1/K each, BJ04 §5), a number or K numbers. beta (GP, CGP) and rho
    (CGP): "auto", a number or K numbers. gamma: a number, J numbers, or "empirical" (BJ04 §5).
    """
    if not isinstance(model, str):
        return model
    key = registry.model_key(model)
    K = whole_number("n_components", n_components, 1)
    options: dict[str, Any] = {"gamma": resolve_gamma(gamma, counts)}
    options["learn_alpha"] = _is_word("alpha", alpha, ("auto", "total-one")) == "auto"
    options["alpha"] = 1.0 / K if isinstance(alpha, str) else alpha
    if MODELS[key].has_exposure:
        options["learn_beta"] = _is_word("beta", beta, ("auto",)) == "auto"
        # With this start a document of average length has the expected total Σ α/β.
        mean_length = max(counts.n_tokens / counts.n_docs, 1e-3)
        start = float(component_vector("alpha", options["alpha"], K).sum()) / mean_length
        options["beta"] = start if isinstance(beta, str) else beta
    elif not isinstance(beta, str):
        raise UnsupportedCombination(f"beta has no meaning for model {key}; leave it at 'auto'")
    if key == "CGP":
        options["learn_rho"] = _is_word("rho", rho, ("auto",)) == "auto"
        options["rho"] = 0.5 if isinstance(rho, str) else rho
    elif not isinstance(rho, str):
        raise UnsupportedCombination(f"rho has no meaning for model {key}; leave it at 'auto'")
    build: Any = MODELS[key].build
    built: Model = build(K, **options)
    return built


def resolve_gamma(gamma: Any, counts: Counts) -> Any:
    """γ as numbers; "empirical" is the corpus's smoothed frequencies with a total of one."""
    if _is_word("gamma", gamma, ("empirical",)):
        return empirical_gamma(counts.feature_totals, counts.features.blocks)
    return gamma


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
) -> Algorithm:
    """An algorithm from its name; "auto" is the model's default.

    `loadings` is an option of mean field, `burn_in` one of the samplers: half of `max_iter` unless
    given.
    """
    named = isinstance(algorithm, str)
    if isinstance(algorithm, str):
        algorithm = ALGORITHMS[registry.algorithm_name(model.key, algorithm)]()
    else:
        registry.check(model, algorithm)
    if isinstance(algorithm, MeanField):
        if burn_in is not None:
            raise UnsupportedCombination("burn_in= is an option of the samplers, not mean-field")
        return algorithm if loadings is None else replace(algorithm, loadings=loadings)
    if loadings is not None:
        raise UnsupportedCombination(f"loadings= is an option of mean-field, not {algorithm.name}")
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
    resolved: Algorithm = sampler
    return resolved
