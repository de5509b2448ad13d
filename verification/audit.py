"""The audit of files, borders and moments, done again: each line of its table, and what is seen.

    python verification/audit.py

Writes results/audit.md: what goes in, what must hold, what was seen, memory above what was in use,
seconds. Ends with 1 where a line does not hold. The files are made here, as the audit describes
them; the regression tests have theirs (tests/unit/io/test_hostile.py, tests/unit/result).
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import signal
import stat
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]

from fuzzing import fits  # noqa: E402
from fuzzing.archives import Members, npy  # noqa: E402
from fuzzing.files import SEEDS, check_counts, scratch  # noqa: E402
from fuzzing.guard import Guard, _peak, _reset_peak  # noqa: E402
from fuzzing.known import _patched, _zipped  # noqa: E402
from support.bounded import Reader  # noqa: E402
from support.cells import CELLS, make, same  # noqa: E402

import dcomp  # noqa: E402
from dcomp import _core  # noqa: E402
from dcomp.result.storage import MANIFEST, SEAL, digest  # noqa: E402

OURS = (dcomp.DcompError, OSError)
DEEP = 200_000


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    item: str
    given: str
    must: str
    seen: str
    holds: bool
    megabytes: float
    seconds: float


def measured(item: str, given: str, must: str, work: Callable[[], tuple[bool, str]]) -> Line:
    """Work in this process, and what it says of itself."""
    before, start = _reset_peak(), time.perf_counter()
    holds, seen = work()
    return Line(
        item, given, must, seen, holds, (_peak() - before) / 1e6, time.perf_counter() - start
    )


def broken(
    contents: Iterator[bytes], check: Callable[[bytes], object]
) -> tuple[int, int, list[str]]:
    """Files, those that were read, and what broke the promise of `fuzzing/guard.py`."""
    guard, n, n_read, findings = Guard(), 0, 0, []

    def run(content: bytes) -> None:
        nonlocal n_read
        check(content)
        n_read += 1

    for content in contents:
        found = guard.finding(run, content, OURS)
        n += 1
        findings += [] if found is None else [found.short]
    return n, n_read, findings


def load(content: bytes) -> None:
    """A fit from its bytes, and what must hold of it."""
    fits.check(content)


# What was sound, and must stay so.


def truncated() -> tuple[bool, str]:
    files = [(fits.GOLDEN / f"{name}.dcomp").read_bytes() for name in fits.BASES[:3]]
    cut = (content[:n] for content in files for n in range(len(content)))
    n, n_read, findings = broken(cut, load)
    return not n_read and not findings, f"{n - n_read:,} of {n:,} refused, {len(findings)} broken"


def flipped() -> tuple[bool, str]:
    content = (fits.GOLDEN / "v4-LDA.dcomp").read_bytes()
    fit, others = dcomp.load(fits.GOLDEN / "v4-LDA.dcomp"), 0

    def is_same(content: bytes) -> None:
        nonlocal others
        others += not same(fit, dcomp.load(scratch("fit.dcomp", content)))

    changed = (
        content[:n] + bytes([content[n] ^ (1 << n % 8)]) + content[n + 1 :]
        for n in range(len(content))
    )
    n, n_read, findings = broken(changed, is_same)
    seen = f"{n - n_read:,} of {n:,} refused; of the others (dates of members) {others} differ"
    return not others and not findings, seen


def killed() -> tuple[bool, str]:
    fit = dcomp.load(fits.GOLDEN / "v4-LDA.dcomp")
    rng, whole = np.random.default_rng(0), 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "fit.dcomp")
        dcomp.save(fit, path)
        for _ in range(30):
            child = os.fork()
            while not child:
                dcomp.save(fit, path, overwrite=True)
            time.sleep(0.1 * rng.random())
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            whole += same(fit, dcomp.load(path))
        dcomp.save(fit, path, overwrite=True)
        left = [p.name for p in Path(folder).iterdir()]
    return whole == 30 and left == ["fit.dcomp"], f"{whole} of 30 whole; {len(left) - 1} files left"


def many_fits() -> tuple[bool, str]:
    X = np.random.default_rng(0).poisson(1.0, (20, 10))
    memory = []
    for number in range(2000):
        dcomp.LDA(3, max_iter=1, n_tries=1, n_jobs=1, random_state=number, verbose=0).fit(X)
        if number in (499, 1999):
            memory.append(int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6)
    return memory[1] - memory[0] < 5, f"{memory[1] - memory[0]:+.1f} MB from the 500th to the last"


def no_nan() -> tuple[bool, str]:
    X = np.zeros((6, 5), np.int64)
    X[0, 0], X[1], X[2, 1:3] = 2**31 - 1, [40, 0, 7, 0, 2], 1
    samplers = {"gibbs", "collapsed-gibbs", "laplace"}  # or begin with one
    finite = 0
    for key, algorithm in CELLS:
        table = np.minimum(X, 1000) if algorithm in samplers else X  # a token each
        fit = make(key, algorithm, max_iter=6).fit(table).fit_
        finite += bool(np.isfinite(fit.Theta).all() and np.isfinite(fit.scores).all())
    return finite == len(CELLS), f"{finite} of {len(CELLS)} models by algorithms are finite"


# 1. Limits.


def edited(place: int, change: Callable[[Members], object], **methods: int) -> bytes:
    """A golden fit with other members, sealed again."""
    members = dict(fits.base(place))
    change(members)
    fits.seal(members)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content, methods.get(name, zipfile.ZIP_STORED))
    return stream.getvalue()


def names(members: Members) -> None:
    tree = json.loads(members["names.json"])
    members["names.json"] = json.dumps({**tree, "documents": ["ab"] * 22_000_000}).encode()


def array_again(members: Members) -> None:
    manifest = json.loads(members[MANIFEST])
    manifest["arrays"] = manifest["arrays"] + ["n"] * 400_000
    members[MANIFEST] = json.dumps(manifest).encode()


def blocks(members: Members) -> None:
    old = np.load(io.BytesIO(members["features/blocks.npy"]))
    members["features/blocks.npy"] = npy(np.full_like(old, 2**31 - 1))


def matrix(**changes: Any) -> bytes:
    arrays = {"data": np.array([1]), "indices": np.array([0], np.int32), "shape": np.array([1, 1]),
              "indptr": np.array([0, 1], np.int32), "format": np.array(b"csr")}  # fmt: skip
    return _zipped({f"{name}.npy": npy(value) for name, value in {**arrays, **changes}.items()})


def texts() -> bytes:
    letters = np.random.default_rng(0).integers(97, 123, (1_000_000, 8)).astype(np.uint8)
    return gzip.compress(b"".join(b'{"text": "%s"}\n' % row.tobytes() for row in letters), 1)


DEFLATED = {"names.json": zipfile.ZIP_DEFLATED, MANIFEST: zipfile.ZIP_DEFLATED}
BOMBS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "names.dcomp": ("a fit with deflated names (took 6 GB)", lambda: edited(0, names, **DEFLATED)),
    "again.dcomp": ("a fit that names one array 400,000 times (took minutes)",
                    lambda: edited(fits.BASES.index("v3-DM"), array_again, **DEFLATED)),
    "docword.x.txt": ("docword of 2^31 − 1 words (8 GiB)", lambda: b"1\n2147483647\n1\n1 1 1\n"),
    "x.ldac": ("lda-c with term 2^31 − 2 (8 GiB)", lambda: b"1 2147483646:1\n"),
    "x.npz": ("npz of 2^31 − 1 columns (8 GiB)", lambda: matrix(shape=np.array([1, 2**31 - 1]))),
    "rows.npz": ("npz of 2^31 − 1 rows (8 GiB)", lambda: matrix(shape=np.array([2**31 - 1, 1]))),
    "blocks.dcomp": ("a fit with block 2^31 − 1 (16 GiB)", lambda: edited(0, blocks)),
    "x.jsonl.gz": ("JSON lines, packed (3.8 GB)", texts),
    "x.csv.bz2": ("a table, packed (1.4 GB)",
                  lambda: bz2.compress(b"doc,word,n\n" + b"aa,bb,1\n" * 9_000_000)),
}  # fmt: skip


def bombs(reader: Reader, folder: Path) -> Iterator[Line]:
    """Read each in a process of its own; refused or read, within its memory."""
    must = "DcompError or a result, max(64 MB, 10 × the file)"
    for name, (given, content) in BOMBS.items():
        path = folder / name
        path.write_bytes(content())
        size = path.stat().st_size
        found = reader.read(path)
        holds = found.is_ours and found.megabytes <= max(64.0, 10 * size / 1e6)
        given = f"{given}, {size:,} bytes"
        yield Line("1", given, must, found.error or "read", holds, found.megabytes, found.seconds)
        path.unlink()


# 2. Nothing but our own errors.

_HEADER = b"\x93NUMPY\x01\x00\x76\x00" + b"{'descr': '<f8', 'fortran_order': False, 'shape': ((((("
FOREIGN: dict[str, tuple[str, Callable[[], bytes]]] = {
    "x.jsonl": ("`[` 200,000 times (RecursionError)", lambda: b"[" * DEEP),
    "deep.dcomp": ("the same as a manifest",
                   lambda: _zipped({**fits.base(0), MANIFEST: b"[" * DEEP})),
    "method.npz": ("zip method 99 (NotImplementedError)", lambda: _patched(matrix(), 10, 99)),
    "method.dcomp": ("the same in a fit", lambda: _patched(_zipped(dict(fits.base(0))), 10, 99)),
    "locked.npz": ("encrypted (RuntimeError)", lambda: _patched(matrix(), 8, 1)),
    "locked.dcomp": ("the same in a fit", lambda: _patched(_zipped(dict(fits.base(0))), 8, 1)),
    "header.npz": ("a header of .npy (tokenize.TokenError)",
                   lambda: _zipped({"format.npy": _HEADER.ljust(128) + bytes(8)})),
    "flags.npz": ("a number where the format belongs (AttributeError)",
                  lambda: matrix(format=np.array(3))),
}  # fmt: skip


def foreign(reader: Reader, folder: Path) -> Iterator[Line]:
    for name, (given, content) in FOREIGN.items():
        path = folder / name
        path.write_bytes(content())
        found = reader.read(path)
        holds = found.error == "InvalidFile"
        must = "InvalidFile"
        yield Line("2", given, must, found.error or "read", holds, found.megabytes, found.seconds)


def mutated_matrices() -> tuple[bool, str]:
    """In a child, which an abort would end."""
    rng = np.random.default_rng(0)
    seeds = SEEDS["matrix-market"]()

    def contents() -> Iterator[bytes]:
        for number in range(2261):
            data = bytearray(seeds[number % len(seeds)])
            for _ in range(1 + rng.integers(4)):
                place, kind = int(rng.integers(len(data))), rng.integers(3)
                if kind == 0:
                    data[place] = rng.integers(256)
                elif kind == 1:
                    del data[place]
                else:
                    data[place:place] = data[max(0, place - 9) : place]
            yield bytes(data)

    def read(content: bytes) -> None:
        path.write_bytes(content)
        check_counts(dcomp.read(path))

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.mtx")
        source, sink = os.pipe()
        child = os.fork()
        if not child:
            n, n_read, findings = broken(contents(), read)
            os.write(sink, f"{n:,} files, {n_read} read, {len(findings)} broken".encode())
            os._exit(len(findings) > 0)
        os.close(sink)
        with os.fdopen(source) as answer:
            seen = answer.read()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code == 0, seen or f"the process ended with {code}"


# 3. A fit that loads is a fit.


def other_arrays(change: Callable[[np.ndarray], object], n: int) -> Callable[[], tuple[bool, str]]:
    """Golden fits with one array of real numbers changed and all digests right."""

    def contents() -> Iterator[bytes]:
        for place in range(len(fits.BASES)):
            for name, content in fits.base(place).items():
                if name.endswith(".npy") and name != "exposure.npy":
                    array = np.load(io.BytesIO(content)).copy()
                    if array.size:
                        with np.errstate(all="ignore"):
                            change(array)
                        yield edited(place, lambda own, a=array, k=name: own.update({k: npy(a)}))

    def work() -> tuple[bool, str]:
        number, n_read, findings = broken(contents(), load)
        seen = f"{number - n_read} of {number} refused; Θ of {n_read} that load is whole"
        return number >= n and not findings, seen + (f"; broken: {findings[0]}" if findings else "")

    return work


def scaled(array: np.ndarray) -> None:
    array.reshape(-1)[0] = array.reshape(-1)[0] * 3 + 1


def negative(array: np.ndarray) -> None:
    array.reshape(-1)[-1] = -1 if array.dtype.kind != "u" else 0


def duplicate_key() -> tuple[bool, str]:
    text = fits.base(0)[MANIFEST].replace(b'"version": 4', b'"version": 4, "version": 4')
    members = {**fits.base(0), MANIFEST: text, SEAL: digest(text).encode()}
    _, n_read, findings = broken(iter([_zipped(members)]), load)
    twice = text.count(b'"version": 4') == 2
    return twice and not n_read and not findings, "loads" if n_read else "refused"


# 4. The native border.


def native_calls() -> dict[str, Callable[[], object]]:
    counts = dcomp.Counts.from_matrix([[2, 1], [0, 3]])
    corpus = _core.Corpus(counts.indptr, counts.indices, counts.data, 2)
    prior = _core.ScorePrior("DM", {"alpha": np.full(2, 0.5)})
    block = np.zeros(2, np.int32)
    sampler = _core.CollapsedSampler(corpus, block, 1, prior, 1, False)
    z = np.zeros(sampler.n_tokens, np.uint16)
    sampler.count(z)
    gamma, wrong = np.full(2, 0.1), np.full(sampler.n_tokens, 9, np.uint16)
    big = np.array([0, 2**62], np.int64)
    many = 70_000
    return {
        "z ≥ K in sweep": lambda: sampler.sweep(wrong, gamma, prior, 1, 1, 1),
        "z ≥ K in count": lambda: sampler.count(wrong),
        "a block that is none": lambda: _core.CollapsedSampler(
            corpus, np.array([0, 7], np.int32), 1, prior, 1, False),
        "NaN in a prior": lambda: _core.ScorePrior("DM", {"alpha": np.array([np.nan, 1.0])}),
        "sizes that overflow": lambda: _core.Corpus(big, counts.indices, counts.data, 2),
        "K > 65,535": lambda: dcomp.LDA(many, algorithm="collapsed-gibbs", verbose=0).fit([[1, 2]]),
        "an absurd K": lambda: dcomp.LDA(10**12, verbose=0).fit([[1, 2]]),
        "65,536 threads": lambda: sampler.sweep(z, gamma, prior, 1, 1, 65_536),
    }  # fmt: skip


def native(call: Callable[[], object], is_right: bool) -> Callable[[], tuple[bool, str]]:
    def work() -> tuple[bool, str]:
        try:
            call()
        except (ValueError, RuntimeError) as error:
            return not is_right, f"{type(error).__name__}: {str(error)[:70]}"
        return is_right, "done"

    return work


# 5. What is written is safe to look at. 6. Files.

EVIL = "\x1b[31m\u202e\u200b=cmd()"


def escapes() -> tuple[bool, str]:
    counts = dcomp.Counts.from_matrix([[3, 1], [0, 4]], feature_names=[EVIL, "b"])
    fit = dcomp.LDA(2, verbose=0, random_state=0).fit(counts).fit_
    shown = [str(fit), repr(fit), repr(counts), str(fit.top_features(2))]
    raw = sum(mark in text for text in shown for mark in ("\x1b", "\u202e", "\u200b"))
    return not raw and "\\x1b" in "".join(shown), f"{raw} raw marks in {len(shown)} texts"


def place_of_files(check: str) -> Callable[[], tuple[bool, str]]:
    fit = dcomp.load(fits.GOLDEN / "v4-LDA.dcomp")

    def work() -> tuple[bool, str]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            path = folder / "fit.dcomp"
            dcomp.save(fit, path)
            return CHECKS[check](fit, folder, path)

    return work


def keeps_mode(fit: dcomp.Fit, folder: Path, path: Path) -> tuple[bool, str]:
    path.chmod(0o640)
    dcomp.save(fit, path, overwrite=True)
    mode = stat.S_IMODE(path.stat().st_mode)
    return mode == 0o640, f"{mode:o}"


def follows_links(fit: dcomp.Fit, folder: Path, path: Path) -> tuple[bool, str]:
    link, before = folder / "link", path.stat().st_ino
    link.symlink_to(path)
    dcomp.save(fit, link, overwrite=True)
    holds = link.is_symlink() and path.stat().st_ino != before
    return holds, "the target is new, the link a link" if holds else "it is not"


def refuses(fit: dcomp.Fit, folder: Path, path: Path) -> tuple[bool, str]:
    try:
        dcomp.save(fit, path)
    except FileExistsError as error:
        return "overwrite=True" in str(error), "FileExistsError"
    return False, "replaced"


def cleans(fit: dcomp.Fit, folder: Path, path: Path) -> tuple[bool, str]:
    (folder / ".dcomp-0123456789abcdef.part").write_bytes(b"half")
    dcomp.save(fit, path, overwrite=True)
    left = sorted(p.name for p in folder.iterdir())
    return left == ["fit.dcomp"], ", ".join(left)


def flushes(fit: dcomp.Fit, folder: Path, path: Path) -> tuple[bool, str]:
    kinds, fsync = [], os.fsync

    def watched(number: int) -> None:
        kinds.append(stat.S_ISDIR(os.fstat(number).st_mode))
        fsync(number)

    os.fsync = watched
    try:
        dcomp.save(fit, path, overwrite=True)
    finally:
        os.fsync = fsync
    return kinds == [False, True], "the file, then the folder" if kinds == [False, True] else "no"


CHECKS: dict[str, Callable[[dcomp.Fit, Path, Path], tuple[bool, str]]] = {
    "the mode of a replaced file": keeps_mode, "a link's target is written": follows_links,
    "save over a file": refuses, "half a file of a dead process": cleans,
    "fsync of file and folder": flushes,
}  # fmt: skip


def lines(reader: Reader, folder: Path) -> Iterator[Line]:
    """All of them, in the order of the audit."""
    yield measured("sound", "three fits cut at every byte", "all refused", truncated)
    yield measured("sound", "30 kills during save", "all whole, nothing left", killed)
    yield measured("sound", "every model by every algorithm, extreme counts", "no NaN", no_nan)
    yield from bombs(reader, folder)
    yield from foreign(reader, folder)
    yield measured("2", "2,261 mutated Matrix Market files (189 aborts, 8 segmentation faults)",
                   "read, or our error", mutated_matrices)  # fmt: skip
    yield measured("3", "a bit of every byte of a fit changed", "refused, or the same fit", flipped)
    yield measured("3", "sealed fits with another number (155 loaded unnormalised)",
                   "refused, or Θ is whole", other_arrays(scaled, 155))  # fmt: skip
    yield measured("3", "sealed fits with a negative number (18 loaded)",
                   "refused, or Θ is whole", other_arrays(negative, 18))  # fmt: skip
    yield measured("3", "a key twice", "refused", duplicate_key)
    for given, call in native_calls().items():
        right = given == "65,536 threads"
        must = "done, in little memory" if right else "our error"
        yield measured("4", given, must, native(call, right))
    yield measured("5", "escapes and direction marks in names", "none shown raw", escapes)
    for given in CHECKS:
        yield measured("6", given, "kept", place_of_files(given))
    yield measured("sound", "2,000 fits", "no leak", many_fits)


def report(rows: list[Line]) -> str:
    held = sum(row.holds for row in rows)
    head = ["# The audit, done again", "", "`python verification/audit.py`", "",
            f"{held} of {len(rows)} lines hold.", "",
            "| item | given | must | seen | holds | MB | seconds |",
            "|---|---|---|---|---|---|---|"]  # fmt: skip
    for row in rows:
        held_or_not = "yes" if row.holds else "**no**"
        cells = (row.item, row.given, row.must, row.seen.replace("|", "¦"), held_or_not,
                 f"{row.megabytes:.1f}", f"{row.seconds:.1f}")  # fmt: skip
        head.append("| " + " | ".join(cells) + " |")
    return "\n".join(head) + "\n"


def main() -> int:
    warnings.simplefilter("ignore")
    rows = []
    with tempfile.TemporaryDirectory() as folder, Reader() as reader:
        for line in lines(reader, Path(folder)):
            print("ok " if line.holds else "NO ", line.item, line.given, "→", line.seen,
                  f"{line.megabytes:.1f} MB {line.seconds:.1f} s", flush=True)  # fmt: skip
            rows.append(line)
    (HERE / "results" / "audit.md").write_text(report(rows), encoding="utf-8")
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
