"""What every kernel costs in instructions, which no other work on the machine can change.

    python benchmarks/instructions.py --save before.json          # on one tree
    python benchmarks/instructions.py --against before.json       # on another: writes the table

One process under `valgrind --tool=callgrind` builds a small fixed corpus and forks once for every
kernel; what a child counts above a child that does nothing is that kernel's. All instructions of
the process are counted, so that work which moves between Python, NumPy and the core stays in sight,
and those of the core and the mathematics it calls a second time by themselves. Valgrind has no
AVX-512: sets are those that it can run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from corpora import machine

RESULTS = Path(__file__).parent / "results"
SETS = ("baseline", "avx2")
NATIVE = ("/_core.", "/libm.so", "/libm-")
LIMIT = 1.03
NEVER = 10**6
IDLE = "nothing"


def corpus(n_docs: int = 250, n_features: int = 120, length: int = 60):
    """Documents from five components that share few words; a third of the features in a second
    block would change nothing here, so there is one."""
    import dcomp

    rng = np.random.default_rng(3)
    Theta = rng.dirichlet(np.full(n_features, 0.05), size=5)
    m = rng.dirichlet(np.full(5, 0.3), size=n_docs)
    W = [
        rng.multinomial(n, row @ Theta)
        for n, row in zip(rng.poisson(length, n_docs), m, strict=True)
    ]
    return dcomp.Counts.from_matrix(np.array(W))


def chain(algorithm, model, sweeps: int, exposure=None) -> Callable[[], None]:
    """Sweeps of an algorithm from its own start."""
    from dcomp.executors import LocalExecutor
    from dcomp.models import Observations

    observed = Observations.build(corpus(), exposure)

    def work() -> None:
        state = algorithm.init(model, observed, 0, LocalExecutor(1))
        for _ in range(sweeps):
            state, _ = algorithm.step(observed, state, LocalExecutor(1))

    return work


def fixed_points(model, mode: str) -> Callable[[], None]:
    """Documents folded in from nothing, as for new ones: by columns."""
    from dcomp.executors import LocalExecutor
    from dcomp.inference.mean_field import Weights
    from dcomp.inference.rest import fold_in
    from dcomp.models import Observations

    observed = Observations.build(corpus())
    rng = np.random.default_rng(1)
    n = rng.gamma(0.3, 5.0, (observed.counts.n_features, model.n_components)).astype(np.float32)
    weights = Weights.build(model, observed.counts.features, n, "mean", 1)
    return lambda: [
        fold_in(model, observed, weights, LocalExecutor(1), mode=mode) for _ in range(2)
    ]


def particles(model, exposure=None) -> Callable[[], None]:
    """Left to right."""
    from dcomp.evaluate.left_to_right import estimates
    from dcomp.inference.mean_field import Weights
    from dcomp.models import Observations

    observed = Observations.build(corpus(60), exposure)
    Theta = np.random.default_rng(1).dirichlet(np.full(120, 0.1), size=model.n_components).T
    weights = Weights.of_loadings(Theta)
    how = {"particles": 3, "seed": 1, "n_threads": 1, "runs": 1, "moves": 10}
    return lambda: estimates(model, observed, weights.Theta, weights.log_scale, **how)


def annealed(model) -> Callable[[], None]:
    """Tempered sweeps of the evidence."""
    from dcomp.evaluate.evidence import Chains
    from dcomp.executors import LocalExecutor
    from dcomp.models import Observations

    chains = Chains(model, Observations.build(corpus(60)), 2, 1, LocalExecutor(1))
    return lambda: chains.sweeps(np.linspace(0, 1, 10))


def kept_draws(model) -> Callable[[], None]:
    """Draws of scores given counts."""
    from dcomp.data import FeatureSpace
    from dcomp.inference import draw_given_counts

    c = np.random.default_rng(1).poisson(0.7, (1500, model.n_components)).astype(np.int32)
    features, n = FeatureSpace.build(3), np.zeros((3, model.n_components), np.int32)
    return lambda: draw_given_counts(
        model, features, None, c, n, seed=1, sweep=1, kinds=("scores",)
    )


def kernels() -> dict[str, Callable[[], Callable[[], None]]]:
    """What is counted, by name: each gives the work with all of its preparation done."""
    from dcomp.inference import CollapsedGibbs, Gibbs, MapEM, MeanField, TemperedEM
    from dcomp.models import (
        ConditionalGammaPoisson,
        DirichletMultinomial,
        GammaPoisson,
        Structure,
        Structured,
        Tree,
        TreeMultinomial,
    )

    K = 20
    uneven = {"alpha": np.linspace(0.1, 0.4, K), "beta": np.linspace(0.3, 0.9, K)}
    DM, GP = DirichletMultinomial.build(K, alpha=0.2), GammaPoisson.build(K, **uneven)
    one_rate = GammaPoisson.build(K, alpha=0.2, beta=0.5)
    CGP = ConditionalGammaPoisson.build(K, **uneven, rho=0.4)
    TM = TreeMultinomial.build(Tree.regular(4, 3))
    modes = {
        "DM": DirichletMultinomial.build(K, alpha=1.1),
        "GP": GammaPoisson.build(K, alpha=1.1, beta=0.5),
    }
    flat = DirichletMultinomial.build(K, alpha=1.0, gamma=1.0)
    exposure = np.linspace(0.5, 2.0, 250)
    mean_field = MeanField(gentle_sweeps=0, learn_after=NEVER)
    double = MeanField(gentle_sweeps=0, learn_after=NEVER, dtype="float64")
    gibbs, collapsed = (make(burn_in=NEVER, learn_every=NEVER) for make in (Gibbs, CollapsedGibbs))
    lists = CollapsedGibbs(burn_in=NEVER, learn_every=NEVER, sparse=True)
    shape = Structure.from_parents([12 + k // 4 for k in range(12)] + [15, 15, 15, -1])

    def structured(kind: str, leaves: str) -> Structured:
        return Structured.build(shape, kind, leaves=leaves, alpha=0.2)

    chains = {
        "mean field DM": (mean_field, DM, 8),
        "mean field GP": (mean_field, GP, 8),
        "mean field GP, exposures": (mean_field, GP, 8, exposure),
        "mean field TM": (mean_field, TM, 8),
        "mean field DM, float64": (double, DM, 5),
        "map DM": (MapEM(), modes["DM"], 12),
        "map GP": (MapEM(), modes["GP"], 12),
        "tempered EM DM": (TemperedEM(), flat, 12),
        "gibbs DM": (gibbs, DM, 5),
        "gibbs GP": (gibbs, GP, 5),
        "gibbs CGP": (gibbs, CGP, 5),
        "gibbs TM": (gibbs, TM, 5),
        "collapsed DM, dense": (collapsed, DM, 12),
        "collapsed GP, one rate": (collapsed, one_rate, 12),
        "collapsed GP, dense": (collapsed, GP, 12),
        "collapsed CGP, dense": (collapsed, CGP, 12),
        "collapsed CGP, exposures": (collapsed, CGP, 12, exposure),
        "collapsed DM, lists": (lists, DM, 12),
        "collapsed CGP, lists": (lists, CGP, 12),
        "collapsed TM": (collapsed, TM, 12),
        "structured shared DM": (collapsed, structured("shared", "DM"), 8),
        "structured document GP": (collapsed, structured("document", "GP"), 8),
        "structured phi CGP": (collapsed, structured("phi", "CGP"), 8),
    }
    work = {name: (lambda of=of: chain(*of)) for name, of in chains.items()}
    work |= {
        "fold in DM": lambda: fixed_points(DM, "expect"),
        "fold in TM": lambda: fixed_points(TM, "expect"),
        "fold in GP, maximise": lambda: fixed_points(modes["GP"], "maximise"),
        "left to right DM": lambda: particles(DM),
        "left to right CGP": lambda: particles(CGP),
        "left to right CGP, exposures": lambda: particles(CGP, np.linspace(0.5, 2.0, 60)),
        "annealed DM": lambda: annealed(DM),
        "annealed CGP": lambda: annealed(CGP),
        "scores given c, GP": lambda: kept_draws(GP),
        "scores given c, CGP": lambda: kept_draws(CGP),
        "scores given c, TM": lambda: kept_draws(TM),
    }
    return {IDLE: lambda: lambda: None, **work}


def run_children(folder: Path, names: list[str]) -> None:
    """Inside valgrind: one child for each kernel, named beside the file that it will leave."""
    made = {name: make() for name, make in kernels().items() if name in {IDLE, *names}}
    for name, work in made.items():
        work() if name == IDLE else None
        pid = os.fork()
        if pid == 0:
            work()
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if status != 0:
            sys.exit(f"{name} ended with status {status}")
        (folder / f"{pid}.name").write_text(name)


def totals(path: Path) -> tuple[int, int]:
    """Instructions of a callgrind file: all of them, and those of the core and of mathematics."""
    everything = native = 0
    names: dict[str, str] = {}
    counts = skip = False
    for line in path.read_text(errors="replace").splitlines():
        if line.startswith("ob="):
            number, _, name = line[3:].partition(" ")
            counts = any(part in names.setdefault(number, name) for part in NATIVE)
        elif line.startswith("cob="):
            number, _, name = line[4:].partition(" ")
            if name:
                names[number] = name
        elif line.startswith("calls="):
            skip = True  # the next line is what the callee took
        elif line and line[0] in "0123456789+-*":
            cost = 0 if skip else int(line.split()[-1])
            skip = False
            everything += cost
            native += cost if counts else 0
    return everything, native


def count(instruction_set: str, names: list[str]) -> dict[str, tuple[int, int]]:
    """Instructions of every kernel above doing nothing."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [
            "valgrind", "--tool=callgrind", "--quiet",
            f"--callgrind-out-file={folder}/%p.out",
            sys.executable, __file__, "--inside", str(folder), "--kernels", *names,
        ]  # fmt: skip
        environment = {"DCOMP_SIMD": instruction_set, "PYTHONHASHSEED": "0"}
        subprocess.run(command, env={**os.environ, **environment}, check=True)
        found = {
            path.read_text(): totals(path.with_suffix(".out")) for path in folder.glob("*.name")
        }
    idle = found.pop(IDLE)
    order = [name for name in kernels() if name in found]
    return {name: (found[name][0] - idle[0], found[name][1] - idle[1]) for name in order}


