"""Files read where they can do no harm: in a process of their own, with limits of memory and time.

    with Reader() as reader:
        outcome = reader.read(path)

The outcome says what was raised, how many megabytes memory rose at most, and how long it took.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOM, SECONDS = 3 << 30, 60


@dataclass(frozen=True)
class Outcome:
    """What became of one file."""

    error: str | None  # the type of what was raised
    message: str
    is_ours: bool  # nothing was raised, or a DcompError or an OSError
    megabytes: float
    seconds: float


class Reader:
    """A process that has dcomp in memory, and a child of it for each file."""

    def __enter__(self) -> Reader:
        self._server = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stdin.close()
        self._server.stdout.close()
        self._server.wait()

    def read(self, path: Path, **options: Any) -> Outcome:
        """By dcomp.read, or of a .dcomp file by dcomp.load."""
        self._server.stdin.write(json.dumps([str(path), options]) + "\n")
        self._server.stdin.flush()
        return Outcome(**json.loads(self._server.stdout.readline()))


def _megabytes(field: str) -> float:
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith(field))
    return int(line.split()[1]) * 1024 / 1e6


def _attempt(path: str, options: dict[str, Any]) -> dict[str, Any]:
    import dcomp

    with open("/proc/self/clear_refs", "w") as refs:
        refs.write("5")  # the peak is from now on
    before, begun = _megabytes("VmRSS"), time.perf_counter()
    error, message, is_ours = None, "", True
    try:
        if path.endswith(".dcomp"):
            fit = dcomp.load(path, **options)
            message = str(fit.Theta.min() >= 0)
        else:
            message = repr(dcomp.read(path, **options))
    except BaseException as raised:
        error, message = type(raised).__name__, str(raised)[:500]
        is_ours = isinstance(raised, dcomp.DcompError | OSError)
    spent = time.perf_counter() - begun
    return {
        "error": error,
        "message": message,
        "is_ours": is_ours,
        "megabytes": _megabytes("VmHWM") - before,
        "seconds": spent,
    }


def _in_child(path: str, options: dict[str, Any]) -> dict[str, Any]:
    source, sink = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(SECONDS)
        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + ROOM, now + ROOM))
        os.write(sink, json.dumps(_attempt(path, options)).encode())
        os._exit(0)
    os.close(sink)
    with os.fdopen(source, "rb") as answer:
        content = answer.read()
    _, status = os.waitpid(child, 0)
    if content:
        return json.loads(content)
    ended = f"the process ended with {os.waitstatus_to_exitcode(status)}"
    return {
        "error": "Ended",
        "message": ended,
        "is_ours": False,
        "megabytes": 0.0,
        "seconds": float(SECONDS),
    }


def _serve() -> None:
    import dcomp

    dcomp.data.bag(["a word or two"])
    dcomp.LDA(2, verbose=0).fit([[3, 1], [0, 4]])
    for line in sys.stdin:
        path, options = json.loads(line)
        print(json.dumps(_in_child(path, options)), flush=True)


if __name__ == "__main__":
    _serve()
