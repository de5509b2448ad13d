"""The promise: whatever a file says, nothing crashes, nothing hangs, memory stays in proportion,
and what is wrong is said by an error that was made for it."""

from __future__ import annotations

import contextlib
import os
import resource
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

SECONDS = 10.0  # of processor time
LEAST_ROOM = 64 << 20  # bytes above what was in use before
TIMES_FILE = 10
ROOM_OF_ADDRESSES = 4 << 30  # so that huge reservations fail at once
_SLACK = 8 << 20  # of the first, coarse look at memory


class Broken(Exception):
    """What was read breaks a promise, though nothing was raised: which, and how."""


def hold(holds: bool, what: str, how: object = "") -> None:
    """An error unless it holds."""
    if not holds:
        raise Broken(what, how)


@dataclass(frozen=True)
class Finding:
    """A broken promise: in short, to tell it from others, and in full."""

    short: str
    full: str


class Guard:
    """Runs inputs one by one and looks whether the promise was kept.

    >>> def refuse(data: bytes) -> None:
    ...     raise ValueError("no")
    >>> Guard().finding(refuse, b"", (ValueError,)) is None
    True
    >>> Guard().finding(refuse, b"", (OSError,)).short
    'ValueError at <doctest verification.fuzzing.guard.Guard[0]>:2'
    """

    def __init__(self) -> None:
        self._used = _reset_peak()

    def finding(
        self, run: Callable[[bytes], object], data: bytes, allowed: tuple[type[BaseException], ...]
    ) -> Finding | None:
        """What this input breaks, if anything."""
        start = time.process_time()
        found = self._raised(run, data, allowed)
        seconds = time.process_time() - start
        if found is None and seconds > SECONDS:
            return Finding("hang", f"took {seconds:.1f} s of processor time")
        if found is None and _peak() - self._used > LEAST_ROOM - _SLACK:
            return self._memory(run, data, allowed)
        return found

    def _memory(
        self, run: Callable[[bytes], object], data: bytes, allowed: tuple[type[BaseException], ...]
    ) -> Finding | None:
        """The same input again, measured from what is in use now: others may have left some."""
        self._used = before = _reset_peak()
        found = self._raised(run, data, allowed)
        taken = _peak() - before
        if found is None and taken > max(LEAST_ROOM, TIMES_FILE * len(data)):
            return Finding("memory", f"{len(data)} bytes took {taken >> 20} MB")
        self._used = _reset_peak()
        return found

    def _raised(
        self, run: Callable[[bytes], object], data: bytes, allowed: tuple[type[BaseException], ...]
    ) -> Finding | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                run(data)
        except Broken as error:
            return Finding(f"broken: {error.args[0]}", traceback.format_exc())
        except allowed:
            return None
        except Exception as error:
            return Finding(f"{type(error).__name__} at {_place(error)}", traceback.format_exc())
        return None


@contextlib.contextmanager
def limited_addresses() -> Iterator[None]:
    """Lets reservations fail that are far beyond what any input here may need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    room = _status("VmSize") + ROOM_OF_ADDRESSES
    least = min(limit for limit in (room, soft, hard) if limit != resource.RLIM_INFINITY)
    resource.setrlimit(resource.RLIMIT_AS, (least, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _place(error: BaseException) -> str:
    """The innermost line of ours."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if f"{os.sep}dcomp{os.sep}" in frame.filename] or frames
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}"


def _peak() -> int:
    # Not ru_maxrss: that of a new process begins with what its parent had.
    return _status("VmHWM")


def _reset_peak() -> int:
    """Forget the largest memory so far; what is in use now."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:  # not Linux, or not allowed: the peak so far is where we begin
        return _peak()
    return _status("VmHWM")


def _status(name: str) -> int:
    with open("/proc/self/status", "rb", buffering=0) as stream:
        text = stream.read(8192)
    return int(text.split(name.encode() + b":", 1)[1].split(None, 1)[0]) << 10
