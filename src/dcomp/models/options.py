"""What a user may say of a model or of an algorithm, one `Option` each; and what was said, as a
model hears it (`Request`).

A model lists its own options (`Model.options`) and makes itself of what was typed
(`Model.resolve`). The table of all options (`dcomp.recipe.table`), the flags of the shell, config
files and the errors about options that do not go together are read from these lists.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dcomp.data import Counts, FeatureSpace
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.models.arrays import LARGEST, SMALLEST, component_count, component_vector
from dcomp.models.known import Known
from dcomp.models.learning import Learning
from dcomp.models.loadings import DirichletLoadings, empirical_gamma

# "prior": a word, a number or numbers. "name": a word or an object. "model": any name of one.
# "file": a path to JSON, or what it would hold. "kinds": words, as a sequence or with commas
# between. "size": of memory. "seed": a whole number, or in Python all that scikit-learn takes.
# "words": lists of words by name, or a path to them. "components": a table of loadings, or a path.
# "labels": a value per document, or the name of an attribute.
Kind = Literal[
    "whole",
    "number",
    "word",
    "model",
    "prior",
    "name",
    "seed",
    "file",
    "kinds",
    "size",
    "switch",
    "words",
    "components",
    "labels",
]

N_COMPONENTS = 10  # unless a model or the user says otherwise
# α where it is "auto" but not learned. For modes C04 3.6: a little below the shapes that texts
# show, 1.2 to 1.4, to keep components apart. Without priors: flat.
POINT_ALPHA = {"mode": 1.1, "likelihood": 1.0}


@dataclass(frozen=True)
class Option:
    """One thing that a user may say: how it is called, what it may be, and what it does.

    >>> Option("n_draws", "whole", "Draws to keep.", least=0).flag
    '--n-draws'
    >>> Option("tau", "prior", "How far.", words=("auto",)).checked("often")
    Traceback (most recent call last):
    dcomp.errors.InvalidParameter: tau must be 'auto', a number or an array; got 'often'
    """

    name: str  # as typed in Python and in config files
    kind: Kind
    help: str  # what it does, in a sentence
    default: Any = None  # None: as the model or the algorithm has it
    words: tuple[str, ...] = ()  # that it takes in place of a number
    least: float | None = None  # of a number
    flags: tuple[str, ...] = ()  # in the shell; made of the name unless given
    shown: str | None = None  # the default as help shows it, where it is no plain value
    metavar: str | None = None
    panel: str = ""  # of the shell's help; by kind unless given
    needs: str | None = None  # another option, without which it has no effect
    # After its name, why an algorithm without it refuses it; {algorithm} stands for that one.
    refusal: str = ""
    resumes: bool = False  # whether a resumed fit may be told anew
    # Who uses it, None for all: the table fills it in from the lists of models and algorithms.
    models: tuple[str, ...] | None = None
    algorithms: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not self.flags:
            object.__setattr__(self, "flags", ("--" + self.name.replace("_", "-"),))

    @property
    def flag(self) -> str:
        """As the shell calls it: the first of its spellings."""
        return self.flags[0]

    def is_default(self, value: Any) -> bool:
        """Whether this says nothing."""
        if value is None or self.default is None:
            return value is None and self.default is None
        if isinstance(self.default, tuple) and isinstance(value, list | tuple):
            return tuple(value) == self.default
        return isinstance(value, str | numbers.Real) and bool(value == self.default)

    def checked(self, value: Any) -> Any:
        """The value if it is of this kind; an error says what it must be and what it is."""
        if (value is None and self.default is None) or (
            isinstance(value, str) and value in self.words
        ):
            return value
        match self.kind:
            case "whole":
                return whole_number(self.name, value, int(self.least or 0))
            case "number":
                return self._number(value)
            case "prior":
                is_word(self.name, value, self.words)
            case "size":
                return None if value == "none" else value
            case "switch" if not isinstance(value, bool | np.bool_):
                raise InvalidParameter(f"{self.name} must be True or False; got {value!r}")
            case "word" | "model" if not isinstance(value, str):
                raise InvalidParameter(f"{self.name} must be a word; got {value!r}")
            case "words" if not isinstance(value, Mapping | str | Path):
                raise InvalidParameter(
                    f"{self.name} must be words by name of a component, as in "
                    f"{{'taxes': ['tax', 'cuts']}}; got {value!r}"
                )
            case "kinds" if not _are_words(value):
                raise InvalidParameter(f"{self.name} must be words; got {value!r}")
        return value

    def refused_by(self, key: str, models: Iterable[str]) -> UnsupportedCombination:
        """The error where it was said of a model that does not know it."""
        known = in_words(models)
        if self.kind == "prior":
            said = f"{self.name} has no meaning for model {key}; it is for {known}"
        else:
            said = f"{self.name}= is an option of model {known}, not {key}"
        return UnsupportedCombination(said)

    def _number(self, value: Any) -> Any:
        is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value):
            raise InvalidParameter(f"{self.name} must be a finite number; got {value!r}")
        if self.least is not None and value < self.least:
            raise InvalidParameter(f"{self.name} must be at least {self.least:g}; got {value}")
        return value


def in_words(names: Iterable[str]) -> str:
    """Names as a sentence has them.

    >>> in_words(["DM"]), in_words(["DM", "GP", "CGP"])
    ('DM', 'DM, GP and CGP')
    """
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _are_words(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list | tuple) and all(isinstance(word, str) for word in value)
    )


@dataclass(frozen=True)
class Summary:
    """What the priors need to know of the counts.

    >>> Summary.from_counts(Counts.from_matrix([[2, 1], [0, 3]])).mean_length
    3.0
    """

    mean_length: float  # tokens of a document
    feature_totals: npt.NDArray[np.int64]  # (J)
    features: FeatureSpace
    labels: tuple[str, ...] = ()  # of documents, which name components

    @classmethod
    def from_counts(cls, counts: Counts, labels: tuple[str, ...] = ()) -> Summary:
        """Of a corpus."""
        mean_length = max(counts.n_tokens / counts.n_docs, 1e-3)
        return cls(mean_length, counts.feature_totals, counts.features, labels)

    @property
    def blocks(self) -> npt.NDArray[np.int32]:
        """(J): the block of each feature."""
        return self.features.blocks

    @property
    def n_features(self) -> int:
        """J."""
        return len(self.blocks)

    @property
    def n_blocks(self) -> int:
        """G."""
        return int(self.blocks.max(initial=0)) + 1


@dataclass(frozen=True)
class Request:
    """What was typed, as a model hears it.

    estimates: what the algorithm finds, as it says of itself (`Algorithm.estimates`): of a
    "posterior" priors at "auto" are learned, at a "mode" they are set, of a "likelihood" there are
    none.

    >>> Request({"alpha": 0.5}, Summary.from_counts(Counts.from_matrix([[1]]))).get("alpha", "auto")
    0.5
    """

    given: Mapping[str, Any]  # by name; what was not said is not in it
    data: Summary
    estimates: str = "posterior"

    def get(self, name: str, default: Any = None) -> Any:
        """What was said of an option."""
        value = self.given.get(name)
        return default if value is None else value

    def components(self, default: int = N_COMPONENTS) -> int:
        """K."""
        return component_count(whole_number("n_components", self.get("n_components", default), 1))

    def alpha(self, n_components: int) -> tuple[Any, Learning]:
        """α, and whether it is learned: "auto" and "shared" are 1/K to begin with, as "total-one"
        is for good."""
        alpha = self.get("alpha", "auto")
        word = is_word("alpha", alpha, ALPHA.words)
        if word is None:
            return alpha, False
        if word == "auto" and self.estimates in POINT_ALPHA:
            return POINT_ALPHA[self.estimates], False
        if word == "shared" and self.estimates in POINT_ALPHA:
            raise InvalidParameter(
                "alpha='shared' is one learned number, and map and maximum likelihood do not learn "
                "alpha: use mean-field, gibbs or collapsed-gibbs, or give a number"
            )
        return 1.0 / n_components, "shared" if word == "shared" else word == "auto"

    def beta(self, n_components: int, alpha: Any) -> tuple[Any, bool]:
        """β, and whether it is learned: with "auto" a document of average length has the expected
        total Σ α/β to begin with; without priors it is 0. At modes "auto" stays there, and
        "learned" gives every theme its own scale c = α/β (C04 3.1)."""
        beta = self.get("beta", "auto")
        word = is_word("beta", beta, BETA.words)
        if word is None:
            return beta, False
        if self.estimates == "likelihood":
            if word == "learned":
                raise InvalidParameter(
                    "beta='learned' needs a prior of the scores, and maximum likelihood has none: "
                    "use map"
                )
            return 0.0, False
        total = float(component_vector("alpha", alpha, n_components).sum())
        learned = word == "learned" or self.estimates == "posterior"
        return float(np.clip(total / self.data.mean_length, SMALLEST, LARGEST)), learned

    def loadings(
        self, n_components: int | None = None, names: tuple[str, ...] | None = None
    ) -> DirichletLoadings:
        """The prior of the loadings; `usual_gamma` where nothing was said. names: those that the
        model's components have already."""
        n_components = self.components() if n_components is None else n_components
        gamma, learned = self._gamma()
        known = Known(
            self.get("seed_words"), self.get("seed_strength"), self.get("fixed"), self.data.labels
        )
        if not known:
            prior = DirichletLoadings(gamma, learned)
        else:
            where = (n_components, self.data.features, self.data.feature_totals, names)
            prior = known.prior(gamma, learned, *where)
        prior.check(self.data.n_features, n_components)
        return prior

    def _gamma(self) -> tuple[Any, bool]:
        gamma = self.get("gamma", usual_gamma(self.estimates, self.data.n_blocks))
        word = is_word("gamma", gamma, GAMMA.words)
        if word == "empirical":
            return empirical_gamma(self.data.feature_totals, self.data.blocks), False
        return (0.1, True) if word == "auto" else (gamma, False)


