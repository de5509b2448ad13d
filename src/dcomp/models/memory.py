"""Whether a fit can have the memory that it needs, as far as that is known before it begins.

What is said of it in README: roughly the input plus 3·J·K + 2·I·K numbers of four bytes.
"""

from __future__ import annotations

import os
from pathlib import Path

from dcomp.errors import InvalidParameter

_PER_FEATURE, _PER_DOCUMENT = 3, 2  # tables of K numbers
_NUMBER = 4  # bytes
_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def require_memory(n_docs: int, n_features: int, n_components: int) -> None:
    """An error where a fit needs more memory than there is.

    >>> require_memory(10, 10, 65_535)
    """
    tables = (_PER_FEATURE * n_features + _PER_DOCUMENT * n_docs) * n_components
    what = f"a fit of {n_docs:,} documents, {n_features:,} features and {n_components:,} components"
    require_bytes(_NUMBER * tables, what)


def require_bytes(need: int, what: str) -> None:
    """An error where there is less memory than that.

    >>> require_bytes(10**18, "a fit of everything")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    dcomp.errors.InvalidParameter: a fit of everything needs about 1,000,000,000.0 GB, and this \
process can have ... GB: take fewer components, or fewer features (rare ones cost as much as others)
    """
    most = memory_limit()
    if most is not None and need > most:
        raise InvalidParameter(
            f"{what} needs about {_gigabytes(need)}, and this process can have {_gigabytes(most)}: "
            "take fewer components, or fewer features (rare ones cost as much as others)"
        )


def memory_limit() -> int | None:
    """Bytes that this process can have at most: of the machine, of its group, and of itself; None
    where the system does not say."""
    limits = []
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for path in map(Path, _GROUPS):
        text = path.read_text().strip() if path.is_file() else ""
        if text.isdigit():
            limits.append(int(text))
    try:
        import resource
    except ImportError:  # Windows
        return min(limits, default=None)
    own, _ = resource.getrlimit(resource.RLIMIT_AS)
    if own != resource.RLIM_INFINITY:
        limits.append(own)
    return min(limits, default=None)


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:,.1f} GB"
