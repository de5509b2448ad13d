"""The one door by which files are written: each is either whole or not there.

A file is written beside its target, flushed to the disk, and then renamed. A full disk, a kill or
an exception leaves the old file as it was; what a killed process left behind is removed by the
next one that writes in the same folder (docs/decisions/0029-files.md).
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from dcomp.printable import printable

if sys.platform == "win32":
    fcntl = None  # files of killed processes then stay
else:
    import fcntl

StrPath = str | os.PathLike[str]

_PART = re.compile(r"\.dcomp-[0-9a-f]{16}\.part")
_FOLDER = re.compile(r"dcomp-[0-9a-f]{16}")
_DESCRIPTOR = re.compile(r"(?:/proc/(self|thread-self|\d+)|/dev)/fd/(\d+)")
_OF_DISKS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_LINKS = 40  # that Linux follows


@contextmanager
def atomic_write(path: StrPath, *, overwrite: bool = True) -> Iterator[IO[bytes]]:
    """Open a stream whose content takes the place of `path` only if the block ends well.

    A link's target is written, not the link. A file that is replaced leaves its mode, and its owner
    where that is allowed. Devices, pipes and open descriptors (/dev/stdout) have no place that
    could be taken: they are written as they are.

    >>> with atomic_write("counts.txt") as stream:
    ...     _ = stream.write(b"3 4")
    >>> Path("counts.txt").read_text()
    '3 4'
    """
    plain = _opened_plainly(path)
    if plain is not None:
        with named(path), plain as stream:
            yield stream
        return
    target = resolved(path)
    check_place(target, overwrite=overwrite)
    _remove_leftovers(target.parent)
    with named(path), _part_beside(target) as (stream, part):
        yield stream
        stream.flush()
        os.fsync(stream.fileno())
        _put(part, target, overwrite)
    _flush_folder(target.parent)


@contextmanager
def named(path: StrPath) -> Iterator[None]:
    """The system names no file when a disk is full or cannot be read."""
    try:
        yield
    except OSError as error:
        if error.errno in _OF_DISKS and error.filename is None:
            error.filename = str(path)
        raise


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder for what is read or written twice; gone at the end. One that a killed process left
    behind is removed by the next that makes one, and is told by a lock as half-written files are.

    >>> with temporary_folder() as folder:
    ...     _ = (folder / "a").write_text("b")
    >>> folder.exists()
    False
    """
    within = Path(tempfile.gettempdir())
    _remove_left_folders(within)
    while True:
        folder = within / f"dcomp-{secrets.token_hex(8)}"
        folder.mkdir(mode=0o700)
        number = None
        with suppress(OSError):  # on systems where folders are not opened
            number = os.open(folder, os.O_RDONLY)
            _lock(number)
        if folder.is_dir():
            break  # or someone took it for a leftover before it was locked
        if number is not None:
            os.close(number)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if number is not None:
            os.close(number)


def is_plain(path: StrPath) -> bool:
    """Whether `path` is, or will be, a file with a place of its own: no device, pipe or open
    descriptor."""
    if _descriptor(path) is not None:
        return False
    try:
        kind = os.stat(path).st_mode
    except OSError:  # there is none yet, or it cannot be reached
        return True
    return stat.S_ISREG(kind) or stat.S_ISDIR(kind)