@dataclass(frozen=True)
class Wishes:
    """What a model, as it was typed, asks of the algorithm that fits it.

    growth: fields of `inference.Growth`, where nodes are put below leaves in the middle of a fit.
    search: fields of `inference.StructureSearch`, where nodes above leaves are found; `at` is not
    among them unless it was given. settle: whether chains are annealed unless the user says how.
    """

    growth: Mapping[str, Any] | None = None
    search: Mapping[str, Any] | None = None
    settle: bool = False


@dataclass(frozen=True)
class Occasion:
    """What an algorithm is told beside its own options when it is made from what was typed."""

    model: Any
    max_iter: int
    n_chains: int = 1
    named: bool = True  # whether it was named, and not given as an object with its own options
    wishes: Wishes = field(default_factory=Wishes)


def usual_gamma(estimates: str = "posterior", n_blocks: int = 1) -> float:
    """γ where the user said nothing: 0.05, which suits text; Jeffreys' prior where features come
    in blocks; 1, no prior, for maximum likelihood.

    >>> usual_gamma(), usual_gamma(n_blocks=3), usual_gamma("likelihood")
    (0.05, 0.5, 1.0)
    """
    if estimates == "likelihood":
        return 1.0
    return 0.05 if n_blocks == 1 else 0.5


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


