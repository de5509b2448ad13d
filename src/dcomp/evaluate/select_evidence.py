"""The evidence of every K of a selection, each measured at the best mode that its own starts and
its neighbours have found."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any

from dcomp.evaluate import two_sided
from dcomp.evaluate.evidence import Budget, Evidence, at_fit, learned_note, require_memory
from dcomp.evaluate.ladder import Ladder, Rung
from dcomp.evaluate.select_chains import KnownEvidence, Plan, grid_name, kept_evidence
from dcomp.executors import Executor
from dcomp.inference import CollapsedGibbs
from dcomp.inference.room import require_room, require_whole
from dcomp.inference.run import uninterrupted
from dcomp.models import Model, Observations
from dcomp.recipe import Recipe, table
from dcomp.result import fit
from dcomp.validation import usual_exposure

# Tokens × components × sweeps × runs that the evidence of a K may take where it was not asked for.
BUDGET = 4e9
STARTS = 2  # annealed chains of each K, before its neighbours help
# Of a chain that begins at a neighbour's words: it is near a mode, and has nothing to anneal.
NEAR = CollapsedGibbs(burn_in=120)
NEAR_SWEEPS = 200


def evidences(
    plan: Plan, numbers: Sequence[int], wanted: bool | str, executor: Executor
) -> tuple[dict[int, KnownEvidence], tuple[str, ...]]:
    """The evidence of each K, where it is wanted and can be had; else why not."""
    if wanted is False:
        return {}, ()
    smallest = plan.recipe(numbers[0]).resolve(plan.counts).model
    if not smallest.scores.capabilities.evidence:
        return {}, (f"Model {plan.model} has no evidence.",)
    if not plan.has_priors:
        return {}, ("Without priors there is no evidence.",)
    if plan.counts.is_fractional and wanted is not True:
        return {}, ("Fractional counts have no evidence.",)
    require_whole(plan.counts, "evidence", "completion takes fractional counts")
    n_runs = two_sided.RUNS
    paid = BUDGET / max(plan.counts.n_tokens * K * n_runs for K in numbers)
    n_sweeps = two_sided.SWEEPS if wanted is True else min(int(paid), two_sided.SWEEPS)
    if n_sweeps < two_sided.FEWEST:
        return {}, ("The corpus is too large for a quick estimate of the evidence.",)
    measured = Measured(plan, tuple(numbers), n_sweeps, executor)
    name = f"{n_sweeps}-{grid_name(numbers)}"
    found = {K: kept_evidence(plan, K, name, partial(measured.of, K)) for K in numbers}
    return found, ()


class Measured:
    """Fits of all K to all documents, made when the first is asked for."""

    def __init__(
        self, plan: Plan, numbers: tuple[int, ...], n_sweeps: int, executor: Executor
    ) -> None:
        self.plan, self.numbers, self.executor = plan, numbers, executor
        self.n_sweeps = n_sweeps

    @cached_property
    def rungs(self) -> dict[int, Rung]:
        """The best of each K."""
        rungs = {K: self._started(K) for K in self.numbers}
        ladder = self.ladder
        return ladder.climbed(rungs, self.executor) if ladder.is_there else rungs

    @property
    def ladder(self) -> Ladder:
        """How they are fitted from each other."""
        how: Any = {"max_iter": NEAR_SWEEPS, "seed": self.plan.seed}
        counts = self.plan.counts.cut_at((0,))
        return Ladder(counts, self.model_of, NEAR, self._exposure, **how)

    def of(self, K: int) -> tuple[Evidence, float]:
        """The evidence of one K, and how far its starts differ."""
        rung = self.rungs[K]
        assert rung.fit is not None
        observed = Observations.build(self.plan.counts, self._exposure)
        require_room(observed, "evidence", instead="completion takes counts of any size")
        budget = Budget(self.n_sweeps, None)
        require_memory(self.plan.counts, K, budget, self.executor.n_threads, "two-sided")
        notes = learned_note(self.model_of(K))
        found = at_fit(rung.fit, observed, budget, self.plan.seed, self.executor, notes)
        return found, rung.spread

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

    def _started(self, K: int) -> Rung:
        """The best of some annealed chains, and where the others ended."""
        fitted = fit(
            self.plan.counts.cut_at((0,)),
            self.model_of(K),
            two_sided.REFERENCE,
            exposure=self._exposure,
            max_iter=two_sided.FIT_SWEEPS,
            n_chains=STARTS,
            executor=self.executor,
            seed=self.plan.seed,
            warn=False,  # its sweeps are not the caller's to raise
        )
        return Rung.from_fit(uninterrupted(fitted))
