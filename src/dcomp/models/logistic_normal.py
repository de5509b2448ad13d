"""LN, the logistic-normal model (CTM): η ~ N(μ0, Σ0), m = softmax(η), w ~ Multinomial(L, Θm).

B18 7.1; with blocks, one multinomial per block with shared scores (BJ06 IV.D). softmax(η + t) is
softmax(η), so that one direction of η is free: η is centred here, Σ_k η_k = 0, and so are μ0 and
Σ0, whose rows sum to 0 (MODELS §3). No component is set apart as a reference.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.models.arrays import (
    FloatArray,
    component_count,
    equal_fields,
    read_only,
    stored_flag,
    stored_vector,
)
from dcomp.models.loadings import DirichletLoadings
from dcomp.models.memory import require_bytes
from dcomp.models.multinomial import MultinomialModel
from dcomp.models.options import Option, Request, is_word
from dcomp.models.prior import Capabilities, Parameter, Slots, learned_names
from dcomp.models.pseudo import WORTH

# Variances along the principal axes of Σ0 are kept in here.
MOST = 1e150  # of a given μ0 or Σ0
VARIANCE_FLOOR, VARIANCE_CAP = 1e-4, 1e4
_CAPABILITIES = Capabilities(
    moments=False,
    fixed_point="laplace",
    why={
        "sampling": "it has no sampler; fold_in gives the mode of the scores and its variances",
        "bound": "Laplace's method gives no bound on log p(w | Θ)",
        "normalised": "a logistic normal score has no such probability in closed form; unit "
        "'words' counts by expected words",
        "left_to_right": "left_to_right needs a score prior that can be integrated out token by "
        "token; completion works for every model",
        "evidence": "evidence needs a score prior that can be integrated out",
    },
)


def centred(values: npt.ArrayLike) -> FloatArray:
    """Each row less its mean: η with its free shift taken out.

    >>> centred([1.0, 2.0, 6.0])
    array([-2., -1.,  3.])
    """
    array = np.asarray(values, dtype=np.float64)
    mean = array.mean(axis=-1, keepdims=True)
    # What is centred but for rounding stays as it is, so that a file gives back what it was given.
    if np.all(np.abs(mean) <= 1e-12 * np.abs(array).max(initial=0.0)):
        return array
    return np.asarray(array - mean)


def centred_covariance(Sigma: npt.ArrayLike) -> FloatArray:
    """C Σ Cᵀ with C = I − 11ᵀ/K: the covariance of the centred η.

    >>> centred_covariance(np.eye(2))
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    half = centred(np.asarray(Sigma, dtype=np.float64))
    whole = centred(half.T)
    return np.asarray((whole + whole.T) / 2)


def uncorrelated(Sigma: FloatArray) -> FloatArray:
    """C D C with the variances of the centred Σ: what it would be for independent components.

    diag(C D C)_k = d_k (1 − 2/K) + Σd/K² is solved for the diagonal d; where that would be negative
    0 is the nearest. Two components have nothing but a variance.

    >>> Sigma = centred_covariance(np.diag([1.0, 2.0, 3.0, 4.0]))
    >>> bool(np.allclose(uncorrelated(Sigma), Sigma))
    True
    """
    K = len(Sigma)
    if K <= 2:
        return Sigma
    s = np.diag(Sigma)
    d = (s - s.sum() / (K * (K - 1))) / (1 - 2 / K)  # Σd = Σs · K/(K − 1)
    return centred_covariance(np.diag(np.maximum(d, 0.0)))