def is_word(name: str, value: Any, words: tuple[str, ...]) -> str | None:
    """The value where it is one of these words, None where it is a number or an array.

    >>> is_word("alpha", "auto", ("auto",)), is_word("alpha", 0.5, ("auto",))
    ('auto', None)
    """
    if not isinstance(value, str):
        return None
    if value not in words:
        choices = ", ".join([*map(repr, words), ""])
        raise InvalidParameter(f"{name} must be {choices}a number or an array; got {value!r}")
    return value


# Options that several models have.
ALPHA = Option(
    "alpha",
    "prior",
    "auto (learned, one per component; 1.1 for map, 1 without priors), shared (learned, one for "
    "all), total-one (1/K each), or a number.",
    default="auto",
    words=("auto", "shared", "total-one"),
)
BETA = Option(
    "beta",
    "prior",
    "auto (learned; for map one that suits the lengths), learned (one per component, by map too) "
    "or a number.",
    default="auto",
    words=("auto", "learned"),
)
RHO = Option(
    "rho",
    "prior",
    "probability that a score is zero: auto (learned) or a number.",
    default="auto",
    words=("auto",),
)
GAMMA = Option(
    "gamma",
    "prior",
    "Prior of loadings: a number, empirical, or auto (learned by the samplers); in Python also an "
    "array, (features) or (components, features).",
    words=("empirical", "auto"),
    shown="0.05; 0.5 with blocks; 1, none, for ml and tempered-em",
)
SEED_WORDS = Option(
    "seed_words",
    "words",
    "Words that named components are told to like: lines such as taxes: tax, cuts, or JSON.",
    metavar="FILE",
    panel="Known beforehand",
)
SEED_STRENGTH = Option(
    "seed_strength",
    "number",
    "how many tokens a seed word is worth in its component.",
    least=0,
    shown="its share of the corpus, N/K",
    panel="Known beforehand",
    needs="seed_words",
)
ALLOWED = Option(
    "allowed",
    "labels",
    "Components that documents may use: an attribute whose values name the first components; "
    "without a value: all.",
    metavar="ATTRIBUTE",
    panel="Known beforehand",
)
FIXED = Option(
    "fixed",
    "components",
    "Components whose loadings are given, a row each, or a catalogue of signatures, a line per "
    "mutation type; the rest of -k is found.",
    metavar="FILE",
    panel="Known beforehand",
)
KNOWN = (SEED_WORDS, SEED_STRENGTH, FIXED, ALLOWED)
BRANCHING = Option(
    "branching", "whole", "children of an internal node.", least=1, shown="7", panel="Hierarchies"
)
DEPTH = Option(
    "depth",
    "whole",
    "levels of the tree, in place of a number of components.",
    least=1,
    shown="3",
    panel="Hierarchies",
)
TREE = Option(
    "tree",
    "file",
    "the tree: names within names, or a list of parents, in a file as JSON.",
    panel="Hierarchies",
)