def table(before: dict[str, dict], after: dict[str, dict]) -> list[str]:
    """A line per kernel and set."""
    lines = [
        "| kernel | set | before | after | ratio | core before | core after | ratio |",
        "|" + "---|" * 8,
    ]
    for name in next(iter(after.values())):
        for which, counts in after.items():
            if name not in before.get(which, {}):
                continue
            then, now = before[which][name], counts[name]
            cells = [f"{then[0]:,}", f"{now[0]:,}", f"{now[0] / then[0]:.4f}"]
            cells += [f"{then[1]:,}", f"{now[1]:,}", f"{now[1] / then[1]:.4f}"]
            lines.append(f"| {name} | {which} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", type=Path, help="where the counts go, as JSON")
    parser.add_argument("--against", type=Path, help="counts of another tree, to set beside these")
    parser.add_argument("--kernels", nargs="*", default=[], help="some of them; all by default")
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    names = args.kernels or list(kernels())
    if args.inside is not None:
        return run_children(args.inside, names)
    counts = {which: count(which, names) for which in args.sets}
    if args.save is not None:
        args.save.write_text(json.dumps(counts, indent=1) + "\n")
    if args.against is None:
        return print(json.dumps(counts, indent=1))
    before = json.loads(args.against.read_text())
    rows = table(before, counts)
    print("\n".join(rows))
    worst = max(
        counts[w][n][0] / before[w][n][0] for w in counts for n in counts[w] if n in before[w]
    )
    print(f"largest ratio {worst:.4f}, allowed {LIMIT}")
    if not args.kernels:
        (RESULTS / "instructions.md").write_text("\n".join([
            "# Instructions of the kernels, before and after",
            "",
            f"{machine()}; counted under valgrind, which has no AVX-512. All instructions of a "
            "process above one that does nothing, and those of the core and its mathematics alone: "
            "where work moved between NumPy and the core, only the first ratio compares like with "
            "like.",
            "",
            *rows,
            "",
            "Reproduce: `python benchmarks/instructions.py --save before.json` on one tree, "
            "`--against before.json` on the other.",
            "",
        ]))  # fmt: skip
    return None


if __name__ == "__main__":
    main()