@dataclass(frozen=True, eq=False)
class LogisticNormalScores:
    """m = softmax(η), η ~ N(μ0, Σ0) with Σ_k η_k = 0.

    shrinkage: how far a learned Σ0 is drawn to that of independent components with the same
    variances: a number from 0 (not at all) to 1, or None for the share that its own sampling error
    suggests. worth: of the conjugate prior of what is learned, in documents with η ~ N(0, I).

    >>> LogisticNormalScores.build(3, mu0=[0.0, 0.0, 3.0]).mu0
    array([-1., -1.,  2.])
    """

    mu0: FloatArray  # (K)
    Sigma0: FloatArray  # (K, K): rank K − 1
    learn_mu0: bool = False
    learn_Sigma0: bool = False
    shrinkage: float | None = 0.0
    worth: float = 0.0

    __eq__ = equal_fields

    @classmethod
    def build(
        cls,
        n_components: int,
        mu0: npt.ArrayLike = 0.0,
        Sigma0: npt.ArrayLike = 1.0,
        *,
        learn_mu0: bool = False,
        learn_Sigma0: bool = False,
        shrinkage: float | None = 0.0,
        worth: float = 0.0,
    ) -> LogisticNormalScores:
        """μ0 a number or K numbers; Σ0 a variance, K variances or a matrix; both are centred. Where
        learned, they are the start of the learning."""
        K = component_count(n_components)
        # As it is, factored and inverted.
        require_bytes(4 * 8 * K * K, f"the covariance of {K:,} components")
        mean = np.array(mu0, dtype=np.float64)
        if mean.shape not in ((), (K,)) or not _is_moderate(mean):
            raise InvalidParameter(
                f"mu0 must be a finite number or one per component ({K}), none beyond "
                f"{MOST:g}; got {mu0!r}"
            )
        if shrinkage is not None and not 0 <= shrinkage <= 1:
            raise InvalidParameter(f"shrinkage must lie in [0, 1]; got {shrinkage!r}")
        if not 0 <= worth < np.inf:
            raise InvalidParameter(f"worth must be a number of documents, 0 or more; got {worth!r}")
        return cls(
            read_only(centred(np.broadcast_to(mean, (K,)))),
            read_only(centred_covariance(_covariance(Sigma0, K))),
            bool(learn_mu0),
            bool(learn_Sigma0),
            None if shrinkage is None else float(shrinkage),
            float(worth),
        )

    @property
    def n_components(self) -> int:
        """K."""
        return len(self.mu0)

    @property
    def capabilities(self) -> Capabilities:
        """Not conjugate: the mode of η, and nothing in closed form."""
        return _CAPABILITIES

    @property
    def slots(self) -> Slots:
        """There is no sampler that could record."""
        return Slots()

    @property
    def nodes(self) -> None:
        """Components are on their own."""

    def parameters(self) -> tuple[Parameter, ...]:
        """μ0 and Σ0."""
        return (
            Parameter("mu0", self.mu0, self.learn_mu0, lower=-np.inf, heat=0),
            Parameter("Sigma0", self.Sigma0, self.learn_Sigma0, lower=-np.inf, heat=0),
        )

    @property
    def learned(self) -> tuple[str, ...]:
        """Names of the hyper-parameters that a fit updates."""
        return learned_names(self.parameters())

    def with_values(self, **changes: Any) -> LogisticNormalScores:
        """With other hyper-parameters."""
        return replace(self, **changes)

    def stored(self) -> dict[str, Any]:
        """What a file says beside the parameters; `restored` is the way back."""
        return {
            "learn_mu0": self.learn_mu0,
            "learn_Sigma0": self.learn_Sigma0,
            "shrinkage": self.shrinkage,
            "worth": self.worth,
        }

    @classmethod
    def restored(cls, entry: Mapping[str, Any], arrays: Mapping[str, Any]) -> LogisticNormalScores:
        """From a file."""
        mu0, Sigma0 = stored_vector("mu0", arrays), arrays.get("Sigma0")
        if Sigma0 is None or Sigma0.shape != (len(mu0), len(mu0)):
            raise ValueError(f"Sigma0 must be a matrix of {len(mu0)} × {len(mu0)} numbers")
        flags = {name: stored_flag(entry, name) for name in ("learn_mu0", "learn_Sigma0")}
        how = {"shrinkage": entry["shrinkage"], "worth": entry.get("worth", 0.0)}
        return cls.build(len(mu0), mu0, Sigma0, **flags, **how)

    def learn_from_modes(
        self, eta: FloatArray, S: FloatArray, squares: float, n_docs: int
    ) -> tuple[LogisticNormalScores, tuple[str, ...]]:
        """With μ0 = mean η_d and Σ0 = mean S_d about the new μ0, drawn to independent components by
        the shrinkage; and whether Σ0 is at a limit (MODELS §3).

        eta (K), S (K, K): sums over documents of η_d and of S_d = Σ_d + (η_d − μ0)(η_d − μ0)ᵀ;
        squares: the sum of S_d's squares off its diagonal. The means are taken with `worth` more
        documents, of mean 0 (or the given μ0) and covariance I: a normal-inverse-Wishart prior.
        """
        old, mean = self.mu0, eta / n_docs
        changes: dict[str, Any] = {}
        if self.learn_mu0:
            changes["mu0"] = read_only(centred(eta / (n_docs + self.worth)))
        if not self.learn_Sigma0:
            return replace(self, **changes), ()
        moved, off = changes.get("mu0", old) - old, mean - old
        # S about the new μ0 from that about the old one.
        about = S / n_docs - np.outer(off, moved) - np.outer(moved, off)
        Sigma0 = centred_covariance(about + np.outer(moved, moved))
        if self.worth:
            at = changes.get("mu0", np.zeros(len(old)))
            own = centred_covariance(np.eye(len(old)) + np.outer(at, at))
            Sigma0 = (n_docs * Sigma0 + self.worth * own) / (n_docs + self.worth)
        share = self.shrinkage
        if share is None:
            share = suggested_shrinkage(Sigma0, S, squares, n_docs)
        Sigma0, capped = _within_limits((1 - share) * Sigma0 + share * uncorrelated(Sigma0))
        return replace(self, **changes, Sigma0=read_only(Sigma0)), capped

    def precision(self) -> tuple[FloatArray, float]:
        """P (K, K), the inverse of Σ0 among centred vectors and 1 along (1, …, 1), and log |P|.

        With the 1 in the free direction P has an inverse, and a centred η stays centred.

        >>> P, log_det = LogisticNormalScores.build(2, Sigma0=2.0).precision()
        >>> P.round(6).tolist(), round(log_det, 6)
        ([[0.75, 0.25], [0.25, 0.75]], -0.693147)
        """
        K = self.n_components
        values, vectors = np.linalg.eigh(self.Sigma0 + np.full((K, K), 1 / K))
        values = np.clip(values, VARIANCE_FLOOR, VARIANCE_CAP)
        P = (vectors / values) @ vectors.T
        return np.asarray((P + P.T) / 2), float(-np.log(values).sum())

    def covariances(self, eta: FloatArray, lengths: FloatArray) -> FloatArray:
        """Σ_d (I, K, K) of documents with modes eta (I, K) and so many words: the inverse of P +
        L (diag m − m mᵀ) among centred vectors (B18 (7.9)); rows sum to 0.

        >>> prior = LogisticNormalScores.build(2, Sigma0=2.0)
        >>> prior.covariances(np.zeros((2, 2)), np.array([0.0, 6.0])).round(6).tolist()
        [[[1.0, -1.0], [-1.0, 1.0]], [[0.142857, -0.142857], [-0.142857, 0.142857]]]
        """
        K = self.n_components
        require_bytes(3 * 8 * len(eta) * K * K, f"the covariances of {len(eta):,} documents")
        P, _ = self.precision()
        m = softmax(eta, axis=1)
        L = np.asarray(lengths, dtype=np.float64)[:, None, None]
        curvature = P + L * (np.eye(K) * m[:, :, None] - m[:, :, None] * m[:, None, :])
        found = np.linalg.inv(curvature) - 1 / K  # less the free shift's own variance
        return np.asarray((found + found.transpose(0, 2, 1)) / 2)

    def correlation(self) -> FloatArray:
        """Correlations (K, K) of the centred η under the prior.

        A centred η_k is log m_k less the mean of the log shares, so that no component serves as a
        reference. The price of centring: independent components of one variance have −1/(K − 1)
        and not 0. A correlation is read against that, which matters where K is small.

        >>> LogisticNormalScores.build(3).correlation().round(3)[0]
        array([ 1. , -0.5, -0.5])
        """
        sd = np.sqrt(np.maximum(np.diag(self.Sigma0), 0.0))
        product = np.outer(sd, sd)
        value = np.where(product > 0, self.Sigma0 / np.maximum(product, 1e-300), 0.0)
        np.fill_diagonal(value, 1.0)
        return np.asarray(np.clip(value, -1.0, 1.0))

    def log_density(self, m: FloatArray) -> FloatArray:
        """log p(η) per document at η = log m centred: a density over the K − 1 free dimensions."""
        P, log_det = self.precision()
        delta = centred(np.log(m)) - self.mu0
        constant = 0.5 * log_det - 0.5 * (self.n_components - 1) * np.log(2 * np.pi)
        return np.asarray(constant - 0.5 * np.einsum("ik,kl,il->i", delta, P, delta))

    def draw_prior(self, n_docs: int, rng: np.random.Generator) -> FloatArray:
        """m (I, K) from the prior."""
        values, vectors = np.linalg.eigh(self.Sigma0)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        eta = self.mu0 + rng.standard_normal((n_docs, self.n_components)) @ root.T
        return np.asarray(softmax(eta, axis=1))


