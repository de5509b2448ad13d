"""NumPy's own threads, kept to one while a fit runs.

The products of a fit are small beside its sweeps. Spread over the threads of a BLAS they gain
nothing, wait for each other by spinning (on a machine with other work two milliseconds became a
second), come on top of `n_jobs`, and end in other bits on a machine with other cores.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_limits = ExitStack()  # what gives the threads back
_inside = 0  # fits that run now, side by side or one within another


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """The limit is of the whole process: it begins with the first fit and ends with the last.

    >>> import numpy as np
    >>> with one_blas_thread():
    ...     float((np.ones((2, 2)) @ np.ones((2, 2))).sum())
    8.0
    """
    global _inside
    with _lock:
        if _inside == 0:
            _limits.enter_context(ThreadpoolController().limit(limits=1, user_api="blas"))
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limits.close()
