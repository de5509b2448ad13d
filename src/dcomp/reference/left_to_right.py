"""log p(w | Θ) of a document with its scores integrated out: exactly, and from left to right.

With z the components of a document's tokens and c their counts, and words as a sequence,

    Z_n = Σ_z g(c) Π_{t ≤ n} θ_{w_t z_t},   Z_n / Z_{n−1} = E[Σ_k θ_{w_n k} g(c + 1_k) / g(c)]

where the expectation is over p(z | first n − 1 tokens) and the ratio is E[score_k | c] (MODELS §2).
Wallach et al. 2009 estimate these factors with particles. Here the particles are a particle filter:
they carry weights, are resampled when the weights have become uneven, and move by Gibbs steps at
earlier positions. The estimate of Z_L is then unbiased for any number of particles and steps
(the left-to-right of 2009 is not, without the weights; see Buntine 2009).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray
from dcomp.models.base import moment_scores
from dcomp.reference.gibbs import Tokens

IntArray = npt.NDArray[np.int64]


def exact_log_likelihood(model: Model, observed: Observations, Theta: FloatArray) -> FloatArray:
    """log p(w | Θ) per document, by adding up assignments with the same c: (L + 1)^(K − 1) of them.

    >>> from dcomp.data import Counts
    >>> from dcomp.models import DirichletMultinomial
    >>> model = DirichletMultinomial.build(2, alpha=1.0)
    >>> observed = Observations.build(Counts.from_matrix([[1, 1]]))
    >>> Theta = np.array([[1.0, 0.0], [0.0, 1.0]])  # one order of c = (1, 1), E[m_1 m_2] = 1/6
    >>> np.exp(exact_log_likelihood(model, observed, Theta)).round(6)
    array([0.166667])
    """
    tokens, K = Tokens.from_counts(observed.counts), model.n_components
    constant = model.log_constant(observed, combinatoric=False)
    out = np.empty(observed.counts.n_docs)
    for i in range(len(out)):
        words = tokens.feature[tokens.document == i]
        # table[c_1, …, c_K−1] = Σ Π θ over the assignments with these counts; c_K is the rest.
        table, log_scale = np.ones((1,) * (K - 1)), 0.0
        for j in words:
            table = _give(table, Theta[j])
            log_scale += float(np.log(table.max()))
            table = table / table.max()
        c = np.stack(np.meshgrid(*map(np.arange, table.shape), indexing="ij"), axis=-1)
        c = c.reshape(-1, K - 1)
        c = np.c_[c, len(words) - c.sum(axis=1)]
        log_moment = np.full(len(c), -np.inf)
        possible = c[:, -1] >= 0
        exposure = np.full(int(possible.sum()), observed.total_exposure[i])
        log_moment[possible] = moment_scores(model).log_moment(c[possible], exposure)
        with np.errstate(divide="ignore"):
            terms = np.log(table.ravel()) + log_moment
        out[i] = log_scale + np.logaddexp.reduce(terms)
    return out + constant


def _give(table: FloatArray, theta: FloatArray) -> FloatArray:
    """One token more: it goes to any of the components."""
    out = np.pad(theta[-1] * table, [(0, 1)] * table.ndim)
    for k in range(table.ndim):
        out += np.pad(theta[k] * table, [(int(a == k), int(a != k)) for a in range(table.ndim)])
    return out


def left_to_right(
    model: Model,
    observed: Observations,
    Theta: FloatArray,
    rng: np.random.Generator,
    *,
    particles: int = 20,
    moves: int = 100,
) -> FloatArray:
    """log of an unbiased estimate of p(w | Θ) per document.

    moves: Gibbs steps of each particle after each token, one at every position so far but never
    more than this: then they fall at random, or time would grow with the square of the length.
    """
    tokens = Tokens.from_counts(observed.counts)
    out = model.log_constant(observed, combinatoric=False).copy()
    nothing = np.zeros((observed.counts.n_docs, model.n_components))
    out += moment_scores(model).log_moment(nothing, observed.total_exposure)
    for i in range(len(out)):
        cloud = _Cloud(model, float(observed.total_exposure[i]), particles)
        words = cloud.in_order(tokens.feature[tokens.document == i], Theta)
        for j in words:
            out[i] += cloud.weigh(Theta[j])
            cloud.resample(rng)
            cloud.give(Theta[j], rng)
            cloud.move(words, Theta, moves, rng)
    return out


class _Cloud:
    """The particles of one document: components z of the tokens so far, their counts, weights."""

    def __init__(self, model: Model, exposure: float, particles: int) -> None:
        self.scores = moment_scores(model)
        self.exposure = np.full(particles, exposure)
        self.z = np.zeros((particles, 0), dtype=np.int64)
        self.c = np.zeros((particles, model.n_components))
        self.weight = np.full(particles, 1 / particles)

    def in_order(self, words: IntArray, Theta: FloatArray) -> IntArray:
        """Any order has the same probability: words that one component explains come first, so
        that particles agree on the tokens that decide the others."""
        p = self.scores.posterior_mean(self.c[:1], self.exposure[:1]) * Theta[words]
        return words[np.argsort(-p.max(axis=1) / p.sum(axis=1), kind="stable")]

    def weigh(self, theta: FloatArray) -> float:
        """The log of this token's factor; the weights follow."""
        factor = self.scores.posterior_mean(self.c, self.exposure) @ theta
        total = float(self.weight @ factor)
        self.weight = self.weight * factor / total
        return float(np.log(total))

    def resample(self, rng: np.random.Generator) -> None:
        """Systematic resampling when the effective number of particles falls below half."""
        R = len(self.weight)
        if 1 / (self.weight**2).sum() >= R / 2:
            return
        parent = np.searchsorted(np.cumsum(self.weight), (np.arange(R) + rng.random()) / R)
        parent = np.minimum(parent, R - 1)
        self.z, self.c = self.z[parent], self.c[parent]
        self.weight = np.full(R, 1 / R)

    def give(self, theta: FloatArray, rng: np.random.Generator) -> None:
        """Each particle draws the component of the next token given its earlier ones."""
        self.z = np.c_[self.z, self._draw(theta, rng)]
        self.c[np.arange(len(self.z)), self.z[:, -1]] += 1

    def move(
        self, words: IntArray, Theta: FloatArray, moves: int, rng: np.random.Generator
    ) -> None:
        """Gibbs steps, which leave p(z | words so far) as it is."""
        every, n = np.arange(len(self.z)), self.z.shape[1]
        for step in range(min(n, moves)):
            at = np.full(len(every), step) if n <= moves else rng.integers(n, size=len(every))
            self.c[every, self.z[every, at]] -= 1
            self.z[every, at] = self._draw(Theta[words[at]], rng)
            self.c[every, self.z[every, at]] += 1

    def _draw(self, theta: FloatArray, rng: np.random.Generator) -> IntArray:
        p = self.scores.posterior_mean(self.c, self.exposure) * theta
        up_to = np.cumsum(p, axis=1)
        return np.asarray((up_to <= rng.random((len(p), 1)) * up_to[:, -1:]).sum(axis=1))
