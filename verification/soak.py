"""Hours of small fits in one process: equal answers, whole files, nothing that grows.

Random cells of the registry on random small tables are fitted twice, saved, loaded, interrupted and
resumed; children are killed while they save. Writes results/soak.md; exits with 1 where a check
has failed.

    python verification/soak.py --minutes 60
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import dcomp
from dcomp import registry

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
from support.cells import CELLS, make, same  # noqa: E402

SWEEPS, PART = 12, 6
MORE: tuple[dict[str, Any], ...] = (
    {"start": "spectral"}, {"start": "random"}, {"n_tries": 3}, {"alpha": "shared"},
    {"gamma": "auto"}, {"n_draws": 2}, {"start": "mean-field"},
)  # fmt: skip
WARM_UP = 0.25  # of the time: libraries are loaded, and the heap finds its size
GROWTH = 24 << 20  # bytes that the second half may have more than the first, beside 5 %


@dataclass
class Soak:
    """What was done, what was found, and how the process has been since."""

    folder: Path
    rng: np.random.Generator
    done: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    at: str = ""  # what is fitted just now
    memory: list[tuple[float, int]] = field(default_factory=list)  # seconds, bytes
    handles: list[tuple[int, int]] = field(default_factory=list)  # open files, threads

    def check(self, holds: bool, what: str) -> None:
        """Count it, or write it down."""
        self.done["checks"] += 1
        if not holds:
            self.failures.append(what)
            print("FAILED", what, flush=True)


def random_table(rng: np.random.Generator) -> Any:
    """Few documents and features, some without words, of any density."""
    shape = rng.integers(1, 40), rng.integers(1, 30)
    rate = rng.choice([0.2, 1.0, 5.0])
    counts = rng.poisson(rate, shape) * (rng.random(shape) < rng.uniform(0.2, 1))
    counts[0, 0] += 200  # tempered EM holds a tenth of the tokens out, and needs some on each side
    return counts


def random_options(rng: np.random.Generator, key: str, algorithm: str) -> dict[str, Any]:
    """Mostly none; else one that changes how a fit begins or what it learns, where it is known."""
    options = MORE[rng.integers(len(MORE))] if rng.random() < 0.4 else {}
    if key not in registry.supported() or key == "TM":  # with estimators of their own
        return {}
    try:
        make(key, algorithm, **options).fit([[9, 1], [2, 8], [300, 1]])
    except dcomp.DcompError:
        return {}
    return options


def one_round(soak: Soak, start: float) -> None:
    """One cell on one table: every check."""
    key, algorithm = CELLS[soak.rng.integers(len(CELLS))]
    X, seed = random_table(soak.rng), int(soak.rng.integers(1 << 30))
    more = random_options(soak.rng, key, algorithm)
    soak.at = label = f"{key} {algorithm} {more} {X.shape} seed {seed}"
    options = {"random_state": seed, "max_iter": SWEEPS, **more}
    soak.done["fits with more options"] += bool(more)
    whole = make(key, algorithm, n_jobs=1, **options).fit(X).fit_
    again = make(key, algorithm, n_jobs=int(soak.rng.integers(1, 4)), **options).fit(X).fit_
    soak.check(same(whole, again), f"{label}: two fits differ")
    path = soak.folder / "fit.dcomp"
    dcomp.save(whole, path, overwrite=True)
    soak.check(same(whole, dcomp.load(path)), f"{label}: the file differs from the fit")
    resume(soak, label, X, whole, make(key, algorithm, **{**options, "max_iter": PART}))
    if soak.rng.random() < 0.3:
        interrupt(soak, label, X, whole, make(key, algorithm, **options))
    if soak.rng.random() < 0.3:
        kill_while_saving(soak, label, whole)
    soak.done["rounds"] += 1
    look_around(soak, start)


def resume(soak: Soak, label: str, X: Any, whole: dcomp.Fit, part: Any) -> None:
    """A part of the sweeps, kept in a file, then the rest: the whole."""
    early = part.fit(X).fit_
    path = soak.folder / "part.dcomp"
    dcomp.save(early, path, overwrite=True)
    rest = dcomp.fit(
        dcomp.Counts.from_matrix(X), early.model, max_iter=SWEEPS, tol=0, resume=dcomp.load(path)
    )
    soak.check(same(whole, rest), f"{label}: a resumed fit differs from a long one")


def interrupt(soak: Soak, label: str, X: Any, whole: dcomp.Fit, estimator: Any) -> None:
    """SIGINT at a random moment: what is left goes on to the same end."""
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    begun = time.monotonic()
    estimator.fit(X)
    seconds = time.monotonic() - begun
    try:
        signal.setitimer(signal.ITIMER_REAL, soak.rng.uniform(0.1, 1.1) * seconds)
        left = estimator.fit(X).fit_
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:  # before the first sweep was complete, or after the last
        soak.done["interrupted without a fit"] += 1
        return
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    soak.done[f"interrupted fits that ended: {left.reason}"] += 1
    if left.reason == "interrupted" and left.state.sweep == SWEEPS:  # within the last of them
        soak.check(same(whole, left), f"{label}: interrupted at its end, it differs")
    elif left.reason == "interrupted":
        counts = dcomp.Counts.from_matrix(X)
        rest = dcomp.fit(counts, left.model, max_iter=SWEEPS, tol=0, resume=left)
        soak.check(same(whole, rest), f"{label}: an interrupted fit does not go on to the same end")


def kill_while_saving(soak: Soak, label: str, fit: dcomp.Fit) -> None:
    """A child that saves without end is killed: the file is whole, and the next write cleans up."""
    path = soak.folder / "fit.dcomp"
    child = os.fork()
    if child == 0:
        while True:
            dcomp.save(fit, path, overwrite=True)
    time.sleep(soak.rng.random() * 0.1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    soak.done["children killed"] += 1
    left = len(list(soak.folder.glob(".dcomp-*.part")))
    soak.done["half files that they left"] += left
    soak.check(same(fit, dcomp.load(path)), f"{label}: a kill has left another file")
    dcomp.save(fit, soak.folder / "next.dcomp", overwrite=True)
    names = {"fit.dcomp", "part.dcomp", "next.dcomp"}
    found = {p.name for p in soak.folder.iterdir()}
    soak.check(found <= names, f"{label}: left over: {sorted(found - names)}")


def look_around(soak: Soak, start: float) -> None:
    """Memory, open files and threads of this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    soak.memory.append((time.monotonic() - start, pages * os.sysconf("SC_PAGESIZE")))
    counts = len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))
    soak.handles.append(counts)