def suggested_shrinkage(Sigma0: FloatArray, S: FloatArray, squares: float, n_docs: int) -> float:
    """The share of least expected squared error off the diagonal: the variance of Σ0, from the
    spread of S_d, over its squared distance to `uncorrelated`."""
    distance = _off_diagonal(Sigma0 - uncorrelated(Sigma0))
    if n_docs < 2 or distance < 1e-20:
        return 1.0
    spread = squares / n_docs - _off_diagonal(S / n_docs)
    return float(np.clip(spread / (n_docs - 1) / distance, 0.0, 1.0))


def _off_diagonal(matrix: FloatArray) -> float:
    return float((matrix**2).sum() - (np.diag(matrix) ** 2).sum())


def _within_limits(Sigma0: FloatArray) -> tuple[FloatArray, tuple[str, ...]]:
    """Σ0 with the variances of its principal axes between floor and cap."""
    K = len(Sigma0)
    values, vectors = np.linalg.eigh(Sigma0 + np.full((K, K), 1 / K))
    if values[0] >= VARIANCE_FLOOR and values[-1] <= VARIANCE_CAP:
        return Sigma0, ()
    values = np.clip(values, VARIANCE_FLOOR, VARIANCE_CAP)
    return centred_covariance((vectors * values) @ vectors.T), ("Sigma0",)


