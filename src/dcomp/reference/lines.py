"""Scores of one document along lines, in plain NumPy: what `cpp/src/lines.cpp` does (Neal 2003).

The target is p(l | w) ∝ Π_k l_k^(α_k − 1) e^(−b_k l_k) Π_j (Θl)_j^w_j, the words' allocation summed
out; l_k may be exactly 0 with prior probability ρ_k. What the words say is linear in l, and
α log l − b l + w log(Θl), the density of log l, is concave: it has one mode l*, and there the
curvature P = diag(α / l*²) + Θ' diag(w / y*²) Θ. Slices go along

- the axes of P over the bulk, the components whose scores exceed half a deviation 1/√P_kk: no move
  takes one out of the bulk, so that the bulk seen from where a move ends is the same;
- log l_k, the bulk making up for it by −P_oo⁻¹ P_ok;
- a jump of l_k between 0 and a proposal, made up for likewise: the map has Jacobian 1, so that the
  ratio of the densities, with the prior's constant and the proposal's, decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from dcomp.models.arrays import FloatArray

ACTIVE = 0.5  # words at the mode
WIDTH, LOG_WIDTH = 3.0, 5.0  # of a slice's first bracket
BROAD = 0.2  # how often a birth is proposed near the prior


@dataclass(frozen=True, eq=False)
class Document:
    """Words, loadings and priors of one document; `beta` and `rho` where scores can be 0.

    >>> Theta = np.array([[0.6, 0.1], [0.3, 0.2], [0.1, 0.7]])
    >>> one = Document(np.array([5.0, 4, 9]), Theta, np.ones(2), np.ones(2))
    >>> np.allclose(one.slope(one.mode), 0, atol=1e-6)
    True
    """

    w: FloatArray  # (J)
    Theta: FloatArray  # (J, K)
    alpha: FloatArray  # (K)
    b: FloatArray  # (K): the prior's rate and the exposure
    beta: FloatArray | None = None
    rho: FloatArray | None = None

    def slope(self, l: FloatArray) -> FloatArray:  # noqa: E741 the letter of MODELS §1
        """Of the density of log l, in terms of l."""
        return np.asarray(self.alpha / l - self.b + self.Theta.T @ (self.w / (self.Theta @ l)))

    def curvature(self, l: FloatArray) -> FloatArray:  # noqa: E741
        """P at l."""
        weighed = self.Theta * (self.w / (self.Theta @ l) ** 2)[:, None]
        return np.asarray(np.diag(self.alpha / l**2) + self.Theta.T @ weighed)

    @property
    def mode(self) -> FloatArray:
        """l*: EM, then Newton's steps that stay positive."""
        l = (self.alpha + self.w.sum() / len(self.alpha)) / self.b  # noqa: E741
        for _ in range(50):
            l = (self.alpha + l * (self.Theta.T @ (self.w / (self.Theta @ l)))) / self.b  # noqa: E741
        for _ in range(60):
            move = np.linalg.solve(self.curvature(l), self.slope(l)) / l
            l = l * (1 + min(1.0, 0.9 / max(-move.min(), 1e-300)) * move)  # noqa: E741
        return np.asarray(l)

    def log_density(self, l: FloatArray) -> float:  # noqa: E741
        """Of l, but for a constant; exact zeros by their probability."""
        on = l > 0
        value = float(((self.alpha - 1)[on] * np.log(l[on]) - (self.b * l)[on]).sum())
        y = self.Theta @ l
        if (y <= 0).any():
            return -np.inf
        if self.rho is not None and self.beta is not None:
            born = np.log1p(-self.rho) + self.alpha * np.log(self.beta) - gammaln(self.alpha)
            value += float(born[on].sum() + np.log(self.rho[~on]).sum())
        return value + float((self.w * np.log(y)).sum())


