"""An executor that runs every part in a process of its own, with nothing shared.

Tasks, parts, what they are told and what they leave travel as bytes; between two calls a part's
state is bytes that only `gather` and the next task open. An algorithm that looks into it, leans on
something it left in a process, or sends what cannot travel, fails here.
"""

from __future__ import annotations

import pickle
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from dcomp.executors import pairwise_sum

_SIZE = struct.Struct("<Q")


@dataclass(frozen=True)
class Held:
    """What a task left: bytes."""

    content: bytes


class Processes:
    """As many processes as there are parts, each with another number of threads."""

    n_threads = 1

    def __init__(self) -> None:
        self._workers: list[subprocess.Popen[bytes]] = []
        self.n_calls = 0

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.stdin.close()
            worker.stdout.close()
            worker.wait()

    def map_reduce(
        self,
        task: Any,
        parts: Sequence[Any],
        locals_: Sequence[Any],
        shared: Any,
        on_part: Callable[[], None] | None = None,
    ) -> tuple[list[Held], Any]:
        """Every part in its process, all at a time."""
        self.n_calls += 1
        while len(self._workers) < len(parts):
            self._workers.append(_started())
        for number, (part, local) in enumerate(zip(parts, locals_, strict=True)):
            before = local.content if isinstance(local, Held) else pickle.dumps(local)
            message = (task, part, before, shared, 1 + number % 3)
            _send(self._workers[number].stdin, pickle.dumps(message))
        left, stats = [], []
        for number in range(len(parts)):
            is_answer, answer = pickle.loads(_received(self._workers[number].stdout))
            if not is_answer:
                raise answer
            left.append(Held(answer[0]))
            stats.append(answer[1])
            if on_part is not None:
                on_part()
        return left, pairwise_sum(stats)

    def gather(self, locals_: Sequence[Held]) -> list[Any]:
        """Opened here."""
        return [pickle.loads(local.content) for local in locals_]

    def side_by_side(self) -> Processes:
        """They are."""
        return self


def _started() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def _send(stream: BinaryIO | None, content: bytes) -> None:
    assert stream is not None
    stream.write(_SIZE.pack(len(content)) + content)
    stream.flush()


def _received(stream: BinaryIO | None) -> bytes:
    assert stream is not None
    head = stream.read(_SIZE.size)
    if len(head) < _SIZE.size:
        raise RuntimeError("the process of a part has ended")
    return stream.read(_SIZE.unpack(head)[0])


def _serve() -> None:
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # what is printed must not be taken for an answer
    while True:
        try:
            message = _received(source)
        except RuntimeError:
            return
        try:
            task, part, local, shared, n_threads = pickle.loads(message)
            left, stats = task(part, pickle.loads(local), shared, n_threads)
            answer: tuple[bool, Any] = (True, (pickle.dumps(left), stats))
        except Exception as error:  # whatever it is, the test should see it
            answer = (False, error)
        _send(sink, pickle.dumps(answer))


if __name__ == "__main__":
    _serve()
