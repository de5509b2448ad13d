"""Which dcomp this is."""

from __future__ import annotations


def package_version() -> str:
    """The installed version of dcomp.

    >>> package_version() != ""
    True
    """
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("dcomp")
    except PackageNotFoundError:  # run from a source tree
        return "0+unknown"
