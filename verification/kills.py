"""Fits that are killed at a random moment and gone on with: the same bits as if they had not been.

`dcomp fit --checkpoint` runs in a process of its own, is ended by SIGKILL at a moment drawn evenly
from the time between its first sweep and its end, and is gone on with by `dcomp fit --resume`.
Compared are the digests of all arrays in the file, and all rows of the history but for their
seconds. Writes results/kills.md and goes on from results/kills.json where it was cut; exits with 1
where a result differs.

    python verification/kills.py --times 20
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

import dcomp
from dcomp.models import DirichletMultinomial

HERE = Path(__file__).parent
RESULTS = HERE / "results"
CASES = {
    "mean field": ["--algorithm", "mean-field", "--max-iter", "400", "--tol", "0", "--tries", "1"],
    "direct Gibbs": ["--algorithm", "gibbs", "--max-iter", "300", "--draws", "5"],
    "collapsed Gibbs": ["--algorithm", "collapsed-gibbs", "--max-iter", "800"],
}
SHELL = [sys.executable, "-c", "from dcomp.cli.main import main; main()"]


def corpus(path: Path) -> None:
    """A table that takes each algorithm a second or two."""
    truth = DirichletMultinomial.build(8, alpha=0.1, gamma=0.05)
    features = dcomp.Counts.from_matrix(np.ones((1, 1000))).features
    counts, *_ = truth.simulate(features, np.full(1200, 120), np.random.default_rng(0))
    dcomp.write(counts, path)


def contents(path: Path) -> dict[str, Any]:
    """What must be equal of two files."""
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    rows = [{k: v for k, v in row.items() if k != "seconds"} for row in manifest["history"]]
    names = ("members", "model", "algorithm", "state", "reason", "draws")
    return {"history": rows, **{name: manifest[name] for name in names}}


def fit(source: Path, options: list[str], out: Path) -> list[str]:
    return [*SHELL, "fit", str(source), *options, "-o", str(out), "-q", "--jobs", "1"]


def begun(command: list[str], folder: Path) -> subprocess.Popen[bytes]:
    """At work, once its folder is there."""
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while process.poll() is None and not (folder / "order.json").exists():
        time.sleep(0.005)
    return process


def killed(command: list[str], folder: Path, after: float) -> bool:
    """Whether it was still at work then; it is no more."""
    process = begun(command, folder)
    time.sleep(after)
    at_work = process.poll() is None
    if at_work:
        os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return at_work


def keeping(source: Path, options: list[str], folder: Path, out: Path, every: int) -> list[str]:
    how = ["--checkpoint", str(folder), "--checkpoint-sweeps", str(every)]
    return fit(source, ["-k", "8", *options, *how], out)


def seconds_of(source: Path, options: list[str], out: Path) -> float:
    """From the first sweep to the end of a fit that keeps every tenth, which is left in `out`."""
    folder = out.with_suffix(".run")
    process = begun(keeping(source, options, folder, out, 10), folder)
    started = time.perf_counter()
    process.wait()
    return time.perf_counter() - started


def one(source: Path, options: list[str], whole: Path, seconds: float, rng: Any) -> dict[str, Any]:
    """A kill, and what came of it."""
    with tempfile.TemporaryDirectory() as name:
        folder, out = Path(name) / "run", Path(name) / "again.dcomp"
        every, after = int(rng.integers(1, 20)), float(rng.uniform(0, seconds))
        at_work = killed(keeping(source, options, folder, out, every), folder, after)
        kept = folder / "chain-0.dcomp"
        swept = dcomp.load(kept).n_sweeps if kept.exists() else 0
        again = fit(source, ["--resume", str(folder)], out)
        subprocess.run([*again, "--force"], check=True, stderr=subprocess.DEVNULL)
        equal = contents(out) == contents(whole)
    return {"after": round(after, 2), "at_work": at_work, "swept": swept, "equal": equal}


def report(done: dict[str, list[dict[str, Any]]]) -> str:
    lines = [
        __doc__.split("\n")[0],
        "",
        "| algorithm | kills | at work | sweeps kept | bit-equal |",
    ]
    lines.append("|---|---|---|---|---|")
    for name, rows in done.items():
        swept = sorted(row["swept"] for row in rows)
        at_work, equal = (sum(row[key] for row in rows) for key in ("at_work", "equal"))
        span = f"{swept[0]} to {swept[-1]}" if swept else "–"
        lines.append(f"| {name} | {len(rows)} | {at_work} | {span} | {equal} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--times", type=int, default=20, help="Kills of each algorithm.")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    kept = RESULTS / "kills.json"
    done = json.loads(kept.read_text()) if kept.exists() else {}
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "corpus.npz"
        corpus(source)
        for number, (case, options) in enumerate(CASES.items()):
            rows = done.setdefault(case, [])
            whole = Path(name) / f"{number}.dcomp"
            plain = fit(source, ["-k", "8", *options], whole)
            subprocess.run(plain, check=True, stderr=subprocess.DEVNULL)
            seconds = seconds_of(source, options, Path(name) / f"kept-{number}.dcomp")
            while len(rows) < args.times:
                rng = np.random.default_rng([args.seed, number, len(rows)])
                rows.append(one(source, options, whole, seconds, rng))
                kept.write_text(json.dumps(done, indent=1) + "\n")
                (RESULTS / "kills.md").write_text(report(done))
                print(case, rows[-1], flush=True)
    print(report(done))
    sys.exit(any(not row["equal"] for rows in done.values() for row in rows))


if __name__ == "__main__":
    main()
