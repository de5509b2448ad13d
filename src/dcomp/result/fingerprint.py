"""Which fit it is: what is made with one, as an index, can tell it from others."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from dcomp.result.fit import Fit
from dcomp.result.stored_state import model_entry, state_arrays

_OF_LOADINGS = ("state/n", "recorded/Theta")


def fingerprint(fit: Fit) -> str:
    """A digest of the priors and of what the loadings are made of: equal for a fit and the one that
    `load` reads of its file, on any machine; names of components do not matter.

    >>> import dcomp
    >>> fitted, other = (dcomp.LDA(k, verbose=0).fit([[3, 1], [0, 4]]).fit_ for k in (2, 3))
    >>> fingerprint(fitted) == fingerprint(fitted.rename(["a", "b"])), len(fingerprint(fitted))
    (True, 32)
    >>> fingerprint(fitted) == fingerprint(other)
    False
    """
    _, parameters = model_entry(fit.model)
    state = state_arrays(fit.state)
    arrays = parameters | {name: state[name] for name in _OF_LOADINGS if name in state}
    found = blake2b(fit.model.key.encode(), digest_size=16)
    for name in sorted(arrays):
        values = np.ascontiguousarray(arrays[name], "<f8")
        found.update(f"{name}{values.shape}".encode())
        found.update(values.reshape(-1).view(np.uint8).data)
    return found.hexdigest()
