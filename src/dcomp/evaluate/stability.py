"""How sure the edges of a hierarchy are: which of them other chains find again (B09 §6).

Chains of a hierarchical model end in different trees, and the data may not tell which is right: B09
§6 calls such models very difficult to use for that reason. Here every other chain is compared with
the best one, node by node and edge by edge.

Nodes are matched by their loadings as in `dcomp.evaluate.align`, leaves with leaves and internal
nodes with internal nodes. The assignment gives a partner to whoever is left, however unlike, so a
pair counts as a match only if it is nearer to being the same node than to being two: with
d = 1 − s = 1 − Σ_j √(θ_jk θ'_jk'), the squared Hellinger distance,

    d(k, k') < ½ min(d(k, l), d(k', l')),

where l and l' are the most similar other nodes of each one's own chain. Those are two nodes by what
the model itself says, whatever words all nodes share, so that no threshold has to be chosen for the
corpus. Nodes without words all look like the prior, hence like each other, and match nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.data import FeatureSpace
from dcomp.errors import InvalidParameter, MissingDependency, UnsupportedCombination
from dcomp.evaluate.align import Alignment, Numbers, similarity
from dcomp.models import Nodes
from dcomp.models.arrays import FloatArray, read_only
from dcomp.printable import printable
from dcomp.result import Ending, Fit
from dcomp.result.ending import best_of
from dcomp.result.of_estimator import as_fit
from dcomp.result.tables import TopFeatures

NEAR = 0.5  # of the distance to the nearest other node of the same chain, within which two match
ROUNDING = 1e-5  # of similarities, from sums of loadings in single precision


@dataclass(frozen=True)
class EdgeFound:
    """One edge of the best chain, and what the other chains have of it."""

    child: int
    parent: int
    found: float  # share of the other chains where the partners of both have an edge
    together: float | None  # share of its siblings with whom the child has a common parent there
    # too, whoever that is; None for an only child
    child_match: float  # mean similarity of the child to its partners
    parent_match: float


@dataclass(frozen=True)
class NodeFound:
    """One node of the best chain, and its partners in the other chains."""

    node: int
    label: str  # its name or number, and its top features where they have names
    similarity: float  # mean over the other chains, 0 where nothing was left for a partner
    matched: float  # share of the other chains with a match


@dataclass(frozen=True, eq=False)
class EdgeStability:
    """Which edges of the best chain are in the other chains too.

    An edge is `found` in another chain if its child and its parent both have a match there and
    these have an edge. `together` asks less, for parents of general words match worse than their
    children: whether the same nodes hang side by side. `chance` is what `mean` would be if in each
    other chain any node of the child's kind (leaf or internal, the parent aside) were as likely to
    be the child's match, and all else as it is: a tree's edges to the root are always found.
    """

    edges: tuple[EdgeFound, ...]
    nodes: tuple[NodeFound, ...]
    partners: Numbers  # (C − 1, nodes): the match of each node in each other chain, or −1
    n_edges: tuple[int, ...]  # that each other chain has, (C − 1)
    behind: tuple[float, ...]  # how far each of them ended below the best one, in its objective
    chance: float
    left_out: int = 0  # chains that an interrupt cut short

    @property
    def n_chains(self) -> int:
        """All that were compared, the best one too."""
        return len(self.partners) + 1

    @property
    def mean(self) -> float | None:
        """Share of the other chains where an edge is found, on average; None without an edge."""
        return float(np.mean([edge.found for edge in self.edges])) if self.edges else None

    @property
    def in_all(self) -> int:
        """How many edges every other chain has."""
        return sum(edge.found == 1 for edge in self.edges)

    @property
    def in_none(self) -> int:
        """How many edges no other chain has."""
        return sum(edge.found == 0 for edge in self.edges)

    @property
    def _behind(self) -> str:
        least, most = f"{min(self.behind):,.0f}", f"{max(self.behind):,.0f}"
        return least if least == most else f"{least} to {most}"

    @property
    def warning(self) -> str | None:
        """What to beware of, where most edges are found in less than half of the other chains."""
        rare = sum(edge.found < 0.5 for edge in self.edges)
        if 2 * rare <= len(self.edges):
            return None
        return (
            f"{rare} of {len(self.edges)} edges are in less than half of the other chains. Either "
            f"the data do not tell, or those chains are stuck: they end {self._behind} below the "
            "best one. Do not rely on who lies below whom; more chains, slower annealing or fewer "
            "nodes may settle it."
        )

    @property
    def summary(self) -> str:
        """The whole in words."""
        parts = []
        if self.edges:
            parts.append(
                f"{self.n_chains} chains: of the {len(self.edges)} edges of the best one "
                f"{self.in_all} are in every other chain, {self.in_none} in none; on average an "
                f"edge is in {self.mean:.2f} of them ({self.chance:.2f} if nodes changed places)."
            )
        else:
            parts.append(f"{self.n_chains} chains: the best one has no edges.")
        if set(self.n_edges) != {len(self.edges)}:
            parts.append(f"The others have {', '.join(map(str, self.n_edges))} edges.")
        everywhere = sum(node.matched == 1 for node in self.nodes)
        parts.append(f"{everywhere} of {len(self.nodes)} nodes have a match in every other chain.")
        if self.left_out:
            parts.append(f"{self.left_out} chains that were cut short are left out.")
        return " ".join([*parts, *filter(None, [self.warning])])

    def text(self, n: int | None = 20) -> str:
        """The summary, and the n edges that are found least (all with None)."""
        lines = [self.summary]
        order = sorted(self.edges, key=lambda edge: (edge.found, edge.child, edge.parent))
        if order:
            lines.append(f"{'found':>6}{'together':>10}{'similar':>14}  child → parent")
        for edge in order[:n]:
            together = "–" if edge.together is None else f"{edge.together:.2f}"
            lines.append(
                f"{edge.found:6.2f}{together:>10}{edge.child_match:8.2f}, {edge.parent_match:.2f}"
                f"  {printable(self.nodes[edge.child].label)} → "
                f"{printable(self.nodes[edge.parent].label)}"
            )
        if n is not None and len(order) > n:
            lines.append(f"and {len(order) - n} edges more")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def to_frame(self, nodes: bool = False) -> Any:
        """The edges, or the nodes, as a pandas DataFrame (`dcomp[frames]`)."""
        try:
            import pandas
        except ImportError:
            raise MissingDependency(
                'a frame needs pandas, which is not installed: pip install "dcomp[frames]"'
            ) from None
        if nodes:
            return pandas.DataFrame(map(asdict, self.nodes), columns=list(_NODE)).set_index("node")
        frame = pandas.DataFrame(map(asdict, self.edges), columns=list(_EDGE))
        frame = frame.astype({"together": float})
        for end in ("child", "parent"):
            frame[f"{end}_label"] = [self.nodes[k].label for k in frame[end]]
        return frame.set_index(["child", "parent"])


_EDGE, _NODE = EdgeFound.__dataclass_fields__, NodeFound.__dataclass_fields__


def edge_stability(
    fit: Fit | Sequence[Ending], *, features: FeatureSpace | None = None, n_top: int = 3
) -> EdgeStability:
    """Compare the hierarchy of the best chain with those of the others, edge by edge.

    fit: of a hierarchical model by several chains, or its endings; then `features` gives names and
    blocks, where there are any. Chains of a sampler that an interrupt cut short are left out.
    n_top: top features in the label of each node.

    >>> import dcomp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.poisson([[3, 9, 9, 0, 0]] * 40 + [[3, 0, 0, 9, 9]] * 40)
    >>> model = dcomp.TreeDCA(2, 2, max_iter=60, n_chains=3, random_state=0, verbose=0).fit(X)
    >>> found = edge_stability(model.fit_)
    >>> found.n_chains, found.mean, [edge.child for edge in found.edges]
    (3, 1.0, [1, 2])
    """
    left_out = 0
    if hasattr(fit, "fit"):  # an estimator: endings have none
        fit = as_fit(fit)
    if isinstance(fit, Fit):
        if features is not None:
            raise InvalidParameter("a fit has its features: give them with endings alone")
        endings, features = _whole(fit), fit.features
        left_out = len(fit.endings) - len(endings)
    else:
        endings = list(fit)
    _check(endings, features)
    best = best_of(endings)
    one, others = endings[best], endings[:best] + endings[best + 1 :]
    blocks = np.zeros(len(one.Theta), np.int32) if features is None else features.blocks
    return _compared(one, others, blocks, _labels(one, features, n_top), left_out)


def _compared(
    one: Ending,
    others: list[Ending],
    blocks: npt.NDArray[np.int32],
    labels: list[str],
    left_out: int,
) -> EdgeStability:
    """Every edge of `one` against every other chain."""
    edges = _nodes(one).edges
    siblings = [[c for c, above in edges if above == p and c != child] for child, p in edges]
    matches = [_match(one, other, blocks) for other in others]
    partners = np.array([partner for partner, _ in matches])  # (C − 1, nodes)
    similar = np.mean([pairs for _, pairs in matches], axis=0).tolist()
    matched = (partners >= 0).mean(axis=0).tolist()
    each = [
        _found_again(edges, siblings, other, partner)
        for other, partner in zip(others, partners, strict=True)
    ]
    found, together, chance = np.mean(each, axis=0).tolist()
    rows = tuple(
        EdgeFound(c, p, found[e], together[e] if siblings[e] else None, similar[c], similar[p])
        for e, (c, p) in enumerate(edges)
    )
    nodes = tuple(NodeFound(k, label, similar[k], matched[k]) for k, label in enumerate(labels))
    return EdgeStability(
        rows,
        nodes,
        read_only(partners),
        tuple(len(_nodes(other).edges) for other in others),
        tuple(one.value - other.value for other in others),
        sum(chance) / max(len(edges), 1),
        left_out,
    )


def _found_again(
    edges: Sequence[tuple[int, int]], siblings: list[list[int]], other: Ending, partner: Numbers
) -> FloatArray:
    """(3, edges): found, together and chance in one other chain, given the matches of the nodes."""
    out = np.zeros((3, len(edges)))
    joined = _joined(other)
    common = joined @ joined.T > 0
    for e, (child, parent) in enumerate(edges):
        below, above = partner[child], partner[parent]
        if below >= 0 and above >= 0:
            out[0, e] = joined[below, above]
            out[2, e] = _at_random(other, joined, below, above)
        if below >= 0 and siblings[e]:
            near = partner[siblings[e]]
            out[1, e] = np.mean((near >= 0) & common[below, near])
    return out


def _match(one: Ending, other: Ending, blocks: npt.NDArray[np.int32]) -> tuple[Numbers, FloatArray]:
    """For each node of `one` its match in `other` or −1, and the similarity of the two that the
    assignment pairs, whether they match or not."""
    first, second = (np.asarray(x.Theta, dtype=np.float64) for x in (one, other))
    matrix = similarity(first, second, blocks)
    kinds = [np.asarray(_nodes(x).is_leaf) for x in (one, other)]
    partner, similar = np.full(len(matrix), -1), np.zeros(len(matrix))
    for leaves in (True, False):
        rows, columns = (np.flatnonzero(kind == leaves) for kind in kinds)
        if not (len(rows) and len(columns)):
            continue
        pairs = Alignment.from_similarity(matrix[np.ix_(rows, columns)])
        has = pairs.permutation >= 0
        partner[rows[has]] = columns[pairs.permutation[has]]
        similar[rows] = pairs.similarity
    # Of nodes without a partner the last column is looked up, and not used.
    nearest = np.maximum(_most_similar(first, blocks), _most_similar(second, blocks)[partner])
    near = 1 - similar + ROUNDING < NEAR * (1 - nearest)
    return np.where((partner >= 0) & near, partner, -1), similar


def _most_similar(Theta: FloatArray, blocks: npt.NDArray[np.int32]) -> FloatArray:
    """(nodes): the similarity of each node to the most similar other one of the same chain."""
    matrix = similarity(Theta, Theta, blocks)
    np.fill_diagonal(matrix, 0.0)
    return np.asarray(matrix.max(axis=1))


def _joined(ending: Ending) -> FloatArray:
    """(nodes, nodes): 1 where the first is a child of the second."""
    n_nodes = ending.Theta.shape[1]
    out = np.zeros((n_nodes, n_nodes))
    for child, parent in _nodes(ending).edges:
        out[child, parent] = 1
    return out


def _at_random(ending: Ending, joined: FloatArray, child: int, parent: int) -> float:
    """How often a node of the child's kind, the parent aside, lies below the parent."""
    is_leaf = np.asarray(_nodes(ending).is_leaf)
    kind = is_leaf == is_leaf[child]
    kind[parent] = False
    return float(joined[kind, parent].mean())


