"""How many components: what is known of each K."""

from __future__ import annotations

from typing import Any


def selection(found: Any, *, ax: Any = None) -> Any:
    """Held-out score and evidence with error bars, coherence, and stability against K, a panel
    each; a dotted line is at the K that is recommended.

    found: what `evaluate.select_components` found. ax: as many axes as panels; they are returned.

    >>> import numpy as np
    >>> import dcomp
    >>> from matplotlib.figure import Figure
    >>> X = np.random.default_rng(0).poisson([[4, 4, 0, 0]] * 9 + [[0, 0, 4, 4]] * 9)
    >>> found = dcomp.evaluate.select_components(
    ...     X, [1, 2], n_chains=2, n_starts=1, max_iter=5, with_evidence=False)
    >>> axes = selection(found, ax=Figure().subplots(2, 2))
    >>> axes[0].get_title()
    'held-out log-likelihood per token'
    """
    return found.plot(ax)
