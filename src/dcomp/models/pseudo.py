"""Small conjugate priors of learned hyper-parameters: documents that nobody wrote (B09 5.5).

The conjugate prior of a Dirichlet's α is, in logs, worth · (ln Γ(Σα) − Σ ln Γ(α_k) + Σ (α_k − 1)
E_k): what `worth` documents with the expected logs E would add to the likelihood. Where E is that
of Dirichlet(alpha), its maximum is alpha. The same holds of gammas with E[l] and E[log l].
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import digamma

from dcomp.models.arrays import FloatArray
from dcomp.models.sums import Sums

WORTH = 1.0  # documents (rows, nodes): enough to hold what no data hold, too few to be heard else


@dataclass(frozen=True)
class Pseudo:
    """`worth` documents with the scores that a prior of these numbers expects; of words that stop
    and go on, alpha is of the former and beta of the latter.

    >>> Pseudo(1.0, 0.5).logs(2).round(3)
    array([-1.386, -1.386])
    """

    worth: float
    alpha: float
    beta: float = 1.0

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not (is_number and math.isfinite(value) and value > 0):
                raise ValueError(f"{name} must be a positive number; found {str(value)[:40]}")

    @classmethod
    def restored(cls, entry: Any) -> Pseudo | None:
        """From a file; of those that know nothing of it, none.

        >>> Pseudo.restored({"worth": 1.0, "alpha": 0.1, "beta": 1.0}), Pseudo.restored(None)
        (Pseudo(worth=1.0, alpha=0.1, beta=1.0), None)
        """
        if entry is None:
            return None
        if not isinstance(entry, Mapping) or set(entry) != {"worth", "alpha", "beta"}:
            raise ValueError(f"pseudo must have worth, alpha and beta; found {str(entry)[:40]}")
        return cls(**entry)

    def stored(self) -> dict[str, float]:
        """What a file says."""
        return asdict(self)

    def logs(self, n: int) -> FloatArray:
        """E[log m] of Dirichlet(alpha, …, alpha) over n components."""
        return np.full(n, float(digamma(self.alpha) - digamma(n * self.alpha)))

    def pair_logs(self) -> FloatArray:
        """E[log φ] and E[log (1 − φ)] of φ ~ Beta(alpha, beta)."""
        return np.asarray(digamma([self.alpha, self.beta]) - digamma(self.alpha + self.beta))

    def sums(self, n: int) -> Sums:
        """What GP and CGP learn from, of such documents; as many more have a zero."""
        one = np.full(n, self.worth)
        return Sums(
            {
                "present": one,
                "scores": one * self.alpha / self.beta,
                "log_scores": one * float(digamma(self.alpha) - np.log(self.beta)),
                "n_docs": 2 * one,
            }
        )
