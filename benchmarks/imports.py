"""How long dcomp takes to start: two installations or source trees in turn, and their ratio.

    python benchmarks/imports.py BEFORE AFTER [--runs 10]

BEFORE and AFTER are each a Python interpreter that has dcomp, or a folder that holds the package
(a checkout's src, with the compiled module in it), which is then run with this interpreter. What
dcomp cannot do without, NumPy and the parts of SciPy that every fit needs, is timed beside it.
Processor time of a whole process, median, which other work on the machine disturbs less than the
clock; each is run once unseen, so that its bytecode is written.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median

TASKS = {
    "python alone": "pass",
    "numpy": "import numpy",
    "numpy, scipy.sparse, scipy.special": "import numpy, scipy.sparse, scipy.special",
    "import dcomp": "import dcomp",
    "dcomp --version": "from dcomp.cli.main import main; main(['--version'])",
    "dcomp --help": "from dcomp.cli.main import main; main(['--help'])",
    "dcomp.LDA": "import dcomp; dcomp.LDA",
}


def launcher(place: str) -> tuple[str, dict[str, str]]:
    """The interpreter and the environment that a place stands for."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    path = Path(place).absolute()
    if path.is_dir():
        if not (path / "dcomp" / "__init__.py").exists():
            sys.exit(f"a folder must hold the package dcomp; found none in {place}")
        return sys.executable, environment | {"PYTHONPATH": str(path)}
    return str(path), environment


def seconds(place: str, code: str) -> float:
    """Of the processor, for one process from start to end."""
    interpreter, environment = launcher(place)
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [interpreter, "-c", code], env=environment, stdout=subprocess.DEVNULL, check=True
    )
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime


def main() -> None:
    """Time every task in turns and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--runs", type=int, default=10)
    arguments = parser.parse_args()
    places = (arguments.before, arguments.after)
    print(f"| median of {arguments.runs} | before, ms | after, ms | after / before |")
    print("|---|---|---|---|")
    for name, code in TASKS.items():
        times: tuple[list[float], list[float]] = ([], [])
        for run in range(arguments.runs + 1):
            for place, kept in zip(places, times, strict=True):
                spent = seconds(place, code)
                if run:
                    kept.append(spent)
        before, after = (1000 * median(kept) for kept in times)
        print(f"| {name} | {before:.0f} | {after:.0f} | {after / before:.2f} |", flush=True)


if __name__ == "__main__":
    main()