class Walk:
    """Scores of a document on their way: `sweep` moves them and leaves their posterior alone."""

    def __init__(self, of: Document, rng: np.random.Generator) -> None:
        self.of, self.rng, self.l = of, rng, of.mode
        self.mode, self.P = of.mode, of.curvature(of.mode)
        self.floor = 0.5 / np.sqrt(np.diag(self.P))
        words = self.mode * (of.Theta.T @ (of.w / (of.Theta @ self.mode)))
        self.active = np.flatnonzero(words > ACTIVE).tolist()
        self.c = np.zeros(len(of.alpha), np.int64)
        self.split()

    def sweep(self) -> FloatArray:
        """Scores given c, along lines, and a new split; the scores are returned."""
        self.draw_given_words()
        if self.of.rho is not None:
            for k in self.active:
                self.toggle(k)
        self.along_axes()
        for k in self.active:
            if self.l[k] > 0:
                self.along_score(k)
        self.split()
        return self.l.copy()

    def draw_given_words(self) -> None:
        """BJ06 table III."""
        of = self.of
        self.l = np.maximum(self.rng.gamma(of.alpha + self.c) / of.b, 1e-290)
        if of.rho is not None and of.beta is not None:
            stays = (1 - of.rho) * (of.beta / of.b) ** of.alpha
            zero = (self.c == 0) & (self.rng.random(len(self.l)) < of.rho / (of.rho + stays))
            self.l[zero] = 0

    def split(self) -> None:
        """Every count over the components, in proportion to θ l."""
        share = self.of.Theta * self.l
        share /= share.sum(axis=1, keepdims=True)
        counts = self.of.w.astype(np.int64)
        self.c = np.array(
            [self.rng.multinomial(n, p) for n, p in zip(counts, share, strict=True)]
        ).sum(axis=0)

    def bulk(self, but: int = -1) -> list[int]:
        """Active components of the size that the curvature speaks of."""
        return [int(k) for k in self.active if k != but and self.l[k] > self.floor[k]]

    def density(self, l: FloatArray, bulk: list[int]) -> float:  # noqa: E741
        """log p(l), and nothing where a component has left the bulk."""
        return self.of.log_density(l) if (l[bulk] > self.floor[bulk]).all() else -np.inf

    def along_axes(self) -> None:
        """Directions that P makes independent."""
        on = self.bulk()
        if not on:
            return
        axes = np.linalg.inv(np.linalg.cholesky(self.P[np.ix_(on, on)])).T
        for d in axes.T:
            start = self.l.copy()

            def there(t: float, start: FloatArray = start, d: FloatArray = d) -> FloatArray:
                moved = start.copy()
                moved[on] += t * d
                return moved

            t = self.slice_of(lambda t: self.density(there(t), on), 0.0, WIDTH)
            self.l = there(t)

    def compensation(self, k: int) -> tuple[list[int], FloatArray]:
        """The bulk without k, and how it makes up for a change of l_k by 1."""
        on = self.bulk(k)
        if not on:
            return on, np.zeros(0)
        return on, np.asarray(-np.linalg.solve(self.P[np.ix_(on, on)], self.P[on, k]), float)

    def along_score(self, k: int) -> None:
        """log l_k, with the Jacobian l_k."""
        on, d = self.compensation(k)
        start = self.l.copy()

        def there(x: float) -> FloatArray:
            moved = start.copy()
            moved[on] += (np.exp(x) - start[k]) * d
            moved[k] = np.exp(x)
            return moved

        x = self.slice_of(lambda x: x + self.density(there(x), on), np.log(start[k]), LOG_WIDTH)
        self.l = there(x)

    def toggle(self, k: int) -> None:
        """l_k from 0 to a proposal, or back."""
        on, d = self.compensation(k)
        pull = self.P[:, k] + self.P[:, on] @ d
        gone = [h for h in self.active if h != k and h not in on]
        centre = self.mode[k] + float(pull[gone] @ self.mode[gone]) / pull[k]
        birth = _Birth(float(self.of.alpha[k]), centre, float(pull[k]))
        is_birth = self.l[k] == 0
        x = birth.draw(self.rng) if is_birth else float(self.l[k])
        with_k, without = self.l.copy(), self.l.copy()
        if is_birth:
            with_k[on] += x * d
            with_k[k] = x
        else:
            without[on] -= x * d
            without[k] = 0
        gain = self.density(with_k, on) - self.density(without, on) - birth.log_density(x)
        if np.log(self.rng.random()) < (gain if is_birth else -gain):
            self.l = with_k if is_birth else without

    def slice_of(self, height: Callable[[float], float], x: float, width: float) -> float:
        """A draw from the slice around x: stepping out and shrinking in."""
        with np.errstate(over="ignore"):
            level = height(x) + np.log(self.rng.random())
            left = x - width * self.rng.random()
            right = left + width
            while height(left) > level:
                left -= width
            while height(right) > level:
                right += width
            while True:
                trial = self.rng.uniform(left, right)
                if height(trial) > level:
                    return float(trial)
                left, right = (trial, right) if trial < x else (left, trial)


class _Birth:
    """A mixture of two gammas: with the centre and curvature that the mode foretells, and broad."""

    def __init__(self, alpha: float, centre: float, precision: float) -> None:
        scale = max(centre, 1 / np.sqrt(precision))
        first = max(centre**2 * precision, alpha) if centre > 0 else alpha
        self.shape = np.array([first, alpha])
        self.rate = self.shape / scale

    def draw(self, rng: np.random.Generator) -> float:
        which = int(rng.random() < BROAD)
        return float(max(rng.gamma(self.shape[which]) / self.rate[which], 1e-290))

    def log_density(self, x: float) -> float:
        a, r = self.shape, self.rate
        terms = a * np.log(r) - gammaln(a) + (a - 1) * np.log(x) - r * x
        return float(np.logaddexp(*(terms + np.log([1 - BROAD, BROAD]))))
