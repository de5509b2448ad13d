"""A Dask cluster: every part on a worker, which keeps what its documents have left.

The parts of a corpus are sent once and lie on the workers in runs, so that neighbours in the tree
of sums are mostly on one machine. A call sends what the parts are told to each worker once; what
they leave stays there; of their statistics the total comes back, added on the workers by the tree
of `pairwise_sum`. A worker that dies takes the state of its parts along: it is made again from
copies and calls that the client keeps (`dask_lineage`).
"""

from __future__ import annotations

import os
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Self

from dcomp.errors import ClusterError, InvalidParameter, warn
from dcomp.executors import dask_worker
from dcomp.executors.base import pairwise_sum
from dcomp.executors.dask_cluster import (
    Cluster,
    Lost,
    checked_address,
    distributed,
    persistent,
)
from dcomp.executors.dask_input import HeldRows
from dcomp.executors.dask_lineage import Call, Copies, Copy, Held, Origin
from dcomp.executors.dask_worker import Kept, Told
from dcomp.executors.local import available_cores

MOST_TOLD = 1 << 30  # bytes that the calls since a copy were told, before there is a new one
LONGEST_CONNECT = 10.0  # seconds until a scheduler has answered
LONGEST_END = 30.0  # seconds until a cluster of our own has ended
SMALL = 1 << 16  # bytes that may go along with a task


class DaskExecutor:
    """The workers of a Dask cluster, by its client. Their number changes the time, never the
    answer: it depends on how the counts are cut (`Counts.in_parts`), and of as many parts as there
    are threads on all workers, or some times more, all have something to do.

    copy_every: calls after which the state of the parts is copied to the client, for the case that
    a worker dies; the calls since are made again. folder: where on the client the copies lie; a
    temporary one unless given. patience: seconds to wait where there is no worker at all.

    >>> with DaskExecutor.connect("local") as executor:  # doctest: +SKIP
    ...     fit = dcomp.fit(counts.in_parts(8), model, executor=executor)
    """

    def __init__(
        self,
        client: Any,
        *,
        copy_every: int = 10,
        folder: str | os.PathLike[str] | None = None,
        patience: float = 60.0,
    ) -> None:
        if not isinstance(client, distributed().Client) or client.asynchronous:
            raise InvalidParameter(
                "a DaskExecutor needs a distributed.Client that is not asynchronous, or "
                f"DaskExecutor.connect an address; got {client!r}"
            )
        whole = isinstance(copy_every, int) and not isinstance(copy_every, bool)
        if not whole or copy_every < 1:
            raise InvalidParameter(
                f"copy_every must be a whole number of calls, 1 or more; got {copy_every!r}"
            )
        self._cluster = Cluster(client, patience)
        self._copy_every, self._copies = copy_every, Copies(folder)
        self._parts: weakref.WeakKeyDictionary[Any, tuple[Any, str]] = weakref.WeakKeyDictionary()
        self._own: list[Any] = []  # what is closed with it
        self._cluster.workers()  # and their versions, before the work

    @classmethod
    def connect(cls, address: str, **options: Any) -> Self:
        """To the scheduler at an address, or to a cluster of this machine's own, a process per
        core, for "local". It ends with the executor, which is a context manager."""
        own = [_own_cluster()] if checked_address(address) == "local" else []
        try:
            own.insert(0, _client_of(own[0] if own else address, address))
            made = cls(own[0], **options)
        except BaseException:
            _end(own)
            raise
        made._own = own
        return made

    def close(self) -> None:
        """Forget the parts and their copies, and end what `connect` has begun."""
        self._parts.clear()
        self._copies.close()
        _end(self._own)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def n_threads(self) -> int:
        """Those of the client, where statistics come together."""
        return available_cores()

    def side_by_side(self) -> DaskSideBySide:
        """The same workers, where each takes the next part when it is free."""
        return DaskSideBySide(self)

    def map_reduce(
        self,
        task: Any,
        parts: Sequence[Any],
        locals_: Sequence[Any],
        shared: Any,
        on_part: Callable[[], None] | None = None,
    ) -> tuple[list[Any], Any]:
        """What the task leaves in each part, by name, and the sum of its statistics."""
        call = Call(task, dask_worker.packed(shared))
        origins = [_origin(*both) for both in zip(parts, locals_, strict=True)]
        done = 0

        def counted(n_done: int) -> None:  # of one attempt: a part is told of once
            nonlocal done
            while done < n_done:
                done += 1
                if on_part is not None:
                    on_part()

        def attempt() -> tuple[list[Held], Told]:
            return _Attempt(self._cluster, self._parts, call, origins).run(counted)

        left, told = persistent(self._cluster, attempt)
        counted(len(parts))
        say(told)
        self._copy(left)
        return left, told.stats

    def gather(self, locals_: Sequence[Any]) -> list[Any]:
        """What tasks left in the parts, brought here."""
        found: list[Any] = persistent(self._cluster, lambda: self._gathered(locals_))
        return found

    def _gathered(self, locals_: Sequence[Any]) -> list[Any]:
        there = self._cluster.workers()
        made = _Making(self._cluster, self._parts, there)
        places = self._cluster.places(len(locals_))
        held = [(n, local) for n, local in enumerate(locals_) if isinstance(local, Held)]
        futures = [
            made.state(local.origin, places[n] if local.address else None) for n, local in held
        ]
        found = self._cluster.bring(futures, made.used)
        out = list(locals_)
        for (n, _), value in zip(held, found, strict=True):
            out[n] = value
        return out

    def _copy(self, left: Sequence[Held]) -> None:
        """Where calls have come together since the last copies: new ones, some parts at a time."""
        origins = [one.origin for one in left]
        due = any(o.depth >= self._copy_every or o.n_bytes >= MOST_TOLD for o in origins)
        if not due:
            return
        at_once = max(1, len(self._cluster.slots))
        with suppress(Lost):  # the next call finds out, and then there is another copy
            for first in range(0, len(left), at_once):
                some = left[first : first + at_once]
                futures = [
                    self._cluster.submit("copy", dask_worker.content_of, one.future) for one in some
                ]
                contents = self._cluster.bring(
                    futures, [one.address for one in some if one.address]
                )
                for one, copy in zip(some, self._copies.keep(contents), strict=True):
                    one.origin.cut(copy)


