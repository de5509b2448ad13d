"""Coverage-guided fuzzing of readers, of `dcomp.load`, of config files and of the native border.

    python verification/fuzz.py [--target NAME ...] [--inputs N] [--seconds S] [--jobs 2]

Each target runs in processes of its own: a crash of one is a finding and its input is kept; a hang,
too much memory, a wrong error or a wrong result are findings, too (`fuzzing/guard.py` has the
promise). Seeds are made on the fly; the kept inputs of tests/fuzz/corpus come to them, and those of
a folder `--corpus`, where new ones are left for the next time. Needs atheris, of the extra `fuzz`;
`--engine blind` does without, and is for builds with sanitizers, which atheris cannot run in.

Writes `results/fuzz.md`, unless `--no-report`; `--keep` chooses from the corpus what reaches lines
that no other input does, and puts it into tests/fuzz/corpus. Findings end with exit code 1.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from fuzzing.keep import keep
from fuzzing.parent import Budget, Result, fuzz
from fuzzing.targets import TARGETS

RESULTS = Path(__file__).parent / "results"
COLUMNS = ("target", "what", "inputs", "seconds", "of processor", "inputs per such", "coverage",
           "features", "findings")  # fmt: skip


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--target", nargs="+", choices=TARGETS, default=list(TARGETS))
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


def report(results: list[Result], command: str) -> str:
    """All that was run, and what was found, as Markdown."""
    lines = [
        "# Fuzzing",
        "",
        f"`{command}`",
        "",
        "Coverage is that of dcomp's Python code; native code is not seen by it. The promise: no",
        "crash, no hang over 10 s, memory of at most max(64 MB, ten times the file), no error but",
        "those that were made for it, and what reads well is well-formed.",
        "",
        "| " + " | ".join(COLUMNS) + " |",
        "|" + "---|" * len(COLUMNS),
    ]
    for result in results:
        rate = result.inputs / max(result.processor, 1e-9)
        cells = (result.name, TARGETS[result.name].about, f"{result.inputs:,}",
                 f"{result.seconds:.0f}", f"{result.processor:.0f}", f"{rate:,.0f}",
                 f"{result.coverage:,}", f"{result.features:,}", len(result.findings))  # fmt: skip
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    found = [finding for result in results for finding in result.findings]
    lines += ["", f"{sum(r.inputs for r in results):,} inputs in all, {len(found)} findings."]
    lines += [f"- {finding}" for finding in found]
    return "\n".join(lines) + "\n"


def main() -> None:
    told = arguments()
    if told.engine == "guided" and importlib.util.find_spec("atheris") is None:
        sys.exit('fuzzing needs atheris: pip install "dcomp[fuzz]" (it has wheels for some Pythons '
                 "only); --engine blind does without")  # fmt: skip
    os.nice(5)
    with tempfile.TemporaryDirectory(prefix="dcomp-fuzz-") as scratch:
        corpus = told.corpus or Path(scratch, "corpus")
        findings = told.findings or Path(tempfile.gettempdir(), "dcomp-fuzz-findings")
        budget = Budget(told.inputs, told.seconds, told.seed, told.engine)
        with ThreadPoolExecutor(told.jobs) as pool:
            work = pool.map(
                lambda name: fuzz(name, budget, corpus / name, findings / name), told.target
            )
            results = []
            for result in work:
                results.append(result)
                said = (
                    f"{result.inputs:,} inputs, {result.seconds:.0f} s, {result.coverage:,} covered"
                )
                print(f"{result.name}: {said}, {len(result.findings)} findings", flush=True)
                for finding in result.findings:
                    print(f"  {finding}", flush=True)
        if told.keep:
            for name in told.target:
                print(f"{name}: {keep(name, corpus / name)} inputs are kept")
    command = " ".join(["python verification/fuzz.py", *itertools.islice(sys.argv, 1, None)])
    if not told.no_report:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "fuzz.md").write_text(report(results, command), encoding="utf-8")
    if any(result.findings for result in results):
        sys.exit(f"there are findings; their inputs are in {findings}")


if __name__ == "__main__":
    main()