def _is_moderate(values: FloatArray) -> bool:
    """Whether sums and squares of these are numbers."""
    return bool(np.all(np.abs(values) <= MOST))


def _covariance(Sigma0: npt.ArrayLike, K: int) -> FloatArray:
    """(K, K) from a variance, K variances or a matrix; an error unless it can be a covariance."""
    value = np.array(Sigma0, dtype=np.float64)
    if value.ndim < 2 and value.shape in ((), (K,)):
        value = np.diag(np.broadcast_to(value, (K,)))
    sound = value.shape == (K, K) and _is_moderate(value)
    if not sound or not np.allclose(value, value.T, rtol=1e-6, atol=1e-9):
        raise InvalidParameter(
            f"Sigma0 must be a variance, one per component ({K}), or a symmetric {K} × {K} matrix "
            f"of finite numbers, none beyond {MOST:g}; got shape {value.shape}"
        )
    values = np.linalg.eigvalsh(value)
    if values[0] < -1e-8 * max(values[-1], 1e-300) or values[-1] <= 0:
        raise InvalidParameter(
            f"Sigma0 must be a covariance, without negative variance in any direction; found "
            f"{values[0]:g}"
        )
    return value


SHRINKAGE = Option(
    "shrinkage",
    "prior",
    "how far correlations are drawn to none: a number from 0 to 1, or auto.",
    default=0.0,
    words=("auto",),
)