class DaskSideBySide:
    """Parts that share nothing but what they are told: chains of a selection, say. Each is worked
    on by one thread of whichever worker is free, and is not done again when another is lost."""

    def __init__(self, executor: DaskExecutor) -> None:
        self._executor, self._cluster = executor, executor._cluster

    @property
    def n_threads(self) -> int:
        """Those of the client."""
        return self._executor.n_threads

    def side_by_side(self) -> DaskSideBySide:
        """It is."""
        return self

    def gather(self, locals_: Sequence[Any]) -> list[Any]:
        """What tasks left in the parts, brought here."""
        return self._executor.gather(locals_)

    def map_reduce(
        self,
        task: Any,
        parts: Sequence[Any],
        locals_: Sequence[Any],
        shared: Any,
        on_part: Callable[[], None] | None = None,
    ) -> tuple[list[Any], Any]:
        """What the task leaves in each part, by name, and the sum of its statistics."""
        call = Call(task, dask_worker.packed(shared))
        origins = [_origin(*both) for both in zip(parts, locals_, strict=True)]
        left: dict[int, Held] = {}
        told: dict[int, Told] = {}

        def attempt() -> None:
            made = _Making(self._cluster, None, self._cluster.workers())
            numbers, futures = {}, []
            for number in (n for n in range(len(parts)) if n not in told):
                origin = origins[number].after(call, 1)
                future, message = made.step(origin)
                left[number] = Held(origin, future, None)
                numbers[message.key] = number
                futures.append(message)

            def on_done(message: Any) -> None:
                told[numbers[message.key]] = self._cluster.bring([message])[0]
                if on_part is not None:
                    on_part()

            try:
                self._cluster.wait(futures, (), on_done)
            except BaseException:
                self._cluster.give_up(made.steps, made.name)
                raise

        persistent(self._cluster, attempt)
        numbers = range(len(parts))
        total = pairwise_sum(told[number] for number in numbers)
        say(total)
        return [left[number] for number in numbers], total.stats


