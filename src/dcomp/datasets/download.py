"""Files from elsewhere: fetched once, held to a checksum, and kept (pooch does the fetching)."""

from __future__ import annotations

import hashlib
import importlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dcomp.atomic import atomic_write
from dcomp.errors import DcompError, InvalidFile, InvalidParameter, MissingDependency

FOLDER = "DCOMP_DATASETS"  # names the folder that files are kept in, if it is set
SECONDS = 30.0  # without an answer
_RECORD = ".sha256"  # beside a file that its owner may change: what it was when it was first taken


class DownloadFailed(DcompError, OSError):
    """A file could not be fetched, or is not the one that was meant; says what, from where, why."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A file at an address. Without a checksum (its owner may correct it at any time) that of the
    first download is recorded, and held to."""

    address: str
    name: str  # of the file that is kept
    checksum: str | None = None  # "sha256:…", or of another kind

    def at(self, mirror: str | None) -> str:
        """The address, or the same path at a mirror.

        >>> Remote("https://example.org/a/b.csv", "b.csv").at("http://127.0.0.1:80/")
        'http://127.0.0.1:80/a/b.csv'
        """
        if mirror is None:
            return self.address
        return mirror.rstrip("/") + urlsplit(self.address).path


def data_folder(folder: str | Path | None = None) -> Path:
    """Where downloads are kept: the folder given, that of DCOMP_DATASETS, or the user's cache."""
    if folder is not None:
        return Path(folder)
    if os.environ.get(FOLDER):
        return Path(os.environ[FOLDER])
    return Path(_pooch().os_cache("dcomp"))


def fetch(
    remote: Remote,
    *,
    folder: str | Path | None = None,
    mirror: str | None = None,
    refresh: bool = False,
) -> Path:
    """The file, downloaded unless it is there already and what it should be.

    `mirror` takes the place of the address up to its path. `refresh` fetches it again, and takes
    a changed one where no checksum is fixed.
    """
    if mirror is not None and urlsplit(mirror).scheme not in ("http", "https"):
        raise InvalidParameter(f"mirror must begin with http:// or https://; got {mirror!r}")
    kept = data_folder(folder) / remote.name
    record = kept.with_name(kept.name + _RECORD)
    known = remote.checksum
    if known is None and record.exists() and not refresh:
        known = _recorded(record)
    if not refresh and known is not None and kept.exists() and _checksum(kept, known) == known:
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    _retrieve(remote, remote.at(mirror), kept, known)
    if known is None:
        with atomic_write(record) as stream:
            stream.write(f"{_checksum(kept, 'sha256:')}\n".encode())
    return kept


def _retrieve(remote: Remote, address: str, kept: Path, known: str | None) -> None:
    """Fetch the file beside its place, and put it there if it is the one that was meant."""
    pooch: Any = _pooch()
    part = kept.with_name(kept.name + ".part")
    part.unlink(missing_ok=True)
    pooch.get_logger().setLevel("WARNING")
    how = pooch.HTTPDownloader(timeout=SECONDS)
    try:
        pooch.retrieve(address, known, fname=part.name, path=part.parent, downloader=how)
        os.replace(part, kept)
    except ValueError as error:
        if "hash" not in str(error):
            raise DownloadFailed(f"{address}: {_line(error)}") from None
        raise DownloadFailed(_changed(remote, address)) from None
    except OSError as error:  # those of requests and of sockets are OSErrors
        raise DownloadFailed(
            f"{remote.name} could not be fetched from {address}: {_line(error)}. What was fetched "
            "before is read without a network (folder= says where it is); mirror= names another "
            "server"
        ) from None


def _checksum(file: Path, like: str) -> str:
    """The checksum of a file, of the kind of another."""
    kind = like.partition(":")[0]
    with open(file, "rb") as stream:
        return f"{kind}:{hashlib.file_digest(stream, kind).hexdigest()}"


def _changed(remote: Remote, address: str) -> str:
    if remote.checksum is None:
        return (
            f"{address}: the file is not the one that was fetched first, as its checksum shows; "
            "its owner may have corrected it: refresh=True takes the new one"
        )
    return f"{address}: the file that came is not the one that was meant: its checksum is wrong"


def _recorded(record: Path) -> str:
    text = record.read_text(encoding="ascii", errors="replace").strip()
    kind, _, digest = text.partition(":")
    if kind != "sha256" or len(digest) != 64 or not all(c in "0123456789abcdef" for c in digest):
        raise InvalidFile(f"{record}: must hold sha256: and 64 digits; delete it to fetch again")
    return text


def _line(error: Exception) -> str:
    """What went wrong, as one line that says it: requests has pages for it."""
    reason: Any = error
    while getattr(reason, "args", None) and isinstance(reason.args[0], Exception):
        reason = reason.args[0]
    reason = getattr(reason, "reason", reason)
    return (
        f"{reason}".strip().splitlines()[0][:200] if f"{reason}".strip() else type(error).__name__
    )


def _pooch() -> Any:
    """pooch with what it fetches by, or what to do without them."""
    try:
        importlib.import_module("requests")
        return importlib.import_module("pooch")
    except ImportError:
        raise MissingDependency(
            'downloads need pooch, which is not installed: pip install "dcomp[datasets]"'
        ) from None