MU0 = Option(
    "mu0",
    "prior",
    "mean of the scores' logs: auto (learned) or a number; in Python also one per component.",
    default="auto",
    words=("auto",),
)
SIGMA0 = Option(
    "Sigma0",
    "prior",
    "their covariance: auto (learned) or a variance; in Python also one per component, or a "
    "matrix.",
    default="auto",
    words=("auto",),
    flags=("--sigma0",),
)


def resolve_shrinkage(shrinkage: Any) -> float | None:
    """How far Σ0 is drawn to independent components: a number from 0 to 1, None for 0, or "auto",
    which the scores hold as None.

    >>> resolve_shrinkage("auto"), resolve_shrinkage(None), resolve_shrinkage(1)
    (None, 0.0, 1.0)
    """
    if is_word("shrinkage", shrinkage, SHRINKAGE.words) == "auto":
        return None
    is_number = isinstance(shrinkage, numbers.Real) and not isinstance(shrinkage, bool)
    if shrinkage is not None and not (is_number and 0 <= shrinkage <= 1):
        raise InvalidParameter(
            f"shrinkage must be 'auto' or a number from 0 to 1; got {shrinkage!r}"
        )
    return 0.0 if shrinkage is None else float(shrinkage)


@dataclass(frozen=True)
class LogisticNormal(MultinomialModel):
    """η ~ N(μ0, Σ0), m = softmax(η), w ~ Multinomial(L, Θm), θ_k ~ Dirichlet(γ): B18 (7.2)–(7.4).

    >>> model = LogisticNormal.build(2, Sigma0=2.0)
    >>> model.n_components, model.key
    (2, 'LN')
    """

    scores: LogisticNormalScores
    loadings: DirichletLoadings = field(default_factory=DirichletLoadings)

    key: ClassVar[str] = "LN"
    long_name: ClassVar[str] = "logistic-normal"
    scores_type: ClassVar[type[LogisticNormalScores]] = LogisticNormalScores
    options: ClassVar[tuple[Option, ...]] = (SHRINKAGE, MU0, SIGMA0)

    @classmethod
    def build(
        cls, n_components: int, *, gamma: npt.ArrayLike = 0.5, **scores: Any
    ) -> LogisticNormal:
        """The model from plain numbers: mu0, Sigma0, shrinkage and what is learned."""
        return cls(LogisticNormalScores.build(n_components, **scores), DirichletLoadings(gamma))

    @classmethod
    def resolve(cls, request: Request) -> LogisticNormal:
        """The model from what was typed: μ0 and Σ0 are learned unless given."""
        K = request.components()
        given = {}
        for option in (MU0, SIGMA0):
            value = request.get(option.name, "auto")
            if is_word(option.name, value, option.words) is None:
                given[option.name] = value
        shrinkage = resolve_shrinkage(request.get("shrinkage"))
        if "Sigma0" in given and shrinkage != 0:
            raise UnsupportedCombination(
                "shrinkage= is of a learned Sigma0, and Sigma0 is given: leave one of them out"
            )
        scores = LogisticNormalScores.build(
            K,
            **given,
            learn_mu0="mu0" not in given,
            learn_Sigma0="Sigma0" not in given,
            shrinkage=shrinkage,
            worth=WORTH,
        )
        return cls(scores, request.loadings(K))
