"""One process that fuzzes one target: `python -m fuzzing.child` with a job in JSON.

It tells the one who started it by files: how many inputs were run and which is run just now (a
piece of shared memory, which outlives a crash), and a file for each new finding. A broken promise
does not end it; a crash does, and is a finding of the one who started it.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import mmap
import random
import signal
import struct
import sys
import time
import types
from pathlib import Path
from typing import Any

PATIENCE = 60  # seconds on the clock until an input counts as stuck; on busy machines more than CPU
HEAD = struct.Struct("<QQd")  # inputs run, length of the one that is run now, processor seconds
ROOM = HEAD.size + (1 << 20)


class Run:
    """What is done with each input."""

    def __init__(self, job: dict[str, Any]) -> None:
        from fuzzing.guard import Guard, limited_addresses
        from fuzzing.targets import TARGETS

        self.target = TARGETS[job["target"]]
        self.findings = Path(job["findings"])
        self.skipped = set(job["skip"])  # digests of inputs that are known to crash
        with open(job["shared"], "r+b") as file:
            self.shared = mmap.mmap(file.fileno(), ROOM)
        self.count = 0
        self.limits = contextlib.ExitStack()  # which stay until the process ends
        self.limits.enter_context(limited_addresses())
        self.guard = Guard()
        # What is imported at first use should not count: of time, memory or the seconds of a run.
        first = self.target.build(next(iter(self.target.seeds())))
        self.guard.finding(self.target.check, first, self.target.allowed)
        self.guard = Guard()

    def __call__(self, data: bytes) -> None:
        self.shared[HEAD.size : HEAD.size + len(data)] = data
        if self.skipped and name_of(data) in self.skipped:
            return
        self.count += 1
        HEAD.pack_into(self.shared, 0, self.count, len(data), time.process_time())
        content = self.target.build(data)
        found = self.guard.finding(self.target.check, content, self.target.allowed)
        if found is not None:
            self._keep(data, content, found.short, found.full)

    def _keep(self, data: bytes, content: bytes, short: str, full: str) -> None:
        """The first input of each kind of finding, with what it is."""
        known = self.findings / hashlib.sha1(short.encode()).hexdigest()[:12]
        if known.with_suffix(".json").exists():
            return
        known.with_suffix(".input").write_bytes(data)
        if content != data:
            known.with_suffix(".built").write_bytes(content)
        known.with_suffix(".json").write_text(json.dumps({"short": short, "full": full}))


def name_of(data: bytes) -> str:
    """The digest that an input is called by."""
    return hashlib.sha1(data).hexdigest()


def guided(job: dict[str, Any]) -> None:
    """By atheris: what reaches new lines of dcomp is mutated further."""
    import atheris
    from atheris.instrument_bytecode import patch_code

    run = Run(job)
    # Comparisons tell the bytes that are missing in a file; decisions are in none.
    compares = run.target.build is bytes and run.target.watched[0] != "fuzzing"
    for function in _functions(run.target.watched):
        function.__code__ = patch_code(function.__code__, compares)
    atheris.Setup([sys.argv[0], *job["options"], job["corpus"]], run)
    atheris.Fuzz()


def _functions(packages: tuple[str, ...]) -> list[types.FunctionType]:
    """All that were defined there so far. atheris can watch imports, too, but not those of packages
    that were installed to be edited."""
    return [
        thing
        for thing in gc.get_objects()
        if isinstance(thing, types.FunctionType)
        and f"{thing.__module__}.".startswith(tuple(f"{package}." for package in packages))
    ]


def blind(job: dict[str, Any]) -> None:
    """Without atheris: seeds with random changes, for builds that it cannot run in."""
    run = Run(job)
    rng = random.Random(job["seed"])
    seeds = [path.read_bytes() for path in sorted(Path(job["corpus"]).iterdir())]
    for number in range(job["inputs"]):
        data = bytearray(rng.choice(seeds) if seeds else b"")
        if number < len(seeds):
            data = bytearray(seeds[number])
        elif not data or rng.random() < 0.3:
            data = bytearray(rng.randbytes(rng.randrange(run.target.max_len)))
        else:
            for _ in range(1 + rng.randrange(4)):
                data[rng.randrange(len(data))] = rng.randrange(256)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)  # ends the process, as a crash would
        run(bytes(data))
    signal.setitimer(signal.ITIMER_REAL, 0)


def replay(job: dict[str, Any]) -> None:
    """One input, once. The clock of a machine with much else to do says nothing here, either."""
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    Run(job)(Path(job["input"]).read_bytes())


if __name__ == "__main__":
    told = json.loads(sys.argv[1])
    {"guided": guided, "blind": blind, "replay": replay}[told["engine"]](told)
