"""Ctrl-C at a moment of one's choice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

AGAIN = 3.0  # seconds until the key is pressed once more
SOON = 1.0  # seconds, and no further try is needed
APART = "DCOMP_TESTS_OF_INTERRUPTS"  # is set in processes that tests which press the key run in
apart = pytest.mark.skipif(APART not in os.environ, reason="run in a process of their own")
outside = pytest.mark.skipif(APART in os.environ, reason="this is that process")


def run_apart(*files: str | Path) -> None:
    """The tests of these files that are marked `apart`, in a process of their own."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += [
        "-p",
        "no:hypothesispytest",
    ]  # its callback of the garbage collector eats interrupts
    # So do others' (weak references): there the key is pressed again, and what pytest says of it is
    # no failure.
    command += ["-W", "ignore::pytest.PytestUnraisableExceptionWarning"]
    done = subprocess.run(
        [*command, *files],
        env={**os.environ, APART: "1", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert "passed" in done.stdout


class Pressed:
    """SIGINT for this process, so many seconds after `start`; and again some seconds later, as a
    person would, if it fell where Python lets exceptions go unheard (callbacks of the garbage
    collector, of which hypothesis has one)."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.at: tuple[float, float] | None = None  # on the clock, and of the processor
        self._timer: threading.Timer | None = None

    def start(self, *_: Any) -> None:
        if self._timer is None:
            self._press_in(self.seconds)

    def _press_in(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._press)
        self._timer.daemon = True
        self._timer.start()

    def _press(self) -> None:
        if self.at is None:
            self.at = time.perf_counter(), time.process_time()
            self._press_in(AGAIN)
        os.kill(os.getpid(), signal.SIGINT)

    def let_go(self) -> None:
        """Press it no more."""
        if self._timer is not None:
            self._timer.cancel()

    def waited(self) -> float:
        """Seconds since then, on the clock or, on a busy machine, of the processor."""
        now = time.perf_counter(), time.process_time()
        self.let_go()
        assert self.at is not None, "the work was over before it was pressed"
        return min(now[0] - self.at[0], now[1] - self.at[1])


def seconds_to_stop(work: Callable[[], Any], after: float = 0.15, tries: int = 3) -> float:
    """How long work that would take much longer goes on after Ctrl-C: at best of some tries, as a
    busy machine can hold any one of them up."""
    best = float("inf")
    for _ in range(tries):
        best = min(best, _seconds_to_stop(work, after))
        if best < SOON:
            break
    return best


def _seconds_to_stop(work: Callable[[], Any], after: float) -> float:
    key = Pressed(after)
    key.start()
    try:
        work()
    except KeyboardInterrupt:
        return key.waited()
    finally:
        key.let_go()
    pytest.fail("the work came to its end")
