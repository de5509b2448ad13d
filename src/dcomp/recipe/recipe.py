"""Recipe: what was typed, checked against the table, and what it comes to with counts at hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dcomp import registry
from dcomp.data import Counts
from dcomp.data.components import seeds_as_read
from dcomp.errors import DcompError, InvalidFile, InvalidParameter, UnsupportedCombination
from dcomp.inference import ALGORITHMS, Algorithm
from dcomp.io.files import opened
from dcomp.io.limits import Budget
from dcomp.io.strict_json import parse_json
from dcomp.models import MODELS, Model
from dcomp.models.allowed import labels_of
from dcomp.models.options import Occasion, Option, Request, Summary, Wishes
from dcomp.recipe.config import Config
from dcomp.recipe.known_files import known_components, seed_words
from dcomp.recipe.table import refusal, table
from dcomp.validation.numbers import resolve_seed


@dataclass(frozen=True)
class Settings:
    """What a fit is told beside its model and its algorithm; `vars` of it are options of
    `dcomp.fit`."""

    exposure: Any
    allowed: Any
    max_iter: int
    tol: float
    n_chains: int
    seed: int
    draw_budget: int | str | None


@dataclass(frozen=True)
class Resolved:
    """What a recipe comes to."""

    model: Model
    algorithm: Algorithm
    settings: Settings


@dataclass(frozen=True, eq=False)
class Recipe:
    """What was typed, by the names of the table; what was not said is not in it.

    >>> import dcomp
    >>> counts = dcomp.Counts.from_matrix([[4, 3, 0], [0, 1, 6]])
    >>> found = Recipe(model="GP", n_components=2, alpha=0.5, algorithm="gibbs").resolve(counts)
    >>> found.model.scores.alpha, found.model.scores.learned, found.algorithm.burn_in
    (array([0.5, 0.5]), ('beta',), 100)
    >>> dcomp.fit(counts, found.model, found.algorithm, **vars(found.settings)).n_components
    2
    >>> Recipe(model="DM", rho=0.3)
    Traceback (most recent call last):
    dcomp.errors.UnsupportedCombination: rho has no meaning for model DM; it is for CGP and ST
    """

    given: Mapping[str, Any]
    _rows: Mapping[str, Option] = field(repr=False)

    def __init__(self, **given: Any) -> None:
        rows = table()
        for name in given:
            if name not in rows:
                raise InvalidParameter(
                    f"there is no option {name!r}; a recipe takes {', '.join(rows)}"
                )
        object.__setattr__(self, "_rows", rows)
        object.__setattr__(self, "given", {name: given[name] for name in rows if name in given})
        self._check_meaning()
        checked = {name: rows[name].checked(value) for name, value in self.given.items()}
        object.__setattr__(self, "given", MappingProxyType(checked))

    def __repr__(self) -> str:
        return f"Recipe({', '.join(f'{name}={value!r}' for name, value in self.given.items())})"

    def __reduce__(self) -> Any:  # a mapping that cannot be changed has no way into a pickle
        return _remade, (dict(self.given),)

    @classmethod
    def from_options(cls, **given: Any) -> Recipe:
        """From values of which None says nothing, where nothing else does.

        >>> dict(Recipe.from_options(n_components=3, burn_in=None, draw_budget=None).given)
        {'n_components': 3, 'draw_budget': None}
        """
        rows = table()
        said = {
            name: value
            for name, value in given.items()
            if value is not None or (name in rows and rows[name].default is not None)
        }
        return cls(**said)

    @classmethod
    def read(cls, path: str | Path) -> Recipe:
        """From a config file; what it says of reading the input is for the shell alone."""
        return cls(**Config.read(path).recipe)

    def write(self, path: str | Path) -> None:
        """To a config file that `read` and `dcomp fit --config` take: what was typed, and the
        defaults of what else its model and its algorithm use."""
        if self._get("random_state") is None:
            raise InvalidParameter("a file that repeats a fit needs a seed: give random_state=")
        Config(self.effective()).write(path)

    def effective(self) -> dict[str, Any]:
        """What was typed, with the plain defaults of what else this model and algorithm use.

        >>> recipe = Recipe(n_components=3, algorithm="map")
        >>> recipe.effective()["alpha"], "burn_in" in recipe.effective()
        ('auto', False)
        """
        key, algorithm = self._cell()
        values = {
            option.name: self.given.get(option.name, option.default)
            for option in self._rows.values()
            if _is_used(option, key, algorithm.name)
        }
        if values["draw_budget"] is None:
            values["draw_budget"] = "none"  # of bytes, no limit
        return {name: value for name, value in values.items() if value is not None}

    def resolve(self, counts: Counts) -> Resolved:
        """The model, the algorithm and the settings for these counts."""
        key, algorithm = self._cell(counts)
        settings, wishes = self.settings(algorithm), Wishes()
        model: Model = self._get("model")
        if isinstance(model, str):
            allowed = self._get("allowed")
            labels = () if allowed is None else labels_of(allowed, counts)
            summary = Summary.from_counts(counts, labels)
            request = Request(self._meant(counts), summary, algorithm.estimates)
            model = MODELS[key].resolve(request)
            wishes = model.wishes(request)
        named = isinstance(self._get("algorithm"), str)
        if not named:
            registry.check(model, algorithm)
        occasion = Occasion(model, settings.max_iter, settings.n_chains, named, wishes)
        own = {option.name for option in algorithm.options}
        options = {k: v for k, v in self.given.items() if k in own and v is not None}
        return Resolved(model, algorithm.told(options, occasion), settings)

    def leaves_open(self, algorithm: str) -> bool:
        """Whether "auto" was left to choose between samplers, of which this is one: a fit that is
        gone on with keeps its own.

        >>> Recipe(model="CGP").leaves_open("gibbs"), Recipe(model="GP").leaves_open("mean-field")
        (True, False)
        """
        usual = registry.usual_algorithms(self._named().key)
        return self._get("algorithm") == "auto" and len(usual) > 1 and algorithm in usual

    def told_by_the_table(self, counts: Counts) -> str | None:
        """Which of several samplers "auto" stands for with these counts and why, in a line; None
        where nothing was left to the table.

        >>> Recipe(model="CGP").told_by_the_table(Counts.from_matrix([[30, 0], [1, 20]]))
        'algorithm: gibbs, because counts that are not 0 hold 17.0 words on average (10 or more)'
        """
        algorithm = self._cell(counts)[1]
        told = self.leaves_open(algorithm.name) and algorithm.name == registry.sampler_for(counts)
        return registry.why_this_sampler(counts) if told else None

    def _get(self, name: str) -> Any:
        return self.given.get(name, self._rows[name].default)

    def _named(self) -> registry.NamedModel:
        """What the model's name means: more than a model, where fields know it by another name."""
        model = self._get("model")
        if isinstance(model, str):
            return registry.named_model(model)
        if not hasattr(model, "key"):
            raise InvalidParameter(f"model must be a name or a Model; got {model!r}")
        return registry.NamedModel(model.key, registry.model_key(model.key))

    def _cell(self, counts: Counts | None = None) -> tuple[str, Algorithm]:
        """The key of the model, and the algorithm as it is before it is told anything: without the
        counts, where they choose between samplers, the one of small counts, whose options are the
        same."""
        named, given = self._named(), self._get("algorithm")
        if not isinstance(given, str) and not hasattr(given, "estimates"):
            raise InvalidParameter(f"algorithm must be a name or an Algorithm; got {given!r}")
        registry.algorithm_name(named.key, given if isinstance(given, str) else given.name)
        algorithm = named.algorithm(given)
        if isinstance(algorithm, str):
            if counts is not None and "assignments" in self._get("draws_of"):
                counts = None  # which the sampler of single tokens alone has
            name = registry.algorithm_name(named.key, algorithm, counts)
            built: Algorithm = ALGORITHMS[name]()
            return named.key, built
        return named.key, algorithm

    def _check_meaning(self) -> None:
        """An error where something was said that has no meaning for this model or algorithm."""
        key, algorithm = self._cell()
        self._named().priors(**self.given)
        is_named = isinstance(self._get("model"), str)
        for name, value in self.given.items():
            option = self._rows[name]
            if option.is_default(value) or value is None:
                continue
            if option.needs is not None and not self.given.get(option.needs):
                raise InvalidParameter(f"{name}= has no effect without {option.needs}=")
            if is_named and option.models is not None and key not in option.models:
                raise option.refused_by(key, option.models)
            if option.algorithms is not None and algorithm.name not in option.algorithms:
                raise UnsupportedCombination(refusal(option, key, algorithm.name))

    def settings(self, algorithm: Algorithm | None = None) -> Settings:
        """What a fit is told beside its model and its algorithm, unless it goes on with another."""
        max_iter = self._get("max_iter")
        if max_iter is None:
            max_iter = (algorithm or self._cell()[1]).usual_sweeps
        return Settings(
            self._get("exposure"),
            self._get("allowed"),
            max_iter,
            self._get("tol"),
            self._get("n_chains"),
            resolve_seed(self._get("random_state")),
            self._get("draw_budget"),
        )

    def _meant(self, counts: Counts) -> dict[str, Any]:
        """What was typed with all that a name implies, models by their keys, the contents of files
        in the place of their paths, and words as those of the counts were read."""
        meant = self._named().priors(**self.given)
        for name, value in meant.items():
            if self._rows[name].kind == "file" and isinstance(value, Path):
                meant[name] = _from_json(name, value)
            elif self._rows[name].kind == "words":
                meant[name] = seed_words(value)
                if counts.text is not None:
                    meant[name] = seeds_as_read(meant[name], counts.features, counts.text)
            elif self._rows[name].kind == "components":
                meant[name] = known_components(value)
            elif self._rows[name].kind == "model" and isinstance(value, str):
                known = (key for key in MODELS if value.lower() in registry.names_of(key))
                meant[name] = next(known, value)
        return meant


def require_plain(model: Any) -> None:
    """An error where a model is named that has more to say than DCA has parameters for.

    >>> require_plain("ST")
    Traceback (most recent call last):
    dcomp.errors.UnsupportedCombination: model ST has options of its own: use dcomp.StructuredDCA
    """
    if not isinstance(model, str):
        return
    kind = MODELS[registry.model_key(model)]
    if kind.estimator != "DCA":
        raise UnsupportedCombination(
            f"model {kind.key} has options of its own: use dcomp.{kind.estimator}, or give a "
            f"{kind.__name__} object"
        )


def _remade(given: dict[str, Any]) -> Recipe:
    return Recipe(**given)


def _is_used(option: Option, key: str, algorithm: str) -> bool:
    of_model = option.models is None or key in option.models
    return of_model and (option.algorithms is None or algorithm in option.algorithms)


def _from_json(name: str, path: Path) -> Any:
    budget = Budget(path)
    with opened(path, budget) as stream:
        content = stream.rest()
    try:
        return parse_json(content, budget, f"a {name}", nan=False)
    except DcompError:
        raise
    except ValueError as error:
        raise InvalidFile(f"{path}: a {name} is JSON; {error}") from None