def resolved(path: StrPath) -> Path:
    """Where a file is written: behind all links, whether there is one already or not."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, "its links lead back to themselves", str(path))
    return target


def check_place(target: Path, *, overwrite: bool, how: str = "overwrite=True") -> None:
    """An error unless a file can be put there; `how` says what to give to replace one."""
    name = printable(target)
    if target.is_dir():
        raise IsADirectoryError(f"{name} is a folder; a file name is needed")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {printable(target.parent)} does not exist")
    if target.exists():
        if not overwrite:
            raise FileExistsError(f"{name} exists already; give {how} to replace it")
        if not os.access(target, os.W_OK):
            raise PermissionError(f"{name} is write-protected")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise PermissionError(
            f"the folder {printable(target.parent)} cannot be written to; a file is written whole "
            "in its folder before it takes its name"
        )


def _opened_plainly(path: StrPath) -> IO[bytes] | None:
    """A stream to a device, a pipe or an open descriptor; None for any other path."""
    number = _descriptor(path)
    if number is not None:
        if number == 1:
            sys.stdout.flush()
        return os.fdopen(os.dup(number), "wb")
    return None if is_plain(path) else open(path, "wb")


def _descriptor(path: StrPath) -> int | None:
    """The number of the open file of this process that a path such as /dev/stdout stands for."""
    place = os.path.abspath(path)
    for _ in range(_LINKS):
        found = _DESCRIPTOR.fullmatch(place)
        if found and found[1] in (None, "self", "thread-self", str(os.getpid())):
            return int(found[2])
        if not os.path.islink(place):
            return None
        place = os.path.normpath(os.path.join(os.path.dirname(place), os.readlink(place)))
    return None


@contextmanager
def _part_beside(target: Path) -> Iterator[tuple[IO[bytes], Path]]:
    """A new file in the folder of the target, locked as long as this process writes it; gone at the
    end if it has not taken its place."""
    while True:
        part = target.with_name(f".dcomp-{secrets.token_hex(8)}.part")
        # The umask applies to a new file; one that will replace another may be private.
        mode = 0o600 if target.exists() else 0o666
        number = os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR | _flag("O_CLOEXEC"), mode)
        stream = os.fdopen(number, "w+b")
        _lock(number)
        if os.fstat(number).st_nlink:
            break
        stream.close()  # someone took it for a leftover before it was locked
    try:
        with stream:
            yield stream, part
    finally:
        part.unlink(missing_ok=True)


def _put(part: Path, target: Path, overwrite: bool) -> None:
    """In its place, still open and locked, so that nobody takes it for a leftover."""
    if overwrite:
        with suppress(FileNotFoundError):
            _take_over(part, os.stat(target))
        part.replace(target)
        return
    try:
        os.link(part, target)  # which a file that has appeared meanwhile stops; a rename would not
    except FileExistsError:
        raise FileExistsError(f"{printable(target)} has appeared meanwhile") from None
    except OSError:  # a file system without links
        check_place(target, overwrite=False)
        part.replace(target)


def _take_over(part: Path, old: os.stat_result) -> None:
    """The owner, group and mode of the file that is replaced, as far as it is allowed."""
    mode = stat.S_IMODE(old.st_mode)
    if hasattr(os, "chown"):
        with suppress(PermissionError):
            os.chown(part, old.st_uid, -1)
        try:
            os.chown(part, -1, old.st_gid)
        except PermissionError:
            mode = mode & ~0o070 | (mode & 0o007) << 3  # another group gets no more than all have
    part.chmod(mode)


def _remove_leftovers(folder: Path) -> None:
    """Remove what killed processes left: files of our name and user that nobody holds a lock on."""
    if fcntl is None:
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _PART.fullmatch(entry.name):
                with suppress(OSError):
                    _remove_unless_locked(entry.path)


def _remove_unless_locked(path: str) -> None:
    number = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        about = os.fstat(number)
        if stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid():
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)  # an error while someone writes
            os.unlink(path)
    finally:
        os.close(number)


def _remove_left_folders(within: Path) -> None:
    """The same of folders."""
    if fcntl is None:
        return
    with suppress(OSError), os.scandir(within) as entries:
        for entry in entries:
            if _FOLDER.fullmatch(entry.name):
                with suppress(OSError):
                    _remove_folder_unless_locked(entry.path)


def _remove_folder_unless_locked(path: str) -> None:
    number = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(number).st_uid == os.geteuid():
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(number)


def _lock(number: int) -> None:
    if fcntl is not None:
        with suppress(OSError):  # without locks nothing is locked, and nothing is removed
            fcntl.flock(number, fcntl.LOCK_EX)


def _flush_folder(folder: Path) -> None:
    """The new name on the disk, where the system can say so."""
    if hasattr(os, "O_DIRECTORY"):
        with suppress(OSError):
            number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(number)
            finally:
                os.close(number)


def _flag(name: str) -> int:
    return int(getattr(os, name, 0))
