"""The evidence of every K of a selection, each measured at the best mode that its own starts and
its neighbours have found; and measured again with more sweeps where the fences of rivals overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np

from dcomp.evaluate import two_sided
from dcomp.evaluate.evidence import Budget, Evidence, at_fit, learned_note, require_memory
from dcomp.evaluate.ladder import Ladder, Rung
from dcomp.evaluate.select_chains import KnownEvidence, Plan, grid_name, in_use, kept_evidence
from dcomp.executors import Executor
from dcomp.inference import CollapsedGibbs
from dcomp.inference.room import require_room, require_whole
from dcomp.inference.run import uninterrupted
from dcomp.models import Model, Observations
from dcomp.recipe import Recipe, table
from dcomp.result import Fit, fit
from dcomp.result.fitting import chain_seeds
from dcomp.validation import usual_exposure

# Tokens × components × sweeps × runs that the evidence of a K may take where it was not asked for.
BUDGET = 4e9
CLEAR = float(np.log(20))  # nats: 20 to 1
# Of the first measure, which most K are told apart by; and of a second one, for rivals: fewer runs
# leave its fences to Markov's bound.
FIRST_SWEEPS, FIRST_RUNS, AGAIN_RUNS = 200, 4, 8
AGAIN = (2.0, 10.0)  # times as many sweeps: chains in a bad mode would take all that there are
STARTS = 2  # annealed chains of each K, before its neighbours help
# Of a chain that begins at a neighbour's words: it is near a mode, and has nothing to anneal.
NEAR = CollapsedGibbs(burn_in=120)
NEAR_SWEEPS = 200


STEPS = 2  # of the evidence of a K: that it is begun, and that it is measured


def sweeps_of(plan: Plan, numbers: Sequence[int], wanted: bool | str) -> tuple[int, str]:
    """Of a first measure of each K; 0 where there is none, and why not."""
    if wanted is False:
        return 0, ""
    smallest = plan.recipe(numbers[0]).resolve(plan.counts).model
    if not smallest.scores.capabilities.evidence:
        return 0, f"Model {plan.model} has no evidence."
    if not plan.has_priors:
        return 0, "Without priors there is no evidence."
    if plan.counts.is_fractional and wanted is not True:
        return 0, "Fractional counts have no evidence."
    require_whole(plan.counts, "evidence", "completion takes fractional counts")
    paid = BUDGET / max(plan.counts.n_tokens * K * two_sided.RUNS for K in numbers)
    n_sweeps = FIRST_SWEEPS if wanted is True else min(int(paid), FIRST_SWEEPS)
    if n_sweeps < two_sided.FEWEST:
        return 0, "The corpus is too large for a quick estimate of the evidence."
    return n_sweeps, ""


def evidences(
    plan: Plan,
    numbers: Sequence[int],
    n_sweeps: int,
    executor: Executor,
    on_step: Callable[[], None],
    on_more: Callable[[int], None] = lambda n: None,
) -> dict[int, KnownEvidence]:
    """The evidence of each K, by so many sweeps at first. on_step is called `STEPS` times for each
    K on the way, and for what is measured again for rivals as often as on_more was told before."""
    measured = Measured(plan, tuple(numbers), n_sweeps, executor, on_step)
    found = {}
    for K in numbers:
        found[K] = measured.kept(K, n_sweeps, measured.n_runs)
        on_step()
    for _ in set(numbers) - measured.begun:
        on_step()  # it was kept, and had not to be begun
    return parted(found, measured, on_step, on_more)


def parted(
    found: dict[int, KnownEvidence],
    measured: Measured,
    on_step: Callable[[], None] = lambda: None,
    on_more: Callable[[int], None] = lambda n: None,
) -> dict[int, KnownEvidence]:
    """With second measures, by the sweeps that their budget has left, of those K that more sweeps
    may help to decide (`rivals`); each once."""
    found, again = dict(found), set[int]()
    while todo := [K for K in rivals(found) if K not in again]:
        again |= set(todo)
        paid = {K: measured.sweeps_left(K, found[K].upper - found[K].lower) for K in todo}
        steps = {K: _steps_again(n_sweeps) for K, n_sweeps in paid.items() if n_sweeps}
        on_more(sum(steps.values()))
        for K, n_steps in steps.items():
            found[K] = measured.kept(K, paid[K], AGAIN_RUNS)
            for _ in range(n_steps):
                on_step()
    return found


def _steps_again(n_sweeps: int) -> int:
    """For how many first measures a second one stands in time."""
    return max(round(n_sweeps * AGAIN_RUNS / (FIRST_SWEEPS * FIRST_RUNS)), 1)


def rivals(found: dict[int, KnownEvidence]) -> list[int]:
    """K whose chains have not settled, where they may be the highest. Else the highest and the
    smallest that cannot be told from it, where that is more than 20 to 1 below by the estimates and
    only wide fences keep them together."""
    sound = [K for K in found if found[K].is_sound]
    top = max(sound or found, key=lambda K: found[K].log_evidence)
    unsettled = [K for K in found if K not in sound and reach(found[K]) >= found[top].lower]
    if unsettled:
        return unsettled
    first = min(K for K in sound if is_near(found[K], found[top]))
    if found[top].log_evidence - found[first].log_evidence <= CLEAR:
        return []
    return [K for K in (first, top) if found[K].upper - found[K].lower > CLEAR and first < top]


def reach(one: KnownEvidence) -> float:
    """Up to where an evidence may be: twice as far where chains have not settled."""
    return one.upper if one.is_sound else 2 * one.upper - one.lower


def is_near(one: KnownEvidence, top: KnownEvidence) -> bool:
    """Whether an evidence cannot be told from the highest, or is not 20 to 1 below it: fewer
    components are not given up for less, where more of them learn more of their priors."""
    return bool(one.upper >= top.lower or one.log_evidence + CLEAR >= top.log_evidence)


class Measured:
    """Fits of all K to all documents, made when the first is asked for."""

    def __init__(
        self,
        plan: Plan,
        numbers: tuple[int, ...],
        n_sweeps: int,
        executor: Executor,
        on_step: Callable[[], None] = lambda: None,
    ) -> None:
        self.plan, self.numbers, self.executor = plan, numbers, executor
        self.n_sweeps, self.on_step = n_sweeps, on_step
        self.begun = set[int]()
        self.n_runs = min(two_sided.usual_runs(plan.counts.n_tokens, n_sweeps), FIRST_RUNS)

    @cached_property
    def rungs(self) -> dict[int, Rung]:
        """The best of each K."""
        rungs = {K: self._started(K) for K in self.numbers}
        ladder = self.ladder
        return ladder.climbed(rungs, self.executor) if ladder.is_there else rungs

    @property
    def ladder(self) -> Ladder:
        """How they are fitted from each other."""
        how: Any = {"max_iter": NEAR_SWEEPS, "seed": self.plan.seed, "worth": self._worth}
        counts = self.plan.counts.cut_at((0,))
        return Ladder(counts, self.model_of, NEAR, self._exposure, **how)

    def kept(self, K: int, n_sweeps: int, n_runs: int) -> KnownEvidence:
        """The evidence of one K, found or as it was kept."""
        name = f"{n_sweeps}x{n_runs}-{grid_name(self.numbers)}"
        return kept_evidence(self.plan, K, name, partial(self.of, K, n_sweeps, n_runs))

    def of(self, K: int, n_sweeps: int, n_runs: int) -> tuple[Evidence, float, int]:
        """The evidence of one K, how far its starts differ, and how many components it uses."""
        rung, observed = self.rungs[K], self._observed
        assert rung.fit is not None
        require_room(observed, "evidence", instead="completion takes counts of any size")
        budget = Budget(n_sweeps, n_runs)
        require_memory(self.plan.counts, K, budget, self.executor.n_threads, "two-sided")
        notes = learned_note(self.model_of(K))
        found = at_fit(rung.fit, observed, budget, self.plan.seed, self.executor, notes)
        return found, rung.spread, int(in_use(rung.words.n).sum())

    def sweeps_left(self, K: int, width: float) -> int:
        """Of a second measure: the distance of the two ways falls with the number of sweeps. 0
        where the budget has not twice of what there was."""
        tokens = self.plan.counts.n_tokens
        paid = BUDGET / (tokens * K * AGAIN_RUNS)
        n_sweeps = int(min(paid, self.n_sweeps * np.clip(width / CLEAR, *AGAIN)))
        return n_sweeps if n_sweeps * AGAIN_RUNS >= 2 * self.n_sweeps * self.n_runs else 0

    def model_of(self, K: int) -> Model:
        """With the priors of the selection."""
        options, plan = table(), self.plan
        priors = {k: v for k, v in plan.priors.items() if options[k].kind == "prior"}
        recipe = Recipe.from_options(model=plan.model, n_components=K, **priors)
        return recipe.resolve(plan.counts).model

    @property
    def _exposure(self) -> Any:
        plan = self.plan
        if plan.exposure is not None:
            return plan.exposure
        return usual_exposure(plan.counts, self.model_of(self.numbers[0]))

    @cached_property
    def _observed(self) -> Observations:
        return Observations.build(self.plan.counts, self._exposure)

    def _worth(self, fitted: Fit) -> float:
        """About its evidence: a chain's log joint moves too much to choose by."""
        path = two_sided.Path.from_fit(fitted, self._observed, self.plan.seed)
        return two_sided.rough(path, self.executor)

    def _started(self, K: int) -> Rung:
        """The best of some annealed chains, and where the others ended."""
        rungs = [self._annealed(K, seed) for seed in chain_seeds(self.plan.seed, STARTS)]
        self.begun.add(K)
        self.on_step()
        return reduce(Rung.or_better, rungs)

    def _annealed(self, K: int, seed: int) -> Rung:
        fitted = fit(
            self.plan.counts.cut_at((0,)),
            self.model_of(K),
            two_sided.REFERENCE,
            exposure=self._exposure,
            max_iter=two_sided.FIT_SWEEPS,
            executor=self.executor,
            seed=seed,
            warn=False,  # its sweeps are not the caller's to raise
        )
        return Rung.worth(fitted, self._worth(uninterrupted(fitted)))
