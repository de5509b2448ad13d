"""ST, structured components: leaf topics that share node topics (B09; MODELS §5).

A document has scores q (l) of K leaves, from a Dirichlet (DM), gammas (GP) or gammas that may be
zero (CGP). A word takes a leaf c by them, a node h with probability υ_ch, and a feature by θ_h:

    words ~ scores · Υ · Θ,      Υ (K, H) given, shared, or of each document (structure_rows.py)

Seen from the words, the components are the H nodes with scores qΥ, which Υ makes correlated; seen
from the documents, they are the K leaves with loadings ΥΘ (B09 3.2). Here a component is a node.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dcomp.data import Counts, FeatureSpace
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.models.arrays import FloatArray, equal_fields
from dcomp.models.conditional_gamma_poisson import ConditionalGammaPoisson, ConditionalGammaScores
from dcomp.models.dirichlet_multinomial import DirichletMultinomial, DirichletScores
from dcomp.models.gamma_poisson import GammaPoisson, GammaScores
from dcomp.models.hierarchy import check_one_size, typed_tree
from dcomp.models.loadings import DirichletLoadings
from dcomp.models.observations import Observations
from dcomp.models.options import (
    ALPHA,
    BETA,
    BRANCHING,
    DEPTH,
    RHO,
    TREE,
    Option,
    Request,
    Wishes,
    is_word,
    whole_number,
)
from dcomp.models.prior import Capabilities, Nodes, Parameter, Slots, learned_names
from dcomp.models.pseudo import WORTH, Pseudo
from dcomp.models.structure import Structure, typed_structure
from dcomp.models.structure_rows import (
    DirichletRows,
    FixedRows,
    Rows,
    StickRows,
    Table,
    restored_rows,
)
from dcomp.models.sums import Both
from dcomp.models.words import draw_words

LeafScores = DirichletScores | GammaScores | ConditionalGammaScores
KINDS = ("shared", "phi", "document", "document-phi")
CHUNK = 4096  # documents at a time, where each has a Υ of its own
_WHY = {
    "fixed_point": "a document's fixed point needs a Υ that the corpus shares, and leaves of DM or "
    "GP; method='sampling' works for all",
    "bound": "nodes have no mean field, and so no bound on log p(w | Θ); where the corpus shares "
    "Υ, as_leaves() has one",
    "flat_leaves": "leaves have loadings of their own only where the corpus shares Υ; here every "
    "document has one",
    "normalised": "unit='normalised' needs scores that are independent but for their sum; those of "
    "a hierarchy are not: use unit='words'",
    "left_to_right": "left_to_right needs a Υ that documents share; completion works for every "
    "model",
    "evidence": "evidence has no sampler that anneals leaves and nodes",
}


def build_rows(
    structure: Structure,
    kind: str = "shared",
    psi: npt.ArrayLike = 1.0,
    *,
    upsilon: Any = None,
    learn_psi: bool = False,
    worth: float = 0.0,
) -> Rows:
    """The prior of Υ from what users call it; `upsilon` is Υ itself, in place of a prior. worth:
    how many rows the prior of a learned ψ is worth, around where it begins.

    >>> build_rows(Structure.flat(2), "document").per_document
    True
    """
    if upsilon is not None:
        return FixedRows.build(structure, upsilon)
    make: Any = StickRows if kind.endswith("phi") else DirichletRows
    pseudo, begin = None, np.asarray(psi, dtype=np.float64)
    if learn_psi and worth:
        pair = begin.tolist() if begin.shape == (2,) else [float(begin)] * 2
        pseudo = Pseudo(worth, *pair)
    rows: Rows = make.build(
        structure,
        psi,
        per_document=kind.startswith("document"),
        learn_psi=learn_psi,
        pseudo=pseudo,
    )
    return rows


@dataclass(frozen=True, eq=False)
class StructuredScores:
    """Scores of leaves, and Υ that spreads them over nodes: B09 3.1.

    >>> rows = build_rows(Structure.from_parents([2, 2, -1]))
    >>> scores = StructuredScores(DirichletScores.build(2, 0.5), rows)
    >>> scores.n_components, scores.n_leaves, scores.alpha
    (3, 2, array([0.5, 0.5]))
    """

    leaves: LeafScores
    rows: Rows
    pseudo: Pseudo | None = None  # the prior of what leaves learn

    __eq__ = equal_fields

    @property
    def structure(self) -> Structure:
        """Which nodes the words of a leaf may come from."""
        return self.rows.structure

    @property
    def n_components(self) -> int:
        """H: the nodes."""
        return self.structure.n_nodes

    @property
    def n_leaves(self) -> int:
        """K."""
        return self.structure.n_leaves

    @property
    def capabilities(self) -> Capabilities:
        """Everything by sampling; with a Υ that the corpus shares, ST is a flat model of leaves and
        has what that has."""
        shared, leaves = not self.rows.per_document, self.leaves.capabilities
        has_mean_field = shared and leaves.fixed_point == "mean-field"
        return Capabilities(
            moments=False,
            fixed_point="leaves" if has_mean_field else None,
            sampling="tokens",
            tokens="pairs",
            exposure=leaves.exposure,
            proper=leaves.proper,
            flat_leaves=shared,
            searches=True,
            comparable=False,
            why=_WHY,
        )

    @property
    def slots(self) -> Slots:
        """Scores of nodes and leaves, and Υ."""
        return Slots(
            scores=True,
            own={"leaf_scores": (None, self.n_leaves), "upsilon": (self.structure.n_pairs,)},
        )

    @property
    def nodes(self) -> Nodes:
        """Leaves in front, and the nodes above them."""
        structure = self.structure
        return Nodes(structure.names, structure.edges, structure.is_leaf, structure.parents)

    def parameters(self) -> tuple[Parameter, ...]:
        """Those of the leaves, and ψ where Υ has a prior."""
        return (*self.leaves.parameters(), *self.rows.parameters())

    @property
    def learned(self) -> tuple[str, ...]:
        """Names of the hyper-parameters that a fit updates."""
        return learned_names(self.parameters())

    @property
    def alpha(self) -> FloatArray:
        """α of the leaves, (K)."""
        return self.leaves.alpha

    @property
    def beta(self) -> FloatArray:
        """β of the leaves, (K), where they have one."""
        beta: FloatArray = getattr(self.leaves, "beta")  # noqa: B009 an AttributeError is meant
        return beta

    @property
    def rho(self) -> FloatArray:
        """ρ of the leaves, (K), where they have one."""
        rho: FloatArray = getattr(self.leaves, "rho")  # noqa: B009
        return rho

    @property
    def psi(self) -> FloatArray:
        """ψ, the prior of Υ, where it has one: (P), or (H, 2) for φ."""
        psi: FloatArray = getattr(self.rows, "psi")  # noqa: B009
        return psi

    def with_values(self, **changes: Any) -> StructuredScores:
        """With other hyper-parameters, of the leaves or of Υ."""
        of_rows = {name: changes.pop(name) for name in ("psi", "learn_psi") if name in changes}
        leaves = self.leaves.with_values(**changes) if changes else self.leaves
        rows = replace(self.rows, **of_rows) if of_rows else self.rows
        return replace(self, leaves=leaves, rows=rows)

    def stored(self) -> dict[str, Any]:
        """What a file says beside the parameters; `restored` is the way back."""
        entry = {
            "leaves": _leaf_model(self.leaves).key,
            "scores": self.leaves.stored(),
            "rows": self.rows.stored(),
            "structure": json.loads(self.structure.to_json()),
        }
        return entry if self.pseudo is None else {**entry, "pseudo": self.pseudo.stored()}

    @classmethod
    def restored(cls, entry: Mapping[str, Any], arrays: Mapping[str, Any]) -> StructuredScores:
        """From a file; a ValueError where its parts contradict each other."""
        structure = Structure.from_json(json.dumps(entry["structure"]))
        leaves = LEAF_MODELS[entry["leaves"]].scores_type.restored(entry["scores"], arrays)
        if leaves.n_components != structure.n_leaves:
            raise ValueError(
                f"priors of {leaves.n_components} leaves for a structure of {structure.n_leaves}"
            )
        rows = restored_rows(structure, entry["rows"], arrays)
        return cls(leaves, rows, Pseudo.restored(entry.get("pseudo")))

    def pairs_seen(self, C: Table, S: Table, exposure: FloatArray) -> Both:
        """What `learn_from_pairs` needs of documents with the words C by leaf and S; it adds."""
        return Both(self.leaves.counts_seen(C, exposure), self.rows.seen(S))

    def learn_from_pairs(self, seen: Both) -> tuple[StructuredScores, tuple[str, ...]]:
        """One step of learning the priors of leaves from their words C (B09 5.5), and that of Υ
        from S (5.6)."""
        leaves, capped = self.leaves.learn_from_counts(seen.first, self.pseudo)
        rows, of_rows = self.rows.learn(seen.second)
        return replace(self, leaves=leaves, rows=rows), (*capped, *of_rows)

    def node_scores(self, of_leaves: FloatArray, upsilon: Table) -> FloatArray:
        """qΥ (I, H) from leaf scores (I, K) and Υ (P), or (R, P) with R = 1 or one row per
        document: B09 3.2."""
        upsilon = np.atleast_2d(upsilon)
        if len(upsilon) == 1:
            return np.asarray(of_leaves @ self.structure.table(upsilon[0]))
        out = np.empty((len(of_leaves), self.n_components))
        for first in range(0, len(of_leaves), CHUNK):
            part = slice(first, first + CHUNK)
            pairs = of_leaves[part][:, self.structure.leaf] * upsilon[part]
            out[part] = pairs @ self.structure.to_nodes
        return out

    def posterior_means(
        self, C: Table, S: Table, exposure: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """E[scores] of leaves (I, K) and nodes (I, H), given words by leaf C and counts S of Υ:
        given them, scores and Υ are independent."""
        of_leaves = self.leaves.posterior_mean(C, exposure)
        if len(S) == 1 or not self.rows.per_document:
            return of_leaves, self.node_scores(of_leaves, self.rows.mean(S))
        of_nodes = np.empty((len(C), self.n_components))
        for first in range(0, len(C), CHUNK):
            part = slice(first, first + CHUNK)
            of_nodes[part] = self.node_scores(of_leaves[part], self.rows.mean(S[part]))
        return of_leaves, of_nodes

    def draw_prior(self, n_docs: int, rng: np.random.Generator) -> FloatArray:
        """Scores of nodes (I, H) from the prior."""
        nothing = np.zeros((n_docs, self.n_leaves))
        of_leaves = self.leaves.draw(nothing, np.zeros(n_docs), rng)
        rows = n_docs if self.rows.per_document else 1
        return self.node_scores(of_leaves, self.rows.draw(np.zeros((rows, self.rows.width)), rng))

    def pooled_upsilon(self, S: Table) -> FloatArray:
        """Υ (P) of the corpus: E[Υ | S], and where documents have their own, that of all their
        words taken together."""
        return np.asarray(self.rows.mean(S.sum(axis=0, keepdims=True))[0])

    def log_moment(self, C: Table, S: Table, exposure: FloatArray) -> float:
        """log p(leaves and nodes of all words) with scores and Υ integrated out: B09 (2)–(5)."""
        return float(self.leaves.log_moment(C, exposure).sum() + self.rows.log_moment(S).sum())


LEAF_MODELS: dict[str, Any] = {
    model.key: model for model in (DirichletMultinomial, GammaPoisson, ConditionalGammaPoisson)
}


def _leaf_model(leaves: LeafScores) -> Any:
    """The class of the flat model that has such scores."""
    return next(model for model in LEAF_MODELS.values() if model.scores_type is type(leaves))


def _pseudo_of(leaves: LeafScores) -> Pseudo | None:
    """The prior of what leaves learn, around where they begin; none where nothing is learned."""
    if not leaves.learned:
        return None
    beta = float(leaves.beta.mean()) if isinstance(leaves, GammaScores) else 1.0
    return Pseudo(WORTH, float(leaves.alpha.mean()), beta)


PSI = Option(
    "psi",
    "prior",
    "of the nodes above a leaf: a number, a pair for phi, or auto.",
    default="auto",
    words=("auto",),
)
_STRUCTURE = (
    Option(
        "structure",
        "word",
        "shared, phi, document or document-phi. Without a tree, mask or upsilon the nodes above "
        "the leaves are searched for.",
        default="shared",
        metavar="NAME",
        panel="Hierarchies",
    ),
    Option(
        "leaves",
        "model",
        f"scores of leaves, {', '.join(LEAF_MODELS)}.",
        default="DM",
        metavar="NAME",
        panel="Hierarchies",
    ),
)
_GIVEN = (
    Option("mask", "file", "leaves × nodes, not 0 where allowed, as JSON.", panel="Hierarchies"),
    Option("upsilon", "file", "Υ itself, leaves × nodes, as JSON.", panel="Hierarchies"),
)
_SEARCH = (
    Option(
        "search_at",
        "whole",
        "sweeps before the search.",
        least=1,
        shown="half of the burn-in",
        panel="Hierarchies",
    ),
    Option("max_nodes", "whole", "nodes at most.", least=1, shown="2K - 1", panel="Hierarchies"),
    Option(
        "search_score",
        "word",
        "variational, or paper, which finds nothing.",
        shown="variational",
        metavar="NAME",
        panel="Hierarchies",
    ),
)


def start_psi(kind: str) -> Any:
    """ψ where "auto" says so. Rows of documents begin alike: with a weak prior every document makes
    its own, and nothing is left to share (docs/decisions/0014 has the figures).

    >>> start_psi("shared"), start_psi("document-phi")
    (1.0, (5.0, 10.0))
    """
    return {"document": 5.0, "document-phi": (5.0, 10.0)}.get(kind, 1.0)


def _resolve_structure(request: Request) -> Structure | None:
    """The structure that was typed; None where one is to be searched for."""
    check_one_size(request, "n_components", "depth")
    tree, branching, depth = (request.get(name) for name in ("tree", "branching", "depth"))
    if tree is None and (branching is not None or depth is not None):
        tree = typed_tree(None, branching, depth)
    return typed_structure(
        request.get("n_components"), tree, request.get("mask"), request.get("upsilon")
    )


def _check_leaf_options(request: Request, leaves: str) -> None:
    """An error where a prior was given that these leaves do not have."""
    for option in (ALPHA, BETA, RHO):
        users = [key for key, model in LEAF_MODELS.items() if option in model.options]
        if leaves not in users and not option.is_default(request.get(option.name, option.default)):
            raise option.refused_by(leaves, users)


def _resolve_rows(request: Request, structure: Structure, searches: bool) -> Rows:
    """The prior of Υ that was typed. ψ is learned where it is "auto" (B09 5.6)."""
    kind, upsilon = request.get("structure", "shared"), request.get("upsilon")
    if kind not in KINDS:
        raise InvalidParameter(f"structure must be one of {', '.join(KINDS)}; got {kind!r}")
    psi = request.get("psi", "auto")
    word = is_word("psi", psi, PSI.words)
    if upsilon is not None and (kind != "shared" or word is None):
        what = f"structure={kind!r}" if kind != "shared" else "psi="
        raise UnsupportedCombination(f"a given upsilon has no prior: leave out {what}")
    if word is None and searches:
        psi = 1.0  # of nodes that are yet to be found, the search knows it
    return build_rows(
        structure,
        kind,
        start_psi(kind) if word else psi,
        upsilon=upsilon,
        learn_psi=word == "auto" and upsilon is None,
        worth=WORTH,
    )


@dataclass(frozen=True)
class Structured:
    """Leaf scores from DM, GP or CGP; node h of leaf c with probability υ_ch; words from θ_h: B09.

    >>> model = Structured.build(Structure.from_parents([2, 2, -1]), "phi", leaves="GP")
    >>> model.key, model.n_components, model.leaf_model.key, model.has_exposure
    ('ST', 3, 'GP', True)
    """

    scores: StructuredScores
    loadings: DirichletLoadings = field(default_factory=DirichletLoadings)

    key: ClassVar[str] = "ST"
    long_name: ClassVar[str] = "structured"
    scores_type: ClassVar[type[StructuredScores]] = StructuredScores
    estimator: ClassVar[str] = "StructuredDCA"
    options: ClassVar[tuple[Option, ...]] = (
        ALPHA,
        BETA,
        RHO,
        PSI,
        *_STRUCTURE,
        TREE,
        BRANCHING,
        DEPTH,
        *_GIVEN,
        *_SEARCH,
    )

    @classmethod
    def build(
        cls,
        structure: Structure,
        kind: str = "shared",
        *,
        leaves: str = "DM",
        psi: npt.ArrayLike = 1.0,
        upsilon: Any = None,
        learn_psi: bool = False,
        gamma: npt.ArrayLike = 0.5,
        **scores: Any,
    ) -> Structured:
        """The model from plain numbers: those of the leaves as DM, GP or CGP take them."""
        built = LEAF_MODELS[leaves].scores_type.build(structure.n_leaves, **scores)
        rows = build_rows(structure, kind, psi, upsilon=upsilon, learn_psi=learn_psi)
        return cls(StructuredScores(built, rows), DirichletLoadings(gamma))

    @classmethod
    def resolve(cls, request: Request) -> Structured:
        """The model from what was typed; of K leaves on their own where nothing says what nodes lie
        above them. Leaves hear what a flat model of them would."""
        given = _resolve_structure(request)
        structure = Structure.flat(request.components()) if given is None else given
        rows = _resolve_rows(request, structure, searches=given is None)
        leaves = request.get("leaves", "DM")
        if leaves not in LEAF_MODELS:
            known = ", ".join(LEAF_MODELS)
            raise InvalidParameter(f"leaves must be one of {known}; got {leaves!r}")
        _check_leaf_options(request, leaves)
        typed = {**request.given, "n_components": structure.n_leaves}
        flat = LEAF_MODELS[leaves].resolve(replace(request, given=typed))
        if flat.loadings.is_own or flat.loadings.names is not None:
            raise UnsupportedCombination(
                "model ST has one prior for the loadings of all its nodes: seed_words=, fixed=, "
                "allowed= and a gamma of two axes are for flat components and trees"
            )
        prior = _pseudo_of(flat.scores)
        return cls(StructuredScores(flat.scores, rows, prior), flat.loadings)

    def wishes(self, request: Request) -> Wishes:
        """A search where no structure was given. Chains settle slowly, before one and with what is
        given (docs/decisions/0014, 0049)."""
        options = {option.name: request.get(option.name) for option in _SEARCH}
        of_search = {name: value for name, value in options.items() if value is not None}
        if _resolve_structure(request) is not None:
            if of_search:
                raise InvalidParameter(
                    f"{next(iter(of_search))} is of a search, and the structure is given"
                )
            return Wishes(settle=True)
        if "max_nodes" in of_search:
            whole_number("max_nodes", of_search["max_nodes"], self.scores.n_leaves)
        names = {"search_at": "at", "search_score": "score", "max_nodes": "max_nodes"}
        search = {names[name]: value for name, value in of_search.items()}
        return Wishes(search={**search, "psi": self._search_psi(request)}, settle=True)

    def _search_psi(self, request: Request) -> float | tuple[float, ...]:
        """ψ of the nodes that a search will find."""
        psi = request.get("psi", "auto")
        value = np.asarray(start_psi(self.scores.rows.kind) if isinstance(psi, str) else psi, float)
        if value.ndim and value.shape != (2,):
            raise InvalidParameter(
                "psi of a structure that is yet to be found must be a number, or a pair (stop, go "
                f"on) for φ; got shape {value.shape}"
            )
        return tuple(value.tolist()) if value.ndim else float(value)

    @property
    def structure(self) -> Structure:
        """Which nodes the words of a leaf may come from."""
        return self.scores.structure

    @property
    def n_components(self) -> int:
        """H: the nodes."""
        return self.scores.n_components

    @property
    def has_exposure(self) -> bool:
        """Whether documents have an exposure: that of the leaves' model."""
        return bool(self.leaf_model.has_exposure)

    @property
    def leaf_model(self) -> Any:
        """The flat model of the leaves: DM, GP or CGP with K components."""
        return _leaf_model(self.scores.leaves)(self.scores.leaves, self.loadings)

    def with_scores(self, **changes: Any) -> Structured:
        """The same model with other hyper-parameters of the scores."""
        return replace(self, scores=self.scores.with_values(**changes))

    def with_loadings(self, loadings: DirichletLoadings) -> Structured:
        """The same model with another prior of the loadings."""
        return replace(self, loadings=loadings)

    def without_zeros(self) -> Structured:
        """Scores of nodes are no single scores that could be 0: itself."""
        return self

    def with_given_upsilon(self, upsilon: npt.NDArray[Any]) -> Structured:
        """With Υ (P) given where the corpus shares it; documents' own stay unknown."""
        if self.scores.rows.per_document:
            return self
        rows = FixedRows(self.structure, np.asarray(upsilon, dtype=np.float64))
        return replace(self, scores=replace(self.scores, rows=rows))

    def with_structure(self, structure: Structure, psi: npt.ArrayLike = 1.0) -> Structured:
        """The same leaves with other nodes above them, whose prior is ψ."""
        rows = self.scores.rows
        worth = 0.0 if isinstance(rows, FixedRows) or rows.pseudo is None else rows.pseudo.worth
        fresh = build_rows(structure, rows.kind, psi, learn_psi=rows.learn_psi, worth=worth)
        return replace(self, scores=replace(self.scores, rows=fresh))

    def log_constant(self, observed: Observations, *, combinatoric: bool) -> FloatArray:
        """Per document, the terms of log p(w) that no parameter changes."""
        value: FloatArray = self.leaf_model.log_constant(observed, combinatoric=combinatoric)
        return value

    def log_likelihood(
        self,
        observed: Observations,
        scores: FloatArray,
        Theta: FloatArray,
        *,
        combinatoric: bool = False,
    ) -> FloatArray:
        """log p(w | scores, Θ) per document, with scores of nodes (I, H) and Θ (J, H)."""
        value: FloatArray = self.leaf_model.log_likelihood(
            observed, scores, Theta, combinatoric=combinatoric
        )
        return value

    def log_joint(
        self,
        observed: Observations,
        scores: FloatArray,
        Theta: FloatArray,
        *,
        combinatoric: bool = False,
    ) -> float:
        """None: scores of nodes are sums over leaves, whose density has no closed form; the
        samplers' log joint has scores and Υ integrated out (`StructuredScores.log_moment`)."""
        raise UnsupportedCombination(
            "model ST has no density of node scores in closed form; its log joint is that of "
            "leaves and nodes of the words, `StructuredScores.log_moment`"
        )

    def simulate(
        self,
        features: FeatureSpace,
        size: npt.ArrayLike,
        rng: np.random.Generator,
        Theta: FloatArray | None = None,
    ) -> tuple[Counts, FloatArray, FloatArray]:
        """Counts, node scores (I, H) and Θ (J, H) drawn from the model; `size` = tokens (DM) or
        exposure per document (and block)."""
        if Theta is None:
            Theta = self.loadings.simulate(features.blocks, self.n_components, rng)
        sizes = np.asarray(size, dtype=np.float64)
        sizes = sizes[:, None] if sizes.ndim == 1 else sizes
        sizes = np.broadcast_to(sizes, (len(sizes), features.n_blocks))
        rows, n_docs = self.scores.rows, len(sizes)
        nothing = np.zeros((n_docs if rows.per_document else 1, rows.width))
        of_leaves = self.scores.leaves.draw_prior(n_docs, rng)
        scores = self.scores.node_scores(of_leaves, rows.draw(nothing, rng))
        total = scores.sum(axis=1, keepdims=True)
        totals = rng.poisson(sizes * total) if self.has_exposure else sizes.astype(np.int64)
        shares = np.where(total > 0, scores, 1.0)
        shares /= shares.sum(axis=1, keepdims=True)
        return draw_words(features, shares, Theta, totals, rng), scores, Theta
