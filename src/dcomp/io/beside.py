"""Files that belong together by their names: x.bed with x.bim and x.fam, votes with members."""

from __future__ import annotations

from pathlib import Path

from dcomp.errors import InvalidFile
from dcomp.io.files import plain_name

_PACKED = ("", ".xz", ".gz", ".bz2")


def own_vocabulary(path: Path) -> Path:
    """The file of names that belongs to this file alone.

    >>> own_vocabulary(Path("a/x.mtx")).as_posix()
    'a/x.mtx.vocab.txt'
    """
    return path.with_name(f"{path.name}.vocab.txt")


def vocabularies(path: Path, shared: str) -> list[Path]:
    """Where names may be: in the file's own; in that of the same file before it was packed or
    unpacked, where that is gone; in the one called `shared`, as others write it.

    >>> [place.name for place in vocabularies(Path("x.mtx"), "x.vocab.txt")][:2]
    ['x.mtx.vocab.txt', 'x.mtx.xz.vocab.txt']
    """
    others = (path.with_name(plain_name(path) + suffix) for suffix in _PACKED)
    gone = [own_vocabulary(other) for other in others if other != path and not other.exists()]
    return [own_vocabulary(path), *gone, path.with_name(shared)]


def renamed(path: Path, old: str, new: str) -> Path | None:
    """The file beside this one whose name has `new` in place of the last `old`, packed or not.

    >>> renamed(Path("S108_votes.csv"), "votes", "members") is None
    True
    """
    name = plain_name(path)
    if old not in name:
        return None
    head, _, tail = name.rpartition(old)
    found = (path.with_name(head + new + tail + suffix) for suffix in _PACKED)
    return next((place for place in found if place.is_file()), None)


def required(path: Path, old: str, new: str, what: str) -> Path:
    """The same, or an error that says what was looked for and what it would hold.

    >>> required(Path("x.bed"), ".bed", ".fam", "the people")
    Traceback (most recent call last):
    dcomp.errors.InvalidFile: x.bed: there must be x.fam beside it, which has the people; \
it is not there
    """
    found = renamed(path, old, new)
    if found is None:
        wanted = plain_name(path).removesuffix(old) + new
        raise InvalidFile(
            f"{path}: there must be {wanted} beside it, which has {what}; it is not there"
        )
    return found
