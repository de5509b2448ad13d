"""The Dask cluster as an executor needs it: who is there, who waits for what, what was lost.

Nothing here waits for ever. Dask's own client does: where the worker that has a result dies while
the result is brought, `Client.gather` waits until it is made again, and what is pinned to a worker
that has gone never is. So whatever the client is asked runs in its own loop, while we look whether
those that it depends on are there.
"""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent import futures as threads
from contextlib import suppress
from importlib import import_module
from typing import Any

from dcomp.errors import ClusterError, InvalidParameter, MissingDependency, warn
from dcomp.executors import dask_worker

LOOK_EVERY = 1.0  # seconds between two looks at who is alive
LONGEST_ANSWER = 30.0  # seconds: a scheduler that takes longer for a question is not there
LONGEST_STOP = 5.0  # seconds to wait until workers have heard that a call is given up
LONGEST_TRANSFER = 3600.0  # seconds in which anything is sent or brought, of whatever size
MOST_LOSSES = 8  # of one call: after these something is wrong that trying again does not mend
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


# A scheme, a host and a port, of which Dask needs no scheme; inproc:// has no port.
_ADDRESS = re.compile(
    r"([a-z]\w*://)?(\[[^\s\[\]]+\]|[^\s:/\[\]]+):(?P<port>\d{1,5})(/\S*)?|inproc://\S+"
)


def checked_address(text: str) -> str:
    """Where a scheduler could be, or "local". A name without a port is refused before Dask tries
    it, which takes long.

    >>> [checked_address(a) for a in ("tcp://10.0.0.1:8786", "host:8786", "[::1]:8786", "local")]
    ['tcp://10.0.0.1:8786', 'host:8786', '[::1]:8786', 'local']
    """
    form = _ADDRESS.fullmatch(text)
    if text != "local" and not (form and int(form["port"] or 0) < 1 << 16):
        raise InvalidParameter(
            "the address of a Dask scheduler must have a host and a port, such as "
            f"tcp://10.0.0.1:8786, or be 'local'; got {text!r}"
        )
    return text


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
                    f"none at {self._address()}. Go on from the last checkpoint when there is"
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
            return dict(self._answer(self.client.nthreads))
        except Lost:  # the connection goes while we ask
            return {}

    def _address(self) -> str:
        scheduler = getattr(self.client, "scheduler", None)
        return str(getattr(scheduler, "address", None) or "its scheduler")

    def _check(self, addresses: list[str]) -> None:
        """The same code and versions as here."""
        if not addresses:
            return
        how = {"workers": addresses, "on_error": "return"}
        try:
            found = self._answer(lambda: self.client.run(dask_worker.about, **how))
        except Lost:  # one has gone meanwhile: it is looked at when it is seen again
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

    def _begun(self, ask: Callable[[], Any]) -> threads.Future[Any]:
        """What the client is asked in its own loop, where its methods give coroutines."""

        async def asked() -> Any:
            return await ask()

        return asyncio.run_coroutine_threadsafe(asked(), self.client.loop.asyncio_loop)

    def _answer(self, ask: Callable[[], Any], seconds: float = LONGEST_ANSWER) -> Any:
        """What the client says to a short question; Lost where it says nothing for so long."""
        begun = self._begun(ask)
        try:
            return begun.result(seconds)
        except Exception as error:
            raise Lost(f"a question was not answered: {error!r}") from error
        finally:
            begun.cancel()

    def _moved(
        self, ask: Callable[[], Any], needed: Iterable[str], brought: Sequence[Any] = ()
    ) -> Any:
        """What comes of sending or bringing, which takes as long as it takes, while the workers
        that it needs are there and what is brought has not been lost."""
        begun, until, needs = self._begun(ask), time.monotonic() + LONGEST_TRANSFER, set(needed)
        try:
            while not threads.wait([begun], LOOK_EVERY).done:
                for future in brought:
                    if future.status != "finished":
                        raise Lost(f"{future.key} was {future.status} while it was brought")
                self._look(needs)
                if time.monotonic() > until:
                    raise Lost(f"moving takes longer than {LONGEST_TRANSFER:g} seconds")
            return begun.result()
        except (Lost, ClusterError):
            raise
        except Exception as error:
            raise Lost(f"moving failed: {error!r}") from error
        finally:
            begun.cancel()

    def _look(self, needs: set[str]) -> None:
        """Whether all that are needed are there; waits for the first where nobody is."""
        gone = needs - set(self._alive() or self.workers())
        if gone:
            raise Lost(f"the worker at {min(gone)} has gone")

    def send(self, content: bytes, address: str) -> Any:
        """Bytes to one worker, from which others fetch them: a future of them, opened by `opened`
        on a worker. Dask's broadcast would wait for a worker that dies meanwhile."""
        how: Any = {"workers": [address], "hash": False}
        (future,) = self._moved(lambda: self.client.scatter([content], **how), [address])
        return future

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
                self._look(needs)
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
        wanted, needs = list(futures), set(needed)
        self.wait(wanted, needs)
        found = self._moved(lambda: self.client.gather(wanted), needs, wanted)
        return [kept.value for kept in found]

    def give_up(self, futures: Sequence[Any], call: str) -> None:
        """Cancel what waits, and stop what is under way on the workers."""
        if self.client.status != "running":  # nobody hears it, and all is lost by itself
            return
        waiting = [future for future in futures if future.status == "pending"]
        with suppress(Lost):
            self._answer(lambda: self.client.cancel(waiting, force=True), LONGEST_STOP)
        with suppress(Lost):
            self._answer(
                lambda: self.client.run(dask_worker.stop_call, call, on_error="ignore"),
                LONGEST_STOP,
            )


def persistent(cluster: Cluster, attempt: Callable[[], Any]) -> Any:
    """What an attempt gives that loses nothing on the way."""
    lost: Lost | None = None
    for _ in range(MOST_LOSSES):
        try:
            return attempt()
        except Lost as error:
            cluster.forget()
            lost = error
    raise ClusterError(
        f"a cluster must keep its workers for one call at least; {MOST_LOSSES} times in a row "
        f"something was lost, the last time: {lost}"
    )