def judge(soak: Soak, seconds: float) -> list[str]:
    """What grew after the warm-up, as rows of a table."""
    later = [i for i, (at, _) in enumerate(soak.memory) if at > WARM_UP * seconds]
    half = len(later) // 2
    if not half:
        soak.check(False, "too few rounds to judge: give more minutes")
        return []
    used = np.array([soak.memory[i][1] for i in later])
    before, after = np.median(used[:half]), np.median(used[half:])
    soak.check(after - before < max(GROWTH, 0.05 * before), f"memory: {before} to {after} bytes")
    rows = [f"| memory, MiB | {before / 2**20:.1f} | {after / 2**20:.1f} |"]
    for name, column in (("open files", 0), ("threads", 1)):
        values = [soak.handles[i][column] for i in later]
        first, last = max(values[:half]), max(values[half:])
        soak.check(last <= first, f"{name}: {first} to {last}")
        rows.append(f"| {name} | {first} | {last} |")
    return rows


def check_interrupts(soak: Soak) -> None:
    """Some must have been heard: where none was, none was tested."""
    tried = sum(n for name, n in soak.done.items() if name.startswith("interrupted"))
    heard = soak.done["interrupted fits that ended: interrupted"]
    heard += soak.done["interrupted without a fit"]
    soak.check(heard > 0 or tried < 20, f"none of {tried} interrupts was heard")


def report(soak: Soak, minutes: float, seed: int, rows: list[str]) -> str:
    """The page."""
    done = "\n".join(f"| {name} | {number:,} |" for name, number in sorted(soak.done.items()))
    failed = "\n".join(f"- {line}" for line in soak.failures) or "None."
    return (
        f"# Soak\n\n{minutes:g} minutes, seed {seed}, dcomp {dcomp.__version__}.\n\n"
        f"| | |\n| --- | --- |\n{done}\n\n## Failures\n\n{failed}\n\n## Growth\n\n"
        f"After a warm-up of {100 * WARM_UP:.0f} % of the time; medians of memory, the most of the "
        "others.\n\n| | first half | second half |\n| --- | --- | --- |\n" + "\n".join(rows) + "\n"
    )


def main() -> int:
    """Go on until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    # A shell's background jobs ignore the key, and so would Python.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    seconds, start = 60 * given.minutes, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(Path(folder), np.random.default_rng(given.seed))
        while time.monotonic() - start < seconds:
            try:
                one_round(soak, start)
            except Exception:  # which is a finding, and no reason to stop
                soak.check(False, f"{soak.at}: {traceback.format_exc(limit=-6)}")
    check_interrupts(soak)
    rows = judge(soak, seconds)
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    (results / "soak.md").write_text(report(soak, given.minutes, given.seed, rows))
    print(report(soak, given.minutes, given.seed, rows))
    return 1 if soak.failures else 0


if __name__ == "__main__":
    sys.exit(main())