def _own_cluster() -> Any:
    return distributed().LocalCluster(
        n_workers=available_cores(), threads_per_worker=1, dashboard_address="127.0.0.1:0"
    )


def _client_of(where: Any, address: str) -> Any:
    """A client that was refused by Dask at once would be heard of again when it is collected; so
    the scheme is asked for before there is one."""
    dask = distributed()
    try:
        if where is address:
            dask.comm.registry.get_backend(dask.comm.parse_address(address)[0])
        return dask.Client(where, set_as_default=False, timeout=LONGEST_CONNECT)
    except (OSError, ValueError, TypeError) as error:
        raise ClusterError(
            f"a Dask scheduler must answer within {LONGEST_CONNECT:g} seconds; {address!r} did "
            f"not: {error}"
        ) from None


def _end(own: list[Any]) -> None:
    """Close a client and its cluster, which are there no longer if that takes too long."""
    while own:
        with suppress(TimeoutError):
            own.pop(0).close(timeout=LONGEST_END)


def say(told: Told) -> None:
    """What tasks had to warn of, once."""
    for text, kind in dict.fromkeys((str(warning), type(warning)) for warning in told.warnings):
        warn(text, kind, stacklevel=4)


def _origin(part: Any, local: Any) -> Origin:
    return local.origin if isinstance(local, Held) else Origin(part, local)


class _Making:
    """Futures of parts, of what they are told and of their states, made where they are missing."""

    def __init__(
        self, cluster: Cluster, parts: Any | None, there: dict[str, int], name: str = ""
    ) -> None:
        self.cluster, self.there, self.name = cluster, there, name or os.urandom(8).hex()
        self.used: set[str] = set()  # workers that this depends on
        self._parts = parts
        self._sent: dict[int, Any] = {}
        self._told: dict[tuple[int, str | None], Any] = {}
        self._others: list[Any] = []  # held on to until all is done
        self.steps: list[Any] = []  # so are these, or given up when something is lost

    def part(self, part: Any, address: str | None) -> Any:
        """A part on its worker; a small thing that is no documents goes along with the task."""
        if address is None or self._parts is None or not hasattr(part, "__weakref__"):
            return self._along(part, address)
        known = self._parts.get(part)
        if known is not None:
            future, where = known
            if where == address and where in self.there and _is_there(future):
                return future
        rows = self._rows_there(part)
        future = (
            self._opened(dask_worker.packed(part), address)
            if rows is None
            else self._opened(dask_worker.packed_without_rows(part), address, rows)
        )
        self._parts[part] = (future, address)
        return future

    def _rows_there(self, part: Any) -> Any:
        """The rows of a part that workers have or can open, or None: then they are sent."""
        mapped = getattr(getattr(part, "counts", None), "mapped", None)
        rows = None if mapped is None else mapped.elsewhere
        if not isinstance(rows, HeldRows):
            return rows
        return rows.future if rows.is_there(self.cluster.client) else None

    def told(self, call: Call, address: str | None) -> Any:
        """What a call tells its parts, opened once on each worker; what is small goes along with
        the task."""
        if len(call.shared) <= SMALL:
            return call.shared
        if (call.number, address) not in self._told:
            sent = self._sent.get(call.number)
            if sent is None:
                sent = self._sent[call.number] = self._bytes(call.shared, address)
            if address is not None:
                sent = self.cluster.submit("told", dask_worker.opened, sent, address=address)
            self._told[call.number, address] = sent
        return self._told[call.number, address]

    def step(self, after: Origin, address: str | None = None) -> tuple[Any, Any]:
        """Futures of what a call leaves in a part and of what it tells."""
        call, before = after.call, after.before
        assert call is not None
        assert before is not None
        given = (self.part(after.part, address), self.state(before, address))
        return self._step(after, given, address)

    def _step(self, after: Origin, given: tuple[Any, Any], address: str | None) -> tuple[Any, Any]:
        call = after.call
        assert call is not None
        how = (self.told(call, address), after.n_threads, self.name)
        submit = self.cluster.submit
        left = submit("step", dask_worker.step, call.task, *given, *how, address=address)
        if address is not None:
            self.used.add(address)
        local = submit("local", dask_worker.local_of, left, address=address)
        self.steps += (left, local)
        return local, submit("told", dask_worker.told_of, left, address=address)

    def state(self, origin: Origin, address: str | None) -> Any:
        """A part's state: where it is, or made again from the last that is known."""
        path = origin.path()
        future, first = None, 0
        for number in range(len(path) - 1, -1, -1):
            held = path[number].name()
            if held and held.address in (None, *self.there) and _is_there(held.future):
                future, first = held.future, number + 1
                if held.address is not None:
                    self.used.add(held.address)  # which need not be where it goes
                break
        if future is None:
            value = path[0].value
            future = (
                self._opened(value.read(), address)
                if isinstance(value, Copy)
                else self._along(value, address)
            )
            first = 1
            _rebind(path[0], future, address)
        for one in path[first:]:
            given = (self.part(one.part, address), future)
            future, _ = self._step(one, given, address)
            _rebind(one, future, address)
        return future

    def _along(self, value: Any, address: str | None) -> Any:
        if dask_worker.n_bytes(value) <= SMALL:
            return Kept(value)
        return self._opened(dask_worker.packed(value), address)

    def _opened(self, content: bytes, address: str | None, *rows: Any) -> Any:
        sent = self._bytes(content, address)
        function = dask_worker.opened_with if rows else dask_worker.opened
        return self.cluster.submit("open", function, sent, *rows, address=address)

    def _bytes(self, content: bytes, address: str | None) -> Any:
        where = address or self.cluster.slots[0]
        sent = self.cluster.send(content, where)
        self._others.append(sent)
        if address is not None:
            self.used.add(address)
        return sent


