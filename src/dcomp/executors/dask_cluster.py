"""The Dask cluster as an executor needs it: who is there, who waits for what, what was lost."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from dcomp.errors import ClusterError, MissingDependency, warn
from dcomp.executors import dask_worker

LOOK_EVERY = 1.0  # seconds between two looks at who is alive
MUST_AGREE = ("dcomp", "code of dcomp", "Python", "NumPy")


class Lost(Exception):
    """Something that lay on the cluster is there no longer, or may not be."""


def distributed() -> Any:
    """Dask's own module of clusters; typed here as little as it is there.

    >>> distributed().__name__  # doctest: +SKIP
    'distributed'
    """
    try:
        return import_module("distributed")
    except ImportError:
        raise MissingDependency(
            'work on a Dask cluster needs dask and distributed: pip install "dcomp[dask]"'
        ) from None


class Cluster:
    """A client, and the workers that it was seen to have."""

    def __init__(self, client: Any, patience: float) -> None:
        self.client, self.patience = client, patience
        self.slots: list[str] = []  # addresses, in an order that changes as little as possible
        self._checked: set[str] = set()
        self._seen: tuple[float, dict[str, int]] = (-1.0, {})  # when, and who

    def workers(self) -> dict[str, int]:
        """Threads by address, of those who were there a moment ago; waits for the first. Their
        versions are compared when they are seen for the first time."""
        when, there = self._seen
        if there and time.monotonic() < when + LOOK_EVERY and self.client.status == "running":
            return there
        until = time.monotonic() + self.patience
        while not (there := self._alive()):
            if time.monotonic() > until:
                raise ClusterError(
                    f"a Dask cluster must have a worker; for {self.patience:g} seconds there was "
                    f"none at {self._address()}"
                )
            time.sleep(0.1)
        self._check(sorted(set(there) - self._checked))
        gone = [slot for slot, address in enumerate(self.slots) if address not in there]
        new = sorted(set(there) - set(self.slots))
        for slot in gone[: len(new)]:
            self.slots[slot] = new.pop(0)
        self.slots = [address for address in self.slots if address in there] + new
        self._seen = (time.monotonic(), there)
        return there

    def forget(self) -> None:
        """Who was there: something was lost, so that it has to be asked anew."""
        self._seen = (-1.0, {})

    def places(self, n: int) -> list[str]:
        """A worker for each of so many parts, in runs."""
        return [self.slots[number * len(self.slots) // n] for number in range(n)]

    def _alive(self) -> dict[str, int]:
        if self.client.status in ("closed", "closing"):
            raise ClusterError(
                f"the client of {self._address()} must be open; it is closed, because you closed "
                "it or because its scheduler could not be reached again. Go on from the last "
                "checkpoint with a new client"
            )
        if self.client.status != "running":
            return {}
        try:
            return dict(self.client.nthreads())
        except Exception:  # the connection goes while we ask
            return {}

    def _address(self) -> str:
        scheduler = getattr(self.client, "scheduler", None)
        return str(getattr(scheduler, "address", None) or "its scheduler")

    def _check(self, addresses: list[str]) -> None:
        """The same code and versions as here."""
        if not addresses:
            return
        try:
            found = self.client.run(dask_worker.about, workers=addresses, on_error="return")
        except Exception:  # one has gone meanwhile: it is looked at when it is seen again
            return
        here = dask_worker.about()
        for address, there in found.items():
            if isinstance(there, OSError | TimeoutError):
                continue
            if not isinstance(there, dict):
                raise ClusterError(
                    f"every worker must have dcomp {here['dcomp']} as this client has; the one at "
                    f"{address} cannot import it: {there}"
                )
            other = [name for name in MUST_AGREE if there.get(name) != here[name]]
            if other:
                differ = ", ".join(f"{n} {there.get(n)} for {here[n]}" for n in other)
                raise ClusterError(
                    "workers must have the same versions and code as this client; the one at "
                    f"{address} has {differ}. Install the same there, or start the client with "
                    "what they have"
                )
            if there["instruction set"] != here["instruction set"]:
                warn(
                    f"the worker at {address} has the instruction set {there['instruction set']} "
                    f"and this client {here['instruction set']}: last digits may differ from those "
                    "of other machines, unless DCOMP_SIMD names one for all",
                    UserWarning,
                    stacklevel=4,
                )
            self._checked.add(address)

    def send(self, contents: Sequence[bytes], address: str | None = None) -> list[Any]:
        """Bytes to one worker, or to all: futures of them, opened by `opened` on a worker."""
        how: Any = {"broadcast": True} if address is None else {"workers": [address]}
        try:
            futures: list[Any] = self.client.scatter(list(contents), hash=False, **how)
        except Exception as error:
            raise Lost(f"sending failed: {error!r}") from error
        return futures

    def submit(self, name: str, function: Any, *given: Any, address: str | None = None) -> Any:
        """A future of what the function gives, on this worker alone where one is named."""
        how: Any = {} if address is None else {"workers": [address], "allow_other_workers": False}
        key = f"dcomp-{name}-{uuid.uuid4().hex}"
        try:
            return self.client.submit(function, *given, key=key, pure=False, **how)
        except Exception as error:
            raise Lost(f"submitting failed: {error!r}") from error

    def wait(
        self,
        futures: Iterable[Any],
        needed: Iterable[str],
        on_done: Callable[[Any], None] | None = None,
    ) -> None:
        """Until all are done. Lost is raised when one is, or a worker that is needed; what a task
        has raised is raised here."""
        pending, needs = list(futures), set(needed)
        pause, look = 0.0005, time.monotonic() + LOOK_EVERY
        while pending:
            left = []
            for future in pending:
                status = future.status
                if status == "pending":
                    left.append(future)
                elif status == "finished":
                    if on_done is not None:
                        on_done(future)
                else:
                    self._raise(future, status)
            pause = 0.0005 if len(left) < len(pending) else min(0.02, 1.5 * pause)
            pending = left
            if pending:
                time.sleep(pause)
            if pending and time.monotonic() > look:
                gone = needs - set(self._alive() or self.workers())
                if gone:
                    raise Lost(f"the worker at {min(gone)} has gone")
                look = time.monotonic() + LOOK_EVERY

    def _raise(self, future: Any, status: str) -> None:
        """What became of a future that is not done and will not be."""
        if status != "error":
            raise Lost(f"{future.key} was {status}")
        try:
            error = future.exception(timeout=10)
        except Exception as other:  # it went meanwhile
            raise Lost(repr(other)) from other
        module = type(error).__module__.split(".")[0]
        if module in ("distributed", "tornado", "dask", "asyncio"):
            raise Lost(repr(error)) from error
        if isinstance(error, dask_worker.Stopped):
            raise Lost("it was stopped") from error
        raise error

    def bring(self, futures: Sequence[Any], needed: Iterable[str] = ()) -> list[Any]:
        """What futures stand for, here."""
        self.wait(futures, needed)
        try:
            found = self.client.gather(list(futures))
        except Exception as error:
            raise Lost(repr(error)) from error
        return [kept.value for kept in found]

    def give_up(self, futures: Sequence[Any], call: str) -> None:
        """Cancel what waits, and stop what is under way on the workers."""
        with suppress(Exception):
            self.client.cancel(list(futures), force=True)
        with suppress(Exception):
            self.client.run(dask_worker.stop_call, call, wait=False, on_error="ignore")
