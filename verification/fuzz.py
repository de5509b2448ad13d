"""Coverage-guided fuzzing of readers, of `dcomp.load`, of config files and of the native border.

    python verification/fuzz.py [--target NAME ...] [--inputs N] [--seconds S] [--jobs 2]

Each target runs in processes of its own: a crash of one is a finding and its input is kept; a hang,
too much memory, a wrong error or a wrong result are findings, too (`fuzzing/guard.py` has the
promise). Seeds are made on the fly; the kept inputs of tests/fuzz/corpus come to them, and those of
a folder `--corpus`, where new ones are left for the next time. Needs atheris, of the extra `fuzz`;
`--engine blind` does without, and is for builds with sanitizers, which atheris cannot run in.

Adds what was run to `results/fuzz.json`, and writes what all runs add up to into `results/fuzz.md`,
unless `--no-report`; `--keep` chooses from the corpus what reaches lines
that no other input does, and puts it into tests/fuzz/corpus. Findings end with exit code 1.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from fuzzing import ledger
from fuzzing.keep import keep
from fuzzing.parent import Budget, Result, fuzz
from fuzzing.targets import TARGETS

RESULTS = Path(__file__).parent / "results"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    here = [name for name, target in TARGETS.items() if target.is_here]
    parser.add_argument("--target", nargs="+", choices=TARGETS, default=here)
    parser.add_argument("--inputs", type=int, default=100_000, help="of each target at most")
    parser.add_argument("--seconds", type=float, default=60, help="of each target at most")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path, help="a folder of inputs to begin with and add to")
    parser.add_argument("--findings", type=Path, help="a folder for what is found")
    parser.add_argument("--engine", choices=("guided", "blind"), default="guided")
    parser.add_argument("--no-report", action="store_true")
    parser.add_argument("--keep", action="store_true", help="put the best into tests/fuzz/corpus")
    return parser.parse_args()


def main() -> None:
    told = arguments()
    if told.engine == "guided" and importlib.util.find_spec("atheris") is None:
        sys.exit('fuzzing needs atheris: pip install "dcomp[fuzz]" (it has wheels for some Pythons '
                 "only); --engine blind does without")  # fmt: skip
    os.nice(max(5 - os.nice(0), 0))  # no nicer than whoever has started it wants
    where = ledger.commit()
    findings = told.findings or Path(tempfile.gettempdir(), "dcomp-fuzz-findings")
    found = False
    with tempfile.TemporaryDirectory(prefix="dcomp-fuzz-") as scratch:
        corpus = told.corpus or Path(scratch, "corpus")
        for result in run(told, corpus, findings):
            found |= bool(result.findings)
            tell(result)
            if not told.no_report:
                entries = ledger.add(RESULTS / "fuzz.json", result, where, command(told))
                (RESULTS / "fuzz.md").write_text(ledger.report(entries), encoding="utf-8")
        if told.keep:
            for name in told.target:
                print(f"{name}: {keep(name, corpus / name)} inputs are kept")
    if found:
        sys.exit(f"there are findings; their inputs are in {findings}")


def run(told: argparse.Namespace, corpus: Path, findings: Path) -> Iterator[Result]:
    """The targets in their order, some at a time."""
    budget = Budget(told.inputs, told.seconds, told.seed, told.engine)
    with ThreadPoolExecutor(told.jobs) as pool:
        yield from pool.map(
            lambda name: fuzz(name, budget, corpus / name, findings / name), told.target
        )


def tell(result: Result) -> None:
    """What came of a target, on the screen."""
    said = f"{result.inputs:,} inputs, {result.seconds:.0f} s, {result.coverage:,} covered"
    print(f"{result.name}: {said}, {len(result.findings)} findings", flush=True)
    for finding in result.findings:
        print(f"  {finding}", flush=True)


def command(told: argparse.Namespace) -> str:
    """What to type for the same; folders are the reader's own."""
    said = f"--inputs {told.inputs} --seconds {told.seconds:g} --seed {told.seed}"
    engine = "" if told.engine == "guided" else f" --engine {told.engine}"
    return f"python verification/fuzz.py {said}{engine}" + (" --corpus FOLDER" * bool(told.corpus))


if __name__ == "__main__":
    main()