class _Attempt:
    """One try of a call on all parts."""

    def __init__(self, cluster: Cluster, parts: Any, call: Call, origins: list[Origin]) -> None:
        self._cluster, self._call, self._origins = cluster, call, origins
        self._made = _Making(cluster, parts, cluster.workers())
        self._places = cluster.places(len(origins))

    def run(self, counted: Callable[[int], None]) -> tuple[list[Held], Told]:
        """What stays, by name, and the sum of what is told."""
        cluster, there = self._cluster, self._made.there
        shares = Counter(self._places)
        done = 0

        def on_done(future: Any) -> None:
            nonlocal done
            if future is not total.future:
                done += 1
                counted(done)

        try:
            left, told = [], []
            for origin, address in zip(self._origins, self._places, strict=True):
                after = origin.after(self._call, max(1, there[address] // shares[address]))
                local, message = self._made.step(after, address)
                left.append(Held(after, local, address))
                told.append(_Sum(cluster, message))
            total = pairwise_sum(told)
            told.clear()
            cluster.wait([*(one.future for one in left), total.future], self._made.used, on_done)
            return left, cluster.bring([total.future])[0]
        except BaseException:
            cluster.give_up(self._made.steps, self._made.name)
            raise


class _Sum:
    """A knot of the tree of sums, on a worker."""

    def __init__(self, cluster: Cluster, future: Any) -> None:
        self._cluster, self.future = cluster, future

    def __add__(self, other: _Sum) -> _Sum:
        made = self._cluster.submit("sum", dask_worker.add, self.future, other.future)
        return _Sum(self._cluster, made)


def _is_there(future: Any) -> bool:
    return future is None or isinstance(future, Kept) or future.status in ("finished", "pending")


def _rebind(origin: Origin, future: Any, address: str | None) -> None:
    """A name that somebody has stands for what was made again."""
    held = origin.name()
    if held:
        held.future, held.address = future, address