def _nodes(ending: Ending) -> Nodes:
    """The nodes of an ending, and their edges; `_check` has seen to it that there are some."""
    nodes = ending.model.scores.nodes
    assert nodes is not None
    return nodes


def _whole(fit: Fit) -> list[Ending]:
    """The endings but for chains of a sampler that are shorter than the best one; an error where
    fewer than two are left."""
    if fit.model.scores.nodes is None:
        raise UnsupportedCombination(
            f"the components of model {fit.model.key} have no edges to compare between chains; "
            "see dcomp.TreeDCA, and dcomp.evaluate.align_chains for components"
        )
    if not fit.endings:
        why = "this fit has 1 chain: fit with n_chains=4"
        if fit.chains:
            why = "this file is of a version that did not keep them: fit again"
        raise InvalidParameter(f"edges are compared between the endings of several chains; {why}")
    if not fit.algorithm.samples:
        return list(fit.endings)
    whole = len(fit.history)
    pairs = zip(fit.endings, fit.chains, strict=True)
    return [ending for ending, trace in pairs if len(trace) >= whole]


def _check(endings: list[Ending], features: FeatureSpace | None) -> None:
    if len(endings) < 2:
        raise InvalidParameter(
            f"edges are compared between chains: there must be 2 whole ones; there "
            f"{'is 1' if endings else 'is none'}: fit with n_chains=4"
        )
    for place, ending in enumerate(endings):
        if not (isinstance(ending, Ending) and ending.model.scores.nodes is not None):
            raise InvalidParameter(
                "edges are compared between endings of a model with edges (`Fit.endings`); number "
                f"{place} is a {type(ending).__name__}"
            )
    sizes = [len(ending.Theta) for ending in endings]
    sizes += [] if features is None else [features.n_features]
    if len(set(sizes)) > 1:
        raise InvalidParameter(f"endings must be over the same features; they have {sizes}")


def _labels(ending: Ending, features: FeatureSpace | None, n_top: int) -> list[str]:
    """Of each node its name, or its number, and the top features where these have names."""
    n_nodes = ending.Theta.shape[1]
    names = _nodes(ending).names
    if len(names) != n_nodes:
        names = tuple(str(k) for k in range(n_nodes))
    if features is None or features.names is None:
        return list(names)
    top = TopFeatures.build(ending.Theta, features, n_top, None)
    return [f"{name} ({' '.join(top[k])})" for k, name in enumerate(names)]
