"""The native border: calls that are right but for one thing.

Bytes say which function is called, with how many documents, features and components, and what is
wrong with which argument. Every array lies between guards, which are looked at after each call, as
are the arrays that a call only reads. A call with nothing wrong must succeed, and give finite
numbers: else what is said of right calls here is not true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcomp import _core
from fuzzing.choices import Choices
from fuzzing.guard import Broken, hold

GUARD = 64  # bytes on both sides of an array
FILL = 0xA5
# A large number of these is work that was asked for, and not an error.
WORK = ("max_inner", "max_rounds", "n_moves", "n_particles", "skip", "every", "n_docs")


@dataclass
class Call:
    """What is called, with what. `written` names the arguments that it writes to."""

    function: Callable[..., Any]
    given: dict[str, Any]
    written: tuple[str, ...] = ()
    refusable: bool = False  # whether even right arguments may be refused, as by what is unloaded

    @property
    def name(self) -> str:
        """Of what is called."""
        return str(getattr(self.function, "__qualname__", None) or self.function)


class Border:
    """The sizes of a case, and arrays that lie between guards."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.I = choices.below(5)
        self.J = 1 + choices.below(6)
        self.K = choices.of((1, 2, 3, 5, 8, 9, 16, 17))
        self.G = 1 + choices.below(min(self.J, 2))
        self.real: Any = np.float64 if choices.flag() else np.float32
        self.rng = np.random.default_rng(choices.byte())
        self._placed: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.counts = self.rng.poisson(0.9, (self.I, self.J)).astype(np.int32)
        self.corpora: dict[bool, Any] = {}

    def put(self, values: Any, dtype: Any = None) -> np.ndarray:
        """The values in an array of its own between guards."""
        values = np.ascontiguousarray(values, dtype)
        buffer = np.full(values.nbytes + 2 * GUARD, FILL, np.uint8)
        inner = buffer[GUARD : GUARD + values.nbytes].view(values.dtype).reshape(values.shape)
        inner[...] = values
        self._placed.append((buffer, inner, values.copy()))
        return inner

    def check(self, written: list[Any]) -> None:
        """Guards as they were, and arrays that are only read, too."""
        for buffer, inner, before in self._placed:
            size = inner.nbytes
            edges = (buffer[:GUARD], buffer[GUARD + size :])
            hold(all((edge == FILL).all() for edge in edges), "native: writes outside an array")
            if not any(np.may_share_memory(inner, array) for array in written):
                same = inner.tobytes() == before.tobytes()
                hold(same, "native: writes to an array that it is to read")
            before[...] = inner

    # Arguments that many calls share.

    def rows(self, n: int, width: int, dtype: Any = None) -> np.ndarray:
        """Positive numbers."""
        return self.put(self.rng.gamma(1.0, 1.0, (n, width)) + 0.01, dtype or self.real)

    def empty(self, *shape: int, dtype: Any = None) -> np.ndarray:
        """To be written to."""
        return self.put(np.zeros(shape), dtype or self.real)

    def block(self) -> np.ndarray:
        return self.put(np.arange(self.J) % self.G, np.int32)

    def gamma(self) -> np.ndarray:
        return self.put(1 + self.rng.random(self.J), np.float64)

    def positive(self, n: int) -> np.ndarray:
        return self.put(0.1 + self.rng.random(n), np.float64)

    def csr(self, fractional: bool = False) -> dict[str, Any]:
        """The arguments of a corpus."""
        rows, columns = np.nonzero(self.counts)
        indptr = np.r_[0, np.cumsum(np.bincount(rows, minlength=self.I)[: self.I])]
        data = self.counts[rows, columns] * (0.5 if fractional else 1)
        return {
            "indptr": self.put(indptr, np.int64),
            "indices": self.put(columns, np.int32),
            "data": self.put(data, np.float64 if fractional else np.int32),
            "n_features": self.J,
            "first": self.choices.below(3),
        }

    def corpus(self, fractional: bool = False) -> Any:
        if fractional not in self.corpora:
            self.corpora[fractional] = _core.Corpus(**self.csr(fractional))
        return self.corpora[fractional]

    def prior_of(self, keys: tuple[str, ...], exposure: bool | None = None) -> dict[str, Any]:
        """The arguments of a score prior of one of these models."""
        key = self.choices.of(keys)
        names = {"DM": ("alpha",), "GP": ("alpha", "beta"), "CGP": ("alpha", "beta", "rho")}
        given: dict[str, Any] = {
            "key": key,
            "parameters": {
                name: self.put(0.1 + 0.8 * self.rng.random(self.K), np.float64)
                for name in names.get(key, ("a1", "a2", "b"))
            },
        }
        if key == "TM":
            given["tree"] = self.put((np.arange(self.K) - 1) // 2 if self.K > 1 else [-1], np.int32)
            given["tree"][0] = -1
            self._placed[-1][2][0] = -1
        if key in ("GP", "CGP") and (self.choices.flag() if exposure is None else exposure):
            given["exposure"] = self.positive(self.I)
        return given

    def prior(self, *keys: str, **options: Any) -> Any:
        exposure = options.pop("exposure", None)
        return _core.ScorePrior(**self.prior_of(keys, exposure), **options)

    def loadings(
        self, dtype: Any = None, width: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Θ, padded, and its scale in logs."""
        n = self.rng.gamma(1.0, 1.0, (self.J, width or self.K)).astype(dtype or self.real)
        scale = np.zeros(self.J)
        block = (np.arange(self.J) % self.G).astype(np.int32)
        Theta, _ = _core.loadings(n, np.ones(self.J), block, self.G, "mean", scale, 1)
        return self.put(Theta), self.put(scale)

    def started(self) -> tuple[np.ndarray, np.ndarray]:
        """Words of documents, and of features, by component."""
        c = np.zeros((self.I, self.K), np.int32)
        n = np.zeros((self.J, self.K), np.int32)
        _core.start_counts(self.corpus(), 1, c, n)
        return self.put(c), self.put(n)

    @property
    def n_threads(self) -> int:
        return 1 + self.choices.below(2)


def check(data: bytes) -> None:
    """A case: a few calls, each with at most one thing wrong."""
    from fuzzing import native_calls

    choices = Choices(data)
    maker = choices.of(list(native_calls.CALLS.values()))
    border = Border(choices)
    right = True
    for call in maker(border):
        wrong = choices.byte() % 4 != 0 and choices.left > 0
        if wrong:
            spoil(border, call, choices)
        right = right and not wrong
        _do(border, call, right)


def _do(border: Border, call: Call, right: bool) -> None:
    written = [call.given[name] for name in call.written if name in call.given]
    written = [array for array in written if isinstance(array, np.ndarray)]
    try:
        result = call.function(**call.given)
    except (TypeError, ValueError, RuntimeError) as error:
        hold(not right or call.refusable, f"native: a right {call.name} is refused", repr(error))
        border.check(written)
        return
    except Exception as error:
        raise Broken(f"native: {call.name} raises {type(error).__name__}", call.given) from error
    border.check(written)
    if right:
        for array in (*written, *_arrays(result)):
            finite = array.dtype.kind != "f" or np.isfinite(array).all()
            hold(bool(finite), f"native: a right {call.name} gives no finite numbers")


def _arrays(result: Any) -> Iterator[np.ndarray]:
    if isinstance(result, tuple | list):
        for item in result:
            yield from _arrays(item)
    elif isinstance(result, np.ndarray | float):
        yield np.asarray(result)


WHOLE = (-1, 0, 1, 2, 3, 7, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**32, 2**40, 2**62,
         2**63 - 1, 2**63, 2**64, -(2**31), -(2**63), 1.5, "1", None)  # fmt: skip
LITTLE = (-1, 0, 1, 2, -(2**31), 2**63, 1.5, None)
REAL = (-1.0, 0.0, -0.0, 1.0, 0.5, 1e-320, 1e300, -1e300, float("nan"), float("inf"), float("-inf"))
TEXT = ("", "x", "\x00", "mean", "expect", "DM", "é" * 50, "a" * 5000, None, 3)
OTHER = (np.float32, np.float64, np.int32, np.int64, np.uint16, np.uint64, np.uint8, np.complex128)


def spoil(border: Border, call: Call, choices: Choices) -> None:
    """One argument that is not what it must be."""
    if not call.given:
        return
    name = choices.of(list(call.given))
    value = call.given[name]
    if isinstance(value, np.ndarray):
        call.given[name] = _other_array(border, call, value, choices)
    elif isinstance(value, dict):
        if value:
            key = choices.of(list(value))
            value[key] = _other_array(border, call, value[key], choices)
    elif isinstance(value, bool) or value is None:
        call.given[name] = choices.of((None, True, 3, "x", np.zeros(3), np.zeros((2, 2), np.int32)))
    elif isinstance(value, int):
        call.given[name] = choices.of(LITTLE if name in WORK else WHOLE)
    elif isinstance(value, float):
        call.given[name] = choices.of(REAL)
    elif isinstance(value, str):
        call.given[name] = choices.of(TEXT)
    else:
        call.given[name] = choices.of((None, 3, "x", _other_object(border, value, choices)))


def _other_object(border: Border, value: Any, choices: Choices) -> Any:
    """Another corpus, or another prior, than the one that fits."""
    other = Border(choices)
    if isinstance(value, _core.Corpus):
        return other.corpus(choices.flag())
    return other.prior("DM", "GP", "CGP", "TM")


def _other_array(border: Border, call: Call, array: np.ndarray, choices: Choices) -> Any:
    what = choices.below(12)
    if what < 4:
        return _other_value(array, choices)
    if what < 6:
        return _other_shape(border, array, choices)
    if what == 6:
        return border.put(array.astype(choices.of(OTHER)))
    if what == 7:  # every second number of a larger one
        return np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array
    if what == 8:
        return np.asfortranarray(array) if choices.flag() else array[::-1]
    if what == 9:
        array.flags.writeable = False
        return array
    if what == 10:
        return _overlapping(call, array, choices)
    odd = np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    odd[...] = array
    return odd if choices.flag() else choices.of((None, array.tolist(), 3, "x"))


def _other_value(array: np.ndarray, choices: Choices) -> np.ndarray:
    """One number that is out of place."""
    changed = array.copy()
    if not changed.size:
        return changed
    place = choices.below(changed.size)
    if changed.dtype.kind in "iu":
        limits = np.iinfo(changed.dtype)
        numbers = (-1, 0, 1, 2, 7, 1000, 65535, 2**31 - 1, 2**62, limits.min, limits.max)
        fitting = [n for n in numbers if limits.min <= n <= limits.max]
        changed.reshape(-1)[place] = choices.of(fitting)
    else:
        with np.errstate(over="ignore"):
            changed.reshape(-1)[place] = choices.of(REAL)
    return changed


def _other_shape(border: Border, array: np.ndarray, choices: Choices) -> np.ndarray:
    what = choices.below(6)
    if what == 0 and array.ndim:
        return border.put(array[:-1])
    if what == 1 and array.ndim:
        return border.put(np.concatenate([array, array[:1]]))
    if what == 2:
        return border.put(array.T)
    if what == 3:
        return border.put(array[..., np.newaxis])
    if what == 4:
        return border.put(array[..., :-1] if array.ndim else array)
    return border.put(np.zeros((0,) * array.ndim, array.dtype))


def _overlapping(call: Call, array: np.ndarray, choices: Choices) -> np.ndarray:
    """Another argument of this call, or what lies half upon it."""
    others = [
        other
        for other in call.given.values()
        if isinstance(other, np.ndarray) and other is not array and other.dtype == array.dtype
    ]
    if not others:
        return array
    other = choices.of(others)
    flat = other.reshape(-1)
    shift = choices.below(3)
    if flat.size >= array.size + shift:
        return flat[shift : shift + array.size].reshape(array.shape)
    return other


def seeds() -> Iterator[bytes]:
    """Each function with a few sizes: right, and with something wrong."""
    from fuzzing import native_calls

    for place in range(len(native_calls.CALLS)):
        for case in range(4):
            sizes = [case + 1, place % 6, (place + 3 * case) % 8, case % 2, case % 2, place]
            yield bytes([place, *sizes])
            yield bytes([place, *sizes, *range(7 * case + place, 7 * case + place + 40, 2)])
